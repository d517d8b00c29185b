"""Other shapes of the same elements: `reshape`.

A reshape keeps the order of elements. Where dimensions can be put in groups of equal
products, each group is by itself: `(B, S, H*D)` to `(B, S, H, D)` moves positions of
the last dimension only. In a group a position is counted in the old and in the new
sizes: sums of products one way, quotients and remainders the other.
"""

from __future__ import annotations

from itertools import product
from typing import Any, cast

import numpy as np

from argus.specification.array import INTEGER, SymbolicArray, whole
from argus.specification.broadcasting import axis_of
from argus.specification.casting import converted, lifted
from argus.specification.storage import Indices
from argus.specification.table import traces
from argus.specification.tracing import Tracing, divisor_of, factor_of
from argus.terms import Integer, Unknown

Sizes = tuple[Integer, ...]


def integer_of(tracing: Tracing, value: Any) -> Integer:
    """A size or a number. Raises Unknown for what is no integer."""
    return whole(converted(lifted(tracing, value), INTEGER))


def shape_of(tracing: Tracing, shape: Any) -> Sizes:
    """A shape as numpy takes it: one size, several, or an array of them."""
    if isinstance(shape, list | tuple):
        parts = list(cast(Any, shape))
    elif isinstance(shape, np.ndarray):
        parts = cast(Any, shape).tolist()
    else:
        parts = [shape]
    return tuple(integer_of(tracing, part) for part in parts)


@traces(np.reshape)
def reshape(
    array: Any, shape: Any = None, order: Any = "C", *, newshape: Any = None, **_: Any
) -> SymbolicArray:
    """`array.reshape(shape)`; one size may be -1.

    Raises Unknown where the sizes cannot have as many elements.
    """
    if order == "F":
        turned = shape if newshape is None else newshape
        several = isinstance(turned, tuple | list)
        sizes: Any = cast(Any, turned)[::-1] if several else turned
        return array.T.reshape(sizes).T
    if order != "C":
        raise Unknown(f"the reference reshapes in order {order}")
    tracing = array.tracing
    wanted = list(shape_of(tracing, newshape if shape is None else shape))
    open_ones = [d for d, n in enumerate(wanted) if n.constant == -1]
    if len(open_ones) > 1:
        raise Unknown("the reference fails: a shape with two sizes of -1")
    if open_ones:
        wanted[open_ones[0]] = _quotient(
            tracing, list(array.sizes), [n for n in wanted if n.constant != -1]
        )
    mine, theirs = _without_common(list(array.sizes), wanted)
    _need_parts(tracing, mine, theirs)
    groups = _groups(tracing, array.sizes, tuple(wanted))
    for old, new in groups:
        mine, theirs = _without_common(list(old), list(new))
        left, right = tracing.product(mine), tracing.product(theirs)
        if not _same(tracing, left, right):
            tracing.need_equal(left, right, "reshape")
        _note_folds(tracing, old, new)

    def way(indices: Indices) -> Indices:
        found: list[Integer] = []
        at = 0
        for old, new in groups:
            found += _moved(tracing, indices[at : at + len(new)], new, old)
            at += len(new)
        return tuple(found)

    return array.seen(tuple(wanted), way, None)


def _without_common(
    of: list[Integer], by: list[Integer]
) -> tuple[list[Integer], list[Integer]]:
    """Sizes of two shapes without those that both have.

    What is left is compared, which a product with a size that may be 0 says less of.
    """
    left, right = list(of), list(by)
    for size in by:
        if size in left:
            left.remove(size)
            right.remove(size)
    return left, right


def _need_parts(tracing: Tracing, old: list[Integer], new: list[Integer]) -> None:
    """Sizes that are cut into parts, n into n // d and d, have to be multiples of d.

    Raises Unknown where one never is.
    """
    left = list(new)
    for size in old:
        for other in new:
            divisor = divisor_of(size, other)
            if divisor is not None and divisor in left and other in left:
                tracing.need_divides(divisor, size)
                left.remove(other)
                left.remove(divisor)
                break


def _quotient(tracing: Tracing, of: list[Integer], by: list[Integer]) -> Integer:
    """The product of some sizes divided by that of others, which has to be whole."""
    of, by = _without_common(of, by)
    for at, size in enumerate(of):
        for other in by:
            divisor = divisor_of(size, other)
            if divisor is not None and tracing.world.divides(divisor, size):
                # n divided by n // d is d
                of[at] = divisor
                by.remove(other)
                break
    total, part = tracing.product(of), tracing.product(by)
    found = tracing.world.quotient(total, part)
    if found * part != total:
        wholes, parts = (
            (x, tracing.product(tracing.by_others(size) for size in sizes))
            for x, sizes in ((total, of), (part, by))
        )
        for one, divisor in product(wholes, parts):
            other = tracing.world.quotient(one, divisor)
            if other * divisor == one:
                return other
        left = tracing.world.remainder(total, part)
        where = tracing.world.compare(left, "==", 0)
        tracing.need(where, f"{part} divides {total} (reshape)")
        if tracing.holds(tracing.world.compare(part, ">", 0)):
            tracing.world.require_divides(part, total)
    return found


def _groups(tracing: Tracing, old: Sizes, new: Sizes) -> list[tuple[Sizes, Sizes]]:
    """Runs of dimensions that have as many elements before and after."""
    found: list[tuple[Sizes, Sizes]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        mine, other = i, j
        while True:
            left, right = tracing.product(old[i:mine]), tracing.product(new[j:other])
            if (mine > i or other > j) and _same(tracing, left, right):
                break
            if mine == len(old) and other == len(new):
                # Equal by a need, but not as polynomials: one group for the rest.
                break
            ahead = _longer(tracing, left, right)
            if (ahead and other < len(new)) or mine == len(old):
                other += 1
            else:
                mine += 1
        found.append((old[i:mine], new[j:other]))
        i, j = mine, other
    return found


def _note_folds(tracing: Tracing, old: Sizes, new: Sizes) -> None:
    """Note of which old sizes new ones are products, from the innermost on.

    What is left of a new size when those that divide it are taken is a part of the
    next old one.
    """
    left = [n for n in old if n.constant != 1]
    for size in reversed(new):
        parts: list[Integer] = []
        rest = size
        while left and rest.constant != 1:
            inner = tracing.world.quotient(rest, left[-1])
            if inner * left[-1] != rest:
                break
            parts.insert(0, left.pop())
            rest = inner
        if rest.constant != 1 and parts:
            parts.insert(0, rest)
        if len(parts) > 1:
            tracing.folds[size] = tuple(parts)
        if rest.constant != 1:
            return


def _same(tracing: Tracing, left: Integer, right: Integer) -> bool:
    for one, other in ((left, right), (right, left)):
        divisor = factor_of(one, other)
        if divisor is not None and tracing.world.divides(divisor, one):
            return True
    return left == right or tracing.holds(tracing.world.compare(left, "==", right))


def _longer(tracing: Tracing, left: Integer, right: Integer) -> bool:
    """Whether the left product is the larger one, as far as can be said."""
    if left.constant is not None and right.constant is not None:
        return left.constant > right.constant
    if tracing.holds(tracing.world.compare(left, ">=", right)):
        return True
    if tracing.holds(tracing.world.compare(left, "<=", right)):
        return False
    degree = [max((len(m) for m in n.terms), default=0) for n in (left, right)]
    return degree[0] > degree[1]


def _moved(
    tracing: Tracing, indices: Indices, sizes: Sizes, to: Sizes
) -> list[Integer]:
    """A position in some sizes as one in others of as many elements."""
    if sizes == to:
        return list(indices)
    if any(n.constant == 0 for n in to):
        return [Integer.of(0)] * len(to)
    world = tracing.world
    linear = Integer.of(0)
    for index, size in zip(indices, sizes, strict=True):
        linear = linear * size + index
    found: list[Integer] = []
    inner = Integer.of(1)
    for at, size in reversed(list(enumerate(to))):
        if size.constant == 1:
            found.append(Integer.of(0))
            continue
        digit = world.quotient(linear, inner)
        first = not any(n.constant != 1 for n in to[:at])
        found.append(digit if first else world.remainder(digit, size))
        inner = inner * size
    return found[::-1]


@traces(np.shape)
def shape(a: SymbolicArray) -> tuple[Any, ...]:
    """Sizes."""
    return a.shape


@traces(np.ndim)
def ndim(a: SymbolicArray) -> int:
    """The number of dimensions."""
    return a.ndim


@traces(np.size)
def size(a: SymbolicArray, axis: int | None = None) -> Any:
    """The number of elements, or of those along an axis."""
    return a.size if axis is None else a.shape[axis_of(axis, a.ndim)]
