"""Functions that numpy computes in C, as what they are of others of its functions.

    np.copysign(x, y)    np.where(y < 0, -abs(x), abs(x))

What numpy itself defines in Python by others needs no definition here
(`own_sources.py`). A zero has no sign.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from argus.specification.array import SymbolicArray, size_of
from argus.specification.broadcasting import broadcast
from argus.specification.casting import lifted
from argus.specification.creating import arange
from argus.specification.indirect import within
from argus.specification.joining import tracing_of
from argus.specification.reshaping import shape_of
from argus.specification.table import call, refuse, traces
from argus.terms import Unknown

UFUNCS_BY_OTHERS: dict[np.ufunc, Callable[..., Any]] = {}
"""Functions of elements, and what they are of arrays."""


def defines(ufunc: np.ufunc) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark what a function of elements is of arrays."""

    def mark(definition: Callable[..., Any]) -> Callable[..., Any]:
        UFUNCS_BY_OTHERS[ufunc] = definition
        return definition

    return mark


@defines(np.heaviside)
def heaviside(x: Any, at_zero: Any) -> Any:
    """0 below 0, 1 above, and at 0 what is given."""
    return np.where(x < 0, 0.0, np.where(x > 0, 1.0, at_zero))


@defines(np.copysign)
def copysign(x: Any, y: Any) -> Any:
    """One number with the sign of another one."""
    pick: Any = np.where
    size = abs(x * 1.0)
    return pick(y < 0, -size, size)


@defines(np.signbit)
def signbit(x: Any) -> Any:
    """Whether a number is below 0."""
    return x < 0


@defines(np.arctan2)
def arctan2(y: Any, x: Any) -> Any:
    """The angle of a point."""
    turn = np.where(x < 0, np.where(y < 0, -math.pi, math.pi), 0.0)
    upright = np.where(y > 0, math.pi / 2, np.where(y < 0, -math.pi / 2, 0.0))
    return np.where(x == 0, upright, np.arctan(y / np.where(x == 0, 1.0, x)) + turn)


@defines(np.cbrt)
def cbrt(x: Any) -> Any:
    """The cube root, which has the sign of the number."""
    root = np.exp(np.log(np.where(x == 0, 1.0, np.abs(x))) / 3.0)
    return np.where(x == 0, 0.0, np.sign(x) * root)


@defines(np.arcsinh)
def arcsinh(x: Any) -> Any:
    """The inverse of the hyperbolic sine."""
    return np.log(x + np.sqrt(x * x + 1.0))


@defines(np.arccosh)
def arccosh(x: Any) -> Any:
    """The inverse of the hyperbolic cosine."""
    return np.log(x + np.sqrt(x * x - 1.0))


@defines(np.arctanh)
def arctanh(x: Any) -> Any:
    """The inverse of the hyperbolic tangent."""
    return 0.5 * np.log((1.0 + x) / (1.0 - x))


@defines(np.logaddexp2)
def logaddexp2(x: Any, y: Any) -> Any:
    """The logarithm of a sum of powers of 2."""
    return np.log2(np.exp2(x) + np.exp2(y))


@defines(np.degrees)
def degrees(x: Any) -> Any:
    """An angle in degrees."""
    return np.rad2deg(x)


@defines(np.radians)
def radians(x: Any) -> Any:
    """An angle of degrees."""
    return np.deg2rad(x)


@defines(np.modf)
def modf(x: Any) -> tuple[Any, Any]:
    """What stands behind the point, and the whole number before it."""
    whole = np.trunc(x * 1.0)
    return x - whole, whole


@defines(np.ldexp)
def ldexp(x: Any, exponent: Any) -> Any:
    """A number times a power of 2."""
    return x * np.exp2(exponent * 1.0)


@defines(np.conjugate)
def conjugate(x: Any) -> Any:
    """The number itself: complex ones have definitions of their own."""
    return x


@traces(np.sinc)
def sinc(x: SymbolicArray) -> Any:
    """sin(pi x) / (pi x), and 1 at 0 (numpy's text has a number near to 0 there)."""
    angle = math.pi * np.where(x == 0, 1.0, x)  # type: ignore[operator]
    return np.where(x == 0, 1.0, np.sin(angle) / angle)


@traces(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803
    """Powers of numbers, beside each other."""
    array = lifted(tracing_of(x, N), x)
    count = len(array) if N is None else operator.index(N)
    powers = range(count) if increasing else range(count - 1, -1, -1)
    return call(np.stack, [array**k for k in powers], axis=1)


@traces(np.isclose)
def isclose(
    a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Any:
    """Whether numbers differ by little; of finite ones none is NaN."""
    tracing = tracing_of(a, b, rtol, atol)
    x, y = lifted(tracing, a), lifted(tracing, b)
    return np.abs(x - y) <= atol + rtol * np.abs(y)


@traces(np.kron)
def kron(a: Any, b: Any) -> Any:
    """All products of elements: a matrix of copies of the second array."""
    tracing = tracing_of(a, b)
    left, right = lifted(tracing, a), lifted(tracing, b)
    rank = max(left.ndim, right.ndim)
    wide = [x[(*[None] * (rank - x.ndim), ...)] for x in (left, right)]
    key = (slice(None), None) * rank, (None, slice(None)) * rank
    product: Any = wide[0][key[0]] * wide[1][key[1]]
    shape = [m * n for m, n in zip(wide[0].shape, wide[1].shape, strict=True)]
    return product.reshape(tuple(shape))


@traces(np.vecdot, np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, axis: int = -1, **named: Any) -> Any:
    """Sums of products along a dimension, the last one."""
    refuse("np.vecdot", **named)
    if axis != -1:
        raise Unknown("the reference calls np.vecdot with axis=")
    return call(np.sum, x1 * x2, axis=-1)


@traces(np.matvec)
def matvec(x1: Any, x2: Any, **named: Any) -> Any:
    """Products of matrices and vectors."""
    refuse("np.matvec", **named)
    return call(np.sum, x1 * x2[..., None, :], axis=-1)


@traces(np.vecmat)
def vecmat(x1: Any, x2: Any, **named: Any) -> Any:
    """Products of vectors and matrices."""
    refuse("np.vecmat", **named)
    return call(np.sum, x1[..., :, None] * x2, axis=-2)


@traces(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Elements of the arrays that a table chooses."""
    refuse("np.choose", out=out)
    tracing = tracing_of(a, choices)
    given = list(choices)
    table, parts = lifted(tracing, a), [lifted(tracing, c) for c in given]
    table = within(table, len(parts), mode)
    sizes = broadcast(tracing, [x.sizes for x in (table, *parts)], "np.choose")
    shape = SymbolicArray(tracing, sizes, table.dtype, lambda _: table.at(())).shape
    stacked = call(np.stack, [np.broadcast_to(p, shape) for p in parts])  # type: ignore[call-overload]
    wide: Any = np.broadcast_to(table, shape)  # type: ignore[call-overload]
    return call(np.take_along_axis, stacked, wide[None], 0)[0]


@traces(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """A position of a flat array as one of each dimension."""
    refuse("np.unravel_index", order=None if order == "C" else order)
    rest, found = indices, list[Any]()
    several = isinstance(shape, tuple | list)
    sizes: list[Any] = list(cast(Any, shape)) if several else [shape]
    for size in reversed(sizes[1:]):
        found.append(rest % size)
        rest = rest // size
    return (rest, *reversed(found))


@traces(np.ravel_multi_index)
def ravel_multi_index(
    multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C"
) -> Any:
    """Positions of dimensions as one of the flat array."""
    refuse("np.ravel_multi_index", mode=None if mode == "raise" else mode)
    refuse("np.ravel_multi_index", order=None if order == "C" else order)
    total: Any = 0
    for index, size in zip(multi_index, dims, strict=True):
        total = total * size + index
    return total


@traces(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The type of several arrays and types."""
    plain = {"i": 0, "f": 0.0}
    parts: list[Any] = [
        (plain[x.dtype.kind] if x.weak else x.dtype)
        if isinstance(x, SymbolicArray)
        else x
        for x in arrays_and_dtypes
    ]
    return np.result_type(*parts)


@traces(np.broadcast_shapes)
def broadcast_shapes(*args: Any) -> tuple[Any, ...]:
    """The shape of arrays of several shapes together."""
    tracing = tracing_of(args)
    shapes = [shape_of(tracing, shape) for shape in args]
    found = broadcast(tracing, shapes, "np.broadcast_shapes")
    return tuple(size_of(tracing, n) for n in found)


@traces(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Sums of products over windows, of two arrays from their beginnings on."""
    tracing = tracing_of(a, v)
    return call(np.convolve, lifted(tracing, a), lifted(tracing, v)[::-1], mode)


@traces(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether elements of one type may become those of another."""
    given = from_.dtype if isinstance(from_, SymbolicArray) else from_
    wanted = to.dtype if isinstance(to, SymbolicArray) else to
    return bool(np.can_cast(given, wanted, casting))


def _window(count: Any, mean: float, swing: float) -> Any:
    """A cosine window: numpy's text writes its angles from the middle on."""
    tracing = tracing_of(count)
    along = arange(tracing, count)
    angle = 2 * math.pi * along / np.maximum(lifted(tracing, count) - 1, 1)
    return np.where(count == 1, 1.0, mean - swing * np.cos(angle))


@traces(np.hanning)
def hanning(M: Any) -> Any:  # noqa: N803 - numpy's name
    """The window of Hann."""
    return _window(M, 0.5, 0.5)


@traces(np.hamming)
def hamming(M: Any) -> Any:  # noqa: N803 - numpy's name
    """The window of Hamming."""
    return _window(M, 0.54, 0.46)
