"""The product and sum of f64 with one rounding, which numpy has not."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["fused"]

Array = NDArray[Any]


def _split(x: Array) -> tuple[Array, Array]:
    """Two numbers of 26 bits that add up to one (Veltkamp)."""
    scaled = x * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - x)
    return high, x - high


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The sum of two numbers, and what it is off by (Knuth, TAOCP 2, 4.2.2)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def fused(x: Array, y: Array, z: Array) -> Array:
    """``x * y + z`` of f64 with one rounding.

    S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums: proved
    algorithms using rounding to odd", IEEE TC 2008: exact where no part is too large or
    too small; elsewhere fractions are added.
    """
    x, y, z = np.broadcast_arrays(x, y, z)
    near = x * y + z
    (xh, xl), (yh, yl) = _split(x), _split(y)
    high = x * y
    low = ((xh * yh - high) + xh * yl + xl * yh) + xl * yl
    th, tl = _two_sum(z, low)
    vh, vl = _two_sum(high, th)
    odd, rest = _two_sum(tl, vl)
    bits = np.asarray(odd, np.float64).view(np.int64)
    # To odd: an even significand goes towards what was rounded away.
    step = np.where((rest > 0) == (odd > 0), 1, -1)
    moved = np.where((rest != 0) & (bits % 2 == 0), bits + step, bits)
    sizes = [np.abs(v) for v in (x, y, z, high)]
    usual = np.ones(near.shape, np.bool_)
    for size in sizes:
        usual &= (size == 0) | ((size > 2.0**-400) & (size < 2.0**400))
    found = np.where(
        usual & (near != 0) & (high != 0), vh + moved.view(np.float64), near
    )
    rare = ~usual & np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    rare = rare | (usual & (near == 0) & (high != 0))
    for at in map(tuple, np.argwhere(rare)):
        exact = Fraction(float(x[at])) * Fraction(float(y[at])) + Fraction(float(z[at]))
        try:
            # Of nothing, the sign is that of the sum as it is rounded.
            found[at] = float(exact) if exact else near[at]
        except OverflowError:
            found[at] = math.inf if exact > 0 else -math.inf
    return found
