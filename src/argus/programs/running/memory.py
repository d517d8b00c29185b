"""Where a plan's values lie: in tensors of their own, or in one workspace.

    memory = memory_of(plan)
    check_memory(plan, memory)

A result has a tensor of its own, as what torch computes has, and as what depends on
weights alone has (`kept_values.py`). All others share the workspace: two of them may
lie in the same place if one is not read any more when the other is written.
`check_memory` does not believe this: it goes through the steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from argus.diagnostics import fail
from argus.programs.planning.constant_steps import constant_steps
from argus.programs.planning.plan import (
    KernelStep,
    ProgramPlan,
    RepeatedStep,
    TorchStep,
)
from argus.programs.planning.value_parts import part_at, parts_of, touched
from argus.programs.tensors.tensor_program import (
    GivenPrimitive,
    ProgramValue,
    TorchPrimitive,
    ViewedValue,
)

_ALIGNMENT = 256
"""Bytes that the place of a value is a multiple of."""


@dataclass(frozen=True)
class ProgramMemory:
    """``offsets`` in bytes of the values in the workspace, which has ``size`` bytes.

    ``given`` come from outside, ``made`` are tensors of their own that kernels write,
    ``torch`` are tensors that torch makes, ``kept`` are tensors that outlive a call.
    """

    given: tuple[ProgramValue, ...]
    made: tuple[ProgramValue, ...]
    torch: tuple[ProgramValue, ...]
    kept: tuple[ProgramValue, ...]
    offsets: Mapping[ProgramValue, int]
    size: int


def extent_of(value: ProgramValue) -> int:
    """Elements from the first to the last one, both counted; 0 for an empty value."""
    if not value.size:
        return 0
    pairs = zip(value.shape, value.strides, strict=True)
    return 1 + sum((n - 1) * s for n, s in pairs)


def bytes_of(value: ProgramValue) -> int:
    """The size of a value in memory."""
    return extent_of(value) * value.dtype.bytes


def memory_of(plan: ProgramPlan) -> ProgramMemory:
    """Places of all values of a plan: large ones first, each as low as it can be."""
    program = plan.program
    given = tuple(v for v in program.values if isinstance(v.made, GivenPrimitive))
    results = {r.value for r in program.results if isinstance(r, ViewedValue)}
    empty = [v for v in program.values if _empty(v)]
    first: dict[ProgramValue, int] = {}
    last: dict[ProgramValue, int] = {}
    own: list[ProgramValue] = []
    made: list[ProgramValue] = []
    kept = [v for step in constant_steps(plan) for v in step.written]
    for number, step in enumerate(plan.steps):
        for value in step.read:
            last[value] = number
        for value in step.written:
            begun = value in last
            last[value] = number
            if begun:
                continue  # another part of it
            if isinstance(step, TorchStep):
                own.append(value)
            elif value in results:
                made.append(value)
            elif value not in kept:
                first[value] = number
    offsets: dict[ProgramValue, int] = {}
    for value in sorted(first, key=lambda v: -bytes_of(v)):
        beside = sorted(
            (offsets[v], offsets[v] + bytes_of(v))
            for v in offsets
            if first[v] <= last[value] and first[value] <= last[v]
        )
        at = 0
        for begin, end in beside:
            if at + bytes_of(value) <= begin:
                break
            at = max(at, -(-end // _ALIGNMENT) * _ALIGNMENT)
        offsets[value] = at
    size = max((offsets[v] + bytes_of(v) for v in offsets), default=0)
    return ProgramMemory(given, (*empty, *made), tuple(own), tuple(kept), offsets, size)


def _empty(value: ProgramValue) -> bool:
    """Whether there is nothing to write, and no step writes it."""
    return not value.size and not isinstance(
        value.made, GivenPrimitive | TorchPrimitive
    )


def check_memory(plan: ProgramPlan, memory: ProgramMemory) -> None:
    """Every value is written in full before it is read, and kept until the last time.

    Raises ArgusError AG1044 and AG1045: mistakes of the planning.
    """
    written = {*memory.given, *(v for v in memory.made if _empty(v))}
    parts: _Parts = {}
    last: dict[ProgramValue, int] = {}
    for number, step in enumerate(plan.steps):
        last.update((value, number) for value in step.read)
    for result in plan.program.results:
        if isinstance(result, ViewedValue):
            last[result.value] = len(plan.steps)
    for number, step in enumerate(plan.steps):
        for value in step.read:
            if value not in written:
                raise _unwritten(value, f"step {number} reads it, and none wrote it")
        match step:
            case KernelStep():
                for access in _accesses(step, 0):
                    _check_access(access, step.source.name, parts)
            case RepeatedStep():
                _check_repeated(step, written, parts)
            case TorchStep():
                for value in step.read:
                    _check_complete(value, parts)
        for value in step.written:
            if not parts_of(value):
                if value in written:
                    raise _unwritten(value, f"step {number} writes it again")
                by_torch = isinstance(value.made, TorchPrimitive)
                if by_torch and not isinstance(step, TorchStep):
                    raise _unwritten(value, "torch makes it, and a kernel writes it")
            _check_place(value, memory, written, last, number)
            written.add(value)
    for result in plan.program.results:
        if isinstance(result, ViewedValue) and result.value not in written:
            raise _unwritten(result.value, "it is a result, and no step wrote it")
        if isinstance(result, ViewedValue):
            _check_complete(result.value, parts)


def _check_repeated(
    repeated: RepeatedStep, written: set[ProgramValue], parts: _Parts
) -> None:
    """Each time, what lies between its kernels is written before it is read."""
    for time in range(repeated.times):
        own: set[ProgramValue] = set()
        for step in repeated.body:
            for value in step.read:
                if value not in written and value not in own and not parts_of(value):
                    raise _unwritten(value, "it is read before it is written")
            for access in _accesses(step, time):
                _check_access(access, step.source.name, parts)
            for value in step.written:
                if not parts_of(value) and value in own:
                    raise _unwritten(value, "it is written twice at a time")
                own.add(value)


def _unwritten(value: ProgramValue, why: str) -> Exception:
    return fail("AG1044", None, f"`{value.name}`: {why}")


_Parts = dict[ProgramValue, set[int]]
"""Of values that several launches write, the parts that are written."""


def _check_complete(value: ProgramValue, parts: _Parts) -> None:
    if len(parts.get(value, ())) != len(parts_of(value)):
        raise _unwritten(value, "it is read, and not all of its parts are written")


@dataclass(frozen=True)
class _Access:
    """Elements of a buffer: the first, and extents and strides."""

    buffer: ProgramValue
    start: int
    pairs: list[tuple[int, int]]
    output: bool


def _accesses(step: KernelStep, time: int) -> list[_Access]:
    """What a kernel reads and writes; outputs side by side in a buffer are one.

    But of a value with a part for each of several launches, those in other parts of it
    are others. ``time``: how often it was repeated before.
    """
    found: list[_Access] = []
    outputs: dict[tuple[ProgramValue, int], list[_Access]] = {}
    for t in step.source.tensors:
        pairs = list(zip(step.shape(t), t.all_strides, strict=True))
        output = t.name in step.source.outputs
        access = _Access(t.buffer, t.begin(time), pairs, output)
        if access.output:
            part = part_at(t.buffer, access.start)
            outputs.setdefault((t.buffer, part), []).append(access)
        else:
            found.append(access)
    return [*found, *(_together(own, step.source.name) for own in outputs.values())]


def _together(outputs: list[_Access], kernel: str) -> _Access:
    """Outputs that are alike, and equally far from each other, as one."""
    first, *others = sorted(outputs, key=lambda a: a.start)
    if not others:
        return first
    far = others[0].start - first.start
    for number, other in enumerate(others, 1):
        if other.pairs != first.pairs or other.start != first.start + number * far:
            raise _unwritten(
                first.buffer, f"`{kernel}` writes it by outputs that differ"
            )
    return replace(first, pairs=[*first.pairs, (len(outputs), far)])


def _check_access(access: _Access, kernel: str, parts: _Parts) -> None:
    """A parameter lies in its buffer; an output covers it, each element once.

    Of a value that has a part for each of several launches, an output covers one.
    """
    buffer, start, pairs = access.buffer, access.start, access.pairs
    output = access.output
    if any(n == 0 for n, _ in pairs):
        if output and buffer.size:
            raise _unwritten(buffer, f"`{kernel}` writes nothing of it")
        return
    low = start + sum(min(0, (n - 1) * s) for n, s in pairs)
    high = start + sum(max(0, (n - 1) * s) for n, s in pairs)
    if low < 0 or high >= extent_of(buffer):
        raise _unwritten(
            buffer, f"`{kernel}` touches elements {low} to {high} of {buffer.size}"
        )
    ends, first = parts_of(buffer), 0
    done = parts.setdefault(buffer, set()) if ends else set[int]()
    if not output:
        if ends and not done.issuperset(touched(ends, start, pairs)):
            raise _unwritten(buffer, f"`{kernel}` reads parts that are not written")
        return
    whole = list(zip(buffer.shape, buffer.strides, strict=True))
    if ends:
        number = part_at(buffer, start)
        first = ends[number - 1] if number else 0
        whole = [(ends[number] - first, 1), (buffer.size // ends[-1], ends[-1])]
        if number in done:
            raise _unwritten(buffer, f"`{kernel}` writes part {number} of it again")
        done.add(number)
    if start != first or _steps(pairs) != _steps(whole):
        raise _unwritten(
            buffer,
            f"`{kernel}` writes elements {start} + {_steps(pairs)}, which are "
            f"not {_steps(whole)} (extents and strides), each once",
        )


def _steps(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Extents and strides by stride; those that follow each other are one."""
    found: list[tuple[int, int]] = []
    for extent, stride in sorted((p for p in pairs if p[0] > 1), key=lambda p: p[1]):
        if found and stride == found[-1][0] * found[-1][1]:
            found[-1] = (found[-1][0] * extent, found[-1][1])
        else:
            found.append((extent, stride))
    return found


def _check_place(
    value: ProgramValue,
    memory: ProgramMemory,
    written: set[ProgramValue],
    last: Mapping[ProgramValue, int],
    number: int,
) -> None:
    if value not in memory.offsets:
        if value not in (*memory.made, *memory.torch, *memory.kept):
            raise _unwritten(value, "it has no place")
        return
    begin, end = memory.offsets[value], memory.offsets[value] + bytes_of(value)
    if end > memory.size:
        raise fail(
            "AG1045", None, f"`{value.name}` ends at byte {end} of {memory.size}"
        )
    for other in written:
        if other is value or other not in memory.offsets:
            continue
        if last.get(other, -1) < number:
            continue
        start = memory.offsets[other]
        if start < end and begin < start + bytes_of(other):
            raise fail(
                "AG1045",
                None,
                f"step {number} writes `{value.name}` over byte {max(start, begin)}, "
                f"where `{other.name}` is, which step {last[other]} reads",
            )
