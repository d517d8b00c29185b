"""Elements that tables name: assignment, and sums, over the positions in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from argus.specification.array import SymbolicArray
from argus.specification.cases import chosen
from argus.specification.casting import ends_of, wraps
from argus.specification.ragged import DIFFERENT
from argus.specification.storage import Indices, Read
from argus.specification.tracing import depends_on_data
from argus.terms import (
    Entry,
    IndexSet,
    Integer,
    Unknown,
    Value,
    Variable,
    apply,
    cast,
    reduce,
)
from argus.terms.narrowing import narrowed


@dataclass(frozen=True)
class Equation:
    """Which positions of the index arrays name an element.

    ``where`` must hold, and each of ``pairs`` be equal: what the table says, and the
    element's position. ``value`` is the position in what is assigned.
    """

    where: IndexSet
    pairs: tuple[tuple[Integer, Integer], ...]
    value: Indices


@dataclass(frozen=True)
class Scatter:
    """Values for the elements of an array that index arrays name.

    ``variables`` run over the index arrays, whose shape is ``inner``.
    """

    array: SymbolicArray
    variables: Indices
    inner: tuple[Integer, ...]
    equations: Callable[[Indices], Equation]
    values: Read

    def require_different(self) -> None:
        """That no two positions name one element.

        What is computed of positions and sizes alone says where it is so: of elements
        of a row each, whatever tables say of these. By tables it is so where what is
        said of their entries says it, and is assumed else.
        """
        tracing, world = self.array.tracing, self.array.tracing.world
        named = tuple(e for e, _ in self.equations(self.array.sizes).pairs)
        plain = tuple(e for e in named if not depends_on_data(e))
        others = [world.fresh("q", 0, n) for n in self.inner]
        env = dict(zip(self._names(), others, strict=True))
        same, one = IndexSet.universe, IndexSet.universe
        for entry in plain:
            same = same & world.compare(entry, "==", world.substitute(entry, env))
        for here, other in zip(self.variables, others, strict=True):
            one = one & world.compare(here, "==", other)
        if plain == named:
            why = "no two positions that are assigned to are the same"
            tracing.need(one | ~same, why)
            return
        for entry in named:
            same = same & world.compare(entry, "==", world.substitute(entry, env))
        if not tracing.never(same - one):
            tracing.assume(DIFFERENT)

    def replace(self) -> None:
        """Assign, where no two positions name one element."""
        old = self.array.now()
        tracing = self.array.tracing

        def read(indices: Indices) -> Value:
            found = self.equations(indices)
            env, rest = self._solved(found)
            named = self._inside(found, env, rest)
            at = tuple(tracing.world.substitute(i, env) for i in found.value)
            before = partial(old, indices)
            left = [name for name in self._names() if name not in env]
            if not left:
                return chosen(tracing.world, named, partial(self.values, at), before)
            total = self._sum(left, named, at)
            count = self._sum(left, named, None)
            one = Value.whole(Integer.of(1))
            written = apply(tracing.world, "ge", count, one).where
            return chosen(tracing.world, written, lambda: total, before)

        self.array.assign(read)

    def add(self) -> None:
        """Add every value to the element that its position names."""
        old, dtype = self.array.now(), self.array.dtype
        tracing = self.array.tracing
        wrapping = self.array.kind == "integer" and wraps(tracing, dtype)

        def read(indices: Indices) -> Value:
            found = self.equations(indices)
            named = self._inside(found, {}, found.pairs)
            total = self._sum(self._names(), named, found.value)
            made = apply(tracing.world, "add", old(indices), total)
            return narrowed(tracing.world, made, ends_of(dtype)) if wrapping else made

        self.array.assign(read)

    def extreme(self, fn: str) -> None:
        """The "max" or "min" of an element and of the values that name it."""
        old = self.array.now()
        world = self.array.tracing.world
        both = {"max": "maximum", "min": "minimum"}[fn]

        def read(indices: Indices) -> Value:
            found = self.equations(indices)
            named = self._inside(found, {}, found.pairs)
            value = cast(world, self.values(found.value), "real")
            most = reduce(world, fn, self._names(), value, named)
            return apply(world, both, cast(world, old(indices), "real"), most)

        self.array.assign(read)

    def _sum(
        self, names: Sequence[Variable], named: IndexSet, at: Indices | None
    ) -> Value:
        """The sum, or the number, of the values at positions that name an element.

        ``names``: the variables that no equation has fixed.
        """
        world = self.array.tracing.world
        one = Value.whole(Integer.of(1))
        value = one if at is None else self.values(at)
        return reduce(world, "sum", names, value, named)

    def _names(self) -> tuple[Variable, ...]:
        return tuple(_variable(v) for v in self.variables)

    def _inside(
        self,
        found: Equation,
        env: Mapping[Variable, Integer],
        pairs: tuple[tuple[Integer, Integer], ...],
    ) -> IndexSet:
        """Where the rest of the equations holds, inside the index arrays."""
        world = self.array.tracing.world
        where: IndexSet = world.substitute(found.where, env)
        for entry, target in pairs:
            where = where & world.compare(entry, "==", target)
        for variable, size in zip(self.variables, self.inner, strict=True):
            at = world.substitute(variable, env)
            where = where & world.compare(at, ">=", 0) & world.compare(at, "<", size)
        return where

    def _solved(
        self, found: Equation
    ) -> tuple[dict[Variable, Integer], tuple[tuple[Integer, Integer], ...]]:
        """Variables that the equations fix, and the equations that are left.

        An entry of a table is solved where the element's position is an entry of the
        same table: different positions have different entries.
        """
        world = self.array.tracing.world
        env: dict[Variable, Integer] = {}
        rest: list[tuple[Integer, Integer]] = []
        for entry, target in found.pairs:
            entry = world.substitute(entry, env)
            solved = _entry(entry, target, self._names()) or _linear(
                entry, target, self._names()
            )
            if solved is None:
                rest.append((entry, target))
                continue
            env = {v: world.substitute(x, solved) for v, x in env.items()}
            env |= solved
        rest = [(world.substitute(e, env), t) for e, t in rest]
        return env, tuple(rest)


def _variable(integer: Integer) -> Variable:
    atom = integer.single
    if not isinstance(atom, Variable):
        raise Unknown(f"{integer} is no variable")
    return atom


def _linear(
    entry: Integer, target: Integer, names: tuple[Variable, ...]
) -> dict[Variable, Integer] | None:
    """``v`` from ``±v + rest == target``."""
    for name in names:
        factor = entry.coefficient(name)
        if factor not in (1, -1):
            continue
        rest = entry - Integer.atom(name) * factor
        if name not in rest.variables():
            return {name: (target - rest) * factor}
    return None


def _entry(
    entry: Integer, target: Integer, names: tuple[Variable, ...]
) -> dict[Variable, Integer] | None:
    """``p`` from ``T[p] == T[q]``."""
    left, right = entry.single, target.single
    if not isinstance(left, Entry) or not isinstance(right, Entry):
        return None
    if left.tensor != right.tensor or len(left.indices) != len(right.indices):
        return None
    env: dict[Variable, Integer] = {}
    for mine, other in zip(left.indices, right.indices, strict=True):
        variable = mine.single
        if isinstance(variable, Variable) and variable in names:
            env[variable] = other
        elif mine != other:
            return None
    return env
