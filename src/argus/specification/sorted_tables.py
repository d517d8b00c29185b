"""Searches in sorted tables of numbers, which are known: np.searchsorted, np.interp.

How many numbers of a table are less than one is where that stands. Of a table that is
not known it is not known either whether it is sorted: then nothing is said.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from argus.specification.casting import lifted
from argus.specification.joining import tracing_of
from argus.specification.powers import number_of
from argus.specification.table import refuse, traces
from argus.specification.tracing import Tracing
from argus.terms import Integer, Unknown

_LONGEST = 64
"""Numbers of a table that are compared one after the other."""


def numbers_of(tracing: Tracing, table: Any, name: str) -> list[float]:
    """The numbers of a table. Raises Unknown where it is not known or is long."""
    array = lifted(tracing, table)
    length = array.sizes[0].constant if array.ndim == 1 else None
    if length is None or not 0 < length <= _LONGEST:
        raise Unknown(f"the reference calls {name} of a table that is not known")
    found = [number_of(array.at((Integer.of(i),))) for i in range(length)]
    if any(n is None for n in found):
        raise Unknown(f"the reference calls {name} of a table that is not known")
    return [float(n) for n in found if n is not None]


@traces(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where numbers belong in a sorted table."""
    refuse("np.searchsorted", sorter=sorter)
    tracing = tracing_of(a, v)
    table = numbers_of(tracing, a, "np.searchsorted")
    if any(x > y for x, y in pairwise(table)):
        raise Unknown("the reference calls np.searchsorted of a table in no order")
    value = lifted(tracing, v)
    total: Any = value * 0
    for number in table:
        total = total + ((value > number) if side == "left" else (value >= number))
    return total.astype(np.int64)


@traces(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Between which numbers of a table others lie."""
    table = numbers_of(tracing_of(x, bins), bins, "np.digitize")
    if any(a > b for a, b in pairwise(table)):
        other = searchsorted(bins[::-1], x, "right" if right else "left")
        return len(table) - other
    return searchsorted(bins, x, "left" if right else "right")


@traces(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """On straight lines between points, and level beside them."""
    refuse("np.interp", period=period)
    tracing = tracing_of(x, xp, fp)
    at = numbers_of(tracing, xp, "np.interp")
    if any(a >= b for a, b in pairwise(at)):
        raise Unknown("the reference calls np.interp of points in no order")
    value, heights = lifted(tracing, x) * 1.0, lifted(tracing, fp)
    tracing.need_equal(heights.sizes[0], Integer.of(len(at)), "np.interp")
    level: list[Any] = [heights[i] for i in range(len(at))]
    pick: Any = np.where
    found = pick(value == at[-1], level[-1], level[-1] if right is None else right)
    for i in reversed(range(len(at) - 1)):
        slope = (level[i + 1] - level[i]) / (at[i + 1] - at[i])
        found = pick(value < at[i + 1], level[i] + (value - at[i]) * slope, found)
    return pick(value < at[0], level[0] if left is None else left, found)
