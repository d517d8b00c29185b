"""Operators of ATen: those of the specification, and what only programs have.

`argus.specification.aten` says what most operators are, as functions of numpy. Here
stand those that need sizes which are numbers, or that real numbers do not tell apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from argus.ir.dtypes import FOREIGN, DType, f32, i64
from argus.programs.numpy_functions import contracted
from argus.programs.recorder import ProgramRecorder
from argus.programs.tensor_array import TensorArray, part_of
from argus.programs.tensor_program import UntranslatedError, ViewedValue
from argus.programs.views import repeated, windowed

Implementation = TypeVar("Implementation", bound=Callable[..., Any])

_OWN: dict[str, Callable[..., Any]] = {}
_CREATING: dict[str, Callable[..., Any]] = {}
"""Operators without a tensor among their arguments: the recorder comes first."""


def _called(table: dict[str, Callable[..., Any]], *names: str) -> Any:
    def mark(implementation: Implementation) -> Implementation:
        for name in names:
            full = name if "." in name else f"{name}.default"
            table[f"aten.{full}"] = implementation
        return implementation

    return mark


def operator_named(name: str, recorder: ProgramRecorder) -> Callable[..., Any] | None:
    """What an operator of that name records; None for one that is not known."""
    from argus.specification.aten import table
    from argus.specification.aten.graph import TRACED

    _ = TRACED  # its modules fill the table

    if name in _CREATING:
        made = _CREATING[name]
        return lambda *args, **named: made(recorder, *args, **named)
    return _OWN.get(name) or table.OPERATORS.get(name)


def known(name: str) -> bool:
    """Whether an operator of that name has a translation."""
    return operator_named(name, ProgramRecorder()) is not None


def element_type(dtype: Any) -> DType:
    """The element type that torch names. Raises UntranslatedError for others."""
    name = str(dtype).removeprefix("torch.")
    if name not in FOREIGN:
        raise UntranslatedError(f"elements of type {name}")
    return FOREIGN[name]


# -------------------------------------------------------------------------- creating


@_called(_CREATING, "full")
def full(
    recorder: ProgramRecorder, shape: Any, value: Any, *, dtype: Any = None, **_: Any
) -> TensorArray:
    """One value."""
    number = part_of(value)
    if isinstance(number, ViewedValue):
        raise UntranslatedError("a tensor filled with an element of another")
    usual = f32 if isinstance(number, float) else i64
    wanted = usual if dtype is None else element_type(dtype)
    return TensorArray(recorder, recorder.filled(tuple(shape), number, wanted))


@_called(_CREATING, "zeros")
def zeros(recorder: ProgramRecorder, shape: Any, *, dtype: Any = None, **_: Any) -> Any:
    """Zeros."""
    return full(recorder, shape, 0.0, dtype=dtype)


@_called(_CREATING, "ones")
def ones(recorder: ProgramRecorder, shape: Any, *, dtype: Any = None, **_: Any) -> Any:
    """Ones."""
    return full(recorder, shape, 1.0, dtype=dtype)


@_called(_CREATING, "scalar_tensor")
def scalar_tensor(
    recorder: ProgramRecorder, value: Any, *, dtype: Any = None, **_: Any
) -> Any:
    """A number."""
    return full(recorder, (), value, dtype=dtype)


@_called(_CREATING, "arange.start_step")
def arange(
    recorder: ProgramRecorder,
    start: Any,
    end: Any,
    step: Any = 1,
    *,
    dtype: Any = None,
    **_: Any,
) -> Any:
    """Whole numbers with a step."""
    if not all(isinstance(n, int) for n in (start, end, step)):
        raise UntranslatedError("a range of fractions")
    count = len(range(start, end, step))
    made = TensorArray(recorder, recorder.positions((count,), 0, start, step))
    return made if dtype is None else made.cast(element_type(dtype))


# --------------------------------------------------------------------------- maps


@_called(_OWN, "expand", "expand_copy")
def expand(x: TensorArray, shape: Any, **_: Any) -> TensorArray:
    """Repeated along dimensions of size 1; -1 keeps a size."""
    ahead = len(shape) - x.ndim
    sizes = [x.shape[d - ahead] if n == -1 else n for d, n in enumerate(shape)]
    return x.seen(repeated(x.shape, sizes))


@_called(_OWN, "erf")
def erf(x: TensorArray) -> TensorArray:
    """The error function."""
    return TensorArray(x.recorder, x.recorder.map("erf", x.operand))


@_called(_OWN, "isnan")
def isnan(x: TensorArray) -> Any:
    """What is not equal to itself."""
    return np.not_equal(x, x)


@_called(_OWN, "_to_copy")
def to_copy(x: TensorArray, *, dtype: Any = None, **_: Any) -> TensorArray:
    """Another element type."""
    return x if dtype is None else x.cast(element_type(dtype))


# ------------------------------------------------------------------ windows, products


def _each(value: Any, count: int) -> list[int]:
    found = [value] * count if isinstance(value, int) else list(value)
    return found * count if len(found) == 1 else found


def _windows(
    x: TensorArray,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    fill: float,
) -> TensorArray:
    count = len(kernel)
    border = [(0, 0)] * (x.ndim - count) + [(p, p) for p in padding]
    wide: Any = np.pad(x, border, constant_values=fill)  # type: ignore[call-overload]
    return wide.seen(windowed(wide.shape, kernel, stride, dilation))


def _pooled(
    x: TensorArray, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: Any,
    count: int, fill: float,
) -> Any:  # fmt: skip
    if ceil:
        raise UntranslatedError("a pool with ceil_mode")
    sizes = _each(kernel, count)
    steps = _each(stride, count) if stride else sizes
    each = (_each(v, count) for v in (padding, dilation))
    return _windows(x, sizes, steps, *each, fill=fill)


@_called(_OWN, "max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool1d")
def max_pool(
    x: TensorArray, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil: bool = False,
) -> Any:  # fmt: skip
    """The largest of each window; its position is not translated."""
    count = len(kernel)
    wide = _pooled(x, kernel, stride, padding, dilation, ceil, count, float("-inf"))
    return np.max(wide, tuple(range(-count, 0))), None


@_called(_OWN, "avg_pool2d", "avg_pool3d", "avg_pool1d")
def avg_pool(
    x: TensorArray, kernel: Any, stride: Any = (), padding: Any = 0, ceil: bool = False,
    include_padding: bool = True, divisor: Any = None,
) -> Any:  # fmt: skip
    """The mean of each window."""
    count = len(kernel)
    if divisor is not None or (any(_each(padding, count)) and not include_padding):
        raise UntranslatedError("a mean over windows with another divisor")
    wide = _pooled(x, kernel, stride, padding, 1, ceil, count, 0.0)
    return np.mean(wide, tuple(range(-count, 0)))


@_called(_OWN, "convolution")
def convolution(
    x: TensorArray, weight: TensorArray, bias: Any, stride: Any, padding: Any,
    dilation: Any, transposed: bool, output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """Sums of products over windows and the channels of a group."""
    if transposed:
        raise UntranslatedError("a transposed convolution")
    count = weight.ndim - 2
    steps = (_each(v, count) for v in (stride, padding, dilation))
    wide = _windows(x, weight.shape[2:], *steps, fill=0.0)
    space, taps = "xyz"[:count], "rst"[:count]
    if groups == 1:
        product = contracted(
            x.recorder, wide.operand, weight.operand,
            f"nc{space}{taps}", f"kc{taps}", f"nk{space}",
        )  # fmt: skip
        found = TensorArray(x.recorder, product)
    else:
        n = wide.shape[0]
        inputs = wide.reshape(n, groups, -1, *wide.shape[2:])
        filters = weight.reshape(groups, -1, *weight.shape[1:])
        product = contracted(
            x.recorder, inputs.operand, filters.operand,
            f"ngc{space}{taps}", f"gkc{taps}", f"ngk{space}",
        )  # fmt: skip
        parts = TensorArray(x.recorder, product)
        found = parts.reshape(n, -1, *parts.shape[3:])
    return found if bias is None else found + bias.reshape(-1, *[1] * count)
