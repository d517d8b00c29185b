"""Inputs on which a kernel and its reference are tried: whatever a launch admits.

Floats are numbers that their type holds exactly. Tables of whole numbers are such that
what the kernel assumes of them holds: entries of which it does not are drawn again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from argus.equivalence.sizes import environment
from argus.evaluation.drawing import DrawingMode, emptied, floats, put
from argus.interpret.numbers import Array, rounded, storage
from argus.ir.annotations import Assume, annotations_of
from argus.ir.dtypes import DType
from argus.ir.expr import Const, evaluate, holds, subexpressions, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.ir.tensor_reads import read

__all__ = [
    "MODES", "admits", "are_assumed", "assumed_tables", "draw", "is_apart", "near",
    "updated",
]  # fmt: skip

_REDRAWN = 64
"""Rounds in which entries of tables are drawn again."""
_PAIRS = 2048
"""Entries of a table of which pairs are compared, at most."""


_FIRST = 24
"""Special numbers that tables hold: the first are constants of the program."""
_ENDS = (1 << 7, 1 << 8, 1 << 15, 1 << 16, 1 << 31, 1 << 32)
"""Where types end to which numbers of more bits may be converted."""
_NAMED = 4
"""One entry in so many is a number that an assumption names."""
_SHARE = 13
"""Tensors are small: one in so many elements is special."""
MODES = (
    DrawingMode("normal", special=False),
    DrawingMode("whole", scale=3.0, whole=True, special=False),
    DrawingMode("large", share=3, large=True, few=True),
    DrawingMode("shifted", scale=0.5, shift=6.0, share=_SHARE),
    DrawingMode("positive", scale=0.5, shift=3.0, positive=True, special=False),
    DrawingMode("small", scale=0.25, share=_SHARE),
    DrawingMode("negative", shift=-4.0, special=False),
    DrawingMode("parts", parts=True, special=False),
)


def updated(program: Program) -> frozenset[str]:
    """Outputs that the program reads, too: in place, or by adding to them."""
    return read(program) & frozenset(program.outputs)


def is_apart(program: Program) -> bool:
    """Whether blocks write elements that differ, or what they write is a mistake.

    What a table says of places may name one twice, of which references take the last.
    The author has to have said that entries are different.
    """
    if any(op.others for op in annotations_of(program) if isinstance(op, Assume)):
        return True
    return all(
        param.dtype.is_float or param.name in program.outputs
        for param in program.params
        if isinstance(param, GlobalTensor)
    )


def draw(
    program: Program,
    shapes: Mapping[str, tuple[int, ...]],
    env: Mapping[str, int | float],
    mode: DrawingMode,
    rng: np.random.Generator,
    special: Sequence[float] = (),
) -> dict[str, Array] | None:
    """All tensors as they are stored, outputs as if they were inputs.

    None where no tables were found of which everything assumed holds.
    """
    high = [max(n for s in shapes.values() for n in (1, *s))]
    high += sorted({n for s in shapes.values() for n in s if n > 0})
    most = high[0] if mode.few or rng.integers(0, 2) else int(rng.choice(high))
    found: dict[str, Array] = {}
    for param in program.params:
        if not isinstance(param, GlobalTensor):
            continue
        shape = shapes[param.name]
        if param.dtype.is_float:
            found[param.name] = _stored(
                param.dtype, floats(param.dtype, shape, mode, rng, special)
            )
        else:
            found[param.name] = _whole(param.dtype, shape, most, mode, rng, special)
        if mode.rows:
            emptied(found[param.name], rng)
    for op in annotations_of(program):
        if isinstance(op, Assume) and op.tables:
            if mode.special or mode.ends:
                _put_named(op, found, 1 if mode.ends else _NAMED, rng)
            if not _arrange(op, found, env, rng):
                return None
    if mode.few:
        _put_last(program, found, env, high, rng)
    return found if are_assumed(program, found, env) else None


def assumed_tables(program: Program) -> frozenset[str]:
    """Names of the tensors of which something is assumed."""
    found = (op.tables for op in annotations_of(program) if isinstance(op, Assume))
    return frozenset(t.name for tables in found for t in tables)


def _put_last(
    program: Program,
    arrays: Mapping[str, Array],
    env: Mapping[str, int | float],
    sizes: Sequence[int],
    rng: np.random.Generator,
) -> None:
    """An entry of some tables is the last index, if that may be assumed of it.

    An index that is cut to a constant is another one there. ``sizes``: the largest
    first. Of a table of which nothing is assumed, the reference may take no such index.
    """
    assumed = assumed_tables(program)
    for param in program.params:
        if not isinstance(param, GlobalTensor) or param.dtype.is_float:
            continue
        flat = arrays[param.name].reshape(-1)
        if param.dtype.bits < 32 or not flat.size:
            continue
        if param.name not in assumed and rng.integers(0, 2):
            continue
        at = int(rng.integers(flat.size))
        before = flat[at]
        flat[at] = (sizes[0] if param.name in assumed else rng.choice(sizes)) - 1
        if not are_assumed(program, arrays, env):
            flat[at] = before


def _stored(dtype: DType, values: Array) -> Array:
    return rounded(values, dtype)


def _whole(
    dtype: DType,
    shape: tuple[int, ...],
    most: int,
    mode: DrawingMode,
    rng: np.random.Generator,
    special: Sequence[float],
) -> Array:
    """Indices below ``most``; of fewer bits than 32: numbers of both signs.

    Large ones are special numbers, and those near the ends of the type. None of 32 bits
    is negative but in signed modes: numpy counts such an index from the end, which
    nobody means.
    """
    kind = storage(dtype)
    if dtype.kind == "bool":
        return rng.integers(0, 2, shape).astype(kind)
    if mode.ends and dtype.bits < 32:
        return np.full(shape, rng.choice(dtype.integers), kind)
    if mode.large:
        low, high = dtype.integers
        around = near((*special[:_FIRST], *_ENDS, 0, low, high, high // 2 + 1))
        least = low if dtype.bits < 32 or mode.signed else 0
        held = np.array([n for n in around if least <= n <= high], kind)
        return rng.choice(held, shape).astype(kind)
    if dtype.bits < 32:
        low = -8 if dtype.signed else 0
        return rng.integers(low, 8, shape).astype(kind)
    if mode.signed and dtype.signed:
        reach = int(mode.scale)
        values = rng.integers(-reach, reach + 1, shape)
        low, high = dtype.integers
        held = [n for n in near((0, *special[:_FIRST])) if low <= n <= high]
        put(values, np.array(held, np.int64), mode.share, rng)
        return values.astype(kind)
    values = rng.integers(0, max(most, 1), shape)
    some = np.array([n for n in near(special[:_FIRST]) if 0 <= n < most], np.int64)
    if mode.few and some.size:
        values = np.resize(rng.permutation(some), shape)
    elif mode.special and some.size:
        put(values, some, mode.share, rng)
    if mode.padded and dtype.signed:
        below = {-1, *(n for n in near(special[:_FIRST]) if dtype.integers[0] <= n < 0)}
        put(values, np.array(sorted(below), np.int64), mode.share, rng)
    return values.astype(kind)


def near(special: Sequence[float]) -> list[int]:
    """Whole numbers among special ones, and their neighbours."""
    some = {int(s) for s in special if s == int(s)}
    return sorted({n + d for n in some for d in (-1, 0, 1)})


# ------------------------------------------------------------------------- assumptions


def _holding(
    op: Assume, arrays: Mapping[str, Array], env: Mapping[str, int | float]
) -> Any:
    """Where an assumption about tables holds: by entry, or by pairs of entries."""
    known: dict[str, Any] = dict(env)
    tables = [arrays[t.name].reshape(-1).astype(np.int64) for t in op.tables]
    if op.others:
        tables = [t[:_PAIRS] for t in tables]
        for sym, other, table in zip(op.elements, op.others, tables, strict=True):
            known[sym.name], known[other.name] = table[:, None], table[None, :]
    else:
        for sym, table in zip(op.elements, tables, strict=True):
            known[sym.name] = table
    holds = np.asarray(evaluate(op.cond, known), np.bool_)
    if op.others:
        holds = holds | np.eye(tables[0].size, dtype=np.bool_)
    else:
        holds = np.broadcast_to(holds, tables[0].shape)
    return holds


def _put_named(
    op: Assume, arrays: Mapping[str, Array], share: int, rng: np.random.Generator
) -> None:
    """Some entries are numbers that an assumption names: who says -100 means it.

    Below 1000 means 999.
    """
    parts = (e.value for e in subexpressions(op.cond) if isinstance(e, Const))
    named = np.array(near([float(n) for n in parts]), np.int64)
    for t in op.tables if named.size and not op.others else ():
        low, high = t.dtype.integers
        held = named[(named >= low) & (named <= high)]
        if held.size:
            put(arrays[t.name], held, share, rng)


def _arrange(
    op: Assume,
    arrays: dict[str, Array],
    env: Mapping[str, int | float],
    rng: np.random.Generator,
) -> bool:
    """Change the tables of an assumption until it holds; whether it does."""
    sizes = [int(v) for v in env.values() if isinstance(v, int) and v > 0]
    try:
        for number in range(_REDRAWN):
            holds = _holding(op, arrays, env)
            if holds.all():
                return True
            high = int(rng.choice(sizes)) + 1
            for t in op.tables:
                flat = arrays[t.name].reshape(-1)
                if op.others:
                    # What is said of pairs is, as a rule, that no two are alike.
                    most = max(high, flat.size)
                    flat[:] = rng.permutation(most)[: flat.size]
                    if number % 2:
                        flat.sort()
                else:
                    bad = np.flatnonzero(~holds)
                    flat[bad] = rng.integers(0, high, bad.size)
    except (KeyError, ZeroDivisionError, ValueError):
        return False  # it is about what is known only in a run
    return False


def admits(
    program: Program, sizes: Mapping[str, int], scalars: Mapping[str, int | float]
) -> bool:
    """Whether requirements hold that speak of these and of contiguous rows."""
    env = environment(program, sizes, scalars)
    return all(
        holds(required.cond, env)
        for required in program.requirements
        if all(symbol.name in env for symbol in symbols(required.cond))
    )


def are_assumed(
    program: Program, arrays: Mapping[str, Array], env: Mapping[str, int | float]
) -> bool:
    """Whether all assumptions hold together, as far as it is known before a run."""
    for op in annotations_of(program):
        if not isinstance(op, Assume):
            continue
        try:
            if not bool(
                np.all(
                    _holding(op, arrays, env) if op.tables else evaluate(op.cond, env)
                )
            ):
                return False
        except (KeyError, ZeroDivisionError):
            continue  # the interpreter looks at it
    return True
