"""Whole numbers that are known from positions, and conversions that change none.

A kernel is written for any sizes, for which a position converted to few bits may be
another number. The program's own sizes say that it is the same one: then it is read
before the conversion.
"""

from __future__ import annotations

import math

from argus.ir.dtypes import DType
from argus.programs.tensors.tensor_program import (
    FilledPrimitive,
    MapPrimitive,
    PositionPrimitive,
    ProgramValue,
    ViewedValue,
)
from argus.programs.tensors.views import BorderedView

Range = tuple[int, int] | None
"""Least and greatest; None: not known."""


class KnownNumbers:
    """Ranges of the values of a program, each looked at once."""

    def __init__(self) -> None:
        self._ranges: dict[ProgramValue, Range] = {}

    def unconverted(self, part: ViewedValue) -> ViewedValue:
        """The same numbers before conversions from one type of them to another."""
        made = part.value.made
        if not isinstance(made, MapPrimitive) or made.function != "cast":
            return part
        (source,) = made.operands
        if not isinstance(source, ViewedValue) or not self._kept(source, part):
            return part
        return self.unconverted(ViewedValue(source.value, (*source.views, *part.views)))

    def fit(self, part: ViewedValue, dtype: DType) -> bool:
        """Whether a type is known to hold all elements."""
        return _held(self.range_of(part), dtype)

    def cut_fit(self, part: ViewedValue, dtype: DType) -> bool:
        """Whether a type is known to hold floats that are cut to whole numbers."""
        least, most = self._ends(part)
        low, high = dtype.integers
        return low <= least and most <= high

    def _ends(self, part: ViewedValue | float | int | bool) -> tuple[float, float]:
        """Between which numbers floats are, by bounds that they were given."""
        if not isinstance(part, ViewedValue):
            return part, part
        every = -math.inf, math.inf
        if any(isinstance(v, BorderedView) for v in part.views):
            return every
        match part.value.made:
            case MapPrimitive(function="minimum", operands=(x, y)):
                (a, b), (c, d) = self._ends(x), self._ends(y)
                return min(a, c), min(b, d)
            case MapPrimitive(function="maximum", operands=(x, y)):
                (a, b), (c, d) = self._ends(x), self._ends(y)
                return max(a, c), max(b, d)
            case MapPrimitive(function="round" | "floor" | "ceil", operands=(x,)):
                a, b = self._ends(x)
                return (
                    a if math.isinf(a) else math.floor(a),
                    b if math.isinf(b) else math.ceil(b),
                )
            case _:
                return every

    def _kept(self, source: ViewedValue, part: ViewedValue) -> bool:
        kinds = source.value.dtype.kind, part.value.dtype.kind
        return kinds == ("int", "int") and _held(
            self.range_of(source), part.value.dtype
        )

    def range_of(self, part: ViewedValue | float | int | bool) -> Range:
        """Between which numbers all elements are."""
        if not isinstance(part, ViewedValue):
            return (int(part), int(part)) if isinstance(part, int) else None
        value = part.value
        if value not in self._ranges:
            self._ranges[value] = self._range_of(value)
        fills = [v.fill for v in part.views if isinstance(v, BorderedView)]
        found = self._ranges[value]
        if found is None or not all(isinstance(fill, int) for fill in fills):
            return None
        ends = [*found, *(int(fill) for fill in fills)]
        return min(ends), max(ends)

    def _range_of(self, value: ProgramValue) -> Range:
        if value.dtype.kind != "int":
            return None
        match value.made:
            case PositionPrimitive(dim=dim, start=start, step=step):
                ends = start, start + step * max(value.shape[dim] - 1, 0)
                found: Range = (min(ends), max(ends))
            case FilledPrimitive(value=number):
                found = int(number), int(number)
            case MapPrimitive(function=function, operands=operands):
                ranges = [self.range_of(o) for o in operands]
                known = [r for r in ranges if r is not None]
                if function == "where":
                    ranges, known = ranges[1:], known[-2:]
                found = _mapped(function, known) if len(known) == len(ranges) else None
            case _:
                found = None
        return found if _held(found, value.dtype) else None


def _held(found: Range, dtype: DType) -> bool:
    low, high = dtype.integers
    return found is not None and low <= found[0] and found[1] <= high


def _mapped(function: str, ranges: list[tuple[int, int]]) -> Range:
    """The range of a function of numbers in ranges."""
    (a, b), (c, d) = ranges[0], ranges[-1]
    match function:
        case "cast":
            return a, b
        case "neg":
            return -b, -a
        case "add":
            return a + c, b + d
        case "sub":
            return a - d, b - c
        case "mul":
            ends = (a * c, a * d, b * c, b * d)
            return min(ends), max(ends)
        case "where" | "maximum" | "minimum":
            return min(a, c), max(b, d)
        case _:
            return None
