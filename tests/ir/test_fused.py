"""The product and sum with one rounding, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from argus.ir.fused import fused


def exact(x: float, y: float, z: float) -> float:
    try:
        return float(Fraction(x) * Fraction(y) + Fraction(z))
    except OverflowError:
        return float("inf") if (x > 0) == (y > 0) else float("-inf")


def test_one_rounding() -> None:
    """Sums that cancel, ends of halves, and numbers of all sizes."""
    rng = np.random.default_rng(0)
    n = 4000
    x, y = (rng.normal(size=n) * 2.0 ** rng.integers(-30, 30, n) for _ in "xy")
    near = -x * y * (1 + rng.integers(-3, 4, n) * 2.0**-52)
    far = rng.normal(size=n) * 2.0 ** rng.integers(-120, 60, n)
    z = np.where(rng.random(n) < 0.5, near, far)
    wide = rng.random(n) < 0.1
    x = np.where(wide, x * 2.0**500, x)
    y = np.where(wide, y * 2.0 ** rng.integers(-1000, 600, n), y)
    with np.errstate(over="ignore", invalid="ignore"):
        found = fused(x, y, z)
        rounded_twice = x * y + z
    parts = zip(x.tolist(), y.tolist(), z.tolist(), strict=True)
    wanted = [exact(*each) for each in parts]
    assert np.array_equal(found, wanted)
    assert (rounded_twice != found).mean() > 0.1


def test_what_is_no_number_and_zeros() -> None:
    given = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]
    x, y, z = (a.ravel() for a in np.meshgrid(given, given, given))
    with np.errstate(invalid="ignore"):
        found, wanted = fused(x, y, z), x * y + z
    assert np.array_equal(found, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(wanted))
