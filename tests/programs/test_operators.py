"""Operators of torch as programs: kernels alone, which give what torch does."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402
from torch.utils import _pytree  # noqa: E402

from argus.diagnostics import ArgusError  # noqa: E402
from argus.programs.operators import scan_operators, scattering_operators  # noqa: E402
from argus.programs.planning import grouping  # noqa: E402
from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tensors import numpy_functions, recorder  # noqa: E402
from argus.programs.tensors.operator_table import OWN  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402
from programs.operators import OPERATORS  # noqa: E402

PROVED = ("largest", "added up", "routed", "searched", "put")


def leaves(result: Any) -> list[Any]:
    return _pytree.tree_leaves(result)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_gives_what_torch_does(name: str) -> None:
    function, inputs = OPERATORS[name]
    tensors = tuple(x for x in inputs if isinstance(x, torch.Tensor))
    rest = inputs[len(tensors) :]
    model = Formula(lambda *given: function(*given, *rest))
    plan = plan_of(model, tensors)
    assert [(s.what, s.why) for s in plan.left] == []
    made = run_plan(plan, tensors, plan.program.tensors, in_interpreter)
    wanted = function(*inputs)
    for got, other in zip(leaves(made), leaves(wanted), strict=True):
        torch.testing.assert_close(got, other, rtol=2e-6, atol=2e-6, equal_nan=True)
        if got.is_floating_point():
            finite = other.isfinite()
            assert torch.equal(got.signbit() & finite, other.signbit() & finite)


@pytest.mark.parametrize("name", PROVED)
def test_kernels_of_operators_are_proved(name: str) -> None:
    function, inputs = OPERATORS[name]
    for step in plan_of(Formula(function), inputs).kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_large_kernels_take_in_several_maps_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each alone, an image that is read between its pixels was lowered 170 times."""
    tried: list[int] = []
    one_kernel = vars(grouping)["_one_kernel"]

    def counted(stored: Any, inside: Any) -> Any:
        tried.append(len(inside))
        return one_kernel(stored, inside)

    monkeypatch.setattr(grouping, "_one_kernel", counted)
    model = Formula(lambda x: functional.interpolate(x, (5, 7), mode="bicubic"))
    x = torch.randn(1, 2, 3, 4)
    plan = plan_of(model, (x,))
    assert len(plan.kernels) == 1 and max(tried) > 100 and len(tried) < 60
    found = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, model(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_places_of_16_bits_are_computed_in_f32(mode: str) -> None:
    """In their own bits they are off by whole elements of an image."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 40, 33, dtype=torch.bfloat16)
    places = (torch.rand(2, 5, 4, 2) * 2.4 - 1.2).bfloat16()

    def call(x: Any, places: Any) -> Any:
        how = {"mode": mode, "padding_mode": "border", "align_corners": False}
        return functional.grid_sample(x, places, **how)

    plan = plan_of(Formula(call), (x, places))
    got = run_plan(plan, (x, places), plan.program.tensors, in_interpreter)
    wanted = call(x.double(), places.double())
    assert float((got.double() - wanted).norm() / wanted.norm()) < 4e-3


@pytest.mark.parametrize(
    ("count", "dim"), [((300, 35), None), ((4, 9000), 1), ((9000, 3), 0)]
)
def test_positions_of_more_than_f32_counts_are_those_of_parts(
    count: tuple[int, ...], dim: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "_EXACT_FLOATS", 4096)
    torch.manual_seed(0)
    x = torch.randn(count).bfloat16()
    x[-1, -1] = x[0, 1] = torch.nan if dim is None else 9.0

    def call(x: Any) -> Any:
        return x.argmax(dim), x.argmin(dim)

    plan = plan_of(Formula(call), (x,))
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    assert all(torch.equal(a, b) for a, b in zip(got, call(x), strict=True))


def test_places_of_extremes_of_a_large_tensor_are_found_by_many_blocks() -> None:
    """One block took 46 ms for 2**26 elements."""
    plan = plan_of(Formula(lambda x: x.argmax()), (torch.empty(8192, 8192),))
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < 500
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_one_element_of_each_row_is_no_search_among_all_rows() -> None:
    """Compared one with all, these would be more than are compared."""

    def put(x: Any, at: Any, y: Any) -> Any:
        rows = torch.arange(2048)
        return x.index_put((rows, at), y, accumulate=True), x.index_put((rows, at), y)

    inputs = (torch.rand(2048, 1100), torch.arange(2048) % 1100, torch.rand(2048))
    assert not plan_of(Formula(put), inputs).left


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32])
def test_many_rows_that_are_added_are_a_product(
    kind: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scattering_operators, "_LEAST_PRODUCTS", 0)
    # What matrix products may round, sums of rows do not.
    monkeypatch.setattr(numpy_functions, "product_precision", lambda: "tf32")

    def added(x: Any, rows: Any, t: Any) -> Any:
        return x.index_add(0, t, rows), x.index_put((t,), rows, accumulate=True)

    x, rows = torch.randn(7, 24).to(kind), torch.randn(40, 24).to(kind)
    t = torch.randint(0, 7, (40,))
    plan = plan_of(Formula(added), (x, rows, t))
    assert not plan.left
    assert any("sum_of_products" in step.source.text for step in plan.kernels)
    wanted = x.double().index_add(0, t, rows.double())
    for made in leaves(run_plan(plan, (x, rows, t), {}, in_interpreter)):
        error = (made.double() - wanted).norm() / wanted.norm()
        assert error < (4e-3 if kind == torch.bfloat16 else 1e-6)


def test_rows_that_are_added_to_many_stay_in_torch() -> None:
    def added(x: Any, t: Any, rows: Any) -> Any:
        return x.index_add(0, t, rows)

    shapes = (torch.empty(50000, 64), torch.zeros(50000).long(), torch.empty(50000, 64))
    (step,) = plan_of(Formula(added), shapes).left
    assert step.why == "3200000 entries that are written to 50000 places"


def test_what_torch_calls_another_type_becomes_what_it_said() -> None:
    """Torch says that this one gives floats, and it gives truth values."""
    model = Formula(lambda x: torch.ops.prims.erfcx(x) * 2)
    plan = plan_of(model, (torch.rand(4),))
    assert len(plan.left) == 1
    (made,) = leaves(run_plan(plan, (torch.ones(4),), {}, in_interpreter))
    torch.testing.assert_close(made, 2 * torch.special.erfcx(torch.ones(4)))


def test_a_translation_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(x: Any) -> Any:
        raise KeyError("of a bug")

    monkeypatch.setitem(OWN, "aten.relu.default", broken)
    plan = plan_of(Formula(torch.relu), (torch.rand(4),))
    (step,) = plan.left
    assert step.why.startswith("its translation fails: KeyError")


def test_checks_of_elements_stay_in_torch_and_are_made() -> None:
    def classes(x: Any) -> Any:
        return torch.nn.functional.one_hot(x, 3) * 2

    plan = plan_of(Formula(classes), (torch.tensor([2, 0]),))
    assert {s.what for s in plan.left} == {"aten._assert_async.msg"}
    (made,) = leaves(run_plan(plan, (torch.tensor([1, 2]),), {}, in_interpreter))
    assert torch.equal(made, classes(torch.tensor([1, 2])))
    with pytest.raises(RuntimeError, match="Class values"):
        run_plan(plan, (torch.tensor([1, 3]),), {}, in_interpreter)


def test_errors_of_linear_algebra_are_ordered_by_no_token() -> None:
    plan = plan_of(Formula(lambda x: torch.linalg.inv(x) + 1), (torch.eye(3),))
    names = [s.what for s in plan.left]
    assert names == ["aten.linalg_inv_ex.default", "aten._linalg_check_errors.default"]
    (made,) = leaves(run_plan(plan, (2 * torch.eye(3),), {}, in_interpreter))
    torch.testing.assert_close(made, 0.5 * torch.eye(3) + 1)
    with pytest.raises(RuntimeError, match="singular"):
        run_plan(plan, (torch.zeros(3, 3),), {}, in_interpreter)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.to_sparse_csr() @ x,
        lambda x: x[:, 1].as_strided((9,), (1,), 0),
        lambda x: torch.as_strided_scatter(x, x[:2, :2], (2, 2), (1, 1)),
        torch.nonzero,
    ],
)
def test_what_is_no_program_is_refused_by_name(function: Any) -> None:
    with pytest.raises(ArgusError, match="AG1041"):
        plan_of(Formula(function), (torch.rand(3, 3),))


@pytest.mark.parametrize("shape", [(3, 70), (2, 33, 3), (2, 1100)])
def test_running_sums_of_exponentials_are_those_of_parts(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_operators, "_FEW", 0)
    torch.manual_seed(0)
    x = 30 * torch.randn(shape)
    x[0, :5] = -torch.inf
    x[1, 32] = torch.inf
    x[0, 20] = torch.nan if len(shape) == 2 else 0.0

    def call(x: Any) -> Any:
        return x.logcumsumexp(1)

    plan = plan_of(Formula(call), (x,))
    assert plan.whole
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, call(x), equal_nan=True, rtol=1e-5, atol=1e-5)


def test_running_sums_of_exponentials_of_long_rows() -> None:
    """Each place of a row of 1024 was compared with all: 1449 us."""
    x = torch.empty(4, 1024, 256)
    plan = plan_of(Formula(lambda x: x.logcumsumexp(1)), (x,))
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < 60
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


@pytest.mark.parametrize("name", ["amax", "logsumexp", "softmax"])
def test_reductions_of_rows_that_a_table_chooses_are_proved(name: str) -> None:
    """What a load makes of an index that is none is nothing of a maximum."""
    weight, at = torch.randn(100, 64), torch.randint(0, 90, (8, 16))
    model = Formula(lambda w, t: getattr(w[t], name)(1))
    for step in plan_of(model, (weight, at)).kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_a_product_whose_reader_is_in_several_kernels_is_stored() -> None:
    """Planning two pools of one image ended where a sum was read by both."""
    torch.manual_seed(0)
    x = torch.randn(4, 16, 32, 32)

    def call(x: Any) -> Any:
        means = functional.adaptive_avg_pool2d(x, (5, 7))
        return means, functional.adaptive_max_pool2d(x, 3)

    plan = plan_of(Formula(call), (x,))
    assert plan.whole
