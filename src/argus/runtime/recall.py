"""Calls that were made before, found by what their arguments are like.

    recall = Recall(make)
    recall((), (A, B, C, alpha))()      # launches

A call is looked up by everything that it depends on: its options; address, shape,
strides, element type and device of each tensor; type and value of each number. One that
was not made before is looked up by the same without addresses and values, and the
`LaunchPlan` that is found there checks those. Without one, ``make`` is asked for it.

What is found was checked when it was made, and what is different is not found. Nothing
keeps a tensor alive, and the number of calls and plans that are kept is bounded.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

from argus.runtime.arguments import is_torch, torch_types

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

CALLS = 4096
"""Calls that are remembered: a model's, with the addresses that memory is reused at."""
PLANS = 1024
"""Plans that are remembered."""
_CLASS = 16
"""Addresses are alike that leave the same remainder: no choice looks at more."""
_FIELDS = 5
"""Parts of a key that a tensor makes; a number makes two, None one."""


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
        self._calls: OrderedDict[tuple[object, ...], R] = OrderedDict()
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
        # Written out, since a launch waits for it: a helper would double its time.
        parts: list[object] = [options]
        kinds = torch_types
        key: tuple[object, ...] | None = None
        ready: R | None = None
        try:
            for value in values:
                kind = type(value)
                if kinds.get(kind):
                    tensor: Any = value  # a `TorchTensor`; `cast` is a call
                    parts += (
                        tensor.data_ptr(),
                        tensor.shape,
                        tensor.stride(),
                        tensor.dtype,
                        tensor.device,
                    )
                elif value is None:
                    parts.append(None)
                elif kind is float or kind is int:
                    # By its bits where equal numbers differ (-0.0), or one from itself.
                    same = value == value and (value or kind is int)
                    parts += (kind, value if same else cast("float", value).hex())
                elif is_torch(value):  # a type seen for the first time
                    return self(options, values, stream)
                else:
                    return self._new(options, values, stream)
            key = tuple(parts)
            ready = self._calls.get(key)
        except (RuntimeError, TypeError):
            # A tensor without memory or strides, an option that has no hash: `make`
            # has a name for the first, and may take the second.
            key = None
        if ready is not None:
            return ready
        if key is None:
            return self._new(options, values, stream)
        return self._again(key, options, values, stream)

    def _again(
        self,
        key: tuple[object, ...],
        options: Hashable,
        values: Sequence[object],
        stream: int,
    ) -> R:
        """A call of torch tensors and numbers that was not made before."""
        like, addresses = _likeness(key, values)
        planned = self._plans.get(like)
        if planned is None:
            planned = self._make(options, values, stream)
            self._keep(self._plans, PLANS, like, planned)
        pointers = [addresses[i] for i in planned.tensors]
        ready = planned.plan.prepare(pointers, [values[i] for i in planned.scalars])
        if 0 not in pointers:
            self._keep(self._calls, CALLS, key, ready)
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


def _likeness(
    key: tuple[object, ...], values: Sequence[object]
) -> tuple[tuple[object, ...], list[int]]:
    """What a plan depends on, of the key of a call; and addresses, by value."""
    parts = [*key]
    addresses: list[int] = []
    at = 1
    for value in values:
        address = 0
        if value is None:
            at += 1
        elif type(value) in (int, float):
            parts[at + 1] = None
            at += 2
        else:
            address = cast("int", key[at])
            parts[at] = address % _CLASS
            at += _FIELDS
        addresses.append(address)
    return tuple(parts), addresses
