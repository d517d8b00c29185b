"""Values that depend on weights alone: computed once, and again when a weight changed.

Which they are is seen in the plan (`constant_steps.py`). They have memory of their own,
which outlives a call. What a weight holds is known by its address and by the counter of
changes in place that torch keeps for it (an optimizer's step, `load_state_dict`); a
tensor without one (of inference mode) is taken as changed in each call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from argus.programs.running.given import addresses

if TYPE_CHECKING:
    from torch import Tensor

_VERSION = attrgetter("_version")

Launch = Callable[[Sequence["Tensor"], Sequence[int]], None]


class KeptValues:
    """The memory of such values, and when they are computed.

    ``launch`` computes all of them, given tensors by the number of their base and
    their addresses. ``make`` makes the memory of each. ``read``: which of the tensors
    that a call is given they depend on. Safe to use from several threads and streams.
    """

    def __init__(
        self,
        launch: Launch,
        make: Sequence[Callable[[], Tensor]],
        read: Sequence[int],
    ) -> None:
        self._launch, self._make = launch, make
        # A tuple of one, too, and of none: what depends on nothing is computed once.
        nothing: Any = itemgetter(slice(0))
        self._read: Any = itemgetter(*read, *read[-1:]) if read else nothing
        self._tensors: list[Tensor] = []
        self._pointers: list[int] = []
        self._known: tuple[tuple[int, ...], list[int]] | None = None
        self._event: Any = None
        self._stream: Any = None
        self._lock = threading.Lock()

    def hold(self, given: Sequence[Tensor], places: Sequence[int]) -> bool:
        """Whether they are computed, for what is given.

        Then the current stream waits for them. ``places``: addresses of what is given.
        """
        with self._lock:
            return self._hold(self._key(given, places))

    def fill(
        self,
        given: Sequence[Tensor],
        places: Sequence[int],
        memory: list[Any],
        pointers: list[int],
    ) -> None:
        """Add the tensors of the values to a call's, computed for what is given.

        ``places``: the addresses of what is given; ``memory`` and ``pointers`` may have
        copies at others.
        """
        with self._lock:
            if not self._tensors:
                self._tensors = [make() for make in self._make]
                self._pointers = addresses(self._tensors)
            memory += self._tensors
            pointers += self._pointers
            key = self._key(given, places)
            if self._hold(key):
                return
            self._launch(memory, pointers)
            stream, capturing = _current(self._tensors[0])
            # What a graph records is computed by its replays, not now.
            self._known = None if capturing else key
            self._stream, self._event = stream, None
            if stream is not None and not capturing:
                self._event = stream.record_event()

    def _hold(self, key: tuple[tuple[int, ...], list[int]] | None) -> bool:
        if key is None or key != self._known:
            return False
        if self._event is not None:
            stream, capturing = _current(self._tensors[0])
            if stream != self._stream and not capturing:
                stream.wait_event(self._event)
        return True

    def _key(
        self, given: Sequence[Tensor], places: Sequence[int]
    ) -> tuple[tuple[int, ...], list[int]] | None:
        try:
            return self._read(places), [*map(_VERSION, self._read(given))]
        except RuntimeError:  # one of inference mode has no counter
            return None


def _current(tensor: Tensor) -> tuple[Any, bool]:
    """The current stream of a tensor's device, and whether it records a graph."""
    if not tensor.is_cuda:
        return None, False
    import torch

    stream = torch.cuda.current_stream(tensor.device)
    return stream, torch.cuda.is_current_stream_capturing()
