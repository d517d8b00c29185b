"""Error, gamma and Bessel functions of f32, from functions that kernels have.

Those of f64 stay in torch: these formulas have the bits of f32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from argus.ir.dtypes import f32, f64
from argus.programs.tensors.operator_table import own
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError

_where: Any = np.where
_ERFC = (
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807,
    -1.13520398, 1.48851587, -0.82215223, 0.17087277,
)  # fmt: skip
"""Press et al., Numerical Recipes (1992), 6.2: relative error below 1.2e-7."""
_NEAR = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087,
    -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
_FAR = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773,
    -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257,
)  # fmt: skip
"""Giles, "Approximating the erfinv function" (2010)."""
_BESSEL_NEAR = (
    (
        0.338397637, -0.304682672, 0.171620902, -0.094901097, 0.0493052842,
        -0.0237374148, 0.0105464604, -0.00432431, 0.00163947562, -0.000576375575,
        0.000188502885, -5.75419501e-05, 1.64484481e-05, -4.41673836e-06,
        1.11738754e-06, -2.67079385e-07, 6.04699501e-08, -1.30002496e-08,
    ),
    (
        0.126293593, -0.176416518, 0.102643659, -0.0529459812, 0.024726449,
        -0.0105640849, 0.00415642294, -0.00151357245, 0.000512285956,
        -0.000161760816, 4.78156511e-05, -1.32731637e-05, 3.47025131e-06,
        -8.56872026e-07, 2.00329475e-07, -4.4450591e-08, 9.38153735e-09,
        -1.88724944e-09,
    ),
)  # fmt: skip
"""Chebyshev series of ``exp(-x) I0(x)`` and ``exp(-x) I1(x) / x`` from 0 to 8."""
_BESSEL_FAR = (
    (
        0.402245206, 0.00336911648, 6.88975835e-05, 2.89137052e-06, 2.04891859e-07,
        2.26666899e-08, 3.39623201e-09,
    ),
    (
        0.389288118, -0.00976109749, -0.000110588939, -3.88256481e-06,
        -2.51223624e-07, -2.63146885e-08, -3.83538041e-09,
    ),
)  # fmt: skip
"""The same of ``sqrt(x) exp(-x)`` times both, of ``16 / x - 1`` from there."""
_MIDDLE = 5.0
_SHIFT = 8
"""Steps by which arguments of gamma functions are moved to where series hold."""


def _f32(function: Callable[[Any], Any], x: TensorArray, *given: Any) -> Any:
    if x.element == f64:
        raise UntranslatedError("its translation computes in fewer bits than f64")
    return function(x if x.element == f32 else x.cast(f32), *given)


def _series(x: Any, factors: Sequence[float]) -> Any:
    """A polynomial, the factor of ``x ** 0`` first."""
    found: Any = factors[-1]
    for factor in reversed(factors[:-1]):
        found = found * x + factor
    return found


def _chebyshev(t: Any, factors: Sequence[float]) -> Any:
    """A series of Chebyshev polynomials from -1 to 1, by Clenshaw's rule."""
    found: Any = factors[-1]
    before: Any = 0.0
    for factor in reversed(factors[1:-1]):
        found, before = 2.0 * t * found - before + factor, found
    return t * found - before + factors[0]


def _bessel(order: int, scaled: bool, x: Any) -> Any:
    """Modified Bessel functions of the first kind, of order 0 or 1."""
    size = np.abs(x)
    small = np.minimum(size, 8.0)
    near = _chebyshev(small * 0.25 - 1.0, _BESSEL_NEAR[order])
    large = np.maximum(size, 8.0)
    far = _chebyshev(16.0 / large - 1.0, _BESSEL_FAR[order]) / np.sqrt(large)
    found = _where(size <= 8.0, near * size if order else near, far)
    if not scaled:
        found = found * np.exp(size)
    return _where(x < 0.0, -found, found) if order else found


def _erfc(x: Any) -> Any:
    size = np.abs(x)
    t = 1.0 / (1.0 + 0.5 * size)
    tail = t * np.exp(_series(t, _ERFC) - size * size)
    tail = _where(np.equal(size, math.inf), 0.0, tail)
    return _where(x < 0.0, 2.0 - tail, tail)


def _erfinv(x: Any) -> Any:
    w = -np.log((1.0 - x) * (1.0 + x))
    near = _series(w - 2.5, _NEAR)
    far = _series(np.sqrt(_where(w < _MIDDLE, _MIDDLE, w)) - 3.0, _FAR)
    found = _where(w < _MIDDLE, near, far) * x
    return _where(np.equal(np.abs(x), 1.0), x * math.inf, found)


def _reflected(x: Any) -> tuple[Any, Any, Any]:
    """Where x is below 1/2; 1 - x there, else x; and its distance from a whole one."""
    below: Any = x < 0.5
    return below, _where(below, 1.0 - x, x), x - np.rint(x)


def _lgamma(x: Any) -> Any:
    """By Stirling's series, of a number that is moved; below 1/2 by reflection."""
    below, y, rest = _reflected(x)
    small: Any = y < _SHIFT
    z = _where(small, y + _SHIFT, y)
    r = 1.0 / z
    found = (z - 0.5) * np.log(z) - z + 0.5 * math.log(2 * math.pi)
    found = found + r * _series(r * r, (1 / 12, -1 / 360, 1 / 1260))
    steps: Any = y
    for k in range(1, _SHIFT):
        steps = steps * (y + float(k))
    found = found - _where(small, np.log(_where(small, steps, 1.0)), 0.0)
    found = _where(np.equal(y, math.inf), math.inf, found)
    sine = np.abs(np.sin(math.pi * rest))
    found = _where(below, math.log(math.pi) - np.log(sine) - found, found)
    return _where(np.equal(x, -math.inf), math.inf, found)


def _digamma(x: Any) -> Any:
    below, y, rest = _reflected(x)
    small: Any = y < _SHIFT
    z = _where(small, y + _SHIFT, y)
    r = 1.0 / z
    found = np.log(z) - r * _series(r, (0.5, 1 / 12))
    found = found + (r * r) * (r * r) * _series(r * r, (1 / 120, -1 / 252))
    steps: Any = 1.0 / y
    for k in range(1, _SHIFT):
        steps = steps + 1.0 / (y + float(k))
    found = found - _where(small, steps, 0.0)
    turned = found - math.pi * np.cos(math.pi * rest) / np.sin(math.pi * rest)
    whole = below & np.equal(rest, 0.0)
    pole = _where(np.equal(x, 0.0), -1.0 / x, math.nan)
    return _where(whole, pole, _where(below, turned, found))


def _trigamma(x: Any) -> Any:
    below, y, rest = _reflected(x)
    small: Any = y < _SHIFT
    z = _where(small, y + _SHIFT, y)
    r = 1.0 / z
    found = r + r * r * (0.5 + r * _series(r * r, (1 / 6, -1 / 30, 1 / 42)))
    steps: Any = 1.0 / (y * y)
    for k in range(1, _SHIFT):
        steps = steps + 1.0 / ((y + float(k)) * (y + float(k)))
    found = found + _where(small, steps, 0.0)
    sine = np.sin(math.pi * rest) / math.pi
    return _where(below, 1.0 / (sine * sine) - found, found)


for _name, _function in {
    "erfc": _erfc, "special_erfc": _erfc, "erfinv": _erfinv, "lgamma": _lgamma,
    "digamma": _digamma,
    "i0": partial(_bessel, 0, False), "special_i0e": partial(_bessel, 0, True),
    "special_i1": partial(_bessel, 1, False), "special_i1e": partial(_bessel, 1, True),
}.items():  # fmt: skip
    own(_name)(partial(_f32, _function))


@own("polygamma")
def polygamma(n: int, x: TensorArray) -> Any:
    """The derivative number n of digamma, for 0 and 1."""
    if n > 1:
        raise UntranslatedError("derivatives of gamma functions beyond the second")
    return _f32(_trigamma if n else _digamma, x)
