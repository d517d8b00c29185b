"""Elements that a mask selects: `W[I == b]`, as far as their number does not matter.

How many there are depends on data, so that they have no positions. What is computed of
each is computed of every element of the array, and what they add up to is a sum of the
elements that the mask selects.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from argus.specification.array import INTEGER, TRUTH, SymbolicArray, size_of
from argus.specification.casting import converted, lifted
from argus.specification.table import call, name_of
from argus.terms import Unknown

__all__ = ["Selected", "of_selected", "unselected"]

_WHY = "the reference selects by a mask: the size depends on data"
_TWO = "the reference joins what two masks select"
_REDUCTIONS: dict[Any, dict[str, Any]] = {
    np.sum: {}, np.prod: {}, np.mean: {},
    np.max: {"initial": -np.inf}, np.min: {"initial": np.inf},
}  # fmt: skip
"""What is asked of all that are selected, with what it takes beside a mask. Of no
element numpy has no maximum: such data are none of the reference's."""


class Selected(SymbolicArray):
    """What `array[mask]` is: its first dimension is as long as the mask has truths.

    ``mask`` has the first dimensions of ``array``. Raises Unknown where anybody asks
    for elements or sizes.
    """

    def __init__(self, array: SymbolicArray, mask: SymbolicArray) -> None:
        self.tracing, self.dtype, self.weak = array.tracing, array.dtype, False
        self.boxed = False
        self.array, self.mask = array, mask

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.array.ndim - self.mask.ndim + 1

    @property
    def shape(self) -> tuple[Any, ...]:
        """How many there are, which data say, and the sizes of the other dimensions."""
        rest = self.array.sizes[self.mask.ndim :]
        count = call(np.sum, converted(self.mask, INTEGER))
        return (count, *(size_of(self.tracing, n) for n in rest))

    @property
    def size(self) -> Any:
        """The number of elements."""
        return functools.reduce(operator.mul, self.shape)

    def __getattr__(self, name: str) -> Any:
        if name in ("sizes", "storage", "view_of"):
            raise Unknown(_WHY)
        return super().__getattr__(name)

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Any:
        """Elements of another type: between floats they stay as they are."""
        return Selected(converted(self.array, dtype), self.mask)

    def copy(self, *_: Any, **__: Any) -> SymbolicArray:
        """The same elements, which change no more."""
        return Selected(self.array, self.mask)

    def __getitem__(self, key: Any) -> Any:
        raise Unknown(_WHY)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise Unknown(_WHY)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any
    ) -> Any:
        if method == "at":
            return super().__array_ufunc__(ufunc, method, *inputs, **named)
        out = named.pop("out", None)
        if method != "__call__" or (out is not None and out[0] is not self):
            raise Unknown(f"{_WHY} ({name_of(ufunc)})")
        made = Selected(ufunc(*map(self._beside, inputs), **named), self.mask)
        if out is None:
            return made
        if made.kind != self.kind:
            raise Unknown("the reference changes elements to another type in place")
        self.array = converted(made.array, self.dtype)
        return self

    def _beside(self, value: Any) -> Any:
        """An operand, of each element of the array.

        Raises Unknown for what has another element for each one that is selected,
        unless the same mask selects it.
        """
        if isinstance(value, Selected):
            if not _are_same(value.mask, self.mask):
                raise Unknown(_TWO)
            return value.array
        operand = lifted(self.tracing, value)
        if operand.ndim >= self.ndim:
            raise Unknown(_WHY)
        return value

    def called(
        self, function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]
    ) -> Any:
        """What a function of numpy makes of them. Raises Unknown for most."""
        given = {name for name, value in named.items() if value is not False}
        if function not in _REDUCTIONS or given - {"axis", "dtype"} or len(args) > 1:
            raise Unknown(f"{_WHY} ({name_of(function)})")
        axis = args[0] if args else named.pop("axis", None)
        inner = self.mask.ndim
        dims = cast("tuple[int, ...]", axis if isinstance(axis, tuple) else (axis,))
        own = range(self.ndim) if axis is None else [d % self.ndim for d in dims]
        if 0 not in own:
            raise Unknown(f"{_WHY} ({name_of(function)} with axis={axis})")
        beside = [d + inner - 1 for d in own if d]
        ones = (1,) * (self.array.ndim - inner)
        where = call(np.reshape, self.mask, (*self.mask.shape, *ones))
        over = (*range(inner), *beside)
        options = {**_REDUCTIONS[function], **named}
        if function is not np.mean:
            return call(function, self.array, over, where=where, **options)
        total = call(np.sum, self.array, over, where=where, **options)
        sizes = (size_of(self.tracing, self.array.sizes[d]) for d in beside)
        return total / functools.reduce(operator.mul, sizes, self.shape[0])


def unselected(key: Any, value: Any) -> tuple[Any, Any, SymbolicArray | None]:
    """A key and a value for all positions, of which a mask has those that are meant.

    ``out[I[mask]] = V[mask]`` is said of each entry of I and V that the mask selects.
    Raises Unknown where something else has an element for each of these.
    """
    several = isinstance(key, tuple)
    parts: list[Any] = list(cast("tuple[Any, ...]", key)) if several else [key]
    masks = [part.mask for part in parts if isinstance(part, Selected)]
    if not masks:
        return key, value, None
    mask = masks[0]
    for part in parts:
        if isinstance(part, Selected):
            if part.ndim != 1 or not _are_same(part.mask, mask):
                raise Unknown(_TWO)
        elif not (isinstance(part, slice | int | np.integer) or part is Ellipsis):
            raise Unknown("the reference assigns by a mask beside other indices")
    found = [part.array if isinstance(part, Selected) else part for part in parts]
    value = of_selected(mask, value)
    return (tuple(found) if several else found[0]), value, mask


def of_selected(mask: SymbolicArray, value: Any) -> Any:
    """What is assigned to each element that a mask selects, as of all elements.

    Raises Unknown for an array that nothing, or another mask, selects.
    """
    if isinstance(value, Selected):
        if not _are_same(value.mask, mask):
            raise Unknown(_TWO)
        return value.array
    if lifted(mask.tracing, value).ndim:
        raise Unknown(
            "the reference assigns an array by a mask: which, depends on data"
        )
    return value


def _are_same(one: SymbolicArray, other: SymbolicArray) -> bool:
    """Whether two masks select the same elements."""
    if one is other:
        return True
    if one.sizes != other.sizes:
        return False
    world = one.tracing.world
    point = tuple(world.fresh("at", 0, size) for size in one.sizes)
    return world.equal_sets(
        *(converted(m, TRUTH).at(point).where for m in (one, other))
    )
