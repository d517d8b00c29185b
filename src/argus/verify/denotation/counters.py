"""Integers that a loop carries: in which iteration they have which value.

The scalars of a body are walked once with carried integers as unknown variables; what
it yields says how each one moves. Let c(j) be the value at the beginning of iteration
j, for j = 0 .. n, and c(0) what it was before the loop.

    counter       it yields c + d, d the same in each iteration:  c(j) = c(0) + d*j
    running sum   it yields c + d(j):  c(j) = c(0) + s(j), s(j) = d(0) + ... + d(j-1), a
                  function of j of which only that is known; loops with equal d have
                  equal s, in whichever role they are. As long as a condition lasts
                  under which d is a constant, s(j) = d*j; of min(d, n - d*j) it
                  is min(d*j, n)
    handed on     it yields g(j), which does not depend on c:  c(j) = g(j-1) for j >= 1

All three follow by induction over j. In a persistent loop the iterations of a block are
its tiles, in ascending order: s is a sum over the tiles that come before, and two loops
over the same tiles with equal d have equal s at each tile.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Expr
from argus.terms import (
    Applied,
    IndexSet,
    Integer,
    Unknown,
    Value,
    Variable,
    apply,
    cast,
)
from argus.terms.integers import variable_of
from argus.verify.denotation.branches import merge_scalars, split
from argus.verify.denotation.cases import chosen, same_value, substituted
from argus.verify.denotation.counts import count, counted, counted_in
from argus.verify.denotation.scalars import scalar, truth
from argus.verify.denotation.state import Context, RunningSum, integers
from argus.verify.denotation.steps import cut_short, lasts
from argus.verify.denotation.trips import Trips, trips_of
from argus.verify.denotation.views import scalar_load

__all__ = [
    "Closed",
    "close_counters",
    "define_arguments",
    "define_results",
    "walk_scalars",
]

Closed = Callable[[Integer], Value]
"""The value of what a loop carries at the beginning of an iteration."""


@dataclass
class _Carry:
    name: str
    init: Value | Unknown | None
    yielded: Callable[[], Value]
    variable: Variable


def walk_scalars(context: Context, block: o.Block) -> None:
    """The scalars of a block; what is not known of them is kept as Unknown."""
    for op in block.ops:
        match op:
            case o.Let():
                context.define(op.sym, _tried(lambda op=op: scalar(context, op.value)))
            case o.LoadScalar():
                context.define(op.sym, _tried(lambda op=op: scalar_load(context, op)))
            case o.Extract():
                context.define(op.sym, Unknown("an element of a tile in a counter"))
            case o.For():
                _walk_loop(context, op)
            case o.If():
                _walk_branch(context, op)
            case (
                o.Roles() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                count(context, op)
            case _:
                assert_never(op)


def _tried(make: Callable[[], Value]) -> Value | Unknown:
    try:
        return make()
    except Unknown as why:
        return why


def _walk_loop(context: Context, op: o.For) -> None:
    try:
        trips = trips_of(context, op)
        closed = close_counters(context, op, trips)
    except Unknown as why:
        for carry in op.scalars:
            context.define(carry.result, why)
        for name, _ in counted_in(context, op.body):
            context.state.scalars[name] = why
        return
    define_results(context, op, closed, trips)


def _walk_branch(context: Context, op: o.If) -> None:
    try:
        blocks = op.then, op.other
        sides = split(context, truth(context, op.cond), blocks, walk_scalars)
        merge_scalars(context, op.scalars, blocks, sides)
    except Unknown as why:
        for merge in op.scalars:
            context.define(merge.result, why)
        for block in (op.then, op.other):
            for name, _ in counted_in(context, block):
                context.state.scalars[name] = why


def define_results(
    context: Context, op: o.For, closed: dict[str, Closed | Unknown], trips: Trips
) -> None:
    """Define what integers are after a loop."""

    def after(name: str) -> Value | Unknown:
        form = closed[name]
        if isinstance(form, Unknown):
            return form
        if trips.count is None:
            return Unknown("a counter after a persistent loop")
        count = trips.count
        return _tried(lambda: form(count))

    for carry in op.scalars:
        if carry.arg.name in closed:
            context.define(carry.result, after(carry.arg.name))
    for name, _ in counted_in(context, op.body):
        context.state.scalars[name] = after(name)


def define_arguments(
    context: Context, closed: dict[str, Closed | Unknown], trips: Trips
) -> None:
    """Define what integers are at the beginning of an iteration."""
    at = trips.iteration
    for name, form in closed.items():
        if isinstance(form, Unknown):
            context.state.scalars[name] = form
        else:
            context.state.scalars[name] = _tried(lambda f=form: f(at))


@contextmanager
def _aside(context: Context) -> Generator[None]:
    """What is done to scalars inside is undone; nothing is recorded."""
    kept, context.state = context.state, context.state.copy()
    context.dry += 1
    try:
        yield
    finally:
        context.dry -= 1
        context.state = kept


def close_counters(
    context: Context, op: o.For, trips: Trips
) -> dict[str, Closed | Unknown]:
    """The integers that a loop carries or counts, by the name that they have inside."""
    carries = list(_carries(context, op))
    with _aside(context):
        trips.enter(context, op)
        for carry in carries:
            context.state.scalars[carry.name] = Value.whole(
                Integer.atom(carry.variable)
            )
        walk_scalars(context, op.body)
        yields = {c.name: _tried(c.yielded) for c in carries}
    return _Solver(context, trips, carries, yields).solve()


def _carries(context: Context, op: o.For) -> Iterator[_Carry]:
    def whole(e: Expr) -> Value:
        return cast(context.world, scalar(context, e), "integer")

    def fresh() -> Variable:
        return variable_of(context.world.fresh("carried"))

    for carry in op.scalars:
        if carry.arg.type != "int":
            continue
        init = _tried(lambda c=carry: whole(c.init))
        yield _Carry(
            carry.arg.name,
            init,
            lambda c=carry: whole(c.yielded),
            fresh(),
        )
    for name, is_count in counted_in(context, op.body):
        init = counted(context, name) if is_count else context.state.scalars.get(name)

        def yielded(name: str = name) -> Value:
            found = context.state.scalars[name]
            if isinstance(found, Unknown):
                raise found
            return found

        yield _Carry(name, init, yielded, fresh())


class _Solver:
    """Finds closed forms of carried integers from what one iteration does to them."""

    def __init__(
        self,
        context: Context,
        trips: Trips,
        carries: list[_Carry],
        yields: dict[str, Value | Unknown],
    ) -> None:
        self.context, self.trips = context, trips
        self.yields = yields
        self.open = {c.name: c for c in carries}
        self.by_variable = {c.variable: c.name for c in carries}
        self.closed: dict[str, Closed | Unknown] = {}

    def solve(self) -> dict[str, Closed | Unknown]:
        """All of them; Unknown where none of the forms applies."""
        while self.open:
            before = len(self.open)
            for carry in list(self.open.values()):
                form = self._form(carry)
                if form is not None:
                    self.closed[carry.name] = form
                    del self.open[carry.name]
            if len(self.open) == before:
                for name in self.open:
                    self.closed[name] = Unknown(
                        f"`{name}` moves in a way that has no closed form"
                    )
                break
        return self.closed

    def _form(self, carry: _Carry) -> Closed | Unknown | None:
        made = self.yields[carry.name]
        if isinstance(made, Unknown):
            return made
        if isinstance(carry.init, Unknown):
            return carry.init
        try:
            return self._moved(carry, carry.init, made)
        except Unknown as why:
            return why

    def _moved(
        self, carry: _Carry, init: Value | None, made: Value
    ) -> Closed | Unknown | None:
        world = self.context.world
        variable = carry.variable
        needed = _variables(made)
        others = {v for v in needed if v in self.by_variable and v != variable}
        known: dict[Variable, Value] = {}
        for other in others:
            form = self.closed.get(self.by_variable[other])
            if form is None:
                return None
            if isinstance(form, Unknown):
                return form
            known[other] = form(self.trips.iteration)
        if known:
            made = substituted(world, made, known)
        steps = [(s, x - Integer.atom(variable)) for s, x in made.integers]
        if not any(
            variable in s.variables() or variable in d.variables() for s, d in steps
        ):
            if init is None:
                return Unknown(f"`{carry.name}` before a loop")
            return self._summed(init, steps)
        if variable in _variables(made):
            return Unknown(f"`{carry.name}` is carried by {made}")
        return self._handed_on(init, made)

    def _summed(
        self, init: Value, steps: list[tuple[IndexSet, Integer]]
    ) -> Closed | Unknown:
        world, trips = self.context.world, self.trips
        moving = set(trips.variables)

        def after(total: Value) -> Value:
            return apply(world, "add", init, total)

        steady = len(steps) == 1 and not steps[0][1].variables() & moving
        if steady and trips.count is not None:
            step = steps[0][1]
            return lambda j: after(Value.whole(step * j))
        if all(d.constant == 0 for _, d in steps):
            return lambda _: init
        here = self.context.state.where
        end = cut_short(world, here, trips, steps)
        if end is not None:
            whole, size = end
            return lambda j: after(Value.whole(world.minimum(size * j, whole)))
        step_value = chosen(world, [(s, Value.whole(d)) for s, d in steps])
        total = _running_sum(self.context, step_value, trips)
        counter, lasting = trips.counter, lasts(world, trips, steps)
        if counter is None or lasting is None:
            return lambda j: after(total(j))
        where, step = lasting

        def form(j: Integer) -> Value:
            so_far = world.substitute(where, {counter: j - 1})
            so_far = so_far | world.compare(j, "<=", 0)
            cases = [(so_far, Value.whole(step * j)), (~so_far, total(j))]
            return after(chosen(world, cases))

        return form

    def _handed_on(self, init: Value | None, made: Value) -> Closed | Unknown:
        world, trips = self.context.world, self.trips
        counter = trips.counter
        if counter is None:
            return Unknown("a value handed on from tile to tile")
        earlier = world.substitute(made, {counter: Integer.atom(counter) - 1})
        if init is not None:
            first = world.substitute(earlier, {counter: Integer.of(0)})
            if same_value(world, first, init, self.context.state.where):
                return lambda j: world.substitute(earlier, {counter: j})

        def form(j: Integer) -> Value:
            begun = world.compare(j, ">=", 1)
            later = world.substitute(earlier, {counter: j})
            if init is None:
                if not world.is_subset(self.context.state.where, begun):
                    raise Unknown("what was waited for before a loop")
                return later
            return chosen(world, [(~begun, init), (begun, later)])

        return form


def _running_sum(context: Context, step: Value, trips: Trips) -> Closed:
    """The sum of the steps of earlier iterations, as a function of the iteration.

    It is a function of what else the steps depend on, too. Sums of equal steps have one
    name, whatever the counters of their loops are called.
    """
    world = context.world
    free = _variables(step) - set(trips.variables)
    own = sorted(free - context.constants, key=lambda v: v.name)
    shared = [v for v in own if v in context.common]
    local = [v for v in own if v not in context.common]
    blank = {
        v: context.blank(i)
        for i, v in enumerate((*local, *trips.variables))
        if v not in context.common
    }
    plain = world.substitute(step, blank)
    found = next(
        (
            known
            for known in context.sums
            if known.shared == tuple(shared)
            and known.local == len(local)
            and known.over == trips.over
            and same_value(world, known.step, plain, IndexSet.universe)
        ),
        None,
    )
    if found is None:
        name = f"count{len(context.sums) + 1}"
        found = RunningSum(plain, trips.over, name, tuple(shared), len(local))
        context.sums.append(found)
    name, outer = found.name, integers((*shared, *local))

    def form(at: Integer) -> Value:
        if at.constant == 0 and trips.counter is not None:
            return Value.whole(0)
        places = (at,) if trips.counter is not None else trips.places
        return Value.whole(Integer.atom(Applied(name, (*outer, *places))))

    return form


def _variables(value: Value) -> set[Variable]:
    found: set[Variable] = set()
    for s, x in value.integers:
        found |= s.variables() | x.variables()
    return found
