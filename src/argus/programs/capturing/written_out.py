"""Functions of torch that a graph does not hold, as functions that it does.

Covariances ask about weights that nobody gave, distributions and one loss whether
their parameters are allowed. As under `torch.compile`, distributions do not ask; the
loss asks by an operator that stays in torch and raises an error there. Of `x.data`
torch loses what is written to it, and that something is put there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from argus.programs.capturing.sequence_losses import ctc_loss


@contextmanager
def written_out() -> Generator[None]:
    """Within it, such functions are formulas of others."""
    import torch
    from torch.distributions import Distribution
    from torch.nn import functional
    from torch.overrides import TorchFunctionMode

    torchs: Any = torch
    own: dict[Any, Callable[..., Any]] = {
        torchs.cov: _covariance,
        torchs.Tensor.cov: _covariance,
        torchs.corrcoef: _correlation,
        torchs.Tensor.corrcoef: _correlation,
        functional.gaussian_nll_loss: _gaussian_nll_loss,
        functional.ctc_loss: ctc_loss,
        torchs.ctc_loss: ctc_loss,
        torchs.Tensor.data.__get__: torchs.Tensor.detach,
        torchs.Tensor.data.__set__: _put_data,
    }

    class WrittenOut(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            named: dict[str, Any] = kwargs or {}
            formula = own.get(func)
            found = NotImplemented if formula is None else formula(*args, **named)
            return func(*args, **named) if found is NotImplemented else found

    kind: Any = Distribution
    asked = kind._validate_args
    kind._validate_args = False
    try:
        with WrittenOut():
            yield
    finally:
        kind._validate_args = asked


def _put_data(x: Any, value: Any) -> None:
    """``x.data = value``. Raises ValueError where the memory would be another one."""
    if (value.shape, value.dtype) != (x.shape, x.dtype):
        raise ValueError(
            f"`x.data` of {tuple(x.shape)} and {x.dtype} becomes another tensor, of "
            f"{tuple(value.shape)} and {value.dtype}"
        )
    x.detach().copy_(value)


def _covariance(
    x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None
) -> Any:
    """Of variables in rows; weights are torch's own."""
    if fweights is not None or aweights is not None or x.dim() > 2:
        return NotImplemented
    rows = x.reshape(1, -1) if x.dim() < 2 else x
    rest = rows - rows.mean(1, keepdim=True)
    found = rest @ rest.mH / max(rows.shape[1] - correction, 0)
    return found.squeeze()


def _correlation(x: Any) -> Any:
    if x.dim() > 2 or x.is_complex():
        return NotImplemented
    found = _covariance(x)
    if not found.dim():
        return found / found
    deviation = found.diagonal().sqrt()
    return (found / deviation[:, None] / deviation).clamp(-1, 1)


def _gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """With the mean and the variance of each element."""
    import torch

    if not isinstance(var, torch.Tensor) or reduction not in ("none", "mean", "sum"):
        return NotImplemented
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.shape[:-1] != var.shape[:-1] or var.shape[-1] != 1:
            return NotImplemented
    raised: Any = vars(torch)["_assert_async"]
    raised((var >= 0).all(), "var has negative entry/entries")
    var = var.clamp(min=eps)  # without gradients
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss if reduction == "none" else getattr(loss, reduction)()
