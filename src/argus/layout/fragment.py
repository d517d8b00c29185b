"""Fragments: which element of a tile each thread holds in each of its registers.

A fragment maps (thread, register) to a tile coordinate. Both indices are read as
mixed-radix numbers, fastest digit first, and each digit moves the coordinate along one
axis by a fixed step. The accumulator of one `wgmma.m64n16k16`, for example:

    shape   (64, 16)
    threads Mode(4, axis 1, step 2)  Mode(8, axis 0, step 1)  Mode(4, axis 0, step 16)
    regs    Mode(2, axis 1, step 1)  Mode(2, axis 0, step 8)  Mode(2, axis 1, step 8)

    thread  37 = 1 + 4 * (1 + 8 * 1)  ->  column 1*2,  row 1*1 + 1*16
    register 6 = 0 + 2 * (1 + 2 * 1)  ->  row 1*8, column 0*1 + 1*8
    coordinate = (17 + 8, 2 + 8) = (25, 10)

The contributions of thread and register add up, so the two parts can be computed apart:
the thread's part once per thread at run time, the register's part at compile time.

Every element is held exactly once, apart from `Mode(size, None)` thread digits, which
replicate the whole tile. So along each axis the digits, sorted by step, form a number
system of their own: steps 1, s0, s0*s1, ... up to the extent of the axis.

This file knows no instruction (see `fragments.py`), no element type (a register here is
one element, not 32 bits) and no memory address (see `layout.py`, `swizzle.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from argus.layout import modes
from argus.layout.modes import Mode
from argus.layout.operand import T, add, digit, scaled

__all__ = ["Fragment"]


@dataclass(frozen=True)
class Fragment:
    """(thread, register) -> coordinate of a tile spread over a group of threads.

    `shape` is the tile's shape in elements; `threads` and `regs` are digits, fastest
    first, whose sizes multiply to the number of threads and of registers per thread.

    Raises ValueError when a coordinate lies outside the shape, is held by nobody, or
    is held twice by other means than replicated thread digits.
    """

    shape: tuple[int, ...]
    threads: tuple[Mode, ...]
    regs: tuple[Mode, ...]

    def __post_init__(self) -> None:
        modes.validate(self.shape, self.threads, self.regs)

    @property
    def rank(self) -> int:
        """Number of axes of the tile."""
        return len(self.shape)

    @cached_property
    def size(self) -> int:
        """Number of elements of the tile."""
        return math.prod(self.shape)

    @cached_property
    def num_threads(self) -> int:
        """Number of threads the tile is spread over."""
        return math.prod(mode.size for mode in self.threads)

    @cached_property
    def num_regs(self) -> int:
        """Number of elements each thread holds."""
        return math.prod(mode.size for mode in self.regs)

    @property
    def replication(self) -> int:
        """Number of threads that hold each element."""
        return math.prod(mode.size for mode in self.threads if mode.axis is None)

    def thread_digits(self) -> Iterator[tuple[int, Mode]]:
        """Yield each thread digit with its weight: digit = t // weight % mode.size."""
        return modes.weighted(self.threads)

    def thread_part(self, t: T) -> tuple[T | int, ...]:
        """Contribution of thread `t`, 0 <= t < num_threads, to each axis."""
        return modes.contributions(self.threads, self.rank, t)

    def reg_part(self, r: T) -> tuple[T | int, ...]:
        """Contribution of register `r`, 0 <= r < num_regs, to each axis."""
        return modes.contributions(self.regs, self.rank, r)

    def coord(self, t: T, r: T | int) -> tuple[T | int, ...]:
        """Coordinate held by thread `t` in register `r`; operands must be in range."""
        pairs = zip(self.thread_part(t), self.reg_part(r), strict=True)
        return tuple(add((by_thread, by_reg)) for by_thread, by_reg in pairs)

    def replica(self, t: T) -> T | int:
        """Which copy of the tile thread `t` holds, 0 <= copy < `replication`.

        Copy 0 is the owner's: the lowest thread among those that hold an element.
        """
        top = modes.top(self.threads)
        terms: list[T | int] = []
        weight = 1
        for position, (thread_weight, mode) in enumerate(self.thread_digits()):
            if mode.axis is not None:
                continue
            value = digit(t, thread_weight, mode.size, position == top)
            terms.append(scaled(value, weight))
            weight *= mode.size
        return add(terms)

    def table(self) -> NDArray[np.int32]:
        """All coordinates, shape [num_threads, num_regs, rank]; read-only, cached."""
        return _table(self)

    def owner_mask(self) -> NDArray[np.bool_]:
        """True for exactly one holder of each element, shape [num_threads, num_regs].

        The owner is the lowest thread that holds the element. Read-only, cached.
        """
        return _owner_mask(self)

    def slice(self, axis: int) -> Fragment:
        """Fragment of the tile with `axis` removed, as after a reduction along it.

        Registers along the axis disappear, threads along it hold copies. The result has
        at most as many registers; `register_map` from it to `self` always exists.
        """
        _check_axis(axis, self.rank)

        def lowered(mode: Mode) -> Mode:
            if mode.axis is None or mode.axis < axis:
                return mode
            if mode.axis == axis:
                return Mode(mode.size)
            return Mode(mode.size, mode.axis - 1, mode.step)

        return Fragment(
            self.shape[:axis] + self.shape[axis + 1 :],
            tuple(lowered(mode) for mode in self.threads),
            tuple(lowered(mode) for mode in self.regs if mode.axis != axis),
        )

    def window(
        self, axis: int, elements: range
    ) -> tuple[Fragment, NDArray[np.int32]] | None:
        """Fragment of some elements along `axis`, in rising order, and its registers.

        The second item maps each register of the result to the register of this
        fragment that holds the same element. None where an element is outside of the
        axis, or where threads would have to keep different registers: the elements
        cut a digit that belongs to threads, or one below such a digit.
        """
        _check_axis(axis, self.rank)
        if elements == range(self.shape[axis]):
            return self, np.arange(self.num_regs, dtype=np.int32)
        outside = not elements or elements[0] < 0 or elements[-1] >= self.shape[axis]
        if outside or elements.step < 1:
            return None
        kept = modes.selected(self.threads, self.regs, axis, elements)
        if kept is None:
            return None
        shape = (*self.shape[:axis], len(elements), *self.shape[axis + 1 :])
        made = Fragment(shape, *kept)
        # Threads keep their digits, so that what is right for thread 0 is for all.
        held = {tuple(c): r for r, c in enumerate(self.table()[0].tolist())}
        needed: list[list[int]] = made.table()[0].tolist()
        for coord in needed:
            coord[axis] = elements[coord[axis]]
        return made, np.array([held[tuple(c)] for c in needed], dtype=np.int32)

    def permute(self, axes: tuple[int, ...]) -> Fragment:
        """Fragment of the transposed tile: its axis i is axis `axes[i]` of this one."""
        if sorted(axes) != list(range(self.rank)):
            raise ValueError(f"{axes} is not a permutation of {self.rank} axes")

        def moved(mode: Mode) -> Mode:
            if mode.axis is None:
                return mode
            return Mode(mode.size, axes.index(mode.axis), mode.step)

        return Fragment(
            tuple(self.shape[axis] for axis in axes),
            tuple(moved(mode) for mode in self.threads),
            tuple(moved(mode) for mode in self.regs),
        )

    def along(self, axes: tuple[int, ...]) -> Fragment:
        """Fragment of a tile that runs along some axes of this one, in this order.

        It is what a tile needs for a broadcast to this one: its axis i is `axes[i]`.
        """
        kept, layout = sorted(axes), self
        for axis in reversed(range(self.rank)):
            if axis not in axes:
                layout = layout.slice(axis)
        order = tuple(kept.index(axis) for axis in axes)
        return layout if order == tuple(range(len(order))) else layout.permute(order)

    def reshape(self, shape: tuple[int, ...]) -> Fragment | None:
        """Fragment of the tile under another shape, in row-major order.

        Registers stay. None where a digit would lie in two axes. Raises ValueError
        for a shape of another number of elements.
        """
        if math.prod(shape) != self.size:
            raise ValueError(f"{self.shape} has not the elements of {shape}")
        threads = modes.regrouped(self.threads, self.shape, shape)
        regs = modes.regrouped(self.regs, self.shape, shape)
        if threads is None or regs is None:
            return None
        return Fragment(shape, threads, tuple(m for m in regs if m.axis is not None))

    def join(
        self, axis: int, count: int
    ) -> tuple[Fragment, NDArray[np.int32], NDArray[np.int32]]:
        """Fragment of ``count`` tiles like this one, one after the other along `axis`.

        The other items say of which tile, and of which of its registers, each register
        of the result is. Registers along the axis stay next to each other.
        """
        _check_axis(axis, self.rank)
        along = [i for i, mode in enumerate(self.regs) if mode.axis == axis]
        position = along[-1] + 1 if along else 0
        below = math.prod(mode.size for mode in self.regs[:position])
        new = Mode(count, axis, self.shape[axis])
        shape = (
            *self.shape[:axis], count * self.shape[axis], *self.shape[axis + 1 :],
        )  # fmt: skip
        regs = (*self.regs[:position], new, *self.regs[position:])
        register = np.arange(self.num_regs * count, dtype=np.int32)
        part = register // below % count
        own = register % below + register // (below * count) * below
        return Fragment(shape, self.threads, regs), part, own

    def canonical(self) -> Fragment:
        """The same function with fewest modes: no size 1, adjacent ones merged.

        Two fragments are the same function exactly when their canonical forms are
        equal (`same_as` says so by table).
        """
        return Fragment(self.shape, modes.merged(self.threads), modes.merged(self.regs))

    def same_as(self, other: Fragment) -> bool:
        """Whether both are the same function on the same tile, compared by table."""
        if self == other:
            return True
        if self.shape != other.shape:
            return False
        return np.array_equal(self.table(), other.table())

    def register_map(
        self, source: Fragment, axes: tuple[int | None, ...]
    ) -> NDArray[np.int32] | None:
        """Registers of `source` that hold what this fragment's registers need.

        `axes[i]` is the axis of this fragment that axis i of `source` runs along (this
        fragment may have more: a broadcast). None, or a source extent of 1, means that
        the source coordinate is 0 there.

        Returns m, shape [num_regs], with `source.coord(t, m[r])` equal to
        `self.coord(t, r)` restricted to those axes for every thread t and register r;
        or None when no such map exists that is the same for all threads, so that data
        has to move between threads. Read-only, cached.

        Raises ValueError when the fragments have different numbers of threads or the
        corresponding extents differ.
        """
        return _register_map(self, source, axes)

    def vector_width(self, axis: int, maximum: int) -> int:
        """Most consecutive registers, at most `maximum`, that are one aligned vector.

        The largest power of two w such that, for every thread, registers w*q .. w*q+w-1
        lie along `axis` with step 1, starting at a multiple of w.
        """
        _check_axis(axis, self.rank)
        if maximum < 1:
            raise ValueError(f"a vector has at least 1 element, not {maximum}")
        merged = modes.merged(self.regs)
        if not merged or merged[0].axis != axis or merged[0].step != 1:
            return 1
        # Every other digit along the axis steps by a multiple of this digit's size, so
        # a width that divides the size is aligned for every thread and register.
        width = 1
        while 2 * width <= maximum and merged[0].size % (2 * width) == 0:
            width *= 2
        return width


def _check_axis(axis: int, rank: int) -> None:
    if not 0 <= axis < rank:
        raise ValueError(f"axis {axis} of a tile with {rank} axes")


@lru_cache(maxsize=512)
def _table(fragment: Fragment) -> NDArray[np.int32]:
    thread = np.arange(fragment.num_threads, dtype=np.int32)[:, None]
    reg = np.arange(fragment.num_regs, dtype=np.int32)[None, :]
    table = np.zeros((thread.size, reg.size, fragment.rank), dtype=np.int32)
    by_thread, by_reg = fragment.thread_part(thread), fragment.reg_part(reg)
    for axis in range(fragment.rank):
        table[:, :, axis] += by_thread[axis]
        table[:, :, axis] += by_reg[axis]
    table.setflags(write=False)
    return table


@lru_cache(maxsize=512)
def _owner_mask(fragment: Fragment) -> NDArray[np.bool_]:
    thread = np.arange(fragment.num_threads, dtype=np.int32)
    copies = np.zeros_like(thread) + fragment.replica(thread)
    mask = np.repeat((copies == 0)[:, None], fragment.num_regs, axis=1)
    mask.setflags(write=False)
    return mask


@lru_cache(maxsize=4096)
def _register_map(
    target: Fragment, source: Fragment, axes: tuple[int | None, ...]
) -> NDArray[np.int32] | None:
    if source.num_threads != target.num_threads:
        raise ValueError(
            f"fragments over {source.num_threads} and {target.num_threads} threads"
        )
    if len(axes) != source.rank:
        raise ValueError(f"{len(axes)} axes given for a source with {source.rank}")
    pairs: list[tuple[int, int]] = []
    for source_axis, axis in enumerate(axes):
        extent = source.shape[source_axis]
        if axis is not None:
            _check_axis(axis, target.rank)
        if extent == 1:
            continue
        if axis is None or target.shape[axis] != extent:
            where = "no axis" if axis is None else f"extent {target.shape[axis]}"
            raise ValueError(f"source axis {source_axis}, extent {extent}: {where}")
        pairs.append((source_axis, axis))
    kept = [source_axis for source_axis, _ in pairs]
    wanted = [axis for _, axis in pairs]

    # Thread 0 and register 0 contribute nothing. So a map that is right for register 0
    # makes the thread parts equal, and one that is right for thread 0 the register
    # parts; together these suffice, because coordinates are the sum of both.
    held, needed = source.table(), target.table()
    if not np.array_equal(held[:, 0][:, kept], needed[:, 0][:, wanted]):
        return None
    register_at = {tuple(c): r for r, c in enumerate(held[0][:, kept].tolist())}
    found = [register_at.get(tuple(c)) for c in needed[0][:, wanted].tolist()]
    registers = [r for r in found if r is not None]
    if len(registers) != len(found):
        return None
    result = np.array(registers, dtype=np.int32)
    result.setflags(write=False)
    return result
