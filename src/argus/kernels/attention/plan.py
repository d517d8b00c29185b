"""Into how many parts keys are cut, where tiles of queries do not fill the device.

A block takes a tile of queries through blocks of keys, and all blocks of keys take
about the same time, in which the device reads them. So the time of a launch is counted
in these: waves of blocks times the most that one of them takes.
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
)
from argus.kernels.attention.kernel import attention_merge, attention_parts

_BLOCK = 2.0
"""What beginning and ending a block takes, in blocks of keys."""
_MERGE = 3.0
"""What the second launch takes, in blocks of keys."""
_READ = 0.02
"""What each part more takes when parts are merged, in blocks of keys."""
_ROW = 0.002
"""What each row of the output takes when parts are merged, in blocks of keys."""
_MOST_PARTS = 256

_ROWS = 64
"""Queries of a warpgroup."""


@dataclass(frozen=True)
class KeySplit:
    """Parts of the keys, each of ``steps`` blocks of keys; the last may have fewer."""

    parts: int
    steps: int


@dataclass(frozen=True)
class HeadSizes:
    """Sizes of a call: B, H, S, T, D as in `attention`."""

    b: int
    h: int
    s: int
    t: int
    d: int


def part_statics(d: int, rows: int) -> dict[str, int]:
    """The tiles of `attention_parts` for a head dimension and rows of queries."""
    groups = 1 if rows <= _ROWS else 2
    keys = 128 if d <= 128 else 64
    return {"D": d, "BQ": groups * _ROWS, "BT": keys, "WARPGROUPS": groups}


def best_split(heads: HeadSizes, multiprocessors: int) -> KeySplit | None:
    """How to cut the keys; None: one launch is predicted to be as fast."""
    statics = part_statics(heads.d, heads.s)
    tiles = heads.b * heads.h * ceil(heads.s / statics["BQ"])
    steps = ceil(heads.t / statics["BT"])

    def cost(split: KeySplit) -> float:
        waves = ceil(tiles * split.parts / multiprocessors)
        merged = _MERGE + _READ * split.parts + _ROW * heads.b * heads.h * heads.s
        return waves * (split.steps + _BLOCK) + merged

    whole = ceil(tiles / multiprocessors) * (steps + _BLOCK)
    lengths = {ceil(steps / parts) for parts in range(2, min(_MOST_PARTS, steps) + 1)}
    splits = [KeySplit(ceil(steps / n), n) for n in sorted(lengths) if n < steps]
    best = min(splits, key=cost, default=None)
    return best if best is not None and cost(best) < whole else None


_Q, _K, _V, _O = (GivenTensor(i) for i in range(4))
_SCALE = GivenScalar(4)


def launches(split: KeySplit, heads: HeadSizes) -> LaunchSequence:
    """The launches on (Q, K, V, O, scale)."""
    rows = (split.parts, heads.b, heads.h, heads.s)
    outputs, logarithms = Buffer("f32", (*rows, heads.d)), Buffer("f32", rows)
    statics = part_statics(heads.d, heads.s)
    values = (_Q, _K, _V, outputs, logarithms, _SCALE, split.steps)
    return LaunchSequence(
        (
            LaunchStep(attention_parts, values, statics),
            LaunchStep(attention_merge, (outputs, logarithms, _O), {"D": heads.d}),
        )
    )
