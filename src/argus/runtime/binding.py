"""Arguments against a kernel's contract, before anything is launched.

`bind` checks what does not depend on addresses and gives every symbol its value;
`addresses` does the rest. Each mistake has its own code of AG08xx and names the
argument, what was expected and what was given.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

from argus.diagnostics import ArgusError, fail
from argus.extents import LEAST_EXTENT, MOST_EXTENT
from argus.ir.expr import Const, Expr, Sym, evaluate, holds, symbols
from argus.ir.launch import MOST_BLOCKS, LaunchSpec
from argus.ir.memory import GlobalTensor
from argus.ir.program import SM_COUNT, ScalarParam
from argus.runtime.arguments import TensorArg
from argus.runtime.dlpack import contiguous, share_memory

Number = int | float
_STRIDE_UNIT = 16
"""What divides the strides that are never used: the most that is asked of a stride."""


@dataclass(frozen=True, slots=True)
class CallBinding:
    """What a call means to a kernel, addresses apart.

    ``values`` are those of dim, stride and param symbols by name. ``empty`` says that
    every output has no elements, so that there is nothing to launch. ``strides`` are
    those of each tensor, in elements, with a meaning also where an extent is 1.
    """

    values: Mapping[str, Number]
    device: int
    strides: tuple[tuple[int, ...], ...]
    empty: bool


def bind(
    spec: LaunchSpec,
    tensors: Sequence[TensorArg],
    scalars: Sequence[object],
    device_kind: str = "cuda",
) -> CallBinding:
    """Check arguments, in the order of ``spec.tensors`` and ``spec.scalars``.

    Raises ArgusError: AG0802 (element type), AG0803 (rank), AG0804 (sizes), AG0805
    (strides), AG0807 (device), AG0808 (requirements, ranges), AG0809 (an output that
    cannot be written), AG0814 (an empty input of a call that is not empty).
    """
    pairs = list(zip(spec.tensors, tensors, strict=True))
    for declared, given in pairs:
        _check_type(declared, given)
    device = _common_device(pairs, device_kind)
    values = _bind_shapes(pairs)
    strides = tuple(_bind_strides(declared, given, values) for declared, given in pairs)
    for param, value in zip(spec.scalars, scalars, strict=True):
        values[param.sym.name] = scalar_value(param, value)
    outputs = [given for declared, given in pairs if declared.name in spec.outputs]
    if outputs and all(map(_is_empty, outputs)):
        return CallBinding(values, device, strides, empty=True)
    for declared, given in pairs:
        if _is_empty(given):
            raise fail(
                "AG0814",
                None,
                f"`{declared.name}` is empty: its shape is {given.shape}",
                notes=["the kernel's outputs are not, and it needs sizes of 1 or more"],
            )
    for declared, given, step in zip(spec.tensors, tensors, strides, strict=True):
        if declared.name in spec.outputs:
            _check_writable(declared, given, step)
    check_requirements(spec, values)
    return CallBinding(values, device, strides, empty=False)


def grid_size(spec: LaunchSpec, values: Mapping[str, Number], sm_count: int) -> int:
    """Blocks to launch; a multiple of the cluster, 0 for nothing to do.

    Raises ArgusError AG0509 for more than a grid can have, AG0808 for no number.
    """
    try:
        grid = int(evaluate(spec.grid, {**values, SM_COUNT.name: sm_count}))
    except ZeroDivisionError:
        text = f"the number of blocks, {spec.grid}, divides by zero"
        raise fail("AG0808", None, text) from None
    if not 0 <= grid <= MOST_BLOCKS:
        raise fail(
            "AG0509", None, f"the grid would have {grid} blocks, at most 2**31-1"
        )
    if grid % spec.cluster != 0:
        raise fail(
            "AG0508",
            None,
            f"{grid} blocks cannot be divided into clusters of {spec.cluster}",
        )
    return grid


# --------------------------------------------------------------------- tensors


def _is_empty(given: TensorArg) -> bool:
    return any(size < LEAST_EXTENT for size in given.shape)


def _check_type(declared: GlobalTensor, given: TensorArg) -> None:
    name = declared.name
    if given.dtype != declared.dtype.name:
        raise fail(
            "AG0802",
            None,
            f"`{name}` has elements of {given.dtype}, expected {declared.dtype}",
        )
    if len(given.shape) != declared.rank:
        dims = " ".join(declared.dims) or "no dimensions"
        raise fail(
            "AG0803",
            None,
            f"`{name}` has rank {len(given.shape)}, expected {declared.rank}: {dims}",
            notes=[f"its shape is {given.shape}"],
        )


def _common_device(
    pairs: Sequence[tuple[GlobalTensor, TensorArg]], device_kind: str
) -> int:
    first: tuple[str, int] | None = None
    for declared, given in pairs:
        kind, index = given.device
        if kind != device_kind:
            raise fail(
                "AG0807",
                None,
                f"`{declared.name}` is on {kind}, expected {device_kind}",
                help=f"`{declared.name}.to({device_kind!r})`, if it is a torch tensor",
            )
        if first is None:
            first = declared.name, index
        elif first[1] != index:
            raise fail(
                "AG0807",
                None,
                f"`{declared.name}` is on {kind}:{index}, "
                f"`{first[0]}` on {kind}:{first[1]}",
                notes=["all tensors of a call are on the same device"],
            )
    return 0 if first is None else first[1]


def _bind_shapes(
    pairs: Sequence[tuple[GlobalTensor, TensorArg]],
) -> dict[str, Number]:
    values: dict[str, Number] = {}
    origin: dict[str, str] = {}
    for declared, given in pairs:
        for position, (extent, size) in enumerate(
            zip(declared.shape, given.shape, strict=True)
        ):
            where = f"`{declared.name}` (dimension {position})"
            if size > MOST_EXTENT:
                raise fail(
                    "AG0808", None, f"{where} is {size} long, more than 2**31 - 1"
                )
            if isinstance(extent, Sym) and extent.name not in values:
                values[extent.name] = size
                origin[extent.name] = where
    # After all symbols are known: an extent may be an expression over several.
    for declared, given in pairs:
        for position, (extent, size) in enumerate(
            zip(declared.shape, given.shape, strict=True)
        ):
            expected = evaluate(extent, values)
            if expected == size:
                continue
            dim = declared.dims[position]
            why = (
                f"{origin[extent.name]} says so"
                if isinstance(extent, Sym)
                else "the kernel was compiled for that"
            )
            raise fail(
                "AG0804",
                None,
                f"{dim} of `{declared.name}` is {size}, expected {expected}",
                notes=[why, f"the shape of `{declared.name}` is {given.shape}"],
            )
    return values


def _bind_strides(
    declared: GlobalTensor, given: TensorArg, values: dict[str, Number]
) -> tuple[int, ...]:
    """Strides in elements; sets stride symbols in ``values``.

    The stride of a dimension of extent 1 is never used, and producers put anything
    there; it becomes at least what a contiguous tensor would have, rounded up to what
    a specialisation may ask for (`argus.specialisations`).
    """
    strides: list[int] = []
    ideal = contiguous(given.shape)
    for position, step in enumerate(given.strides):
        single = given.shape[position] <= 1
        last = position == declared.rank - 1
        usable = step
        if single:
            usable = 1 if last else _rounded(max(step, ideal[position]))
        expected: Expr = declared.strides[position]
        if isinstance(expected, Sym):
            if usable < 0:
                raise _bad_stride(declared, given, position, "0 or more")
            values[expected.name] = usable
        elif isinstance(expected, Const) and expected.value != usable:
            if not single:
                raise _bad_stride(declared, given, position, str(expected.value))
            usable = int(expected.value)
        strides.append(usable)
    return tuple(strides)


def _rounded(step: int) -> int:
    return -(-step // _STRIDE_UNIT) * _STRIDE_UNIT


def _bad_stride(
    declared: GlobalTensor, given: TensorArg, position: int, expected: str
) -> ArgusError:
    name = declared.name
    return fail(
        "AG0805",
        None,
        f"the stride of {declared.dims[position]} in `{name}` is "
        f"{given.strides[position]}, expected {expected}",
        notes=[f"shape {given.shape}, strides {given.strides} in elements"],
        help=f"a copy has strides that fit: `{name}.contiguous()` of torch, "
        f"`numpy.ascontiguousarray({name})`; what is written to one stays in it",
    )


def _check_writable(
    declared: GlobalTensor, given: TensorArg, strides: Sequence[int]
) -> None:
    name = declared.name
    if given.readonly:
        raise fail("AG0809", None, f"`{name}` is an output, and is read-only")
    if share_memory(given.shape, strides):
        raise fail(
            "AG0809",
            None,
            f"`{name}` is an output, and several of its elements share an address",
            notes=[f"shape {given.shape}, strides {given.strides} in elements"],
        )


def check_requirements(spec: LaunchSpec, values: Mapping[str, Number]) -> None:
    """Every requirement of the kernel. Raises ArgusError AG0805 or AG0808."""
    for requirement in spec.requirements:
        if holds(requirement.cond, values):
            continue
        about_strides = any(s.kind == "stride" for s in symbols(requirement.cond))
        code = "AG0805" if about_strides else "AG0808"
        said, why = requirement.refused(values)
        raise fail(code, requirement.span, said, notes=[why])


# --------------------------------------------------------------------- scalars

_INT_BITS = {"i32": 32, "i64": 64}
_F32_MAX = 3.4028234663852886e38


def scalar_value(param: ScalarParam, value: object) -> Number:
    """``value`` as the kernel gets it. Raises ArgusError AG0808 if it does not fit.

    Python and numpy numbers; not a tensor, since reading one may wait for the GPU.
    """
    if param.dtype in _INT_BITS:
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise _bad_scalar(param, value, "a whole number")
        number, limit = int(value), 1 << (_INT_BITS[param.dtype] - 1)
        if not -limit <= number < limit:
            raise _bad_scalar(
                param, value, f"a number of {_INT_BITS[param.dtype]} bits"
            )
        return number
    if type(value) is not float and (
        isinstance(value, bool) or not isinstance(value, Real)
    ):
        raise _bad_scalar(param, value, "a number")
    real = float(value)
    if math.isfinite(real) and abs(real) > _F32_MAX:
        raise _bad_scalar(param, value, "a number that f32 can hold")
    return real


def _bad_scalar(param: ScalarParam, value: object, expected: str) -> ArgusError:
    given = f"{type(value).__name__} {value!r}"
    return fail(
        "AG0808",
        None,
        f"`{param.name}` is {param.dtype}: expected {expected}, given {given}",
    )
