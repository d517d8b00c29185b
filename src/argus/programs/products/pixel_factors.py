"""Factors of products whose tiles are pixels of several rows, and phases.

What a tile walks as one is one dimension of a factor: rows of pixels as they follow
each other in the input (`pixel_tiles.py`), and channels with their phases.
"""

from __future__ import annotations

from math import ceil, prod

from argus.programs.lowering.expressions import (
    Border,
    ElementNode,
    ExpressionNode,
    PositionNode,
)
from argus.programs.lowering.lowering import LoweredGroup, NotFusedError
from argus.programs.products.product_forms import ProductForm, with_factors
from argus.programs.tensors.affine import Affine

_MOST_TILES = 2**11
"""Tiles of one index of the other loops, from which on nothing is proved: their number
leaves 32 bits while those loops are of sizes that a proof asks about."""


def with_pixels(
    group: LoweredGroup, form: ProductForm
) -> tuple[LoweredGroup, ProductForm]:
    """The group and a form with `pixels`, with such factors.

    Raises NotFusedError where something else than the factors depends on pixels.
    """
    tile = form.pixels
    assert tile is not None
    factors = {node: side for pair in form.terms for side, node in enumerate(pair)}
    walked = {form.row, tile.phase, tile.above}
    walked |= {n for s in group.stores for b in s.borders for n in b.index.loops}
    for node in group.nodes:
        match node:
            case ElementNode() if node not in factors:
                used = frozenset[str]().union(*(i.loops for i in node.indices))
            case PositionNode(index=index):
                used = index.loops
            case _:
                continue
        if used & walked:
            raise NotFusedError("a tensor of pixels beside phases of a product")

    if any(s.borders for s in group.stores):
        known = [group.sizes[n] for n in form.batch if n in walked]
        columns = tile.phases * group.sizes[form.column]
        tiles = ceil(tile.length / form.tile.bm) * ceil(columns / form.tile.bn)
        if prod(known) * tiles >= _MOST_TILES:
            raise NotFusedError("more tiles of known sizes than is proved")

    def change(node: ElementNode) -> ExpressionNode:
        if factors[node]:
            pair = {form.column: tile.phases, tile.phase: 1}
            last, extent = tile.phase, tile.phases * group.sizes[form.column]
        elif tile.above:
            pair = {tile.above: tile.pitch, form.row: 1}
            last, extent = form.row, tile.length
        else:
            return node
        kept = {n: c for n, c in node.offset.terms if n not in pair}
        border = Border(Affine.of(pair), extent, node.offset.factor(last))
        rest = Affine.of(kept, node.offset.constant)
        return group.pool.element(node.buffer, rest, (border,))

    return with_factors(group, form, change)
