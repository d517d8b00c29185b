"""Operators of complex numbers, as operators of their real and imaginary parts.

What moves elements, or sums them, does so to both parts (`_BY_PARTS`); products of
matrices are four. Where a part is 0 because a number or tensor is real, its products
are left out: of infinite numbers torch has NaN there. What is not here, the Fourier
transforms among it, stays in torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from argus.ir.dtypes import DType
from argus.programs.operators.pointwise_operators import atan2, hypot
from argus.programs.tensors.complex_tensor import ComplexTensor
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError

_where: Any = np.where
Pair = tuple[Any, Any]
"""Parts: arrays, or numbers. The imaginary one of what is real is the number 0.0."""

_BY_PARTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        (
            "view", "_unsafe_view", "reshape", "_reshape_alias", "view_copy", "permute",
            "t", "transpose", "expand", "unsqueeze", "squeeze", "slice", "select",
            "split", "split_with_sizes", "unbind", "clone", "flip", "roll", "repeat",
            "diagonal", "unfold", "index", "index_select", "gather", "embedding",
            "sum", "mean", "cumsum", "neg", "triu", "tril", "cat", "stack",
        ),
        (0,),
    ),
    **dict.fromkeys(
        ("copy", "slice_scatter", "select_scatter", "diagonal_scatter"), (0, 1)
    ),
    **dict.fromkeys(("index_put", "constant_pad_nd", "masked_fill"), (0, 2)),
    **dict.fromkeys(("scatter", "scatter_add", "index_add"), (0, 3)),
    "where": (1, 2),
}  # fmt: skip
"""Operators that do the same to both parts, and which of their arguments have parts."""
_SAME = frozenset(
    {"detach", "alias", "positive", "lift_fresh_copy", "resolve_conj", "resolve_neg"}
)
_FILLED = {"zeros": 0.0, "new_zeros": 0.0, "zeros_like": 0.0, "ones": 1.0,
           "new_ones": 1.0, "ones_like": 1.0, "empty": 0.0, "empty_like": 0.0,
           "new_empty": 0.0, "empty_strided": 0.0, "new_empty_strided": 0.0,
           "empty_permuted": 0.0}  # fmt: skip
_GIVEN = {"full": 1, "full_like": 1, "new_full": 2, "scalar_tensor": 0}
"""Which argument of an operator is the number that it fills a tensor with."""
_NORMS = frozenset({"linalg_vector_norm"})
"""Operators of magnitudes."""
_PRODUCTS = frozenset({"mm", "bmm", "mv", "dot", "matmul"})
_FEW_FACTORS = 4

Real = Callable[[str], Callable[..., Any] | None]
"""What finds the translation of an operator of real numbers by its name."""


def complex_operator(
    name: str, real: Real, recorder: ProgramRecorder, shape: Sequence[int], part: DType
) -> Callable[..., Any] | None:
    """What an operator records where complex tensors go in or come out.

    ``shape`` is that of a complex result, ``part`` the type of parts. None for an
    operator without a rule.
    """
    family, _, rest = name.partition(".")
    word = rest.partition(".")[0]
    if family not in ("aten", "prims"):
        return None
    if word in _SAME:
        return _same
    if word in _BY_PARTS:
        made = real(name)
        return None if made is None else partial(_by_parts, made, _BY_PARTS[word])
    if word in _FILLED:
        number = _FILLED[word]
        return lambda *_, **__: _filled(recorder, shape, number, part)
    if word in _GIVEN:
        place = _GIVEN[word]
        return lambda *a, **_: _filled(recorder, shape, a[place], part)
    if word in _PRODUCTS:
        made = real(name)
        return None if made is None else partial(_computed, partial(_product, made))
    if word in _NORMS:
        made = real(name)
        return None if made is None else partial(_of_magnitudes, made)
    if word in _MOVED:
        return _MOVED[word]
    rule = _RULES.get(word)
    return None if rule is None else partial(_computed, rule)


# ---------------------------------------------------------------- of both parts alike


def _by_parts(
    made: Callable[..., Any], places: Sequence[int], *args: Any, **named: Any
) -> Any:
    """The operator of real parts, and of imaginary ones."""
    named = {k: v for k, v in named.items() if k != "dtype"}
    real, imag = (
        made(*(_part(x, i) if at in places else x for at, x in enumerate(args)),
             **named)
        for i in (0, 1)
    )  # fmt: skip
    if isinstance(real, list | tuple):
        both = zip(cast("list[Any]", real), cast("list[Any]", imag), strict=True)
        return [ComplexTensor(*each) for each in both]
    return ComplexTensor(real, imag)


def _part(value: Any, i: int) -> Any:
    """A part of an argument: of the real ones the imaginary parts are zeros."""
    if isinstance(value, list | tuple):
        return [_part(v, i) for v in cast("list[Any]", value)]
    if isinstance(value, TensorArray) and i:
        recorder = value.recorder
        return TensorArray(recorder, recorder.filled(value.shape, 0, value.element))
    if isinstance(value, str) or value is None:
        return value
    return _pair(value)[i]


def _filled(
    recorder: ProgramRecorder, shape: Sequence[int], number: Any, part: DType
) -> ComplexTensor:
    if isinstance(number, TensorArray | ComplexTensor):
        raise UntranslatedError("a tensor filled with an element of another")
    given = complex(number)
    parts = (
        TensorArray(recorder, recorder.filled(tuple(shape), n, part))
        for n in (given.real, given.imag)
    )
    return ComplexTensor(*parts)


def as_complex(x: TensorArray, part: DType) -> ComplexTensor:
    """Real numbers as complex ones."""
    return ComplexTensor(x, _part(x, 1)).cast(part)


# ------------------------------------------------------------------- as pairs, and back


def _same(x: Any, **_: Any) -> Any:
    return x


def _real(x: ComplexTensor) -> Any:
    return x.real


def _imag(x: ComplexTensor) -> Any:
    return x.imag


def _view_as_real(x: ComplexTensor) -> Any:
    return x.paired().pairs


def _view_as_complex(x: TensorArray) -> ComplexTensor:
    return ComplexTensor.of_pairs(x)


def _converted(x: Any, *given: Any, dtype: Any = None, **_: Any) -> Any:
    """Another element type: of the real ones the real part; see `GraphCapture`."""
    kind = str(given[0] if given else dtype)
    if not isinstance(x, ComplexTensor) or "complex" in kind or kind == "None":
        return x
    return x.real


_MOVED: dict[str, Callable[..., Any]] = {
    "view_as_real": _view_as_real,
    "view_as_complex": _view_as_complex,
    "_to_copy": _converted,
    "convert_element_type": _converted,
    "real": _real,
    "imag": _imag,
}


# -------------------------------------------------------------------------- arithmetic


def _of_magnitudes(
    made: Callable[..., Any], x: ComplexTensor, *args: Any, **named: Any
) -> Any:
    return made(hypot(x.real, x.imag), *args, **named)


def _pair(value: Any) -> Pair:
    if isinstance(value, ComplexTensor | complex):
        return value.real, value.imag
    return value, 0.0


def _computed(rule: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """A rule of pairs: a pair is a complex tensor, all else is real."""
    found = rule(*map(_pair, args), **named)
    if not isinstance(found, tuple):
        return found
    parts: Any = cast("Pair", found)
    arrays = [p for p in parts if isinstance(p, TensorArray)]
    if not arrays:
        return complex(*parts)
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    recorder, kind = arrays[0].recorder, arrays[0].element
    lifted = (
        TensorArray(recorder, recorder.broadcast(p.operand, shape))
        if isinstance(p, TensorArray)
        else TensorArray(recorder, recorder.filled(shape, p, kind))
        for p in parts
    )
    return ComplexTensor(*lifted)


def _none(part: Any) -> bool:
    return isinstance(part, float) and part == 0.0


def _times(a: Any, b: Any, times: Callable[[Any, Any], Any] | None = None) -> Any:
    if _none(a) or _none(b):
        return 0.0
    return times(a, b) if times else a * b


def _added(a: Pair, b: Pair, *, alpha: Any = 1) -> Pair:
    if alpha != 1:
        b = _multiplied(b, _pair(alpha))
    return _sum(a[0], b[0]), _sum(a[1], b[1])


def _sum(a: Any, b: Any) -> Any:
    return b if _none(a) else a if _none(b) else a + b


def _negative(a: Pair) -> Pair:
    return -a[0], 0.0 if _none(a[1]) else -a[1]


def _subtracted(a: Pair, b: Pair, *, alpha: Any = 1) -> Pair:
    return _added(a, _negative(b), alpha=alpha)


def _multiplied(a: Pair, b: Pair) -> Pair:
    return _product(None, a, b)


def _product(times: Callable[[Any, Any], Any] | None, a: Pair, b: Pair) -> Pair:
    both = _times(a[1], b[1], times)
    real = _times(a[0], b[0], times)
    imag = _sum(_times(a[0], b[1], times), _times(a[1], b[0], times))
    return (real if _none(both) else real - both), imag


def _divided(a: Pair, b: Pair) -> Pair:
    """By a divisor of which the larger part is 1, so that no square overflows."""
    if _none(b[1]):
        return a[0] / b[0], 0.0 if _none(a[1]) else a[1] / b[0]
    large: Any = np.maximum(np.abs(b[0]), np.abs(b[1]))
    c, d = b[0] / large, b[1] / large
    size = (c * c + d * d) * large
    real, imag = _multiplied(a, (c, -d))
    return real / size, imag / size


def _exponential(a: Pair) -> Pair:
    size: Any = np.exp(a[0])
    return size * np.cos(a[1]), size * np.sin(a[1])


def _logarithm(a: Pair) -> Pair:
    return np.log(_absolute(a)), _angle(a)


def _absolute(a: Pair) -> Any:
    return hypot(a[0], a[1])


def _angle(a: Pair) -> Any:
    return atan2(a[1], a[0])


def _sign(a: Pair) -> Pair:
    """The number of this direction whose magnitude is 1; 0 of 0."""
    size = _absolute(a)
    nothing: Any = np.equal(size, 0.0)
    by: Any = np.where(nothing, 1.0, size)
    return a[0] / by, a[1] / by


def _power(a: Pair, b: Pair) -> Pair:
    if not _none(b[1]) or not isinstance(b[0], int | float) or isinstance(a[1], float):
        raise UntranslatedError("a power of complex numbers that is no number")
    number = b[0]
    if number == int(number) and 0 < number <= _FEW_FACTORS:
        found = a
        for _ in range(int(number) - 1):
            found = _multiplied(found, a)
        return found
    size: Any = np.exp(np.log(_absolute(a)) * number)
    return _polar((size, 0.0), (_angle(a) * number, 0.0))


def _root(a: Pair) -> Pair:
    """The root on the right side; of two parts the one without a difference first."""
    one: Any = np.sqrt((_absolute(a) + np.abs(a[0])) * 0.5)
    by: Any = _where(np.equal(one, 0.0), 1.0, one)
    other = np.abs(a[1]) * 0.5 / by
    right: Any = np.greater_equal(a[0], 0.0)
    imag: Any = _where(right, other, one)
    return _where(right, one, other), _where(np.less(a[1], 0.0), -imag, imag)


def _polar(size: Pair, angle: Pair) -> Pair:
    return size[0] * np.cos(angle[0]), size[0] * np.sin(angle[0])


def _with_product(x: Pair, a: Pair, b: Pair, *, beta: Any = 1, alpha: Any = 1) -> Pair:
    made = _product(cast("Any", np.matmul), a, b)
    scaled = made if alpha == 1 else _multiplied(made, _pair(alpha))
    if beta == 0:
        return scaled
    return _added(x if beta == 1 else _multiplied(x, _pair(beta)), scaled)


def _parts(a: Pair, b: Pair) -> Pair:
    return a[0], b[0]


def _taken_from(a: Pair, b: Pair, **named: Any) -> Pair:
    return _subtracted(b, a, **named)


def _reciprocal(a: Pair) -> Pair:
    return _divided((1.0, 0.0), a)


def _square(a: Pair) -> Pair:
    return _multiplied(a, a)


def _conjugate(a: Pair) -> Pair:
    return a[0], -a[1]


def _equal(a: Pair, b: Pair) -> Any:
    return np.equal(a[0], b[0]) & np.equal(a[1], b[1])


def _unequal(a: Pair, b: Pair) -> Any:
    return np.not_equal(a[0], b[0]) | np.not_equal(a[1], b[1])


def _no_number(a: Pair) -> Any:
    return np.not_equal(a[0], a[0]) | np.not_equal(a[1], a[1])


def _finite(a: Pair) -> Any:
    return np.less(np.abs(a[0]), math.inf) & np.less(np.abs(a[1]), math.inf)


_RULES: dict[str, Callable[..., Any]] = {
    "complex": _parts,
    "polar": _polar,
    "add": _added,
    "sub": _subtracted,
    "rsub": _taken_from,
    "mul": _multiplied,
    "div": _divided,
    "reciprocal": _reciprocal,
    "square": _square,
    "_conj": _conjugate,
    "_conj_physical": _conjugate,
    "conj_physical": _conjugate,
    "_neg_view": _negative,
    "exp": _exponential,
    "log": _logarithm,
    "sqrt": _root,
    "pow": _power,
    "abs": _absolute,
    "angle": _angle,
    "sgn": _sign,
    "eq": _equal,
    "ne": _unequal,
    "isnan": _no_number,
    "isfinite": _finite,
    "addmm": _with_product,
    "baddbmm": _with_product,
}  # fmt: skip
"""Results of pairs: a pair, or something real."""
