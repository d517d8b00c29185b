"""Tables that move elements by rule become views, and sums over the other digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.ir.dtypes import f32, i64  # noqa: E402
from argus.programs.backend import GraphReport, argus_backend  # noqa: E402
from argus.programs.lowering.known_tables import digit_table, quotient_table  # noqa: E402
from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tensors.recorder import ProgramRecorder  # noqa: E402
from argus.programs.tensors.tensor_array import TensorArray  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself


def elements(sizes: tuple[int, ...], factors: tuple[int, ...], start: int) -> Any:
    at = np.indices(sizes).reshape(len(sizes), -1)
    return start + (at * np.array(factors)[:, None]).sum(0)


@pytest.mark.parametrize("seed", range(20))
def test_digits_are_found_from_elements(seed: int) -> None:
    """A table written as positions and quotients of them has the digits it has."""
    chance = np.random.default_rng(seed)
    outer, inner, step = (int(n) for n in chance.integers(1, 6, 3))
    start, shift = (int(n) for n in chance.integers(0, 9, 2))
    r = ProgramRecorder()
    at: Any = TensorArray(r, r.positions((outer * inner,), 0))
    rows: Any = TensorArray(r, r.positions((3, 1), 0, start, 7))
    table = rows + at // inner * step + shift
    found = digit_table(table.operand)
    assert found is not None
    wanted = np.add.outer(
        start + 7 * np.arange(3), np.arange(outer * inner) // inner * step + shift
    )
    got = elements(found.sizes, found.factors, found.start).reshape(wanted.shape)
    assert (got == wanted).all()
    n = int(wanted.max()) + 1
    assert found.inside(n) and not found.inside(n - 1)


def test_what_is_no_sum_of_digits_or_not_known_has_none() -> None:
    r = ProgramRecorder()
    at: Any = TensorArray(r, r.positions((9,), 0))
    assert digit_table((at * at).operand) is None
    assert digit_table(np.minimum(at, 4).operand) is None  # type: ignore[attr-defined]
    given = r.made("given", (9,), at.element, r.positions((9,), 0, 1).value.made)
    assert digit_table(given) is not None


@pytest.mark.parametrize("sizes", [{"scale_factor": 2.0}, {"size": (12, 5)}])
def test_an_enlarged_image_compares_no_positions(sizes: dict[str, Any]) -> None:
    torch._dynamo.reset()
    reports: list[GraphReport] = []
    call = torch.compile(
        lambda x: functional.interpolate(x, **sizes),
        backend=argus_backend,
        options={"interpret": True, "report": reports.append},
    )
    x = random(2, 3, 4, 5).requires_grad_()
    found, wanted = call(x), functional.interpolate(x, **sizes)
    assert torch.equal(found, wanted)
    back = random(*wanted.shape)
    gradients = [torch.autograd.grad(y, x, back)[0] for y in (found, wanted)]
    torch.testing.assert_close(*gradients)
    forward, backward = (r.kernels for r in reports)
    assert len(forward) == len(backward) == 1
    assert not any("eq" in k or "gather" in k for k in (*forward, *backward))


@pytest.mark.parametrize("seed", range(20))
def test_lines_of_floats_are_quotients(seed: int) -> None:
    """Each element, also where a float lies beside a whole number."""
    chance = np.random.default_rng(seed)
    size, n = (int(k) for k in chance.integers(2, 300, 2))
    step, half = float(np.float32(n / size)), float(chance.integers(0, 2) / 2)
    r = ProgramRecorder()
    at: Any = TensorArray(r, r.positions((size,), 0))
    line: Any = (at.cast(f32) + half) * step
    whole: Any = np.floor(line)
    found = quotient_table(np.minimum(whole.cast(i64), n - 1).operand)  # type: ignore[attr-defined]
    wanted = np.float32(np.arange(size) + half) * np.float32(step)
    places = np.arange(size)
    assert found is not None
    got = (found.factor * places + found.start) // found.divisor
    assert (got == np.minimum(wanted.astype(int), n - 1)).all()
    assert quotient_table((at // 2).operand) is None
    assert quotient_table((line * line).cast(i64).operand) is None or size < 3


CHOSEN: dict[str, Any] = {
    "nearest": lambda x: functional.interpolate(x, size=(7, 4)),
    "nearest, by a factor": lambda x: functional.interpolate(x, scale_factor=1.3),
    "nearest centres": lambda x: functional.interpolate(
        x, (7, 4), mode="nearest-exact"
    ),
    "in a circle": lambda x: x[:, (torch.arange(3) + 1) % 3] * x,
    "behind an end": lambda x: x[..., (torch.arange(9) - 2).clamp(0, 4)].exp(),
    "a cross product": lambda x: torch.linalg.cross(x, x + 1, dim=1),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_what_positions_choose_is_equal_for_all_sizes(name: str) -> None:
    x = random(2, 3, 5, 6)
    plan = plan_of(Formula(CHOSEN[name]), (x,))
    assert not plan.left
    found = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, CHOSEN[name](x))
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def _same_document(x: Any) -> Any:
    """What transformers' causal masks are made of, where no positions are given."""
    at = torch.arange(x.shape[-1]).expand(2, -1)
    steps = torch.diff(at, prepend=at[:, :1] - 1, dim=-1)
    number = (steps != 1).cumsum(-1)
    same = number[:, :, None] == number[:, None, :]
    return torch.where(same & (at[:, :, None] >= at[:, None, :]), x, -1.0)


def _counted(x: Any) -> Any:
    at = torch.arange(x.shape[-1])
    return x * torch.ones_like(at).cumsum(0) + (at * 0 + 3).cumsum(0)


def _counted_by_rows(x: Any) -> Any:
    at = torch.arange(x.shape[-1]).expand(7, -1)
    rows = torch.ones_like(at).cumsum(0, dtype=torch.int32)
    return torch.where(rows > at, x, 0.0)


@pytest.mark.parametrize("function", [_same_document, _counted, _counted_by_rows])
def test_sums_of_known_numbers_are_positions(function: Any) -> None:
    x = random(2, 7, 7)
    plan = plan_of(Formula(function), (x,))
    assert len(plan.kernels) == 1
    assert "sum" not in plan.kernels[0].computes
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    assert torch.equal(got, function(x))
    assert proof_of(plan.kernels[0]).verdict is Verdict.EQUAL


def test_sums_of_known_numbers_that_do_not_rise_evenly_are_summed() -> None:
    def call(x: Any) -> Any:
        at = torch.arange(7)
        return x + (at * at).cumsum(0) + (at > 3).cumsum(0)

    x = random(3, 7)
    plan = plan_of(Formula(call), (x,))
    assert any("cumsum" in step.computes for step in plan.kernels)
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, call(x))
