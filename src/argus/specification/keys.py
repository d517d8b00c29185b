"""What stands between the brackets of `X[...]`, one item for each dimension.

Slices are clamped as Python's are, with symbolic bounds, too. A bound whose sign is not
known must not be negative: sizes at which it is are a need; of entries of index tables
it is an assumption.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from argus.specification.array import INTEGER, SymbolicArray, positions
from argus.specification.cases import Cases, as_kind, integers
from argus.specification.casting import converted, lifted
from argus.specification.index_entries import assume_entries
from argus.specification.tracing import Tracing, depends_on_data, of_data
from argus.terms import IndexSet, Integer, Opaque, Unknown, Value, Variable


@dataclass(frozen=True)
class New:
    """`None`: a dimension of size 1."""


@dataclass(frozen=True)
class Range:
    """A slice of a dimension: ``start + step * i`` for ``i < length``."""

    size: Integer
    start: Integer
    step: int
    length: Integer

    @property
    def whole(self) -> bool:
        """Whether it is all of the dimension, in order."""
        return self.start.constant == 0 and self.step == 1 and self.length == self.size


@dataclass(frozen=True)
class Point:
    """One position of a dimension."""

    size: Integer
    at: Cases


@dataclass(frozen=True)
class Gather:
    """An array of indices of a dimension; ``plain``: they are known to be positions."""

    size: Integer
    array: SymbolicArray
    plain: bool

    def at(self, tracing: Tracing, value: Value) -> Cases:
        """The positions that an index value is."""
        cases = integers(as_kind(tracing.world, value, "integer"))
        return cases if self.plain else positioned(tracing, cases, self.size)


@dataclass(frozen=True)
class Mask:
    """An array of truth values over one or more dimensions."""

    sizes: tuple[Integer, ...]
    array: SymbolicArray


Item: TypeAlias = New | Range | Point | Gather | Mask


def items_of(
    array: SymbolicArray, key: Any, mask: SymbolicArray | None = None
) -> list[Item]:
    """The items of a key; all dimensions are covered.

    ``mask``: which entries of arrays of indices, that have its shape, are used at all.
    Raises Unknown for keys that are not traced, or that numpy refuses.
    """
    given: list[Any] = list(cast(Any, key)) if isinstance(key, tuple) else [key]
    tracing = array.tracing
    parts = [_normal(tracing, part) for part in given]
    taken = sum(_dimensions(part) for part in parts)
    if taken > array.ndim:
        raise Unknown(f"the reference fails: {taken} indices of {array.ndim}")
    dots = [at for at, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise Unknown("the reference fails: two ellipses in one key")
    at = dots[0] if dots else len(parts)
    rest = [slice(None)] * (array.ndim - taken)
    parts[at : at + len(dots)] = rest
    found: list[Item] = []
    dim = 0
    for part in parts:
        if part is None:
            found.append(New())
            continue
        size = array.sizes[dim]
        match part:
            case slice():
                found.append(range_of(tracing, cast(Any, part), size))
            case SymbolicArray() if part.kind == "truth":
                sizes = array.sizes[dim : dim + part.ndim]
                for mine, other in zip(part.sizes, sizes, strict=True):
                    tracing.need_equal(mine, other, "a mask")
                found.append(Mask(sizes, part))
                dim += part.ndim - 1
            case SymbolicArray() if not part.ndim:
                cases = integers(part.at(()))
                if not are_positions(tracing, cases, size):
                    cases = positioned(tracing, cases, size)
                found.append(Point(size, cases))
            case _:
                indices = cast(SymbolicArray, part)
                places = positions(tracing, indices.sizes, "i")
                every = used(tracing, integers(indices.at(places)), mask, places)
                plain = are_positions(tracing, every, size)
                assume_entries(tracing, places, every, size)
                found.append(Gather(size, indices, plain))
        dim += 1
    return found


def used(
    tracing: Tracing,
    cases: Cases,
    mask: SymbolicArray | None,
    places: Sequence[Integer],
) -> Cases:
    """What an index is at places where a mask, if there is one, has it used."""
    if mask is None:
        return cases
    where = as_kind(tracing.world, mask.at(tuple(places)), "truth").where
    return tuple(
        (here & where, x) for here, x in cases if not tracing.never(here & where)
    )


def _normal(tracing: Tracing, part: Any) -> Any:
    """None, an ellipsis, a slice, or an array of integers or truth values."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return cast(Any, part)
    array = lifted(tracing, part)
    if isinstance(part, list) and not part:
        array = converted(array, INTEGER)
    if array.kind == "real":
        raise Unknown("the reference fails: an index that is no integer")
    if array.kind == "truth" and not array.ndim:
        raise Unknown("the reference indexes with one truth value")
    return array


def _dimensions(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, SymbolicArray) and part.kind == "truth":
        return part.ndim
    return 1


def are_positions(tracing: Tracing, cases: Cases, size: Integer) -> bool:
    """Whether indices are positions of a dimension; False: `positioned` has to look.

    numpy refuses an index that is too large, so it is a need that there is none. What
    depends on data is assumed to be a position. Raises Unknown where a need is not one
    of sizes.
    """
    world = tracing.world
    plain = True
    for where, index in cases:
        below = where & world.compare(index, "<", 0)
        beyond = where & world.compare(index, ">=", size)
        if depends_on_data(index):
            if not tracing.never(below | beyond):
                text = f"0 <= {index} < {size}: it is an index"
                tracing.assume(text, signed=tracing.never(below))
                plain = False
            continue
        if not tracing.never(beyond):
            if of_data(where):
                tracing.assume(f"{index} < {size}: it is an index", signed=False)
                plain = False
            elif not _grouped(tracing, index, size):
                tracing.need(~beyond, f"{index} < {size} (an index)", shape=True)
        if not tracing.never(below):
            plain = False
            too_low = where & world.compare(index, "<", -size)
            if not tracing.never(too_low):
                why = f"{index} >= -{size} (an index)"
                tracing.need(~too_low, why, shape=True)
    return plain


def _grouped(tracing: Tracing, index: Integer, size: Integer) -> bool:
    """Whether an index is `h // (H // G)` of every `h < H`, in a dimension of size G.

    That the largest, `(H - 1) // (H // G)`, is below G says `H <= G * (H // G)`: that G
    divides H. So this is the need.
    """
    match index.single:
        case Opaque(op="div", args=(dividend, divisor)):
            variable, group = dividend.single, divisor.single
        case _:
            return False
    match variable, group:
        case Variable(lower=low, upper=high), Opaque(op="div", args=(heads, groups)):
            if groups != size or high != heads or low != Integer.of(0):
                return False
            tracing.need_divides(groups, heads)
            return True
        case _:
            return False


def positioned(tracing: Tracing, cases: Cases, size: Integer) -> Cases:
    """Positions of a dimension for indices that may count from its end.

    Of what depends on data only positions are left.
    """
    world = tracing.world
    found: list[tuple[IndexSet, Integer]] = []
    for where, index in cases:
        below = world.compare(index, "<", 0)
        beyond = world.compare(index, ">=", size)
        if depends_on_data(index):
            found.append((where - below - beyond, index))
            continue
        if of_data(where):
            where = where - beyond
        if tracing.never(where & below):
            found.append((where, index))
        elif tracing.never(where - below):
            found.append((where, index + size))
        else:
            found += [(where - below, index), (where & below, index + size)]
    return tuple(found)


def range_of(tracing: Tracing, given: slice, size: Integer) -> Range:
    """A slice with its bounds clamped.

    Raises Unknown for steps that are no number, and bounds of unknown sign that are
    neither sizes nor data.
    """
    world = tracing.world
    step_given: Any = given.step
    step = 1 if step_given is None else int(np.int64(step_given.__index__()))
    if step == 0:
        raise Unknown("the reference fails: a slice with step 0")
    # Counted from the end, a bound may be before the first position.
    least = Integer.of(0 if step > 0 else -1)
    start, stop = (_bound(tracing, b, size, least) for b in (given.start, given.stop))
    low = Integer.of(0)
    if step > 0:
        # Where there is an element at all, the first one lies inside.
        first = low if start is None else start
        last = size if stop is None else world.minimum(stop, size)
        count = last - first
    else:
        first = size - 1 if start is None else world.minimum(start, size - 1)
        last = Integer.of(-1) if stop is None else world.minimum(stop, size - 1)
        count = first - last
    stride = abs(step)
    length = world.quotient(count + (stride - 1), Integer.of(stride))
    return Range(size, first, step, world.maximum(length, low))


def _bound(
    tracing: Tracing, bound: Any, size: Integer, least: Integer
) -> Integer | None:
    """A bound counted from the front; None where none is given."""
    if bound is None:
        return None
    world = tracing.world
    found = integers(converted(lifted(tracing, bound), INTEGER).at(()))
    if len(found) != 1 or not found[0][0].is_universe:
        raise Unknown("the reference slices by a bound that differs by cases")
    value = found[0][1]
    below = world.compare(value, "<", 0)
    if tracing.never(below):
        return value
    if tracing.holds(below):
        return world.maximum(value + size, least)
    if depends_on_data(value):
        tracing.assume(f"{value} >= 0: it is the bound of a slice")
        return world.maximum(value, Integer.of(0))
    tracing.need(~below, f"{value} >= 0 (the bound of a slice)", shape=True)
    return value
