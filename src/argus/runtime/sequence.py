"""Launches that follow each other on a stream, with memory of their own between them.

    plan = SequencePlan(steps, size, device)
    ready = plan.prepare(addresses, scalars)  # looks at these, and at nothing else
    ready()                                   # allocates the workspace, and launches

The workspace is asked of torch's caching allocator in each call, for the current
stream, and given back as soon as everything is launched: what the allocator hands out
next on that stream runs later. In a CUDA graph it belongs to the graph. So calls from
several threads, and on several streams, do not meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from argus.diagnostics import fail
from argus.runtime.recall import CallPlan

WORKSPACE = -1
"""The base of what lies in the workspace."""
_PLACES = 64
"""Addresses of the workspace for which launches are remembered."""


class Workspace(Protocol):
    """Memory of a call: a storage or tensor of torch."""

    def data_ptr(self) -> int:
        """Its address."""
        ...


class ReadyCall(Protocol):
    """A launch, or a call that is interpreted, with everything resolved."""

    def __call__(self, stream: Any = None) -> None:
        """Do it, on this stream."""
        ...

    def current_stream(self) -> Any:
        """The stream that all of a sequence are launched on."""
        ...


@dataclass(frozen=True, slots=True)
class OperandPlace:
    """Where a tensor of a launch begins: ``offset`` bytes after its base.

    ``base`` is the number of a tensor of the call, or :data:`WORKSPACE`.
    """

    base: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class ScalarPlace:
    """Scalar ``number`` of the call."""

    number: int


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One launch: where its tensors are, and its scalars, in the order of its spec.

    A scalar is its value, or a :class:`ScalarPlace`.
    """

    plan: CallPlan[ReadyCall]
    tensors: tuple[OperandPlace, ...]
    scalars: tuple[object, ...]

    def at(
        self, pointers: Sequence[int], scalars: Sequence[object], workspace: int
    ) -> ReadyCall:
        """The launch with tensors and scalars of the call, and a workspace."""
        found = [
            (workspace if p.base == WORKSPACE else pointers[p.base]) + p.offset
            for p in self.tensors
        ]
        given = [
            scalars[s.number] if isinstance(s, ScalarPlace) else s for s in self.scalars
        ]
        return self.plan.prepare(found, given)


class SequencePlan:
    """Calls with tensors like these. Safe to use from several threads.

    ``size`` is the workspace's in bytes, ``device`` the number of the GPU; None: the
    steps are interpreted, and the workspace is in the memory of the host.
    """

    def __init__(
        self,
        steps: Sequence[PlannedStep],
        size: int,
        device: int | None,
        allocate: Callable[[], Workspace] | None = None,
    ) -> None:
        self._steps = (*steps[:1], *map(_behind, steps[1:]))
        self._allocate = allocate
        if size and allocate is None:
            self._allocate = allocator(size, device)

    def prepare(
        self, pointers: Sequence[int], scalars: Sequence[object]
    ) -> PreparedSequence:
        """The call with these addresses and scalars. Raises what its launches raise."""
        given = tuple(scalars)
        return PreparedSequence(self._steps, tuple(pointers), given, self._allocate)

    def following(self) -> SequencePlan:
        """The same calls behind another, which the first launch may overlap with."""
        found = copy(self)
        found._steps = tuple(map(_behind, self._steps))
        return found


def _behind(step: PlannedStep) -> PlannedStep:
    return replace(step, plan=step.plan.following())


class PreparedSequence:
    """A call of which only the workspace is open: call it as often as wanted."""

    __slots__ = ("_allocate", "_places", "_pointers", "_scalars", "_steps")

    def __init__(
        self,
        steps: tuple[PlannedStep, ...],
        pointers: tuple[int, ...],
        scalars: tuple[object, ...],
        allocate: Callable[[], Workspace] | None,
    ) -> None:
        self._steps = steps
        self._pointers = pointers
        self._scalars = scalars
        self._allocate = allocate
        self._places: dict[int, tuple[ReadyCall, ...]] = {}
        if allocate is None:
            self._at(0)

    def __call__(self) -> None:
        """Launch on the current stream. Raises what its launches raise."""
        if self._allocate is None:
            place = 0
        else:
            memory = self._allocate()
            place = memory.data_ptr()
        launches = self._places.get(place) or self._at(place)
        stream = launches[0].current_stream()
        for launch in launches:
            launch(stream)

    def _at(self, place: int) -> tuple[ReadyCall, ...]:
        given = (self._pointers, self._scalars, place)
        made = tuple(step.at(*given) for step in self._steps)
        if len(self._places) >= _PLACES:
            self._places.clear()
        self._places[place] = made
        return made


def allocator(size: int, device: int | None) -> Callable[[], Workspace]:
    """Memory of ``size`` bytes on a GPU, from torch, on its current stream.

    Without a device, memory of the host.

    Raises ArgusError AG0906 without torch.
    """
    try:
        import torch
    except ImportError as error:
        raise fail(
            "AG0906",
            None,
            "a call of several launches takes its workspace from torch, which is not "
            "installed",
            help="pip install 'argus-gpu[torch]'",
        ) from error
    # A storage without a tensor around it, which takes a third of the time.
    place = torch.device("cpu") if device is None else torch.device("cuda", device)
    return partial(torch.UntypedStorage, size, device=place)


__all__ = [
    "WORKSPACE",
    "OperandPlace",
    "PlannedStep",
    "PreparedSequence",
    "ReadyCall",
    "ScalarPlace",
    "SequencePlan",
    "Workspace",
    "allocator",
]
