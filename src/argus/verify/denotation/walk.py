"""The walk: a tile program's operations, one after the other, as terms.

Roles are read one by one, those that fill buffers before those that drain them. A role
that drains what it fills itself is read again with the fills that the pass before has
found, until nothing is missing.

An operation of which the result is not known leaves an Unknown in its place. Where it
is not known what runs (a condition, a trip count), all that is made inside is lost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from argus.ir import ops as o
from argus.ir.memory import GlobalView, Ring, SharedAlloc, SharedView
from argus.ir.program import Program
from argus.ir.walk import blocks, bound, defined, walk
from argus.terms import IndexSet, Integer, Unknown, Value, Variable, World
from argus.verify.denotation.assumptions import assume
from argus.verify.denotation.branches import read_branch, read_by_cases
from argus.verify.denotation.cases import within
from argus.verify.denotation.counts import count, counted_in, expected, filled, turned
from argus.verify.denotation.demand import Demand
from argus.verify.denotation.grid import Grid
from argus.verify.denotation.guarded import Guards
from argus.verify.denotation.loops import read_loop
from argus.verify.denotation.meetings import Meetings, meets_others
from argus.verify.denotation.meetings import written as written_before
from argus.verify.denotation.memory import remember
from argus.verify.denotation.multicast import of_all, require_all
from argus.verify.denotation.observed import notice_observed
from argus.verify.denotation.reads import shared_value
from argus.verify.denotation.registers import product, register_value
from argus.verify.denotation.result import Store
from argus.verify.denotation.scalars import SeveralIntegers, integer, scalar
from argus.verify.denotation.shared import fill_number, make_write, meet, overwrite
from argus.verify.denotation.state import (
    Context,
    Fill,
    Filling,
    Held,
    Write,
    integers,
    ranges,
)
from argus.verify.denotation.views import (
    copied,
    loaded,
    mask_of,
    places,
    scalar_load,
    written,
)

__all__ = ["ProgramWalk"]


class ProgramWalk(Context):
    """Reads the operations of a program."""

    def __init__(self, program: Program, world: World) -> None:
        super().__init__(program, world)
        self._grid = Grid(self)
        self._meetings = Meetings(program)
        self._demand = Demand(program)
        self._guards = Guards(program)

    @property
    def meetings(self) -> Meetings:
        """Who meets whom at named barriers."""
        return self._meetings

    @property
    def grid(self) -> Grid:
        """Which variables block indices are."""
        return self._grid

    def run(self, block: o.Block) -> None:
        """Read the operations of a block; what they do not say is lost, and noted."""
        path = self.state.path
        for position, op in enumerate(block.ops):
            self.state.path = (*path, (position, None))
            try:
                notice_observed(self, op, self._demand)
                self._op(op)
            except SeveralIntegers as why:
                self._by_cases(op, why.where)
                continue
            except Unknown as why:
                self._give_up(op, _placed(why, op))
            self._guards.read(self, op)
            count(self, op)
            if self.buffers.taken and any(map(meets_others, walk(o.Block([op])))):
                meet(self)
        self.state.path = path

    def _by_cases(self, op: o.AnyOp, where: IndexSet) -> None:
        try:
            read_by_cases(self, op, where, _run)
        except Unknown as why:
            self._give_up(op, _placed(why, op))

    def _op(self, op: o.AnyOp) -> None:
        """Read one operation. Raises Unknown."""
        match op:
            case o.Let():
                value = scalar(self, op.value)
                here = self.state.where & ranges(self.world, self.state.scope)
                self.define(op.sym, within(self.world, value, here))
            case o.LoadScalar():
                self.define(op.sym, scalar_load(self, op))
            case o.Extract():
                self.define(op.sym, self.element(op.src, ()))
            case o.RegisterOp():
                noted = self.world.obligations
                named = self.named_axes(op.result)
                where = self._guards.of(self, op)
                held = self._guards.holding(self, op)
                with held, noted.within(where), noted.along(named):
                    self.put(op.result, register_value(self, op, self._demand))
            case o.Dot():
                self.put(op.result, product(self, op))
            case o.LoadGlobal():
                needed = self._demand.of(self, op, op.result)
                self.put(op.result, loaded(self, op, needed))
            case o.LoadShared():
                self.put(op.result, shared_value(self, op.view))
            case o.StoreGlobal():
                if isinstance(op, o.Atomic) and op.atomic == "cas":
                    raise Unknown("what a compare-and-swap leaves")
                self._store(op, op.view, op.src, op.mask, op.stored)
                for old in defined(op):
                    why = Unknown("an old value, which depends on the order of blocks")
                    self.state.tiles[old] = why
            case o.CopyOut():
                self._store(op, op.dst, op.src, None, None)
            case o.StoreShared():
                self._write(op, op.view, self._held(op.src))
            case o.CopyAsync():
                self._copy(op)
            case o.RingAcquire():
                self._acquire(op)
            case o.RingPublish():
                self._publish(op)
            case o.If():
                read_branch(self, op, _run)
            case o.For():
                read_loop(self, op)
            case o.Roles():
                raise Unknown("roles inside of a loop or branch")
            case o.Assume():
                assume(self, op)
            case (
                o.RingWait() | o.RingRelease() | o.Synchronisation()
            ):  # fmt: skip
                pass  # of order, which `argus.verify.order` proves
            case o.Tag() | o.Check() | o.Expect() | o.Trust() | o.Print():
                pass  # they do nothing, and say nothing of values
            case _:
                assert_never(op)

    # ------------------------------------------------------------------- stores

    def _store(
        self,
        op: o.StoreGlobal | o.CopyOut,
        view: GlobalView,
        src: o.Tile | SharedView,
        mask: o.Tile | None,
        atomic: str | None,
    ) -> None:
        axes = self.axes(view.shape)
        indices = integers(axes)
        value = self._stored(src, axes)
        found = places(self, view, indices, mask_of(self, mask, indices))
        written(self, op, view.tensor, found)
        if isinstance(op, o.StoreGlobal) and atomic is None:
            for place in found:
                remember(self, op, view.tensor, place.coords, place.where, value)
        if isinstance(value, Unknown):
            raise value
        once = self.grid.numbered or not self.tiles.isdisjoint(self.state.scope)
        if atomic == "add" and not once:
            raise Unknown("what all blocks add, beside the tiles that they share out")
        if self.dry:
            return
        variables = (*self.state.scope, *axes)
        for place in found:
            where = place.where & self.state.where & ranges(self.world, variables)
            made = within(self.world, value, where)
            self._check_free(place.coords, made, variables)
            self.record.stores.append(
                Store(
                    view.tensor,
                    place.coords,
                    where,
                    made,
                    atomic,
                    variables,
                    op.span,
                    self.role,
                    self.state.path,
                    axes,
                    self.named_axes(view),
                )
            )

    def _stored(
        self, src: o.Tile | SharedView, axes: tuple[Variable, ...]
    ) -> Value | Unknown:
        try:
            if isinstance(src, SharedView):
                return shared_value(self, src)
            return self.own(src, axes)
        except Unknown as why:
            return why

    def _check_free(
        self,
        coords: tuple[Integer, ...],
        value: Value,
        variables: tuple[Variable, ...],
    ) -> None:
        """Refuse what depends on a variable that means nothing here.

        Raises Unknown: such a term is of another iteration, or a bound variable has
        escaped from its sum.
        """
        known = {*variables, *self.constants, *self.common}
        found = value.free_variables().union(*(x.variables() for x in coords))
        stray = sorted(v.name for v in found if v not in known)
        if stray:
            raise Unknown(f"a term in which {', '.join(stray)} means nothing")

    # ------------------------------------------------------------------- shared

    def _held(self, tile: o.Tile) -> Held | Unknown:
        try:
            return self.held(tile)
        except Unknown as why:
            return why

    def _copy(self, op: o.CopyAsync) -> None:
        require_all(self, op.multicast, op.span)
        try:
            held: Held | Unknown = Held(self.axes(op.src.shape), copied(self, op))
        except Unknown as why:
            held = _placed(why, op)
        self._write(op, op.dst, of_all(self, op.multicast, held, op.span))

    def _write(
        self, op: o.StoreShared | o.CopyAsync, view: SharedView, held: Held | Unknown
    ) -> None:
        alloc = view.alloc
        ring = self.buffers.ring.get(alloc)
        if ring is not None:
            self._write_slot(ring, view, held)
            return
        overwrite(self, view, held)
        if alloc in self.buffers.turning:
            number = fill_number(self, view.stage, alloc.stages)
            if number is None:
                if self.state.scope != self.common:
                    raise Unknown(
                        f"a stage of `{alloc.name}` that is not `number % stages`"
                    )
                number = integer(self, view.stage)
            turns: Integer | Unknown = turned(self, op)
        elif alloc in self.buffers.handed:
            turns = number = expected(self, self.buffers.handed[alloc]) - 1
            if turned(self, op) != number:
                raise Unknown(f"which phase a copy into `{alloc.name}` belongs to")
        elif alloc in self.buffers.stored and isinstance(op, o.StoreShared):
            if not self.meetings.met_by(self.role):
                return
            turns = number = written_before(self, op)
        else:
            return
        write = make_write(self, view, held)
        self._record_fill(alloc, {alloc: (write,)}, number, turns, op)

    def _write_slot(
        self,
        ring: Ring,
        view: SharedView,
        held: Held | Unknown,
    ) -> None:
        filling = self.filling.get(ring)
        if filling is None:
            raise Unknown(f"`{ring.name}` is written outside of a fill")
        if filling.scope != self.state.scope:
            raise Unknown(f"a fill of `{ring.name}` that a loop makes in parts")
        number = fill_number(self, view.stage, ring.stages)
        if number is None:
            slot = self.world.remainder(filling.number, ring.stages)
            same = self.world.compare(slot, "==", integer(self, view.stage))
            if not self.world.is_subset(self.state.where, same):
                raise Unknown(f"a slot of `{ring.name}` that is not the one acquired")
        elif number != filling.number:
            raise Unknown(f"a slot of `{ring.name}` that is not the one acquired")
        write = make_write(self, view, held)
        filling.writes[view.alloc] = (*filling.writes.get(view.alloc, ()), write)

    def _acquire(self, op: o.RingAcquire) -> None:
        if op.ring in self.filling:
            raise Unknown(f"a fill of `{op.ring.name}` inside of another")
        made = Filling(op.ring, integer(self, op.n), {}, self.state.scope)
        self.filling[op.ring] = made

    def _publish(self, op: o.RingPublish) -> None:
        filling = self.filling.pop(op.ring, None)
        if filling is None:
            raise Unknown(f"`{op.ring.name}` is published and was not acquired")
        number = integer(self, op.n)
        turns = filled(self, op.ring)
        same = number == filling.number and filling.scope == self.state.scope
        if not same or number != turns:
            raise Unknown(
                f"whether fills of `{op.ring.name}` are numbered 0, 1, 2, ..."
            )
        self._record_fill(op.ring, filling.writes, number, turns, op)

    def _record_fill(
        self,
        key: Ring | SharedAlloc,
        writes: dict[SharedAlloc, tuple[Write, ...]],
        number: Integer,
        turns: Integer | Unknown,
        op: o.AnyOp,
    ) -> None:
        if self.dry:
            return
        scope, where = self.state.scope, self.state.where
        made = Fill(self.role, scope, number, turns, where, writes, op.span)
        known = self.record.fills.setdefault(key, [])
        if known and made.continues(known[-1]):
            last = known.pop()
            both = {**last.writes}
            for alloc, parts in writes.items():
                both[alloc] = (*both.get(alloc, ()), *parts)
            made = replace(last, writes=both)
        known.append(made)

    # ------------------------------------------------------------------ unknown

    def _give_up(self, op: o.AnyOp, why: Unknown) -> None:
        """What an operation makes is not known: tiles, scalars, memory."""
        for tile in defined(op):
            self.state.tiles[tile] = why
        for sym in bound(op):
            self.define(sym, why)
        for block in blocks(op):
            for name, _ in counted_in(self, block):
                self.state.scalars[name] = why
        for inner in walk(o.Block([op])):
            match inner:
                case o.StoreGlobal():
                    self.lose(inner.view.tensor.name, why)
                case o.CopyOut():
                    self.lose(inner.dst.tensor.name, why)
                case o.RingAcquire() | o.RingPublish():
                    self._lose_fill(inner.ring, why)
                case o.StoreShared() | o.CopyAsync():
                    view = inner.filled()
                    assert view is not None
                    self._lose_write(view.alloc, why)
                case (
                    o.Structure() | o.Binding() | o.RegisterOp() | o.Dot()
                    | o.LoadGlobal() | o.LoadShared() | o.Synchronisation()
                    | o.RingWait() | o.RingRelease() | o.Annotation()
                ):  # fmt: skip
                    pass  # what it defines is lost above
                case _:
                    assert_never(inner)

    def _lose_write(self, alloc: SharedAlloc, why: Unknown) -> None:
        ring = self.buffers.ring.get(alloc)
        self._lose_fill(alloc if ring is None else ring, why)
        shared = self.state.shared
        shared[alloc] = (*shared.get(alloc, ()), why)

    def _lose_fill(self, key: Ring | SharedAlloc, why: Unknown) -> None:
        self.filling.clear()
        if not self.dry:
            self.record.unfilled.setdefault(key, why)


def _run(context: Context, block: o.Block) -> None:
    context.run(block)


def _placed(why: Unknown, op: o.AnyOp) -> Unknown:
    """The reason with the place where it was met first."""
    if why.span is None:
        why.span = op.span
    return why
