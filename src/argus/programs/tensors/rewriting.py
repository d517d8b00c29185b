"""Programs made anew, value by value: what is replaced, and what then reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    GatherPrimitive,
    JoinPrimitive,
    MapPrimitive,
    Primitive,
    ProgramValue,
    ReducePrimitive,
    ScanPrimitive,
    TensorProgram,
    TorchCall,
    TorchPrimitive,
    ViewedValue,
)


def with_operands(
    made: Primitive, changed: Callable[[ViewedValue], ViewedValue]
) -> Primitive:
    """What makes a value, of other operands; the same where these are the same."""
    match made:
        case MapPrimitive(function=function, operands=operands):
            parts = tuple(
                changed(p) if isinstance(p, ViewedValue) else p for p in operands
            )
            same = all(a is b for a, b in zip(parts, operands, strict=True))
            return made if same else MapPrimitive(function, parts)
        case ReducePrimitive(operand=operand) | ScanPrimitive(operand=operand):
            new = changed(operand)
            return made if new is operand else replace(made, operand=new)
        case ContractPrimitive(left=left, right=right):
            a, b = changed(left), changed(right)
            between = tuple(map(changed, made.between))
            pairs = zip((a, b, *between), (left, right, *made.between), strict=True)
            if all(x is y for x, y in pairs):
                return made
            return replace(made, left=a, right=b, between=between)
        case GatherPrimitive(operand=operand, table=table):
            a, b = changed(operand), changed(table)
            same = a is operand and b is table
            return made if same else GatherPrimitive(a, b)
        case JoinPrimitive(operands=operands):
            new = tuple(map(changed, operands))
            same = all(a is b for a, b in zip(new, operands, strict=True))
            return made if same else replace(made, operands=new)
        case _:
            return made


class ProgramRewriter:
    """Walks a program in order. What it makes of a primitive is `replaced`."""

    def __init__(self) -> None:
        self.values: list[ProgramValue] = []
        """What the new program has so far; more may be appended."""
        self._new: dict[ProgramValue, ProgramValue] = {}
        self._calls: dict[TorchCall, TorchCall] = {}

    def replaced(self, value: ProgramValue, made: Primitive) -> Primitive:
        """What makes a value; operands of ``made`` are those of the new program."""
        raise NotImplementedError

    def program(self, program: TensorProgram) -> TensorProgram:
        """The new program."""
        for value in program.values:
            self.rewrite(value)
        results = tuple(
            self.operand(r) if isinstance(r, ViewedValue) else r
            for r in program.results
        )
        return replace(program, values=tuple(self.values), results=results)

    def rewrite(self, value: ProgramValue) -> None:
        """Add what a value becomes."""
        made = self.replaced(value, self._primitive(value.made))
        kept = value if made is value.made else replace(value, made=made)
        self._new[value] = kept
        self.values.append(kept)

    def operand(self, operand: ViewedValue) -> ViewedValue:
        """The operand of the new program."""
        new = self._new[operand.value]
        return operand if new is operand.value else ViewedValue(new, operand.views)

    def _primitive(self, made: Primitive) -> Primitive:
        if isinstance(made, TorchPrimitive):
            return replace(made, call=self._call(made.call))
        return with_operands(made, self.operand)

    def _call(self, call: TorchCall) -> TorchCall:
        if call not in self._calls:
            operands = tuple(self.operand(o) for o in call.operands)
            self._calls[call] = replace(call, operands=operands)
        return self._calls[call]
