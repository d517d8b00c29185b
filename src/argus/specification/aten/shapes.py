"""Operators of ATen that move elements, and that make tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.specification.array import SymbolicArray
from argus.specification.aten.table import aten, numpy_type
from argus.specification.broadcasting import axis_of, expanded
from argus.specification.casting import converted
from argus.specification.creating import arange as numbers
from argus.specification.creating import empty as unwritten
from argus.specification.creating import filled
from argus.specification.reshaping import integer_of
from argus.specification.tracing import Tracing
from argus.terms import Unknown

_reshape: Any = np.reshape
_END = 2**63 - 1
"""What torch says for the end of a dimension."""


@aten("view", "_unsafe_view", "reshape", "_reshape_alias", "view_copy")
def view(x: Any, shape: Any, *_: Any) -> Any:
    """The same elements in another shape."""
    return _reshape(x, tuple(shape))


@aten("permute", "permute_copy")
def permute(x: Any, dims: Any) -> Any:
    """Dimensions in another order."""
    return np.transpose(x, list(dims))


@aten("t")
def t(x: Any) -> Any:
    """The two dimensions of a matrix exchanged."""
    return np.transpose(x)


@aten("transpose.int")
def transpose_int(x: Any, first: int, second: int) -> Any:
    """Two dimensions exchanged."""
    return np.swapaxes(x, first, second)


@aten("expand", "expand_copy")
def expand(x: Any, shape: Any, **_: Any) -> Any:
    """Repeated along dimensions of size 1; -1 keeps a size."""
    tracing = x.tracing
    wanted = [integer_of(tracing, n) for n in shape]
    ahead = len(wanted) - x.ndim
    sizes = tuple(
        x.sizes[d - ahead] if n.constant == -1 else n for d, n in enumerate(wanted)
    )
    return expanded(x, sizes, "expand")


@aten("unsqueeze")
def unsqueeze(x: Any, dim: int) -> Any:
    """A new dimension of size 1."""
    return np.expand_dims(x, dim)


@aten("squeeze.dim", "squeeze.dims")
def squeeze(x: Any, dim: Any) -> Any:
    """Without some dimensions, where they have size 1."""
    dims = [dim] if isinstance(dim, int) else list(dim)
    sizes = [x.shape[axis_of(d, x.ndim)] for d in dims]
    gone = [
        d for d, n in zip(dims, sizes, strict=True) if isinstance(n, int) and n == 1
    ]
    return np.squeeze(x, tuple(gone)) if gone else x


@aten("slice.Tensor", "slice_copy.Tensor")
def slice_(
    x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    """A part of a dimension."""
    last = None if isinstance(end, int) and end >= _END else end
    key = [slice(None)] * axis_of(dim, x.ndim)
    return x[(*key, slice(start, last, step))]


@aten("select.int", "select_copy.int")
def select(x: Any, dim: int, index: Any) -> Any:
    """One position of a dimension."""
    return x[(*[slice(None)] * axis_of(dim, x.ndim), index)]


@aten("slice_scatter")
def slice_scatter(
    x: Any, source: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    """A copy in which a part of a dimension is replaced."""
    made = x.copy()
    last = None if isinstance(end, int) and end >= _END else end
    key = [slice(None)] * axis_of(dim, x.ndim)
    made[(*key, slice(start, last, step))] = source
    return made


@aten("select_scatter")
def select_scatter(x: Any, source: Any, dim: int, index: Any) -> Any:
    """A copy in which one position of a dimension is replaced."""
    made = x.copy()
    made[(*[slice(None)] * axis_of(dim, x.ndim), index)] = source
    return made


@aten("cat")
def cat(tensors: Any, dim: int = 0) -> Any:
    """One after the other."""
    return np.concatenate(list(tensors), dim)


@aten("stack")
def stack_(tensors: Any, dim: int = 0) -> Any:
    """Along a new dimension."""
    return np.stack(list(tensors), dim)


@aten("split_with_sizes", "split_with_sizes_copy")
def split_with_sizes(x: Any, sizes: Any, dim: int = 0) -> Any:
    """Parts of some sizes."""
    key = [slice(None)] * axis_of(dim, x.ndim)
    begin: Any = 0
    parts: list[Any] = []
    for size in sizes:
        parts.append(x[(*key, slice(begin, begin + size))])
        begin = begin + size
    return parts


@aten("unbind.int")
def unbind(x: Any, dim: int = 0) -> Any:
    """The positions of a dimension, whose number has to be known."""
    return list(np.moveaxis(x, dim, 0))


@aten("repeat")
def repeat(x: Any, repeats: Any) -> Any:
    """The whole tensor several times."""
    return np.tile(x, list(repeats))


@aten("flip")
def flip(x: Any, dims: Any) -> Any:
    """Dimensions read backwards."""
    return np.flip(x, tuple(dims))


@aten("roll")
def roll(x: Any, shifts: Any, dims: Any = ()) -> Any:
    """Elements moved along dimensions."""
    return np.roll(x, tuple(shifts), tuple(dims) or None)


@aten("constant_pad_nd")
def constant_pad(x: Any, widths: Any, value: Any = 0) -> Any:
    """A border; widths come in pairs, the last dimension's first."""
    pairs = [(widths[i], widths[i + 1]) for i in range(0, len(widths), 2)][::-1]
    before = [(0, 0)] * (x.ndim - len(pairs))
    if any(isinstance(w, int) and w < 0 for pair in pairs for w in pair):
        raise Unknown("the graph pads by a negative width")
    return np.pad(x, [*before, *pairs], constant_values=value)


@aten("tril")
def tril_(x: Any, diagonal: int = 0) -> Any:
    """What lies on and below a diagonal."""
    return np.tril(x, diagonal)


@aten("triu")
def triu_(x: Any, diagonal: int = 0) -> Any:
    """What lies on and above a diagonal."""
    return np.triu(x, diagonal)


@aten("diagonal", "diagonal_copy")
def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A diagonal of two dimensions."""
    return np.diagonal(x, offset, dim1, dim2)


@aten("full_like")
def full_like(x: Any, value: Any, *, dtype: Any = None, **_: Any) -> Any:
    """One value in the shape of a tensor."""
    wanted = x.dtype if dtype is None else numpy_type(dtype)
    return np.full_like(x, value, wanted)


@aten("sym_size.int")
def sym_size(x: Any, dim: int) -> Any:
    """A size."""
    return x.shape[dim]


@aten("sym_numel")
def sym_numel(x: Any) -> Any:
    """The number of elements."""
    return x.size


def _typed(array: SymbolicArray, dtype: Any) -> SymbolicArray:
    return array if dtype is None else converted(array, numpy_type(dtype))


def full(
    tracing: Tracing, shape: Any, value: Any, *, dtype: Any = None, **_: Any
) -> Any:
    """One value."""
    return filled(
        tracing, tuple(shape), value, None if dtype is None else numpy_type(dtype)
    )


def empty(tracing: Tracing, shape: Any, *, dtype: Any = None, **_: Any) -> Any:
    """Elements that nothing is known of until they are written."""
    return unwritten(
        tracing, tuple(shape), None if dtype is None else numpy_type(dtype)
    )


def zeros(tracing: Tracing, shape: Any, *, dtype: Any = None, **_: Any) -> Any:
    """Zeros."""
    return full(tracing, shape, 0.0 if dtype is None else 0, dtype=dtype)


def ones(tracing: Tracing, shape: Any, *, dtype: Any = None, **_: Any) -> Any:
    """Ones."""
    return full(tracing, shape, 1.0 if dtype is None else 1, dtype=dtype)


def arange(
    tracing: Tracing,
    start: Any,
    end: Any,
    step: Any = 1,
    *,
    dtype: Any = None,
    **_: Any,
) -> Any:
    """Numbers with a step."""
    return _typed(numbers(tracing, start, end, step), dtype)


def scalar_tensor(tracing: Tracing, value: Any, *, dtype: Any = None, **_: Any) -> Any:
    """A number."""
    return full(tracing, (), value, dtype=dtype)


CREATING = {
    "aten.empty.memory_format": empty,
    "aten.full.default": full,
    "aten.zeros.default": zeros,
    "aten.ones.default": ones,
    "aten.arange.start_step": arange,
    "aten.scalar_tensor.default": scalar_tensor,
}
"""Operators without a tensor to tell them the trace."""
