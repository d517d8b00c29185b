"""Kernels of a program on a GPU: launches with everything but addresses resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from argus.calls import loaded_kernel
from argus.programs.kernel_requests import kernel_of, request_for_step
from argus.programs.naming import KernelTensor
from argus.programs.plan import KernelStep, RepeatedStep
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


LaunchStep = KernelStep | RepeatedStep
"""What is launched."""


def in_order(steps: Iterable[LaunchStep]) -> Iterator[tuple[KernelStep, int]]:
    """Each launch, with how often its step was repeated before."""
    for step in steps:
        if isinstance(step, KernelStep):
            yield step, 0
        else:
            for time in range(step.times):
                yield from ((own, time) for own in step.body)


class LaunchSegment:
    """Launches that follow each other: prepared once for each place of their tensors.

    ``place`` gives the base of a value, and bytes from there to its first element;
    ``kind`` and ``device`` are those of the tensors. What is looked up in a call are
    the addresses of the bases that its kernels use.
    """

    def __init__(
        self,
        steps: Sequence[LaunchStep],
        place: Callable[[ProgramValue], tuple[int, int]],
        kind: str,
        device: int,
    ) -> None:
        self._launches: dict[Any, tuple[PreparedLaunch, ...]] = {}
        self._plans: list[tuple[LaunchPlan, tuple[tuple[int, int], ...]]] = []
        self._where = (kind, device)
        self._target = device_target(device)
        made: dict[int, tuple[LaunchPlan, list[KernelTensor]]] = {}
        alike: dict[object, tuple[LaunchPlan, tuple[str, ...]]] = {}
        for step, time in in_order(steps):
            if id(step) not in made:
                made[id(step)] = self._planned(step, alike)
            plan, tensors = made[id(step)]
            places: list[tuple[int, int]] = []
            for t in tensors:
                base, offset = place(t.buffer)
                places.append((base, offset + t.begin(time) * t.buffer.dtype.bytes))
            self._plans.append((plan, tuple(places)))
        self._each: list[dict[tuple[int, ...], PreparedLaunch]] = [
            {} for _ in self._plans
        ]
        used = sorted({base for _, places in self._plans for base, _ in places})
        self._key = itemgetter(*used)

    def _planned(
        self,
        step: KernelStep,
        alike: dict[object, tuple[LaunchPlan, tuple[str, ...]]],
    ) -> tuple[LaunchPlan, list[KernelTensor]]:
        """The launch of a step but for addresses, and the tensors of its kernel.

        Steps that differ in the places of their tensors alone share it: ``alike``.
        """
        by_name = {t.name: t for t in step.source.tensors}
        request, _ = request_for_step(kernel_of(step), step, self._target)
        laid = tuple(
            (n, t.buffer.dtype.name, step.shape(t), t.all_strides)
            for n, t in by_name.items()
        )
        key = (step.source.name, step.source.text, tuple(request.facts.items()), laid)
        if key not in alike:
            loaded = loaded_kernel(request)
            names = tuple(t.name for t in loaded.spec.tensors)
            found = {
                n: TensorArg(0, dtype, shape, strides, self._where)
                for n, dtype, shape, strides in laid
            }
            alike[key] = loaded.plan([found[n] for n in names], ()), names
        plan, names = alike[key]
        return plan, [by_name[n] for n in names]

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
            self._one(i, tuple(pointers[base] + offset for base, offset in places))
            for i, (_, places) in enumerate(self._plans)
        )
        if len(self._launches) >= _PLACES:
            self._launches.clear()
        self._launches[key] = made
        return made

    def _one(self, number: int, at: tuple[int, ...]) -> PreparedLaunch:
        """A launch at these addresses: others may have moved, and it has not."""
        known = self._each[number]
        found = known.get(at)
        if found is None:
            found = self._plans[number][0].prepare(at, ())
            if len(known) >= _PLACES:
                known.clear()
            known[at] = found
        return found
