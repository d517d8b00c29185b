"""Complex arrays: pairs of arrays, the real and the imaginary parts.

A reference may compute with them what a kernel computes with two tensors. Only what is
made of sums and products of parts is traced, and the exponential; elements of an output
are real.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from argus.specification.array import REAL, SymbolicArray
from argus.specification.casting import converted, lifted
from argus.specification.table import call, name_of, refuse
from argus.specification.tracing import Tracing
from argus.terms import Unknown

__all__ = ["ComplexArray", "complex_ufunc", "is_complex"]


class ComplexArray(NDArrayOperatorsMixin):
    """Complex numbers with symbolic parts, both of one shape."""

    def __init__(self, real: SymbolicArray, imag: SymbolicArray) -> None:
        self.real, self.imag = real, imag

    @property
    def shape(self) -> tuple[Any, ...]:
        """See `SymbolicArray.shape`."""
        return self.real.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.real.ndim

    @property
    def T(self) -> ComplexArray:  # noqa: N802 - numpy's name
        """All dimensions in reverse."""
        return ComplexArray(self.real.T, self.imag.T)

    @property
    def mT(self) -> ComplexArray:  # noqa: N802 - numpy's name
        """The last two dimensions swapped."""
        return ComplexArray(self.real.mT, self.imag.mT)

    def conj(self) -> ComplexArray:
        """The complex conjugate."""
        return ComplexArray(self.real, -self.imag)

    conjugate = conj

    def reaches(self) -> tuple[Any, ...]:
        """Its parts."""
        return self.real, self.imag

    def __getitem__(self, key: Any) -> ComplexArray:
        return ComplexArray(self.real[key], self.imag[key])

    def __getattr__(self, name: str) -> Any:
        """A method that does to both parts what it does to an array."""
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        if name not in _OF_PARTS:
            raise Unknown(f"the reference uses ndarray.{name} of complex numbers")

        def of_parts(*args: Any, **named: Any) -> ComplexArray:
            real, imag = (getattr(p, name) for p in (self.real, self.imag))
            return ComplexArray(real(*args, **named), imag(*args, **named))

        return of_parts

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise Unknown("the reference makes a plain array of a complex one")

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any
    ) -> Any:
        if method != "__call__":
            raise Unknown(f"the reference calls {name_of(ufunc)}.{method}: complex")
        return complex_ufunc(self.real.tracing, ufunc, inputs, named)


_OF_PARTS = {
    "copy", "cumsum", "diagonal", "flatten", "mean", "ravel", "reshape", "sum",
    "squeeze", "swapaxes", "take", "trace", "transpose",
}  # fmt: skip
"""Methods that are linear, and real."""

Pair = tuple[Any, Any]


def is_complex(value: Any) -> bool:
    """Whether something is complex: an array of parts, or a number."""
    if isinstance(value, np.generic):
        return bool(np.iscomplexobj(value))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(value, ComplexArray | complex)


def complex_ufunc(
    tracing: Tracing, ufunc: np.ufunc, inputs: Sequence[Any], named: dict[str, Any]
) -> Any:
    """A ufunc of which some arguments are complex. Raises Unknown without a rule."""
    rule = _RULES.get(ufunc)
    if rule is None:
        raise Unknown(f"the reference calls {name_of(ufunc)} of complex numbers")
    refuse(f"{name_of(ufunc)} of complex numbers", **named)
    real, imag = rule(*(_parts(tracing, x) for x in inputs))
    if imag is None:
        return real
    both = [lifted(tracing, part) for part in (real, imag)]
    return ComplexArray(*call(np.broadcast_arrays, *both))


def _parts(tracing: Tracing, value: Any) -> Pair:
    if isinstance(value, ComplexArray):
        return value.real, value.imag
    if is_complex(value):
        number = complex(value)
        return number.real, number.imag
    array = lifted(tracing, value)
    return converted(array, REAL) if array.kind != "real" else array, 0.0


def _added(a: Pair, b: Pair) -> Pair:
    return a[0] + b[0], a[1] + b[1]


def _subtracted(a: Pair, b: Pair) -> Pair:
    return a[0] - b[0], a[1] - b[1]


def _multiplied(a: Pair, b: Pair) -> Pair:
    return _product_of_parts(_times, a, b)


def _matrix_product(a: Pair, b: Pair) -> Pair:
    if isinstance(a[0], float) or isinstance(b[0], float):
        raise Unknown("the reference multiplies a matrix with a number by np.matmul")
    return _product_of_parts(_matrix_times, a, b)


def _product_of_parts(times: Callable[[Any, Any], Any], a: Pair, b: Pair) -> Pair:
    real = times(a[0], b[0]) - times(a[1], b[1])
    return real, times(a[0], b[1]) + times(a[1], b[0])


def _times(a: Any, b: Any) -> Any:
    return 0.0 if _is_nothing(a) or _is_nothing(b) else a * b


def _matrix_times(a: Any, b: Any) -> Any:
    return 0.0 if _is_nothing(a) or _is_nothing(b) else call(np.matmul, a, b)


def _is_nothing(part: Any) -> bool:
    """Whether a part is that of a number without one."""
    return isinstance(part, float) and part == 0.0


def _divided(a: Pair, b: Pair) -> Pair:
    if not _is_nothing(b[1]):
        raise Unknown("the reference divides by a complex number")
    return a[0] / b[0], a[1] / b[0]


def _negative(a: Pair) -> Pair:
    return -a[0], -a[1]


def _conjugate(a: Pair) -> Pair:
    return a[0], -a[1]


def _exponential(a: Pair) -> Pair:
    size = np.exp(a[0])
    return size * np.cos(a[1]), size * np.sin(a[1])


def _absolute(a: Pair) -> Pair:
    return np.sqrt(a[0] * a[0] + a[1] * a[1]), None


_RULES: dict[np.ufunc, Callable[..., Pair]] = {
    np.add: _added,
    np.subtract: _subtracted,
    np.multiply: _multiplied,
    np.matmul: _matrix_product,
    np.divide: _divided,
    np.negative: _negative,
    np.conjugate: _conjugate,
    np.exp: _exponential,
    np.absolute: _absolute,
}
"""Real and imaginary parts of a result, from those of its arguments."""
