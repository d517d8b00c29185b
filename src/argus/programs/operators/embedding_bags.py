"""Bags of embeddings: sums, means or extremes of rows of a matrix, and their gradients.

Bags of equally many positions are kernels; of others, whose ends only elements know,
torch computes the forward pass. Gradients are formulas of torch, which say for each
position which bag it is in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from argus.ir.dtypes import f32
from argus.programs.lowering.known_tables import digit_table
from argus.programs.operators.scattering_operators import MOST_COMPARISONS
from argus.programs.operators.table_operators import gather, rows_of
from argus.programs.tensors.operator_table import own
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""
_MEAN, _EXTREME = 1, 2
"""Modes of bags; 0 is the sum."""


@own("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    weight: TensorArray, table: TensorArray, offsets: TensorArray,
    scale: bool = False, mode: int = 0, sparse: bool = False,
    factors: TensorArray | None = None, last: bool = False, padding: int = -1,
) -> list[Any]:  # fmt: skip
    """Sums, means or extremes of rows of a matrix, of bags of equally many positions.

    Beside them, as torch gives them: which bag each position is in, how many positions
    count in each, and for extremes (of others None) which row each element is of.
    Positions ``padding`` do not count; of no others, all three are 0. Raises
    UntranslatedError for bags that begin elsewhere.
    """
    known = digit_table(offsets.operand)
    bags = offsets.shape[0] - last
    if known is None or known.start or len(known.sizes) > 1:
        raise UntranslatedError("bags of rows of different sizes")
    step = known.factors[0] if bags > 1 else table.shape[0]
    if not bags or not step or step * bags != table.shape[0]:
        raise UntranslatedError("bags of rows of different sizes")
    r, kind = table.recorder, table.element
    which = TensorArray(r, r.positions((bags, step), 0)).cast(kind).reshape(-1)
    table = table.reshape(bags, step)
    rows: Any = rows_of(weight, 0, table)
    if factors is not None:
        rows = rows * factors.reshape(bags, step, 1)
    if padding < 0:
        kept, size = None, TensorArray(r, r.filled((bags,), step, kind))
    else:
        kept = np.not_equal(table, padding)
        size = np.sum(kept, 1).cast(kind)
        rows = np.where(kept[..., None], rows, -math.inf if mode == _EXTREME else 0.0)
    if mode == _EXTREME:
        found, places = np.max(rows, 1), np.argmax(rows, 1)
        of: Any = gather(table, 1, places)
        if kept is not None:
            some = size[:, None] > 0
            found, of = np.where(some, found, 0.0), np.where(some, of, -1)
        return [found, which, size, of]
    found = np.sum(rows, 1)
    if mode == _MEAN and kept is None:
        found = found / float(step)
    elif mode == _MEAN:
        found = found / np.maximum(size, 1).cast(f32)[:, None]
    return [found, which, size, None]


def bag_decompositions() -> dict[Any, Callable[..., Any]]:
    """Gradients of bags as formulas of torch, by operator."""
    import torch

    aten = torch.ops.aten
    return {
        aten._embedding_bag_backward.default: _of_weights,
        aten._embedding_bag_per_sample_weights_backward.default: _of_factors,
    }


def _of_weights(
    gradient: Any, table: Any, offsets: Any, bags: Any, sizes: Any, places: Any,
    rows: int, by_count: bool, mode: int, sparse: bool, factors: Any,
    padding: int = -1,
) -> Any:  # fmt: skip
    """The gradient (rows, d) of the matrix.

    One that torch keeps sparse, or divides by how often a row is there, stays in torch.
    """
    import torch

    if sparse or by_count:
        return NotImplemented
    count = gradient.shape[0]
    if mode == _EXTREME:
        some = (sizes[:count, None] > 0) & (places >= 0)
        found = gradient.new_zeros((rows, gradient.shape[1]))
        at = torch.where(some, places, 0).long()
        return found.scatter_add(0, at, torch.where(some, gradient, 0.0))
    which = _bags_of(table, offsets, bags, count)
    if which is None:
        return NotImplemented
    given = gradient
    if mode == _MEAN:
        given = gradient / sizes[:count, None].clamp(min=1)
    given = given.index_select(0, which)
    if factors is not None:
        given = given * factors[:, None]
    dense = torch.ops.aten.embedding_dense_backward
    return dense(given, table, rows, padding, False)


def _of_factors(
    gradient: Any, weight: Any, table: Any, offsets: Any, bags: Any, mode: int,
    padding: int = -1,
) -> Any:  # fmt: skip
    """The gradient of the factor of each position."""
    import torch

    which = _bags_of(table, offsets, bags, gradient.shape[0])
    if which is None:
        return NotImplemented
    rows = weight.index_select(0, table)
    found = (gradient.index_select(0, which) * rows).sum(1)
    return torch.where(table != padding, found, 0.0) if padding >= 0 else found


def _bags_of(table: Any, offsets: Any, bags: Any, count: int) -> Any:
    """Which of ``count`` bags each position is in: on the CPU torch often keeps none.

    None where that takes more than `MOST_COMPARISONS`.
    """
    import torch

    if bags.numel() or not table.numel():
        return bags
    if table.numel() * count > MOST_COMPARISONS:
        return None
    at = torch.arange(table.numel(), device=table.device)
    return (at[:, None] >= offsets[:count]).sum(1) - 1
