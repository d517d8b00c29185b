"""Tensors put together: parts of one value, or a choice at each position.

    program = join(program)

Where products or reductions make the parts, and nothing else reads these, each kernel
stores its part in the joined value, and nothing is copied. Else an element is a choice
between elements of the tensors, each with a border, in the kernel that reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from argus.programs.recorder import ProgramRecorder
from argus.programs.rewriting import ProgramRewriter
from argus.programs.tensor_program import (
    ContractPrimitive,
    JoinedPrimitive,
    JoinPrimitive,
    MapPrimitive,
    Primitive,
    ProgramValue,
    ReducePrimitive,
    TensorProgram,
    ViewedValue,
    operands_of,
)
from argus.programs.views import bordered

_LEAST = 1 << 16
"""Elements of a joined value below which launches count and not bytes."""
_FRACTION = 8
"""A tensor that is so many times smaller than another counts for nothing beside it."""


def join(program: TensorProgram) -> TensorProgram:
    """The program without `JoinPrimitive`."""
    return _Joining(program).program(program)


def may_lie_in_one(operands: Sequence[ViewedValue]) -> bool:
    """Whether tensors may be parts of one value: they are large, and values as such."""
    plain = not any(o.views for o in operands)
    return plain and sum(o.value.size for o in operands) >= _LEAST


def choice(
    recorder: ProgramRecorder, operands: Sequence[ViewedValue], dim: int
) -> ViewedValue:
    """Operands of one type, one after the other: a choice at each position."""
    total = sum(o.shape[dim] for o in operands)
    shape = [*operands[0].shape]
    shape[dim] = total
    at = recorder.positions(shape, dim)
    zero = recorder.cast(0, operands[0].value.dtype)
    assert isinstance(zero, bool | int | float)
    end, found = total, None
    for part in reversed(operands):
        n = part.shape[dim]
        widths = [(0, 0)] * len(shape)
        widths[dim] = (end - n, total - end)
        seen = part.through(bordered(part.shape, widths, zero))
        if found is None:
            found = seen
        else:
            found = recorder.map("where", recorder.map("lt", at, end), seen, found)
        end -= n
    assert found is not None
    return found


class _Joining(ProgramRewriter):
    def __init__(self, program: TensorProgram) -> None:
        super().__init__()
        self.recorder = ProgramRecorder()
        self.readers: dict[ProgramValue, int] = {}
        for value in program.values:
            self.recorder.named(value.name)
            for operand in operands_of(value):
                self.readers[operand.value] = self.readers.get(operand.value, 0) + 1
        for result in program.results:
            if isinstance(result, ViewedValue):
                self.readers[result.value] = self.readers.get(result.value, 0) + 1
        self.alone = {v for v, count in self.readers.items() if count == 1}

    def replaced(self, value: ProgramValue, made: Primitive) -> Primitive:
        """Joined operands as parts, or as a choice."""
        if not isinstance(made, JoinPrimitive):
            return made
        assert isinstance(value.made, JoinPrimitive)
        if all(self._stored_by_its_kernel(o.value) for o in value.made.operands):
            sizes = tuple(o.shape[made.dim] for o in made.operands)
            return JoinedPrimitive(sizes, made.dim)
        found = choice(self.recorder, made.operands, made.dim)
        self.values += [v for v in self.recorder.values if v is not found.value]
        again = found.value not in self.recorder.values
        self.recorder.values.clear()
        return MapPrimitive("cast", (found,)) if again else found.value.made

    def following(self, old: ProgramValue, new: ProgramValue) -> list[ProgramValue]:
        """The parts of a joined value: copies, which the kernels of these may store."""
        if not isinstance(old.made, JoinPrimitive):
            return []
        if not isinstance(new.made, JoinedPrimitive):
            return []
        found: list[ProgramValue] = []
        ends = (0, *accumulate(new.made.sizes))
        for operand, begin in zip(old.made.operands, ends, strict=False):
            copied = MapPrimitive("cast", (self._operand(operand),))
            name = self.recorder.named(f"{old.name}_part")
            at = begin * new.strides[new.made.dim]
            part = ProgramValue(name, operand.shape, new.dtype, copied, 0, new, at)
            found.append(part)
        return found

    def _stored_by_its_kernel(self, value: ProgramValue) -> bool:
        """Whether a product or a reduction makes a value that is read once.

        It may be followed by maps, into which nothing else as large goes that is not
        stored anyway.
        """
        if value not in self.alone:
            return False
        match value.made:
            case ContractPrimitive(alone=alone):
                return not alone
            case ReducePrimitive():
                return True
            case MapPrimitive():
                large = {
                    o.value
                    for o in operands_of(value)
                    if _FRACTION * o.value.size > value.size
                }
                return any(self._stored_by_its_kernel(v) for v in large)
            case _:
                return False
