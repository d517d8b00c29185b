"""What a reference takes for granted of the entries of an array of indices.

numpy refuses `X[T]` where one of all entries of T is no position of X, from the end of
which those below 0 count. So what a kernel makes of such an entry is nobody's concern,
be it in a maximum or a product over many. That none is below 0 is not told: a reference
may say what is then (`np.where(T == -100, 0, X[T])`).
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.specification.cases import Cases
from argus.specification.tracing import Tracing
from argus.terms import IndexSet, Integer, Variable
from argus.terms.integers import Entry, Truncated, Truth


def assume_entries(
    tracing: Tracing, places: Sequence[Integer], cases: Cases, size: Integer
) -> None:
    """Tell the world that an index is a position wherever the array has one.

    ``cases``: what the index is at ``places``. Nothing is told where more than one
    entry makes it, or a position as well, where only some launches come here, and
    nothing that is known.
    """
    world = tracing.world
    if not (tracing.here & tracing.local).is_universe:
        return
    every = [x for case in cases for x in case]
    atoms = {a for x in every for a in x.all_atoms()}
    entries = {a for a in atoms if isinstance(a, Entry)}
    if len(entries) != 1 or any(isinstance(a, Truth | Truncated) for a in atoms):
        return
    (entry,) = entries
    walked = [i.single for i in entry.indices]
    names = [v for v in walked if isinstance(v, Variable)]
    bound = {v for p in places for v in p.variables()}
    if len(set(names)) != len(walked) or not set(names) <= bound:
        return
    beside = bound - set(names)
    if beside & {a for a in atoms if isinstance(a, Variable)}:
        return
    if any(v.upper is None or v.upper.constant != 1 for v in beside):
        return  # where such a dimension is empty, no entry is read
    inside = IndexSet.universe
    for where, index in cases:
        held = world.compare(index, ">=", -size) & world.compare(index, "<", size)
        inside = inside & (held | ~where)
    some = world.compare(size, ">", 0)
    if inside.variables() & beside or tracing.never(some & ~inside):
        return

    def fact(at: Sequence[Integer], _: Integer) -> IndexSet:
        env = dict(zip(names, at, strict=True))
        there = IndexSet.universe
        for name, index in env.items():
            assert name.upper is not None
            there = there & world.compare(index, ">=", 0)
            there = there & world.compare(index, "<", name.upper)
        return world.substitute(inside, env) | ~there

    world.assume_entries(entry.tensor, fact)
