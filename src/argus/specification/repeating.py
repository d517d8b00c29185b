"""Loops over symbolic sizes: one run of the body stands for every round.

The body runs for a round ``h`` of which only ``0 <= h < length`` is known, with opaque
values for what rounds hand on. What it makes of them says what the loop is. Let ``c``
be an element before a round, and ``g``, ``f`` terms without it:

- ``c + g(h)``: afterwards it is ``c_0 + Σ_h g(h)``. (By induction on the rounds.)
- ``a c + g(h)``, with the same ``a`` in each round: afterwards it is
  ``a^n c_0 + Σ_h a^(n-1-h) g(h)`` for n rounds.
- ``a(h) c + g(h)``: afterwards it is ``Π_h a(h) c_0 + Σ_h g(h) Π_k a(k)`` over k > h.
- ``max(c, g(h))``: afterwards it is the largest of ``c_0`` and all ``g(h)``; min alike.
- ``f(h)`` where a condition ``S(h)`` holds, else ``c``, and ``S`` holds for at most one
  ``h``: afterwards it is ``f`` of that ``h`` where there is one, else ``c_0``.
- ``f(h)`` always: afterwards it is that of the last round.
- ``f(h, c)`` for an element that only round ``h`` sets, or that it appends to a list:
  what c is after ``h`` rounds, or after ``h + 1``, is derived by the same forms.

Anything else is Unknown. So is a round that another one could see otherwise: its
conditions on carried values, state that it changes unseen (`state.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NoReturn, cast

import numpy as np

from argus.specification.array import SymbolicArray
from argus.specification.cases import chosen
from argus.specification.casting import converted, lifted
from argus.specification.iterating import Symbolic, as_symbolic
from argus.specification.loops import NAME as LOOPS
from argus.specification.recurrences import Round
from argus.specification.reordering import broadcast_to
from argus.specification.sequences import Repeated
from argus.specification.state import Changes, ReachableState
from argus.specification.storage import Indices, Read, Storage
from argus.specification.tracing import Tracing
from argus.specification.turning import every_way
from argus.terms import Integer, Unknown, Value, Variable

Body = Callable[..., Any]


class Gone:
    """The value of a name that a loop of symbolic length set last, or never."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise Unknown(
            f"the reference uses {self.__dict__['_name']} of another round of a loop "
            f"over a symbolic size"
        )

    def reaches(self) -> tuple[Any, ...]:
        """It holds nothing that could change."""
        return ()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __neg__ = _refuse
    __getitem__ = __setitem__ = __call__ = __iter__ = __len__ = _refuse
    __bool__ = __index__ = __float__ = __eq__ = __lt__ = __gt__ = _refuse  # type: ignore[assignment]
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()


def listed(items: Symbolic, body: Callable[[Any], Any] | None = None) -> Repeated:
    """What a body makes of each item, as a list of symbolic length.

    Raises Unknown for a body that changes something.
    """
    variable = items.variable()
    item = items.item(_integer(variable))
    if body is None:
        return Repeated(items.tracing, variable, items.length, item)
    state = ReachableState.of([body, item])
    function = body
    (element,) = every_way(
        items.tracing,
        lambda: [function(item)],
        [body, item],
        lambda _: Gone("an element"),
    )
    changes = state.changed()
    if changes.arrays or changes.appended:
        raise Unknown("a comprehension over a symbolic size changes something")
    return Repeated(items.tracing, variable, items.length, element)


class Loops:
    """What the calls in a rewritten function are."""

    NAME = LOOPS

    def __init__(self, tracing: Tracing) -> None:
        self.tracing = tracing

    def reaches(self) -> tuple[Any, ...]:
        """It holds nothing that could change."""
        return ()

    def is_symbolic(self, iterable: Any) -> bool:
        """Whether a loop over it has a symbolic number of rounds."""
        return as_symbolic(iterable) is not None

    def listed(self, body: Body, iterable: Any, unpack: bool) -> Any:
        """A comprehension: a list of Python, or one of symbolic length."""
        items = as_symbolic(iterable)
        if items is None:
            return [body(*item) if unpack else body(item) for item in iterable]
        return listed(items, (lambda item: body(*item)) if unpack else body)

    def repeated(
        self,
        iterable: Any,
        body: Body,
        names: Sequence[str],
        targets: int,
        values: Sequence[Callable[[], Any]],
    ) -> tuple[Any, ...]:
        """A `for` loop of symbolic length: the values of its names afterwards."""
        items = as_symbolic(iterable)
        assert items is not None
        before = [
            _bound(name, value) for name, value in zip(names, values, strict=True)
        ]
        found = _Loop(self.tracing, items, body, list(names)).run(before)
        return (*found, *(Gone("the variable") for _ in range(targets)))


def _bound(name: str, value: Callable[[], Any]) -> Any:
    try:
        return value()
    except NameError:
        return Gone(name)


def _integer(variable: Variable) -> Integer:
    return Integer.atom(variable)


@dataclass(frozen=True)
class _Given:
    """What a round is given for a name, and, of an array, its opaque elements."""

    value: Any
    read: Read | None


class _Loop:
    """One loop of symbolic length."""

    def __init__(
        self, tracing: Tracing, items: Symbolic, body: Body, names: list[str]
    ) -> None:
        self.tracing, self.items, self.body, self.names = tracing, items, body, names
        self.variable = items.variable()
        self.item = items.item(_integer(self.variable))
        self.round = Round(tracing, self.variable, items.length)

    def run(self, before: list[Any]) -> list[Any]:
        """The values of the names after the loop; arrays and lists are changed."""
        starts, changes = self._settled(before)
        reachable = ReachableState.of([self.body, self.item])
        state = ReachableState.of([self.body, self.item, *before])
        given = [self._opened(s) for s in starts]
        olds = {id(s): (s.read, self._reopened(s)) for s in changes.arrays}
        for storage in changes.arrays:
            storage.update(olds[id(storage)][1])
        inner = ReachableState.of([self.body, self.item, *before])
        results = self._ran(before, given)
        found = inner.changed()
        if {id(s) for s in found.arrays} != {id(s) for s in changes.arrays}:
            raise Unknown("a loop over a symbolic size assigns to other arrays later")
        news = [(storage, storage.read) for storage in found.arrays]
        for start, opened, result in zip(starts, given, results, strict=True):
            self._hand_on(start, opened, result)
        elements = [(items, list(new)) for items, new in found.appended]
        inner.restore()
        state.restore()
        after = [
            self._after(name, start, opened, result, reachable)
            for name, start, opened, result in zip(
                self.names, starts, given, results, strict=True
            )
        ]
        for storage, new in news:
            begin, old = olds[id(storage)]
            storage.update(self._closed(begin, old, new))
        for items, new in elements:
            self._append(items, new)
        return [a() for a in after]

    def _ran(self, before: list[Any], given: list[_Given]) -> list[Any]:
        """What a round makes of what it is given, whichever way it goes."""
        values = [g.value for g in given]
        return every_way(
            self.tracing,
            lambda: self.body(self.item, *values),
            [self.body, self.item, *before, *values],
            lambda n: Gone(self.names[n]),
        )

    def _hand_on(self, start: Any, given: _Given, result: Any) -> None:
        """A name's recurrence, for what rounds keep of it (`out[:, h] = name`)."""
        if given.read is None or not isinstance(result, SymbolicArray | int | float):
            return
        array = lifted(self.tracing, result)
        if array.sizes == start.sizes:
            self.round.handed_on(start.now(), given.read, array.now())

    def _closed(self, begin: Read, old: Read, new: Read) -> Read:
        def read(indices: Indices) -> Value:
            made = begin(indices), old(indices), new(indices)
            return self.round.closed(*made, indices)

        return read

    def _settled(self, before: list[Any]) -> tuple[list[Any], Changes]:
        """Values as the second round meets them, by shape and type; what changes."""
        starts = [self._array(v) for v in before]
        for _ in range(4):
            state = ReachableState.of([self.body, self.item, *before])
            opened = [self._opened(s) for s in starts]
            results = self._ran(before, opened)
            changes = state.changed()
            state.restore()
            grown = [
                self._grown(name, s, r)
                for name, s, r in zip(self.names, starts, results, strict=True)
            ]
            if all(a is b for a, b in zip(grown, starts, strict=True)):
                return starts, changes
            starts = grown
        raise Unknown("an array in a loop over a symbolic size grows in each round")

    def _array(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        return lifted(self.tracing, value)

    def _grown(self, name: str, start: Any, result: Any) -> Any:
        """The start in the shape and type of what a round makes of it.

        Where it does not fit, no round can use it: the name is not bound before.
        """
        if not isinstance(start, SymbolicArray):
            return start
        if not isinstance(result, SymbolicArray | int | float):
            return Gone(name)
        array = lifted(self.tracing, result)
        if array.sizes == start.sizes and array.dtype == start.dtype:
            return start
        if array.ndim < start.ndim or any(
            mine.constant != 1 and mine != other
            for mine, other in zip(start.sizes[::-1], array.sizes[::-1], strict=False)
        ):
            return Gone(name)
        length = self.items.length
        some = self.tracing.world.compare(length, ">", 0)
        why = f"{length} > 0 (a loop changes the shape of an array)"
        self.tracing.need(some, why, shape=True)
        wide = np.result_type(array.dtype, start.dtype)
        return broadcast_to(converted(start, wide), array.shape).copy()

    def _opened(self, start: Any) -> _Given:
        """What a round is given: nothing is known of the elements."""
        if not isinstance(start, SymbolicArray):
            return _Given(start, None)
        read = self.round.opaque(start.kind)
        made = SymbolicArray(
            self.tracing, start.sizes, start.dtype, read, weak=start.weak
        )
        return _Given(made, read)

    def _reopened(self, storage: Storage) -> Read:
        """Opaque elements for an array that the body assigns to."""
        begin = storage.read
        by_kind = {k: self.round.opaque(k) for k in ("real", "integer", "truth")}
        return lambda indices: by_kind[begin(indices).kind](indices)

    def _after(
        self,
        name: str,
        start: Any,
        given: _Given,
        result: Any,
        reachable: ReachableState,
    ) -> Callable[[], Any]:
        """A name after the loop; called when all names are known."""
        if not isinstance(start, SymbolicArray) or given.read is None:
            if result is start:
                return lambda: start
            if isinstance(start, Gone):
                return lambda: Gone(name)
            raise Unknown(f"a loop over a symbolic size hands on {name}, no array")
        if not isinstance(result, SymbolicArray | int | float):
            return lambda: Gone(name)
        array = lifted(self.tracing, result)
        self.round.fixed_sizes(array)
        in_place = given.value.storage.version > 0
        if result is given.value and not in_place:
            return lambda: start
        closed = self._closed(start.now(), given.read, array.now())
        if not in_place:
            return lambda: SymbolicArray(
                self.tracing, array.sizes, array.dtype, closed, weak=array.weak
            )
        if result is not given.value or id(start.storage) in reachable.storages:
            raise Unknown("a loop over a symbolic size assigns to an array in two ways")

        def assigned() -> Any:
            start.assign(closed)
            return start

        return assigned

    def _append(self, items: list[Any], new: list[Any]) -> None:
        """What each round appends: of n elements, element q is one of round q // n."""
        if len(new) == 1 and isinstance(new[0], Repeated):
            inner = new[0]
            self._append_parts(items, [inner.array()], inner.length, inner.variable)
        elif any(isinstance(n, Repeated) for n in new):
            raise Unknown("a loop over a symbolic size fills a list in two ways")
        else:
            parts = [lifted(self.tracing, n) for n in new]
            self._append_parts(items, parts, Integer.of(len(parts)), None)

    def _append_parts(
        self,
        items: list[Any],
        parts: list[SymbolicArray],
        count: Integer,
        which: Variable | None,
    ) -> None:
        """So many in each round: each part, or the only one for all of a variable."""
        world, reads = self.tracing.world, [p.now() for p in parts]
        for part in parts:
            self.round.fixed_sizes(part)
        if any(p.sizes != parts[0].sizes for p in parts):
            raise Unknown("a round of a loop appends arrays of different shapes")
        if self.variable in count.variables() or self.round.mentions(count):
            raise Unknown("a round of a loop appends more than another one")
        variable, length = self.variable, self.items.length * count
        env: dict[Variable, Integer] = {}
        place = Integer.of(0)
        if count.constant != 1:
            variable = cast(Variable, world.fresh("h", 0, length).single)
            env[self.variable] = world.quotient(_integer(variable), count)
            place = world.remainder(_integer(variable), count)
        if which is not None:
            env[which] = place

        def one(at: int, indices: Indices) -> Value:
            return world.substitute(self.round.listed(reads[at](indices)), env)

        def element(indices: Indices) -> Value:
            found = one(len(parts) - 1, indices)
            for at in range(len(parts) - 1):
                here = world.compare(place, "==", at)
                then = partial(one, at, indices)
                found = chosen(world, here, then, lambda old=found: old)
            return found

        array = SymbolicArray(
            self.tracing,
            parts[0].sizes,
            np.result_type(*(p.dtype for p in parts)),
            element,
            weak=all(p.weak for p in parts),
        )
        items.append(Repeated(self.tracing, variable, length, array))
