"""Reductions to few results in two steps, so that many blocks take part.

Sums, products and extremes may be taken in any order. A reduction of many elements to
few is first one to parts, each of which is a block's, and then one of the parts.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from argus.programs.tensor_program import (
    ContractPrimitive,
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
from argus.programs.views import ReshapedView, permuted

_BLOCKS = 528
"""Parts together: four for each multiprocessor of an H100 or H200."""
_LEAST = 2048
"""Elements of a part, at least."""


def split_reductions(program: TensorProgram) -> TensorProgram:
    """The program in which no reduction leaves most of a GPU idle."""
    return _Splitting().program(program)


class _Splitting:
    def __init__(self) -> None:
        self.values: list[ProgramValue] = []
        self.new: dict[ProgramValue, ProgramValue] = {}
        self.calls: dict[TorchCall, TorchCall] = {}

    def program(self, program: TensorProgram) -> TensorProgram:
        for value in program.values:
            made = self._primitive(value.made)
            if isinstance(made, ReducePrimitive):
                made = self._parted(value, made)
            kept = value if made is value.made else replace(value, made=made)
            self.new[value] = kept
            self.values.append(kept)
        results = tuple(
            self._operand(r) if isinstance(r, ViewedValue) else r
            for r in program.results
        )
        return replace(program, values=tuple(self.values), results=results)

    def _operand(self, operand: ViewedValue) -> ViewedValue:
        new = self.new[operand.value]
        return operand if new is operand.value else ViewedValue(new, operand.views)

    def _primitive(self, made: Primitive) -> Primitive:
        match made:
            case MapPrimitive(function=function, operands=operands):
                parts = tuple(
                    self._operand(p) if isinstance(p, ViewedValue) else p
                    for p in operands
                )
                same = all(a is b for a, b in zip(parts, operands, strict=True))
                return made if same else MapPrimitive(function, parts)
            case ReducePrimitive(operand=operand) | ScanPrimitive(operand=operand):
                new = self._operand(operand)
                return made if new is operand else replace(made, operand=new)
            case ContractPrimitive(left=left, right=right):
                a, b = self._operand(left), self._operand(right)
                return made if (a, b) == (left, right) else replace(
                    made, left=a, right=b
                )  # fmt: skip
            case TorchPrimitive(call=call):
                return TorchPrimitive(self._call(call), made.index)
            case _:
                return made

    def _call(self, call: TorchCall) -> TorchCall:
        if call not in self.calls:
            operands = tuple(self._operand(o) for o in call.operands)
            self.calls[call] = replace(call, operands=operands)
        return self.calls[call]

    def _parted(self, value: ProgramValue, made: ReducePrimitive) -> ReducePrimitive:
        """The reduction of parts, which are a value of their own."""
        shape = made.operand.shape
        gone = [shape[d] for d in made.dims]
        kept = [d for d in range(len(shape)) if d not in made.dims]
        rows = prod(shape[d] for d in kept)
        parts = _parts(gone, rows)
        if parts == 1 or made.function.startswith("arg"):
            return made
        sizes = tuple(shape[d] for d in kept)
        order = permuted(shape, (*kept, *made.dims))
        rest = prod(gone) // parts
        operand = made.operand.through(order).through(
            ReshapedView((*sizes, parts, rest))
        )
        rank = len(kept)
        part = ProgramValue(
            f"{value.name}_parts",
            (*sizes, parts),
            value.dtype,
            ReducePrimitive(made.function, operand, (rank + 1,)),
        )
        self.values.append(part)
        return ReducePrimitive(made.function, ViewedValue(part), (rank,))


def _parts(sizes: list[int], rows: int) -> int:
    """How many parts; the outermost sizes are cut, so that parts lie together."""
    total = prod(sizes)
    wanted = min(_BLOCKS // max(1, rows), total // _LEAST)
    if wanted < 2:
        return 1
    parts = 1
    for n in sizes:
        if parts * n <= wanted:
            parts *= n
            continue
        room = wanted // parts
        best = max(d for d in range(1, room + 1) if n % d == 0)
        return parts * best
    return parts
