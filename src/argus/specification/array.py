"""A symbolic array: each element is a function of its position.

numpy's own protocols bring references here: `np.exp(x)` of the real numpy calls
`__array_ufunc__`, `np.sum(x)` calls `__array_function__`, operators are numpy's mixin
of ufuncs. What each function does stands in the modules that `table.py` lists.

Sizes and scalars are arrays without dimensions, so that `X.shape[0] // 2` is again one.
A size that is a number is a plain `int`. What Python wants to know at once (a branch,
the length of a loop) is answered where the world decides it for all sizes, and is
Unknown otherwise: no branch is guessed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from argus.specification.storage import (
    Back,
    Indices,
    Read,
    Storage,
    View,
    Way,
    read_of,
)
from argus.specification.table import call
from argus.specification.tracing import Tracing
from argus.terms import Integer, Unknown, Value

Kind = str
"""Of a value: "real", "integer" or "truth"."""

REAL, INTEGER, TRUTH = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)


def kind_of(dtype: np.dtype[Any]) -> Kind:
    """The kind of value that elements of a type are.

    Raises Unknown for complex numbers, texts, objects and times.
    """
    match dtype.kind:
        case "f":
            return "real"
        case "i" | "u":
            return "integer"
        case "b":
            return "truth"
        case _:
            raise Unknown(f"the reference uses elements of type {dtype}")


class SymbolicArray(NDArrayOperatorsMixin):
    """An array whose sizes and elements are symbolic.

    ``dtype`` is what numpy would say. ``weak``: it stands for a Python number, whose
    type gives way to that of an array. Elements are read by `at`.
    """

    __array_priority__: ClassVar[float] = 1000.0
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __init__(
        self,
        tracing: Tracing,
        sizes: tuple[Integer, ...],
        dtype: np.dtype[Any],
        read: Read | Storage,
        *,
        view: View | None = None,
        weak: bool = False,
    ) -> None:
        self.tracing, self.sizes, self.dtype, self.weak = tracing, sizes, dtype, weak
        self.storage = read if isinstance(read, Storage) else Storage(read)
        self.view_of = view
        self.boxed = False
        """Whether it is an array without dimensions, and no number."""

    # -- for those who read the specification

    @property
    def kind(self) -> Kind:
        """The kind of its elements."""
        return kind_of(self.dtype)

    def at(self, indices: Indices | list[Integer]) -> Value:
        """The element at a position, which must lie inside.

        Raises Unknown where it has no value that is derived.
        """
        try:
            return self.now()(tuple(indices))
        except ZeroDivisionError as error:
            raise Unknown(f"the reference divides by 0: {error}") from error

    def now(self) -> Read:
        """Its elements as they are now: what is assigned later does not change them."""
        return read_of(self.storage, self.view_of)

    # -- making others

    def seen(
        self, sizes: tuple[Integer, ...], way: Way, back: Back | None
    ) -> SymbolicArray:
        """A view: positions go by ``way`` to this array's, and ``back``."""
        mine, version = self.view_of, self.storage.version
        if mine is None:
            view = View(way, back, version)
        else:
            view = mine.then(way, back, version if mine.back else mine.version)
        return SymbolicArray(
            self.tracing, sizes, self.dtype, self.storage, view=view, weak=self.weak
        )

    def assign(self, read: Read) -> None:
        """Replace all elements, in the base of a view, too.

        Raises Unknown for what may or may not be a view.
        """
        view, storage = self.view_of, self.storage
        if view is None:
            storage.update(read)
            return
        back = view.back
        if back is None:
            raise Unknown(
                "the reference assigns to a reshaped or broadcast array: whether it is "
                "a view is not known"
            )
        old = storage.read

        def updated(indices: Indices) -> Value:
            from argus.specification.cases import chosen

            where, mine = back(indices)
            if self.tracing.never(where):
                return old(indices)
            if self.tracing.holds(where):
                return read(mine)
            new, before = partial(read, mine), partial(old, indices)
            return chosen(self.tracing.world, where, new, before)

        storage.update(updated)

    # -- what numpy's arrays have

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes: numbers where they are, else arrays without dimensions."""
        return tuple(size_of(self.tracing, n) for n in self.sizes)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    @property
    def size(self) -> Any:
        """The number of elements."""
        return size_of(self.tracing, self.tracing.product(self.sizes))

    @property
    def T(self) -> Any:  # noqa: N802 - numpy's name
        """All dimensions in reverse."""
        return call(np.transpose, self)

    @property
    def mT(self) -> Any:  # noqa: N802 - numpy's name
        """The last two dimensions swapped."""
        return call(np.swapaxes, self, -1, -2)

    @property
    def real(self) -> SymbolicArray:
        """Itself: complex numbers are arrays of another kind."""
        return self

    def astype(self, dtype: Any, *how: Any, copy: Any = True, **_: Any) -> Any:
        """Elements of another type: between floats they stay as they are."""
        from argus.specification.casting import converted

        made = converted(self, dtype)
        return made.copy() if all(how[3:4]) and copy else made

    def view(self, dtype: Any) -> Any:
        """Whole numbers of which the last four bits are a float of `ml_dtypes`.

        Raises Unknown for other types.
        """
        from argus.specification.casting import bits_of_e2m1

        return bits_of_e2m1(self, dtype)

    def copy(self, *_: Any, **__: Any) -> SymbolicArray:
        """An array of its own with these elements."""
        return SymbolicArray(
            self.tracing, self.sizes, self.dtype, self.now(), weak=self.weak
        )

    __copy__ = copy
    __deepcopy__ = copy

    def item(self, *indices: Any) -> Any:
        """The element of an array that has one, or the one at a position.

        One number counts elements in the order of rows.
        """
        if len(indices) == 1 and isinstance(indices[0], tuple):
            return self[indices[0]]
        if len(indices) == 1:
            return call(np.ravel, self)[indices[0]]
        if indices:
            return self[indices]
        return call(np.reshape, self, ())

    def reshape(self, *shape: Any, **named: Any) -> Any:
        """See numpy: the shape is one tuple or several sizes."""
        return call(np.reshape, self, shape[0] if len(shape) == 1 else shape, **named)

    def transpose(self, *axes: Any) -> Any:
        """See numpy: the axes are one tuple or several numbers."""
        given: list[Any] = list(axes)
        order = given[0] if len(given) == 1 else given or None
        return call(np.transpose, self, order)

    def flatten(self, *_: Any) -> Any:
        """A copy with one dimension."""
        return call(np.ravel, self).copy()

    def conj(self) -> SymbolicArray:
        """Itself: complex numbers are arrays of another kind."""
        return self

    conjugate = conj

    def fill(self, value: Any) -> None:
        """Set all elements."""
        self[...] = value

    def __getattr__(self, name: str) -> Any:
        """A method that is a function of numpy; Unknown for what arrays have beside.

        Raises AttributeError for what numpy's arrays do not have either.
        """
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        function = getattr(np, name, None)
        if name not in _METHODS or function is None:
            raise Unknown(f"the reference uses ndarray.{name}, which is not traced")
        return functools.partial(call, function, self)

    def __getitem__(self, key: Any) -> Any:
        from argus.specification.indexing import selected

        return selected(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from argus.specification.assigning import assigned

        assigned(self, key, value)

    # -- what Python asks at once

    def __bool__(self) -> bool:
        from argus.specification.casting import converted

        if self.ndim:
            raise Unknown("the reference branches on the truth of a whole array")
        where = converted(self, TRUTH).at(()).where
        return self.tracing.branched(where)

    def __index__(self) -> int:
        number = whole(self).constant if not self.ndim else None
        if number is None:
            said = "an array" if self.ndim else f"{whole(self)}"
            raise Unknown(f"the reference needs {said} as a number")
        return number

    def __int__(self) -> int:
        return self.__index__()

    def __float__(self) -> NoReturn:
        raise Unknown("the reference needs an element as a number or text of Python")

    __complex__ = __str__ = __float__

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        number = self.sizes[0].constant
        if number is None:
            raise Unknown(f"the reference needs the length {self.sizes[0]} as a number")
        return number

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        number = self.sizes[0].constant
        if number is None:
            raise Unknown(f"the reference iterates {self.sizes[0]} times in one loop")
        return (self[i] for i in range(number))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise Unknown("the reference makes a plain array of a symbolic one")

    def _changed(self, ufunc: np.ufunc, other: Any) -> Any:
        """`x += y`: an array in place; a number is another one afterwards."""
        if self.boxed:
            raise Unknown("the reference changes an array without dimensions in place")
        return ufunc(self, other, out=(self,)) if self.ndim else ufunc(self, other)

    def __iadd__(self, other: Any) -> Any:
        return self._changed(np.add, other)

    def __isub__(self, other: Any) -> Any:
        return self._changed(np.subtract, other)

    def __imul__(self, other: Any) -> Any:
        return self._changed(np.multiply, other)

    def __itruediv__(self, other: Any) -> Any:
        return self._changed(np.divide, other)

    def __ifloordiv__(self, other: Any) -> Any:
        return self._changed(np.floor_divide, other)

    def __imod__(self, other: Any) -> Any:
        return self._changed(np.remainder, other)

    def __ipow__(self, other: Any) -> Any:
        return self._changed(np.power, other)

    def __iand__(self, other: Any) -> Any:
        return self._changed(np.bitwise_and, other)

    def __ior__(self, other: Any) -> Any:
        return self._changed(np.bitwise_or, other)

    def __ixor__(self, other: Any) -> Any:
        return self._changed(np.bitwise_xor, other)

    def __ilshift__(self, other: Any) -> Any:
        return self._changed(np.left_shift, other)

    def __irshift__(self, other: Any) -> Any:
        return self._changed(np.right_shift, other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __round__(self, ndigits: int | None = None) -> Any:
        rounded = call(np.round, self, ndigits or 0)
        return rounded if ndigits is not None else rounded.astype(int)

    def __repr__(self) -> str:
        return f"<array ({', '.join(map(str, self.sizes))}) of {self.dtype}>"

    # -- numpy's protocols

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any
    ) -> Any:
        from argus.specification.ufuncs import applied

        return applied(self.tracing, ufunc, method, inputs, named)

    def __array_function__(
        self, function: Any, _: Any, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        return call(function, *args, **named)


SymbolicArray.__hash__ = None  # type: ignore[assignment]

_METHODS = {
    "all", "any", "argmax", "argmin", "argsort", "choose", "clip", "compress",
    "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero",
    "partition", "prod", "ptp", "put", "ravel", "repeat", "round", "searchsorted",
    "sort", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var",
}  # fmt: skip
"""Methods that are functions of numpy."""


def size_of(tracing: Tracing, value: Integer) -> Any:
    """A size as Python's code sees it: a number where it is one."""
    number = value.constant
    if number is not None:
        return number
    return SymbolicArray(tracing, (), INTEGER, lambda _: Value.whole(value), weak=True)


def whole(array: SymbolicArray) -> Integer:
    """The integer that an array without dimensions is.

    Raises Unknown where it is none, or not the same everywhere.
    """
    from argus.specification.cases import integers

    found = integers(array.at(()))
    if len(found) != 1 or not found[0][0].is_universe:
        raise Unknown("the reference uses a value that differs by cases as a size")
    return found[0][1]


def positions(tracing: Tracing, sizes: tuple[Integer, ...], stem: str) -> Indices:
    """New variables, one for each dimension."""
    return tuple(tracing.world.fresh(stem, 0, n) for n in sizes)
