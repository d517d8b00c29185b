"""Where a program looks at a whole number that it has computed of data.

Numbers of tiles wrap around: they are sums and products modulo 2**bits, and stay that
under further sums and products. So it is no matter whether a number in between fits its
type. It is where something else is made of it: a comparison, a quotient, an extreme, a
float, a number of more bits, an index. What is stored is looked at in the stores.

It is asked of elements that reach a store: of others a value says nothing.
"""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.walk import used
from argus.terms import Unknown, Value
from argus.terms.integers import Entry, Truncated
from argus.verify.denotation.demand import Demand
from argus.verify.denotation.scalars import scalar as value_of
from argus.verify.denotation.state import Context

__all__ = ["notice_observed"]


def notice_observed(context: Context, op: o.AnyOp, demand: Demand) -> None:
    """Keep the whole numbers of data that an operation looks at."""
    if context.dry:
        return
    for number, tile in enumerate(used(op)):
        dtype = tile.dtype
        if dtype.kind != "int" or op.keeps_residues(tile):
            continue
        try:
            value = context.own(tile, context.axes(tile.shape))
        except Unknown:
            continue  # what is made of it is not known
        if _is_of_data(value):
            made = demand.cases(context, op, tile, value)
            context.notice("observed", op, made, dtype, str(number))
    for number, (scalar, dtype) in enumerate(op.observed_scalars()):
        try:
            value = value_of(context, scalar)
        except Unknown:
            continue
        if _is_of_data(value):
            context.notice("observed", op, value, dtype, f"scalar {number}")


def _is_of_data(value: Value) -> bool:
    """Whether it is made of numbers that are in memory, in some case."""
    if value.kind == "real":
        return True
    return value.kind == "integer" and any(
        isinstance(atom, Entry | Truncated) or atom.arguments
        for _, x in value.integers
        for atom in x.atoms()
    )
