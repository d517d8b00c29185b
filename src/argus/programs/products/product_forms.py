"""The form of a sum of products for tensor cores: which loops are what, and the tile.

Whether a group has such a form is decided in `products.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from argus.ir.dtypes import DType
from argus.programs.lowering.expressions import (
    ElementNode,
    ExpressionNode,
    ReduceNode,
)
from argus.programs.lowering.lowering import LoweredGroup
from argus.programs.lowering.sums_between import Between
from argus.programs.products.box_tiles import BoxTile
from argus.programs.products.pixel_tiles import PixelTile
from argus.programs.products.product_tiles import ProductTile
from argus.programs.tensors.affine import Affine

__all__ = [
    "TMA_BYTES",
    "TMA_DIMENSIONS",
    "ProductForm",
    "addressed",
    "in_tma_units",
    "with_factors",
]

TMA_BYTES = 16
"""What TMA needs starts and strides to be multiples of."""
TMA_DIMENSIONS = 5
"""Most dimensions of a tensor that TMA walks."""


@dataclass(frozen=True)
class ProductForm:
    """Which loops of a group are M (``row``), N (``column``) and K (``inner``).

    ``batch`` and ``outer``: further rows and columns; of one of the latter, some are
    summed ``between`` numbers. ``terms``: left and right factor
    of each product that is summed. The factors are along K, or else (``turned``) along
    their other loop. ``pixels``: further loops that the tile walks. ``box``: rows are
    pixels of several loops, of which ``row`` is the last. ``rounded``: the left factor
    is rounded to TF32 by the kernel, as it is read.
    """

    reduction: ReduceNode
    terms: tuple[tuple[ElementNode, ElementNode], ...]
    row: str
    column: str
    inner: str
    batch: tuple[str, ...]
    outer: tuple[str, ...]
    turned: tuple[bool, bool]
    tile: ProductTile
    pixels: PixelTile | None = None
    between: Between | None = None
    box: BoxTile | None = None
    rounded: bool = False

    @property
    def element(self) -> DType:
        """Of what type the factors are."""
        return self.terms[0][0].dtype


def with_factors(
    group: LoweredGroup,
    form: ProductForm,
    change: Callable[[ElementNode], ExpressionNode],
) -> tuple[LoweredGroup, ProductForm]:
    """The group and form with other elements as factors."""
    factors = {node for pair in form.terms for node in pair}

    def changed(node: ExpressionNode) -> ExpressionNode:
        if isinstance(node, ElementNode) and node in factors:
            return change(node)
        return node

    def element(node: ElementNode) -> ElementNode:
        found = done[node]
        assert isinstance(found, ElementNode)
        return found

    done: dict[ExpressionNode, ExpressionNode] = {}
    stores = tuple(
        replace(s, node=group.pool.rewritten(s.node, changed, done))
        for s in group.stores
    )
    terms = tuple((element(a), element(b)) for a, b in form.terms)
    reduction = done[form.reduction]
    assert isinstance(reduction, ReduceNode)
    found = replace(form, reduction=reduction, terms=terms)
    return replace(group, stores=stores), found


def addressed(offset: Affine, dtype: DType) -> bool:
    """Whether TMA can address what lies at an offset, with one loop of factor 1.

    Starts and strides are multiples of 16 bytes.
    """
    steps = [c for _, c in offset.terms if c != 1] + [offset.constant]
    fits = all(c >= 0 and c * dtype.bytes % TMA_BYTES == 0 for c in steps)
    units = sum(c == 1 for _, c in offset.terms)
    return fits and units == 1


def in_tma_units(counts: Iterable[int], dtype: DType) -> bool:
    """Whether TMA can step by each of these counts of elements.

    It stores rows whose length, strides and start are such counts: of another length,
    it would write what lies between two rows.
    """
    return all(n * dtype.bytes % TMA_BYTES == 0 for n in counts)
