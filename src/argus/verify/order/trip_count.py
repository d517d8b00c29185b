"""How often a loop iterates, where its bounds change with another loop.

``for k in range(z * part, (z + 1) * part, 64)`` begins elsewhere for each z, but
iterates equally often: what changes cancels in ``stop - start``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, binary, substitute, symbols
from argus.verify.decide.conditions import context_of
from argus.verify.decide.evaluation import Unmodelled

__all__ = ["expanded", "length"]


def length(op: o.For, made: Mapping[str, Expr], varying: Iterable[str]) -> Expr | None:
    """``stop - start`` without what changes with iterations; None where that matters.

    ``made`` has the one value of each named scalar, ``varying`` what changes.
    """
    whole = expanded(binary("-", op.stop, op.start), made, set(varying))
    moving = {s.name for s in symbols(whole)} & set(varying)
    fixed = substitute(whole, dict.fromkeys(moving, Const(0)))
    context = context_of(())
    try:
        same = context.of(whole) == context.of(fixed)
    except Unmodelled:
        return None
    return fixed if same else None


def expanded(e: Expr, made: Mapping[str, Expr], varying: set[str]) -> Expr:
    """With the values of named scalars in the place of their names."""
    lets = {
        s.name: expanded(made[s.name], made, varying)
        for s in symbols(e)
        if s.name not in varying and s.name in made
    }
    return substitute(e, lets)
