"""Arrays that a reference makes: ranges, constants, triangles, copies.

numpy does not dispatch these by their arguments, so the wrapped module (`module.py`)
calls them with the trace. What they make can be assigned to.
"""

from __future__ import annotations

import copy as copying
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from argus.specification.array import INTEGER, REAL, SymbolicArray, kind_of
from argus.specification.cases import as_kind, chosen
from argus.specification.casting import constant, converted, element_type, lifted
from argus.specification.powers import number_of
from argus.specification.reordering import broadcast_to
from argus.specification.reshaping import integer_of, shape_of
from argus.specification.sequences import read_only, unwrapped
from argus.specification.storage import Indices
from argus.specification.table import refuse, traces
from argus.specification.tracing import Tracing
from argus.terms import Integer, Term, Unknown, Value, undefined
from argus.terms.apply import is_whole_value

CREATIONS: dict[Any, Callable[..., Any]] = {}
"""Functions of numpy, and what they are called with the trace first."""


def creates(function: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark what a function of numpy is that makes an array."""

    def mark(implementation: Callable[..., Any]) -> Callable[..., Any]:
        CREATIONS[function] = implementation
        return implementation

    return mark


def filled(tracing: Tracing, shape: Any, value: Any, dtype: Any) -> SymbolicArray:
    """One value everywhere, or one that is broadcast."""
    from argus.specification.broadcasting import expanded

    given = lifted(tracing, value)
    if dtype is not None:
        given = converted(given, dtype)
    sizes = shape_of(tracing, shape)
    return boxed(expanded(given, sizes, "np.full").copy())


def boxed(array: SymbolicArray) -> SymbolicArray:
    """A new array as an array, also where it has no dimensions."""
    array.boxed, array.weak = not array.ndim, False
    return array


def _unwritten(tracing: Tracing, shape: Any, dtype: Any) -> SymbolicArray:
    wanted = REAL if dtype is None else element_type(dtype)
    if kind_of(wanted) != "real":
        return filled(tracing, shape, 0, wanted)
    term: Term = undefined("the reference does not write it")
    sizes = shape_of(tracing, shape)
    return SymbolicArray(tracing, sizes, wanted, lambda _: Value.real(term))


@creates(np.zeros)
def zeros(tracing: Tracing, shape: Any, dtype: Any = None, *_: Any, **__: Any) -> Any:
    """Zeros."""
    return filled(tracing, shape, 0, REAL if dtype is None else dtype)


@creates(np.ones)
def ones(tracing: Tracing, shape: Any, dtype: Any = None, *_: Any, **__: Any) -> Any:
    """Ones."""
    return filled(tracing, shape, 1, REAL if dtype is None else dtype)


@creates(np.full)
def full(
    tracing: Tracing, shape: Any, fill_value: Any, dtype: Any = None, **_: Any
) -> Any:
    """One value, or one that is broadcast."""
    return filled(tracing, shape, fill_value, dtype)


@creates(np.empty)
def empty(tracing: Tracing, shape: Any, dtype: Any = None, *_: Any, **__: Any) -> Any:
    """Elements that nothing is known of until they are written."""
    return _unwritten(tracing, shape, dtype)


@traces(np.zeros_like)
def zeros_like(a: Any, dtype: Any = None, *_: Any, shape: Any = None, **__: Any) -> Any:
    """Zeros of a shape and type."""
    return full_like(a, 0, dtype, shape=shape)


@traces(np.ones_like)
def ones_like(a: Any, dtype: Any = None, *_: Any, shape: Any = None, **__: Any) -> Any:
    """Ones of a shape and type."""
    return full_like(a, 1, dtype, shape=shape)


@traces(np.full_like)
def full_like(
    a: SymbolicArray, fill_value: Any, dtype: Any = None, *_: Any,
    shape: Any = None, **__: Any,
) -> Any:  # fmt: skip
    """One value in the shape and type of an array."""
    wanted = a.dtype if dtype is None else dtype
    return filled(a.tracing, a.shape if shape is None else shape, fill_value, wanted)


@traces(np.empty_like)
def empty_like(a: Any, dtype: Any = None, *_: Any, shape: Any = None, **__: Any) -> Any:
    """Elements that nothing is known of until they are written."""
    wanted = a.dtype if dtype is None else dtype
    return _unwritten(a.tracing, a.shape if shape is None else shape, wanted)


@creates(np.arange)
def arange(tracing: Tracing, *bounds: Any, **named: Any) -> SymbolicArray:
    """Integers, or numbers, with a step."""
    dtype = named.pop("dtype", None)
    given = [*bounds, *(named.pop(n) for n in ("start", "stop", "step") if n in named)]
    refuse("np.arange", **named)
    if len(given) == 4:
        dtype = given.pop()
    parts = [lifted(tracing, b) for b in given]
    if any(p.kind != "integer" for p in parts):
        plain = [number_of(p.at(())) for p in parts]
        if all(n is not None for n in plain):
            return lifted(tracing, np.arange(*map(float, plain), dtype=dtype))  # type: ignore[arg-type]
        if not all(is_whole_value(p.at(())) for p in parts):
            raise Unknown(
                "the reference calls np.arange with bounds that are no integers"
            )
        dtype = REAL if dtype is None else dtype
    start, stop, step = Integer.of(0), Integer.of(0), Integer.of(1)
    numbers = [integer_of(tracing, p) for p in parts]
    match numbers:
        case [stop]:
            pass
        case [start, stop]:
            pass
        case [start, stop, step]:
            pass
        case _:
            raise Unknown("the reference fails: arguments of np.arange")
    length = range_length(tracing, start, stop, step)
    made = SymbolicArray(
        tracing, (length,), INTEGER, lambda i: Value.whole(start + i[0] * step)
    )
    return made if dtype is None else converted(made, dtype)


def range_length(
    tracing: Tracing, start: Integer, stop: Integer, step: Integer
) -> Integer:
    """How many numbers there are from one on, before another one."""
    amount = step.constant
    if amount is None or amount == 0:
        raise Unknown(f"the reference counts by {step}")
    span = stop - start if amount > 0 else start - stop
    stride = Integer.of(abs(amount))
    count = tracing.world.quotient(span + (stride - 1), stride)
    return tracing.world.maximum(count, Integer.of(0))


@creates(np.linspace)
def linspace(
    tracing: Tracing, start: Any, stop: Any, num: Any = 50, endpoint: bool = True,
    **named: Any,
) -> Any:  # fmt: skip
    """Numbers at equal distances."""
    dtype, axis = named.pop("dtype", None), named.pop("axis", 0)
    refuse("np.linspace", **named, axis=axis or None)
    count = lifted(tracing, num)
    at = arange(tracing, num)
    found = start + at * ((lifted(tracing, stop) - start) / (count - int(endpoint)))
    return found if dtype is None else converted(found, dtype)


@creates(np.eye)
def eye(
    tracing: Tracing,
    N: Any,  # noqa: N803 - numpy's name
    M: Any = None,  # noqa: N803
    k: Any = 0,
    dtype: Any = None,
    **_: Any,
) -> SymbolicArray:
    """Ones on a diagonal."""
    rows, columns = arange(tracing, N), arange(tracing, N if M is None else M)
    found = rows[:, None] + k == columns[None, :]
    return converted(found, REAL if dtype is None else dtype)


@creates(np.identity)
def identity(tracing: Tracing, n: Any, dtype: Any = None, **_: Any) -> SymbolicArray:
    """Ones on the diagonal of a square."""
    return eye(tracing, n, dtype=dtype)


@creates(np.tri)
def tri(
    tracing: Tracing,
    N: Any,  # noqa: N803 - numpy's name
    M: Any = None,  # noqa: N803
    k: Any = 0,
    dtype: Any = None,
    **_: Any,
) -> SymbolicArray:
    """Ones on and below a diagonal."""
    rows, columns = arange(tracing, N), arange(tracing, N if M is None else M)
    found = rows[:, None] + k >= columns[None, :]
    return converted(found, REAL if dtype is None else dtype)


@creates(np.indices)
def indices(tracing: Tracing, dimensions: Any, *_: Any, **__: Any) -> SymbolicArray:
    """Positions, by dimension."""
    from argus.specification.joining import stacked

    sizes = shape_of(tracing, dimensions)

    def along(dim: int) -> SymbolicArray:
        return SymbolicArray(tracing, sizes, INTEGER, lambda i: Value.whole(i[dim]))

    return stacked([along(d) for d in range(len(sizes))], 0)


@creates(np.array)
def array(
    tracing: Tracing,
    object: Any,
    dtype: Any = None,
    *_: Any,
    copy: Any = True,
    **__: Any,
) -> SymbolicArray:
    """A copy, or nested lists as an array."""
    given = unwrapped(object)
    made = lifted(tracing, copying.copy(given) if copy else given)
    if dtype is not None:
        made = converted(made, dtype)
    return boxed(made.copy()) if copy else made


def _same(tracing: Tracing, a: Any, dtype: Any = None, *_: Any, **__: Any) -> Any:
    """The same array, or nested lists as one."""
    made = lifted(tracing, unwrapped(a))
    found = made if dtype is None else converted(made, dtype)
    if isinstance(a, SymbolicArray) and found is a and a.ndim:
        return found
    return boxed(found.copy())


def _maybe_same(tracing: Tracing, a: Any, *args: Any, **named: Any) -> Any:
    """The same array or a copy: it can be read while the given one does not change."""
    made = _same(tracing, a, *args, **named)
    return read_only(made)


CREATIONS.update({np.asarray: _same, np.asanyarray: _same})
CREATIONS[np.ascontiguousarray] = _maybe_same


@creates(np.copy)
def copy(tracing: Tracing, a: Any, *_: Any, **__: Any) -> Any:
    """A copy."""
    return array(tracing, a)


@creates(np.meshgrid)
def meshgrid(
    tracing: Tracing, *xi: Any, indexing: str = "xy", sparse: bool = False, **_: Any
) -> list[SymbolicArray]:
    """Vectors as grids."""
    vectors = [lifted(tracing, x).reshape(-1) for x in xi]
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    shape = [vectors[d].shape[0] for d in order]
    grids: list[SymbolicArray] = []
    for at, vector in enumerate(vectors):
        place = order.index(at)
        key = tuple(slice(None) if d == place else None for d in range(len(order)))
        grid = vector[key]
        grids.append(grid if sparse else broadcast_to(grid, shape).copy())
    return grids


def _triangle(m: Any, k: Any, upper: bool) -> SymbolicArray:
    """Elements on one side of a diagonal; 0 on the other."""
    if m.ndim == 1:  # numpy repeats a vector as rows
        m = broadcast_to(m, (*m.shape, *m.shape))
    tracing, read = m.tracing, m.now()
    world, shift = tracing.world, integer_of(tracing, k)
    zero = as_kind(world, constant(tracing, 0).at(()), m.kind)
    op = ">=" if upper else "<="

    def at(place: Indices) -> Value:
        kept = world.compare(place[-1], op, place[-2] + shift)
        return chosen(world, kept, partial(read, place), lambda: zero)

    return SymbolicArray(tracing, m.sizes, m.dtype, at)


@traces(np.tril)
def tril(m: SymbolicArray, k: Any = 0) -> SymbolicArray:
    """What lies on and below a diagonal."""
    return _triangle(m, k, False)


@traces(np.triu)
def triu(m: SymbolicArray, k: Any = 0) -> SymbolicArray:
    """What lies on and above a diagonal."""
    return _triangle(m, k, True)


@traces(np.diag)
def diag(v: SymbolicArray, k: int = 0) -> SymbolicArray:
    """The diagonal of a matrix, or a matrix with a diagonal."""
    if v.ndim == 2:
        return np.diagonal(v, k)  # type: ignore[return-value, arg-type]
    if v.ndim != 1:
        raise Unknown("the reference fails: np.diag of an array of other dimensions")
    tracing = v.tracing
    square = eye(tracing, v.shape[0] + abs(k), k=k, dtype=np.bool_)
    line: Any = np.pad(v, (0, abs(k)))  # type: ignore[call-overload]
    found: Any = np.where(square, line[:, None] if k >= 0 else line, 0)
    return converted(found, v.dtype)


@traces(np.diagflat)
def diagflat(v: SymbolicArray, k: int = 0) -> SymbolicArray:
    """A matrix with all elements of an array on a diagonal."""
    return diag(v.reshape(-1), k)
