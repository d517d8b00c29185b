"""Cross-entropy as users call it, interpreted: beside torch, with gradients, traced."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy as expected

from argus import ops
from argus.dispatch import LaunchSequence
from argus.kernels.losses.choice import (
    gradient_launch,
    loss_launches,
    row_loss_statics,
)
from argus.kernels.losses.kernel import cross_entropy_merge, loss_sums
from argus.kernels.losses.op import OPERATORS
from few import rest, spread


def drawn(m: int, n: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    made = torch.Generator().manual_seed(m + n)
    x = (3 * torch.randn(m, n, generator=made)).to(dtype)
    t = torch.randint(0, n, (m,), generator=made)
    t[1::4] = -100
    return x.requires_grad_(), t


def close(found: torch.Tensor, wanted: torch.Tensor, most: float) -> None:
    assert found.shape == wanted.shape
    error = (found.double() - wanted.double()).norm()
    assert error <= most * wanted.double().norm(), (found, wanted)


SIZES = [
    (5, 7, torch.float32),
    (9, 64, torch.bfloat16),
    (3, 1000, torch.float16),
    (2, 9000, torch.bfloat16),
    (140, 70, torch.float32),
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"reduction": "sum", "label_smoothing": 0.25},
    {"reduction": "none"},
]
CASES = [(*size, options) for options in OPTIONS for size in SIZES]


# Every third of all pairs has each size and each of the options, if not together.
@pytest.mark.parametrize(("m", "n", "dtype", "options"), spread(CASES, 3), ids=str)
def test_it_is_torch_s(
    m: int, n: int, dtype: torch.dtype, options: dict[str, Any]
) -> None:
    x, t = drawn(m, n, dtype)
    found = ops.cross_entropy(x, t, **options)
    assert found.dtype == torch.float32
    exact = x.detach().double().requires_grad_()
    wanted = expected(exact, t, **options)
    close(found.detach(), wanted.detach(), 1e-5)
    weights = torch.linspace(0.5, 2, found.numel()).reshape(found.shape)
    (found * weights).sum().backward()
    (wanted * weights.double()).sum().backward()
    assert x.grad is not None and exact.grad is not None
    assert x.grad.dtype == dtype
    close(x.grad, exact.grad, 5e-3 if dtype == torch.bfloat16 else 1e-3)


def test_squares_of_logarithms_are_added() -> None:
    x, t = drawn(6, 50, torch.float32)
    exact = x.detach().double().requires_grad_()
    ops.cross_entropy(x, t, z_loss=0.1).backward()
    logs = exact.logsumexp(1)[t != -100]
    (expected(exact, t) + 0.1 * (logs * logs).mean()).backward()
    assert x.grad is not None and exact.grad is not None
    close(x.grad, exact.grad, 1e-5)


def test_targets_that_are_no_class() -> None:
    x, _ = drawn(3, 40, torch.float32)
    t = torch.tensor([40, -1, 2**40])
    assert torch.isinf(ops.cross_entropy(x.detach(), t, reduction="none")).all()
    t = torch.tensor([3, 3, 5])
    found = ops.cross_entropy(x.detach(), t, ignore_index=3)
    close(found, expected(x.detach(), t, ignore_index=3), 1e-6)
    nothing = torch.full((3,), -100)
    assert ops.cross_entropy(x, nothing).isnan()
    assert ops.cross_entropy(x[:0], nothing[:0]).isnan()
    ops.cross_entropy(x, nothing, reduction="sum").backward()
    assert x.grad is not None
    assert not x.grad.any()


@pytest.mark.parametrize("n", [250, 9000])
def test_rows_of_one_number(n: int) -> None:
    """Also where it is the least one, as a mask leaves it, or huge."""
    numbers = (torch.finfo(torch.float32).min, -1e30, 1.3e30, 2.0)
    x = torch.tensor(numbers)[:, None].expand(4, n).contiguous()
    t = torch.arange(4)
    kept = ops.cross_entropy(x, t, reduction="none")
    close(kept, expected(x, t, reduction="none"), 1e-6)


def test_classes_that_are_masked_out() -> None:
    x, t = drawn(4, 9000, torch.float32)
    with torch.no_grad():
        x[:, 100:8990] = -torch.inf
        x[:, :4] = -torch.inf
    t[:] = 50
    close(ops.cross_entropy(x.detach(), t), expected(x.detach(), t), 1e-6)


def test_torch_checks_the_operators() -> None:
    forward, backward = OPERATORS
    x, t = drawn(4, 24, torch.float32)
    numbers = (-100, 0.1, 0.0)
    for reduction in ("mean", *rest("none")):
        torch.library.opcheck(forward.operator, (x, t, *numbers, reduction))
        loss, kept = forward(x.detach(), t, *numbers, reduction)
        given = (x.detach(), t, kept, torch.ones_like(loss), *numbers, reduction)
        torch.library.opcheck(backward.operator, given)


def test_a_compiled_program_takes_it_whole() -> None:
    def loss(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return ops.cross_entropy(2 * x, t)

    x, t = drawn(6, 30, torch.float32)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    compiled(x, t).backward()
    found, x.grad = x.grad, None
    loss(x, t).backward()
    assert found is not None and x.grad is not None
    assert torch.equal(found, x.grad)


def test_gradients_have_no_gradient() -> None:
    x, t = drawn(3, 10, torch.float32)
    loss = ops.cross_entropy(x, t)
    (first,) = torch.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"does not require grad|once_differ"):
        first.sum().backward()


def kernels(sequence: LaunchSequence) -> list[str]:
    return [step.kernel.name for step in sequence.steps]


def test_what_is_launched() -> None:
    def of(m: int, n: int, reduction: str = "mean") -> LaunchSequence:
        return loss_launches(m, n, 16, 132, smooth=False, reduction=reduction)

    assert kernels(of(4096, 128256)) == ["cross_entropy", "loss_mean"]
    assert kernels(of(4096, 128256, "none")) == ["cross_entropy"]
    few = of(8, 128256)
    assert few.steps[1].kernel is cross_entropy_merge
    assert of(10**6, 32).steps[1].kernel is loss_sums
    assert kernels(gradient_launch(8, 100, reduction="sum")) == [
        "cross_entropy_backward"
    ]


@pytest.mark.parametrize("bits", [16, 32])
@pytest.mark.parametrize("n", [1, 8, 100, 8192, 8193, 8194, 8196, 32000, 262144])
def test_nothing_is_exchanged_before_a_long_row_has_ended(n: int, bits: int) -> None:
    found = row_loss_statics(n, bits)
    columns, v, warps = (int(str(found[name])) for name in ("BN", "V", "WARPS"))
    if n <= columns:
        assert v == columns
    else:
        # What is taken together is of one thread.
        assert columns % (32 * warps * v) == 0
