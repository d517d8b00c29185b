"""Numbers that inputs are drawn from: about normal, and some at which programs decide.

Some elements are special: 0, 1, the constants of the programs that are compared, their
neighbours and what a sum or a product makes of two of them. A *mode* says how large
elements are, and how many are special.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from argus.evaluation.tiles.values import fitted
from argus.interpret.numbers import Array, storage
from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.ir.program import Program
from argus.ir.walk import expressions, walk

__all__ = [
    "DrawingMode",
    "constants",
    "emptied",
    "entries",
    "floats",
    "numbers",
    "put",
    "specials",
]

_LARGEST = 16.0
"""Special numbers among others are at most so large."""
_APART = np.float32(4.0)
"""From a special number that all others are above, or below."""
_MOST, _FEW = 256, 24
"""Special numbers, at most; the first of them are constants of the programs."""


@dataclass(frozen=True)
class DrawingMode:
    """How inputs are drawn: ``scale * N(shift, 1)``; ``every``: of special numbers.

    ``poison``: what outputs hold before: NaN, or finite numbers. ``finite``: whether no
    element is infinite or NaN. ``positive``: none is below a half.
    """

    name: str
    scale: float = 1.0
    shift: float = 0.0
    special: bool = True
    """Some are special, those that are not large."""
    every: bool = False
    share: int = 37
    """One in so many elements is special."""
    few: bool = False
    """Special ones are simple, or constants of the programs: each occurs often."""
    large: bool = False
    """Special ones among others may be large, and hide small errors beside them."""
    whole: bool = False
    """Others are whole numbers."""
    positive: bool = False
    parts: bool = False
    """All are odd sixteenths between 0 and 1: probabilities, some of them equal."""
    signed: bool = False
    """Whole numbers of 32 bits and more may be negative: they are no indices."""
    ends: bool = False
    """All whole numbers of a tensor are an end of their type, or what is assumed."""
    padded: bool = False
    """Some indices are negative: the author may mean that there is nothing."""
    around: bool = False
    """All of a tensor are above or below a special number that may be large."""
    rows: bool = False
    """Some rows are 0, or have one element that is not: nothing is seen, or one."""
    wide: bool = False
    """Whole numbers are of all sizes, where nothing bounds them."""
    poison: bool = True
    finite: bool = True

    def among(self, special: Sequence[float]) -> Array:
        """Those of the special numbers that elements are drawn from."""
        some = np.array(special, np.float32)
        if self.few:
            some = some[:_FEW]
            some = some if self.large else some[abs(some) <= _LARGEST]
        return some


def floats(
    dtype: DType,
    shape: int | tuple[int, ...],
    mode: DrawingMode,
    rng: np.random.Generator,
    special: Sequence[float],
) -> Array:
    """Elements of a type of floats, as numbers that it holds exactly."""
    some = mode.among(special)
    if mode.every:
        values = rng.choice(some, shape)
    else:
        values = rng.standard_normal(shape, np.float32) + np.float32(mode.shift)
        values = values * np.float32(mode.scale)
        if mode.whole:
            values = np.rint(values)
        if mode.positive:
            values, some = np.maximum(np.abs(values), np.float32(0.5)), some[some > 0]
        if mode.parts:
            sixteenths = np.rint(7.0 / (1.0 + np.exp(-values))) * 2.0 + 1.0
            values = (sixteenths / 16.0).astype(np.float32)
        if mode.around and some.size:
            values += rng.choice(some) + rng.choice((-_APART, _APART))
        if not mode.large:
            some = some[abs(some) <= _LARGEST]
        if mode.special and some.size:
            put(values, some, mode.share, rng)
    if not mode.finite:
        odd = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
        put(values, odd, mode.share, rng)
    with np.errstate(over="ignore"):
        return fitted(values, dtype)


def entries(
    dtype: DType,
    shape: int,
    bounds: tuple[int, int],
    mode: DrawingMode,
    rng: np.random.Generator,
    special: Sequence[float],
) -> Array:
    """Whole numbers from the first of ``bounds`` to below the second, or truths."""
    low, high = (0, 2) if dtype.kind == "bool" else (bounds[0], max(bounds[1], 1))
    some = mode.among([s for s in special if s == int(s) and low <= s < high])
    if mode.every:
        return fitted(rng.choice(some, shape), dtype)
    values = rng.integers(low, high, shape, storage(dtype))
    if mode.special:
        put(values, some, mode.share, rng)
    return fitted(values, dtype)


def put(values: Array, some: Array, share: int, rng: np.random.Generator) -> None:
    """Replace one in ``share`` elements, and at least one where there are any."""
    if values.size:
        places = rng.integers(0, values.size, max(values.size // share, 1))
        values.reshape(-1)[places] = rng.choice(some, places.size)


def emptied(values: Array, rng: np.random.Generator) -> None:
    """Leave nothing, or one element, of some rows; nothing of the first of several."""
    rows = values.reshape(-1, values.shape[-1]) if values.ndim else values.reshape(1, 1)
    if not rows.size:
        return
    chosen = rng.integers(0, 4, len(rows))
    chosen[:1] = 0 if len(rows) > 1 else chosen[:1]
    kept = rng.integers(0, rows.shape[1], len(rows))
    single = np.arange(rows.shape[1]) == kept[:, None]
    rows[(chosen == 0)[:, None] | ((chosen == 1)[:, None] & ~single)] = 0


def constants(programs: Iterable[Program]) -> tuple[float, ...]:
    """Finite numbers that occur in programs, each once."""
    return tuple(c for c in numbers(programs) if math.isfinite(c))


def numbers(programs: Iterable[Program]) -> tuple[float, ...]:
    """Numbers that occur in programs, infinite ones, too, each once."""
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
    return tuple(found)


def specials(
    programs: Iterable[Program], scalars: Iterable[int | float]
) -> tuple[float, ...]:
    """Numbers at which the programs may decide, and simple ones."""
    given = [float(s) for s in scalars]
    own = [c for c in constants(programs) if 1e-30 < abs(c) < 1e30]
    found: dict[float, None] = dict.fromkeys([0.0, 1.0, -1.0, 0.5, -2.0])
    # Constants themselves first: a mode takes those alone.
    for factor in (1.0, 2.0):
        found |= dict.fromkeys(float(factor * c) for c in np.array(own, np.float32))

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
