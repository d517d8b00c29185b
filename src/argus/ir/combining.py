"""Scans, folds and sorts on arrays.

States are combined one after the other, in the types of the steps. On a GPU they are
combined in the same order and in other groups, so that fractions differ in their last
bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.ir import ops as o
from argus.ir.codec import computing, rounded
from argus.ir.combine import Combination, CombinationStep
from argus.ir.dtypes import DType
from argus.ir.functions import FUNCTIONS
from argus.ir.numerics import common

__all__ = ["combined_once", "in_order", "scanned"]

Array = NDArray[Any]
_RUNNING = {"add": np.add, "mul": np.multiply}


def scanned(op: o.Combining, sources: Sequence[Array], exact: bool = False) -> Array:
    """Part ``op.part`` of the state after each element along the last axis.

    ``sources``: [..., n] each, in the types that are computed in; ``exact``: fractions
    are f64, and stand for real numbers.
    """
    types = [x.dtype for x in op.srcs]
    held = [_fitted(x, t, exact) for x, t in zip(sources, types, strict=True)]
    backwards = isinstance(op, o.Scan) and op.reverse
    if backwards:
        held = [x[..., ::-1] for x in held]
    found = _scanned(op, held, exact)
    return found[..., ::-1] if backwards else found


def _scanned(op: o.Combining, held: Sequence[Array], exact: bool) -> Array:
    types = [x.dtype for x in op.srcs]
    running = _RUNNING.get(op.combine.single or "")
    with np.errstate(all="ignore"):
        if running is not None:
            return running.accumulate(held[0], axis=-1, dtype=held[0].dtype)
        state = [x[..., 0] for x in held]
        found = np.empty_like(held[op.part])
        found[..., 0] = state[op.part]
        for i in range(1, found.shape[-1]):
            after = [x[..., i] for x in held]
            state = combined_once(op.combine, types, state, after, exact)
            found[..., i] = state[op.part]
    return found


def in_order(op: o.Sort, values: Array) -> Array:
    """Elements along the last axis in order, or where each was: see `Sort`."""
    if op.descending:
        # Of what is read backwards, equal elements are backwards, too.
        backwards = values[..., ::-1]
        last = values.shape[-1] - 1
        found = last - np.argsort(backwards, axis=-1, kind="stable")[..., ::-1]
    else:
        found = np.argsort(values, axis=-1, kind="stable")
    if op.indices:
        return found.astype(np.int32)
    return np.take_along_axis(values, found, -1)


def combined_once(
    combine: Combination,
    types: Sequence[DType],
    before: Sequence[Array],
    after: Sequence[Array],
    exact: bool = False,
) -> list[Array]:
    """The state that is made of two, element by element."""

    def apply(step: CombinationStep, args: list[Array]) -> Array:
        given = combine.operand_types(step, types)
        wide = _computing(common(step.fn, given, step.dtype), exact)
        cast = [x if x.dtype == np.bool_ else x.astype(wide) for x in args]
        made = np.asarray(FUNCTIONS[step.fn].numpy(*cast))
        return _fitted(made, step.dtype, exact)

    made = combine.run(before, after, np.asarray, apply)
    return [_fitted(x, t, exact) for x, t in zip(made, types, strict=True)]


def _computing(dtype: DType, exact: bool) -> np.dtype[Any]:
    return np.dtype(np.float64) if exact and dtype.is_float else computing(dtype)


def _fitted(values: Array, dtype: DType, exact: bool) -> Array:
    kind = _computing(dtype, exact)
    return values.astype(kind) if dtype.is_float else rounded(values, dtype)
