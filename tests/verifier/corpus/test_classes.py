"""Every class of mistakes that the design names is in the corpus."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from verifier.corpus.mistakes import Mistake, mistakes_of
from verifier.order.test_placed import MISTAKES as PLACED
from verifier.order.test_seeded import SEEDS as ORDER
from verifier.tags.test_seeded import SEEDS as DATA

ROOT = Path(__file__).parents[1] / "refuted" / "kernels"
MISTAKES = [m for file in sorted(ROOT.glob("*/*.py")) for m in mistakes_of(file)]
RULES = Counter([x.rule for found in (MISTAKES, DATA, ORDER, PLACED) for x in found])

CODES = {
    "AG0301": 20,  # pairs of a product
    "AG0303": 20,  # bias, scale, residual, rotary
    "AG0305": 20,  # the place of what is stored
    "AG0306": 10,  # never written
    "AG0307": 4,  # written twice
    "AG0308": 10,  # incomplete sums
    "AG0309": 8,  # counted twice
    "AG0310": 15,  # padding
    "AG0311": 1,  # read before written
    "AG0312": 4,  # outside a tensor
    "AG0314": 8,  # assertions
    "AG0315": 4,  # gathered elements
    "AG0316": 2,  # reinterpreted registers
    "AG0318": 1,  # contradictions
    "AG0321": 8,  # different maxima
    "AG0401": 8,  # races
    "AG0403": 6,  # deadlock
    "AG0404": 2,  # ambiguous phases
    "AG0405": 4,  # bytes
    "AG0406": 2,  # early release
    "AG0407": 1,  # registers in flight
    "AG0408": 2,  # proxy fence
    "AG0409": 2,  # arrivals
    "AG0410": 1,  # early exit
    "AG0414": 2,  # fills and drains
    "AG0420": 1,  # named barriers
    "AG0421": 2,  # copies that nobody waits for
}
"""At least so many of each code."""

NAMED = {
    "wrong N layout of a fragment", "swapped stage index", "transposed operand",
    "off-by-one tile", "parity off by one", "too few stages for the groups in flight",
    "wrong arrival count", "wrong byte count", "missing tail mask",
    "double-counted K in split-K", "overlapping output tiles", "GQA head map off",
    "gather index of the wrong tile", "scale of the wrong row",
    "empty-barrier arrival while wgmma still reads",
}  # fmt: skip
"""Classes that are written as kernels. Those that placing would repair (proxy fences,
swizzles of writer and reader, accumulators in flight, early returns) are mutations of
placed programs, in `verifier/order` and `verifier/mutate*.py`."""


@pytest.mark.parametrize("code", CODES)
def test_enough_of_each_code(code: str) -> None:
    assert RULES[code] >= CODES[code], f"{RULES[code]} of {code}"


def test_every_named_class() -> None:
    kinds = {m.kind for m in MISTAKES}
    assert kinds >= NAMED, NAMED - kinds


def test_names_are_unique() -> None:
    def key(m: Mistake) -> tuple[str, str, int]:
        return (m.file.stem, m.kernel, m.at)

    assert len({key(m) for m in MISTAKES}) == len(MISTAKES)
