"""Reductions and scans: sums, extremes, moments, and their running forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.specification.array import (
    INTEGER,
    REAL,
    TRUTH,
    SymbolicArray,
    kind_of,
)
from argus.specification.broadcasting import axes_of, axis_of
from argus.specification.cases import as_kind, chosen, joined, mapped, passed_over
from argus.specification.casting import converted, element_type, ends_of, lifted
from argus.specification.joining import concatenate, tracing_of
from argus.specification.reordering import broadcast_to
from argus.specification.sequences import unwrapped
from argus.specification.storage import Indices
from argus.specification.table import call, refuse, traces
from argus.specification.tracing import Tracing, depends_on_data
from argus.terms import (
    IndexSet,
    Integer,
    Unknown,
    Value,
    Variable,
    apply,
    reduce,
)
from argus.terms.narrowing import narrowed
from argus.terms.opening import Closing

_NOTHING: Any = getattr(np, "_NoValue", None)


def given(option: Any) -> Any:
    """An option of numpy's, None where it was left out."""
    return None if option is _NOTHING else option


def reduced(
    array: SymbolicArray, function: str, axis: Any, keepdims: Any, **options: Any
) -> SymbolicArray:
    """One number for each run of elements along axes.

    ``initial`` takes part; ``where`` says which elements do.
    """
    keep = bool(given(keepdims))
    tracing, world = array.tracing, array.tracing.world
    axes = axes_of(given(axis), array.ndim)
    if len(set(axes)) != len(axes):
        raise Unknown("the reference fails: an axis is given twice")
    rest = [d for d in range(array.ndim) if d not in axes]
    sizes = tuple(
        Integer.of(1) if d in axes else array.sizes[d]
        for d in range(array.ndim)
        if keep or d in rest
    )
    read = array.now()
    some = given(options.pop("where", None))
    initial = given(options.pop("initial", None))
    refuse(f"np.{function}", **options)
    mask = None
    if some is not None and some is not True:
        where = converted(lifted(tracing, some), TRUTH)
        mask = broadcast_to(where, array.shape).now()
    place = function in ("argmax", "argmin")
    if (place or function in ("max", "min")) and initial is None:
        for axis_ in axes:
            extent = array.sizes[axis_]
            tracing.need(world.compare(extent, ">", 0), f"{extent} > 0 ({function})")

    def at(indices: Indices) -> Value:
        kept = tuple(indices[d] for d in rest) if keep else indices
        full: dict[int, Integer] = dict(zip(rest, kept, strict=True))
        names: list[Variable] = []
        with Closing(world, Value.free_variables) as closed:
            for dim in axes:
                full[dim], own = tracing.positions("r", array.sizes[dim], whole=place)
                names += own
            point = tuple(full[d] for d in range(array.ndim))
            domain = IndexSet.universe if mask is None else mask(point).where
            found = closed(reduce(world, function, names, read(point), domain))
        if initial is None:
            return found
        first = converted(lifted(tracing, initial), array.dtype).at(())
        start = as_kind(world, first, found.kind)
        combine = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}
        return apply(world, combine[function], start, found)

    return SymbolicArray(tracing, sizes, INTEGER if place else array.dtype, at)


def _variable(integer: Integer) -> Variable:
    atom = integer.single
    assert isinstance(atom, Variable)
    return atom


def _as_array(a: Any) -> SymbolicArray:
    return a if isinstance(a, SymbolicArray) else lifted(tracing_of(a), unwrapped(a))


def _summed_as(array: SymbolicArray, dtype: Any) -> np.dtype[Any]:
    """The type of sums and products: of whole numbers and truths one of 64 bits.

    It has no sign where theirs has none.
    """
    if (wanted := given(dtype)) is not None:
        return element_type(wanted)
    if array.dtype.kind == "f":
        return array.dtype
    return np.dtype(np.uint64) if array.dtype.kind == "u" else INTEGER


def _summable(array: SymbolicArray, dtype: Any) -> SymbolicArray:
    """As the type in which numpy adds.

    In fewer bits or without a sign (`_left`), too: what is left of a sum is what is
    left of a sum of what is left.
    """
    wanted = _summed_as(array, dtype)
    if kind_of(wanted) == "integer" and array.kind != "real":
        return converted(array, INTEGER)
    return converted(array, wanted)


def _left(array: SymbolicArray, made: np.dtype[Any]) -> SymbolicArray:
    """Sums and products in the type that they have, in which they wrap around."""
    if made == INTEGER or array.kind != "integer":
        return array
    world, ends = array.tracing.world, ends_of(made)
    read = mapped(array.now(), lambda value: narrowed(world, value, ends))
    return SymbolicArray(array.tracing, array.sizes, made, read)


@traces(np.sum)
def sum_(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
    keepdims: Any = False, **options: Any,
) -> SymbolicArray:  # fmt: skip
    """The sum along axes."""
    refuse("np.sum", out=out)
    a = _as_array(a)
    made = reduced(_summable(a, dtype), "sum", axis, keepdims, **options)
    return _left(made, _summed_as(a, dtype))


@traces(np.nansum)
def nansum(a: Any, axis: Any = None, **options: Any) -> SymbolicArray:
    """The sum: real numbers have no NaN."""
    return sum_(a, axis, **options)


@traces(np.nanprod)
def nanprod(a: Any, axis: Any = None, **options: Any) -> SymbolicArray:
    """The product: real numbers have no NaN."""
    return prod(lifted(tracing_of(a), a), axis, **options)


@traces(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, **options: Any) -> SymbolicArray:
    """Running sums: real numbers have no NaN."""
    return cumsum(lifted(tracing_of(a), a), axis, **options)


@traces(np.prod)
def prod(
    a: SymbolicArray, axis: Any = None, dtype: Any = None, out: Any = None,
    keepdims: Any = False, **options: Any,
) -> SymbolicArray:  # fmt: skip
    """The product along axes."""
    refuse("np.prod", out=out)
    made = reduced(_summable(a, dtype), "prod", axis, keepdims, **options)
    return _left(made, _summed_as(a, dtype))


@traces(np.nanmax)
def nanmax(a: Any, *args: Any, **named: Any) -> SymbolicArray:
    """The largest that is a number."""
    return max_(passed_over(a), *args, **named)


@traces(np.nanmin)
def nanmin(a: Any, *args: Any, **named: Any) -> SymbolicArray:
    """The smallest that is a number."""
    return min_(passed_over(a), *args, **named)


@traces(np.nanmean)
def nanmean(a: Any, *args: Any, **named: Any) -> Any:
    """The mean of numbers, where all are."""
    return mean(passed_over(a), *args, **named)


@traces(np.max, np.amax)
def max_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **options: Any
) -> SymbolicArray:
    """The largest along axes."""
    refuse("np.max", out=out)
    a = _as_array(a)
    return reduced(a, "max", axis, keepdims, **options)


@traces(np.min, np.amin)
def min_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **options: Any
) -> SymbolicArray:
    """The smallest along axes."""
    refuse("np.min", out=out)
    a = _as_array(a)
    return reduced(a, "min", axis, keepdims, **options)


@traces(np.ptp)
def ptp(a: SymbolicArray, axis: Any = None, **options: Any) -> Any:
    """The distance of the largest and the smallest."""
    return max_(a, axis, **options) - min_(a, axis, **options)


def _count(array: SymbolicArray, axis: Any) -> SymbolicArray:
    """How many elements a mean is of, as a real number."""
    axes = axes_of(given(axis), array.ndim)
    tracing = array.tracing
    number = Value.whole(tracing.product(array.sizes[d] for d in axes))
    return SymbolicArray(
        tracing, (), REAL, lambda _: as_kind(tracing.world, number, "real")
    )


def _real(array: SymbolicArray, dtype: Any) -> SymbolicArray:
    wanted = given(dtype)
    if wanted is not None and element_type(wanted).kind != "f":
        raise Unknown("the reference takes a mean in a type that is not a float")
    return array if array.dtype.kind == "f" else converted(array, REAL)


@traces(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
    keepdims: Any = False, **options: Any,
) -> Any:  # fmt: skip
    """The sum divided by the number of elements."""
    some = given(options.pop("where", None))
    refuse("np.mean", out=out, **{k: given(v) for k, v in options.items()})
    a = _as_array(a)
    real = _real(a, dtype)
    if some is not None and some is not True:
        counted = broadcast_to(lifted(a.tracing, some), a.shape)
        total = reduced(real, "sum", axis, keepdims, where=some)
        return total / reduced(converted(counted, INTEGER), "sum", axis, keepdims)
    return reduced(real, "sum", axis, keepdims) / _count(a, axis)


@traces(np.average)
def average(
    a: SymbolicArray, axis: Any = None, weights: Any = None, **named: Any
) -> Any:
    """The mean, by weights where they are given."""
    keep = bool(given(named.pop("keepdims", False)))
    if weights is None and named.pop("returned", False):
        found = mean(a, axis, keepdims=keep)
        return found, broadcast_to(_count(a, axis) * 1.0, found.shape)
    refuse("np.average", **named)
    if weights is None:
        return mean(a, axis, keepdims=keep)
    given_weights = lifted(a.tracing, weights)
    if given_weights.ndim != a.ndim:
        raise Unknown("the reference calls np.average with weights of another rank")
    total = reduced(_real(given_weights, None), "sum", axis, keep)
    return reduced(_real(a, None) * given_weights, "sum", axis, keep) / total


@traces(np.var)
def var(
    a: SymbolicArray, axis: Any = None, dtype: Any = None, out: Any = None,
    ddof: Any = 0, keepdims: Any = False, **named: Any,
) -> Any:  # fmt: skip
    """The mean square of the distance from the mean."""
    ddof = named.pop("correction", ddof)
    ddof = 0 if given(ddof) is None else ddof
    refuse("np.var", out=out, **{k: given(v) for k, v in named.items()})
    real = _real(a, dtype)
    centred = real - mean(real, axis, keepdims=True)
    squares = reduced(centred * centred, "sum", axis, keepdims)
    return squares / (_count(a, axis) - ddof)


@traces(np.std)
def std(*args: Any, **named: Any) -> Any:
    """The square root of the variance."""
    return np.sqrt(var(*args, **named))


def _truths(a: SymbolicArray, axis: Any, keepdims: Any, every: bool) -> SymbolicArray:
    """Whether all, or any, are true; of data: whether so many are."""
    truth = converted(a, TRUTH)
    plain = reduced(truth, "all" if every else "any", axis, keepdims)
    counted = reduced(
        converted(~truth if every else truth, INTEGER), "sum", axis, keepdims
    )
    some = counted == 0 if every else counted > 0
    by_sets, by_count = plain.now(), some.now()

    def read(indices: Indices) -> Value:
        try:
            return by_sets(indices)
        except Unknown:
            return by_count(indices)

    return SymbolicArray(a.tracing, plain.sizes, TRUTH, read)


@traces(np.all)
def all_(
    a: SymbolicArray, axis: Any = None, out: Any = None, keepdims: Any = False
) -> SymbolicArray:
    """Whether all are true."""
    refuse("np.all", out=out)
    return _truths(a, axis, keepdims, True)


@traces(np.any)
def any_(
    a: SymbolicArray, axis: Any = None, out: Any = None, keepdims: Any = False
) -> SymbolicArray:
    """Whether any is true."""
    refuse("np.any", out=out)
    return _truths(a, axis, keepdims, False)


@traces(np.count_nonzero)
def count_nonzero(
    a: SymbolicArray, axis: Any = None, *, keepdims: bool = False
) -> SymbolicArray:
    """How many are not 0."""
    return reduced(converted(converted(a, TRUTH), INTEGER), "sum", axis, keepdims)


def _argument(a: SymbolicArray, function: str, axis: Any, keepdims: Any) -> Any:
    """The first position of an extreme; of all elements in a row without an axis."""
    if given(axis) is None:
        a, axis = call(np.ravel, a), 0
    return reduced(a, function, axis_of(axis, a.ndim), keepdims)


@traces(np.argmax)
def argmax(
    a: SymbolicArray, axis: Any = None, out: Any = None, *, keepdims: Any = False
) -> SymbolicArray:
    """Where the largest is; the first of several."""
    refuse("np.argmax", out=out)
    return _argument(a, "argmax", axis, keepdims)


@traces(np.argmin)
def argmin(
    a: SymbolicArray, axis: Any = None, out: Any = None, *, keepdims: Any = False
) -> SymbolicArray:
    """Where the smallest is; the first of several."""
    refuse("np.argmin", out=out)
    return _argument(a, "argmin", axis, keepdims)


def scanned(a: SymbolicArray, function: str, axis: Any) -> SymbolicArray:
    """For each element the reduction of those up to it."""
    if given(axis) is None:
        a, axis = call(np.ravel, a), 0
    dim, tracing = axis_of(axis, a.ndim), a.tracing
    read, world = a.now(), tracing.world

    def at(indices: Indices) -> Value:
        variable = world.fresh("r", 0, a.sizes[dim])
        place = (*indices[:dim], variable, *indices[dim + 1 :])
        upto = world.compare(variable, "<=", indices[dim])
        return reduce(world, function, [_variable(variable)], read(place), upto)

    return SymbolicArray(tracing, a.sizes, a.dtype, at)


def reduced_at(
    tracing: Tracing, function: str, array: Any, indices: Any, axis: Any = 0,
    dtype: Any = None, out: Any = None,
) -> SymbolicArray:  # fmt: skip
    """Reductions of the parts of an array that begin at some positions (`reduceat`).

    A part that does not end after its beginning is the element there. Raises Unknown
    for positions that data say.
    """
    refuse("reduceat", out=out)
    a, table = lifted(tracing, array), lifted(tracing, indices)
    a = _summable(a, dtype) if function in ("sum", "prod") else a
    if table.ndim != 1 or table.kind != "integer":
        raise Unknown("the reference calls reduceat with what is no list of positions")
    dim, world = axis_of(axis, a.ndim), tracing.world
    read, begins, (parts,) = a.now(), table.now(), table.sizes
    size = a.sizes[dim]

    def begin(part: Integer) -> Integer:
        cases = begins((part,)).integers
        if len(cases) != 1 or depends_on_data(cases[0][1]):
            raise Unknown("the reference calls reduceat at positions that data say")
        return cases[0][1]

    def of_part(place: Indices) -> Value:
        part = place[dim]
        first, last = begin(part), world.compare(part + 1, "==", parts)
        variable = world.fresh("r", 0, size)
        rest = (*place[:dim], variable, *place[dim + 1 :])
        after = (
            last if last.is_universe else world.compare(variable, "<", begin(part + 1))
        )
        domain = world.compare(variable, ">=", first) & (last | after)
        total = reduce(world, function, [_variable(variable)], read(rest), domain)
        one = read((*place[:dim], first, *place[dim + 1 :]))
        some = last if last.is_universe else world.compare(first, "<", begin(part + 1))
        return chosen(world, last | some, lambda: total, lambda: one)

    known = parts.constant
    each = [Integer.of(n) for n in range(known or 0)]
    for part in each or [world.fresh("part", 0, parts)]:
        first = begin(part)
        inside = world.compare(first, ">=", 0) & world.compare(first, "<", size)
        tracing.need(inside, f"{first} is a position (reduceat)")

    def at(place: Indices) -> Value:
        if not each or place[dim].constant is not None:
            return of_part(place)
        return joined(
            world,
            [
                (
                    world.compare(place[dim], "==", part),
                    of_part((*place[:dim], part, *place[dim + 1 :])),
                )
                for part in each
            ],
        )

    sizes = (*a.sizes[:dim], parts, *a.sizes[dim + 1 :])
    return SymbolicArray(tracing, sizes, a.dtype, at)


@traces(np.cumsum)
def cumsum(
    a: SymbolicArray, axis: Any = None, dtype: Any = None, out: Any = None
) -> SymbolicArray:
    """Sums of all elements up to each."""
    refuse("np.cumsum", out=out)
    made = scanned(_summable(a, dtype), "sum", axis)
    return _left(made, _summed_as(a, dtype))


@traces(np.cumprod)
def cumprod(
    a: SymbolicArray, axis: Any = None, dtype: Any = None, out: Any = None
) -> SymbolicArray:
    """Products of all elements up to each."""
    refuse("np.cumprod", out=out)
    made = scanned(_summable(a, dtype), "prod", axis)
    return _left(made, _summed_as(a, dtype))


@traces(np.diff)
def diff(
    a: SymbolicArray, n: int = 1, axis: int = -1,
    prepend: Any = _NOTHING, append: Any = _NOTHING,
) -> Any:  # fmt: skip
    """Differences of neighbours, and of what is put before and after them."""
    dim = axis_of(axis, a.ndim)
    if n == 0:
        return a
    parts = [_edge(a, dim, prepend), a, _edge(a, dim, append)]
    if len(found := [x for x in parts if x is not None]) > 1:
        a = concatenate(found, dim)
    key = [slice(None)] * dim
    for _ in range(n):
        a = a[(*key, slice(1, None))] - a[(*key, slice(None, -1))]
    return a


def _edge(a: SymbolicArray, dim: int, value: Any) -> SymbolicArray | None:
    """What stands before or after an array: an element of each line, or several."""
    if given(value) is None:
        return None
    edge = lifted(a.tracing, value)
    if edge.ndim:
        return edge
    return broadcast_to(edge, (*a.shape[:dim], 1, *a.shape[dim + 1 :]))


@traces(np.linalg.norm)
def norm(
    x: SymbolicArray, ord: Any = None, axis: Any = None, keepdims: bool = False
) -> Any:
    """The Euclidean norm, and those of vectors for 1, 2 and infinity."""
    several = (axis is None and x.ndim > 1) or isinstance(axis, tuple)
    if several and ord not in (None, "fro"):
        raise Unknown(f"the reference calls np.linalg.norm with ord={ord}")
    real = _real(x, None)
    if ord is None or ord == 2 or ord == "fro":
        return np.sqrt(reduced(real * real, "sum", axis, keepdims))
    if ord == 1:
        return reduced(abs(real), "sum", axis, keepdims)
    if ord == np.inf:
        return reduced(abs(real), "max", axis, keepdims)
    raise Unknown(f"the reference calls np.linalg.norm with ord={ord}")
