"""Arrays that record a tensor program: numpy's own functions, by its protocols.

The operators of ATen are written once, as functions of numpy
(`argus.specification.aten`): given symbolic arrays they make terms, given these a
tensor program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from argus.ir.dtypes import DType, boolean, f32, i64
from argus.programs.tensors.recorder import Part, ProgramRecorder
from argus.programs.tensors.tensor_program import UntranslatedError, ViewedValue
from argus.programs.tensors.views import OperandView, ReshapedView, permuted, sliced

NUMPY_TYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_}
"""What numpy's functions are told of an element type: only its kind matters."""


class TensorArray(NDArrayOperatorsMixin):
    """A value of a tensor program as an array of numpy."""

    __array_priority__: ClassVar[float] = 1000.0
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __init__(self, recorder: ProgramRecorder, operand: ViewedValue) -> None:
        self.recorder, self.operand = recorder, operand

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes."""
        return self.operand.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def element(self) -> DType:
        """The element type."""
        return self.operand.value.dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """The kind of the elements, as a type of numpy."""
        return np.dtype(NUMPY_TYPES[self.element.kind])

    def astype(self, dtype: Any, *_: Any, **__: Any) -> TensorArray:
        """Elements of another kind; of the same kind they stay as they are."""
        kind = np.dtype(dtype).kind
        mine = {"float": "f", "int": "i", "bool": "b"}[self.element.kind]
        if kind == mine or (kind == "u" and mine == "i"):
            return self
        wanted = {"f": f32, "i": i64, "u": i64, "b": boolean}.get(kind)
        if wanted is None:
            raise UntranslatedError(f"elements of type {dtype}")
        return self.cast(wanted)

    def cast(self, dtype: DType) -> TensorArray:
        """Elements of another type."""
        made = self.recorder.cast(self.operand, dtype)
        return TensorArray(self.recorder, cast("ViewedValue", made))

    def copy(self, *_: Any, **__: Any) -> TensorArray:
        """Itself: nothing is changed in place."""
        return self

    def seen(self, view: OperandView) -> TensorArray:
        """Through a view."""
        return TensorArray(self.recorder, self.operand.through(view))

    def reshape(self, *shape: Any) -> TensorArray:
        """See numpy: the shape is one tuple or several sizes."""
        given = shape[0] if len(shape) == 1 else shape
        return cast("TensorArray", np.reshape(cast(Any, self), given))

    @property
    def T(self) -> Any:  # noqa: N802 - numpy's name
        """All dimensions in reverse."""
        return self.seen(permuted(self.shape, range(self.ndim)[::-1]))

    def __getitem__(self, key: Any) -> TensorArray:
        keys: list[Any] = list(key) if isinstance(key, tuple) else [key]  # pyright: ignore[reportUnknownArgumentType]
        missing = self.ndim - sum(1 for k in keys if k is not None and k is not ...)
        if ... in keys:
            at = keys.index(...)
            keys[at : at + 1] = [slice(None)] * missing
        else:
            keys += [slice(None)] * missing
        parts: list[tuple[int, int, int] | int | None] = []
        dim = 0
        for k in keys:
            if k is None:
                parts.append(None)
                continue
            size = self.shape[dim]
            dim += 1
            if isinstance(k, slice):
                span = range(size)[k]
                parts.append((span.start, span.step, len(span)))
            elif isinstance(k, int):
                if not -size <= k < size:  # an iteration ends so
                    raise IndexError(k)
                parts.append(k % size)
            else:
                raise UntranslatedError("elements chosen by a table")
        return self.seen(sliced(self.shape, parts))

    def __setitem__(self, key: Any, value: Any) -> None:
        raise UntranslatedError("an assignment to a part of a tensor")

    def __bool__(self) -> bool:
        raise UntranslatedError("a branch on the elements of a tensor")

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise UntranslatedError("a plain array of a tensor")

    def __getattr__(self, name: str) -> Any:
        """What it does not have is not translated.

        Raises AttributeError for what numpy asks by name with underscores.
        """
        if name.startswith("_"):
            raise AttributeError(name)
        raise UntranslatedError(f"`{name}` of an array")

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any
    ) -> Any:
        from argus.programs.tensors.numpy_functions import UFUNCS

        if method != "__call__" or named or ufunc not in UFUNCS:
            raise UntranslatedError(f"np.{ufunc.__name__}")
        parts = [part_of(x) for x in inputs]
        if not any(isinstance(p, ViewedValue) for p in parts):
            raise UntranslatedError(f"np.{ufunc.__name__} of numbers")
        return TensorArray(self.recorder, UFUNCS[ufunc](self.recorder, *parts))

    def __array_function__(
        self, function: Callable[..., Any], _: Any, args: Any, named: Any
    ) -> Any:
        from argus.programs.tensors.numpy_functions import FUNCTIONS

        if function not in FUNCTIONS:
            raise UntranslatedError(f"np.{function.__name__}")
        return FUNCTIONS[function](*args, **named)


TensorArray.__hash__ = None  # type: ignore[assignment]


def part_of(value: Any) -> Part:
    """An operand or a number. Raises UntranslatedError for anything else."""
    if isinstance(value, TensorArray):
        return value.operand
    if isinstance(value, np.generic):
        return cast("float", value.item())
    if isinstance(value, bool | int | float):
        return value
    raise UntranslatedError(f"a value of type {type(value).__name__}")


def reshaped(array: TensorArray, shape: Sequence[int]) -> TensorArray:
    """In another shape; -1 stands for what is left."""
    wanted = [int(n) for n in shape]
    if -1 in wanted:
        known = int(np.prod([n for n in wanted if n != -1], dtype=np.int64))
        if not known or array.size % known:
            raise UntranslatedError(f"{array.shape} as {tuple(wanted)}")
        wanted[wanted.index(-1)] = array.size // known
    if int(np.prod(wanted, dtype=np.int64)) != array.size:
        raise UntranslatedError(f"{array.shape} as {tuple(wanted)}")
    if tuple(wanted) == array.shape:
        return array
    return array.seen(ReshapedView(tuple(wanted)))
