"""Values that a loop carries or a branch merges, in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from argus.ir.expr import Binary, BinaryOp, Const, Expr, Sym, binary, select
from argus.verify.tags.kinds import join
from argus.verify.tags.scope import Scope
from argus.verify.tags.sums import over_loop
from argus.verify.tags.values import (
    Coord,
    Hole,
    Kind,
    Lane,
    Loaded,
    Prior,
    Sum,
    Tag,
    Vague,
    Value,
    least_limits,
    rewritten,
)
from argus.verify.tags.world import World
from argus.verify.verdict import Verdict

__all__ = ["argument", "content", "content_after", "first", "merged", "negation",
           "result", "shifted"]  # fmt: skip

_OPPOSITE: dict[str, BinaryOp] = {
    "<": ">=", ">=": "<", "<=": ">", ">": "<=", "==": "!=", "!=": "==",
}  # fmt: skip


def negation(cond: Expr) -> Expr:
    """The opposite condition."""
    match cond:
        case Binary(op=op, left=a, right=b) if op in _OPPOSITE:
            return binary(_OPPOSITE[op], a, b)
        case Binary(op="and", left=a, right=b):
            return binary("or", negation(a), negation(b))
        case Binary(op="or", left=a, right=b):
            return binary("and", negation(a), negation(b))
        case _:
            return binary("==", cond, False)


def shifted(world: World, value: Value, to: Mapping[str, Expr]) -> Value:
    """The value with iteration symbols replaced."""
    return rewritten(value, lambda e: world.replace(e, to))


def first(init: Value, loop: int) -> Value:
    """A carried value in the first pass: its sums stand for what came before."""
    sums = {n: _prior(s, loop) for n, s in init.sums.items()}
    return replace(init, sums=sums)


def _prior(several: tuple[Sum, ...], loop: int) -> tuple[Sum, ...]:
    return (Sum(several[0].extent, (Prior(loop),)),)


def argument(scope: Scope, init: Value, yielded: Value, it: Sym, loop: int) -> Value:
    """The value at the beginning of iteration ``it``."""
    world = scope.world
    before = shifted(world, yielded, {it.name: it - 1})
    start = shifted(world, yielded, {it.name: Const(-1)})
    sums: dict[str, tuple[Sum, ...]] = {}
    for name, several in yielded.sums.items():
        # A sum that is begun anew in each iteration has seen what one iteration adds.
        grows = _grows(yielded.sums.get(name, ()), loop) or name not in init.sums
        begun = any(isinstance(t, Prior) and t.loop == loop for t in several[0].terms)
        sums[name] = _prior(several, loop) if grows or begun else before.sums[name]
    for name, several in init.sums.items():
        sums.setdefault(name, _prior(several, loop))
    plain = _plain(init)
    lanes = _lanes(world, init, before, it, loop)
    tags = {
        name: _joined(scope, it, init.tags.get(name), tag, start.tags[name], plain)
        for name, tag in before.tags.items()
        if name not in lanes
    }
    for name, tag in init.tags.items():
        kept = tag if _plain(before) else Vague("lost in later iterations")
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
        limits=least_limits([init, before]), lanes=lanes,
    )  # fmt: skip


def _lanes(
    world: World, init: Value, before: Value, it: Sym, loop: int
) -> dict[str, Lane]:
    """Components that move on in each iteration of what begins as one number."""
    found: dict[str, Lane] = {}
    for name, lane in before.lanes.items():
        found[name] = Lane(lane.offs, (Prior(loop),))
    if _plain(init) and not before.sums:
        for name, tag in before.tags.items():
            if isinstance(tag, Coord) and world.depends(tag.base, it):
                found[name] = Lane(tag.offs, (Prior(loop),))
    return found


def _plain(value: Value) -> bool:
    """Whether it is one number everywhere, belonging to no coordinate."""
    return not value.tags and not isinstance(value.kind, str)


def _grows(several: tuple[Sum, ...], loop: int) -> bool:
    return any(
        isinstance(t, Prior) and t.loop == loop for s in several for t in s.terms
    )


def _joined(
    scope: Scope, it: Sym, init: Tag | None, before: Tag, start: Tag, plain: bool
) -> Tag:
    """``init`` at iteration 0, else ``before``; ``start`` is ``before`` at 0."""
    if init is None:
        return before if plain else Vague("only known after the first iteration")
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
        case _:
            return Vague("the tag differs from one iteration to the next")


def _holes(
    scope: Scope, it: Sym, init: Value, before: Value, start: Value
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
            where = _joined(scope, it, a, b, c, _plain(init))
        # Without a hole of its own, a side has no element outside; any kind is right.
        kinds: list[Kind] = [h.kind for h in (mine, later) if h is not None]
        if mine is None and _plain(init):
            kinds.append(init.kind)
        kind = kinds[0] if len(kinds) == 1 else join(kinds[0], kinds[1])
        found.append(
            replace(hole, where=where, kind="junk" if kind == "data" else kind)
        )
    return tuple(found)


def content(scope: Scope, init: Value | None, end: Value, it: Sym) -> Value:
    """A stage of shared memory when iteration ``it`` begins; ``end``: when it ends.

    Without ``init``, nothing is there in the first iteration.
    """
    back = {it.name: it - 1}
    if init is None:
        moved = shifted(scope.world, end, back)
        written = None if moved.written is None else moved.written & False
        return replace(moved, written=written)
    made = argument(scope, replace(init, sums={}), replace(end, sums={}), it, 0)
    sums = dict(shifted(scope.world, end, back).sums)
    for name, several in init.sums.items():
        # The one of them or the other: each must be complete.
        sums[name] = tuple(dict.fromkeys((*sums.get(name, ()), *several)))
    written = end.written
    if init.written is not None:
        written = init.written if written is None else init.written & written
    return replace(made, sums=sums, written=written)


def content_after(
    inside: Scope, outside: Scope, init: Value | None, end: Value, it: Sym, trips: Expr
) -> Value:
    """A stage of shared memory after a loop; ``end``: after one iteration."""
    if init is not None:
        return shifted(inside.world, content(inside, init, end, it), {it.name: trips})
    last = shifted(inside.world, end, {it.name: trips - 1})
    entered = outside.decide(binary(">", trips, 0)).verdict
    if entered is Verdict.REFUTED and last.written is not None:
        return replace(last, written=last.written & False)
    if entered is Verdict.UNKNOWN:
        reason = "it is written in a loop that may have no iteration"
        return replace(last, tags=dict.fromkeys(last.tags, Vague(reason)))
    return last


def result(
    inside: Scope,
    outside: Scope,
    init: Value,
    yielded: Value,
    it: Sym,
    trips: Expr,
    loop: int,
) -> Value:
    """The value after the loop."""
    world = inside.world
    start = argument(inside, init, yielded, it, loop)
    after = shifted(world, start, {it.name: trips})
    sums: dict[str, tuple[Sum, ...]] = {}
    for name, several in yielded.sums.items():
        if not _grows(several, loop):
            last = shifted(world, yielded, {it.name: trips - 1})
            sums[name] = last.sums[name]
            continue
        begun = init.sums.get(name, ())
        prior = begun[0].terms if len(begun) == 1 else ()
        made: list[Sum] = []
        for s in several:
            gained = over_loop(s.terms, loop, it, trips)
            made.append(Sum(s.extent, (*prior, *gained)))
        sums[name] = tuple(made)
    for name, several in init.sums.items():
        sums.setdefault(name, several)
    lanes: dict[str, Lane] = {}
    for name, lane in yielded.lanes.items():
        begun_lane = init.lanes.get(name)
        before = () if begun_lane is None else begun_lane.terms
        gained = over_loop(lane.terms, loop, it, trips)
        lanes[name] = Lane(lane.offs, (*before, *gained))
    del outside
    return replace(after, sums=sums, lanes=lanes)


def merged(scope: Scope, cond: Expr, a: Value, b: Value) -> Value:
    """``a`` where the condition holds, else ``b``."""
    if a is b:
        return a
    tags: dict[str, Tag] = {}
    for name in {**a.tags, **b.tags}:
        x, y = a.tags.get(name), b.tags.get(name)
        if x is None and _plain(a):
            x = y
        if y is None and _plain(b):
            y = x
        tags[name] = _either(scope, cond, x, y)
    holes = {h.name: h for h in (*b.holes, *a.holes)}
    joined: list[Hole] = []
    for name, hole in holes.items():
        x = next((h.where for h in a.holes if h.name == name), a.tags.get(name))
        y = next((h.where for h in b.holes if h.name == name), b.tags.get(name))
        kinds = {h.kind for v in (a, b) for h in v.holes if h.name == name}
        kind = hole.kind if len(kinds) == 1 else "junk"
        joined.append(replace(hole, where=_either(scope, cond, x, y), kind=kind))
    number: Tag | None = None
    if a.number is not None and b.number is not None:
        number = _either(scope, cond, a.number, b.number)
    sums = {n: (*a.sums.get(n, ()), *b.sums.get(n, ())) for n in {**a.sums, **b.sums}}
    unique = {n: tuple(dict.fromkeys(s)) for n, s in sums.items()}
    kind_: Kind = a.kind if a.kind == b.kind else "data"
    return replace(
        a, tags=tags, holes=tuple(joined), kind=kind_, number=number, mask=None,
        sums=unique, extents={**b.extents, **a.extents},
    )  # fmt: skip


def _either(scope: Scope, cond: Expr, x: Tag | None, y: Tag | None) -> Tag:
    if not isinstance(x, Coord) or not isinstance(y, Coord):
        if isinstance(x, Vague):
            return x
        return y if isinstance(y, Vague) else Vague("the branches differ")
    if not np.array_equal(x.offs, y.offs):
        return Vague("the branches place elements differently")
    if scope.difference(x.base, y.base) == 0:
        return x
    return Coord(select(cond, x.base, y.base), x.offs)
