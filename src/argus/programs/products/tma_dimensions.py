"""Factors of products as tensors of few dimensions, as TMA takes them.

Loops that walk one dimension of a buffer (pixels of the result, and taps) are one
dimension of a factor, at a sum of their indices: along at most one of them runs a tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from argus.programs.lowering.expressions import (
    Border,
    ElementNode,
    ExpressionNode,
)
from argus.programs.lowering.lowering import LoweredGroup, NotFusedError
from argus.programs.products.box_tiles import walked_pixels
from argus.programs.products.product_forms import (
    TMA_DIMENSIONS,
    ProductForm,
    with_factors,
)
from argus.programs.tensors.affine import Affine

LARGEST = 2**16
"""Positions of a dimension that several loops walk, at most."""


def with_few_dimensions(
    group: LoweredGroup, form: ProductForm
) -> tuple[LoweredGroup, ProductForm]:
    """The group and form with factors of at most five dimensions.

    Raises NotFusedError where there is none.
    """
    factors = {node for pair in form.terms for node in pair}
    if form.box is not None:
        ((left, _),) = form.terms
        found = walked_pixels(
            left, form.box.loops, group.columns, form.inner, group.sizes
        )
        assert found is not None
        _, rest, borders = found
        wide = group.pool.element(left.buffer, rest, borders, left.fill)
        return with_factors(
            group, form, lambda n: wide if n is left else _with_few(group, n, form)
        )
    if all(len(n.offset.terms) <= _room(n) for n in factors):
        return group, form

    return with_factors(group, form, lambda node: _with_few(group, node, form))


def _with_few(
    group: LoweredGroup, node: ElementNode, form: ProductForm
) -> ExpressionNode:
    """The element with at most five dimensions.

    What is summed in steps is a dimension by itself: behind its last element both
    factors are zero.
    """
    tiled = {form.row, form.column, form.inner}
    terms, room = node.offset.terms, _room(node)
    if len(terms) <= room:
        return node
    strides = node.buffer.strides
    # A tile runs along a dimension of its own where that is too long to be joined.
    long = any(n in tiled and group.sizes[n] > LARGEST // 2 for n, c in terms if c != 1)
    classes: dict[int, list[tuple[str, int]]] = {}
    for n, c in terms:
        step = max((s for s in strides if s <= c and c % s == 0), default=1)
        alone = n in tiled and (c != step or c == 1 or long or n == form.inner)
        classes.setdefault(-len(classes) - 1 if alone else step, []).append((n, c))
    kept = [(step, loops) for step, loops in classes.items() if _fits(loops, tiled)]
    loose = [pair for step, loops in classes.items() if (step, loops) not in kept
             for pair in loops]  # fmt: skip
    uniform = sorted(
        (k for k in kept if not any(n in tiled for n, _ in k[1])), key=lambda k: -k[0]
    )
    while len(kept) + len(loose) > room and len(uniform) > 1:
        first, second = uniform[:2]
        kept = [k for k in kept if k not in (first, second)]
        uniform[:2] = [(second[0], first[1] + second[1])]
        kept.append(uniform[0])
    if len(kept) + len(loose) > room:
        raise NotFusedError("a factor of more dimensions than TMA walks")
    rest = Affine.of(dict(loose), node.offset.constant)
    borders = [*node.borders]
    for _, loops in kept:
        if len(loops) > 1:
            borders.append(_dimension(group, loops))
            if borders[-1].extent > LARGEST:
                raise NotFusedError("a dimension of a factor that is too long to prove")
        else:
            rest = rest + Affine.of(dict(loops))
    return group.pool.element(node.buffer, rest, tuple(borders))


def _room(node: ElementNode) -> int:
    """How many dimensions its loops may be, beside those that are one already."""
    return TMA_DIMENSIONS - len(node.borders)


def _fits(loops: Sequence[tuple[str, int]], tiled: set[str]) -> bool:
    """Whether these loops are one dimension: a tile runs along one at most."""
    return sum(n in tiled for n, _ in loops) < 2


def _dimension(group: LoweredGroup, loops: Sequence[tuple[str, int]]) -> Border:
    """A dimension at the sum of loop indices.

    Its stride is the largest that leads to all of them, which TMA takes as theirs.
    """
    step = gcd(*(c for _, c in loops))
    index = Affine.of({n: c // step for n, c in loops})
    return Border(index, index.range(group.sizes)[1] + 1, step)
