"""From one element type to another, and from Python's values to arrays.

Between floats nothing changes: terms are real numbers. A float becomes an integer by
cutting off. Integers wrap around to a type that may not hold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from typing import cast as typed

import numpy as np

from argus.specification.array import (
    INTEGER,
    REAL,
    TRUTH,
    SymbolicArray,
    kind_of,
)
from argus.specification.cases import as_kind, joined, mapped
from argus.specification.storage import Indices, Read
from argus.specification.table import flattened
from argus.specification.tracing import Tracing
from argus.terms import IndexSet, Integer, Unknown, Value, apply, cast, literal
from argus.terms.cast import saturated
from argus.terms.narrowing import narrowed

_LARGEST_TABLE = 256
"""Elements of an array of numbers that is not uniform and not a range."""


def element_type(dtype: Any) -> np.dtype[Any]:
    """The element type that a reference names, Python's own types included."""
    if isinstance(dtype, str) and dtype in ("bfloat16", "float8_e4m3fn"):
        return REAL
    made = np.dtype(dtype)
    return REAL if made.kind == "V" else made  # of ml_dtypes: floats


def bits_of_e2m1(array: SymbolicArray, dtype: Any) -> SymbolicArray:
    """The floats e2m1 (OCP MX) of which whole numbers are the bits.

    Raises Unknown for other types than `ml_dtypes.float4_e2m1fn`, and other arrays.
    """
    if np.dtype(dtype).name != "float4_e2m1fn" or array.kind != "integer":
        raise Unknown(f"elements that are viewed as {np.dtype(dtype).name}")
    world = array.tracing.world
    twice = mapped(array.now(), lambda value: apply(world, "twice_e2m1", value))
    made = SymbolicArray(array.tracing, array.sizes, INTEGER, twice)
    return converted(made, REAL) * 0.5


def converted(array: SymbolicArray, dtype: Any) -> SymbolicArray:
    """The same elements as another type; the array itself where nothing changes.

    Raises Unknown for types that are not traced.
    """
    wanted = element_type(dtype)
    if wanted == array.dtype:
        return array
    kind, world = kind_of(wanted), array.tracing.world
    if array.kind == "integer" and kind == "real":
        from argus.specification.in_floats import hold

        hold(array, dtype if isinstance(dtype, str) else np.dtype(dtype).name)
    read = array.now()
    if kind == array.kind == "integer" and not np.can_cast(array.dtype, wanted):
        read = mapped(read, lambda value: narrowed(world, value, ends_of(wanted)))
    elif kind == "integer" and array.kind == "real":
        if wanted.itemsize < 4 or wanted.kind == "u":
            array.tracing.assume(
                f"floats that the reference converts to {wanted} are in its range"
            )
            ends = ends_of(wanted)  # as a kernel's conversion takes what is beyond
            read = mapped(read, lambda value: saturated(world, value, *ends))
        else:
            read = mapped(read, lambda value: cast(world, value, "integer"))
    elif kind != array.kind:
        read = mapped(read, lambda value: as_kind(world, value, kind))
    return SymbolicArray(array.tracing, array.sizes, wanted, read)


def wraps(tracing: Tracing, result: np.dtype[Any]) -> bool:
    """Whether numbers of a type wrap around.

    Those of 32 and 64 bits with a sign are taken to fit.
    """
    if result.itemsize == 4 and result.kind == "i":
        tracing.assume(f"{result} arithmetic of the reference does not overflow")
    return result.itemsize < 4 or result.kind == "u"


def ends_of(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and the greatest number of a type of whole numbers."""
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def constant(tracing: Tracing, value: float | bool | int) -> SymbolicArray:
    """A number of Python."""
    if isinstance(value, bool):
        truth = IndexSet.universe if value else IndexSet.nothing
        found, dtype = Value.truth(truth), TRUTH
    elif isinstance(value, int):
        found, dtype = Value.whole(Integer.of(value)), INTEGER
    else:
        found, dtype = Value.real(literal(tracing.world, value)), REAL
    return SymbolicArray(
        tracing, (), dtype, lambda _: found, weak=not isinstance(value, bool)
    )


def lifted(tracing: Tracing, value: Any) -> SymbolicArray:
    """Whatever a reference uses as an array: numbers, plain arrays, nested lists.

    Raises Unknown for what cannot be one.
    """
    match value:
        case SymbolicArray():
            return value
        case bool() | int() | float():
            return constant(tracing, value)
        case np.generic():
            return _scalar(tracing, typed(Any, value))
        case np.ndarray():
            return _plain(tracing, typed(Any, value))
        case list() | tuple():
            return _nested(tracing, list(typed(Any, value)))
        case _ if hasattr(value, "stacked"):
            return value.stacked()
        case _:
            raise Unknown(f"the reference uses a {type(value).__name__} as an array")


def _scalar(tracing: Tracing, value: Any) -> SymbolicArray:
    """A number of numpy, whose type does not give way."""
    made = constant(tracing, value.item())
    return SymbolicArray(tracing, (), value.dtype, made.storage)


def _nested(tracing: Tracing, parts: list[Any]) -> SymbolicArray:
    if all(isinstance(p, int | float | np.generic) for p in flattened(parts)):
        return _plain(tracing, np.array(parts))
    from argus.specification.joining import stack

    return stack(parts, 0)


def _plain(tracing: Tracing, array: np.ndarray[Any, Any]) -> SymbolicArray:
    """An array of numbers: uniform, a range along one dimension, or a short table."""
    dtype, sizes = array.dtype, tuple(Integer.of(n) for n in array.shape)
    kind_of(dtype)

    def number(value: Any) -> Value:
        return constant(tracing, value).at(())

    def made(read: Read) -> SymbolicArray:
        return SymbolicArray(tracing, sizes, dtype, read)

    flat: list[Any] = array.reshape(-1).tolist()
    if not flat:
        zero = as_kind(tracing.world, number(0), kind_of(dtype))
        return made(lambda _: zero)
    if all(v == flat[0] for v in flat):
        same = number(flat[0])
        return made(lambda _: same)
    if dtype.kind in "iu" and array.ndim == 1:
        step = flat[1] - flat[0]
        if flat == list(range(flat[0], flat[0] + step * len(flat), step or 1)):
            return made(lambda i: Value.whole(i[0] * step + flat[0]))
    if len(flat) > _LARGEST_TABLE:
        raise Unknown(f"the reference has a table of {len(flat)} different numbers")
    return made(_Table(tracing, array, [number(v) for v in flat]))


class _Table:
    """Numbers by position."""

    def __init__(
        self, tracing: Tracing, array: np.ndarray[Any, Any], values: Sequence[Value]
    ) -> None:
        self.tracing, self.shape, self.values = tracing, array.shape, values

    def __call__(self, indices: Indices) -> Value:
        world = self.tracing.world
        fixed = [i.constant for i in indices]
        parts: list[tuple[IndexSet, Value]] = []
        for at, value in zip(np.ndindex(self.shape), self.values, strict=True):
            if any(f is not None and f != a for f, a in zip(fixed, at, strict=True)):
                continue
            where = IndexSet.universe
            for index, number in zip(indices, at, strict=True):
                where = where & world.compare(index, "==", number)
            parts.append((where, value))
        return joined(world, parts)
