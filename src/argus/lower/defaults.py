"""Layouts of tiles that nothing else decides: coalesced, vectors first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd, lcm, prod

from argus.ir.memory import GlobalView
from argus.isa.memory import VECTOR_SIZES
from argus.layout import Fragment, Mode
from argus.lower.views import contiguous_axis


@dataclass(frozen=True)
class Spread:
    """Which digits of an axis threads may hold: steps from ``low`` to below ``reach``.

    The others are registers. ``low`` divides ``reach``, and that the axis.
    """

    low: int
    reach: int

    @classmethod
    def keeping(cls, elements: range, extent: int) -> Spread:
        """One under which elements of an axis are the same registers of all threads."""
        step = elements.step
        if extent % step:
            return cls(extent, extent)
        windows = gcd(elements.start // step, len(elements), extent // step)
        return cls(step, step * windows)

    def both(self, other: Spread, extent: int) -> Spread:
        """What this and another allow."""
        low, reach = lcm(self.low, other.low), gcd(self.reach, other.reach)
        return Spread(extent, extent) if reach % low else Spread(low, reach)

    def reshaped(
        self, shape: tuple[int, ...], other: tuple[int, ...], axis: int
    ) -> tuple[int, Spread] | None:
        """What it says of a tile in another shape, and of which of its axes.

        None where the axis is not a part of one axis there. Of the other parts of that
        axis threads may hold those on one side only.
        """
        begin, end = prod(shape[axis + 1 :]), prod(shape[axis:])
        for target, extent in enumerate(other):
            low, high = prod(other[target + 1 :]), prod(other[target:])
            if not low <= begin < end <= high:
                continue
            if begin % low or high % end:
                return None
            below, size = begin // low, end // begin
            if below == 1 and end < high and (self.low, self.reach) != (1, size):
                return target, Spread(size, extent)
            first = 1 if self.low == 1 else self.low * below
            reach = extent if self.reach == size else self.reach * below
            return target, Spread(first, reach)
        return None


def copy_layout(
    view: GlobalView, warps: int, lanes: int, vector: int | None = None
) -> Fragment:
    """Distribution of an asynchronous copy over (thread, step).

    ``vector`` elements at a time: the widest access unless given.
    """
    contiguous = contiguous_axis(view)
    width = vector or VECTOR_SIZES[-1] // view.dtype.bytes
    if contiguous is None:
        return default_layout(view.shape, warps, lanes, 1)
    others = (a for a in reversed(range(len(view.shape))) if a != contiguous)
    return default_layout(view.shape, warps, lanes, width, (contiguous, *others))


def default_layout(
    shape: tuple[int, ...],
    warps: int,
    lanes: int,
    vector: int,
    order: tuple[int, ...] | None = None,
    in_warp: frozenset[int] = frozenset(),
    spread: Mapping[int, Spread] | None = None,
) -> Fragment:
    """``vector`` elements per thread along the fastest axis, then lanes, then warps.

    Of ``warps`` warps of ``lanes`` threads.

    ``order`` lists the axes fastest first (default: last axis first). Axes ``in_warp``
    get their lanes first and no warps; the rest of them is in registers. ``spread``
    limits what threads get of some axes. Lanes and warps are dealt out apart, so that
    no digit straddles a warp's end: shuffles along any axis stay possible with any
    number of warps.
    """
    order = order or tuple(reversed(range(len(shape))))
    limits = {a: Spread(1, n) for a, n in enumerate(shape)} | dict(spread or {})
    rest = list(shape)
    step = [1] * len(shape)

    def take(axis: int, budget: int) -> Mode:
        size = gcd(rest[axis], budget)
        mode = Mode(size, axis, step[axis]) if size > 1 else Mode(1)
        rest[axis] //= size
        step[axis] *= size
        return mode

    def deal(axis: int, budget: int) -> Mode:
        return take(axis, gcd(budget, limits[axis].reach // step[axis]))

    regs: list[Mode] = []
    for axis in order:
        low = limits[axis].low
        wanted = vector // low if axis == order[0] else 1
        regs.append(take(axis, low * gcd(max(1, wanted), limits[axis].reach // low)))
    held: list[Mode] = []
    for axis in sorted(order, key=lambda a: a not in in_warp):
        held.append(deal(axis, lanes))
        lanes //= held[-1].size
    held.append(Mode(lanes))
    for axis in order:
        if axis not in in_warp:
            held.append(deal(axis, warps))
            warps //= held[-1].size
    held.append(Mode(warps))
    regs += [take(axis, rest[axis]) for axis in order]
    return Fragment(
        shape,
        tuple(m for m in held if m.size > 1),
        tuple(m for m in regs if m.size > 1),
    )
