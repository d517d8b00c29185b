"""Products of groups of rows are kernels: one matrix for each tile of rows."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from argus.programs.backend import GraphReport, argus_backend  # noqa: E402
from argus.programs.capturing.capture import capture  # noqa: E402
from argus.programs.planning.plan import plan_of, plan_program  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from few import rest  # noqa: E402
from programs.modules import Formula  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself

GROUPS, INNER, COLUMNS = 3, 16, 24
grouped: Any = vars(torch)["_grouped_mm"]


class Layer(nn.Module):
    """Groups of rows times matrices; ``across``: as linear layers have them."""

    def __init__(self, across: bool) -> None:
        super().__init__()
        drawn = torch.Generator().manual_seed(0)
        sizes = (COLUMNS, INNER) if across else (INNER, COLUMNS)
        made = torch.randn(GROUPS, *sizes, generator=drawn)
        self.weight, self.across = nn.Parameter(made.bfloat16()), across

    def forward(self, x: Any, ends: Any) -> Any:
        weight = self.weight.transpose(1, 2) if self.across else self.weight
        return grouped(x, weight, offs=ends)


def given(rows: int, *ends: int) -> tuple[Any, Any]:
    drawn = torch.Generator().manual_seed(1)
    x = torch.randn(rows, INNER, generator=drawn).bfloat16()
    return x, torch.tensor(ends, dtype=torch.int32)


def compiled(call: Any, reports: list[GraphReport]) -> Any:
    torch._dynamo.reset()
    chosen = {"interpret": True, "report": reports.append}
    return torch.compile(call, backend=argus_backend, options=chosen)


@pytest.mark.parametrize(
    ("across", "rows", "ends"),
    [
        (False, 20, (7, 7, 18)),
        (True, 140, (0, 130, 140)),
        *rest((True, 5, (1, 2, 5))),
        (False, 9, (0, 0, 0)),
    ],
)
def test_groups_of_rows_have_matrices_of_their_own(
    across: bool, rows: int, ends: tuple[int, ...]
) -> None:
    layer, values = Layer(across), given(rows, *ends)
    reports: list[GraphReport] = []
    x = values[0].requires_grad_()
    found, wanted = compiled(layer, reports)(*values), layer(*values)
    used = ends[-1]
    torch.testing.assert_close(found[:used], wanted[:used])
    gradients = [
        torch.autograd.grad(y[:used].float().cos().sum(), [x, layer.weight])
        for y in (found, wanted)
    ]
    torch.testing.assert_close(gradients[0][0][:used], gradients[1][0][:used])
    torch.testing.assert_close(gradients[0][1], gradients[1][1])
    forward, backward = reports
    assert not forward.left
    assert not backward.left


def test_groups_of_columns_are_those_of_rows() -> None:
    x, ends = given(20, 7, 7, 20)
    weight = Layer(True).weight.detach()

    def columns(x: Any, ends: Any) -> Any:
        return grouped(weight, x.t(), offs=ends)

    reports: list[GraphReport] = []
    found = compiled(columns, reports)(x, ends)
    torch.testing.assert_close(found, columns(x, ends))
    assert not reports[0].left


@pytest.mark.parametrize("across", [*rest(False), True])
def test_kernels_of_groups_are_equal_to_their_references(across: bool) -> None:
    """And the matrices are read where they are."""
    plan = plan_program(capture(Layer(across), given(300, 100, 130, 300)))
    assert not plan.left
    products = [s for s in plan.kernels if "sum of products" in s.computes]
    assert len(products) == 1
    text = products[0].source.text
    assert "ag.role" in text and "Weight[" in text
    verdicts = {s.computes: str(proof_of(s).verdict) for s in plan.kernels}
    assert set(verdicts.values()) == {"equal"}, verdicts


def test_sums_along_groups_are_equal_to_their_references() -> None:
    class Sums(nn.Module):
        def forward(self, x: Any, y: Any, ends: Any) -> Any:
            return grouped(x.t(), y, offs=ends)

    x, ends = given(300, 100, 130, 300)
    y = torch.cat([x, x.flip(1)[:, :8]], 1)
    plan = plan_program(capture(Sums(), (x, y, ends)))
    assert not plan.left
    (product,) = (s for s in plan.kernels if "sum of products" in s.computes)
    assert "ag.role" in product.source.text
    verdicts = {s.computes: str(proof_of(s).verdict) for s in plan.kernels}
    assert set(verdicts.values()) == {"equal"}, verdicts


def test_matrices_of_tiles_are_read_where_they_lie() -> None:
    """Not even where each is read for as many rows as a model has."""

    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.empty(16, 1024, 768).bfloat16())

        def forward(self, x: Any, ends: Any) -> Any:
            return grouped(x, self.weight.transpose(1, 2), offs=ends)

    x = torch.empty(2048, 768).bfloat16()
    ends = torch.full((16,), 2048, dtype=torch.int32)
    plan = plan_program(capture(Experts(), (x, ends)))
    stored = [step.planned.stored.size for step in plan.kernels if step.planned]
    assert max(stored) < 16 * 1024 * 768, [k.source.name for k in plan.kernels]


def _rows(x: Any, y: Any, ends: Any) -> Any:
    """What `transformers` computes where torch has no product of groups."""
    found, begin = torch.zeros(x.shape[0], y.shape[2]).to(x), 0
    for one, end in enumerate(ends.tolist()):
        found[begin:end], begin = x[begin:end] @ y[one], end
    return found


def _gradients(x: Any, y: Any, ends: Any, given: Any) -> tuple[Any, Any]:
    rows = _rows(given, y.transpose(1, 2), ends)
    found, begin = torch.zeros_like(y), 0
    for one, end in enumerate(ends.tolist()):
        found[one], begin = x[begin:end].T @ given[begin:end], end
    return rows, found


def _operators() -> Any:
    library = torch.ops.transformers
    if not hasattr(library, "grouped_mm_fallback"):
        own: Any = torch.library.custom_op
        ahead = "(Tensor input, Tensor weight, Tensor offs"
        for name, function, schema, shapes in (
            ("", _rows, f"{ahead}) -> Tensor",
             lambda x, y, _: x.new_empty(x.shape[0], y.shape[2])),
            ("_backward", _gradients, f"{ahead}, Tensor grad) -> (Tensor, Tensor)",
             lambda x, y, *_: (torch.empty_like(x), torch.empty_like(y))),
        ):  # fmt: skip
            full = f"transformers::grouped_mm_fallback{name}"
            made = own(full, function, mutates_args=(), schema=schema)
            made.register_fake(shapes)
    return library


def test_groups_of_f32_are_what_transformers_says_they_are() -> None:
    """Rows behind the last group are 0, and matrices of no rows have no gradient."""
    library, (x, ends) = _operators(), given(40, 7, 7, 30)
    drawn = torch.Generator().manual_seed(2)
    y, back = (torch.randn(*n, generator=drawn) for n in ((3, 16, 24), (40, 24)))

    def both(x: Any, y: Any, ends: Any, back: Any) -> Any:
        gradients = library.grouped_mm_fallback_backward(x, y, ends, back)
        return library.grouped_mm_fallback(x, y, ends), *gradients

    inputs = (x.float(), y, ends, back)
    plan = plan_of(Formula(both), inputs)
    assert not plan.left
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    wanted = (_rows(*inputs[:3]), *_gradients(*inputs))
    torch.testing.assert_close(found, wanted)


def test_matrices_of_f32_that_are_too_many_to_copy_stay_in_torch() -> None:
    library = _operators()
    shapes = (torch.empty(4096, 4096), torch.empty(8, 4096, 4096))
    ends = torch.zeros(8, dtype=torch.int32)
    call = library.grouped_mm_fallback
    (step,) = plan_of(Formula(call), (*shapes, ends)).left
    assert step.why == "matrices of f32 that are copied for each tile"
