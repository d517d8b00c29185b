"""Distances between rows, their gradients, and norms of any order."""

from __future__ import annotations

import math
from typing import Any

import numpy

from argus.ir.dtypes import f32, f64
from argus.programs.operators.pointwise_operators import power
from argus.programs.tensors.operator_table import element_type, own
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError
from argus.specification.aten.table import OPERATORS

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""


def _wide(x: Any) -> Any:
    """In f32, or in f64 as it is."""
    return x if x.element == f64 else x.cast(f32)


def _norm(x: Any, order: float, axis: Any, keep: bool = False) -> Any:
    """``sum(abs(x) ** order) ** (1 / order)`` over dimensions, and its limits."""
    size: Any = np.abs(x)
    if order in (math.inf, -math.inf):
        if not size.size:
            raise UntranslatedError("an extreme of no elements")
        return (np.max if order > 0 else np.min)(size, axis, keepdims=keep)
    if order == 0:
        return np.sum(np.not_equal(size, 0.0).cast(x.element), axis, keepdims=keep)
    if order == 1:
        return np.sum(size, axis, keepdims=keep)
    if order == 2:
        return np.sqrt(np.sum(x * x, axis, keepdims=keep))
    return power(np.sum(power(size, order), axis, keepdims=keep), 1.0 / order)


@own("linalg_vector_norm")
def vector_norm(
    x: Any, order: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """A norm over dimensions, or of all elements.

    Of 16 bits in f32, as in torch: a square may be too large for them.
    """
    if dtype is not None:
        x = x.cast(element_type(dtype))
    wide = _wide(x)
    if order in (1, 2):
        known = OPERATORS["aten.linalg_vector_norm.default"]
        return known(wide, order, dim, keepdim)
    axes = tuple(range(x.ndim)) if dim is None else dim
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    if not x.ndim:
        return np.squeeze(_norm(wide.reshape(1), float(order), (0,)))
    return _norm(wide, float(order), axes or tuple(range(x.ndim)), keepdim)


@own("_cdist_forward")
def distances(x: Any, y: Any, order: float, _: Any = None) -> Any:
    """(..., P, R): the norm of row p of one less row r of the other."""
    if not x.shape[-1]:
        r, shape = x.recorder, (*x.shape[:-1], y.shape[-2])
        return TensorArray(r, r.filled(shape, 0.0, _wide(x).element))
    apart: Any = x[..., :, None, :] - y[..., None, :, :]
    return _norm(_wide(apart), order, -1)


@own("_cdist_backward")
def distances_backward(given: Any, x: Any, y: Any, order: float, found: Any) -> Any:
    """(..., P, M): the gradient of the rows of one."""
    apart: Any = _wide(x[..., :, None, :] - y[..., None, :, :])
    wide, length = (_wide(t)[..., None] for t in (given, found))
    if order == 0:
        part = apart * 0.0
    elif order == 1:
        part = wide * np.sign(apart)
    elif order == math.inf:
        part = (
            wide * np.sign(apart) * np.equal(np.abs(apart), length).cast(apart.element)
        )
    elif order == 2:
        same = np.equal(length, 0.0)
        part = np.where(same, 0.0, wide * apart / np.where(same, 1.0, length))
    else:
        none = np.equal(length, 0.0) | np.equal(apart, 0.0)
        size = power(np.where(none, 1.0, np.abs(apart)), order - 1.0)
        below = power(np.where(none, 1.0, length), order - 1.0)
        part = np.where(none, 0.0, wide * np.sign(apart) * size / below)
    return np.sum(part, -2)
