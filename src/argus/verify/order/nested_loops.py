"""Loops that are nothing but the body of another: both together are one loop.

Where a loop over C contains a loop over K and nothing else that matters, c * k turns
follow each other whatever c and k are: with another C, and K of one tile, the walk is
the same. So K need not be varied. What that takes is asked of all loops that C or K
decide:

- each loop of C contains a loop of K alone, and hands on what it carries as it is;
- neither counter matters, and all loops of C have one length, as those of K have;
- no condition, and nothing that is required, is about K together with other sizes, and
  one tile of K is admitted with any number of tiles of C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from argus.ir import ops as o
from argus.ir.expr import Expr, symbols
from argus.ir.program import Program
from argus.verify.order.control_dependence import Control
from argus.verify.order.slicing import Pruned

__all__ = ["inner_sizes"]

_TILES = range(1, 65)
"""Numbers of tiles of the outer size that are tried: more than a walk takes."""
_SIZES = ("dim", "param")

Admits = Callable[[Mapping[str, int]], bool]


def inner_sizes(
    program: Program, control: Control, pruned: Pruned, admits: Admits
) -> Mapping[str, list[o.For]]:
    """Sizes that need not be varied, with the loops that each decides.

    ``admits`` says whether the program admits some numbers of tiles of sizes.
    """
    if control.sized or control.uneven or control.tables:
        return {}
    decided: dict[str, list[o.For]] = {}
    for op, names in control.loops.items():
        for name in names:
            decided.setdefault(name, []).append(op)
    plain = {
        name: ops
        for name, ops in decided.items()
        if name not in control.conditions
        and name not in control.residues
        and all(control.loops[op] == frozenset({name}) for op in ops)
        and _alike(ops)
    }
    outer = {id(inner): op for op in control.loops if (inner := _inside(op, pruned))}
    found: dict[str, list[o.For]] = {}
    for name, ops in plain.items():
        around = [outer[id(op)] for op in ops if id(op) in outer]
        above = next((n for n, theirs in plain.items() if _same(theirs, around)), None)
        if (
            above is not None
            and len(around) == len(ops)
            and _alone(name, program)
            and all(admits({above: tiles, name: 1}) for tiles in _TILES)
        ):
            found[name] = ops
    return found


def _inside(outer: o.For, pruned: Pruned) -> o.For | None:
    """The loop that is all that matters in another, and gets all that it carries."""
    body = pruned.ops.get(id(outer.body), ())
    if len(body) != 1 or not isinstance(inner := body[0], o.For):
        return None
    if {outer.var.name, inner.var.name} & pruned.scalars:
        return None
    tiles = {(c.arg, c.yielded) for c in outer.tiles}
    scalars = {(c.arg, c.yielded) for c in outer.scalars if _matters(c, pruned)}
    if tiles != {(c.init, c.result) for c in inner.tiles}:
        return None
    handed: set[tuple[Expr, Expr]] = {
        (c.init, c.result) for c in inner.scalars if _matters(c, pruned)
    }
    return inner if scalars == handed else None


def _matters(carry: o.ScalarCarry, pruned: Pruned) -> bool:
    return bool({carry.arg.name, carry.result.name} & pruned.scalars)


def _alike(loops: Iterable[o.For]) -> bool:
    """Whether loops have one length, which sizes say and not the block."""
    bounds = {(op.start, op.stop, op.step) for op in loops}
    (first,) = bounds if len(bounds) == 1 else [()]
    return bool(first) and all(s.kind in _SIZES for e in first for s in symbols(e))


def _same(some: Iterable[o.For], others: Iterable[o.For]) -> bool:
    return {id(op) for op in some} == {id(op) for op in others}


def _alone(name: str, program: Program) -> bool:
    """Whether nothing is required of a size together with others."""
    required = ({s.name for s in symbols(r.cond)} for r in program.requirements)
    return all(names == {name} for names in required if name in names)
