"""Functions that are a ufunc with options: clip, round, real parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.specification.casting import lifted
from argus.specification.joining import tracing_of
from argus.specification.table import refuse, traces
from argus.terms import Unknown


@traces(np.clip)
def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **named: Any
) -> Any:
    """Between two bounds; None is none."""
    low, high = named.pop("min", a_min), named.pop("max", a_max)
    refuse("np.clip", out=out, **named)
    found = lifted(tracing_of(a, low, high), a)
    if low is not None:
        found = np.maximum(found, low)
    if high is not None:
        found = np.minimum(found, high)
    return found


@traces(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    """Where an element is minus infinity."""
    refuse("np.isneginf", out=out)
    return np.isinf(x) & (x < 0)


@traces(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    """Where an element is infinity."""
    refuse("np.isposinf", out=out)
    return np.isinf(x) & (x > 0)


@traces(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """To the nearest number of some decimals, halves to even."""
    refuse("np.round", out=out)
    array = lifted(tracing_of(a), a)
    if array.kind == "integer":
        if decimals < 0:
            raise Unknown("the reference rounds whole numbers to tens")
        return array
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return np.rint(array * scale) / scale
    return np.rint(array / scale) * scale if decimals else np.rint(array)


@traces(np.real)
def real(val: Any) -> Any:
    """The array itself: complex numbers come with a property of this name."""
    return val
