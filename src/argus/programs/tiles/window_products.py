"""Which sums of products over windows are matrix products on tensor cores.

Rows of the product are output channels, columns are pixels of the output, and what is
summed are taps: all columns of the group, as one index. A view gives the input these
two dimensions, with the border as what lies outside, so that nothing is copied.

Elements of f32 are multiplied in TF32 where torch's convolutions are
(`torch.backends.cudnn.allow_tf32`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from argus.ir.dtypes import bf16, f16, f32
from argus.programs.lowering.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    ReduceNode,
)
from argus.programs.lowering.lowering import LoweredGroup

PIXELS, TAPS = "pixels", "taps"
_LEAST = 16
"""Fewer channels, pixels or taps than this fill no tile of tensor cores."""


@dataclass(frozen=True)
class WindowProduct:
    """``row``: the loop of output channels. ``batch``: rows that are no pixels."""

    reduction: ReduceNode
    weight: ElementNode
    image: ElementNode
    row: str
    batch: tuple[str, ...]
    pixels: tuple[str, ...]


def as_window_product(group: LoweredGroup) -> LoweredGroup:
    """The group with its pixels and taps as one loop each, where it is a product."""
    product = window_product(group)
    if product is None:
        return group
    flat = {PIXELS: product.pixels, TAPS: group.columns}
    counts = {n: prod(group.sizes[x] for x in loops) for n, loops in flat.items()}
    return replace(group, flat=flat, sizes={**group.sizes, **counts})


def window_product(group: LoweredGroup) -> WindowProduct | None:
    """The parts of a product over windows; None for another group."""
    if len(group.reductions) != 1 or group.scans or len(group.columns) < 2:
        return None
    if len(group.stores) != 1:
        return None
    (reduction,), (store,) = group.reductions, group.stores
    body = reduction.body
    if _uncast(store.node) is not reduction or reduction.function != "sum":
        return None
    if not isinstance(body, ApplyNode) or body.function != "mul":
        return None
    image, weight = (_uncast(p) for p in body.parts)
    if not isinstance(image, ElementNode) or not isinstance(weight, ElementNode):
        return None
    if image.fill or weight.fill or not _multiplied(group, image, weight):
        return None
    of_image, of_weight = (group.pool.free(e) for e in (image, weight))
    if not set(group.columns) <= of_image & of_weight:
        return None
    channels = [n for n in group.rows if n in of_weight - of_image]
    rows = [max(channels, key=group.sizes.__getitem__)] if channels else []
    pixels: list[str] = []
    for n in reversed([n for n in group.rows if n in of_image - of_weight]):
        last = pixels[0] if pixels else None
        step = store.offset.factor(last) * group.sizes[last] if last else 0
        if last is None or store.offset.factor(n) == step:
            pixels.insert(0, n)
        else:
            break
    if any(
        prod(group.sizes[n] for n in loops) < _LEAST
        for loops in (rows, pixels, group.columns)
    ):
        return None
    batch = tuple(n for n in group.rows if n not in (*rows, *pixels))
    return WindowProduct(reduction, weight, image, rows[0], batch, tuple(pixels))


def _uncast(node: ExpressionNode) -> ExpressionNode:
    if isinstance(node, ApplyNode) and node.function == "cast":
        return node.parts[0]
    return node


def _multiplied(group: LoweredGroup, a: ElementNode, b: ElementNode) -> bool:
    """Whether tensor cores multiply such elements, in the precision of the product."""
    if a.dtype != b.dtype or a.dtype not in (f32, bf16, f16):
        return False
    return a.dtype != f32 or group.products == ("tf32",)
