"""Whether a set is empty, whichever side of each of several choices holds.

    nothing_left(where, [(small, large), (left, right)])

What is asked is whether each way through all choices leaves nothing. Ways are followed
one conjunction at a time, and given up where nothing is left of it: most questions are
answered by the first way, which leaves something. All have the same parameters, so that
isl still knows of a point of one that is in the next one, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from argus.terms.sets import IndexSet, plain

__all__ = ["nothing_left"]

_Pieces = Sequence[isl.BasicSet]


def nothing_left(where: IndexSet, choices: Sequence[tuple[IndexSet, IndexSet]]) -> bool:
    """Whether nothing is left of a set. Raises Unknown where isl gives up."""
    if isinstance(where.isl, bool):
        return where.is_nothing
    with where.asking:
        space = plain(where).get_space()
        for side in (side for choice in choices for side in choice):
            if not isinstance(side.isl, bool):
                space = space.align_params(side.isl.get_space())
        sides = [(_pieces(one, space), _pieces(other, space)) for one, other in choices]
        pieces = plain(where).align_params(space).get_basic_sets()
        return all(_nothing(piece, sides) for piece in pieces)


def _pieces(where: IndexSet, space: isl.Space) -> _Pieces | None:
    """Its conjunctions, of the parameters of a space; None: everything."""
    if where.is_nothing:
        return ()
    if where.is_universe:
        return None
    return plain(where).align_params(space).get_basic_sets()


def _nothing(
    piece: isl.BasicSet, sides: Sequence[tuple[_Pieces | None, _Pieces | None]]
) -> bool:
    """The same of a conjunction that is not empty."""
    if not sides:
        return False
    for side in sides[0]:
        if side is None:
            if not _nothing(piece, sides[1:]):
                return False
            continue
        for other in side:
            both = piece.intersect(other)
            if not both.is_empty() and not _nothing(both, sides[1:]):
                return False
    return True
