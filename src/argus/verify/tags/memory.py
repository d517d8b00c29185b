"""Shared memory: which element lies in which slot of a stage, and who put it there.

A stage is an array of element-sized slots. A write scatters the elements of a value to
the slots that the instruction touches, a read gathers; both use the addresses of
`argus.ir.access`, so that a writer and a reader that disagree about a swizzle find each
other's elements in the wrong place.

Which write a read sees. A stage number ``x % S`` says that the access belongs to fill
(drain) number x; where the stage is a constant, the barrier waited for says which fill
it is. The n-th drain reads what the n-th fill wrote: the iteration of the writer is
found from the equation of the two numbers, must exist for every iteration of the
reader, and is put into the writer's tags. That the n-th fill is complete and not yet
overwritten when the n-th drain reads is shown by `argus.verify.order`, not here.
Within one role, a constant stage holds what was last written in program order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary, select
from argus.ir.memory import SharedAlloc
from argus.verify.decide import negate
from argus.verify.tags.moving import rewritten
from argus.verify.tags.scope import PathScope
from argus.verify.tags.shifts import merged_shift
from argus.verify.tags.slots import hole_of, overlay
from argus.verify.tags.values import AbstractValue, Coord, Tag, Vague
from argus.verify.verdict import Verdict

__all__ = ["Key", "Memory", "ReadResult", "StageWrite"]


Key = tuple[str, SharedAlloc, int]
"""A role, a buffer, a stage."""


@dataclass(frozen=True, eq=False)
class StageWrite:
    """One writing operation: where, which fill, under which loops, and what."""

    op: o.AnyOp
    alloc: SharedAlloc
    stage: Expr
    number: Expr | None
    scope: PathScope
    role: str
    content: AbstractValue


@dataclass(frozen=True)
class ReadResult:
    """What a read finds: the content in the reader's symbols, or why it is unknown."""

    content: AbstractValue | None
    verdict: Verdict
    reason: str = ""
    model: dict[str, int] = field(default_factory=dict[str, int])
    rule: str = "AG0390"


class Memory:
    """Contents of all shared buffers, as far as the roles have been walked."""

    def __init__(self) -> None:
        self.writes: dict[SharedAlloc, dict[int, StageWrite]] = {}
        self.current: dict[Key, AbstractValue] = {}

    def write(self, made: StageWrite) -> None:
        """Record a write; a constant stage also becomes current in its role."""
        self.writes.setdefault(made.alloc, {})[id(made.op)] = made
        match made.stage:
            case Const(value=int(stage)):
                key = (made.role, made.alloc, stage)
                before = self.current.get(key)
                self.current[key] = overlay(before, made.content, made.scope)
            case Const() | Sym() | Binary() | Select():
                for stage in range(made.alloc.stages):
                    self.current.pop((made.role, made.alloc, stage), None)
            case _:
                assert_never(made.stage)

    def read(
        self,
        alloc: SharedAlloc,
        stage: Expr,
        number: Expr | None,
        scope: PathScope,
        role: str,
    ) -> ReadResult:
        """The content that a read finds."""
        found = list(self.writes.get(alloc, {}).values())
        if isinstance(stage, Const) and isinstance(stage.value, int):
            here = self.current.get((role, alloc, stage.value))
            others = [w for w in found if w.role != role]
            if here is not None and not others:
                return ReadResult(here, Verdict.PROVED)
        if not found:
            return ReadResult(
                None,
                Verdict.REFUTED,
                "nothing writes this buffer",
                scope.some_point(),
                "AG0311",
            )
        if number is None:
            if len(found) == 1 and not found[0].scope.loops:
                return ReadResult(found[0].content, Verdict.PROVED)
            return ReadResult(
                None, Verdict.UNKNOWN, "which write this reads is not a fill number"
            )
        return _matched(found, number, scope)


def _matched(found: list[StageWrite], number: Expr, scope: PathScope) -> ReadResult:
    """The writes of fill ``number``, laid over each other; several by cases."""
    sure: AbstractValue | None = None
    maybe: list[tuple[Expr, AbstractValue]] = []
    problem = ReadResult(None, Verdict.UNKNOWN, "no write has this fill's number")
    excluded, untold = 0, False
    for write in found:
        at = _iteration_of(write, number, scope)
        if at is None:
            untold = True
            continue
        conditions, change = at
        decided = scope.all_hold(conditions)
        if decided.verdict is Verdict.PROVED:
            sure = overlay(sure, rewritten(write.content, change), scope)
            continue
        joined: Expr = Const(True)
        for c in conditions:
            joined = binary("and", joined, c)
        if scope.holds(negate(joined)):
            excluded += 1
            continue
        maybe.append((joined, rewritten(write.content, change)))
        problem = ReadResult(
            None,
            decided.verdict,
            decided.reason or "a fill that does not exist for every iteration",
            decided.model,
            "AG0414",
        )
    if untold and (sure is not None or maybe):
        text = "which fills a write of this buffer makes is not known"
        return ReadResult(None, Verdict.UNKNOWN, text)
    if sure is not None and not maybe:
        return ReadResult(sure, Verdict.PROVED)
    if not maybe and excluded == len(found):
        text = "no fill has the number of this drain"
        return ReadResult(None, Verdict.REFUTED, text, scope.some_point(), "AG0402")
    if not maybe:
        return problem
    return _cases(sure, maybe, scope, problem)


def _cases(
    sure: AbstractValue | None,
    maybe: list[tuple[Expr, AbstractValue]],
    scope: PathScope,
    problem: ReadResult,
) -> ReadResult:
    """One of several writes, by conditions that together always hold."""
    if sure is not None:
        return ReadResult(
            None, Verdict.UNKNOWN, "several writes have one fill's number"
        )
    some: Expr = Const(False)
    for condition, _ in maybe:
        some = binary("or", some, condition)
    covered = scope.decide(some)
    if covered.verdict is not Verdict.PROVED:
        return replace(problem, verdict=covered.verdict, model=covered.model)
    # The last is from the loop, whose form usually holds for the others as well.
    result = maybe[-1][1]
    for condition, content in reversed(maybe[:-1]):
        result = _choose(condition, content, result, scope)
    return ReadResult(result, Verdict.PROVED)


def _choose(
    condition: Expr, a: AbstractValue, b: AbstractValue, scope: PathScope
) -> AbstractValue:
    """``a`` where the condition holds, else ``b``; ``b`` where that is the same."""
    inside = scope.when(condition)
    tags = dict(b.tags)
    for name, other in b.tags.items():
        tags[name] = _choose_tag(condition, a.tags.get(name), other, inside)
    for name in a.tags:
        tags.setdefault(name, Vague("only some fills have this component"))
    holes = tuple(
        replace(h, where=_choose_tag(condition, hole_of(a, h.name), h.where, inside))
        for h in b.holes
    )
    known = {h.name for h in b.holes}
    holes += tuple(h for h in a.holes if h.name not in known)
    written = None
    if a.written is not None and b.written is not None:
        written = a.written & b.written
    shift = merged_shift(inside, a, b)
    return replace(b, tags=tags, holes=holes, written=written, shift=shift)


def _choose_tag(condition: Expr, a: Tag | None, b: Tag, inside: PathScope) -> Tag:
    if not isinstance(a, Coord) or not isinstance(b, Coord):
        return b if a is b else Vague("what was loaded depends on the iteration")
    if not np.array_equal(a.offs, b.offs):
        return Vague("two fills lay their elements out differently")
    if inside.equal(a.base, b.base).verdict is Verdict.PROVED:
        return b
    return Coord(select(condition, a.base, b.base), b.offs)


def _iteration_of(
    write: StageWrite, number: Expr, scope: PathScope
) -> tuple[list[Expr], Callable[[Expr], Expr]] | None:
    """Conditions under which a write is fill ``number``, and its symbols there."""
    if write.number is None:
        return None
    world = scope.world
    mapping: dict[str, Expr] = {}
    conditions: list[Expr] = []
    loops = write.scope.loops
    outer, inner = loops[:-1], loops[-1:]
    if len(outer) > len(scope.loops):
        return None
    for mine, theirs in zip(outer, scope.loops, strict=False):
        mapping[mine.sym.name] = theirs.sym
        conditions.append(binary("<", theirs.sym, world.replace(mine.trips, mapping)))
    for loop in inner:
        fill = world.replace(write.number, mapping)
        first = world.replace(fill, {loop.sym.name: Const(0)})
        second = world.replace(fill, {loop.sym.name: Const(1)})
        step = scope.difference(second, first)
        if step is None or step < 1:
            return None
        at = binary("-", number, first)
        if step > 1:
            conditions.append(binary("==", at % step, 0))
            at = at // step
        at = _simple(at, scope)
        mapping[loop.sym.name] = at
        trips = world.replace(loop.trips, mapping)
        conditions += [binary(">=", at, 0), binary("<", at, trips)]
    if not inner:
        conditions.append(binary("==", write.number, number))
    conditions += [world.replace(fact, mapping) for fact in write.scope.branches]

    def change(e: Expr) -> Expr:
        return world.replace(e, mapping)

    return conditions, change


def _simple(e: Expr, scope: PathScope) -> Expr:
    """The expression as iteration + constant or constant, where it is one."""
    if isinstance(e, Const):
        return e
    whole = scope.difference(e, Const(0))
    if whole is not None:
        return Const(whole)
    for loop in reversed(scope.loops):
        apart = scope.difference(e, loop.sym)
        if apart is not None:
            return binary("+", loop.sym, apart)
    return e
