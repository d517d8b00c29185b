"""`np.add.reduce`, `np.maximum.accumulate`, `np.add.at`, `np.multiply.outer`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argus.specification.casting import lifted
from argus.specification.indirect import add_at, extreme_at
from argus.specification.reducing import reduced_at, scanned
from argus.specification.table import call, name_of, refuse
from argus.specification.tracing import Tracing
from argus.terms import Unknown

_REDUCTIONS: dict[np.ufunc, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
_RUNNING: dict[np.ufunc, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}
_SCANS: dict[np.ufunc, str] = {np.maximum: "max", np.minimum: "min"}

_REDUCED: dict[np.ufunc, str] = {np.add: "sum", np.multiply: "prod", **_SCANS}
_OF_POWERS: dict[np.ufunc, Any] = {
    np.logaddexp: (np.exp, np.log),
    np.logaddexp2: (np.exp2, np.log2),
    np.hypot: (np.square, np.sqrt),
}
"""Sums of powers, and what such a sum is a power of."""


def method_of(
    tracing: Tracing,
    ufunc: np.ufunc,
    method: str,
    inputs: Sequence[Any],
    named: dict[str, Any],
) -> Any:
    """A method of a ufunc. Raises Unknown for those that are not traced."""
    match method:
        case "reduce" if ufunc in _REDUCTIONS:
            array, *rest = inputs
            axis = rest[0] if rest else named.pop("axis", 0)
            return call(_REDUCTIONS[ufunc], lifted(tracing, array), axis=axis, **named)
        case "accumulate" if ufunc in _SCANS or ufunc in _RUNNING:
            array, *rest = inputs
            axis = rest[0] if rest else named.pop("axis", 0)
            array = lifted(tracing, array)
            if ufunc in _RUNNING:
                return call(_RUNNING[ufunc], array, axis=axis, **named)
            refuse(f"{name_of(ufunc)}.accumulate", **named)
            return scanned(array, _SCANS[ufunc], axis)
        case "reduce" | "accumulate" if ufunc in _OF_POWERS:
            up, down = _OF_POWERS[ufunc]
            powers = up(lifted(tracing, inputs[0]))
            return down(getattr(np.add, method)(powers, *inputs[1:], **named))
        case "outer":
            left, right = (lifted(tracing, x) for x in inputs)
            wide = left[(..., *[None] * right.ndim)]
            return ufunc(wide, right, **named)
        case "reduceat" if ufunc in _REDUCED:
            return reduced_at(tracing, _REDUCED[ufunc], *inputs, **named)
        case "at" if ufunc is np.add:
            return add_at(tracing, *inputs)
        case "at" if ufunc is np.maximum:
            return extreme_at(tracing, "max", *inputs)
        case "at" if ufunc is np.minimum:
            return extreme_at(tracing, "min", *inputs)
        case "at" if ufunc is np.subtract:
            array, key, values = inputs
            return add_at(tracing, array, key, -lifted(tracing, values))
        case _:
            raise Unknown(
                f"the reference calls {name_of(ufunc)}.{method}, which is not traced"
            )
