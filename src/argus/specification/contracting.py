"""Sums of products: matmul, dot, tensordot, einsum.

All are `einsum`: letters of the result are positions, the others are summed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argus.specification.array import SymbolicArray, kind_of, size_of
from argus.specification.broadcasting import axes_of, broadcast
from argus.specification.cases import as_kind
from argus.specification.casting import lifted
from argus.specification.joining import tracing_of
from argus.specification.storage import Indices
from argus.specification.table import refuse, traces
from argus.terms import Integer, Unknown, Value, Variable, apply, reduce
from argus.terms.opening import Closing

Letters = tuple[int | str, ...]


def contracted(
    operands: Sequence[SymbolicArray], letters: Sequence[Letters], result: Letters
) -> SymbolicArray:
    """The sum of products over letters that the result lacks.

    Raises Unknown for integers that may wrap, and truth values.
    """
    tracing = operands[0].tracing
    world = tracing.world
    dtype = np.result_type(*(a.dtype for a in operands))
    kind = kind_of(dtype)
    if kind == "truth" or (kind == "integer" and dtype.itemsize < 4):
        raise Unknown(f"the reference multiplies matrices of {dtype}")
    sizes: dict[int | str, Integer] = {}
    for array, mine in zip(operands, letters, strict=True):
        if len(mine) != array.ndim:
            raise Unknown("the reference fails: a product with other dimensions")
        for letter, size in zip(mine, array.sizes, strict=True):
            known = sizes.get(letter)
            if known is None or known.constant == 1:
                sizes[letter] = size
            elif size.constant != 1:
                tracing.need_equal(known, size, "a product of matrices")
    missing = [x for x in result if x not in sizes]
    if missing or len(set(result)) != len(result):
        raise Unknown("the reference fails: letters of the result of einsum")
    summed = [x for x in sizes if x not in result]
    reads = [a.now() for a in operands]
    one = [[n.constant == 1 for n in a.sizes] for a in operands]

    def at(indices: Indices) -> Value:
        with Closing(world, Value.free_variables) as closed:
            return closed(product_at(indices))

    def product_at(indices: Indices) -> Value:
        place: dict[int | str, Integer] = dict(zip(result, indices, strict=True))
        names: list[Variable] = []
        for letter in summed:
            place[letter], own = tracing.positions("k", sizes[letter])
            names += own
        found: Value | None = None
        for read, mine, ones in zip(reads, letters, one, strict=True):
            own = tuple(
                Integer.of(0) if is_one else place[x]
                for x, is_one in zip(mine, ones, strict=True)
            )
            value = as_kind(world, read(own), kind)
            found = value if found is None else apply(world, "mul", found, value)
        assert found is not None
        return reduce(world, "sum", names, found) if names else found

    shape = tuple(sizes[x] for x in result)
    return SymbolicArray(tracing, shape, dtype, at)


@traces(np.matmul)
def matmul(x1: Any, x2: Any, **named: Any) -> SymbolicArray:
    """Matrices of the last two dimensions; the others are broadcast."""
    refuse("np.matmul", **named)
    tracing = tracing_of(x1, x2)
    a, b = lifted(tracing, x1), lifted(tracing, x2)
    if not a.ndim or not b.ndim:
        raise Unknown("the reference fails: matmul of a number")
    left: Letters = ("k",) if a.ndim == 1 else (*_batch(a.ndim - 2), "m", "k")
    right: Letters = ("k",) if b.ndim == 1 else (*_batch(b.ndim - 2), "k", "n")
    broadcast(tracing, [a.sizes[:-2], b.sizes[:-2]], "matmul")
    batch = _batch(max(a.ndim, b.ndim, 2) - 2)
    result = (*batch, *("m",) * (a.ndim > 1), *("n",) * (b.ndim > 1))
    tracing.need_equal(a.sizes[-1], b.sizes[max(b.ndim - 2, 0)], "matmul")
    return contracted([a, b], [left, right], result)


def _batch(count: int) -> Letters:
    """Dimensions that are broadcast, counted from the right."""
    return tuple(range(count, 0, -1))


@traces(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> SymbolicArray:
    """Sums over the last dimension of one and the last but one of the other."""
    refuse("np.dot", out=out)
    tracing = tracing_of(a, b)
    x, y = lifted(tracing, a), lifted(tracing, b)
    if not x.ndim or not y.ndim:
        return x * y
    left = tuple(f"a{d}" for d in range(x.ndim - 1))
    right = [f"b{d}" for d in range(y.ndim - 1)]
    tracing.need_equal(x.sizes[-1], y.sizes[max(y.ndim - 2, 0)], "dot")
    inner = [*right]
    inner.insert(max(y.ndim - 2, 0), "k")
    return contracted([x, y], [(*left, "k"), tuple(inner)], (*left, *right))


@traces(np.vdot)
def vdot(a: Any, b: Any, /) -> SymbolicArray:
    """The sum of products of all elements."""
    return dot(np.ravel(a), np.ravel(b))


@traces(np.inner)
def inner(a: Any, b: Any, /) -> SymbolicArray:
    """Sums over the last dimensions of both."""
    tracing = tracing_of(a, b)
    x, y = lifted(tracing, a), lifted(tracing, b)
    if not x.ndim or not y.ndim:
        return x * y
    return tensordot(x, y, ((-1,), (-1,)))


@traces(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> SymbolicArray:
    """All products of the elements of two arrays."""
    refuse("np.outer", out=out)
    tracing = tracing_of(a, b)
    x, y = lifted(tracing, a), lifted(tracing, b)
    return x.reshape(-1)[:, None] * y.reshape(-1)[None, :]


@traces(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> SymbolicArray:
    """Sums of products over windows of one, with the other from its end on.

    The second one is taken to be no longer than the first: else numpy exchanges them.
    """
    tracing = tracing_of(a, v)
    x, y = lifted(tracing, a), lifted(tracing, v)
    if x.ndim != 1 or y.ndim != 1 or mode not in ("full", "same", "valid"):
        raise Unknown(f"the reference calls np.convolve with mode={mode}")
    (length,), (taps,) = x.sizes, y.sizes
    fits = tracing.world.compare(taps, "<=", length)
    tracing.need(fits, f"{taps} <= {length} (np.convolve)", shape=True)
    border = size_of(tracing, taps - 1)
    wide: Any = x if mode == "valid" else np.pad(x, border)
    shape = size_of(tracing, taps)
    found: Any = np.lib.stride_tricks.sliding_window_view(wide, shape) @ y[::-1]
    if mode != "same":
        return found
    first = tracing.world.quotient(taps - 1, 2)
    return found[size_of(tracing, first) : size_of(tracing, first + length)]


@traces(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> SymbolicArray:
    """Sums over pairs of dimensions."""
    tracing = tracing_of(a, b)
    x, y = lifted(tracing, a), lifted(tracing, b)
    if isinstance(axes, int):
        mine: Any = tuple(range(x.ndim - axes, x.ndim))
        other: Any = tuple(range(axes))
    else:
        mine, other = axes
    first, second = axes_of(mine, x.ndim), axes_of(other, y.ndim)
    for p, q in zip(first, second, strict=True):
        tracing.need_equal(x.sizes[p], y.sizes[q], "tensordot")
    left: list[int | str] = [f"a{d}" for d in range(x.ndim)]
    right: list[int | str] = [f"b{d}" for d in range(y.ndim)]
    for p, q in zip(first, second, strict=True):
        right[q] = left[p]
    summed = {left[p] for p in first}
    result = tuple(s for s in (*left, *right) if s not in summed)
    return contracted([x, y], [tuple(left), tuple(right)], result)


@traces(np.einsum)
def einsum(*operands: Any, **named: Any) -> SymbolicArray:
    """Einstein's convention, as numpy's text says it."""
    named.pop("optimize", None)
    refuse("np.einsum", **named)
    text, *arrays = operands
    if not isinstance(text, str):
        raise Unknown("the reference calls np.einsum without a text")
    tracing = tracing_of(*arrays)
    given = [lifted(tracing, a) for a in arrays]
    left, arrow, right = text.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(given):
        raise Unknown("the reference fails: operands of np.einsum")
    rests = [
        a.ndim - len(t.replace("...", "")) for a, t in zip(given, inputs, strict=True)
    ]
    letters = [_letters(t, rest) for t, rest in zip(inputs, rests, strict=True)]
    widest = max(
        (r for r, t in zip(rests, inputs, strict=True) if "..." in t), default=0
    )
    if not arrow:
        plain = left.replace(",", "").replace(".", "")
        right = "..." * ("..." in left) + "".join(
            x for x in sorted(set(plain)) if plain.count(x) == 1
        )
    return contracted(given, letters, _letters(right, widest))


def _letters(text: str, rest: int) -> Letters:
    """Letters, and numbers for what an ellipsis stands for, from the right."""
    before, dots, after = text.partition("...")
    return (*before, *(_batch(rest) if dots else ()), *after)
