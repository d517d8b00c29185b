"""Functions on tensors that choose what they launch: a kernel, or several in order.

    multiply = Dispatch(choose)
    multiply((a, b, out, None), "relu")     # what `choose` says

What a choice is, is data: a kernel with its static parameters for all values of the
call, or a `LaunchSequence`, whose steps take tensors of the call, views of them and
buffers that live as long as the call:

    partial = Buffer("f32", (4, 16, 64))
    LaunchSequence((
        LaunchStep(split, (GivenTensor(0), GivenTensor(1), partial), {"BM": 16}),
        LaunchStep(total, (partial, GivenTensor(2)), {}),
    ))

Buffers are told apart by identity, and lie one after the other in one workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from argus.call_arguments import static_tag
from argus.calls import Statics, calls_of, described, switch
from argus.ir.dtypes import DTYPES
from argus.lang.kernel import Kernel
from argus.runtime.arguments import HOST, TensorArg
from argus.runtime.dlpack import contiguous
from argus.runtime.recall import PlannedLaunch, Recall
from argus.runtime.sequence import (
    WORKSPACE,
    OperandPlace,
    PlannedStep,
    PreparedSequence,
    ScalarPlace,
    SequencePlan,
)

_ALIGNMENT = 256
"""Bytes that the address of a buffer is a multiple of."""


@dataclass(frozen=True)
class GivenTensor:
    """Tensor number ``position`` among the values of a call."""

    position: int


@dataclass(frozen=True)
class GivenScalar:
    """The number at ``position`` among the values of a call."""

    position: int


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory between the launches of a call: element type, shape, strides.

    Strides are in elements; None: contiguous. It holds anything when a call begins.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None

    @property
    def steps(self) -> tuple[int, ...]:
        """Its strides, in elements."""
        return contiguous(self.shape) if self.strides is None else self.strides

    @property
    def size(self) -> int:
        """Bytes, a multiple of what addresses of buffers are."""
        if 0 in self.shape:
            return 0
        last = sum(s * (n - 1) for s, n in zip(self.steps, self.shape, strict=True))
        used = (last + 1) * DTYPES[self.dtype].bytes
        return -(-used // _ALIGNMENT) * _ALIGNMENT


@dataclass(frozen=True)
class TensorView:
    """Other coordinates of the memory of a tensor: all numbers are in elements."""

    of: GivenTensor | Buffer
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


StepValue = GivenTensor | GivenScalar | Buffer | TensorView | int | float | None


@dataclass(frozen=True)
class LaunchStep:
    """A launch: values of all runtime parameters of a kernel, in order; its statics."""

    kernel: Kernel
    values: tuple[StepValue, ...]
    statics: Mapping[str, object]


@dataclass(frozen=True)
class LaunchSequence:
    """Launches that follow each other on the stream."""

    steps: tuple[LaunchStep, ...]

    @property
    def bases(self) -> tuple[GivenTensor | Buffer, ...]:
        """Whose memory is used: each once, in the order of first use."""
        used = (v for step in self.steps for v in step.values)
        bases = (v.of if isinstance(v, TensorView) else v for v in used)
        found = (v for v in bases if isinstance(v, GivenTensor | Buffer))
        return tuple(dict.fromkeys(found))

    @property
    def scalars(self) -> tuple[int, ...]:
        """Positions of the numbers of the call that are used."""
        used = (v for step in self.steps for v in step.values)
        found = (v.position for v in used if isinstance(v, GivenScalar))
        return tuple(dict.fromkeys(found))


Choose = Callable[..., tuple[Kernel, Mapping[str, object]] | LaunchSequence]
"""From values of a call in order, and options, to a kernel that takes these values and
its static parameters, or to a sequence. It may look at what `Recall` says: of numbers
at their types, so that a sequence has those of the call as `GivenScalar`."""


class Dispatch:
    """A function on tensors that is one of several kernels, or a sequence of them.

    ``choose`` is asked once for arguments that are alike.
    """

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._recall = Recall[Callable[[], None]](self._plan)

    def __call__(self, values: tuple[object, ...], *options: str | int) -> None:
        """Launch for these values, in order, on the current stream.

        Those in the memory of the host are interpreted (`argus.host_calls`).
        An option is of the same type in every call. See `argus.calls.launch`.
        """
        self._recall((switch(), options), values)()

    def _plan(
        self, options: Hashable, values: Sequence[object], stream: int
    ) -> PlannedLaunch[Any]:
        _, given = cast("tuple[object, tuple[str | int, ...]]", options)
        chosen = self._choose(*values, *given)
        if isinstance(chosen, LaunchSequence):
            return planned_sequence(chosen, values)
        kernel, statics = chosen
        return calls_of(kernel).planned(values, _tagged(statics), True)


def planned_sequence(
    sequence: LaunchSequence, values: Sequence[object]
) -> PlannedLaunch[PreparedSequence]:
    """Everything that a sequence is on tensors like these, but for addresses.

    All are on one device. Raises what planning a launch raises.
    """
    used = [b.position for b in sequence.bases if isinstance(b, GivenTensor)]
    tensors = {i: described(f"argument {i}", values[i]) for i in used}
    device = tensors[used[0]].device
    memory: dict[GivenTensor | Buffer, _Memory] = {}
    size = 0
    for base in sequence.bases:
        if isinstance(base, Buffer):
            whole = TensorArg(0, base.dtype, base.shape, base.steps, device)
            memory[base] = _Memory(whole, WORKSPACE, size)
            size += base.size
        else:
            found = tensors[base.position]
            memory[base] = _Memory(found, used.index(base.position), 0)
    scalars = {i: (values[i], ScalarPlace(n)) for n, i in enumerate(sequence.scalars)}
    steps = [_planned_step(step, memory, scalars) for step in sequence.steps]
    return PlannedLaunch(
        SequencePlan(steps, size, None if device[0] == HOST else device[1]),
        tuple(used),
        sequence.scalars,
        tuple(t.pointer for t in tensors.values()),
    )


@dataclass(frozen=True)
class _Memory:
    """A tensor, and where it begins; see `OperandPlace`."""

    whole: TensorArg
    base: int
    offset: int


def _planned_step(
    step: LaunchStep,
    memory: Mapping[GivenTensor | Buffer, _Memory],
    scalars: Mapping[int, tuple[object, ScalarPlace]],
) -> PlannedStep:
    values: list[object] = []
    places: dict[int, OperandPlace] = {}
    given: dict[int, object] = {}
    for number, value in enumerate(step.values):
        if isinstance(value, GivenTensor | Buffer | TensorView):
            of = value.of if isinstance(value, TensorView) else value
            tensor, offset = memory[of].whole, 0
            if isinstance(value, TensorView):
                offset = value.offset * DTYPES[tensor.dtype].bytes
                tensor = replace(
                    tensor,
                    pointer=tensor.pointer + offset,
                    shape=value.shape,
                    strides=value.strides,
                )
            values.append(tensor)
            places[number] = OperandPlace(memory[of].base, memory[of].offset + offset)
        elif isinstance(value, GivenScalar):
            known, given[number] = scalars[value.position]
            values.append(known)
        else:
            values.append(value)
    planned = calls_of(step.kernel).planned(values, _tagged(step.statics), True)
    return PlannedStep(
        planned.plan,
        tuple(places[i] for i in planned.tensors),
        tuple(given.get(i, values[i]) for i in planned.scalars),
    )


def _tagged(statics: Mapping[str, object]) -> Statics:
    return tuple((name, static_tag(value), value) for name, value in statics.items())
