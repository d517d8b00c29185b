"""Launches in order whose tensors may move from call to call.

    launches = MovableLaunches(steps, addresses)     # checks and prepares all of them
    launches(addresses)                              # writes what has moved, launches

A tensor lies at an offset from a base, whose address a call brings. Everything else
is fixed, so that a move writes addresses into the parameters that are packed already,
all of them at once, and a tensor map only where its own base has moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, c_void_p, create_string_buffer
from dataclasses import dataclass
from threading import Lock

import numpy as np

from argus.runtime.driver import Launch
from argus.runtime.packing import PARAMETER_ALIGNMENT, Parameters
from argus.runtime.plan import LaunchPlan, MapsOfTensor, PreparedLaunch


@dataclass(frozen=True, slots=True)
class MovableStep:
    """One launch: where its tensors are, in the order of its spec, and its scalars.

    A place is the number of a base, and bytes from there to the first element.
    """

    plan: LaunchPlan
    places: tuple[tuple[int, int], ...]
    scalars: tuple[object, ...] = ()

    def prepared(self, bases: Sequence[int]) -> PreparedLaunch:
        """The launch with bases at these addresses. Raises what preparing it raises."""
        addresses = [bases[b] + offset for b, offset in self.places]
        return self.plan.prepare(addresses, self.scalars)


class MovableLaunches:
    """See the module. Safe to use from several threads, which take turns.

    Two tensors of a launch are compared for shared memory at the first addresses
    alone: whoever moves a base keeps it apart from the others.

    Raises what preparing the launches raises.
    """

    def __init__(self, steps: Sequence[MovableStep], bases: Sequence[int]) -> None:
        first = [step.prepared(bases) for step in steps]
        self._current_stream = first[0].current_stream
        run = [
            (step, launch, packed)
            for step, ready in zip(steps, first, strict=True)
            for launch, packed in ready.resolved
        ]
        sizes = [packed.size for _, _, packed in run]
        ends = np.cumsum([-(-n // PARAMETER_ALIGNMENT) for n in sizes], dtype=np.int64)
        room = int(ends[-1]) * PARAMETER_ALIGNMENT if run else 0
        memory = create_string_buffer(room + PARAMETER_ALIGNMENT)
        start = -addressof(memory) % PARAMETER_ALIGNMENT
        self._bytes = memoryview(memory).cast("B")[start : start + room]
        self._words = np.frombuffer(self._bytes, np.uint64)
        self._calls: list[tuple[Launch, c_void_p]] = []
        self._packed: list[Parameters] = []
        self._steps = [step for step, _, _ in run]
        self._maps: dict[int, list[tuple[MapsOfTensor, int, int]]] = {}
        words: list[tuple[int, int, int]] = []
        masks: list[tuple[int, int, int]] = []
        begins = [0, *(ends * PARAMETER_ALIGNMENT).tolist()]
        for (step, launch, packed), begin in zip(run, begins, strict=False):
            moved = packed.moved_to(addressof(memory) + start + begin)
            self._packed.append(moved)
            self._calls.append((launch, moved.address))
            for at, index in step.plan.pointer_slots:
                words.append(((begin + at) // 8, *step.places[index]))
            for at, maps in step.plan.map_slots:
                base, offset = step.places[maps.index]
                self._maps.setdefault(base, []).append((maps, offset, begin + at))
            for index, size in step.plan.alignments:
                masks.append((size - 1, *step.places[index]))
        self._slots, self._bases, self._offsets = _columns(words)
        self._masks, self._mask_bases, self._mask_offsets = _columns(masks)
        self._at: tuple[int, ...] | None = tuple(bases)
        self._lock = Lock()

    def __call__(self, bases: tuple[int, ...]) -> None:
        """Launch all of them on the current stream, with bases at these addresses.

        Raises ArgusError AG0806 for an address that is not aligned, and what launching
        raises.
        """
        with self._lock:
            if bases != self._at:
                self._move(bases)
            stream = self._current_stream()
            for launch, parameters in self._calls:
                launch(stream, parameters)

    def _move(self, bases: tuple[int, ...]) -> None:
        now = np.array(bases, np.uint64)
        places = now[self._mask_bases] + self._mask_offsets
        if (places & self._masks).any():
            for step in self._steps:
                step.prepared(bases)
        was, self._at = self._at, None  # not known, should a tensor map be refused
        self._words[self._slots] = now[self._bases] + self._offsets
        for base, maps in self._maps.items():
            if was is None or bases[base] != was[base]:
                for made, offset, at in maps:
                    encoded = made.at(bases[base] + offset)
                    self._bytes[at : at + len(encoded)] = encoded
        self._at = bases


def _columns(
    rows: Sequence[tuple[int, int, int]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, bases, and offsets, which are added to addresses."""
    table = np.array(rows, np.int64).reshape(-1, 3)
    return table[:, 0].astype(np.uint64), table[:, 1], table[:, 2].astype(np.uint64)
