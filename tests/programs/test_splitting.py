"""Reductions to few results are those of parts, which many blocks compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import rest  # noqa: E402
from programs.modules import Formula  # noqa: E402

LAST = torch.channels_last
SHORT_PIECES: dict[str, tuple[Callable[..., Any], Any, int]] = {
    # function, input, kernels
    "group": (lambda x: functional.group_norm(x, 4), (1, 24, 33, 32), 5),
    "sum": (lambda x: x.sum((1, 2, 3)), (2, 48, 25, 24), 2),
    "largest": (lambda x: x.amax((1, 2, 3)), (2, 48, 25, 24), 2),
}


@pytest.mark.parametrize("name", SHORT_PIECES)
def test_short_pieces_side_by_side_are_results_of_parts(name: str) -> None:
    function, shape, kernels = SHORT_PIECES[name]
    torch.manual_seed(0)
    x = torch.randn(shape).to(memory_format=LAST)
    plan = plan_of(Formula(function), (x,))
    assert len(plan.kernels) == kernels
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got.double(), function(x.double()), rtol=1e-4, atol=1e-4)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_groups_of_channels_side_by_side_are_read_by_lines() -> None:
    """Channel by channel, with pixels 1 KB apart, both sums took 84 us."""
    x = torch.empty(8, 512, 64, 64, dtype=torch.bfloat16).to(memory_format=LAST)
    plan = plan_of(Formula(lambda x: functional.group_norm(x, 32)), (x,))
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < 100


def test_sums_of_columns_are_a_blocks_32_at_a_time() -> None:
    """Few columns of many rows keep most of a GPU busy; few rows are one kernel."""
    x = torch.randn(25088, 96)
    plan = plan_of(Formula(lambda x: x.sum(0)), (x,))
    first, last = plan.kernels
    assert list(first.source.sizes.values()) == [128, 96, 196]
    assert list(last.source.sizes.values()) == [96, 128]
    seen = plan_of(Formula(lambda x: (2 * x.view(8, 56, 56, 96)).sum((0, 1, 2))), (x,))
    assert len(seen.kernels) == 2
    few = plan_of(Formula(lambda x: x.sum(0)), (x[:392],))
    assert len(few.kernels) == 1


def test_sums_are_cut_where_loops_can_walk_the_parts() -> None:
    """28 parts of 224 rows are no windows of 49 rows, of which there are 128."""
    x = torch.randn(3, 128, 6, 49, 32)

    def columns(x: Any) -> Any:
        return x.permute(1, 3, 0, 2, 4).reshape(6272, 576).sum(0)

    plan = plan_of(Formula(columns), (x,))
    assert not plan.left
    assert len(plan.kernels) == 2
    assert 128 % plan.kernels[0].source.tensors[-1].buffer.shape[0] == 0


UNEVEN: dict[str, tuple[Callable[..., Any], tuple[int, ...], int]] = {
    # function, shape, kernels
    "sum": (lambda x: x.sum(), (40009,), 2),
    "columns": (lambda x: x.sum(0), (4099, 32), 2),
    "several": (lambda x: x.sum((0, 1)), (211, 223, 8), 2),
    "largest": (lambda x: x.amax(1), (2, 40009), 2),
    "truths": (lambda x: (x > 4).any(1), (2, 40009), 2),
    "products": (lambda x: (x * x).sum(), (199, 211), 2),
    "scan": (lambda x: x.cumsum(0), (40009,), 4),
    "scans of columns": (lambda x: x.cumsum(0), (4099, 32), 4),
    "scans between": (lambda x: x.cumsum(1), (2, 1031, 40), 4),
}


@pytest.mark.parametrize("name", UNEVEN)
def test_sizes_that_parts_do_not_divide_are_cut_too(name: str) -> None:
    function, shape, kernels = UNEVEN[name]
    torch.manual_seed(0)
    x = torch.randn(shape)
    plan = plan_of(Formula(function), (x,))
    assert len(plan.kernels) == kernels
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    wanted = function(x.double())
    torch.testing.assert_close(got.double(), wanted.double(), rtol=1e-4, atol=1e-3)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


@pytest.mark.parametrize("shape, dim", [((4096, 32), 0), ((2, 1024, 40), 1)])
def test_scans_across_memory_are_those_of_parts(
    shape: tuple[int, ...], dim: int
) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    plan = plan_of(Formula(lambda x: x.cumsum(dim)), (x,))
    assert len(plan.kernels) == 3
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, x.cumsum(dim), rtol=1e-4, atol=1e-4)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


SLOW: dict[str, tuple[Callable[..., Any], tuple[int, ...], float]] = {
    # what one block or few of them would take ten times as long for, or more
    "sum": (lambda x: x.sum(), (16000057,), 30),
    "columns": (lambda x: x.sum(0), (1000003, 64), 100),
    "scan": (lambda x: x.cumsum(0), (1000000, 64), 300),
    "uneven scan": (lambda x: x.cumsum(0), (1000003, 64), 400),
}


@pytest.mark.parametrize("name", SLOW)
def test_no_few_blocks_walk_long_rows(name: str) -> None:
    function, shape, most = SLOW[name]
    plan = plan_of(Formula(function), (torch.empty(shape),))
    assert not plan.left
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < most


PRODUCTS: dict[str, tuple[tuple[int, ...], ...]] = {
    # shapes of the factors, one of which is a vector
    "rows": ((2, 300000), (300000,)),
    "columns": ((1, 8192), (8192, 64)),
    "line": ((300007,), (300007,)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_a_matrix_by_a_vector_are_those_of_parts(name: str) -> None:
    torch.manual_seed(0)
    given = tuple(torch.randn(shape) for shape in PRODUCTS[name])
    plan = plan_of(Formula(lambda x, y: x @ y), given)
    assert len(plan.kernels) == 2
    got = run_plan(plan, given, plan.program.tensors, in_interpreter)
    wanted = given[0].double() @ given[1].double()
    torch.testing.assert_close(got.double(), wanted, rtol=1e-4, atol=1e-3)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_a_small_matrix_by_a_vector_is_one_launch() -> None:
    given = torch.empty(1, 2048), torch.empty(2048, 1000)
    assert len(plan_of(Formula(lambda x, y: x @ y), given).kernels) == 1


def test_scans_of_scans_stay_one_kernel_where_parts_are_few() -> None:
    def chained(x: Any, y: Any) -> Any:
        return torch.cumsum(y / torch.cumprod(x, 1), 1)

    given = torch.empty(8, 2048, 1024), torch.empty(8, 2048, 1024)
    assert len(plan_of(Formula(chained), given).kernels) == 1
    assert len(plan_of(Formula(lambda x: x.cumsum(1)), given[:1]).kernels) == 3
    many = torch.empty(32, 2048, 1024)
    assert len(plan_of(Formula(lambda x: x.cumsum(1)), (many,)).kernels) == 1


def test_what_steps_of_a_loop_read_is_looked_through_to_the_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each step reads the one before three times (CTC): all paths were walked."""
    from functools import partial

    from torch._functorch.aot_autograd import aot_function

    from argus.programs import backend
    from argus.programs.planning import splitting

    def paths(scores: Any, open_: Any, labels: Any) -> Any:
        sums = scores[0].gather(1, labels)
        for step in scores[1:]:
            later = functional.pad(sums, (1, 0), value=-1e30)[:, :-1]
            skipped = functional.pad(sums, (2, 0), value=-1e30)[:, :-2]
            skipped = torch.where(open_, skipped, -1e30)
            sums = torch.logsumexp(torch.stack([sums, later, skipped]), 0)
            sums = sums + step.gather(1, labels)
        return sums[:, -1].mean()

    votes: list[Any] = []
    vote: Any = vars(splitting)["_vote"]
    monkeypatch.setattr(
        splitting, "_vote", lambda *given: (votes.append(None), vote(*given))
    )
    options = backend.BackendOptions(interpret=True)
    made: Any = vars(backend)["_compiled"]
    call: Any = aot_function(
        paths,
        fw_compiler=partial(made, "forward", options),
        bw_compiler=partial(made, "backward", options),
        decompositions=backend.decompositions(),
    )
    torch.manual_seed(0)
    scores, open_ = torch.randn(9, 2, 5), torch.rand(2, 7) > 0.5
    labels = torch.randint(0, 5, (2, 7))
    given = [scores.clone().requires_grad_() for _ in range(2)]
    call(given[0], open_, labels).backward()
    paths(given[1], open_, labels).backward()
    torch.testing.assert_close(given[0].grad, given[1].grad, rtol=1e-4, atol=1e-5)
    assert 0 < len(votes) < 4000, len(votes)


def _nested(x: torch.Tensor) -> torch.Tensor:
    y = x
    for _ in range(110):
        y = torch.sin(y) + x
    return y


def _of_positions(x: torch.Tensor) -> torch.Tensor:
    at = torch.arange(8.0)
    for _ in range(110):
        at = at * 0.5 + 1
    return x + at


def _filtered(x: torch.Tensor) -> torch.Tensor:
    kept = x[:, 0]
    for i in range(1, 110):
        kept = torch.lerp(kept, x[:, i % 8], 0.25)
    return kept


@pytest.mark.parametrize("function", [_nested, *rest(_of_positions, _filtered)])
def test_what_is_made_of_each_other_hundreds_of_times_is_several_kernels(
    function: Callable[[Any], Any],
) -> None:
    x = torch.rand(4, 8)
    plan = plan_of(Formula(function), (x,))
    assert plan.whole and 1 < len(plan.kernels) < 8
    got = run_plan(plan, (x,), {}, in_interpreter)
    torch.testing.assert_close(got, function(x))
