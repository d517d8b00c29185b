"""Operators of ATen: those of the specification, and what only programs have.

`argus.specification.aten` says what most operators are, as functions of numpy. Here
stand those that need sizes which are numbers, or that real numbers do not tell apart;
`window_operators.py`, `joining_operators.py` and `table_operators.py` have more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from argus.ir.dtypes import f32, f64, i64
from argus.ir.numerics import largest_number
from argus.programs.tensors.numpy_functions import (
    contracted,
    product_precision,
    wide_product,
)
from argus.programs.tensors.operator_table import (
    CREATING,
    OWN,
    creating,
    element_type,
    own,
)
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.tensor_array import TensorArray, part_of
from argus.programs.tensors.tensor_program import (
    UntranslatedError,
    ViewedValue,
)
from argus.programs.tensors.views import LinearView, repeated
from argus.specification.aten.table import OPERATORS

_PARTS = 1024
"""Ranges of fractions are whole numbers of such parts of 1."""
_EXACT = 2**24
"""Whole numbers below it are numbers of f32."""
_EPSILON = {f32: 2.0**-23, f64: 2.0**-52}
"""Of what torch computes norms in; those of narrower elements in f32."""


def operator_named(name: str, recorder: ProgramRecorder) -> Callable[..., Any] | None:
    """What an operator of that name records; None for one that is not known."""
    from argus.programs.capturing import flexible_attention
    from argus.programs.convolutions import convolution_gradients, convolution_operators
    from argus.programs.operators import (
        attention_operators,
        distance_operators,
        embedding_bags,
        expert_operators,
        joining_operators,
        overlapping_windows,
        pointwise_operators,
        pool_positions,
        putting_operators,
        recurrence_operators,
        scan_operators,
        scattering_operators,
        sorting_operators,
        special_functions,
        table_operators,
        window_gradients,
        window_operators,
    )
    from argus.specification.aten import table
    from argus.specification.aten.graph import TRACED

    _ = (
        TRACED,
        attention_operators,
        convolution_gradients,
        convolution_operators,
        distance_operators,
        embedding_bags,
        expert_operators,
        flexible_attention,
        joining_operators,
        overlapping_windows,
        pointwise_operators,
        pool_positions,
        putting_operators,
        recurrence_operators,
        scan_operators,
        scattering_operators,
        sorting_operators,
        special_functions,
        table_operators,
        window_gradients,
        window_operators,
    )  # they fill the tables

    name = pointwise_operators.as_aten(name)
    if name in CREATING:
        made = CREATING[name]
        return lambda *args, **named: made(recorder, *args, **named)
    found = OWN.get(name) or table.OPERATORS.get(name)
    if found is None:
        return None
    return pointwise_operators.whole_numbers_meet(name, found)


def known(name: str) -> bool:
    """Whether an operator of that name has a translation."""
    return operator_named(name, ProgramRecorder()) is not None


# -------------------------------------------------------------------------- creating


@creating("full")
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


@creating("zeros")
def zeros(recorder: ProgramRecorder, shape: Any, *, dtype: Any = None, **_: Any) -> Any:
    """Zeros."""
    return full(recorder, shape, 0.0, dtype=dtype)


@creating("ones")
def ones(recorder: ProgramRecorder, shape: Any, *, dtype: Any = None, **_: Any) -> Any:
    """Ones."""
    return full(recorder, shape, 1.0, dtype=dtype)


@creating("scalar_tensor")
def scalar_tensor(
    recorder: ProgramRecorder, value: Any, *, dtype: Any = None, **_: Any
) -> Any:
    """A number."""
    return full(recorder, (), value, dtype=dtype)


@creating("empty.memory_format", "empty_permuted", "empty_strided")
def empty(
    recorder: ProgramRecorder, shape: Any, *_: Any, dtype: Any = None, **__: Any
) -> Any:
    """Any numbers: these are zeros."""
    wanted = f32 if dtype is None else element_type(dtype)
    return TensorArray(recorder, recorder.filled(tuple(shape), 0, wanted))


@own("new_empty", "new_empty_strided", "empty_like")
def empty_beside(x: TensorArray, *given: Any, dtype: Any = None, **_: Any) -> Any:
    """Any numbers: these are zeros."""
    wanted = x.element if dtype is None else element_type(dtype)
    shape = tuple(given[0]) if given else x.shape
    return TensorArray(x.recorder, x.recorder.filled(shape, 0, wanted))


CREATING["prims.empty_strided.default"] = CREATING["aten.empty_strided.default"]
CREATING["prims.empty_permuted.default"] = CREATING["aten.empty_permuted.default"]


@creating("arange.start_step")
def arange(
    recorder: ProgramRecorder,
    start: Any,
    end: Any,
    step: Any = 1,
    *,
    dtype: Any = None,
    **_: Any,
) -> Any:
    """Numbers with a step, of which f32 has each as it is."""
    whole = all(isinstance(n, int) for n in (start, end, step))
    parts = 1 if float(start).is_integer() and float(step).is_integer() else _PARTS
    first, by = start * parts, step * parts
    count = math.ceil((end - start) / step)
    if not whole and not (
        float(first).is_integer()
        and float(by).is_integer()
        and abs(first) + count * abs(by) < _EXACT
    ):
        raise UntranslatedError("a range of fractions, which are rounded")
    made = TensorArray(recorder, recorder.positions((count,), 0, int(first), int(by)))
    wanted = element_type(dtype) if dtype is not None else i64 if whole else f32
    if parts != 1:
        made = made.cast(wanted if wanted == f64 else f32) * (1 / parts)
    return made.cast(wanted)


# --------------------------------------------------------------------------- maps


@own("expand", "expand_copy")
def expand(x: TensorArray, shape: Any, **_: Any) -> TensorArray:
    """Repeated along dimensions of size 1; -1 keeps a size."""
    ahead = len(shape) - x.ndim
    sizes = [x.shape[d - ahead] if n == -1 else n for d, n in enumerate(shape)]
    return x.seen(repeated(x.shape, sizes))


@own("squeeze.dim", "squeeze.dims", "squeeze")
def squeeze(x: TensorArray, dims: Any = None) -> Any:
    """Without some dimensions, or all, where they have size 1."""
    given = range(x.ndim) if dims is None else [dims] if isinstance(dims, int) else dims
    gone = {d % x.ndim for d in given if x.ndim}
    return np.squeeze(x, tuple(d for d in gone if x.shape[d] == 1))


@own("unfold", "unfold_copy")
def unfold(x: TensorArray, dimension: int, size: int, step: int) -> TensorArray:
    """Windows along a dimension; positions inside them are the last dimension."""
    if not x.ndim:
        raise UntranslatedError("windows of one number")
    dim = dimension % x.ndim
    shape = [*x.shape, size]
    shape[dim] = (x.shape[dim] - size) // step + 1
    factors = tuple(
        ((d, step), (x.ndim, 1)) if d == dim else ((d, 1),) for d in range(x.ndim)
    )
    return x.seen(LinearView(tuple(shape), factors, (0,) * x.ndim))


@own("_safe_softmax")
def safe_softmax(x: TensorArray, dim: int, *_: Any) -> Any:
    """Softmax; 0 in rows that are -inf everywhere."""
    most: Any = np.max(x, dim, keepdims=True)
    none = np.equal(most, -math.inf)
    weights: Any = np.exp(x - np.where(none, 0.0, most))
    total: Any = np.sum(weights, dim, keepdims=True)
    return weights / np.where(none, 1.0, total)


@own("logsumexp")
def logsumexp(x: TensorArray, dims: Any, keepdim: bool = False) -> Any:
    """``log(sum(exp(x)))``; where the largest is infinite, that.

    What is taken from all elements first is a number: the largest that is one.
    """
    x = x if x.element.is_float else x.cast(f32)
    given: list[int] = [dims] if isinstance(dims, int) else list(dims)
    axes = tuple(given or range(x.ndim))
    most: Any = np.max(x, axes, keepdims=True)
    largest = largest_number(most.element)
    shift: Any = np.minimum(np.maximum(most, -largest), largest)
    total: Any = np.sum(np.exp(x - shift), axes, keepdims=True)
    found = np.log(total) + shift
    return found if keepdim else np.squeeze(found, axes)


@own("erf")
def erf(x: TensorArray) -> TensorArray:
    """The error function."""
    return TensorArray(x.recorder, x.recorder.map("erf", x.operand))


@own("_neg_view")
def neg_view(x: TensorArray) -> Any:
    """With the other sign."""
    return np.negative(x)


@own("isnan")
def isnan(x: TensorArray) -> Any:
    """What is not equal to itself."""
    return np.not_equal(x, x)


def _over(name: str) -> Callable[..., Any]:
    """A reduction of the specification, of elements of another type."""

    def reduced(
        x: TensorArray, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
    ) -> Any:
        given = x if dtype is None else x.cast(element_type(dtype))
        return OPERATORS[name](given, dim, keepdim)

    return reduced


own("sum", "sum.dim_IntList")(_over("aten.sum.default"))
own("mean", "mean.dim")(_over("aten.mean.dim"))


@own("_to_copy")
def to_copy(x: TensorArray, *, dtype: Any = None, **_: Any) -> TensorArray:
    """Another element type."""
    return x if dtype is None else x.cast(element_type(dtype))


@own("addmm", "baddbmm", "addmv")
def addmm(
    x: TensorArray, a: TensorArray, b: TensorArray, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """``beta * x + alpha * a @ b``; of floats in f32, and rounded once."""
    product = TensorArray(a.recorder, wide_product(a.recorder, a.operand, b.operand))
    return addmm_of(x, product, beta, alpha)


def addmm_of(x: TensorArray, product: TensorArray, beta: Any, alpha: Any) -> Any:
    """``beta * x + alpha * product``; factors of whole numbers are whole."""
    if not product.element.is_float:
        beta, alpha = int(beta), int(alpha)
    scaled: Any = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    added: Any = x.cast(product.element)
    return scaled + (added if beta == 1 else added * beta)


@own("addbmm")
def addbmm(
    x: TensorArray, a: TensorArray, b: TensorArray, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """``beta * x + alpha * sum of a[i] @ b[i]``: one product, which sums over i too."""
    made = contracted(a.recorder, a.operand, b.operand, "imk", "ikn", "mn",
                      precision=product_precision())  # fmt: skip
    return addmm_of(x, TensorArray(a.recorder, made), beta, alpha)


@own("_trilinear")
def trilinear(
    a: TensorArray, b: TensorArray, c: TensorArray, more_a: Any, more_b: Any,
    more_c: Any, summed: Any, *_: Any,
) -> Any:  # fmt: skip
    """The sum of products of three tensors, which lack some dimensions each."""
    rank = a.ndim + len(more_a)
    letters = "ijklmnopq"[:rank]
    x, y, z = (
        "".join(s for d, s in enumerate(letters) if d not in more)
        for more in (more_a, more_b, more_c)
    )
    kept = "".join(s for d, s in enumerate(letters) if d not in summed)
    both = "".join(s for s in letters if s in x + y and s in kept + z)
    r = a.recorder
    first = contracted(r, a.operand, b.operand, x, y, both)
    present = "".join(s for s in kept if s in both + z)
    return TensorArray(r, contracted(r, first, c.operand, both, z, present))


@own("rms_norm")
def rms_norm(x: Any, shape: Any, weight: Any = None, eps: Any = None) -> Any:
    """Divided by the root of the mean square."""
    return fused_rms_norm(x, shape, weight, eps)[0]


@own("_fused_rms_norm")
def fused_rms_norm(x: Any, shape: Any, weight: Any = None, eps: Any = None) -> Any:
    """The same, and what it was multiplied by.

    Of 16 bits in f32, as in torch: a square may be too large for them.
    """
    known = OPERATORS["aten._fused_rms_norm.default"]
    wide = x if x.element == f64 else x.cast(f32)
    return known(wide, shape, weight, _EPSILON[wide.element] if eps is None else eps)
