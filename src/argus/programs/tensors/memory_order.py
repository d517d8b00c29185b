"""In which order the elements of what is computed lie: as those lie that it is made of.

A map has no order of its own. If it lies as most of what it reads does, its loops walk
both side by side, and it may follow what makes its operand in one kernel. So does a
reduction, with the dimensions that are left. Torch's own maps lie so, too. A view shows
it with the dimensions that it has.

What is one number along a dimension (a bias, a mean of each channel) lies in any order,
and counts for none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import prod

from argus.programs.tensors.offsets import digits_through, offsets_through
from argus.programs.tensors.tensor_program import (
    FilledPrimitive,
    GivenPrimitive,
    MapPrimitive,
    PositionPrimitive,
    ViewedValue,
    operands_of,
)
from argus.programs.tensors.views import BorderedView, ReshapedView, permuted

__all__ = ["MemoryOrder", "common_order", "in_order", "order_of"]

_MOST_DIGITS = 5
"""Dimensions of what is stored, at most, where one that is shown is several of them."""
_DEEP = 8
"""Maps of positions that are looked through, at most."""


Digit = tuple[int, int, int]


@dataclass(frozen=True)
class MemoryOrder:
    """Digits of dimensions, the outermost in memory first.

    A digit is a dimension of ``shape``, its place among that dimension's digits, of
    which 0 is the outermost one, and a size. Those of a dimension multiply to its size.
    """

    shape: tuple[int, ...]
    digits: tuple[Digit, ...]

    @property
    def stored(self) -> tuple[int, ...]:
        """The shape of a value that lies so."""
        return tuple(n for *_, n in self.digits)

    @property
    def natural(self) -> bool:
        """Whether it is that of the dimensions."""
        return self.digits == _natural(self.shape)

    @property
    def whole(self) -> bool:
        """Whether each dimension is one digit."""
        return len(self.digits) == len(self.shape)

    @property
    def innermost(self) -> int:
        """The dimension whose elements lie side by side; -1: all are of size 1."""
        return next((d for d, _, n in reversed(self.digits) if n > 1), -1)

    @property
    def dims(self) -> tuple[int, ...]:
        """The dimension of each digit."""
        return tuple(d for d, *_ in self.digits)

    def laid(self, operand: ViewedValue) -> ViewedValue:
        """An operand of this shape with the digits as its dimensions."""
        if self.natural:
            return operand
        apart, order = self._split()
        if not self.whole:
            operand = operand.through(ReshapedView(apart))
        return _plain(operand.through(permuted(apart, order)))

    def shown(self, stored: ViewedValue) -> ViewedValue:
        """What has digits as its dimensions, with the shape."""
        apart, order = self._split()
        back = [order.index(i) for i in range(len(apart))]
        seen = stored.through(permuted(self.stored, back))
        return seen if self.whole else seen.through(ReshapedView(self.shape))

    def without(self, dims: Collection[int]) -> MemoryOrder:
        """The order of the dimensions that are left where some are gone."""
        kept = [d for d in range(len(self.shape)) if d not in dims]
        left = [(kept.index(d), i, n) for d, i, n in self.digits if d not in dims]
        return MemoryOrder(tuple(self.shape[d] for d in kept), _joined(left))

    def _split(self) -> tuple[tuple[int, ...], list[int]]:
        """All digits, dimension by dimension, and where each of the order is."""
        apart = sorted(self.digits)
        return tuple(n for *_, n in apart), [apart.index(d) for d in self.digits]


def in_order(shape: Sequence[int], dims: Sequence[int]) -> MemoryOrder:
    """The order of whole dimensions, the outermost in memory first."""
    return MemoryOrder(tuple(shape), tuple((d, 0, shape[d]) for d in dims))


def _natural(shape: Sequence[int]) -> tuple[Digit, ...]:
    return tuple((d, 0, n) for d, n in enumerate(shape))


def common_order(operands: Sequence[ViewedValue]) -> MemoryOrder | None:
    """The order of most bytes of operands of one shape; None where none has one.

    Of as many bytes, it is that of what is computed; then another one than that of the
    dimensions, in which a kernel stores because it stores in no other; then the first.
    """
    votes: dict[MemoryOrder, list[int]] = {}
    for operand in operands:
        order = order_of(operand)
        if order is not None:
            size = min(operand.value.size, prod(operand.shape))
            computed = not isinstance(operand.value.made, GivenPrimitive)
            found = votes.setdefault(order, [0, 0, not order.natural])
            found[0] += size * operand.value.dtype.bits
            found[1] += computed
    return max(votes, key=votes.__getitem__, default=None)


def order_of(operand: ViewedValue) -> MemoryOrder | None:
    """The order of an operand's elements, those of borders left out.

    None: it is repeated along a dimension, or made of positions, or has no order.
    """
    if 0 in operand.shape or _of_positions(operand):
        return None
    seen = _without_borders(operand)
    found = None if seen is None else digits_through(seen)
    if found is None:
        return None
    steps: list[tuple[int, Digit]] = []
    for d, digits in enumerate(found[0]):
        if operand.shape[d] == 1:
            steps.append((operand.value.size + 1, (d, 0, 1)))
            continue
        if not any(step for _, step in digits):
            return None
        steps += [(step, (d, i, n)) for i, (n, step) in enumerate(_walking(digits))]
    steps.sort(key=lambda s: (-s[0], s[1]))
    digits = _joined([digit for _, digit in steps])
    long = [digit for digit in _natural(operand.shape) if digit[-1] > 1]
    if [digit for digit in digits if digit[-1] > 1] == long:
        return MemoryOrder(operand.shape, _natural(operand.shape))
    if len(digits) > max(_MOST_DIGITS, len(operand.shape)):
        return None
    return MemoryOrder(operand.shape, digits)


def _walking(digits: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Digits with their steps, each of which moves: repeats are those of the next."""
    found: list[tuple[int, int]] = []
    repeats = 1
    for n, step in digits:
        if step:
            found.append((repeats * n, abs(step)))
            repeats = 1
        elif found:
            found[-1] = (found[-1][0] * n, found[-1][1])
        else:
            repeats *= n
    return found


def _joined(digits: Sequence[Digit]) -> tuple[Digit, ...]:
    """Digits with those of one dimension that follow each other as one."""
    found: list[Digit] = []
    last = -1
    for d, i, n in digits:
        if found and found[-1][0] == d and last + 1 == i:
            found[-1] = (d, found[-1][1], found[-1][2] * n)
        else:
            found.append((d, i, n))
        last = i
    places: dict[int, list[int]] = {}
    for d, i, _ in found:
        places.setdefault(d, []).append(i)
    return tuple((d, sorted(places[d]).index(i), n) for d, i, n in found)


def _of_positions(operand: ViewedValue, deep: int = _DEEP) -> bool:
    """Whether an operand reads no memory."""
    made = operand.value.made
    if isinstance(made, FilledPrimitive | PositionPrimitive):
        return True
    return (
        isinstance(made, MapPrimitive)
        and deep > 0
        and all(_of_positions(o, deep - 1) for o in operands_of(operand.value))
    )


def _without_borders(operand: ViewedValue) -> ViewedValue | None:
    """A value that lies as the operand does, and has what borders add, too."""
    at = next(
        (i for i, v in enumerate(operand.views) if isinstance(v, BorderedView)), None
    )
    if at is None:
        return operand
    inner = ViewedValue(operand.value, operand.views[:at])
    order = order_of(inner)
    if order is None or not order.whole:
        return None
    shape = operand.views[at].shape
    wide = in_order(shape, order.dims)
    like = replace(operand.value, shape=wide.stored, pitch=0, home=None, begin=0)
    seen = wide.shown(ViewedValue(like))
    for view in operand.views[at + 1 :]:
        seen = seen.through(view)
    return _without_borders(seen)


def _plain(operand: ViewedValue) -> ViewedValue:
    """The same without views that show the value as it lies."""
    value, shape = operand.value, operand.shape
    if not operand.views or value.pitch or value.home or prod(shape) != value.size:
        return operand
    dense = tuple(prod(shape[d + 1 :]) for d in range(len(shape)))
    found = offsets_through(operand)
    if found is None or found[1]:
        return operand
    if any(n > 1 and s != t for n, s, t in zip(shape, found[0], dense, strict=True)):
        return operand
    if shape == value.shape:
        return ViewedValue(value)
    return ViewedValue(value).through(ReshapedView(shape))
