"""Reductions: within each thread, then across the lanes of a warp."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from argus.codegen import registers
from argus.codegen.code import (
    CppExpression,
    binary,
    call,
    item,
    name,
)
from argus.codegen.context import (
    INNER_LOOP,
    Emission,
    Ints,
    Irregular,
    RegisterIteration,
    num_regs,
)
from argus.codegen.errors import CodegenError
from argus.codegen.registers import assign, at, decoded, read
from argus.codegen.storage import RegisterArray, layout_of
from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.numerics import arithmetic
from argus.layout import Fragment


def rows_across(layout: Fragment, axis: int) -> tuple[Ints, list[Ints], int]:
    """Of each register its part along an axis, and along the others; how many rows.

    Registers with the same parts along the others hold one row.
    """
    regs = np.arange(layout.num_regs)
    each = layout.reg_part(regs)
    parts: list[Ints] = [np.zeros(len(regs), dtype=np.int64) + p for p in each]
    along = parts.pop(axis)
    rows = len(np.unique(np.stack([*parts, regs * 0]), axis=1).T)
    return along, parts, rows


def lanes_along(layout: Fragment, axis: int, warp: int) -> list[tuple[int, int]]:
    """(lane weight, size) of the thread digits along an axis, fastest first.

    Raises CodegenError when a digit leaves the warp or is no power of two.
    """
    found: list[tuple[int, int]] = []
    for weight, mode in layout.thread_digits():
        if mode.axis != axis or mode.size == 1:
            continue
        if weight * mode.size > warp or mode.size & (mode.size - 1):
            raise CodegenError(f"axis {axis} of {layout} is not inside a warp")
        found.append((weight, mode.size))
    return found


_V0 = name("v0")
"""What a chain of combinations has found so far."""


def _combined(
    fn: str, dtype: DType, a: CppExpression, b: CppExpression
) -> CppExpression:
    """Two partial results of a reduction that computes in ``dtype``."""
    match fn:
        case "sum" | "prod" if dtype.is_float:
            return binary("+" if fn == "sum" else "*", a, b)
        case "sum" | "prod":
            return call("argus_add" if fn == "sum" else "argus_mul", a, b)
        case "max" | "min":
            return call(f"argus_{fn}", a, b)
        case _:
            raise CodegenError(f"no reduction {fn!r}")


def reduce(cx: Emission, op: o.Reduce) -> None:
    """Combine the registers along the axis, then the lanes by butterfly shuffles.

    Every lane ends with the result, so the result's layout is the source's without the
    axis. Raises CodegenError when the axis is spread over more than a warp.
    """
    source = layout_of(op.src)
    axes = tuple(i if i < op.axis else i + 1 for i in range(source.rank - 1))
    target = source.register_map(layout_of(op.result), axes)
    if target is None:
        raise CodegenError(f"the result of reducing {op.src!r} lies in other threads")
    along = np.zeros(source.num_regs, dtype=np.int64)
    along = along + source.reg_part(np.arange(source.num_regs))[op.axis]
    count = num_regs(op.result)
    order = np.lexsort((along, target))
    groups = order.reshape(count, -1)
    masks = [
        weight << bit
        for weight, size in lanes_along(source, op.axis, cx.program.target.warp_threads)
        for bit in range(size.bit_length() - 1)
    ]
    if op.fn in ("argmax", "argmin"):
        _arg_reduce(cx, op, groups, along, masks)
        return
    into, finish = _wide(cx, op.result)
    array = cx.array(op.src)
    dtype = arithmetic(op.src.dtype)

    def body(step: RegisterIteration) -> list[str]:
        lines = _in_thread(cx, op.fn, array, dtype, step, groups[step.values])
        for mask in masks:
            other = call("argus_shfl_xor", _V0, name(str(mask)))
            lines.append(assign(_V0, _combined(op.fn, dtype, _V0, other)))
        return [*lines, assign(at(cx, into, step, step.values), _V0)]

    cx.loop(count, body)
    finish()


def _in_thread(
    cx: Emission,
    fn: str,
    array: RegisterArray,
    dtype: DType,
    step: RegisterIteration,
    groups: Ints,
) -> list[str]:
    """Combine ``groups`` (registers [steps, n]) into ``v0``, in up to 4 chains."""
    n = groups.shape[1]
    # Several chains hide the latency of the operation; more than four cost registers.
    chains = next(c for c in (4, 2, 1) if (n % c == 0 and n >= 2 * c) or c == 1)
    rounds = groups.reshape(len(groups), n // chains, chains)
    first = [read(cx, array, step, rounds[:, 0, c]) for c in range(chains)]
    starts = ", ".join(f"v{c} = {x.bare}" for c, x in enumerate(first))
    lines = [f"{dtype.register} {starts};"]
    rest = rounds[:, 1:]
    length = rest.shape[1]
    if length:
        lines += _inner_loop(cx, fn, array, dtype, step, rest)
    while chains > 1:
        chains //= 2
        lines += [
            assign(
                name(f"v{c}"),
                _combined(fn, dtype, name(f"v{c}"), name(f"v{c + chains}")),
            )
            for c in range(chains)
        ]
    return lines


def _inner_loop(
    cx: Emission,
    fn: str,
    array: RegisterArray,
    dtype: DType,
    step: RegisterIteration,
    rest: Ints,
) -> list[str]:
    length, chains = int(rest.shape[1]), int(rest.shape[2])
    inner = RegisterIteration(INNER_LOOP, np.arange(length))
    try:
        if length == 1:
            raise Irregular
        texts = [
            _nested_read(cx, array, step, inner, rest[:, :, c]) for c in range(chains)
        ]
    except Irregular:
        return [
            _accumulate(fn, dtype, c, read(cx, array, step, rest[:, i, c]))
            for i in range(length)
            for c in range(chains)
        ]
    lines = ["#pragma unroll", f"for (int rr = 0; rr < {length}; ++rr) {{"]
    lines += [f"  {_accumulate(fn, dtype, c, text)}" for c, text in enumerate(texts)]
    return [*lines, "}"]


def _accumulate(fn: str, dtype: DType, chain: int, value: CppExpression) -> str:
    held = name(f"v{chain}")
    return assign(held, _combined(fn, dtype, held, value))


def _nested_read(
    cx: Emission,
    array: RegisterArray,
    step: RegisterIteration,
    inner: RegisterIteration,
    table: Ints,
) -> CppExpression:
    if not array.packed:
        held = item(array.name, cx.code(step.nested(inner, table)))
        return decoded(array.dtype, held) if array.dtype.encoded else held
    halves = table % 2
    if not (halves == halves.flat[0]).all():
        raise Irregular
    side = "hi" if halves.flat[0] else "lo"
    word = item(array.name, cx.code(step.nested(inner, table // 2)))
    return call(f"argus_unpack_{side}_{array.dtype.name}", word)


def _wide(cx: Emission, result: o.Tile) -> tuple[RegisterArray, Callable[[], None]]:
    """Where results go, and what to print after.

    Results that are encoded, or two to a register, need a stop-over.
    """
    array = cx.array(result)
    if not (array.dtype.encoded or array.packed):
        return array, lambda: None
    (fresh,) = cx.fresh_arrays(f"{array.name}_wide")
    wide = RegisterArray(fresh, arithmetic(array.dtype), array.regs)
    cx.out.line(wide.declaration)

    def finish() -> None:
        registers.fill(
            cx, array, num_regs(result), lambda s, regs: read(cx, wide, s, regs)
        )

    return wide, finish


def _arg_reduce(
    cx: Emission, op: o.Reduce, groups: Ints, along: Ints, masks: list[int]
) -> None:
    """First position of the extreme: carry (value, index), ties to the lower index.

    A NaN precedes every number, as in numpy.
    """
    dtype = arithmetic(op.src.dtype)
    floats = dtype.is_float
    sign, opposite = (">", "<=") if op.fn == "argmax" else ("<", ">=")

    def precedes(a: str, b: str) -> str:
        # What is not comparable is a NaN: `a` is, unless `b` is.
        return f"!({a} {opposite} {b}) && {b} == {b}" if floats else f"{a} {sign} {b}"

    def equal(a: str, b: str) -> str:
        same = f"{a} == {b}"
        return f"({same} || ({a} != {a} && {b} != {b}))" if floats else same

    kind = dtype.register
    array, into = cx.array(op.src), cx.array(op.result)
    by_thread = cx.coordinate(op.src.dims, layout_of(op.src), op.axis)

    def coordinate(step: RegisterIteration, regs: Ints) -> CppExpression:
        return cx.code(by_thread + step.index(along[regs]))

    def body(step: RegisterIteration) -> list[str]:
        own = groups[step.values]
        lines = [
            f"{kind} v0 = {read(cx, array, step, own[:, 0]).bare};",
            f"int arg_index = {coordinate(step, own[:, 0]).bare};",
        ]
        for i in range(1, own.shape[1]):
            value = read(cx, array, step, own[:, i])
            lines.append(
                f"if ({precedes(value.operand, 'v0')}) {{ v0 = {value.bare}; "
                f"arg_index = {coordinate(step, own[:, i]).bare}; }}"
            )
        for mask in masks:
            lines += [
                "{",
                f"  const {kind} arg_other = argus_shfl_xor(v0, {mask});",
                f"  const int arg_at = argus_shfl_xor(arg_index, {mask});",
                f"  if (({precedes('arg_other', 'v0')}) || "
                f"({equal('arg_other', 'v0')} && arg_at < arg_index)) "
                "{ v0 = arg_other; arg_index = arg_at; }",
                "}",
            ]
        return [*lines, assign(at(cx, into, step, step.values), name("arg_index"))]

    cx.loop(len(groups), body)
