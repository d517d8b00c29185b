"""Tables that move elements by rule become views, and sums over the other digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.programs.backend import GraphReport, argus_backend  # noqa: E402
from argus.programs.lowering.known_tables import digit_table  # noqa: E402
from argus.programs.tensors.recorder import ProgramRecorder  # noqa: E402
from argus.programs.tensors.tensor_array import TensorArray  # noqa: E402
from programs.modules import random  # noqa: E402

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
