"""Products of groups of rows, each with a matrix of its own (mixture of experts).

Rows are sorted by group; ``ends`` say where groups end. A tile of a product has one
matrix, so that groups begin at multiples of tiles: rows are moved there, tile t is
multiplied with the matrix that a table has for it, and results are read from there.

| value | has |
| --- | --- |
| `first`, `last` (G,) | the tiles of a group: from one to before the other |
| `matrices` (T,) | the matrix of tile t |
| `rows` (T, R) | the row of each place of a tile; where it is not `inside`, another |
| `places` (P,) | the place of each row, ``tile * R + row of the tile`` |

Sums along groups of rows are those of the tiles of a group.

There are as many tiles as any split of the rows over groups needs. Places without a row
have a row of the group, of whose product nothing is read, and 0 in one factor of a sum.
Rows behind the last group, of which torch says nothing, are read from the first place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from argus.ir.dtypes import bf16, f16, f32, i64
from argus.programs.operators.table_operators import index_select
from argus.programs.tensors.numpy_functions import contracted
from argus.programs.tensors.offsets import offsets_through
from argus.programs.tensors.operator_table import of_library, own
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""
_ROWS = (64, 128)
"""Rows of a tile, where groups are small and where they are large."""
_MOST_COPIED = 1 << 27
"""Elements of matrices of f32 that are copied, of six bytes each."""
_STEP = 16
"""Bytes of which strides of what TMA reads are multiples."""


@own("_grouped_mm")
def grouped_product(
    x: TensorArray, y: TensorArray, offs: Any = None, bias: Any = None,
    out_dtype: Any = None,
) -> Any:  # fmt: skip
    """Of (P, K) and (G, K, N) with the ends (G,) of groups of rows: (P, N).

    Of (G, M, K) and (K, P), whose groups are of columns, (M, P); of (M, P) and (P, N)
    sums along groups, (G, M, N); without ends a product of batches. Matrices of f32 are
    copied for each tile, in parts. Raises UntranslatedError where these are too many,
    for other elements than floats of 16 and 32 bits, and for matrices that TMA does not
    read.
    """
    if bias is not None:
        raise UntranslatedError("groups of rows with a bias")
    if x.ndim == y.ndim == 3:
        return np.matmul(x, y)
    if x.ndim == y.ndim:
        return _sums(x.T, y, offs)
    if x.ndim == 3:
        return grouped_product(y.T, np.swapaxes(x, 1, 2), offs).T
    _require_floats(x, y)
    tiles = _tiles(offs, x.shape[0])
    if x.element != f32:
        _require_steps(y)
    elif tiles.matrices.shape[0] * y.shape[1] * y.shape[2] > _MOST_COPIED:
        raise UntranslatedError("matrices of f32 that are copied for each tile")
    moved = tiles.moved(x)
    matrices = index_select(y, 0, tiles.matrices)
    product = contracted(
        x.recorder, moved.operand, matrices.operand, "tmk", "tkn", "tmn"
    )
    whole = TensorArray(x.recorder, x.recorder.copied(product))
    return index_select(whole.reshape(-1, y.shape[2]), 0, tiles.places)


def _zero_behind(x: TensorArray, ends: Any) -> Any:
    """Rows behind the last group are 0."""
    at = TensorArray(x.recorder, x.recorder.positions((x.shape[0], 1), 0))
    inside = np.less(at, ends.cast(i64)[int(ends.shape[0]) - 1])
    return np.where(inside, x, 0.0)


@of_library("transformers.grouped_mm_fallback")
def grouped_product_of_transformers(x: Any, y: Any, ends: Any) -> Any:
    """The same as `transformers` says it where torch has none, as for f32."""
    return _zero_behind(grouped_product(x, y, ends), ends)


@of_library("transformers.grouped_mm_fallback_backward")
def grouped_gradients_of_transformers(x: Any, y: Any, ends: Any, given: Any) -> Any:
    """Its gradients, of the rows and of the matrices."""
    rows = grouped_product(given, np.swapaxes(y, 1, 2), ends)
    return [_zero_behind(rows, ends), _sums(x, given, ends)]


def _sums(x: TensorArray, y: TensorArray, ends: Any) -> TensorArray:
    """The sums (G, M, N) of products of rows (P, M) and (P, N), of each group."""
    _require_floats(x, y)
    tiles = _tiles(ends, x.shape[0])
    left, right = tiles.moved(x, empty=True), tiles.moved(y)
    product = contracted(
        x.recorder, left.operand, right.operand, "trm", "trn", "gmn",
        between=(tiles.first.operand, tiles.last.operand),
    )  # fmt: skip
    return TensorArray(x.recorder, product)


def _require_floats(x: TensorArray, y: TensorArray) -> None:
    if x.element not in (bf16, f16, f32) or y.element != x.element:
        raise UntranslatedError(f"groups of rows of {x.element}")


def _require_steps(y: TensorArray) -> None:
    """Raises UntranslatedError where one matrix after the other would be copied."""
    found = offsets_through(y.operand)
    steps = [] if found is None else [s for s in found[0] if s != 1]
    if found is None or any(s * y.element.bytes % _STEP for s in (*steps, found[1])):
        raise UntranslatedError("matrices of groups whose rows do not fit 16 bytes")


@dataclass(frozen=True)
class _Tiles:
    """See the table above."""

    first: TensorArray
    last: TensorArray
    matrices: TensorArray
    rows: TensorArray
    inside: TensorArray
    places: TensorArray

    def moved(self, x: TensorArray, empty: bool = False) -> Any:
        """Rows (P, K) in tiles (T, R, K); where there is none another one, or 0."""
        read = index_select(x, 0, self.rows)
        if not empty:
            return read
        zero = x.recorder.cast(0, x.element)
        return np.where(self.inside[..., None], read, zero)


def _tiles(ends: Any, count: int) -> _Tiles:
    """Of groups in order; the group of a tile is the last that begins there or before.

    Each group but the first begins further than the one before by what the last tile of
    that has left over, so that a place is a sum over groups that begin before.
    """
    recorder, groups = ends.recorder, int(ends.shape[0])
    size = _ROWS[count > 2 * _ROWS[0] * groups]
    most = groups + max(0, count - groups) // size

    def positions(*shape: int, dim: int = 0) -> Any:
        return TensorArray(recorder, recorder.positions(shape, dim))

    def stored(x: Any) -> Any:
        return TensorArray(recorder, recorder.copied(x.operand))

    given, ends = ends, ends.cast(i64)
    begins: Any = np.pad(ends, ((1, 0),))[:groups]
    lengths: Any = np.maximum(ends - begins, 0)
    needed: Any = (lengths + (size - 1)) // size
    left: Any = np.pad(-lengths % size, ((1, 0),))[:groups]
    earlier = np.less(positions(groups, groups, dim=1), positions(groups, groups))
    first = stored(np.sum(np.where(earlier, needed[None, :], 0), 1))
    before = stored(first * size - begins)
    begun = np.less_equal(first[None, :], positions(most, groups))
    matrices = stored(np.sum(begun.cast(i64), 1) - 1)
    own: Any = [index_select(x, 0, matrices)[:, None] for x in (before, given)]
    rows: Any = positions(most, size) * size + positions(most, size, dim=1) - own[0]
    begun = np.less_equal(begins[None, :], positions(count, groups))
    further: Any = stored(np.sum(np.where(begun, left[None, :], 0), 1))
    inside = np.less(positions(count), ends[groups - 1])
    places = stored(np.where(inside, positions(count) + further, 0))
    end: Any = np.maximum(own[1], 1)
    within = np.less(rows, end)
    rows = stored(np.where(within, rows, end - 1))
    last = stored(np.minimum(first + needed, most))
    return _Tiles(first, last, matrices, rows, within, places)
