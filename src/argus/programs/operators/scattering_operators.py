"""Elements that are written where a table says, each computed where it is stored.

A kernel writes each element once: so the element looks for those that are written to
it, among all of the table. Added up they are a sum of what is kept of each, or, of rows
that a table moves as a whole, a product with a matrix of ones and zeros; of those that
replace each other the last one counts, which torch leaves open. That takes as many
comparisons or products as places times entries, and more stay in torch.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy

from argus.ir.dtypes import DType, bf16, f16, f32, i64
from argus.ir.numerics import arithmetic
from argus.programs.lowering.known_tables import digit_table
from argus.programs.operators.table_operators import gather
from argus.programs.tensors.numpy_functions import contracted
from argus.programs.tensors.operator_table import own
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""
_EXACT_FLOATS = 1 << 24
MOST_COMPARISONS = 1 << 28
"""As many as take no longer than torch, which adds in any order, by a few times."""
_LEAST_PRODUCTS = 1 << 24
"""Sums of fewer comparisons are not made products."""
_MOST_ONES = 1 << 24
"""Elements of the matrix that says which row is whose, at most."""
_MOST_PRODUCTS = 1 << 32
"""Products with it, at most: as long as torch sorts."""


def hits_of(table: Any, n: int, source: Any = None) -> Any:
    """(..., n, entries): whether an entry of the last dimension is a place.

    ``source``: what is compared as often as it has elements.
    """
    entries = max(table.size, source.size if isinstance(source, TensorArray) else 0)
    if entries * n > MOST_COMPARISONS:
        raise UntranslatedError(f"{entries} entries that are written to {n} places")
    recorder = table.recorder
    shape = (*table.shape[:-1], n, table.shape[-1])
    places = TensorArray(recorder, recorder.positions(shape, table.ndim - 1))
    return np.equal(table.cast(i64)[..., None, :], places)


@own("embedding_dense_backward")
def embedding_gradient(
    grad: TensorArray, table: TensorArray, n: int, padding: int, by_count: bool = False
) -> TensorArray:
    """Rows (n, d) that are sums of those (..., d) whose entry (...) is their place.

    A product with a matrix of ones and zeros, where there are few rows: else torch,
    which sorts the table, is faster. Those at the place ``padding`` are left out.
    Where a gradient is not finite all rows of its column are none.
    """
    entries, across = table.size, grad.shape[-1]
    if by_count:
        raise UntranslatedError("gradients of rows that are divided by their counts")
    if not _multiplied_fast(entries, n, across):
        raise UntranslatedError("gradients of many rows, which torch sorts")
    hits = hits_of(table.reshape(entries), n)
    if 0 <= padding < n:
        rows = TensorArray(grad.recorder, grad.recorder.positions((n, 1), 0))
        hits = np.logical_and(hits, np.not_equal(rows, padding))
    return _moved_rows(hits, grad.reshape(entries, across)).cast(grad.element)


def _multiplied_fast(entries: int, n: int, across: int) -> bool:
    """Whether a product with ones takes no longer than torch, and not much room."""
    return entries * n <= _MOST_ONES and entries * n * across <= _MOST_PRODUCTS


def _moved_rows(hits: Any, rows: Any) -> Any:
    """Sums (n, d) of those rows (entries, d) that hit (n, entries) a place, in f32.

    Every product is exact, and none is rounded as those of matrix products may be.
    """
    ones: Any = np.where(hits, 1.0, 0.0).cast(rows.element)
    found = contracted(
        rows.recorder, ones.operand, rows.operand, "mk", "kn", "mn",
        dtype=arithmetic(rows.element),
    )  # fmt: skip
    return TensorArray(rows.recorder, found)


def _added(x: Any, table: Any, source: Any) -> Any:
    """What is added to rows (..., n); None: not as products.

    Where one table (1, ..., entries) moves all of (..., entries), and there are enough.
    """
    entries, n = table.size, x.shape[-1]
    across = prod(x.shape[:-1])
    moved = table.shape[-1] == entries and source.element in (bf16, f16, f32)
    many = entries * n * across > _LEAST_PRODUCTS
    if not (moved and many and _multiplied_fast(entries, n, across)):
        return None
    hits = hits_of(table.reshape(entries), n)
    spread: Any = np.broadcast_to(source, (*x.shape[:-1], entries))
    rows: Any = np.moveaxis(spread, -1, 0).reshape(entries, -1)
    found: Any = _moved_rows(hits, rows)
    return np.moveaxis(found.reshape(n, *x.shape[:-1]), 0, -1)


def _last_hit(hits: Any) -> Any:
    """The last entry that hits each place, or -1."""
    recorder = hits.recorder
    at = TensorArray(recorder, recorder.positions(hits.shape, hits.ndim - 1))
    if hits.shape[-1] > _EXACT_FLOATS:
        raise UntranslatedError("more entries than f32 counts")
    chosen: Any = np.where(hits, at.cast(f32), -1.0)
    found: Any = np.max(chosen, -1).cast(i64)
    return TensorArray(recorder, recorder.copied(found.operand))


def replaced(x: Any, table: Any, source: Any) -> Any:
    """Rows (..., n) in which entries of (..., m) stand where the table says."""
    last = _last_hit(hits_of(table, x.shape[-1]))
    if isinstance(source, TensorArray):
        at: Any = np.broadcast_to(np.maximum(last, 0), x.shape)
        written: Any = _read(source, x.element, at)
    else:
        written = source
    found: Any = np.where(np.greater_equal(last, 0), written, x)
    if x.element.kind != "int":
        return found
    return TensorArray(x.recorder, x.recorder.copied(found.operand))  # perhaps a table


def _read(source: TensorArray, element: DType, at: Any) -> Any:
    """Elements of rows at places; of positions in order they are the places."""
    known = digit_table(source.reshape(-1).operand)
    if known is not None and known.sizes == (source.shape[-1],):
        places = at if known.factors == (1,) else at * known.factors[0]
        return (places + known.start if known.start else places).cast(element)
    given = source.cast(element)
    if given.operand.views:  # no reshape chooses from what is not in order
        given = TensorArray(given.recorder, given.recorder.copied(given.operand))
    return gather(given, -1, at)


def combined(x: Any, table: Any, source: Any, how: str, own_too: bool) -> Any:
    """Rows in which what is written is added up, or is a product or an extreme.

    Where what is added as a product is not finite, all of its column is none.
    """
    if how == "sum" and own_too and (added := _added(x, table, source)) is not None:
        return x.cast(added.element) + added
    hits = hits_of(table, x.shape[-1], source)
    wide = arithmetic(x.element) if x.element.is_float else x.element
    part: Any = source.cast(wide)[..., None, :]
    any_hit: Any = None
    number: Any = None
    if not own_too or how == "mean":
        count: Any = np.sum(hits.cast(i64), -1)
        any_hit = np.greater(count, 0)
        number = count + 1 if own_too else np.where(any_hit, count, 1)
    whole: Any = x.cast(wide)
    match how:
        case "sum" | "mean":
            found: Any = np.sum(np.where(hits, part, 0), -1)
            found = whole + found if own_too else found
            if how == "mean":
                found = (
                    found / number.cast(f32)
                    if wide.is_float
                    else np.floor_divide(found, number)
                )
        case "prod":
            found = np.prod(np.where(hits, part, 1), -1)
            found = whole * found if own_too else found
        case _:
            least = -np.inf if how == "amax" else np.inf
            if not wide.is_float:
                raise UntranslatedError("extremes of whole numbers that are written")
            rows = np.where(hits, part, least)
            found = np.max(rows, -1) if how == "amax" else np.min(rows, -1)
            joined = np.maximum if how == "amax" else np.minimum
            found = joined(whole, found) if own_too else found
    return found if own_too else np.where(any_hit, found, whole)


def _along(x: Any, dim: int, table: Any, source: Any) -> tuple[Any, Any, Any, Any]:
    """The part of ``x`` that a table may change, table and source, with rows last.

    And a function that puts the changed part into ``x``. Raises UntranslatedError
    where there are no entries.
    """
    if not table.size:
        raise UntranslatedError("a table without entries")
    if not x.ndim:
        parts = [
            t.reshape(1) if isinstance(t, TensorArray) else t for t in (table, source)
        ]
        rows, at, given, whole = _along(x.reshape(1), 0, *parts)

        def number(changed: Any) -> Any:
            return whole(changed).reshape(())

        return rows, at, given, number
    if not table.ndim:
        table, source = (
            table.reshape(1),
            (source.reshape(1) if isinstance(source, TensorArray) else source),
        )
    axis = dim % x.ndim
    part = tuple(
        slice(None) if d == axis else slice(0, n) for d, n in enumerate(table.shape)
    )
    rows: Any = np.moveaxis(x[part], axis, -1)
    at: Any = np.moveaxis(table, axis, -1)
    given = source
    if isinstance(source, TensorArray):
        own_part = source[tuple(slice(0, n) for n in table.shape)]
        given = np.moveaxis(own_part, axis, -1)

    def whole(changed: Any) -> Any:
        found: Any = np.moveaxis(changed, -1, axis)
        if found.shape == x.shape:
            return found
        recorder, inside = x.recorder, None
        for d, n in enumerate(found.shape):
            if n == x.shape[d]:
                continue
            one: Any = TensorArray(recorder, recorder.positions(x.shape, d)) < n
            inside = one if inside is None else np.logical_and(inside, one)
        more = [(0, m - n) for n, m in zip(found.shape, x.shape, strict=True)]
        found = found.cast(x.element)
        return np.where(inside, np.pad(found, more), x)

    return rows, at, given, whole


@own("scatter.src", "scatter.value")
def scatter(x: Any, dim: int, table: Any, source: Any) -> Any:
    """A copy with other elements along a dimension, by a table for each place."""
    rows, at, given, whole = _along(x, dim, table, source)
    return whole(replaced(rows, at, given))


@own("scatter_add")
def scatter_add(x: Any, dim: int, table: Any, source: Any) -> Any:
    """Every value is added along a dimension, by a table for each place."""
    return scatter_reduce(x, dim, table, source, "sum")


@own("scatter.reduce", "scatter.value_reduce")
def scatter_with(x: Any, dim: int, table: Any, source: Any, *, reduce: str) -> Any:
    """Every value is added, or is a factor."""
    if not isinstance(source, TensorArray):
        recorder = x.recorder
        source = TensorArray(recorder, recorder.filled(table.shape, source, x.element))
    how = {"add": "sum", "multiply": "prod"}[reduce]
    return scatter_reduce(x, dim, table, source, how)


@own("scatter_reduce.two")
def scatter_reduce(
    x: Any, dim: int, table: Any, source: Any, reduce: str, *,
    include_self: bool = True,
) -> Any:  # fmt: skip
    """Values combined along a dimension, by a table for each place."""
    rows, at, given, whole = _along(x, dim, table, source)
    return whole(combined(rows, at, given, reduce, include_self))


@own("index_add")
def index_add(
    x: Any, dim: int, table: Any, source: Any, *,
    alpha: Any = 1,
) -> Any:  # fmt: skip
    """Positions of a dimension to which those of another tensor are added."""
    return index_reduce(x, dim, table, source if alpha == 1 else source * alpha, "sum")


@own("index_reduce")
def index_reduce(
    x: Any, dim: int, table: Any, source: Any, reduce: str, *,
    include_self: bool = True,
) -> Any:  # fmt: skip
    """Positions of a dimension, with which those of another tensor are combined."""
    if not table.size:
        raise UntranslatedError("a table without entries")
    if not x.ndim:
        parts = (x.reshape(1), 0, table.reshape(1), source.reshape(1))
        found = index_reduce(*parts, reduce, include_self=include_self)
        return found.reshape(())
    rows, given = (np.moveaxis(t, dim, -1) for t in (x, source))
    at = table.reshape(*[1] * (x.ndim - 1), table.size)
    return np.moveaxis(combined(rows, at, given, reduce, include_self), -1, dim)
