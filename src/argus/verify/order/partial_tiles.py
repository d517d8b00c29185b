"""Sizes of less than a tile: what no tiles of a size stand for.

Sizes are walked in steps of their tile, and 0 is one where no requirement is against
it: a kernel that hangs without a step is told so. Where loops see a size rounded down
(`K // 64`), they see 0 in a part of a tile, too, which may be admitted where 0 is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus.extents import LEAST_EXTENT
from argus.ir.expr import Const, Expr, Sym, binary, holds, symbols
from argus.verify.decide import prove
from argus.verify.verdict import Verdict

__all__ = ["PartialTile", "part_of_a_tile"]


@dataclass(frozen=True)
class PartialTile:
    """A size below a bound, None where none is admitted, and why that is open."""

    size: int | None
    open: str = ""


def part_of_a_tile(
    size: Sym,
    below: int,
    step: int,
    required: Sequence[Expr],
    usual: Mapping[str, int | float],
) -> PartialTile:
    """A multiple of ``step`` below a bound which requirements admit.

    ``usual``: sizes beside which the least one is tried first.
    """
    least = -(-LEAST_EXTENT // step) * step
    if least >= below:
        return PartialTile(None)
    own = [c for c in required if size in symbols(c)]
    if all(holds(c, {**usual, size.name: least}) for c in own):
        return PartialTile(least)
    known = [*required, binary("<", size, below)]
    if step > 1:
        known.append(binary("==", binary("%", size, step), 0))
    found = prove(Const(False), known)
    if found.verdict is Verdict.REFUTED:
        return PartialTile(found.model[size.name])
    if found.verdict is Verdict.PROVED:
        return PartialTile(None)
    return PartialTile(None, f"whether {size} may be less than {below} is open")
