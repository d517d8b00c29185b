"""Which launches a cross-entropy is: rows in one tile, walked over, or cut into parts.

Nothing here was searched on a device.
"""

from __future__ import annotations

from math import gcd

from argus.dispatch import (
    Buffer,
    GivenScalar,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
    TensorView,
)
from argus.kernels.losses.kernel import (
    cross_entropy,
    cross_entropy_backward,
    cross_entropy_merge,
    cross_entropy_parts,
    loss_mean,
    loss_sums,
)
from argus.kernels.norms.choice import row_statics

__all__ = ["backward_statics", "gradient_launch", "loss_launches", "row_loss_statics"]

_VECTOR = 128
"""Bits that one access takes."""
_LONG = 8192
"""Columns beyond which rows are walked over."""
_ROWS = 8
"""Rows of a block: each reads the target's logit of each."""
_PART = 4096
"""Columns of a part of a row that blocks share, and rows of a part of a mean."""
_FEW = 2
"""Parts that a row has at least where blocks share it."""
_FEW_ROWS = 4 * _PART
"""Losses that one block adds up."""


def row_loss_statics(n: int, bits: int = 16) -> dict[str, object]:
    """Static parameters of `cross_entropy` for rows of ``n`` elements of so many bits.

    A row that is a tile is reduced as a whole. Of a long one, what a thread reads at a
    time is taken together, or, where that are single elements, what it has of a tile.
    """
    if n <= _LONG:
        found = row_statics(n, bits)
        rows = min(_ROWS, int(str(found["ROWS"])))
        return {**found, "ROWS": rows, "V": found["BN"], "APART": False}
    warps, columns = 8, _LONG if bits == 16 else _LONG // 2
    vector = gcd(n, _VECTOR // bits)
    statics = {"BN": columns, "ROWS": 1, "WARPS": warps, "MIN_BLOCKS": 4}
    if vector >= 4:
        return {**statics, "V": vector, "APART": False}
    return {**statics, "V": columns // (32 * warps * vector), "APART": True}


def backward_statics(n: int) -> dict[str, object]:
    """Those of `cross_entropy_backward`: sixteen elements of a thread."""
    columns = min(_PART, max(8, 1 << (n - 1).bit_length()))
    rows = max(1, 512 // columns)
    return {"BN": columns, "ROWS": rows, "WARPS": max(1, rows * columns // 512)}


def loss_launches(
    m: int, n: int, bits: int, multiprocessors: int, *, smooth: bool, reduction: str
) -> LaunchSequence:
    """The launches of a call with X, T, the result, what is kept, and three numbers.

    What is kept is f32: S, K, losses of rows, and one number, what each counts. For the
    ``reduction`` "none" the result is the losses, and only S and K are kept.
    """
    x, t, result, kept = (GivenTensor(i) for i in range(4))
    numbers = tuple(GivenScalar(i) for i in range(4, 7))
    s, k, each = (TensorView(kept, (m,), (1,), i * m) for i in range(3))
    losses = result if reduction == "none" else each
    statics: dict[str, object] = {"SMOOTH": smooth}
    steps: list[LaunchStep] = []
    if m <= multiprocessors and n >= _FEW * _PART:
        parts = -(-n // _PART)
        found = tuple(Buffer("f32", (parts, m)) for _ in range(3))
        split = {**statics, "BN": _PART}
        steps.append(LaunchStep(cross_entropy_parts, (x, *found), split))
        merged = (x, *found, t, losses, s, k, *numbers)
        steps.append(LaunchStep(cross_entropy_merge, merged, statics))
    else:
        whole = {**statics, **row_loss_statics(n, bits)}
        steps.append(LaunchStep(cross_entropy, (x, t, losses, s, k, *numbers), whole))
    if reduction == "none":
        return LaunchSequence(tuple(steps))
    summed: tuple[TensorView | Buffer, ...] = (each, k)
    if m > _FEW_ROWS:
        count = -(-m // _PART)
        summed = Buffer("f32", (count,)), Buffer("f32", (count,))
        steps.append(LaunchStep(loss_sums, (each, k, *summed), {"BM": _PART}))
    ends = TensorView(result, (1,), (1,)), TensorView(kept, (1,), (1,), 3 * m)
    mean = {"MEAN": reduction == "mean"}
    steps.append(LaunchStep(loss_mean, (*summed, *ends), mean))
    return LaunchSequence(tuple(steps))


def gradient_launch(m: int, n: int, *, reduction: str) -> LaunchSequence:
    """The launch of a call with X, T, what is kept, G, DX, and three numbers."""
    x, t, kept, g, dx = (GivenTensor(i) for i in range(5))
    numbers = tuple(GivenScalar(i) for i in range(5, 8))
    each, factor = reduction == "none", None
    if reduction == "mean":
        factor = TensorView(kept, (1,), (1,), 3 * m)
    given = g if each else TensorView(g, (1,), (1,))
    values = (x, t, TensorView(kept, (m,), (1,)), given, dx, factor, *numbers)
    statics = {**backward_statics(n), "EACH": each}
    return LaunchSequence((LaunchStep(cross_entropy_backward, values, statics),))
