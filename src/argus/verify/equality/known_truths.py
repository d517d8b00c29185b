"""Comparisons of data that a set decides, as the numbers that they are in it.

Where rows with a key are compared, what a reference chooses for such rows alone has no
choice left, however deep it stands.
"""

from __future__ import annotations

from argus.terms import Atom, IndexSet, Integer, Term, Truth, World, replace
from argus.terms.affine import fixed

__all__ = ["with_known_truths"]

_ROUNDS = 4
"""How deep truths that are decided may stand in others."""


def with_known_truths(world: World, here: IndexSet, term: Term) -> Term:
    """A term where a set holds, with truths of nothing bound that are plain there.

    A factor beside a sum over no point may be no number (`restrict`): then it stays.
    """
    known = _known(world, here)
    if not known or not term.height:
        return term
    for _ in range(_ROUNDS):
        made = replace(world, term, lambda leaf: None, atoms=known).term
        if made == term or made.special is not None:
            break
        term = made
    return term


def _known(world: World, here: IndexSet) -> dict[Atom, Integer]:
    """What the truths are that a set mentions and decides."""
    if not any(isinstance(a, Truth) for m in here.monomials for a in m):
        return {}
    here = world.close(here)
    found: dict[Atom, Integer] = {}
    for truth in (a for m in here.monomials for a in m if isinstance(a, Truth)):
        if any(v.name.startswith("$") for v in truth.variables):
            continue
        value = fixed(world, here, truth)
        if value is not None:
            found[truth] = Integer.of(value)
    return found
