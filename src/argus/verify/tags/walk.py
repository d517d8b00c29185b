"""Walks one role in program order, keeping what is known of every tile.

A loop body is walked until its form is known. The first pass starts from the values
before the loop and shows what an iteration yields; from that and the initial value
follows the form that a carried tile (or the content of shared memory) has in iteration
``it``: its yielded form at ``it - 1``, or the initial one at 0. The next pass starts
from that form. If it yields what the pass before did, the form holds for all iterations
by induction, and the findings of this pass count; else they are forgotten, and the new
form is tried. What has no form after some passes is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import assert_never

from argus.ir import ops as o
from argus.ir.annotations import Assume, Check, Expect, Tag, Trust
from argus.ir.memory import SharedAlloc
from argus.ir.walk import defined
from argus.ir.walk import walk as every
from argus.isa.effects import effects_of
from argus.verify.decide import negate
from argus.verify.tags import (
    branches,
    carried,
    carried_stages,
    loops,
    products,
    registers,
    transfers,
)
from argus.verify.tags.annotated import assume, tag
from argus.verify.tags.checks import check
from argus.verify.tags.equality import equal_contents, equal_values
from argus.verify.tags.memory import Key
from argus.verify.tags.shared_tags import Tagged, without
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import AbstractValue, Vague
from argus.verify.verdict import Obligation

__all__ = ["walk"]

_PASSES = 6
"""Passes that count; tiles that are handed on through n others need n + 1."""


def walk(state: WalkState, block: o.Block, label: str) -> None:
    """Every operation of a block."""
    count = 0
    for op in block.ops:
        if isinstance(op, o.For | o.If):
            count += 1
            _structure(state, op, f"{label}.{count}")
        else:
            _operation(state, op)


def _structure(state: WalkState, op: o.For | o.If, label: str) -> None:
    if isinstance(op, o.For):
        _loop(state, op, label)
    else:
        _branch(state, op, label)


def _operation(state: WalkState, op: o.AnyOp) -> None:
    match op:
        case o.Let() | o.LoadScalar() | o.Extract():
            loops.let(state.world, op, state.scope, state.env)
        case o.RegisterOp():
            state.values[op.result] = registers.run(state, op)
        case o.Dot():
            state.values[op.result] = products.dot(state, op)
        case o.LoadGlobal():
            state.values[op.result] = transfers.load_global(state, op)
        case o.LoadShared():
            state.values[op.result] = transfers.load_shared(state, op)
        case o.StoreGlobal():
            transfers.store_global(state, op)
            for old in defined(op):
                reason = "an old value depends on the order of blocks"
                state.values[old] = state.vague(old, reason)
        case o.StoreShared():
            transfers.store_shared(state, op)
        case o.CopyAsync():
            transfers.copy_in(state, op)
        case o.CopyOut():
            transfers.copy_out(state, op)
        case o.BarrierWait():
            state.waits[op.barrier.alloc] = state.close(op.n)
        case Tag():
            tag(state, op)
        case Check():
            check(state, op)
        case Assume():
            assume(state, op)
        case (
            Expect() | Trust() | o.Print() | o.Synchronisation() | o.RingOp()
            | o.Structure()
        ):  # fmt: skip
            pass
        case _:
            assert_never(op)


def _loop(state: WalkState, op: o.For, label: str) -> None:
    entered = loops.enter(state.world, op, state.scope, state.env, label)
    outer_scope, before = state.scope, dict(state.memory.current)
    inits = [state.get(c.init) for c in op.tiles]
    iteration = _Iteration(
        state, op, label, entered, without(state.tagged, _written(op))
    )
    kept = state.findings.kept()
    if not (op.tiles or _written(op)):
        iteration.walk([], before)
    else:
        state.findings.quiet += 1
        iteration.walk([carried.first(v, id(op)) for v in inits], before)
        state.findings.quiet -= 1
        early: list[Obligation] = []
        for _ in range(_PASSES):
            yields, ends = iteration.yields, iteration.ends
            iteration.walk(iteration.arguments(inits), iteration.contents(before))
            scope, right = entered.scope, iteration.guessed_right()
            if (
                right
                and all(map(partial(equal_values, scope), yields, iteration.yields))
                and equal_contents(scope, ends, iteration.ends)
            ):
                break
            early = iteration.early(state.findings.refuted())
            state.findings.restore(dict(kept))
        else:
            iteration.walk(*iteration.given_up(inits, before))
            state.findings.include(early)
    it, trips = entered.loop.sym, entered.loop.trips
    state.scope, state.env = outer_scope, dict(entered.after)
    state.tagged = list(iteration.tagged)
    for i, (c, y) in enumerate(zip(op.tiles, iteration.yields, strict=True)):
        anew = iteration.anew.get(i, ())
        state.values[c.result] = carried.result(
            entered.scope,
            inits[i],
            y,
            it,
            trips,
            id(op),
            anew,
            iteration.rows,
        )
    for key, content in state.memory.current.items():
        if content is not before.get(key):
            state.memory.current[key] = carried_stages.content_after(
                entered.scope, outer_scope, before.get(key), content, it, trips
            )


@dataclass
class _Iteration:
    """One iteration of a loop, walked several times."""

    state: WalkState
    op: o.For
    label: str
    entered: loops.Entered
    tagged: list[Tagged]
    """Tags of shared tiles that hold inside: not those of the iteration before."""
    yields: list[AbstractValue] = field(default_factory=list[AbstractValue])
    given: list[AbstractValue] = field(default_factory=list[AbstractValue])
    """The tiles with which the last pass began, but for the first one."""
    anew: dict[int, set[str]] = field(default_factory=dict[int, set[str]])
    """Of each tile: components along which it does not accumulate."""
    rows: list[carried.Alias] = field(default_factory=list[carried.Alias])
    """What the maxima that are handed on were before the loop."""
    ends: dict[Key, AbstractValue] = field(default_factory=dict[Key, AbstractValue])
    """Contents of shared memory after the last pass, where the body changes them."""

    def walk(
        self, args: list[AbstractValue], contents: dict[Key, AbstractValue]
    ) -> None:
        state = self.state
        state.scope, state.env = self.entered.scope, dict(self.entered.inside)
        state.tagged, state.memory.current = list(self.tagged), dict(contents)
        for c, value in zip(self.op.tiles, args, strict=False):
            state.values[c.arg] = value
        walk(state, self.op.body, self.label)
        self.yields = [state.get(c.yielded) for c in self.op.tiles]
        now = state.memory.current
        self.ends = {k: v for k, v in now.items() if v is not contents.get(k)}

    def arguments(self, inits: list[AbstractValue]) -> list[AbstractValue]:
        """Carried tiles at the beginning of an iteration, by what the last one gave."""
        scope, it = self.entered.scope, self.entered.loop.sym
        pairs = list(zip(inits, self.yields, strict=True))
        rows = [carried.row_before(scope, a, y, it) for a, y in pairs]
        self.rows = [r for r in rows if r is not None]
        self.given = [
            carried.argument(
                scope, a, y, it, id(self.op), self.anew.get(i, ()), self.rows
            )
            for i, (a, y) in enumerate(pairs)
        ]
        return self.given

    def guessed_right(self) -> bool:
        """Whether what was taken for accumulations are such; else they are noted."""
        right = True
        for i, (a, y) in enumerate(zip(self.given, self.yields, strict=True)):
            known = self.anew.setdefault(i, set[str]())
            new = carried.not_accumulated(a, y, id(self.op)) - known
            known |= new
            right &= not new
        return right

    def contents(self, before: dict[Key, AbstractValue]) -> dict[Key, AbstractValue]:
        """Contents of shared memory at the beginning of an iteration."""
        scope, it = self.entered.scope, self.entered.loop.sym
        changed = {
            key: carried_stages.content(scope, before.get(key), end, it)
            for key, end in self.ends.items()
        }
        return {**before, **changed}

    def early(self, several: list[Obligation]) -> list[Obligation]:
        """Those of the first iterations, for which the form of the last pass is exact.

        That of pass n (counted from 0) is, up to iteration n: it is made of that many
        iterations.
        """
        loop = self.entered.loop.name
        inner = {x.var.name for x in every(self.op.body) if isinstance(x, o.For)}
        if loop in inner:
            return []
        found: list[Obligation] = []
        for x in several:
            at = None if x.counterexample is None else x.counterexample.place.iteration
            if at is not None and at.get(loop, _PASSES) < _PASSES:
                found.append(x)
        return found

    def given_up(
        self, inits: list[AbstractValue], before: dict[Key, AbstractValue]
    ) -> tuple[list[AbstractValue], dict[Key, AbstractValue]]:
        """Carried tiles and contents of which nothing is known."""
        reason = "no closed form for the iterations of the loop was found"
        args = [_vague(v, reason) for v in self.arguments(inits)]
        contents = self.contents(before)
        changed = {key: _vague(contents[key], reason) for key in self.ends}
        return args, {**contents, **changed}


def _vague(value: AbstractValue, reason: str) -> AbstractValue:
    names = (*value.tags, *value.lanes, *value.sets)  # in order: reports follow it
    return replace(
        value, tags=dict.fromkeys(names, Vague(reason)), number=None, mask=None,
        lanes={}, sets={},
        holes=tuple(replace(h, where=Vague(reason), kind="junk") for h in value.holes),
    )  # fmt: skip


def _written(op: o.For | o.If) -> set[SharedAlloc]:
    return {t.view.alloc for x in every(o.Block([op])) for t in effects_of(x).writes}


def _branch(state: WalkState, op: o.If, label: str) -> None:
    cond = state.close(op.cond)
    scope, env = state.scope, state.env
    state.scope, state.env = scope.when(cond), dict(env)
    tagged = state.tagged
    walk(state, op.then, label + "t")
    then, state.tagged = state.env, list(tagged)
    state.scope, state.env = scope.when(negate(cond)), dict(env)
    walk(state, op.other, label + "e")
    other = state.env
    written = _written(op)
    state.scope, state.env, state.tagged = scope, env, without(tagged, written)
    loops.leave_if(state.world, op, then, other, env)
    for merge in op.tiles:
        a, b = state.get(merge.then), state.get(merge.other)
        state.values[merge.result] = branches.merged(scope, cond, a, b)
