"""Windows that overlap, of which a thread holds a row: each element is read once a row.

Results that follow each other along a loop (``loop``) have windows that overlap: at tap
``n`` of a row, result ``k`` reads element ``step * k + apart * n``. Where elements lie
side by side along another loop (channels), a thread holds a few channels of a row that
all its results and taps choose from: it reads ``(results - 1) * step + reach`` elements
where it would read ``results * taps``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from argus.layout import WARP_LANES
from argus.programs.lowering.expressions import ElementNode
from argus.programs.lowering.lowered_group import LoweredGroup
from argus.programs.tensors.affine import Affine

__all__ = ["SlidingRow", "sliding_row"]

_BYTES = 8
"""Bytes of a thread's elements that lie side by side."""
_ROW, _RESULTS, _FEW_TAPS, _MOST_TAPS = 20, 14, 3, 11
"""Elements of a row that a thread holds, and results of it, at most; taps of a row of
which half as many results are no slower; and taps of which the verifier tells all cases
apart. (7x7 taps of bf16 on 28x28 images of 384 channels took 53 us with 7 and with 14
results, 61 with 4; 159 where each thread loaded each tap.)
"""
_FILLING, _LEAST_RESULTS = 1056 * WARP_LANES, 4
"""Threads that fill a device: of fewer, each has fewer results, down to so many."""


@dataclass(frozen=True)
class SlidingRow:
    """``results`` along ``loop``, and ``vector`` elements along ``along``, per thread.

    ``tap``: the loop of so many ``taps`` in a row. ``elements``: what is read so.
    """

    loop: str
    tap: str
    along: str
    taps: int
    step: int
    apart: int
    results: int
    vector: int
    elements: tuple[ElementNode, ...]

    @property
    def reach(self) -> int:
        """Elements of a row from the first tap of a result to its last one."""
        return (self.taps - 1) * self.apart + 1


def sliding_row(group: LoweredGroup, along: str) -> SlidingRow | None:
    """Such a row of a reduction over windows; None where there is none.

    ``along``: the loop along which elements lie side by side.
    """
    columns, sizes = set(group.columns), group.sizes
    fixed = {n for e in group.elements for b in e.borders for n in b.index.loops}
    if not columns <= fixed or along in fixed or along not in group.rows:
        return None
    if any(r.function.startswith("arg") for r in group.reductions):
        return None
    found = [
        row
        for loop in reversed(group.rows)
        for tap in reversed(group.columns)
        if loop != along and (row := _of(group, along, loop, tap)) is not None
    ]
    return max(found, key=lambda r: (r.taps, sizes[r.loop], -r.step), default=None)


def _of(group: LoweredGroup, along: str, loop: str, tap: str) -> SlidingRow | None:
    """The row of results along a loop, and of one loop of taps."""
    elements = [e for e in group.elements if {loop, tap} <= e.whole.loops]
    steps = {_steps(e, along, loop, tap) for e in elements}
    if len(steps) != 1 or None in steps:
        return None
    ((step, apart),) = (s for s in steps if s is not None)
    taps, extent = group.sizes[tap], group.sizes[along]
    reach = (taps - 1) * apart + 1
    most = min(_RESULTS, (_ROW - reach) // step + 1)
    if step >= reach or taps > _MOST_TAPS or most < _LEAST_RESULTS:
        return None
    if taps <= _FEW_TAPS:
        most = min(most, (_RESULTS + 1) // 2)
    stored = {_stored_along(s.offset, along, loop) for s in group.stores}
    if None in stored:
        return None
    vector = max(1, _BYTES // max(e.dtype.bytes for e in elements))
    while vector > 1 and 3 * _filled(extent, WARP_LANES * vector) > 4 * extent:
        vector //= 2
    if 3 * _filled(extent, WARP_LANES * vector) > 4 * extent:
        return None
    size = group.sizes[loop]
    beside = prod(n for name, n in group.sizes.items() if name in group.rows) // size
    able = [_even(size, n) for n in range(most, _LEAST_RESULTS - 1, -1)]
    if loop in stored:  # turned in shared memory, in pieces of a power of two
        able = [1 << n for n in reversed(range(2, most.bit_length()))]
    fill = (n for n in able if beside * -(-size // n) >= _FILLING * vector)
    results = next(fill, min(able, default=most))
    found = (loop, tap, along, taps, step, apart, results, vector, tuple(elements))
    return SlidingRow(*found)


def _steps(
    element: ElementNode, along: str, loop: str, tap: str
) -> tuple[int, int] | None:
    """(of results, of taps): of an element that has both in one coordinate alone."""
    if element.tables or element.whole.factor(along) != 1:
        return None
    given: list[Affine] = [i for i in element.indices if i.loops & {loop, tap}]
    if len(given) != 1 or given[0] is element.offset:
        return None
    step, apart = given[0].factor(loop), given[0].factor(tap)
    return (step, apart) if step > 0 and apart > 0 else None


def _stored_along(offset: Affine, *loops: str) -> str | None:
    """The loop, of two, along which results lie side by side; None: another one."""
    return next((n for n in loops if offset.factor(n) == 1), None)


def _filled(size: int, part: int) -> int:
    return -(-size // part) * part


def _even(size: int, most: int) -> int:
    """The results of a thread, of as many threads as have at most so many."""
    return -(-size // -(-size // most))
