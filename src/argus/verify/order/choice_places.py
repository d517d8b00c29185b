"""Where numbers of iterations are asked for: loops and branches of each role.

Two loops of a kind may stand one after another, in each role. What the first one has
shown of its number would have to be remembered for the second one, however large it is;
so they get numbers of their own (they are *apart*), if that is enough.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import blocks
from argus.verify.order.branch_tests import BranchTest
from argus.verify.order.dependent_trip_counts import Kinds
from argus.verify.order.events import branches_of, has_events
from argus.verify.order.fills import bodies

__all__ = ["CONSTANT", "BranchPlace", "LoopPlace", "Site", "asking", "merged", "places"]

Site = tuple[tuple[int, int], ...]
"""A loop and those around it, outermost first: the kind of each, and which of that kind
it is among those beside it."""
CONSTANT = -1
"""The kind of a loop that always iterates equally often."""


@dataclass(frozen=True)
class LoopPlace:
    """A loop with events in a role's program."""

    op: o.For
    around: tuple[o.For, ...]
    site: Site


@dataclass(frozen=True)
class BranchPlace:
    """A part of a branch's condition that asks for a number, or for an iteration.

    ``around``: the loops around the number; ``site``: where that is; ``loop``: whose
    iteration counts, if one's does.
    """

    test: BranchTest
    around: tuple[o.For, ...]
    site: Site
    loop: o.For | None = None


def places(
    program: Program, kinds: Kinds, *, apart: bool
) -> dict[str, tuple[LoopPlace, ...]]:
    """By name of a group: its loops with events, outer before inner.

    ``apart``: loops of a kind one after another have numbers of their own.
    """
    found: dict[str, list[LoopPlace]] = {}
    counts: dict[str, Counter[int]] = {}
    for name, body in bodies(program):
        mine = found.setdefault(name, [])
        _place(body, (), (), counts.setdefault(name, Counter()), kinds, mine)
    if not apart:
        found = {
            name: [LoopPlace(p.op, p.around, merged(p.site)) for p in mine]
            for name, mine in found.items()
        }
    return {name: tuple(mine) for name, mine in found.items()}


def merged(site: Site) -> Site:
    """Where loops one after another are as one."""
    return ((0, 0),) * len(site)


def _place(
    block: o.Block,
    around: tuple[o.For, ...],
    site: Site,
    before: Counter[int],
    kinds: Kinds,
    found: list[LoopPlace],
) -> None:
    for op in block.ops:
        if isinstance(op, o.For):
            if not has_events(op.body):
                continue
            kind = kinds.of[op][0] if op in kinds.of else CONSTANT
            here = (*site, (kind, before[kind]))
            before[kind] += 1
            found.append(LoopPlace(op, around, here))
            _place(op.body, (*around, op), here, Counter(), kinds, found)
            continue
        for inner in blocks(op):
            _place(inner, around, site, before, kinds, found)


def asking(
    program: Program, kinds: Kinds
) -> dict[str, list[tuple[o.If, tuple[o.For, ...]]]]:
    """By name of a group: branches that ask, and the loops around each."""
    found: dict[str, list[tuple[o.If, tuple[o.For, ...]]]] = {}
    for name, body in bodies(program):
        for op, around in branches_of(body):
            if op in kinds.tests:
                found.setdefault(name, []).append((op, around))
    return found
