"""Inputs for blocks of a problem of any size: numbers that make conditions turn out.

Elements are about normal, and some are special: 0, 1, the constants of the programs
that are compared, their neighbours and what a sum or a product makes of two of them. A
*mode* says how large they are; extreme ones are for conditions that usual numbers do
not reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from argus.evaluation.tiles import BlockTensor, Drawn, IndexTable, Written
from argus.evaluation.tiles.tensors import TABLE
from argus.evaluation.tiles.values import fitted
from argus.interpret.numbers import storage
from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.ir.program import Program
from argus.ir.walk import expressions, walk
from argus.kernels.library import Argument, Case, LibraryEntry

__all__ = [
    "BY_NAME",
    "EXTREME",
    "LARGE",
    "MEETING",
    "MODES",
    "DrawingMode",
    "constants",
    "drawn",
    "specials",
]

_SPECIAL = 37
"""One in so many elements is special."""
_LARGEST = 16.0
"""Special numbers among others are at most so large."""
_MOST, _FEW = 256, 24
"""Special numbers, at most; the first of them are constants of the programs."""


@dataclass(frozen=True)
class DrawingMode:
    """How inputs are drawn: ``scale * N(shift, 1)``; ``every``: of special numbers.

    ``poison``: what outputs hold before: NaN, or finite numbers. ``finite``: whether no
    element is infinite or NaN.
    """

    name: str
    scale: float = 1.0
    shift: float = 0.0
    special: bool = True
    """Some are special, those that are not large."""
    every: bool = False
    mixed: bool = False
    """Every other element is special."""
    few: bool = False
    """Special ones are simple, or constants of the programs: each occurs often."""
    large: bool = False
    """Special ones among others may be large, and hide small errors beside them."""
    poison: bool = True
    finite: bool = True


MODES = (
    DrawingMode("normal", special=False, poison=False),
    DrawingMode("special"),
    DrawingMode("shifted", shift=2.0, poison=False),
)
LARGE = DrawingMode("large", scale=64.0, poison=False)
MEETING = (
    DrawingMode("few", every=True, few=True),
    DrawingMode("mixed", scale=3.0, mixed=True, poison=False),
    DrawingMode("mixed, large", scale=3.0, mixed=True, large=True),
)
"""For places where a condition holds: whatever depends on data shall meet it there."""
EXTREME = (
    DrawingMode("negative", shift=-3.0, poison=False),
    DrawingMode("all negative", scale=64.0, shift=-12.0, special=False),
    DrawingMode("constants", every=True, poison=False),
    LARGE,
    DrawingMode("small", scale=1 / 1024, special=False),
    DrawingMode("huge", scale=8192.0, special=False, poison=False),
    DrawingMode("sums", scale=16.0, shift=4.0),
    DrawingMode("not finite", finite=False, poison=False),
)
"""What is tried where the others leave a condition that depends on data."""
BY_NAME: Mapping[str, DrawingMode] = {m.name: m for m in (*MODES, *MEETING, *EXTREME)}


def constants(programs: Iterable[Program]) -> tuple[float, ...]:
    """Numbers that occur in programs, each once."""
    found: dict[float, None] = {}

    def visit(e: Expr) -> None:
        match e:
            case Const(value=value):
                if not isinstance(value, bool):
                    found[float(value)] = None
            case Binary():
                visit(e.left)
                visit(e.right)
            case Select():
                for part in (e.cond, e.then, e.other):
                    visit(part)
            case Sym():
                pass
            case _:
                assert_never(e)

    for program in programs:
        for op in walk(program.body):
            if isinstance(op, o.Full | o.Elementwise | o.Let | o.If | o.LoadGlobal):
                for e in expressions(op):
                    visit(e)
    return tuple(c for c in found if math.isfinite(c))


def specials(
    programs: Iterable[Program], scalars: Iterable[int | float]
) -> tuple[float, ...]:
    """Numbers at which the programs may decide, and simple ones."""
    given = [float(s) for s in scalars]
    own = [c for c in constants(programs) if 1e-30 < abs(c) < 1e30]
    found: dict[float, None] = dict.fromkeys([0.0, 1.0, -1.0, 0.5, -2.0])
    # Constants themselves first: a mode takes those alone.
    found |= dict.fromkeys(float(c) for c in np.array(own, np.float32))

    def add(value: float) -> None:
        near = np.float32(value)
        if np.isfinite(near):
            for x in (near, np.nextafter(near, np.float32(np.inf)),
                      np.nextafter(near, np.float32(-np.inf))):  # fmt: skip
                found[float(x)] = None

    for c in own:
        add(c)
        add(-c)
    for c in own:
        for d in (*own, *given):
            if d and c != d:
                for value in (c / d, c - d, c + d, c * d):
                    add(value)
        if len(found) > _MOST:
            break
    return tuple(found)[:_MOST]


def drawn(
    entry: LibraryEntry,
    case: Case,
    mode: DrawingMode,
    seed: int,
    special: tuple[float, ...],
) -> dict[str, BlockTensor]:
    """The tensors of a case: inputs by formula, tables as they are, empty outputs."""
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
            table = _entries(argument, mode, rng, special)
            found[argument.name] = Drawn(shape, dtype, table, own)
        else:
            whole = rng.integers(0, max(argument.high, 1), shape)
            tables[argument.name] = whole.astype(storage(dtype))
    if entry.tables is not None:
        entry.tables(np, tables, case)
    types = {a.name: a.dtype for a in arguments}
    return found | {n: IndexTable(t, types[n]) for n, t in tables.items()}


def _entries(
    argument: Argument,
    mode: DrawingMode,
    rng: np.random.Generator,
    special: tuple[float, ...],
) -> Any:
    """What the elements of an input may be."""
    dtype = argument.dtype
    if dtype.is_float:
        values = rng.standard_normal(TABLE, np.float32)
        values = np.float32(mode.scale) * (values + np.float32(mode.shift))
        some = np.array(special, np.float32)
    else:
        high = 2 if dtype.kind == "bool" else max(argument.high, 1)
        values = rng.integers(0, high, TABLE)
        some = np.array([s for s in special if s == int(s) and 0 <= s < high])
    if mode.few:
        some = some[:_FEW]
        some = some[abs(some) <= _LARGEST]
    if mode.every:
        values = rng.choice(some, TABLE)
    elif mode.special:
        if dtype.is_float and not mode.large:
            some = some[abs(some) <= _LARGEST]
        share = 2 if mode.mixed else _SPECIAL
        places = rng.integers(0, TABLE, TABLE // share)
        values[places] = rng.choice(some, places.size)
    if dtype.is_float and not mode.finite:
        places = rng.integers(0, TABLE, TABLE // _SPECIAL)
        odd = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
        values[places] = rng.choice(odd, places.size)
    with np.errstate(over="ignore"):
        return fitted(values, dtype)


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
