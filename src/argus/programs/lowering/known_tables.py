"""Tables of positions that are known when a program is planned, as sums of digits.

Torch takes apart what moves elements by rule (an image enlarged to whole multiples,
windows taken out of one) into tables made of positions. Such a table is
``start + sum of factor * digit`` over digits of its own positions; then what it chooses
is a view, and what is added up by it is a sum over the digits that choose nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from argus.ir.functions import FUNCTIONS
from argus.programs.tensors.tensor_program import (
    FilledPrimitive,
    MapPrimitive,
    PositionPrimitive,
    ProgramValue,
    ScanPrimitive,
    ViewedValue,
)
from argus.programs.tensors.views import BorderedView, LinearView, ReshapedView

_MOST = 1 << 20
"""Elements of a table that are computed."""
_DIGITS = 3
"""Digits of one dimension."""
_LINE = 1 << 12
"""Elements of a line whose slope is looked for: each is compared with each."""
_TYPES = {"float": np.float32, "int": np.int64, "bool": np.bool_}
_WIDE = 32


@dataclass(frozen=True)
class DigitTable:
    """A table whose positions, row by row, have digits of these ``sizes``.

    An element is ``start`` plus the sum of its digits times ``factors``.
    """

    sizes: tuple[int, ...]
    factors: tuple[int, ...]
    start: int

    def inside(self, n: int) -> bool:
        """Whether all elements are positions of n."""
        ends = [f * (c - 1) for c, f in zip(self.sizes, self.factors, strict=True)]
        low = self.start + sum(e for e in ends if e < 0)
        return low >= 0 and self.start + sum(e for e in ends if e > 0) < n


def digit_table(table: ViewedValue) -> DigitTable | None:
    """The digits of a table of whole numbers; None for another, or one not known."""
    if table.value.dtype.kind != "int" or not 0 < prod(table.shape) <= _MOST:
        return None
    found = _elements(table, {})
    if found is None:
        return None
    sizes: list[int] = []
    factors: list[int] = []
    start = int(found.flat[0])
    rest = found - start
    for dim in range(found.ndim):
        at: list[Any] = [0] * found.ndim
        at[dim] = slice(None)
        line = rest[tuple(at)]
        digits = _digits(line)
        if digits is None:
            return None
        sizes += [n for n, _ in digits]
        factors += [f for _, f in digits]
        shape = [1] * found.ndim
        shape[dim] = -1
        rest = rest - line.reshape(shape)
    if rest.any():
        return None
    return DigitTable(tuple(sizes), tuple(factors), start)


@dataclass(frozen=True)
class QuotientTable:
    """A line of which element i is ``(factor * i + start) // divisor``."""

    factor: int
    start: int
    divisor: int


def quotient_table(table: ViewedValue) -> QuotientTable | None:
    """Whole numbers that are computed as floats, without them; None for others.

    Those of an image enlarged or reduced by a fraction: a line that rises evenly, if
    at all, and whose first element is not below 0.
    """
    count = prod(table.shape)
    if table.value.dtype.kind != "int" or count != max(table.shape, default=0):
        return None
    if not 1 < count <= _LINE or not _of_floats(table.value, set()):
        return None
    found = _elements(table, {})
    if found is None:
        return None
    line = found.reshape(-1)
    if line[0] < 0 or (np.diff(line) < 0).any():
        return None
    slope = _slope(line)
    if slope is None:
        return None
    factor, divisor = slope.numerator, slope.denominator
    at = np.arange(count)
    start = int((divisor * line - factor * at).max())
    same = (factor * at + start) // divisor == line
    return QuotientTable(factor, start, divisor) if same.all() else None


def _slope(line: Any) -> Fraction | None:
    """The simplest number by which the line may rise at each step."""
    low, high = Fraction(-1), Fraction(int(line[-1]) + 2)
    for step in range(1, len(line)):
        rises = line[step:] - line[:-step]
        low = max(low, Fraction(int(rises.max()) - 1, step))
        high = min(high, Fraction(int(rises.min()) + 1, step))
    return _simplest(max(low, Fraction(0)), high) if low < high else None


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction between two, 0 or more, whose divisor is least."""
    below = low.numerator // low.denominator
    if below + 1 < high:
        return Fraction(below + 1)
    if low == below:  # what is above it by a part of 1
        part = high - below
        return below + Fraction(1, part.denominator // part.numerator + 1)
    rest = _simplest(1 / (high - below), 1 / (low - below))
    return below + 1 / rest


def _of_floats(value: ProgramValue, seen: set[ProgramValue]) -> bool:
    """Whether floats are on the way to a value."""
    if value in seen:
        return False
    seen.add(value)
    if value.dtype.kind == "float":
        return True
    made = value.made
    return isinstance(made, MapPrimitive) and any(
        _of_floats(part.value, seen)
        for part in made.operands
        if isinstance(part, ViewedValue)
    )


def _digits(line: Any) -> list[tuple[int, int]] | None:
    """Sizes and factors of digits of a line that begins with 0, outermost first."""
    found: list[tuple[int, int]] = []
    while len(line) > 1:
        if len(found) == _DIGITS:
            return None
        steps = np.diff(line)
        changes = np.flatnonzero(steps != steps[0])
        n = len(line) if not len(changes) else int(changes[0]) + 1
        if len(line) % n:
            return None
        blocks = line.reshape(-1, n)
        if (blocks - blocks[:, :1] != blocks[:1]).any():
            return None
        found.insert(0, (n, int(steps[0])))
        line = blocks[:, 0]
    return found or [(1, 0)]


def _elements(operand: ViewedValue, done: dict[ProgramValue, Any]) -> Any:
    """An operand's elements; None where they are not known."""
    if operand.value not in done:
        done[operand.value] = _made(operand.value, done)
    found: Any = done[operand.value]
    if found is None:
        return None
    for view in operand.views:
        match view:
            case ReshapedView(shape=shape):
                found = found.reshape(shape)
            case LinearView(shape=shape, factors=factors, starts=starts):
                at = np.ix_(*(np.arange(n) for n in shape)) if shape else ()
                index = tuple(
                    sum((at[d] * f for d, f in pairs), np.int64(start))
                    for pairs, start in zip(factors, starts, strict=True)
                )
                found = np.broadcast_to(found[index], shape)
            case BorderedView():
                found = _bordered(found, view)
    return found


def _bordered(array: Any, view: BorderedView) -> Any:
    found = np.full(view.shape, view.fill, array.dtype)
    spans = [
        (max(0, b), max(0, b, min(n, b + k)))
        for k, n, b in zip(array.shape, view.shape, view.before, strict=True)
    ]
    inside = zip(spans, view.before, strict=True)
    found[tuple(slice(low, high) for low, high in spans)] = array[
        tuple(slice(low - b, high - b) for (low, high), b in inside)
    ]
    return found


def _made(value: ProgramValue, done: dict[ProgramValue, Any]) -> Any:
    dtype = value.dtype
    if value.size > _MOST or (dtype.kind == "float" and dtype.bits != _WIDE):
        return None
    kind = _TYPES[dtype.kind]
    match value.made:
        case FilledPrimitive(value=number):
            return np.full(value.shape, number, kind)
        case PositionPrimitive(dim=dim, start=start, step=step):
            along = [1] * len(value.shape)
            along[dim] = -1
            line = start + step * np.arange(value.shape[dim], dtype=kind)
            return np.broadcast_to(line.reshape(along), value.shape)
        case MapPrimitive(function=function, operands=operands):
            parts: list[Any] = []
            kinds = {p.value.dtype.kind for p in operands if isinstance(p, ViewedValue)}
            met = next(k for k in ("float", "int", "bool") if k in kinds)
            for part in operands:
                one: Any = (
                    _elements(part, done)
                    if isinstance(part, ViewedValue)
                    else np.asarray(part, _TYPES[met] if function != "where" else kind)
                )
                if one is None:
                    return None
                parts.append(one)
            if function == "cast":
                return parts[0].astype(kind)
            with np.errstate(all="ignore"):
                found = FUNCTIONS[function].numpy(*parts)
            return np.broadcast_to(np.asarray(found, kind), value.shape)
        case ScanPrimitive(operand=operand, dim=dim, function="sum"):
            found = _elements(operand, done)
            return None if found is None else np.cumsum(found, dim, dtype=kind)
        case _:
            return None
