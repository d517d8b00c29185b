"""Reductions and prefix sums: within each thread, then across the lanes of a warp."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from argus.codegen import registers
from argus.codegen.context import (
    INNER_LOOP,
    TID,
    Context,
    Ints,
    Irregular,
    Step,
    num_regs,
)
from argus.codegen.errors import CodegenError
from argus.codegen.registers import at, compute_type, read
from argus.codegen.storage import Array, layout_of
from argus.ir import ops as o
from argus.ir.dtypes import DTYPES, DType
from argus.ir.expr import Expr, lift
from argus.layout import Fragment

WARP = 32


def _lanes(layout: Fragment, axis: int) -> list[tuple[int, int]]:
    """(lane weight, size) of the thread digits along an axis, fastest first.

    Raises CodegenError when a digit leaves the warp or is no power of two.
    """
    found: list[tuple[int, int]] = []
    for weight, mode in layout.thread_digits():
        if mode.axis != axis or mode.size == 1:
            continue
        if weight * mode.size > WARP or mode.size & (mode.size - 1):
            raise CodegenError(f"axis {axis} of {layout} is not inside a warp")
        found.append((weight, mode.size))
    return found


def _combined(fn: str, a: str, b: str) -> str:
    match fn:
        case "sum":
            return f"{a} + {b}"
        case "prod":
            return f"{a} * {b}"
        case "max" | "min":
            return f"argus_{fn}({a}, {b})"
        case _:
            raise CodegenError(f"no reduction {fn!r}")


def reduce(cx: Context, op: o.Reduce) -> None:
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
        for weight, size in _lanes(source, op.axis)
        for bit in range(size.bit_length() - 1)
    ]
    if op.fn in ("argmax", "argmin"):
        _arg_reduce(cx, op, groups, along, masks)
        return
    into, finish = _wide(cx, op.result, op.src.dtype)
    array = cx.array(op.src)
    kind = compute_type(op.src.dtype)

    def body(step: Step) -> list[str]:
        lines = _in_thread(cx, op.fn, array, kind, step, groups[step.values])
        for mask in masks:
            other = f"argus_shfl_xor(v0, {mask})"
            lines.append(f"v0 = {_combined(op.fn, 'v0', other)};")
        return [*lines, f"{at(cx, into, step, step.values)} = v0;"]

    cx.loop(count, body)
    finish()


def _in_thread(
    cx: Context, fn: str, array: Array, kind: str, step: Step, groups: Ints
) -> list[str]:
    """Combine ``groups`` (registers [steps, n]) into ``v0``, in up to 4 chains."""
    n = groups.shape[1]
    # Several chains hide the latency of the operation; more than four cost registers.
    chains = next(c for c in (4, 2, 1) if (n % c == 0 and n >= 2 * c) or c == 1)
    turns = groups.reshape(len(groups), n // chains, chains)
    first = [read(cx, array, step, turns[:, 0, c]) for c in range(chains)]
    starts = ", ".join(f"v{c} = {text}" for c, text in enumerate(first))
    lines = [f"{kind} {starts};"]
    rest = turns[:, 1:]
    length = rest.shape[1]
    if length:
        lines += _inner_loop(cx, fn, array, step, rest)
    while chains > 1:
        chains //= 2
        lines += [
            f"v{c} = {_combined(fn, f'v{c}', f'v{c + chains}')};" for c in range(chains)
        ]
    return lines


def _inner_loop(
    cx: Context, fn: str, array: Array, step: Step, rest: Ints
) -> list[str]:
    length, chains = int(rest.shape[1]), int(rest.shape[2])
    inner = Step(INNER_LOOP, np.arange(length))
    try:
        if length == 1:
            raise Irregular
        texts = [
            _nested_read(cx, array, step, inner, rest[:, :, c]) for c in range(chains)
        ]
    except Irregular:
        return [
            f"v{c} = {_combined(fn, f'v{c}', read(cx, array, step, rest[:, i, c]))};"
            for i in range(length)
            for c in range(chains)
        ]
    lines = ["#pragma unroll", f"for (int rr = 0; rr < {length}; ++rr) {{"]
    lines += [
        f"  v{c} = {_combined(fn, f'v{c}', text)};" for c, text in enumerate(texts)
    ]
    return [*lines, "}"]


def _nested_read(
    cx: Context, array: Array, step: Step, inner: Step, table: Ints
) -> str:
    if not array.packed:
        return f"{array.name}[{cx.text(step.nested(inner, table))}]"
    halves = table % 2
    if not (halves == halves.flat[0]).all():
        raise Irregular
    side = "hi" if halves.flat[0] else "lo"
    word = cx.text(step.nested(inner, table // 2))
    return f"argus_unpack_{side}_{array.dtype.name}({array.name}[{word}])"


def _wide(
    cx: Context, result: o.Tile, computed: DType
) -> tuple[Array, Callable[[], None]]:
    """Where results go, and what to print after: packed results need a stop-over."""
    array = cx.array(result)
    if not array.packed:
        return array, lambda: None
    (name,) = cx.fresh_arrays(f"{array.name}_wide")
    wide = Array(name, DTYPES["f32"], array.regs)
    cx.out.line(wide.declaration)

    def finish() -> None:
        registers.fill(
            cx, array, num_regs(result), lambda s, regs: read(cx, wide, s, regs)
        )

    return wide, finish


def _arg_reduce(
    cx: Context, op: o.Reduce, groups: Ints, along: Ints, masks: list[int]
) -> None:
    """First position of the extreme: carry (value, index), ties to the lower index."""
    sign = ">" if op.fn == "argmax" else "<"
    kind = compute_type(op.src.dtype)
    array, into = cx.array(op.src), cx.array(op.result)
    by_thread = cx.coordinate(op.src.dims, layout_of(op.src), op.axis)

    def coordinate(step: Step, regs: Ints) -> str:
        return cx.text(by_thread + step.index(along[regs]))

    def body(step: Step) -> list[str]:
        own = groups[step.values]
        lines = [
            f"{kind} v0 = {read(cx, array, step, own[:, 0])};",
            f"int arg_index = {coordinate(step, own[:, 0])};",
        ]
        for i in range(1, own.shape[1]):
            value = read(cx, array, step, own[:, i])
            lines.append(
                f"if ({value} {sign} v0) "
                f"{{ v0 = {value}; arg_index = {coordinate(step, own[:, i])}; }}"
            )
        for mask in masks:
            lines += [
                "{",
                f"  const {kind} arg_other = argus_shfl_xor(v0, {mask});",
                f"  const int arg_at = argus_shfl_xor(arg_index, {mask});",
                f"  if (arg_other {sign} v0 || "
                "(arg_other == v0 && arg_at < arg_index)) "
                "{ v0 = arg_other; arg_index = arg_at; }",
                "}",
            ]
        return [*lines, f"{at(cx, into, step, step.values)} = arg_index;"]

    cx.loop(len(groups), body)


def scan(cx: Context, op: o.Scan) -> None:
    """Inclusive prefix sum along an axis held by the lanes of one warp.

    Along the axis, the coordinate must run over registers, then lanes, then registers
    (what a coalesced layout does). Raises CodegenError otherwise.
    """
    layout = layout_of(op.src)
    if not layout.same_as(layout_of(op.result)):
        raise CodegenError(f"the prefix sum of {op.src!r} changes its layout")
    lanes = _lanes(layout, op.axis)
    weight = lanes[0][0] if lanes else 1
    width = 1
    for lane_weight, size in lanes:
        if lane_weight != weight * width:
            raise CodegenError("the lanes along a prefix sum are not adjacent")
        width *= size
    steps = [m.step for m in layout.threads if m.axis == op.axis and m.size > 1]
    below = min(steps) if steps else 1
    if steps and max(steps) * lanes[-1][1] != below * width:
        raise CodegenError("the lanes along a prefix sum are not in order")
    regs = np.arange(layout.num_regs)
    parts = [np.zeros(len(regs), dtype=np.int64) + p for p in layout.reg_part(regs)]
    along = parts.pop(op.axis)
    outer = along // (below * width) if steps else along * 0
    keys = np.lexsort((along, outer, *reversed(parts)))
    turns = len(np.unique(outer))
    rows = len(np.unique(np.stack([*parts, regs * 0]), axis=1).T)
    table = keys.reshape(rows, turns, -1)
    into, finish = _wide(cx, op.result, op.src.dtype)
    array, kind = cx.array(op.src), compute_type(op.src.dtype)
    digit = cx.thread_value(lift(TID) // weight % width, "scan_lane")
    last = (
        cx.thread_value(TID % WARP - digit * weight + (width - 1) * weight, "scan_last")
        if width > 1
        else lift(0)
    )

    def body(step: Step) -> list[str]:
        lines = [f"{kind} scan_carry = 0;"]
        for turn in range(turns):
            own = table[step.values][:, turn]
            lines += [
                "{",
                *_scan_turn(cx, array, into, kind, step, own, (digit, weight, width)),
            ]
            if turn + 1 < turns:
                total = (
                    f"argus_shfl_idx(scan_sum, {cx.text(last)})"
                    if lanes
                    else "scan_sum"
                )
                lines.append(f"  scan_carry += {total};")
            lines.append("}")
        return lines

    cx.loop(rows, body)
    finish()


def _scan_turn(
    cx: Context,
    array: Array,
    into: Array,
    kind: str,
    step: Step,
    own: Ints,
    lanes: tuple[Expr, int, int],
) -> list[str]:
    """One register block of a row: in the thread, across the lanes, with the carry."""
    digit, weight, width = lanes
    n = own.shape[1]
    lines = [f"  const {kind} v0 = {read(cx, array, step, own[:, 0])};"]
    lines += [
        f"  const {kind} v{i} = v{i - 1} + {read(cx, array, step, own[:, i])};"
        for i in range(1, n)
    ]
    lines.append(f"  {kind} scan_sum = v{n - 1};")
    base = "scan_carry"
    distance = 1
    while distance < width:
        lines += [
            "  {",
            f"    const {kind} scan_up = argus_shfl_up(scan_sum, {distance * weight});",
            f"    if ({cx.operand(digit)} >= {distance}) scan_sum += scan_up;",
            "  }",
        ]
        distance *= 2
    if width > 1:
        lines += [
            f"  const {kind} scan_below = argus_shfl_up(scan_sum, {weight});",
            f"  const {kind} scan_base = "
            f"scan_carry + ({cx.operand(digit)} > 0 ? scan_below : 0);",
        ]
        base = "scan_base"
    lines += [f"  {at(cx, into, step, own[:, i])} = {base} + v{i};" for i in range(n)]
    return lines
