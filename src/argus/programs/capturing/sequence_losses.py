"""The CTC loss as an operator of known shape.

Torch's own also returns a table whose size depends on the longest target. Nobody sees
that of a loss without gradients.
"""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["ctc_loss", "sequence_operators"]

_REDUCTIONS = ("none", "mean", "sum")


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any,
    blank: int = 0, reduction: str | int = "mean", zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """See `torch.nn.functional.ctc_loss`."""
    import torch

    if isinstance(reduction, int):
        reduction = _REDUCTIONS[reduction]
    if reduction not in _REDUCTIONS:
        return NotImplemented
    lengths: tuple[Any, ...] = tuple(
        n if isinstance(n, torch.Tensor) else torch.tensor(n)
        for n in (input_lengths, target_lengths)
    )
    several = log_probs.dim() == 3
    if not several:
        log_probs, targets = log_probs.unsqueeze(1), targets.reshape(1, -1)
        lengths = tuple(n.reshape(1) for n in lengths)
    losses = sequence_operators()(log_probs, targets, *lengths, blank)
    if zero_infinity:
        losses = torch.where(losses == torch.inf, 0.0, losses)
    if reduction == "mean":
        return (losses / lengths[1].to(losses).clamp(min=1)).mean()
    if reduction == "sum":
        return losses.sum()
    return losses if several else losses.squeeze(0)


@cache
def sequence_operators() -> Any:
    """The operator: the loss of each sequence, as torch is told once."""
    from torch.library import custom_op

    made: Any = custom_op(
        "argus_programs::ctc_loss",
        _losses,
        mutates_args=(),
        schema="(Tensor log_probs, Tensor targets, Tensor input_lengths, "
        "Tensor target_lengths, int blank) -> Tensor",
    )
    made.register_fake(_losses_like)
    return made


def _losses(log_probs: Any, targets: Any, inputs: Any, lengths: Any, blank: int) -> Any:
    import torch

    return torch.ctc_loss(log_probs, targets, inputs, lengths, blank, 0)


def _losses_like(log_probs: Any, *_: Any) -> Any:
    return log_probs.new_empty(log_probs.shape[1])
