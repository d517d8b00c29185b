"""Kernels of a program on a GPU: launches with everything but addresses resolved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from argus.calls import loaded_kernel
from argus.programs.kernel_requests import kernel_of, request_for_step
from argus.programs.plan import KernelStep
from argus.programs.tensor_program import ProgramValue
from argus.runtime.arguments import TensorArg
from argus.runtime.driver import cuda_driver, target_of
from argus.runtime.plan import LaunchPlan, PreparedLaunch

if TYPE_CHECKING:
    from torch import Tensor

_PLACES = 64
"""Addresses for which launches are kept."""


def device_target(device: int) -> str:
    """The target of a GPU. Raises what there being no driver raises."""
    return target_of(cuda_driver().info(device)).name


class LaunchSegment:
    """Launches that follow each other: prepared once for each place of their tensors.

    ``place`` gives the base of a value, and bytes from there to its first element;
    ``kind`` and ``device`` are those of the tensors. What is looked up in a call are
    the addresses of the bases that its kernels use.
    """

    def __init__(
        self,
        steps: Sequence[KernelStep],
        place: Callable[[ProgramValue], tuple[int, int]],
        kind: str,
        device: int,
    ) -> None:
        self._launches: dict[Any, tuple[PreparedLaunch, ...]] = {}
        self._plans: list[tuple[LaunchPlan, tuple[tuple[int, int], ...]]] = []
        target = device_target(device)
        for step in steps:
            request, _ = request_for_step(kernel_of(step), step, target)
            loaded = loaded_kernel(request)
            by_name = {t.name: t for t in step.source.tensors}
            tensors: list[TensorArg] = []
            places: list[tuple[int, int]] = []
            for name in (t.name for t in loaded.spec.tensors):
                t = by_name[name]
                base, offset = place(t.buffer)
                offset += t.start * t.buffer.dtype.bytes
                shape = step.shape(t)
                where = (kind, device)
                tensors.append(
                    TensorArg(offset, t.buffer.dtype.name, shape, t.all_strides, where)
                )
                places.append((base, offset))
            self._plans.append((loaded.plan(tensors, ()), tuple(places)))
        used = sorted({base for _, places in self._plans for base, _ in places})
        self._key = itemgetter(*used)

    def __call__(self, memory: Sequence[Tensor], pointers: Sequence[int]) -> None:
        """Launch all of them on the current stream."""
        key = self._key(pointers)
        launches = self._launches.get(key)
        if launches is None:
            launches = self._prepared(key, pointers)
        stream = launches[0].current_stream()
        for launch in launches:
            launch(stream)

    def _prepared(
        self, key: Any, pointers: Sequence[int]
    ) -> tuple[PreparedLaunch, ...]:
        made = tuple(
            plan.prepare([pointers[base] + offset for base, offset in places], ())
            for plan, places in self._plans
        )
        if len(self._launches) >= _PLACES:
            self._launches.clear()
        self._launches[key] = made
        return made
