"""Tiles of rows that are too long for registers."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.programs.planning.kernel_requests import kernel_of  # noqa: E402
from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tiles.tile_axes import GroupTiling  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import rest  # noqa: E402
from programs.modules import Formula  # noqa: E402


@pytest.mark.parametrize(("others", "warps"), [(0, 32), (3, 16)])
def test_a_long_row_that_is_read_again_has_a_multiprocessor(
    others: int, warps: int
) -> None:
    """Fewer warps where each element of a row takes more registers."""

    def function(x: Any, *added: Any) -> Any:
        return (x + sum(added)) / (x + sum(added)).norm(dim=1, keepdim=True)

    inputs = tuple(torch.randn(132, 9001) for _ in range(1 + others))
    plan = plan_of(Formula(function), inputs)
    (step,) = plan.kernels
    assert isinstance(step.group.form, GroupTiling)
    assert step.group.form.warps == warps
    assert proof_of(step).verdict is Verdict.EQUAL
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, function(*inputs), rtol=1e-5, atol=1e-7)


def test_rows_whose_results_lie_across_them_are_read_once():
    """A block holds as many as fill sectors, and results go through shared memory."""

    def function(x: Any, w: Any) -> Any:
        return functional.normalize((x - w.T).transpose(1, 2).contiguous())

    many = (torch.empty(600, 32, 130, device="meta"),)
    plan = plan_of(Formula(function), (*many, torch.empty(130, 32, device="meta")))
    form = plan.kernels[0].group.form
    assert isinstance(form, GroupTiling)
    assert form.held
    assert min(a.size for a in form.axes) >= 8
    inputs = (torch.randn(20, 32, 130), torch.randn(130, 32))
    plan = plan_of(Formula(function), inputs)
    (step,) = plan.kernels
    assert step.source.text.count("ag.shared(") == 2  # of what is read across, too
    assert step.source.text.count(" in ag.range(") == 0
    assert proof_of(step).verdict is Verdict.EQUAL
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, function(*inputs), rtol=1e-5, atol=1e-6)


def _row_norms(x: Any, w: Any) -> Any:
    return functional.normalize(x - w.T, dim=2)


def _map(x: Any, w: Any) -> Any:
    return torch.relu(x - w.T)


@pytest.mark.parametrize("function", [_row_norms, _map])
def test_a_small_tensor_that_lies_across_the_rows_is_read_along_its_own(
    function: Any,
) -> None:
    """Each row would read sectors of which it needs one element (159 us, not 94)."""
    inputs = (torch.randn(132, 16, 512), torch.randn(512, 16))
    plan = plan_of(Formula(function), inputs)
    (step,) = plan.kernels
    form = step.group.form
    assert isinstance(form, GroupTiling)
    assert min(a.size for a in form.axes) >= 8
    assert step.source.text.count("ag.shared(") == 1
    assert proof_of(step).verdict is Verdict.EQUAL
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, function(*inputs), rtol=1e-5, atol=1e-6)


def test_of_several_sums_the_longest_is_a_tile() -> None:
    """Short ones are loops around it: each of their steps waits for what it loads."""

    def function(x: Any, y: Any) -> Any:
        return (x * y).sum((1, 2, 3))

    inputs = torch.randn(6, 3, 40, 2, 64), torch.randn(3, 1, 2, 1)
    plan = plan_of(Formula(function), inputs)
    (step,) = plan.kernels
    form, lowered = step.group.form, step.group.lowered
    assert isinstance(form, GroupTiling)
    assert lowered is not None
    assert [lowered.sizes[a.loop] for a in form.axes] == [40, 64]
    assert proof_of(step).verdict is Verdict.EQUAL
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, function(*inputs), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("length", [300, 16384])
def test_sums_of_exponentials_of_infinite_rows(length: int) -> None:
    """In one walk of a long row, too: less a number, where the largest is none."""
    plan = plan_of(Formula(lambda x: x.logsumexp(1)), (torch.empty(4096, length),))
    (step,) = plan.kernels
    assert proof_of(step).verdict is Verdict.EQUAL
    rows = torch.randn(6, length)
    rows[0] = -inf
    rows[1, : length // 2] = rows[2, length // 2 :] = -inf
    rows[3, 5] = inf
    rows[4] = torch.tensor([nan, inf]).repeat(length // 2)
    found = torch.empty(6)
    kernel_of(step)(rows.numpy(), found.numpy())
    torch.testing.assert_close(found, rows.logsumexp(1), equal_nan=True)


WALKED: dict[str, tuple[Any, int]] = {
    # function of rows and classes, walks along the rows
    "sum": (lambda x, c: x.logsumexp(-1), 1),
    "chosen": (lambda x, c: functional.cross_entropy(x, c, reduction="none"), 1),
    "16 bits": (lambda x, c: functional.cross_entropy(x.bfloat16().float(), c), 1),
    "mean": (lambda x, c: functional.cross_entropy(x, c), 1),
    "shares": (lambda x, c: x.softmax(-1), 2),
}


@pytest.mark.parametrize("name", WALKED)
def test_the_largest_and_the_sum_of_exponentials_are_had_in_one_walk(name: str) -> None:
    """Of rows that tiles do not divide, too; an element of each is taken on the way."""
    function, walks = WALKED[name]
    torch.manual_seed(0)
    inputs = (5 * torch.randn(70, 9001), torch.randint(0, 9001, (70,)))
    plan = plan_of(Formula(function), inputs)
    assert not plan.left
    text = plan.kernels[0].source.text
    assert text.count(" in ag.range(") == walks, text
    assert len(plan.kernels[0].written) <= 2  # of a mean, whether a row counts, too
    small = (inputs[0][:3], inputs[1][:3])
    plan = plan_of(Formula(function), small)
    found = run_plan(plan, small, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, function(*small), rtol=1e-4, atol=1e-4)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


@pytest.mark.parametrize("shape", [(32, 16), (128, 8), (3, 50, 20)])
def test_short_columns_are_whole_in_a_tile(shape: tuple[int, ...]) -> None:
    """One after the other they would each wait for a few elements (58 us, now 7)."""

    def function(x: Any, y: Any) -> Any:
        return ((x - y[..., None]).abs() / y[..., None]).sum((-2, -1))

    inputs = torch.randn(shape), torch.rand(shape[:-1]) + 0.5
    plan = plan_of(Formula(function), inputs)
    (step,) = plan.kernels
    assert isinstance(step.group.form, GroupTiling)
    assert len(step.group.form.axes) >= 2
    assert "ag.range" not in step.source.text
    assert prediction_of(step).microseconds < 10
    assert proof_of(step).verdict is Verdict.EQUAL
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, function(*inputs), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("shape", "dim", "before"),
    [((1024, 8), 0, 38.4), *rest(((2048, 2), 0, 74.8)), ((64, 512, 8), 1, 21.2)],
)
def test_few_rows_side_by_side_are_scanned_by_warps(
    shape: tuple[int, ...], dim: int, before: float
) -> None:
    """Ranks of tokens by expert: threads took in one element after the other."""
    few = (min(shape[0], 70), *shape[1:]) if dim == 0 else (2, 70, *shape[2:])
    scans = [lambda x: (x * 2).cumsum(dim), lambda x: x.flip(dim).cummax(dim)[1]]
    for scan in scans:
        (step,) = plan_of(Formula(scan), (torch.empty(shape, device="meta"),)).kernels
        assert prediction_of(step).microseconds < before / 2
        assert proof_of(step).verdict is Verdict.EQUAL
        inputs = (torch.randn(few),)
        plan = plan_of(Formula(scan), inputs)
        found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
        torch.testing.assert_close(found, scan(*inputs), rtol=1e-5, atol=1e-5)
