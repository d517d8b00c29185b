"""Kernels of a program on a GPU: launches with everything but addresses resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from argus.calls import loaded_kernel
from argus.diagnostics import ArgusError
from argus.programs.lowering.naming import KernelTensor
from argus.programs.planning.kernel_requests import built_request
from argus.programs.planning.plan import KernelStep, RepeatedStep
from argus.programs.tensors.tensor_program import ProgramValue
from argus.requests import Request
from argus.runtime.arguments import TensorArg
from argus.runtime.driver import cuda_driver, target_of
from argus.runtime.moving import MovableLaunches, MovableStep
from argus.runtime.plan import LaunchPlan

if TYPE_CHECKING:
    from torch import Tensor

    from argus.runtime.launch import LoadedKernel


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


@dataclass(frozen=True)
class _Alike:
    """What steps of a segment share."""

    loaded: dict[object, LoadedKernel] = field(default_factory=dict[object, Any])
    """By kernel file, types, facts and values."""
    plans: dict[object, tuple[LaunchPlan, tuple[str, ...]]] = field(
        default_factory=dict[object, Any]
    )
    """By these and the shapes and strides of tensors, wherever they are; with the names
    of tensors in the order of the launch."""


class LaunchSegment:
    """Launches that follow each other, prepared in the first call.

    ``place`` gives the base of a value, and bytes from there to its first element;
    ``kind`` and ``device`` are those of the tensors; ``open_sizes``: see
    `built_request`. A call brings the addresses of the
    bases; what kernels write is in memory that a call allocates, apart from all else.
    """

    def __init__(
        self,
        steps: Sequence[LaunchStep],
        place: Callable[[ProgramValue], tuple[int, int]],
        kind: str,
        device: int,
        *,
        open_sizes: bool = False,
    ) -> None:
        self._open_sizes = open_sizes
        self._launches: MovableLaunches | None = None
        self._where = (kind, device)
        self._target = device_target(device)
        made: dict[int, tuple[LaunchPlan, list[KernelTensor]]] = {}
        alike = _Alike()
        planned: list[tuple[LaunchPlan, list[tuple[int, int]]]] = []
        for step, time in in_order(steps):
            if id(step) not in made:
                made[id(step)] = self._planned(step, alike)
            plan, tensors = made[id(step)]
            places: list[tuple[int, int]] = []
            for t in tensors:
                base, offset = place(t.buffer)
                places.append((base, offset + t.begin(time) * t.buffer.dtype.bytes))
            planned.append((plan, places))
        used = sorted({base for _, places in planned for base, _ in places})
        number = {base: n for n, base in enumerate(used)}
        self._used = used
        behind = {id(plan): plan.following() for plan, _ in planned[1:]}
        self._steps = [
            MovableStep(
                behind[id(plan)] if n else plan,
                tuple((number[base], offset) for base, offset in places),
            )
            for n, (plan, places) in enumerate(planned)
        ]

    def _planned(
        self, step: KernelStep, alike: _Alike
    ) -> tuple[LaunchPlan, list[KernelTensor]]:
        """The launch of a step but for addresses, and the tensors of its kernel."""
        by_name = {t.name: t for t in step.source.tensors}
        request = built_request(step, self._target, open_sizes=self._open_sizes)
        laid = tuple(
            (n, t.buffer.dtype.name, step.shape(t), t.all_strides)
            for n, t in by_name.items()
        )
        types = tuple((n, t.buffer.dtype.name) for n, t in by_name.items())
        built = (
            step.source.name,
            step.source.text,
            types,
            tuple(request.facts.items()),
            tuple(request.values.items()),
        )
        key = (built, laid)
        if key not in alike.plans:
            if built not in alike.loaded:
                alike.loaded[built] = self._loaded(step, request)
            loaded = alike.loaded[built]
            names = tuple(t.name for t in loaded.spec.tensors)
            found = {
                n: TensorArg(0, dtype, shape, strides, self._where)
                for n, dtype, shape, strides in laid
            }
            alike.plans[key] = loaded.plan([found[n] for n in names], ()), names
        plan, names = alike.plans[key]
        return plan, [by_name[n] for n in names]

    def _loaded(self, step: KernelStep, request: Request) -> LoadedKernel:
        """The kernel of a step. Raises what `loaded_kernel` raises."""
        try:
            return loaded_kernel(request)
        except ArgusError as refused:
            from argus.programs.planning.proofs import is_contradicted

            if not is_contradicted(step, refused, self._target):
                raise
        return loaded_kernel(request, checking=False)

    def __call__(self, memory: Sequence[Tensor], pointers: Sequence[int]) -> None:
        """Launch all of them on the current stream."""
        bases = tuple([pointers[base] for base in self._used])
        if self._launches is None:
            self._launches = MovableLaunches(self._steps, bases)
        self._launches(bases)
