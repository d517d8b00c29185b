"""Copies that several blocks of a cluster get: what each of them finds is the same."""

from __future__ import annotations

from argus.diagnostics import Span
from argus.terms import Unknown
from argus.verify.denotation.state import Context, Held

__all__ = ["of_all", "require_all"]


def require_all(context: Context, blocks: int, span: Span) -> None:
    """Raise Unknown for a multicast that not all blocks take part in alike."""
    if blocks <= 1:
        return
    if blocks != context.program.cluster:
        raise Unknown("a multicast to a part of the cluster", span)
    around = context.state.where.variables()
    for variable in context.state.scope:
        if variable != context.grid.rank and variable.upper is not None:
            around |= variable.upper.variables()
    if context.grid.rank in around:
        raise Unknown("a multicast that depends on the rank of the block", span)


def of_all(
    context: Context, blocks: int, held: Held | Unknown, span: Span
) -> Held | Unknown:
    """What each of so many blocks gets, if it is the same for all."""
    if blocks <= 1 or isinstance(held, Unknown):
        return held
    rank = context.grid.rank
    if rank is None or rank in held.value.free_variables():
        why = "a multicast of a tile that depends on the rank of the block"
        return Unknown(why, span)
    return held
