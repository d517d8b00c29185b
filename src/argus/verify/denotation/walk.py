"""The walk: a tile program's operations, one after the other, as terms.

Roles are read one by one, those that fill buffers before those that drain them. A role
that drains what it fills itself is read again with the fills that the pass before has
found, until nothing is missing.

An operation of which the result is not known leaves an Unknown in its place. Where it
is not known what runs (a condition, a trip count), all that is made inside is lost.
"""

from __future__ import annotations

from typing import assert_never

from argus.ir import ops as o
from argus.ir.memory import GlobalView, SharedView
from argus.ir.program import Program
from argus.ir.walk import blocks, bound, defined, walk
from argus.terms import Integer, Unknown, Value, Variable, World
from argus.verify.denotation.assumptions import assume
from argus.verify.denotation.branches import (
    merge_scalars,
    merge_shared,
    merge_tiles,
    split,
)
from argus.verify.denotation.buffers import writes_shared
from argus.verify.denotation.cases import free_variables, within
from argus.verify.denotation.counts import count, counted_in
from argus.verify.denotation.demand import Demand
from argus.verify.denotation.filling import (
    acquire,
    copy,
    lose_fill,
    lose_write,
    publish,
    store,
)
from argus.verify.denotation.grid import Grid
from argus.verify.denotation.guarded import Guards
from argus.verify.denotation.loops import read_loop
from argus.verify.denotation.meetings import Meetings
from argus.verify.denotation.memory import merge_memory, remember
from argus.verify.denotation.observed import notice_observed
from argus.verify.denotation.reads import shared_value
from argus.verify.denotation.registers import product, register_value
from argus.verify.denotation.result import Store
from argus.verify.denotation.scalars import scalar
from argus.verify.denotation.state import (
    Context,
    integers,
    placed,
    ranges,
)
from argus.verify.denotation.views import (
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
                notice_observed(self, op)
                self._op(op)
            except Unknown as why:
                self._give_up(op, placed(why, op))
            count(self, op)
        self.state.path = path

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
                with self.world.obligations.within(self._guards.of(self, op)):
                    self.put(op.result, register_value(self, op))
            case o.Dot():
                self.put(op.result, product(self, op))
            case o.LoadGlobal():
                self.put(op.result, loaded(self, op, self._demand.of(self, op)))
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
                store(self, op)
            case o.CopyAsync():
                copy(self, op)
            case o.RingAcquire():
                acquire(self, op)
            case o.RingPublish():
                publish(self, op)
            case o.If():
                sides = split(self, op, lambda context, block: context.run(block))
                merge_scalars(self, op, sides)
                merge_tiles(self, op, sides)
                merge_shared(self, sides)
                ends = [side.state for side in sides if side.state is not None]
                merge_memory(self, [end.memory for end in ends])
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
        found = free_variables(value).union(*(x.variables() for x in coords))
        stray = sorted(v.name for v in found if v not in known)
        if stray:
            raise Unknown(f"a term in which {', '.join(stray)} means nothing")

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
                    lose_fill(self, inner.ring, why)
                case o.StoreShared() | o.CopyAsync():
                    view = writes_shared(inner)
                    assert view is not None
                    lose_write(self, view.alloc, why)
                case (
                    o.Structure() | o.Binding() | o.RegisterOp() | o.Dot()
                    | o.LoadGlobal() | o.LoadShared() | o.Synchronisation()
                    | o.RingWait() | o.RingRelease() | o.Annotation()
                ):  # fmt: skip
                    pass  # what it defines is lost above
                case _:
                    assert_never(inner)
