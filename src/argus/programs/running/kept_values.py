"""Values that depend on weights alone: computed once, and again when a weight changed.

Which they are is seen in the plan (`constant_steps`): kernels that read nothing but
weights, constants and what such kernels wrote. Their values have memory of their own,
which outlives a call. What a weight holds is known by its address and by the counter of
changes in place that torch keeps for it (an optimizer's step, `load_state_dict`); a
tensor without one (of inference mode) is taken as changed in each call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from argus.programs.planning.plan import KernelStep, ProgramPlan
from argus.programs.planning.value_parts import parts_of
from argus.programs.tensors.tensor_program import GivenPrimitive, ViewedValue

if TYPE_CHECKING:
    from torch import Tensor

Launch = Callable[[Sequence["Tensor"], Sequence[int]], None]


def constant_steps(plan: ProgramPlan) -> tuple[KernelStep, ...]:
    """Kernels whose results depend on weights alone, and are no results of the plan."""
    program = plan.program
    known = {
        v
        for v in program.values
        if isinstance(v.made, GivenPrimitive) and v.made.kind != "input"
    }
    results = {r.value for r in program.results if isinstance(r, ViewedValue)}
    found: list[KernelStep] = []
    for step in plan.steps:
        if not isinstance(step, KernelStep):
            continue
        written = set(step.written)
        whole = not any(map(parts_of, written))  # and not a part of what is joined
        if set(step.read) <= known and whole and not written & results:
            known |= written
            found.append(step)
    return tuple(found)


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
        self._launch, self._make, self._read = launch, make, read
        self._tensors: list[Tensor] = []
        self._known: tuple[tuple[int, int], ...] | None = None
        self._event: Any = None
        self._stream: Any = None
        self._lock = threading.Lock()

    def fill(
        self, given: Sequence[Tensor], memory: list[Any], pointers: list[int]
    ) -> None:
        """Add the tensors of the values to a call's, computed for what is given."""
        with self._lock:
            if not self._tensors:
                self._tensors = [make() for make in self._make]
            memory += self._tensors
            pointers += [t.data_ptr() for t in self._tensors]
            stream, capturing = _current(self._tensors[0])
            key = self._key(given)
            if key is None or key != self._known:
                self._launch(memory, pointers)
                # What a graph records is computed by its replays, not now.
                self._known = None if capturing else key
                self._stream, self._event = stream, None
                if stream is not None and not capturing:
                    self._event = stream.record_event()
            elif self._event is not None and stream != self._stream and not capturing:
                stream.wait_event(self._event)

    def _key(self, given: Sequence[Tensor]) -> tuple[tuple[int, int], ...] | None:
        tensors = [given[i] for i in self._read]
        if any(t.is_inference() for t in tensors):
            return None
        return tuple((t.data_ptr(), t._version) for t in tensors)


def _current(tensor: Tensor) -> tuple[Any, bool]:
    """The current stream of a tensor's device, and whether it records a graph."""
    if not tensor.is_cuda:
        return None, False
    import torch

    stream = torch.cuda.current_stream(tensor.device)
    return stream, torch.cuda.is_current_stream_capturing()
