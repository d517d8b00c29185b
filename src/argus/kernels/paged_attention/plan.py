"""Into how many parts keys are cut, by the most keys that a sequence may have.

Lengths are on the device, and nobody waits for them. A part has at most `_LONGEST`
keys, so that a long sequence among short ones is shared by many multiprocessors; a
part that a sequence does not have costs the start of a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from argus.dispatch import (
    Buffer,
    GivenScalar,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
    TensorView,
)
from argus.kernels.paged_attention.kernel import (
    gathered_parts,
    length_parts,
    paged_merge,
    paged_parts,
)
from argus.lang.kernel import Kernel
from argus.runtime.dlpack import contiguous

BLOCK_KEYS = 64
"""Keys of a block. Pages have a multiple of them, or divide them."""
_LONGEST = 2048
_ROWS = 64
"""Rows of a warpgroup."""
_SHARED_BYTES = 224 << 10
"""Of a multiprocessor, for queries, keys and values: as much is in flight as fits."""
_MOST_STAGES = 8
_START, _MERGE, _READ = 1.0, 3.0, 0.02
"""Of a thread block, the second launch, each part in it: time, in blocks of keys."""


@dataclass(frozen=True)
class DecodeSizes:
    """Sizes of a call: rows of a key head, the most keys of a sequence.

    ``page``: 0 without pages. ``queries`` of a head.
    """

    b: int
    g: int
    rows: int
    keys: int
    d: int
    queries: int
    page: int

    @property
    def resident(self) -> int:
        """Thread blocks of a multiprocessor."""
        return 2 if self.d <= 128 and self.rows <= _ROWS else 1

    @property
    def statics(self) -> dict[str, object]:
        """Of the kernel for parts."""
        groups = 1 if self.rows <= _ROWS else 2
        row = 2 * self.d
        room = _SHARED_BYTES // self.resident - groups * _ROWS * row
        stages = min(_MOST_STAGES, room // (2 * BLOCK_KEYS * row))
        chosen: dict[str, object] = {"D": self.d, "QUERIES": self.queries}
        chosen |= {"BQ": groups * _ROWS, "WARPGROUPS": groups, "BT": BLOCK_KEYS}
        chosen |= {"STAGES": stages, "RESIDENT": self.resident}
        return chosen | ({"PAGE": self.page} if self.page else {})


def best_steps(sizes: DecodeSizes, multiprocessors: int) -> int:
    """Blocks of keys of a part."""
    groups = 1 if sizes.rows <= _ROWS else 2
    tiles = sizes.b * sizes.g * ceil(sizes.rows / (groups * _ROWS))
    total = ceil(sizes.keys / BLOCK_KEYS)
    slots = multiprocessors * sizes.resident

    def cost(steps: int) -> float:
        parts = ceil(total / steps)
        waves = ceil(tiles * parts / slots)
        return waves * (steps + _START) + (parts > 1) * (_MERGE + _READ * parts)

    longest = min(total, _LONGEST // BLOCK_KEYS)
    found = {ceil(total / parts) for parts in range(1, total + 1)}
    return min((s for s in sorted(found) if s <= longest), key=cost)


_Q, _K, _V, _TABLE, _LENGTHS, _OUT, _LOGS, _SINKS = (GivenTensor(i) for i in range(8))
_SCALE = GivenScalar(8)


def launches(
    sizes: DecodeSizes,
    steps: int,
    out_steps: tuple[int, ...],
    *,
    logs: bool,
    sinks: bool,
) -> LaunchSequence:
    """The launches on (Q, K, V, Table, Lengths, O, L, Sinks, scale).

    K and V are pages, their rows where a page is no multiple of a block, or neither.
    ``out_steps``: strides of O. ``logs``, ``sinks``: L and Sinks are there.
    """
    parts = ceil(sizes.keys / (steps * BLOCK_KEYS))
    tiles = (sizes.b, sizes.g, sizes.rows)
    table = (_TABLE,) if sizes.page else ()
    read = (_Q, _K, _V, *table, _LENGTHS)
    given = _SINKS if sinks else None
    if parts == 1:
        whole = (1, *tiles)
        output = TensorView(
            _OUT, (*whole, sizes.d), (sizes.b * out_steps[0], *out_steps)
        )
        sums = (
            TensorView(_LOGS, whole, contiguous(whole))
            if logs
            else Buffer("f32", whole)
        )
        values = (*read, output, sums, _SCALE, steps, given)
        statics = {**sizes.statics, "WHOLE": True}
        return LaunchSequence((LaunchStep(_kernel(sizes.page), values, statics),))
    outputs = Buffer("f32", (parts, *tiles, sizes.d))
    sums = Buffer("f32", (parts, *tiles))
    total = _LOGS if logs else Buffer("f32", tiles)
    values = (*read, outputs, sums, _SCALE, steps, None)
    merged = (outputs, sums, _LENGTHS, _OUT, total, steps * BLOCK_KEYS, given)
    statics = {"D": sizes.d, "QUERIES": sizes.queries}
    return LaunchSequence(
        (
            LaunchStep(_kernel(sizes.page), values, sizes.statics),
            LaunchStep(paged_merge, merged, statics),
        )
    )


def _kernel(page: int) -> Kernel:
    if not page:
        return length_parts
    return gathered_parts if page % BLOCK_KEYS else paged_parts
