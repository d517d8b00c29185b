"""Whether what a reference says hangs on how its own numbers are rounded.

    noisy = with_noise(array, Rounding(0))     # as an argument of it

What such an array is used for is rounded as a kernel would round it, at random: a
function of floats whose result is not exact is off by up to one unit, and a sum by one
of all that it adds, which may cancel; what is too small for 64 bits is not 0. A
reference that then says something else (it rounds to whole numbers, compares, or
cancels nearly everything) is no judge of that element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from argus.interpret.numbers import Array
from argus.ir.dtypes import f32

__all__ = ["Rounding", "with_noise"]

_LARGEST = float(np.finfo(np.float32).max)
_SMALL = 2.0**-1000
_MOST = 1 << 16
"""Elements of which it is asked whether they are exact, at most."""
_ASKED = frozenset(
    (np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal)
)
"""Functions that say something of what is no number, as if it was one."""
_EXACT = frozenset(
    (np.negative, np.absolute, np.positive, np.maximum, np.minimum, np.fmax, np.fmin)
) | {np.floor, np.ceil, np.rint, np.trunc, np.sign, np.fabs, np.copysign}
"""Functions whose results are exact."""
_SUMS = frozenset(
    (np.dot, np.vdot, np.inner, np.einsum, np.tensordot, np.convolve, np.correlate)
)
"""Functions that add up products, and are no `ufunc`."""


class Rounding:
    """A way to round: by odd seeds each element otherwise, by even ones all alike.

    Of elements that are equal the largest would else be too large as a rule.
    ``decided``: whether something that is no number has been compared. ``placed``:
    whether the place of an extreme was asked where there is such. ``beyond``: whether
    a result was larger than f32 holds, where that is what is computed in.
    """

    def __init__(self, seed: int, roundoff: float = f32.roundoff) -> None:
        # How far results are off, of their size: what constants are rounded by, too.
        self._unit = 2 * roundoff
        self._rng, self._each = np.random.default_rng(seed), seed % 2 == 1
        self._largest = _LARGEST if roundoff >= f32.roundoff else np.inf
        self.decided = False
        self.placed = False
        self.beyond = False

    def notice(self, values: Array) -> None:
        """Look whether a result is larger than f32 holds."""
        large = np.isfinite(values) & (np.abs(values) > self._largest)
        self.beyond = self.beyond or bool(large.any())

    def factors(self, shape: tuple[int, ...]) -> Array:
        """What results of that shape are multiplied by."""
        return 1.0 + self._unit * self._rng.uniform(
            -1.0, 1.0, shape if self._each else ()
        )


class _Noisy(np.ndarray[Any, Any]):
    """An array whose functions are not exact."""

    rounding: Rounding

    def __array_finalize__(self, obj: Any) -> None:
        self.rounding = getattr(obj, "rounding", None) or Rounding(0)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        one = isinstance(found, np.floating)
        return _as_noisy(np.asarray(found), self.rounding) if one else found

    def argmax(self, *args: Any, **named: Any) -> Any:
        """Of what is no number it says the place of that."""
        self.rounding.placed = self.rounding.placed or _has_nan(self)
        return _plain(self).argmax(*args, **named)

    def argmin(self, *args: Any, **named: Any) -> Any:
        """As :meth:`argmax`."""
        self.rounding.placed = self.rounding.placed or _has_nan(self)
        return _plain(self).argmin(*args, **named)

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **named: Any
    ) -> Any:
        plain: list[Any] = [_plain(x) for x in inputs]
        out = named.pop("out", None)
        if out is not None:
            named["out"] = tuple(_plain(x) for x in out)
        made = getattr(ufunc, method)(*plain, **named)
        if ufunc in _ASKED and any(map(_has_nan, plain)):
            self.rounding.decided = True
        if method == "at" or out is not None:
            return None if out is None else out[0] if len(out) == 1 else out
        if isinstance(made, tuple):
            parts = cast("tuple[Any, ...]", made)
            return tuple(_as_noisy(np.asarray(x), self.rounding) for x in parts)
        values = np.asarray(made)
        if values.dtype.kind != "f" or ufunc in _EXACT:
            return _as_noisy(values, self.rounding)
        adds = ufunc is np.matmul or (ufunc is np.add and method != "__call__")
        return self._off(getattr(ufunc, method), values, plain, named, adds)

    def __array_function__(
        self, func: Any, types: Any, args: Any, kwargs: Mapping[str, Any]
    ) -> Any:
        if func not in _SUMS:
            return super().__array_function__(func, types, args, kwargs)
        plain: list[Any] = [_plain(x) for x in args]
        values = np.asarray(func(*plain, **kwargs))
        return self._off(func, values, plain, kwargs, adds=True)

    def _off(
        self,
        func: Any,
        values: Array,
        plain: Sequence[Any],
        named: Mapping[str, Any],
        adds: bool,
    ) -> Any:
        """A function's result with noise. ``adds``: of the sum of absolute values."""
        self.rounding.notice(values)
        size = values
        if adds:
            size = np.asarray(func(*(_each(np.abs, x) for x in plain), **named))
        noise = size * (self.rounding.factors(values.shape) - 1.0)
        # Of what more bits do not change nothing was rounded.
        wide = [_each(_wide, x) for x in plain]
        if values.size <= _MOST and all(np.size(x) <= _MOST for x in plain):
            exact = np.asarray(func(*wide, **named))
            noise = np.where(exact == values, 0.0, noise)
            # What is too small for 64 bits is any small number, of its sign.
            lost = (values == 0) & (exact != 0) & np.isfinite(exact)
            noise = np.where(lost, np.copysign(_SMALL, exact), noise)
        noisy = np.where(np.isfinite(values), values + noise, values)
        return _as_noisy(noisy, self.rounding)


def with_noise(array: Array, rounding: Rounding) -> Any:
    """An array of floats of 64 bits whose functions are off."""
    return _as_noisy(np.array(array, np.float64), rounding)


def _as_noisy(values: Array, rounding: Rounding) -> _Noisy:
    made = np.asarray(values).view(_Noisy)
    made.rounding = rounding
    return made


def _each(func: Callable[[Any], Any], x: Any) -> Any:
    """A function of what is an array or a number; axes and subscripts stay."""
    return func(x) if isinstance(x, (np.ndarray, np.generic, float)) else x


def _wide(x: Any) -> Any:
    return np.asarray(x, np.longdouble)


def _has_nan(x: Any) -> bool:
    values = np.asarray(x)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, _Noisy) else x
