"""Reductions, scans, matrix products and softmax of ATen."""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.specification.aten.table import aten, dims_of, in_reals, numpy_type
from argus.terms import Unknown

_cumprod: Any = np.cumprod


def _typed(x: Any, dtype: Any) -> Any:
    return x if dtype is None else x.astype(numpy_type(dtype))


@aten("sum", "sum.dim_IntList")
def sum_dim(
    x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """The sum along dimensions."""
    return np.sum(_typed(x, dtype), dims_of(dim), keepdims=keepdim)


@aten("mean", "mean.dim")
def mean_dim(
    x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """The mean along dimensions."""
    return np.mean(_typed(x, dtype), dims_of(dim), keepdims=keepdim)


@aten("amax")
def amax(x: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The largest along dimensions."""
    return np.max(x, dims_of(list(dim)), keepdims=keepdim)


@aten("amin")
def amin(x: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The smallest along dimensions."""
    return np.min(x, dims_of(list(dim)), keepdims=keepdim)


@aten("max", "max.dim")
def max_dim(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest; along a dimension with its first position."""
    if dim is None:
        return np.max(x)
    return np.max(x, dim, keepdims=keepdim), np.argmax(x, dim, keepdims=keepdim)


@aten("min", "min.dim")
def min_dim(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest; along a dimension with its first position."""
    if dim is None:
        return np.min(x)
    return np.min(x, dim, keepdims=keepdim), np.argmin(x, dim, keepdims=keepdim)


@aten("argmax")
def argmax_dim(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The first position of the largest."""
    return np.argmax(x, dim, keepdims=keepdim)


@aten("argmin")
def argmin_dim(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The first position of the smallest."""
    return np.argmin(x, dim, keepdims=keepdim)


@aten("prod", "prod.dim_int")
def prod_dim(
    x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """The product along a dimension."""
    return np.prod(_typed(x, dtype), dim, keepdims=keepdim)


@aten("var.dim")
def var_unbiased(
    x: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False
) -> Any:
    """The variance along dimensions, over one element less where ``unbiased``."""
    return var_dim(x, dim, correction=int(unbiased), keepdim=keepdim)


@aten("var.correction")
def var_dim(
    x: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False
) -> Any:
    """The variance along dimensions."""
    ddof = 1 if correction is None else correction
    return np.var(x, dims_of(dim), ddof=ddof, keepdims=keepdim)


@aten("var_mean.correction")
def var_mean(
    x: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False
) -> Any:
    """The variance and the mean along dimensions."""
    both = var_dim(x, dim, correction=correction, keepdim=keepdim)
    return both, mean_dim(x, dim, keepdim)


@aten("any", "any.dim", "any.dims")
def any_dim(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether any is true."""
    return np.any(x, dims_of(dim), keepdims=keepdim)


@aten("all", "all.dim", "all.dims")
def all_dim(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether all are true."""
    return np.all(x, dims_of(dim), keepdims=keepdim)


@aten("cumsum")
def cumsum_dim(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Sums up to each element."""
    return np.cumsum(_typed(x, dtype), dim)


@aten("cumprod")
def cumprod_dim(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Products up to each element."""
    return _cumprod(_typed(x, dtype), dim)


@in_reals("cummax")
def cummax_dim(x: Any, dim: int) -> Any:
    """The largest up to each element; its position is not known."""
    return np.maximum.accumulate(x, dim), None


@in_reals("cummin")
def cummin_dim(x: Any, dim: int) -> Any:
    """The smallest up to each element; its position is not known."""
    return np.minimum.accumulate(x, dim), None


@in_reals("logcumsumexp")
def logcumsumexp(x: Any, dim: int) -> Any:
    """The logarithm of sums of exponentials up to each element."""
    return np.log(np.cumsum(np.exp(x), dim))


@aten("_softmax", "_safe_softmax")
def softmax(x: Any, dim: int, *_: Any) -> Any:
    """``exp(x - max) / Σ exp(x - max)``."""
    shifted = np.exp(x - np.max(x, dim, keepdims=True))
    return shifted / np.sum(shifted, dim, keepdims=True)


@aten("_log_softmax")
def log_softmax(x: Any, dim: int, *_: Any) -> Any:
    """The logarithm of softmax."""
    centred = x - np.max(x, dim, keepdims=True)
    return centred - np.log(np.sum(np.exp(centred), dim, keepdims=True))


@aten("logsumexp")
def logsumexp(x: Any, dim: Any, keepdim: bool = False) -> Any:
    """The logarithm of a sum of exponentials."""
    largest = np.max(x, dims_of(dim), keepdims=True)
    total = np.sum(np.exp(x - largest), dims_of(dim), keepdims=True)
    found = largest + np.log(total)
    return found if keepdim else np.squeeze(found, dims_of(dim))


@aten("linalg_vector_norm")
def vector_norm(
    x: Any, order: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """The norm along dimensions, for whole orders and infinity."""
    given = dims_of(dim)
    if given is None:
        given = tuple(range(x.ndim))
    if order == 2:
        return np.sqrt(np.sum(x * x, given, keepdims=keepdim))
    if order == 1:
        return np.sum(abs(x), given, keepdims=keepdim)
    if order == float("inf"):
        return np.max(abs(x), given, keepdims=keepdim)
    if order > 0 and order == int(order):
        total = np.sum(abs(x) ** int(order), given, keepdims=keepdim)
        return total ** (1.0 / int(order))
    raise Unknown(f"the graph has a norm of order {order}")


@aten("mm", "bmm", "mv")
def mm(x: Any, y: Any) -> Any:
    """The product of matrices."""
    return x @ y


@in_reals("_trilinear")
def trilinear(
    a: Any, b: Any, c: Any, more_a: Any, more_b: Any, more_c: Any, dims: Any, *_: Any
) -> Any:
    """The sum of products of three, each with new dimensions, over dimensions."""
    wide = [
        np.expand_dims(x, tuple(more)) if more else x
        for x, more in ((a, more_a), (b, more_b), (c, more_c))
    ]
    return np.sum(wide[0] * wide[1] * wide[2], dims_of(dims))


@in_reals("_cdist_forward")
def cdist(x: Any, y: Any, order: float, *_: Any) -> Any:
    """The norm of the difference of each row of one and each of the other."""
    return vector_norm(x[..., :, None, :] - y[..., None, :, :], order, [-1])


@aten("dot")
def dot_(x: Any, y: Any) -> Any:
    """The sum of products of two vectors."""
    return np.dot(x, y)


@aten("addmm", "baddbmm", "addmv")
def addmm(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * x + alpha * a @ b``."""
    product = a @ b
    return (x if beta == 1 else beta * x) + (product if alpha == 1 else alpha * product)
