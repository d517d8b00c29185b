"""Inputs for blocks of a problem of any size: numbers that make conditions turn out.

What elements are drawn from is said by `evaluation.drawing`; extreme modes are for
conditions that usual numbers do not reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from argus.evaluation.drawing import DrawingMode, entries, floats
from argus.evaluation.tiles import BlockTensor, Drawn, IndexTable, Written
from argus.evaluation.tiles.tensors import TABLE
from argus.evaluation.tiles.values import fitted
from argus.interpret.numbers import storage
from argus.ir.dtypes import DType
from argus.kernels.library import Case, LibraryEntry

__all__ = ["BY_NAME", "EXTREME", "LARGE", "MEETING", "MODES", "drawn"]

MODES = (
    DrawingMode("normal", special=False, poison=False),
    DrawingMode("special"),
    DrawingMode("shifted", shift=2.0, poison=False),
)
LARGE = DrawingMode("large", scale=64.0, poison=False, wide=True)
MEETING = (
    DrawingMode("few", every=True, few=True),
    DrawingMode("mixed", scale=3.0, share=2, poison=False),
    DrawingMode("mixed, large", scale=3.0, share=2, large=True, wide=True),
)
"""For places where a condition holds: whatever depends on data shall meet it there."""
EXTREME = (
    DrawingMode("negative", shift=-3.0, poison=False),
    DrawingMode("all negative", scale=64.0, shift=-12.0, special=False),
    DrawingMode("constants", every=True, poison=False, wide=True),
    LARGE,
    DrawingMode("small", scale=1 / 1024, special=False),
    DrawingMode("huge", scale=8192.0, special=False, poison=False),
    DrawingMode("sums", scale=16.0, shift=4.0),
    DrawingMode("not finite", finite=False, poison=False),
)
"""What is tried where the others leave a condition that depends on data."""
BY_NAME: Mapping[str, DrawingMode] = {m.name: m for m in (*MODES, *MEETING, *EXTREME)}


def drawn(
    entry: LibraryEntry,
    case: Case,
    mode: DrawingMode,
    seed: int,
    special: tuple[float, ...],
    wide: frozenset[str],
) -> dict[str, BlockTensor]:
    """The tensors of a case: inputs by formula, tables as they are, empty outputs.

    ``wide``: tensors of whole numbers that may be any.
    """
    arguments = entry.arguments(case)
    found: dict[str, BlockTensor] = {}
    tables: dict[str, Any] = {}
    for number, argument in enumerate(arguments):
        # Of its own, so that inputs are the same whatever poison outputs hold.
        rng = np.random.default_rng((seed, number))
        shape, dtype, own = argument.shape, argument.dtype, 1000 * seed + number
        if argument.draw == "output":
            table = _poison(dtype, mode, rng)
            found[argument.name] = Written(shape, dtype, table, own)
        elif dtype.is_float or entry.tables is None:
            if dtype.is_float:
                table = floats(dtype, TABLE, mode, rng, special)
            else:
                bounds = 0, argument.high
                if mode.wide and argument.name in wide:
                    bounds = dtype.integers[0], dtype.integers[1] + 1
                table = entries(dtype, TABLE, bounds, mode, rng, special)
            found[argument.name] = Drawn(shape, dtype, table, own)
        else:
            whole = rng.integers(0, max(argument.high, 1), shape)
            tables[argument.name] = whole.astype(storage(dtype))
    if entry.tables is not None:
        entry.tables(np, tables, case)
    types = {a.name: a.dtype for a in arguments}
    return found | {n: IndexTable(t, types[n]) for n, t in tables.items()}


def _poison(dtype: DType, mode: DrawingMode, rng: np.random.Generator) -> Any:
    """NaN (the least integer), or other finite numbers each time."""
    if mode.poison:
        least = np.nan if dtype.is_float else 0
        if dtype.kind == "int":
            least = np.iinfo(storage(dtype)).min
        return fitted(np.full(TABLE, least), dtype)
    if not dtype.is_float:
        return fitted(rng.integers(0, 2, TABLE), dtype)
    # As likely to be near a result as far from it.
    orders = np.logspace(-4, 1, 6, dtype=np.float32)
    sizes = orders[rng.integers(0, 6, TABLE)]
    return fitted(rng.standard_normal(TABLE, np.float32) * sizes, dtype)
