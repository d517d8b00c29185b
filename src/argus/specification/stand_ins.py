"""Classes and objects of numpy's that take symbolic arrays: what stands for them.

np.mgrid[0:M, 0:N]      np.r_[x, y]      np.broadcast(x, y).shape
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import numpy as np

from argus.specification.array import SymbolicArray, size_of
from argus.specification.broadcasting import broadcast
from argus.specification.casting import lifted
from argus.specification.creating import arange, linspace, meshgrid
from argus.specification.table import call, flattened
from argus.specification.tracing import Tracing
from argus.terms import Unknown


class _Fixed:
    """What holds nothing that could change."""

    def reaches(self) -> tuple[Any, ...]:
        """Nothing (`state.py`)."""
        return ()


class PositionGrid(_Fixed):
    """`np.mgrid` and `np.ogrid`: positions of slices, as one array or by dimension."""

    def __init__(self, tracing: Tracing, dense: bool) -> None:
        self._tracing, self._dense = tracing, dense

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._along(cast(Any, key))
        lines = [self._along(k) for k in key]
        grids = meshgrid(self._tracing, *lines, indexing="ij", sparse=not self._dense)
        return call(np.stack, grids) if self._dense else tuple(grids)

    def _along(self, key: Any) -> Any:
        start, step = key.start or 0, 1 if key.step is None else key.step
        if isinstance(step, complex):  # so many numbers, both ends included
            return linspace(self._tracing, start, key.stop, int(abs(step)))
        return arange(self._tracing, start, key.stop, step)


class JoinedParts(_Fixed):
    """`np.r_` and `np.c_`: arrays and ranges one after the other."""

    def __init__(self, tracing: Tracing, real: Any) -> None:
        self._tracing, self._real = tracing, real

    def __getitem__(self, key: Any) -> Any:
        parts = list(cast(Any, key)) if isinstance(key, tuple) else [key]
        ends = [x for p in parts if isinstance(p, slice) for x in _ends(p)]
        if not any(isinstance(x, SymbolicArray) for x in flattened([*parts, *ends])):
            return self._real[key]
        if any(isinstance(p, str) for p in parts):
            raise Unknown("the reference calls np.r_ with a text")
        grid = PositionGrid(self._tracing, True)
        arrays: list[Any] = [
            grid[p] if isinstance(p, slice) else lifted(self._tracing, p) for p in parts
        ]
        if self._real is np.c_:
            wide = [a[:, None] if a.ndim == 1 else a for a in arrays]
            return call(np.concatenate, wide, axis=-1)
        return call(np.concatenate, [a if a.ndim else a[None] for a in arrays])


def _ends(key: Any) -> tuple[Any, ...]:
    return key.start, key.stop, key.step


class CommonShape:
    """`np.broadcast`: the shape of arrays together."""

    def __init__(self, tracing: Tracing, *arrays: Any) -> None:
        sizes = [lifted(tracing, a).sizes for a in arrays]
        found = broadcast(tracing, sizes, "np.broadcast")
        self.shape = tuple(size_of(tracing, n) for n in found)
        self.ndim = self.nd = len(found)
        self.size = size_of(tracing, tracing.product(found))


class ArrayConverter:
    """What numpy's own functions make arrays of their arguments with."""

    def __init__(self, tracing: Tracing, *given: Any) -> None:
        self._arrays: list[SymbolicArray] = [lifted(tracing, x) for x in given]
        self.scalar_input = tuple(not a.ndim and not a.boxed for a in self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __iter__(self) -> Iterator[SymbolicArray]:
        return iter(self._arrays)

    def __getitem__(self, at: int) -> SymbolicArray:
        return self._arrays[at]

    def as_arrays(self, *_: Any, **named: Any) -> tuple[SymbolicArray, ...]:
        """The arrays; numbers of Python keep giving way, or have a type."""
        if named.get("pyscalars", "convert") == "preserve":
            return tuple(self._arrays)
        return tuple(
            SymbolicArray(a.tracing, a.sizes, a.dtype, a.now()) if a.weak else a
            for a in self._arrays
        )

    def result_type(self, extra_dtype: Any = None, ensure_inexact: bool = False) -> Any:
        """The type of all together."""
        more = [] if extra_dtype is None else [extra_dtype]
        found = call(np.result_type, *self._arrays, *more)
        return (
            call(np.result_type, *self._arrays, *more, 0.0)
            if (ensure_inexact and found.kind not in "fc")
            else found
        )

    def wrap(self, array: Any, to_scalar: Any = None) -> Any:
        """What is returned for an array."""
        return array


_CONVERTER: Any = getattr(
    sys.modules.get("numpy._core._multiarray_umath"), "_array_converter", None
)


def stand_in(tracing: Tracing, value: Any) -> Callable[..., Any] | Any:
    """What stands for an object or class of numpy's; None for what may stay."""
    if value is np.mgrid or value is np.ogrid:
        return PositionGrid(tracing, value is np.mgrid)
    if value is np.r_ or value is np.c_:
        return JoinedParts(tracing, value)
    if value is np.broadcast:
        return partial(CommonShape, tracing)
    if value is not None and value is _CONVERTER:
        return partial(ArrayConverter, tracing)
    return None
