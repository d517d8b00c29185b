"""Calls that were made before, found by what their arguments are like.

    recall = Recall(make)
    recall((), (A, B, C, alpha))()      # launches

A call is looked up by everything that it depends on: its options; the types of its
values; address, shape, strides, element type and device of each tensor; each number.
One that was not made before is looked up by the same without addresses and numbers; the
`LaunchPlan` that is found there checks those. Without one, ``make`` is asked for it.

What is found was checked when it was made, and what is different is not found. Nothing
keeps a tensor alive, and the number of calls and plans that are kept is bounded.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Generic, Protocol, TypeVar, cast

from argus.runtime.arguments import is_torch
from argus.runtime.call_keys import FIELDS, MakeKey, key_of

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

WAYS = 64
"""Tuples of types that calls are remembered of."""
CALLS = 4096
"""Calls of each that are remembered: a model's, with the addresses that memory is
reused at."""
PLANS = 1024
"""Plans that are remembered."""
_CLASS = 16
"""Addresses are alike that leave the same remainder: no choice looks at more."""


class CallPlan(Protocol[R_co]):
    """A call apart from addresses and scalars: a `LaunchPlan`, or several in order."""

    def prepare(self, pointers: Sequence[int], scalars: Sequence[object]) -> R_co:
        """The call with these; raises ArgusError where they do not fit."""
        ...

    def following(self) -> CallPlan[R_co]:
        """The same behind another call on the stream: it may overlap with its end."""
        ...


@dataclass(frozen=True)
class PlannedLaunch(Generic[R_co]):
    """A plan, and where its tensors and scalars are among the values of a call.

    ``pointers`` are the addresses in the call that it was made for.
    """

    plan: CallPlan[R_co]
    tensors: tuple[int, ...]
    scalars: tuple[int, ...]
    pointers: tuple[int, ...]


Make = Callable[[Hashable, Sequence[object], int], PlannedLaunch[R]]
"""Plans a call with these options and values; the number is the stream's handle."""


class Recall(Generic[R]):
    """The calls of one kernel or function. Safe to use from several threads.

    ``make`` may look at what plans are looked up by: options; which values are given;
    types of numbers; and of tensors all but their addresses, of which it may look at
    the remainder by 16.
    """

    def __init__(self, make: Make[R]) -> None:
        self._make = make
        self._ways: dict[tuple[type, ...], _Way[R]] = {}
        self._plans: OrderedDict[tuple[object, ...], PlannedLaunch[R]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(
        self, options: Hashable, values: Sequence[object], stream: int = 0
    ) -> R:
        """The call, ready to be launched.

        ``values`` are tensors, numbers, and None for what is not given; ``stream`` is
        what producers other than torch are told. Raises what making a plan raises, and
        `LaunchPlan.prepare`.
        """
        way = self._ways.get((*map(type, values),)) or self._way(values)
        if way is None:
            return self._new(options, values, stream)
        try:
            key = way.key(options, values)
            ready = way.calls.get(key)
        except (RuntimeError, TypeError):
            # A tensor without memory or strides, an option that has no hash: `make`
            # has a name for the first, and may take the second.
            return self._new(options, values, stream)
        if ready is not None:
            return ready
        return self._again(way, key, options, values, stream)

    def _way(self, values: Sequence[object]) -> _Way[R] | None:
        """Calls with values of these types; None where they have no keys."""
        kinds = (*map(type, values),)
        tensors = tuple(map(is_torch, values))
        make_key = key_of(kinds, tensors)
        if make_key is None:
            return None
        with self._lock:
            if len(self._ways) >= WAYS:
                self._ways.pop(next(iter(self._ways)))
            return self._ways.setdefault(kinds, _Way(kinds, tensors, make_key))

    def _again(
        self,
        way: _Way[R],
        key: tuple[object, ...],
        options: Hashable,
        values: Sequence[object],
        stream: int,
    ) -> R:
        """A call of torch tensors and numbers that was not made before."""
        like, addresses = way.likeness(key)
        planned = self._plans.get(like)
        if planned is None:
            planned = self._make(options, values, stream)
            self._keep(self._plans, PLANS, like, planned)
        pointers = [addresses[i] for i in planned.tensors]
        ready = planned.plan.prepare(pointers, [values[i] for i in planned.scalars])
        if 0 not in pointers:
            self._keep(way.calls, CALLS, key, ready)
        return ready

    def _new(self, options: Hashable, values: Sequence[object], stream: int) -> R:
        """A call that is not remembered."""
        planned = self._make(options, values, stream)
        scalars = [values[i] for i in planned.scalars]
        return planned.plan.prepare(planned.pointers, scalars)

    def _keep(self, among: OrderedDict[K, V], limit: int, key: K, value: V) -> None:
        with self._lock:
            if len(among) >= limit:
                among.popitem(last=False)
            among[key] = value


class _Way(Generic[R]):
    """Calls with values of the same types; ``tensors``: which are torch's."""

    def __init__(
        self, kinds: tuple[type, ...], tensors: tuple[bool, ...], key: MakeKey
    ) -> None:
        self.key = key
        self.calls: OrderedDict[tuple[object, ...], R] = OrderedDict()
        self._kinds = kinds
        self._tensors = tensors

    def likeness(self, key: tuple[object, ...]) -> tuple[tuple[object, ...], list[int]]:
        """What a plan depends on, of the key of a call; and addresses, by value."""
        parts = [self._kinds, *key]
        addresses: list[int] = []
        at = 2
        for kind, tensor in zip(self._kinds, self._tensors, strict=True):
            address = 0
            if tensor:
                address = cast("int", parts[at])
                parts[at] = address % _CLASS
                at += FIELDS
            elif kind is not NoneType:
                parts[at] = None
                at += 1
            addresses.append(address)
        return tuple(parts), addresses
