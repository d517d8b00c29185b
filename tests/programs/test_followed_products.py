"""Functions that take long behind large products: in their kernel, beside others.

Sizes are those for which it matters; nothing is computed of them but proofs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.programs.planning.plan import KernelStep, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.products.product_forms import ProductForm  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "gelu": functional.gelu,
    "mish": functional.mish,
}


def kernels(function: Callable[..., Any], *shapes: Any) -> tuple[KernelStep, ...]:
    with torch.device("meta"):
        given = tuple(x if torch.is_tensor(x) else torch.empty(x) for x in shapes)
    return tuple(plan_of(Formula(function), given).kernels)


def products(steps: tuple[KernelStep, ...]) -> list[tuple[KernelStep, ProductForm]]:
    return [(s, s.group.form) for s in steps if isinstance(s.group.form, ProductForm)]


@pytest.mark.parametrize(("name", "channels"), [("mish", 64), ("gelu", 128)])
def test_a_convolution_has_what_follows_it(name: str, channels: int) -> None:
    """One kernel behind those that round operands, with tiles for it."""
    steps = kernels(
        lambda x, w, b: FUNCTIONS[name](functional.conv2d(x, w, b)),
        (64, 64, 130, 130), (channels, 64, 3, 3), (channels,),
    )  # fmt: skip
    ((step, form),) = products(steps)
    assert step is steps[-1]
    assert form.tile.bm * form.tile.bn <= 128 * 128
    assert (form.tile.resident > 1) == (form.tile.bm * form.tile.bn < 128 * 128)
    assert proof_of(step).verdict in (Verdict.PROVED, Verdict.EQUAL)


def test_few_results_take_the_usual_tiles() -> None:
    """A launch would take longer than the functions."""
    steps = kernels(
        lambda x, w: torch.tanh(functional.conv2d(x, w)),
        (8, 64, 66, 66), (64, 64, 3, 3),
    )  # fmt: skip
    ((_, form),) = products(steps)
    assert form.tile.resident == 1


def test_elements_of_16_bits_are_read_again() -> None:
    """Storing and reading them takes less than few warps need."""
    with torch.device("meta"):
        a, b = (torch.empty(8192, 512, dtype=torch.bfloat16) for _ in range(2))
    steps = kernels(lambda a, b: functional.gelu(a @ b.T), a, b)
    assert len(steps) == 2
