"""How an axis of a layout is spread: registers, lanes of a warp, or several warps.

Shuffles combine the lanes of one warp, and butterflies need powers of two. So a thread
digit counts as inside a warp only where its weight and size are powers of two and it
ends at the warp's lanes; everything else is across warps, even if some of its
threads happen to share one.
"""

from dataclasses import dataclass

from argus.layout import Fragment


@dataclass(frozen=True)
class WarpDigit:
    """One digit of an axis: ``size`` values ``step`` apart."""

    size: int
    step: int
    across: bool
    """Held by different warps."""
    register: bool = False
    """Held by registers of a thread."""


def axis_digits(layout: Fragment, axis: int, lanes: int) -> list[WarpDigit]:
    """Digits of an axis, fastest first, where a warp has so many lanes."""
    found: list[WarpDigit] = []
    for weight, mode in layout.thread_digits():
        if mode.axis != axis or mode.size == 1:
            continue
        inside = _inside(weight, mode.size, lanes)
        if inside > 1:
            found.append(WarpDigit(inside, mode.step, False))
        if mode.size > inside:
            found.append(WarpDigit(mode.size // inside, mode.step * inside, True))
    registers = (mode for mode in layout.regs if mode.axis == axis)
    found += [WarpDigit(m.size, m.step, False, True) for m in registers]
    return sorted((d for d in found if d.size > 1), key=lambda d: d.step)


def _inside(weight: int, size: int, lanes: int) -> int:
    """How much of a thread digit, from its fastest end, is lanes of one warp."""
    if weight & (weight - 1) or weight >= lanes:
        return 1
    room = lanes // weight
    if size <= room:
        return size if size & (size - 1) == 0 else 1
    return room if size % room == 0 else 1


def in_one_warp(layout: Fragment, axis: int, lanes: int) -> bool:
    """True when lanes of one warp and registers hold the whole axis."""
    return not any(d.across for d in axis_digits(layout, axis, lanes))


def scannable(layout: Fragment, axis: int, lanes: int) -> bool:
    """True for an axis that runs over registers, then adjacent lanes, then registers.

    That is what a prefix sum by shuffles needs.
    """
    if not in_one_warp(layout, axis, lanes):
        return False
    width, step = 1, 0
    first = 0
    for weight, mode in layout.thread_digits():
        if mode.axis != axis or mode.size == 1:
            continue
        if width == 1:
            first, step = weight, mode.step
        elif weight != first * width or mode.step != step * width:
            return False
        width *= mode.size
    return True
