"""Modes: the digits that fragments are made of, and what tuples of them say.

Threads and registers are numbers whose digits are modes, fastest first. What is said of
one axis is a matter of its digits alone; `fragment.py` says what they mean together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from argus.layout.operand import T, add, digit, scaled

__all__ = [
    "Mode", "contributions", "merged", "refined", "regrouped", "selected", "top",
    "validate", "weighted",
]  # fmt: skip


@dataclass(frozen=True)
class Mode:
    """One digit of a mixed-radix index: `digit * step` along `axis`.

    `axis` None means the digit does not move the coordinate (a replicated digit); its
    step is 0. Raises ValueError for a size below 1 or a step that contradicts the axis.
    """

    size: int
    axis: int | None = None
    step: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"a mode has size {self.size}; it must be at least 1")
        if self.axis is None and self.step != 0:
            raise ValueError(f"a replicated mode has step 0, not {self.step}")
        if self.axis is not None and self.step < 1:
            raise ValueError(f"a mode along axis {self.axis} has step {self.step} < 1")


def weighted(modes: tuple[Mode, ...]) -> Iterator[tuple[int, Mode]]:
    """Yield each digit with its weight: digit = index // weight % mode.size."""
    weight = 1
    for mode in modes:
        yield weight, mode
        weight *= mode.size


def top(modes: tuple[Mode, ...]) -> int:
    """Position of the slowest digit that can be other than 0, or -1."""
    return max((i for i, mode in enumerate(modes) if mode.size > 1), default=-1)


def contributions(modes: tuple[Mode, ...], rank: int, index: T) -> tuple[T | int, ...]:
    """What the digits of an index, which is in range, add to each axis."""
    last = top(modes)
    terms: list[list[T | int]] = [[] for _ in range(rank)]
    for position, (weight, mode) in enumerate(weighted(modes)):
        if mode.axis is None or mode.size == 1:
            continue
        value = digit(index, weight, mode.size, position == last)
        terms[mode.axis].append(scaled(value, mode.step))
    return tuple(add(axis_terms) for axis_terms in terms)


def merged(modes: tuple[Mode, ...]) -> tuple[Mode, ...]:
    """The same function with fewest digits: no size 1, neighbours as one."""
    made: list[Mode] = []
    for mode in modes:
        if mode.size == 1:
            continue
        if made:
            last = made[-1]
            # For two replicated modes this reads 0 == last.size * 0: they merge.
            if mode.axis == last.axis and mode.step == last.size * last.step:
                made[-1] = Mode(last.size * mode.size, last.axis, last.step)
                continue
        made.append(mode)
    return tuple(made)


def selected(
    threads: tuple[Mode, ...], regs: tuple[Mode, ...], axis: int, elements: range
) -> tuple[tuple[Mode, ...], tuple[Mode, ...]] | None:
    """Digits of the elements of an axis: those of the axis one by one, fastest first.

    A digit below the step has one value in all elements, and is gone. Any other that
    is taken whole, or at every so many of its values, leaves of start and number what
    the slower digits count. When all that are left belong to registers, any choice of
    elements is one digit.
    """
    along = sorted(
        (m.step, i, m)
        for i, m in enumerate(threads + regs)
        if m.axis == axis and m.size > 1
    )
    made: dict[int, Mode | None] = {}
    start, every, count, step = elements.start, elements.step, len(elements), 1
    for position, (_, i, mode) in enumerate(along):
        rest, size = [at for _, at, _ in along[position:]], mode.size
        gone = every % size == 0
        parted = size % every == start // every * every % size == 0
        parted = parted and count * every % size == 0
        if min(rest) >= len(threads) and (len(rest) == 1 or not (gone or parted)):
            made |= dict.fromkeys(rest)
            made[i] = Mode(count, axis, step)
            break
        if not (gone or parted) or (every > 1 and i < len(threads)):
            return None
        start //= size
        if gone:
            made[i] = None
            every //= size
            continue
        made[i] = Mode(size // every, axis, step)
        count, step, every = count * every // size, step * size // every, 1
    kept = [made.get(i, m) for i, m in enumerate(threads + regs)]
    split = len(threads)
    return (
        tuple(m for m in kept[:split] if m is not None),
        tuple(m for m in kept[split:] if m is not None),
    )


def refined(shape: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    """The fewest axes of which both shapes' axes are made, in row-major order.

    None where an axis of one ends within an axis of the other at no divisor of it.
    """
    ends = {1}
    for sizes in (shape, other):
        end = 1
        for size in reversed(sizes):
            end *= size
            ends.add(end)
    steps = sorted(ends)
    if any(b % a for a, b in itertools.pairwise(steps)):
        return None
    return tuple(b // a for a, b in reversed(list(itertools.pairwise(steps))))


def regrouped(
    modes: tuple[Mode, ...], shape: tuple[int, ...], other: tuple[int, ...]
) -> tuple[Mode, ...] | None:
    """Digits of a tile under another shape, in row-major order.

    None where the end of an axis of ``other`` cuts a digit at no divisor of it.
    """
    before, after = _strides(shape), _strides(other)
    made: list[Mode] = []
    for mode in modes:
        if mode.axis is None or mode.size == 1:
            made.append(Mode(mode.size))
            continue
        size, step = mode.size, mode.step * before[mode.axis]
        while size > 1:
            # The axis in which the digit begins; axes of one element have no digits.
            axis = min(
                (a for a, n in enumerate(other) if n > 1 and step < after[a] * n),
                key=lambda a: after[a] * other[a],
            )
            end = after[axis] * other[axis]
            inside = min(size, end // step)
            if step % after[axis] or size % inside or (inside < size and end % step):
                return None
            made.append(Mode(inside, axis, step // after[axis]))
            size, step = size // inside, step * inside
    return tuple(made)


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    found = [1]
    for size in reversed(shape[1:]):
        found.insert(0, found[0] * size)
    return tuple(found[: len(shape)])


@lru_cache(maxsize=4096)
def validate(
    shape: tuple[int, ...], threads: tuple[Mode, ...], regs: tuple[Mode, ...]
) -> None:
    """Raises ValueError where they are no fragment of a tile of this shape.

    Each axis is checked by itself: digits are independent, so axes are, too.
    """
    if any(extent < 1 for extent in shape):
        raise ValueError(f"a tile has positive extents, not {shape}")
    for mode in threads + regs:
        if mode.axis is not None and not 0 <= mode.axis < len(shape):
            raise ValueError(f"{mode} names no axis of a tile of shape {shape}")
    if any(mode.axis is None for mode in regs):
        raise ValueError("a register mode must have an axis: threads hold the copies")
    for axis, extent in enumerate(shape):
        where = f"axis {axis} of a tile of shape {shape}"
        along = [mode for mode in threads + regs if mode.axis == axis]
        last = sum((mode.size - 1) * mode.step for mode in along)
        if last >= extent:
            raise ValueError(f"{where}: coordinate {last} is outside")
        held = np.zeros(1, dtype=np.int64)
        for mode in along:
            steps = np.arange(mode.size, dtype=np.int64) * mode.step
            held = np.add.outer(steps, held).ravel()
        count = np.bincount(held, minlength=extent)
        if not count.all():
            missing = int(np.argmin(count))
            raise ValueError(f"{where}: coordinate {missing} is held by no thread")
        if count.max() > 1:
            twice = int(np.argmax(count))
            raise ValueError(f"{where}: coordinate {twice} is held more than once")
