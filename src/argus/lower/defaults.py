"""Layouts of tiles that nothing else decides: coalesced, vectors first."""

from math import gcd, prod

from argus.ir.memory import GlobalView
from argus.layout import Fragment, Mode, blocked
from argus.lower.views import contiguous_axis


def copy_layout(view: GlobalView, threads: int, vector: int | None = None) -> Fragment:
    """Distribution of an asynchronous copy over (thread, step).

    ``vector`` elements at a time: 16 bytes unless given.
    """
    contiguous = contiguous_axis(view)
    width = vector or 16 // view.dtype.bytes
    if contiguous is None:
        return default_layout(view.shape, threads, 1)
    others = (a for a in reversed(range(len(view.shape))) if a != contiguous)
    return default_layout(view.shape, threads, width, (contiguous, *others))


def default_layout(
    shape: tuple[int, ...],
    threads: int,
    vector: int,
    order: tuple[int, ...] | None = None,
    in_warp: frozenset[int] = frozenset(),
) -> Fragment:
    """``vector`` elements per thread along the fastest axis, then lanes, then warps.

    ``order`` lists the axes fastest first (default: last axis first). Axes ``in_warp``
    are spread over the lanes of one warp only; the rest of them is in registers.
    """
    order = order or tuple(reversed(range(len(shape))))
    width = vector
    while width > 1 and shape[order[0]] % width:
        width //= 2
    if not in_warp:
        return blocked(shape, threads, max(1, width), order)
    return _within_warps(shape, threads, width, order, in_warp)


def _within_warps(
    shape: tuple[int, ...],
    threads: int,
    width: int,
    order: tuple[int, ...],
    in_warp: frozenset[int],
) -> Fragment:
    rest = list(shape)
    step = [1] * len(shape)

    def take(axis: int, budget: int) -> Mode:
        size = gcd(rest[axis], budget)
        mode = Mode(size, axis, step[axis]) if size > 1 else Mode(1)
        rest[axis] //= size
        step[axis] *= size
        return mode

    vector = take(order[0], width)
    threads_modes: list[Mode] = []
    lanes, warps = 32, threads // 32
    for axis in sorted(order, key=lambda a: a not in in_warp):
        threads_modes.append(take(axis, lanes))
        lanes //= threads_modes[-1].size
    threads_modes.append(Mode(lanes))
    for axis in order:
        if axis not in in_warp:
            threads_modes.append(take(axis, warps))
            warps //= threads_modes[-1].size
    threads_modes.append(Mode(warps))
    regs = [vector, *(take(axis, prod(shape)) for axis in order)]
    return Fragment(
        shape, tuple(threads_modes), tuple(m for m in regs if m.axis is not None)
    )
