"""Running a plan: its launches and calls of torch in order, on tensors.

    call = ProgramCall(plan)           # on a GPU: prepared launches
    results = call(tensors)            # in the order of `TensorProgram.results`

    run_plan(plan, inputs, weights, in_interpreter)     # without a GPU

A call allocates its results and one workspace (`memory.py`), and nothing else; what
depends on weights alone is computed when they have changed (`kept_values.py`). What
stays in torch is called there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from argus.diagnostics import fail
from argus.ir.program import Program
from argus.programs.lowering.naming import KernelTensor
from argus.programs.planning.building import as_line
from argus.programs.planning.kernel_requests import (
    kernel_of,
    request_for_step,
    unused_strides,
)
from argus.programs.planning.plan import (
    KernelStep,
    PlanStep,
    ProgramPlan,
    TorchStep,
)
from argus.programs.running.bases import PlannedMemory, StoredValues, torch_type
from argus.programs.running.given import (
    GivenTensors,
    addresses,
    of_pairs,
    told_so,
)
from argus.programs.running.in_torch import (
    ProgramBuffers,
    Strides,
    computed_in_torch,
    strides_of,
)
from argus.programs.running.kept_values import KeptValues
from argus.programs.running.launches import LaunchSegment, LaunchStep, in_order
from argus.programs.running.memory import extent_of
from argus.programs.running.prepared_calls import prepared_call
from argus.programs.tensors.tensor_program import (
    GivenPrimitive,
    ProgramValue,
    ShownMemory,
    TensorProgram,
    ViewedValue,
    stored_type,
)
from argus.requests import placed_program

if TYPE_CHECKING:
    from torch import Tensor

KernelRunner = Callable[[KernelStep, dict[str, "Tensor"]], None]
"""Launches a step's kernel for tensors by the names of its parameters."""

ALIGNMENT = 16
"""Bytes that kernels expect the address of a tensor to be a multiple of."""


class PreparedStep(Protocol):
    """Kernels that follow each other, or a step in torch."""

    def __call__(self, memory: Sequence[Tensor], pointers: Sequence[int]) -> None:
        """Run it on the current stream, on tensors by the number of their base."""
        ...


class ProgramCall:
    """A plan, ready to be called. Safe to use from several threads.

    Kernels are launched on the current stream, or given to ``run``. Raises what
    proving and building its kernels raise, and ArgusError AG1044, AG1045.
    """

    def __init__(self, plan: ProgramPlan, run: KernelRunner | None = None) -> None:
        import torch

        self.plan = plan
        self._planned = PlannedMemory(plan)
        self._device = torch.device(plan.program.device)
        layout = self._planned.layout
        self._makers = [self._maker(v) for v in layout.made]
        self._later = [None] * len(layout.torch)
        self._workspace = partial(
            torch.empty,
            _whole_elements(layout.size),
            dtype=torch.uint8,
            device=self._device,
        )
        kept = set(layout.kept)
        constant: list[KernelStep] = []
        steps: list[PlanStep] = []
        for step in plan.steps:
            if isinstance(step, KernelStep) and not kept.isdisjoint(step.written):
                constant.append(step)
            else:
                steps.append(step)
        self._kept = self._keeping(constant, run) if constant else None
        self._steps = [self._step(part, run) for part in _segments(steps)]
        self._results = [
            _result(r, told, self._planned)
            for r, told in zip(plan.program.results, plan.program.told, strict=True)
        ]
        self._pairs = sorted(plan.program.pairs)

    def _maker(self, value: ProgramValue) -> Callable[[], Tensor]:
        """What makes the tensor of a value."""
        import torch

        kind = torch_type(value)
        shape, strides = value.shape, value.strides
        return partial(
            torch.empty_strided, shape, strides, dtype=kind, device=self._device
        )

    def _keeping(
        self, steps: Sequence[LaunchStep], run: KernelRunner | None
    ) -> KeptValues:
        layout = self._planned.layout
        read = {v for step in steps for v in step.read}
        return KeptValues(
            self._step([*steps], run),
            [self._maker(v) for v in layout.kept],
            [i for i, v in enumerate(layout.given) if v in read],
        )

    def __call__(
        self, given: Sequence[Tensor], places: Sequence[int] | None = None
    ) -> list[Any]:
        """The results for the tensors that are given: inputs and weights, in order.

        They have the shapes, strides and element types of the program. ``places``:
        their addresses, where they are known.
        """
        return self.results(given, self.launched(given, places))

    @property
    def shown(self) -> list[int]:
        """Bases that results are in, but for what was given."""
        values = {
            r.value
            for r in self.plan.program.results
            if isinstance(r, ViewedValue)
            and not isinstance(r.value.made, GivenPrimitive)
        }
        return sorted(self._planned.base[v] for v in values)

    def results(self, given: Sequence[Tensor], memory: Sequence[Any]) -> list[Any]:
        """The results in the memory of a call."""
        found = [result(given, memory) for result in self._results]
        for place in self._pairs:
            found[place] = of_pairs(found[place])
        return found

    def refresh(self, given: Sequence[Tensor], places: Sequence[int]) -> None:
        """Compute what depends on weights alone where a weight has changed.

        ``places``: the addresses of what is given.
        """
        if self._kept is not None and not self._kept.hold(given, places):
            memory, pointers = self._aligned(given, places)
            none = len(self._makers) + len(self._later)
            memory += [None] * none
            pointers += [0] * none
            self._kept.fill(given, places, memory, pointers)

    def _aligned(
        self, given: Sequence[Tensor], places: Sequence[int]
    ) -> tuple[list[Any], list[int]]:
        """What is given where kernels can access it, and the addresses."""
        memory: list[Any] = [*given]
        pointers = [*places]
        low = 0
        for pointer in pointers:
            low |= pointer
        if low % ALIGNMENT:
            self._align(memory, pointers)
        return memory, pointers

    def launched(
        self, given: Sequence[Tensor], places: Sequence[int] | None = None
    ) -> list[Any]:
        """Run all steps on the current stream; tensors by the number of their base."""
        if places is None:
            places = addresses(given)
        memory, pointers = self._aligned(given, places)
        for make in self._makers:
            made = make()
            memory.append(made)
            pointers.append(made.data_ptr())
        if self._later:
            memory += self._later
            pointers += [0] * len(self._later)
        if self._kept is not None:
            self._kept.fill(given, places, memory, pointers)
        if self._planned.layout.size:
            workspace = self._workspace()
            memory.append(workspace)
            pointers.append(workspace.data_ptr())
        for step in self._steps:
            step(memory, pointers)
        return memory

    def _align(self, memory: list[Any], pointers: list[int]) -> None:
        """Copies of tensors that begin where a kernel's accesses cannot."""
        for i, value in enumerate(self._planned.layout.given):
            if pointers[i] % ALIGNMENT:
                line = memory[i].detach().as_strided((extent_of(value),), (1,))
                memory[i] = line.clone()
                pointers[i] = memory[i].data_ptr()

    def _step(
        self, part: list[LaunchStep] | TorchStep, run: KernelRunner | None
    ) -> PreparedStep:
        if isinstance(part, TorchStep):
            return self._torch_step(part)
        if run is not None:
            return partial(_run_each, part, self._planned, run)
        return LaunchSegment(
            part,
            self._planned.place,
            self._device.type,
            self._device.index or 0,
            open_sizes=self.plan.open_sizes,
        )

    def _torch_step(self, step: TorchStep) -> PreparedStep:
        import torch

        planned = self._planned
        number = self.plan.steps.index(step)
        kept = {v for s in self.plan.steps[number + 1 :] for v in s.read}
        kept |= {
            r.value for r in self.plan.program.results if isinstance(r, ViewedValue)
        }
        done = [
            planned.base[v]
            for v in step.read
            if v in planned.layout.torch and v not in kept
        ]

        known: dict[ViewedValue, Strides] = {}

        def computed(memory: Sequence[Tensor]) -> dict[ProgramValue, Tensor]:
            (value,) = step.results
            stored = StoredValues(planned, memory)
            return computed_in_torch(value, ProgramBuffers(stored, self._device, known))

        prepared = prepared_call(step, planned, self._device) if step.call else computed

        def call(memory: Any, pointers: Any) -> None:
            if torch.is_grad_enabled():
                with torch.no_grad():
                    made = prepared(memory)
            else:
                made = prepared(memory)
            for value, tensor in made.items():
                at = planned.base[value]
                memory[at], pointers[at] = tensor, tensor.data_ptr()
            for at in done:  # its memory may be used again
                memory[at] = None

        return call


def _whole_elements(size: int) -> int:
    """Bytes of a workspace that torch can show as elements of any type."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def _segments(steps: Sequence[PlanStep]) -> list[list[LaunchStep] | TorchStep]:
    """Steps in order, kernels that follow each other together."""
    found: list[list[LaunchStep] | TorchStep] = []
    for step in steps:
        if isinstance(step, TorchStep):
            found.append(step)
        elif found and isinstance(found[-1], list):
            found[-1].append(step)
        else:
            found.append([step])
    return found


def _result(
    result: Any, told: tuple[int, ...] | None, planned: PlannedMemory
) -> Callable[[Sequence[Tensor], Sequence[Tensor]], Any]:
    """What gives a result of a call, by what was given and by the bases."""
    if not isinstance(result, ViewedValue):
        return lambda given, memory: result
    value, base = result.value, planned.place(result.value)[0]
    shape, found = result.shape, strides_of(result)
    if isinstance(value.made, GivenPrimitive):
        if shape == value.made.shape and found == (value.made.strides, 0):
            return lambda given, memory: given[base]
        if found is not None:
            return lambda given, memory: given[base].as_strided(
                shape, found[0], given[base].storage_offset() + found[1]
            )
    elif (
        found is not None
        and base != planned.workspace
        and (told is None or told_so(shape, found[0], told))
    ):
        strides = found[0] if told is None else told
        if not result.views and strides == found[0]:
            return lambda given, memory: memory[base]
        return lambda given, memory: memory[base].as_strided(
            shape, strides, memory[base].storage_offset() + found[1]
        )
    known: dict[ViewedValue, Strides] = {}

    def seen(given: Sequence[Tensor], memory: Sequence[Tensor]) -> Any:
        import torch

        stored = StoredValues(planned, memory)
        buffers = ProgramBuffers(stored, memory[base].device, known)
        tensor = buffers.operand(result)
        if told is None or told_so(shape, tensor.stride(), told):
            return tensor
        exact = torch.empty_strided(
            shape, told, dtype=tensor.dtype, device=tensor.device
        )
        once = tuple(slice(None) if s else slice(1) for s in told)  # what is repeated
        exact[once].copy_(tensor[once])
        return exact

    return seen


# ------------------------------------------------------------------- without a GPU


def _run_each(
    steps: Sequence[LaunchStep],
    planned: PlannedMemory,
    run: KernelRunner,
    memory: Sequence[Tensor],
    pointers: Sequence[int],
) -> None:
    for step, time in in_order(steps):
        tensors = step.source.tensors
        run(step, {t.name: _walked(t, time, step, planned, memory) for t in tensors})


def _walked(
    t: KernelTensor,
    time: int,
    step: KernelStep,
    planned: PlannedMemory,
    memory: Sequence[Tensor],
) -> Tensor:
    """A parameter of a kernel as a tensor, when it is launched for the n-th time."""
    whole = planned.tensor(t.buffer, memory)
    start = whole.storage_offset() + t.begin(time)
    shape = step.shape(t)
    return whole.as_strided(shape, unused_strides(shape, t.all_strides), start)


def in_interpreter(step: KernelStep, tensors: dict[str, Tensor]) -> None:
    """The placed program in numpy: for small sizes, without a GPU."""
    import torch

    from argus.interpret import run

    def array(tensor: Tensor) -> Any:
        tensor = tensor.detach()
        kind = stored_type(str(tensor.dtype))
        if kind.bits_of:  # numpy has no such numbers
            tensor = tensor.view(getattr(torch, kind.bits_of))
        return tensor.numpy()

    run(_placed(step), {n: array(t) for n, t in tensors.items()}, sm_count=4)


_KEPT = 64
"""Placed programs that are kept in this process, at most."""
_PLACED: dict[str, Program] = {}


def _placed(step: KernelStep) -> Program:
    """The placed program of a step; one for all steps that launch a specialisation."""
    request, _ = request_for_step(kernel_of(step), step)
    key = as_line(request, step.source.text)
    if key not in _PLACED:
        if len(_PLACED) >= _KEPT:
            _PLACED.clear()
        _PLACED[key] = placed_program(request)
    return _PLACED[key]


def proved_in_interpreter() -> KernelRunner:
    """`in_interpreter` for kernels that are proved before they run first.

    What it returns raises ArgusError for a kernel that is not right.
    """
    from argus.compiler import require_right

    proved: set[str] = set()

    def run(step: KernelStep, tensors: dict[str, Tensor]) -> None:
        key = f"{step.source.text}{step.source.sizes}"
        if key not in proved:
            require_right(request_for_step(kernel_of(step), step)[0])
            proved.add(key)
        in_interpreter(step, tensors)

    return run


# ------------------------------------------------------------------------ whole calls


def run_plan(
    plan: ProgramPlan,
    inputs: Sequence[Any],
    weights: Mapping[str, Any],
    run: KernelRunner | None,
) -> Any:
    """What the program returns for these inputs, each kernel run by ``run``.

    ``weights`` by the names in `TensorProgram.tensors`. Raises like `GivenTensors`.
    """
    import torch

    with torch.no_grad():
        call = ProgramCall(plan, run)
        found = call(*GivenTensors(plan.program)(inputs, weights))
        return returned(plan.program, found, inputs, weights)


def returned(
    program: TensorProgram,
    results: Sequence[Any],
    inputs: Sequence[Any],
    weights: Mapping[str, Any],
) -> Any:
    """Results as the module nests them, when what it changes has theirs.

    ``weights`` by the names in `TensorProgram.tensors`. Raises ArgusError AG0801 where
    an input that it changes shares memory with another one.
    """
    from torch.utils import _pytree

    changed = len(program.updates)
    given = _pytree.tree_leaves([*inputs]) if changed else []
    for name, result in zip(program.updates, results[:changed], strict=True):
        if isinstance(name, str):
            weights[name].copy_(result)
            continue
        _require_alone(given, name)
        given[name].copy_(result)
    found = [*results[changed:]]
    for place, shown in enumerate(program.shown):
        if shown is not None:
            source = shown.source
            tensor = weights[source] if isinstance(source, str) else given[source]
            found[place] = _shown_in(tensor, shown, found[place])
    return _pytree.tree_unflatten(found, program.tree)


def _shown_in(tensor: Tensor, shown: ShownMemory, result: Tensor) -> Tensor:
    """A result in the memory of a tensor; as it is, where that lies otherwise."""
    if tensor.stride() != shown.within:
        return result
    if tensor.shape == shown.shape and (shown.within, 0) == (
        shown.strides,
        shown.offset,
    ):
        return tensor.detach() if tensor.requires_grad else tensor
    start = tensor.storage_offset() + shown.offset
    return tensor.detach().as_strided(shown.shape, shown.strides, start)


def _require_alone(given: Sequence[Any], place: int) -> None:
    """Raises ArgusError AG0801 where an input shares memory with another one."""
    import torch

    own = given[place].untyped_storage().data_ptr()
    for i, other in enumerate(given):
        if i == place or not isinstance(other, torch.Tensor):
            continue
        if own and other.untyped_storage().data_ptr() == own:
            raise fail(
                "AG0801",
                None,
                f"inputs {place} and {i} share memory, and the model changes one",
            )
