"""Values that a loop carries, in closed form; those of branches: `branches.py`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from argus.ir.expr import Const, Expr, Sym, binary, select
from argus.verify.tags.accumulation import EXTRA, extra
from argus.verify.tags.branches import is_constant
from argus.verify.tags.kinds import join
from argus.verify.tags.moving import rewritten
from argus.verify.tags.scope import PathScope
from argus.verify.tags.shifts import (
    EXTREMES,
    lost,
    renamed_rows,
    scaled_like,
    shift_of,
)
from argus.verify.tags.sums import over_loop
from argus.verify.tags.values import (
    AbstractValue,
    Coord,
    CoordinateRange,
    Flaw,
    Hole,
    Kind,
    Lane,
    Loaded,
    Prior,
    ReducedDimension,
    RowStatistic,
    RowTerm,
    Shift,
    Tag,
    Vague,
    least_ends,
    least_limits,
)
from argus.verify.tags.world import TagWorld
from argus.verify.verdict import Verdict

__all__ = [
    "Alias",
    "argument",
    "first",
    "not_accumulated",
    "result",
    "row_before",
    "shifted",
]


def shifted(
    world: TagWorld, value: AbstractValue, to: Mapping[str, Expr]
) -> AbstractValue:
    """The value with iteration symbols replaced."""
    return rewritten(value, lambda e: world.replace(e, to))


def first(init: AbstractValue, loop: int) -> AbstractValue:
    """A carried value in the first pass: its sums stand for what came before."""
    sums = {n: _prior(s, loop) for n, s in init.sums.items()}
    return replace(init, sums=sums)


def _prior(
    several: tuple[ReducedDimension, ...], loop: int
) -> tuple[ReducedDimension, ...]:
    flaw = next((s.flaw for s in several if s.flaw is not None and s.terms), None)
    return (replace(several[0], terms=(Prior(loop),), flaw=flaw),)


def argument(
    scope: PathScope,
    init: AbstractValue,
    yielded: AbstractValue,
    it: Sym,
    loop: int,
    anew: Collection[str] = (),
    rows: Sequence[Alias] = (),
) -> AbstractValue:
    """The value at the beginning of iteration ``it``.

    ``anew``: components along which it was taken for an accumulation, and is none;
    ``rows``: what the maxima that are handed on were before the loop.
    """
    world = scope.world
    before = shifted(world, yielded, {it.name: it - 1})
    start = shifted(world, yielded, {it.name: Const(-1)})
    sums: dict[str, tuple[ReducedDimension, ...]] = {}
    for name, several in yielded.sums.items():
        # A sum that is begun anew in each iteration has seen what one iteration adds.
        grows = _grows(yielded.sums.get(name, ()), loop)
        grows = grows or (name not in init.sums and name not in anew)
        begun = any(isinstance(t, Prior) and t.loop == loop for t in several[0].terms)
        sums[name] = _prior(several, loop) if grows or begun else before.sums[name]
    for name, several in init.sums.items():
        sums.setdefault(name, _prior(several, loop))
    plain = is_constant(init)
    lanes = _lanes(world, init, yielded, before, it, loop, anew)
    tags = {
        name: _joined(scope, it, init.tags.get(name), tag, start.tags[name], plain)
        for name, tag in before.tags.items()
        if name not in lanes
    }
    if plain:
        tags |= {n: _later(tags[n], it) for n in anew if n in tags}
    for name, tag in init.tags.items():
        kept = tag if is_constant(before) else Vague("lost in later iterations")
        tags.setdefault(name, kept)
    holes = tuple(
        h for h in _holes(scope, it, init, before, start) if h.name not in lanes
    )
    number: Tag | None = None
    if init.number is not None and before.number is not None:
        assert start.number is not None
        number = _joined(scope, it, init.number, before.number, start.number, False)
    kind: Kind = init.kind if init.kind == before.kind else "data"
    return replace(
        before, tags=tags, holes=holes, kind=kind, number=number, mask=None, sums=sums,
        extents={**init.extents, **before.extents},
        limits=least_limits([init, before]), ends=least_ends([init, before]),
        lanes=lanes,
        shift=_shift(scope, init, before, start, rows),
    )  # fmt: skip


def _later(tag: Tag, it: Sym) -> Tag:
    """A component of a tile that begins as a constant, which is no element."""
    if not isinstance(tag, Coord):
        return tag
    reason = "in the first iteration it is a constant, and no element of a tensor"
    return Vague(reason, tag, binary(">", it, 0))


def _lanes(
    world: TagWorld,
    init: AbstractValue,
    yielded: AbstractValue,
    before: AbstractValue,
    it: Sym,
    loop: int,
    anew: Collection[str],
) -> dict[str, Lane]:
    """Components that move on in each iteration of what begins as one number."""
    found: dict[str, Lane] = {}
    fns = (s[0].fn for s in yielded.sums.values() if s[0].fn in EXTREMES)
    fn = next(fns, "sum")
    for name, lane in before.lanes.items():
        grows = Prior(loop) in yielded.lanes[name].terms
        begun = grows or name not in anew
        found[name] = replace(lane, terms=(Prior(loop),)) if begun else lane
    if is_constant(init):
        for name, tag in before.tags.items():
            if not isinstance(tag, Coord) or name in anew:
                continue
            # Beside a matrix product's sum, only a factor of all of it moves on.
            beside = any(not n.startswith(EXTRA) for n in before.sums)
            fits = not beside or bool((tag.offs == tag.offs.flat[0]).all())
            if fits and world.depends(tag.base, it):
                found[name] = Lane(tag.offs, (Prior(loop),), fn)
    return found


def not_accumulated(
    argument_: AbstractValue, yielded: AbstractValue, loop: int
) -> set[str]:
    """Components that were taken for an accumulation, and are begun anew."""
    lanes = {
        n
        for n, lane in argument_.lanes.items()
        if Prior(loop) in lane.terms
        and not (n in yielded.lanes and Prior(loop) in yielded.lanes[n].terms)
    }
    sums = {
        n
        for n, several in argument_.sums.items()
        if _grows(several, loop) and not _grows(yielded.sums.get(n, ()), loop)
    }
    return lanes | sums


Alias = tuple[RowStatistic, tuple[RowTerm, ...]]
"""A maximum of a loop in iteration -1, and what it is: its value before the loop."""


def row_before(
    scope: PathScope, init: AbstractValue, yielded: AbstractValue, it: Sym
) -> Alias | None:
    """What the maximum that a loop hands on was before the loop."""
    start = shifted(scope.world, yielded, {it.name: Const(-1)})
    row = start.row
    if start.shift is not None and start.shift.pure and not start.shift.exp:
        terms = start.shift.terms
        if len(terms) == 1 and not terms[0].factors and terms[0].times == 1.0:
            row = terms[0].row
    if row is None:
        return None
    found = shift_of(scope, init)
    if found is None:
        return row, ()
    return None if found.lost or found.exp else (row, found.terms)


def _shift(
    scope: PathScope,
    init: AbstractValue,
    before: AbstractValue,
    start: AbstractValue,
    rows: Sequence[Alias],
) -> Shift | None:
    """What the value depends on: that of the iteration before, if it fits at first."""
    here, first_one = before.shift, shift_of(scope, init)
    if here is None and (first_one is None or before.row is not None):
        return None
    if here is None:
        return lost("later iterations are not relative to the same maximum")
    zero = init.kind == 0 and here.exp
    if here.lost or zero:
        return here
    assert start.shift is not None
    entering = renamed_rows(scope, start.shift, rows)
    if scaled_like(scope, entering if entering.terms else None, first_one):
        return here
    return lost("the first iteration is not relative to the same maximum")


def _grows(several: tuple[ReducedDimension, ...], loop: int) -> bool:
    return any(
        isinstance(t, Prior) and t.loop == loop for s in several for t in s.terms
    )


def _joined(
    scope: PathScope, it: Sym, init: Tag | None, before: Tag, start: Tag, plain: bool
) -> Tag:
    """``init`` at iteration 0, else ``before``; ``start`` is ``before`` at 0."""
    if init is None:
        # Before the loop it is the same for all coordinates, like a bias for all rows.
        stays = isinstance(before, Coord) and not scope.world.depends(before.base, it)
        if plain or stays:
            return before
        return Vague("only known after the first iteration")
    match init, before, start:
        case Coord(), Coord(), Coord():
            apart = np.asarray(start.offs - init.offs)
            constant = apart.size == 0 or bool((apart == apart.flat[0]).all())
            if not constant:
                reason = "the element changes its place from one iteration to the next"
                return Vague(reason, init, binary("==", it, 0))
            shift = int(apart.flat[0]) if apart.size else 0
            moved = binary("+", start.base, shift)
            if scope.equal(init.base, moved).verdict is Verdict.PROVED:
                return before
            first_one = binary("-", init.base, shift)
            return Coord(
                select(binary("==", it, 0), first_one, before.base), before.offs
            )
        case Loaded(), Loaded(), Loaded() if init.table == before.table:
            at = tuple(
                _joined(scope, it, a, b, c, False)
                for a, b, c in zip(init.at, before.at, start.at, strict=True)
            )
            return Loaded(before.table, at, before.shift)
        case Vague(), _, _:
            return init
        case Coord() | Loaded(), _, _:
            return Vague("the tag differs from one iteration to the next")


def _holes(
    scope: PathScope,
    it: Sym,
    init: AbstractValue,
    before: AbstractValue,
    start: AbstractValue,
) -> tuple[Hole, ...]:
    """Holes of either; where only one has it, the other's coordinate is its tag."""
    names = [h.name for h in before.holes]
    names += [h.name for h in init.holes if h.name not in names]
    found: list[Hole] = []
    for name in names:
        mine = next((h for h in init.holes if h.name == name), None)
        later = next((h for h in before.holes if h.name == name), None)
        again = next((h for h in start.holes if h.name == name), None)
        hole = later or mine
        assert hole is not None
        a = mine.where if mine else init.tags.get(name)
        b = later.where if later else before.tags.get(name)
        c = again.where if again else start.tags.get(name)
        if b is None or c is None:
            where: Tag = Vague("a hole of the first iteration only")
        else:
            where = _joined(scope, it, a, b, c, is_constant(init))
        # Without a hole of its own, a side has no element outside; any kind is right.
        kinds: list[Kind] = [h.kind for h in (mine, later) if h is not None]
        if mine is None and is_constant(init):
            kinds.append(init.kind)
        kind = kinds[0] if len(kinds) == 1 else join(kinds[0], kinds[1])
        found.append(
            replace(hole, where=where, kind="junk" if kind == "data" else kind)
        )
    return tuple(found)


def result(
    inside: PathScope,
    init: AbstractValue,
    yielded: AbstractValue,
    it: Sym,
    trips: Expr,
    loop: int,
    anew: Collection[str] = (),
    rows: Sequence[Alias] = (),
) -> AbstractValue:
    """The value after the loop; ``anew`` and ``rows`` as for `argument`."""
    world = inside.world
    start = argument(inside, init, yielded, it, loop, anew, rows)
    after = shifted(world, start, {it.name: trips})
    sums: dict[str, tuple[ReducedDimension, ...]] = {}
    for name, several in yielded.sums.items():
        if not _grows(several, loop):
            last = shifted(world, yielded, {it.name: trips - 1})
            sums[name] = last.sums[name]
            continue
        begun = init.sums.get(name, ())
        prior = begun[0].terms if len(begun) == 1 else ()
        made: list[ReducedDimension] = []
        for s in several:
            gained = over_loop(s.terms, loop, it, trips)
            whole_ = (*prior, *gained)
            if not whole_ and name.startswith(EXTRA) and init.kind != 0:
                # It is what the accumulator began with.
                whole_ = extra()[0].terms
            made.append(
                replace(s, terms=whole_, flaw=s.flaw or _doubled(s.terms, loop))
            )
        sums[name] = tuple(made)
    for name, several in init.sums.items():
        sums.setdefault(name, several)
    for name, several in list(sums.items()):
        if name.startswith(EXTRA) and not any(s.terms for s in several):
            del sums[name]  # the first pass took what was 0 for something
    lanes: dict[str, Lane] = {}
    for name, lane in yielded.lanes.items():
        begun_lane = init.lanes.get(name)
        before = () if begun_lane is None else begun_lane.terms
        gained = over_loop(lane.terms, loop, it, trips)
        flaw = lane.flaw or _doubled(lane.terms, loop)
        lanes[name] = replace(lane, terms=(*before, *gained), flaw=flaw)
    made_ = replace(after, sums=sums, lanes=lanes)
    if made_.row is not None:
        over = tuple((n, s) for n, s in sorted(sums.items()) if s[0].fn in EXTREMES)
        world.rows.append((made_.row, over))
    return made_


def _doubled(terms: Sequence[CoordinateRange | Prior], loop: int) -> Flaw | None:
    """An accumulator that is added to itself."""
    if sum(t == Prior(loop) for t in terms) < 2:
        return None
    return Flaw("what earlier iterations have added is added more than once", False)
