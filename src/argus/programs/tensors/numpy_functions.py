"""What functions of numpy record in a tensor program."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from argus.ir.dtypes import DType, boolean, f32, f64, i64
from argus.ir.numerics import arithmetic
from argus.programs.tensors.recorder import Part, ProgramRecorder, promoted, type_of
from argus.programs.tensors.tensor_array import TensorArray, part_of, reshaped
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    UntranslatedError,
    ViewedValue,
)
from argus.programs.tensors.views import (
    LinearView,
    bordered,
    permuted,
    repeated,
    sliced,
)

Function = TypeVar("Function", bound=Callable[..., Any])

UFUNCS: dict[Any, Callable[..., ViewedValue]] = {}
FUNCTIONS: dict[Any, Callable[..., Any]] = {}

_SAME = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "div",
    np.negative: "neg", np.absolute: "abs", np.maximum: "maximum",
    np.minimum: "minimum", np.exp: "exp", np.exp2: "exp2", np.expm1: "expm1",
    np.log: "log", np.log2: "log2", np.log1p: "log1p", np.sqrt: "sqrt",
    np.sin: "sin", np.cos: "cos", np.tanh: "tanh", np.arctan: "atan",
    np.floor: "floor", np.ceil: "ceil", np.rint: "round", np.equal: "eq",
    np.not_equal: "ne", np.less: "lt", np.less_equal: "le", np.greater: "gt",
    np.greater_equal: "ge", np.logical_and: "and", np.logical_or: "or",
    np.logical_xor: "xor", np.logical_not: "not",
}  # fmt: skip
"""Functions that the language has."""

_BITS = {
    np.bitwise_and: "and", np.bitwise_or: "or", np.bitwise_xor: "xor",
    np.left_shift: "shl", np.right_shift: "shr",
}  # fmt: skip
"""Functions of the bits of whole numbers, and of truth values."""

_LARGEST_POWER = 16


def _same(name: str) -> Callable[..., ViewedValue]:
    def made(recorder: ProgramRecorder, *parts: Part) -> ViewedValue:
        return recorder.map(name, *parts)

    return made


for _function, _name in _SAME.items():
    UFUNCS[_function] = _same(_name)


def ufunc(*functions: Any) -> Callable[[Function], Function]:
    """Mark what ufuncs record."""

    def mark(implementation: Function) -> Function:
        for each in functions:
            UFUNCS[each] = implementation
        return implementation

    return mark


def records(*functions: Any) -> Callable[[Function], Function]:
    """Mark what other functions of numpy record."""

    def mark(implementation: Function) -> Function:
        for each in functions:
            FUNCTIONS[each] = implementation
        return implementation

    return mark


def _bits(name: str) -> Callable[..., ViewedValue]:
    def made(recorder: ProgramRecorder, *parts: Part) -> ViewedValue:
        return recorder.bits(name, *parts)

    return made


for _function, _name in _BITS.items():
    UFUNCS[_function] = _bits(_name)


@ufunc(np.invert)
def invert(recorder: ProgramRecorder, x: Part) -> ViewedValue:
    """All bits are the others; of a truth value its opposite."""
    if type_of(x) == boolean:
        return recorder.map("not", x)
    return recorder.bits("xor", x, -1)


@ufunc(np.square)
def square(recorder: ProgramRecorder, x: Part) -> ViewedValue:
    """``x * x``."""
    return recorder.map("mul", x, x)


@ufunc(np.reciprocal)
def reciprocal(recorder: ProgramRecorder, x: Part) -> ViewedValue:
    """``1 / x``."""
    return recorder.map("div", 1.0, x)


@ufunc(np.log10)
def log10(recorder: ProgramRecorder, x: Part) -> ViewedValue:
    """The logarithm to base 10."""
    return recorder.map("mul", recorder.map("log", x), 1.0 / math.log(10.0))


@ufunc(np.tan)
def tan(recorder: ProgramRecorder, x: Part) -> ViewedValue:
    """``sin(x) / cos(x)``."""
    return recorder.map("div", recorder.map("sin", x), recorder.map("cos", x))


@ufunc(np.trunc)
def trunc(recorder: ProgramRecorder, x: Part) -> ViewedValue:
    """Rounded to zero."""
    up, down = recorder.map("ceil", x), recorder.map("floor", x)
    return recorder.map("where", recorder.map("lt", x, 0.0), up, down)


@ufunc(np.sign)
def sign(recorder: ProgramRecorder, x: Part) -> ViewedValue:
    """-1, 0 or 1."""
    dtype = type_of(x)
    zero, one = (0.0, 1.0) if dtype.is_float else (0, 1)
    low = recorder.map("where", recorder.map("lt", x, zero), -one, zero)
    found = recorder.map("where", recorder.map("gt", x, zero), one, low)
    return cast("ViewedValue", recorder.cast(found, dtype)) if dtype == f64 else found


@ufunc(np.floor_divide)
def floor_divide(recorder: ProgramRecorder, x: Part, y: Part) -> ViewedValue:
    """The quotient rounded down; of floats that of numbers, not of what is rounded."""
    if not promoted([type_of(x), type_of(y)]).is_float:
        return recorder.map("floordiv", x, y)
    rest, below = _rest(recorder, x, y)
    whole = recorder.map("div", recorder.map("sub", x, rest), y)
    whole = recorder.map("where", below, recorder.map("sub", whole, 1.0), whole)
    nothing = recorder.map("eq", y, 0.0)
    quotient = recorder.map("div", x, y)
    return recorder.map("where", nothing, quotient, recorder.map("round", whole))


def _rest(recorder: ProgramRecorder, x: Part, y: Part) -> tuple[Part, Part]:
    """What a division towards zero leaves, and whether that is of the other side."""
    rest = recorder.map("fmod", x, y)
    signs = (recorder.map("lt", part, 0.0) for part in (rest, y))
    apart = recorder.map("xor", *signs)
    return rest, recorder.map("and", recorder.map("ne", rest, 0.0), apart)


@ufunc(np.remainder)
def remainder(recorder: ProgramRecorder, x: Part, y: Part) -> ViewedValue:
    """The rest of a division that rounds down."""
    if not promoted([type_of(x), type_of(y)]).is_float:
        return recorder.map("mod", x, y)
    rest, below = _rest(recorder, x, y)
    return recorder.map("where", below, recorder.map("add", rest, y), rest)


@ufunc(np.fmod)
def fmod(recorder: ProgramRecorder, x: Part, y: Part) -> ViewedValue:
    """The rest of a division that rounds towards zero."""
    if promoted([type_of(x), type_of(y)]).is_float:
        return recorder.map("fmod", x, y)
    rest = recorder.map("mod", x, y)
    signs = (recorder.map("lt", part, 0) for part in (x, y))
    other = recorder.map(
        "and", recorder.map("xor", *signs), recorder.map("ne", rest, 0)
    )
    return recorder.map("where", other, recorder.map("sub", rest, y), rest)


@ufunc(np.power)
def power(recorder: ProgramRecorder, x: Part, y: Part) -> ViewedValue:
    """``x ** y`` for whole and half exponents. Raises UntranslatedError for others."""
    if isinstance(y, ViewedValue):
        raise UntranslatedError("a power whose exponent is a tensor")
    if not isinstance(x, ViewedValue):
        raise UntranslatedError("a power of a number")
    if y == 0.5:
        return recorder.map("sqrt", x)
    if y < 0:
        return recorder.map("div", 1.0, power(recorder, x, -y))
    if y != int(y) or not 1 <= y <= _LARGEST_POWER:
        raise UntranslatedError(f"a power of {y}")
    found: ViewedValue = x
    for bit in bin(int(y))[3:]:
        found = recorder.map("mul", found, found)
        if bit == "1":
            found = recorder.map("mul", found, x)
    return found


@ufunc(np.matmul)
def matmul(recorder: ProgramRecorder, x: Part, y: Part) -> ViewedValue:
    """Matrix products, of batches where there are more dimensions."""
    if not isinstance(x, ViewedValue) or not isinstance(y, ViewedValue):
        raise UntranslatedError("a matrix product with a number")
    met = promoted([x.value.dtype, y.value.dtype])
    wide = wide_product(recorder, x, y)
    return cast("ViewedValue", recorder.cast(wide, met))


def wide_product(
    recorder: ProgramRecorder, x: ViewedValue, y: ViewedValue
) -> ViewedValue:
    """The same, of narrow elements in the type in which they are computed."""
    a, b = len(x.shape), len(y.shape)
    if a > 2 and b > 2 and x.shape[:-2] != y.shape[:-2]:
        try:
            ahead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        except ValueError as error:
            raise UntranslatedError("batches that do not go together") from error
        x = recorder.broadcast(x, (*ahead, *x.shape[-2:]))
        y = recorder.broadcast(y, (*ahead, *y.shape[-2:]))
        a = b = len(ahead) + 2
    batch = "abcdefg"[: max(a, b) - 2] if max(a, b) > 2 else ""
    left = (batch if a > 2 else "") + ("mk" if a > 1 else "k")
    right = (batch if b > 2 else "") + ("kn" if b > 1 else "k")
    result = batch + ("m" if a > 1 else "") + ("n" if b > 1 else "")
    met = promoted([x.value.dtype, y.value.dtype])
    return contracted(
        recorder, x, y, left, right, result,
        dtype=arithmetic(met),
        precision="f32" if met == f64 else product_precision(),
    )  # fmt: skip


def product_precision() -> str:
    """What torch multiplies of f32 in matrix products, by its flag of this moment."""
    import torch

    return "tf32" if torch.backends.cuda.matmul.allow_tf32 else "f32"


def contracted(
    recorder: ProgramRecorder,
    x: ViewedValue,
    y: ViewedValue,
    left: str,
    right: str,
    result: str,
    *,
    dtype: DType | None = None,
    precision: str = "f32",
    terms: tuple[tuple[int, int], ...] = (),
    alone: bool = False,
    between: tuple[ViewedValue, ...] = (),
) -> ViewedValue:
    """A sum of products of a type (None: that of the factors); see `ContractPrimitive`.

    Raises UntranslatedError for sizes that differ.
    """
    sizes: dict[str, int] = {}
    for letters, shape in ((left, x.shape), (right, y.shape)):
        for letter, n in zip(letters, shape, strict=True):
            if sizes.setdefault(letter, n) != n:
                raise UntranslatedError(f"a product of {x.shape} and {y.shape}")
    for table in between:
        sizes[result[0]] = table.shape[0]
    if dtype is None:
        dtype = promoted([x.value.dtype, y.value.dtype])
    if any(sizes[s] == 0 for s in sizes if s not in result):
        return recorder.filled([sizes[s] for s in result], 0, dtype)
    made = ContractPrimitive(
        x, y, left, right, result, precision, terms, alone, between
    )
    return recorder.made("product", [sizes[s] for s in result], dtype, made)


# ------------------------------------------------------------------ other functions


def _recorder(*arrays: Any) -> ProgramRecorder:
    return next(a.recorder for a in arrays if isinstance(a, TensorArray))


@records(np.where)
def where(condition: Any, x: Any, y: Any) -> TensorArray:
    """One of two, element by element."""
    recorder = _recorder(condition, x, y)
    parts = [part_of(p) for p in (condition, x, y)]
    return TensorArray(recorder, recorder.map("where", *parts))


@records(np.full_like)
def full_like(x: TensorArray, value: Any, dtype: Any = None) -> TensorArray:
    """One value in the shape of a tensor."""
    kinds: dict[str, DType] = {"f": f32, "i": i64, "u": i64, "b": boolean}
    wanted = x.element if dtype is None else kinds[np.dtype(dtype).kind]
    wanted = f64 if (x.element, wanted) == (f64, f32) else wanted
    number = part_of(value)
    if isinstance(number, ViewedValue):
        raise UntranslatedError("a tensor filled with an element of another")
    return TensorArray(x.recorder, x.recorder.filled(x.shape, number, wanted))


def _dims(axis: Any, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    given: tuple[int, ...] = (axis,) if isinstance(axis, int) else tuple(axis)
    return tuple(d % rank for d in given) if rank else ()


def _reduced(name: str) -> Callable[..., TensorArray]:
    def reduced(
        x: TensorArray, axis: Any = None, *_: Any, keepdims: bool = False
    ) -> TensorArray:
        dims = _dims(axis, x.ndim)
        return TensorArray(
            x.recorder, x.recorder.reduce(name, x.operand, dims, keepdims)
        )

    return reduced


for _function, _name in (
    (np.sum, "sum"), (np.prod, "prod"), (np.max, "max"), (np.min, "min"),
):  # fmt: skip
    FUNCTIONS[_function] = _reduced(_name)


@records(np.mean)
def mean(x: TensorArray, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum over the number of elements."""
    count = math.prod(x.shape[d] for d in _dims(axis, x.ndim))
    return FUNCTIONS[np.sum](x, axis, keepdims=keepdims) / float(count)


@records(np.var)
def var(
    x: TensorArray, axis: Any = None, ddof: float = 0, keepdims: bool = False
) -> Any:
    """The sum of squared distances from the mean, over the number less ``ddof``."""
    count = math.prod(x.shape[d] for d in _dims(axis, x.ndim))
    centred = x - mean(x, axis, True)
    total = FUNCTIONS[np.sum](centred * centred, axis, keepdims=keepdims)
    return total / float(max(count - ddof, 0))


def _arg(name: str) -> Callable[..., TensorArray]:
    def found(x: TensorArray, axis: Any = None, keepdims: bool = False) -> TensorArray:
        flat, dim = (reshaped(x, (-1,)), 0) if axis is None else (x, int(axis))
        made = flat.recorder.reduce(name, flat.operand, (dim,), keepdims)
        return TensorArray(x.recorder, made)

    return found


FUNCTIONS[np.argmax], FUNCTIONS[np.argmin] = _arg("argmax"), _arg("argmin")


@records(np.any)
def any_(x: TensorArray, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether any is true: their number is not 0."""
    numbers = x.cast(boolean).cast(i64)
    return FUNCTIONS[np.sum](numbers, axis, keepdims=keepdims) != 0


@records(np.all)
def all_(x: TensorArray, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all are true: the number of others is 0."""
    others: Any = np.logical_not(x.cast(boolean))
    return FUNCTIONS[np.sum](others.cast(i64), axis, keepdims=keepdims) == 0


def _scanned(name: str) -> Callable[..., TensorArray]:
    def scanned(x: TensorArray, axis: int) -> TensorArray:
        if not x.ndim or not x.size:
            return x
        return TensorArray(x.recorder, x.recorder.scan(name, x.operand, axis))

    return scanned


FUNCTIONS[np.cumsum], FUNCTIONS[np.cumprod] = _scanned("sum"), _scanned("prod")


@records(np.reshape)
def reshape(x: TensorArray, shape: Any) -> TensorArray:
    """In another shape."""
    return reshaped(x, (shape,) if isinstance(shape, int) else shape)


@records(np.transpose)
def transpose(x: TensorArray, axes: Sequence[int] | None = None) -> TensorArray:
    """Dimensions in another order."""
    order = range(x.ndim)[::-1] if axes is None else [a % x.ndim for a in axes]
    return x.seen(permuted(x.shape, order))


@records(np.swapaxes)
def swapaxes(x: TensorArray, first: int, second: int) -> TensorArray:
    """Two dimensions exchanged; torch counts one in a number without dimensions."""
    if not x.ndim:
        return x
    order = list(range(x.ndim))
    order[first], order[second] = order[second], order[first]
    return transpose(x, order)


@records(np.moveaxis)
def moveaxis(x: TensorArray, source: int, to: int) -> TensorArray:
    """One dimension in another place."""
    order = [d for d in range(x.ndim) if d != source % x.ndim]
    order.insert(to % x.ndim, source % x.ndim)
    return transpose(x, order)


@records(np.expand_dims)
def expand_dims(x: TensorArray, dim: int) -> TensorArray:
    """A new dimension of size 1."""
    parts: list[Any] = [(0, 1, n) for n in x.shape]
    parts.insert(dim % (x.ndim + 1), None)
    return x.seen(sliced(x.shape, parts))


@records(np.squeeze)
def squeeze(x: TensorArray, axis: Any = None) -> TensorArray:
    """Without dimensions of size 1."""
    dims = _dims(axis, x.ndim)
    gone = [d for d in dims if x.shape[d] == 1]
    parts: list[Any] = [0 if d in gone else (0, 1, n) for d, n in enumerate(x.shape)]
    return x.seen(sliced(x.shape, parts)) if gone else x


@records(np.broadcast_to)
def broadcast_to(x: TensorArray, shape: Sequence[int]) -> TensorArray:
    """Repeated to a shape."""
    return x.seen(repeated(x.shape, shape))


@records(np.tile)
def tile(x: TensorArray, reps: Any) -> TensorArray:
    """The whole, several times along each dimension; new dimensions come first."""
    times = [reps] if isinstance(reps, int) else [int(n) for n in reps]
    rank = max(len(times), x.ndim)
    times = [1] * (rank - len(times)) + times
    sizes = [1] * (rank - x.ndim) + [*x.shape]
    apart = [n for size in sizes for n in (1, size)]
    wide = [n for time, size in zip(times, sizes, strict=True) for n in (time, size)]
    whole = [a * n for a, n in zip(times, sizes, strict=True)]
    seen = reshaped(x, apart)
    return reshaped(seen.seen(repeated(seen.shape, wide)), whole)


@records(np.flip)
def flip(x: TensorArray, axis: Any = None) -> TensorArray:
    """Dimensions read backwards."""
    dims = _dims(axis, x.ndim)
    parts: list[Any] = [
        (n - 1, -1, n) if d in dims else (0, 1, n) for d, n in enumerate(x.shape)
    ]
    return x.seen(sliced(x.shape, parts))


@records(np.diagonal)
def diagonal(
    x: TensorArray, offset: int = 0, first: int = 0, second: int = 1
) -> TensorArray:
    """A diagonal of two dimensions, which becomes the last one."""
    a, b = first % x.ndim, second % x.ndim
    rows, columns = max(0, -offset), max(0, offset)
    count = min(x.shape[a] - rows, x.shape[b] - columns)
    kept = [d for d in range(x.ndim) if d not in (a, b)]
    last = len(kept)
    factors = tuple(
        ((last, 1),) if d in (a, b) else ((kept.index(d), 1),) for d in range(x.ndim)
    )
    starts = tuple({a: rows, b: columns}.get(d, 0) for d in range(x.ndim))
    shape = (*(x.shape[d] for d in kept), max(0, count))
    return x.seen(LinearView(shape, factors, starts))


def _triangle(x: TensorArray, offset: int, function: str) -> TensorArray:
    rows, columns = (x.recorder.positions(x.shape, x.ndim + d) for d in (-2, -1))
    beyond = x.recorder.map("sub", columns, rows)
    kept = x.recorder.map(function, beyond, int(offset))
    zero = x.recorder.cast(0, x.element)
    return TensorArray(x.recorder, x.recorder.map("where", kept, x.operand, zero))


@records(np.tril)
def tril(x: TensorArray, offset: int = 0) -> TensorArray:
    """What lies on and below a diagonal."""
    return _triangle(x, offset, "le")


@records(np.triu)
def triu(x: TensorArray, offset: int = 0) -> TensorArray:
    """What lies on and above a diagonal."""
    return _triangle(x, offset, "ge")


@records(np.pad)
def pad(x: TensorArray, widths: Any, constant_values: Any = 0) -> TensorArray:
    """A border of one number; a negative width cuts elements off."""
    pairs = [(int(a), int(b)) for a, b in widths]
    if any(w < 0 for pair in pairs for w in pair):
        parts = [(max(0, -a), 1, n - max(0, -a) - max(0, -b))
                 for n, (a, b) in zip(x.shape, pairs, strict=True)]  # fmt: skip
        if any(count <= 0 for _, _, count in parts):
            raise UntranslatedError("a border that leaves no element")
        x = x.seen(sliced(x.shape, parts))
        pairs = [(max(0, a), max(0, b)) for a, b in pairs]
    if not any(w for pair in pairs for w in pair):
        return x
    fill = cast("float", x.recorder.cast(part_of(constant_values), x.element))
    if 0 in x.shape:  # all that there is is border
        shape = [a + n + b for n, (a, b) in zip(x.shape, pairs, strict=True)]
        return TensorArray(x.recorder, x.recorder.filled(shape, fill, x.element))
    return x.seen(bordered(x.shape, pairs, fill))


@records(np.dot)
def dot(x: TensorArray, y: TensorArray) -> TensorArray:
    """The sum of products of two vectors."""
    return TensorArray(x.recorder, matmul(x.recorder, part_of(x), part_of(y)))
