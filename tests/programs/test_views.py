"""Coordinates through views, against torch's own views of the same numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.ir.dtypes import f32  # noqa: E402
from argus.programs.planning import worth  # noqa: E402
from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tensors.offsets import offsets_through  # noqa: E402
from argus.programs.tensors.tensor_program import (  # noqa: E402
    GivenPrimitive,
    ProgramValue,
    ViewedValue,
)
from argus.programs.tensors.views import ReshapedView, permuted, repeated, sliced  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402


def _changed(x, operand, rng):
    """A random view of a tensor, and the same of an operand."""
    match rng.choice(["permute", "slice", "repeat", "reshape"]):
        case "permute":
            dims = rng.sample(range(x.ndim), x.ndim)
            return x.permute(dims), operand.through(permuted(x.shape, dims))
        case "slice":
            parts, keys = [], []
            for n in x.shape:
                start = rng.randrange(n)
                step = rng.choice([1, 1, 2])
                keys.append(slice(start, n, step))
                parts.append((start, step, len(range(start, n, step))))
            return x[tuple(keys)], operand.through(sliced(x.shape, parts))
        case "repeat":
            wanted = [3 if n == 1 else n for n in x.shape]
            return x.expand(wanted), operand.through(repeated(x.shape, wanted))
        case _:
            total = x.numel()
            first = rng.choice([d for d in range(1, total + 1) if total % d == 0])
            shape = (first, total // first)
            return x.reshape(shape), operand.through(ReshapedView(shape))


def test_strides_through_views_are_those_of_torch() -> None:
    viewed = found = 0
    for seed in range(300):
        rng = random.Random(seed)
        shape = tuple(rng.choice([1, 2, 3, 4, 6]) for _ in range(rng.randint(1, 4)))
        value = ProgramValue("x", shape, f32, GivenPrimitive("input", 0, shape, ()))
        x = base = torch.arange(value.size).reshape(shape)
        operand = ViewedValue(value)
        for _ in range(rng.randint(1, 4)):
            x, operand = _changed(x, operand, rng)
        assert operand.shape == tuple(x.shape)
        viewed += x.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
        strides = offsets_through(operand)
        if strides is not None:
            found += 1
            assert torch.equal(base.as_strided(operand.shape, *strides), x), seed
    # A slice of a reshaped tensor that is reshaped again may have strides unnoticed.
    assert found >= 0.97 * viewed


def _shuffled(x: torch.Tensor, groups: int) -> torch.Tensor:
    n, channels, *rest = x.shape
    parts = x.reshape(n, groups, channels // groups, *rest)
    return parts.transpose(1, 2).reshape(x.shape)


def test_what_no_loop_follows_is_a_copy_before() -> None:
    """Channels shuffled in fours, and then taken in halves."""
    x = torch.randn(2, 20, 5, generator=torch.Generator().manual_seed(1))
    model = Formula(lambda x: _shuffled(x, 4).reshape(2, 2, 10, 5).sum(2) * 2)
    plan = plan_of(model, (x,))
    assert [step.computes for step in plan.kernels] == ["copy", "sum, mul"]
    assert plan.left == ()
    got = run_plan(plan, (x,), {}, in_interpreter)
    torch.testing.assert_close(got, model(x))


def test_windows_along_dimensions_are_views() -> None:
    x = torch.randn(2, 3, 8, 12, generator=torch.Generator().manual_seed(1))
    model = Formula(lambda x: x.unfold(2, 4, 2).unfold(3, 3, 3).sum((2, 3)))
    plan = plan_of(model, (x,))
    assert plan.left == ()
    got = run_plan(plan, (x,), {}, in_interpreter)
    torch.testing.assert_close(got, model(x))


def test_a_position_that_leaves_a_border_and_comes_back() -> None:
    """Outside of one border, inside of the next: nothing is asked of what is inside."""

    def moved(x: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        inner = torch.relu(functional.pad(torch.exp(part), (0, 0, 0, 2)))[1:4]
        return functional.pad(inner, (0, 0, 1, 1))[0] + x

    inputs = (torch.randn(6), torch.randn(3, 6))
    plan = plan_of(Formula(moved), inputs)
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, moved(*inputs))


def test_a_scan_of_numbers_reads_nothing() -> None:
    """Places of a grid (a cumulative sum of ones), along and across rows."""

    def grid(x: torch.Tensor) -> torch.Tensor:
        ones = torch.ones_like(x)
        return torch.stack([ones.cumsum(1) - 0.5, ones.cumsum(0) - 0.5], -1)

    inputs = (torch.randn(6, 7),)
    plan = plan_of(Formula(grid), inputs)
    assert plan.whole
    got = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, grid(*inputs))


def test_a_number_beside_a_border_is_read_beside_an_extreme() -> None:
    """`max` was the largest of a row, and what keeps an index inside of a tensor."""

    def scaled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.softmax(1) * functional.pad(y[:-1], (1, 0))[:, None]

    inputs = (torch.randn(5, 70), torch.randn(5))
    plan = plan_of(Formula(scaled), inputs)
    assert plan.whole and len(plan.kernels) == 1
    got = run_plan(plan, inputs, {}, in_interpreter)
    torch.testing.assert_close(got, scaled(*inputs))


SCANS_BEHIND_BORDERS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "differences": (lambda c: torch.cat([c[:1], c[1:] - c[:-1]]), 2),
    "without the first": (lambda c: functional.pad(c[1:], (0, 0, 1, 1)), 2),
    "backwards": (lambda c: functional.pad(c.flip(0)[:-1], (0, 0, 0, 1)), 2),
    "later": (lambda c: functional.pad(c[:-2], (0, 0, 2, 0)), 1),
    "in a longer row": (lambda c: functional.pad(c, (0, 0, 1, 2)), 1),
}
"""Functions of running sums along rows, and how many kernels there are at most."""


@pytest.mark.parametrize("name", SCANS_BEHIND_BORDERS)
def test_a_scan_has_its_first_elements_whoever_reads_it(name: str) -> None:
    """Those behind a border were no part of the sums that are read."""
    read, kernels = SCANS_BEHIND_BORDERS[name]

    def function(x: torch.Tensor) -> torch.Tensor:
        return read((x * 2).cumsum(0))

    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(1))
    plan = plan_of(Formula(function), (x,))
    assert plan.whole and len(plan.kernels) <= kernels
    got = run_plan(plan, (x,), {}, in_interpreter)
    torch.testing.assert_close(got, function(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.transpose(0, 1).reshape(-1, 3).cumsum(0).reshape(2, 5, 3) * 2,
        lambda x: (x * 2).permute(2, 0, 1).reshape(-1).cummax(0)[0],
        lambda x: x[0, :, :1].expand(2, 4).argmax(1) * 2,
    ],
)
def test_rows_in_another_order_than_they_lie_are_walked(
    function: Callable[[Any], Any],
) -> None:
    """Ranks of tokens by expert: numbers of rows that are first choices come first."""
    x = torch.randn(5, 2, 3, generator=torch.Generator().manual_seed(1))
    plan = plan_of(Formula(function), (x,))
    assert plan.whole
    got = run_plan(plan, (x,), {}, in_interpreter)
    torch.testing.assert_close(got, function(x))


def test_parts_that_are_replaced_again_and_again_are_several_kernels() -> None:
    """One kernel would compute each part as often as parts are read after it."""

    def replaced(x: torch.Tensor) -> torch.Tensor:
        for i in range(12):
            x = torch.ops.aten.slice_scatter(x, torch.exp(x[1:]) + x[:-1], 0, 0, -1)
            x = torch.ops.aten.slice_scatter(x, x[:, :-1] * 0.5, 1, 1, 9 - i % 2)
        return x

    inputs = (torch.randn(5, 9) * 0.01,)
    plan = plan_of(Formula(replaced), inputs)
    nodes = [len(s.group.lowered.nodes) for s in plan.kernels if s.group.lowered]
    assert max(nodes) <= worth.MOST_NODES and len(nodes) > 1


def test_what_walks_more_dimensions_than_a_tensor_has_is_copied_before() -> None:
    """Pixels in windows of windows of windows, as Hiera has them."""

    def unrolled(x):
        for _ in range(3):
            b, h, w, c = x.shape
            x = x.view(b, h // 2, 2, w // 2, 2, c).permute(0, 2, 4, 1, 3, 5)
            x = x.reshape(b * 4, h // 2, w // 2, c)
        return x.exp() + x.sum(-1, keepdim=True)

    x = torch.rand(2, 16, 16, 3)
    plan = plan_of(Formula(unrolled), (x,))
    assert not plan.left and len(plan.kernels) == 2
    found = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, unrolled(x))
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ((x * 2)[:, :2].contiguous(), (x * 2)[0].cumsum(0)[1:]),
        lambda x: ((x * 2)[:, :2].contiguous(), x[1:2] * (x * 2)[1:2, 1:].sum()),
        lambda x: ((x @ x.mT @ x)[:, :2].clone(), (x @ x.mT @ x)[:1].sin() * 2),
        lambda x: (x.exp().permute(1, 0, 2)[:2].contiguous(), x.exp()[0].cumsum(0)),
    ],
)
def test_a_result_that_is_a_part_is_not_read_in_place_of_the_whole(
    function: Callable[[Any], Any],
) -> None:
    x = torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(1))
    plan = plan_of(Formula(function), (x,))
    got = run_plan(plan, (x,), {}, in_interpreter)
    torch.testing.assert_close(got, function(x))
