"""Rows that numbers of a tensor share out, as formulas that torch traces.

Of segments that lie one behind the other, of rows that are repeated, and of elements
that a mask takes one after the other, a running sum says where each begins.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from argus.programs.operators.scattering_operators import MOST_COMPARISONS

_EMPTY = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": float("-inf"),
          "min": float("inf")}  # fmt: skip
"""What is made of no elements; the mean of none is NaN."""


def segment_decompositions() -> dict[Any, Callable[..., Any]]:
    """Formulas by the operator of torch that they are."""
    import torch

    aten = torch.ops.aten
    return {
        aten.repeat_interleave.Tensor: _repeated,
        aten.segment_reduce.default: _reduced,
        aten.masked_scatter_backward.default: _taken_in_order,
    }


def _repeated(repeats: Any, *, output_size: int | None = None) -> Any:
    """Each position as often as it is told; how many there are has to be known."""
    import torch

    if output_size is None or output_size * repeats.numel() > MOST_COMPARISONS:
        return NotImplemented
    ends = repeats.cumsum(0)
    at = torch.arange(output_size, device=repeats.device)
    return (ends <= at.unsqueeze(1)).sum(1).to(repeats.dtype)


def _taken_in_order(gradient: Any, mask: Any, sizes: Any) -> Any:
    """The elements where a mask is true, one after the other; behind them zeros."""
    import torch

    count = prod(sizes)
    taken = mask.expand(gradient.shape).reshape(-1)
    if count * taken.numel() > MOST_COMPARISONS:
        return NotImplemented
    place = torch.where(taken, taken.to(torch.int64).cumsum(0) - 1, count)
    made = gradient.new_zeros(count + 1).scatter(0, place, gradient.reshape(-1))
    return made[:count].reshape(sizes)


def _reduced(
    data: Any, reduce: str, *, lengths: Any = None, indices: Any = None,
    offsets: Any = None, axis: int = 0, unsafe: bool = False, initial: Any = None,
) -> Any:  # fmt: skip
    """Sums, means, products or extremes of segments of the rows along ``axis``."""
    import torch

    if indices is not None or (lengths is None) == (offsets is None):
        return NotImplemented
    starts, lengths = placed_segments(lengths, offsets, axis)
    if data.numel() * lengths.shape[axis] > MOST_COMPARISONS or not data.numel():
        return NotImplemented
    if not unsafe:
        right = lengths.sum(axis) == data.shape[axis]
        if offsets is not None:
            right = right & (offsets.select(axis, 0) == 0)
        right = right.all() & (lengths >= 0).all()
        what = "lengths of segments are not negative, and add up to all rows"
        torch.ops.aten._assert_async.msg(right, what)
    return segmented(data, reduce, starts, lengths, axis, initial)


def placed_segments(lengths: Any, offsets: Any, axis: int) -> tuple[Any, Any]:
    """Where segments begin along ``axis``, and how long they are."""
    if offsets is None:
        return lengths.cumsum(axis) - lengths, lengths
    count = offsets.shape[axis] - 1
    starts = offsets.narrow(axis, 0, count)
    return starts, offsets.narrow(axis, 1, count) - starts


def members(data: Any, starts: Any, lengths: Any, axis: int) -> Any:
    """Which rows of ``data`` along ``axis`` are in which segment, a new axis before."""
    import torch

    at = torch.arange(data.shape[axis], device=data.device)
    begin, long = starts.unsqueeze(-1), lengths.unsqueeze(-1)
    own = (at >= begin) & (at < begin + long)
    return own.reshape(*own.shape, *(1,) * (data.dim() - axis - 1))


def segmented(
    data: Any, reduce: str, starts: Any, lengths: Any, axis: int, initial: Any
) -> Any:
    """Each segment of ``data`` as one row, which begins with ``initial``."""
    import torch

    own = members(data, starts, lengths, axis)
    rows = torch.where(own, data.unsqueeze(axis), _EMPTY[reduce])
    first = _EMPTY[reduce] if initial is None else initial
    along = axis + 1
    match reduce:
        case "max":
            made = rows.amax(along)
            return made if initial is None else torch.where(made < first, first, made)
        case "min":
            made = rows.amin(along)
            return made if initial is None else torch.where(made > first, first, made)
        case "prod":
            return rows.prod(along) * first
        case _:
            total = rows.sum(along) + first
    if reduce == "sum":
        return total
    count = lengths.reshape(*lengths.shape, *(1,) * (data.dim() - axis - 1))
    if initial is None:
        return total / count
    return torch.where(count > 0, total / count, total)
