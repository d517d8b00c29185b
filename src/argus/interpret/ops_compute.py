"""Operations on registers: arithmetic, reductions, and changes of layout.

A tile is an array [threads, registers]. Everything follows the layouts: a reduction
combines a thread's registers and then the lanes that its layout says hold the axis, as
a butterfly of shuffles does. f32 sums are taken in numpy's order, which differs from
the hardware's in the last bits.
"""

from __future__ import annotations

from typing import Any, assert_never

import numpy as np

from argus.interpret.machine import ThreadGroup
from argus.interpret.numbers import (
    Array,
    compute,
    convert,
    extreme,
    rounded,
    storage,
    to_bits,
)
from argus.ir import ops as o
from argus.ir.codec import computing
from argus.ir.combining import in_order, scanned
from argus.ir.dtypes import DType, boolean
from argus.ir.expr import Expr
from argus.ir.functions import FUNCTIONS
from argus.ir.numerics import common
from argus.layout import Fragment, Mode

__all__ = ["ComputeOp", "run"]

ComputeOp = o.Let | o.Extract | o.AnyRegisterOp


def run(group: ThreadGroup, op: ComputeOp) -> None:
    """Execute one operation."""
    match op:
        case o.Let():
            group.env[op.sym.name] = group.scalar(op.value)
        case o.Extract():
            group.env[op.sym.name] = _extracted(group, op)
        case o.Full():
            layout = layout_of(group, op.result)
            value = np.asarray(group.operand(op.value)).astype(_wide(op.result.dtype))
            one = rounded(value, op.result.dtype)
            shape = (group.threads, layout.num_regs)
            group.put(op.result, np.broadcast_to(one, shape).copy())
        case o.Index():
            table = layout_of(group, op.result).table()
            values = table[:, :, op.axis].astype(storage(op.result.dtype))
            group.put(op.result, values)
        case o.Elementwise():
            group.put(op.result, _elementwise(group, op))
        case o.Cast():
            values = convert(group.get(op.src), op.src.dtype, op.result.dtype)
            group.put(op.result, values)
        case o.Moving():
            group.put(op.result, _moved(group, op))
        case o.Reinterpret():
            group.put(op.result, group.get(op.src))
        case o.Reduce():
            group.put(op.result, _reduce(group, op))
        case o.Scan() | o.ScanTotal():
            group.put(op.result, _combined(group, op))
        case o.Sort():
            group.put(op.result, _sorted(group, op))
        case _:
            assert_never(op)


def layout_of(group: ThreadGroup, tile: o.Tile) -> Fragment:
    """A tile's layout, over the threads of the group.

    Raises ValueError when it has none.
    """
    if tile.layout is None:
        raise ValueError(f"tile {tile!r} has no layout: the program is not placed")
    if tile.layout.num_threads != group.threads:
        group.fault(
            "layout",
            f"{tile!r} is spread over {tile.layout.num_threads} threads; the role has"
            f" {group.threads}",
        )
    return tile.layout


def _wide(dtype: DType) -> np.dtype[Any]:
    """The numpy type in which a scalar becomes an element of `dtype`."""
    if dtype.is_float:
        return computing(dtype)
    return np.dtype(np.bool_ if dtype == boolean else np.int64)


def _elementwise(group: ThreadGroup, op: o.Elementwise) -> Array:
    function = FUNCTIONS[op.fn]
    types = [a.dtype if isinstance(a, o.Tile) else None for a in op.args]
    wide = common(op.fn, types, op.result.dtype)
    args: list[Array] = []
    for arg in op.args:
        if isinstance(arg, o.Tile):
            numbers = compute(group.get(arg), arg.dtype)
            is_mask = arg.dtype == boolean
            args.append(numbers if is_mask else numbers.astype(storage(wide)))
        else:
            args.append(_scalar(group, arg, wide))
    with np.errstate(all="ignore"):
        result = np.asarray(function.numpy(*args))
    layout = layout_of(group, op.result)
    shape = (group.threads, layout.num_regs)
    held = rounded(result, op.result.dtype)
    return held if held.shape == shape else np.broadcast_to(held, shape)


def _scalar(group: ThreadGroup, arg: Expr, wide: DType) -> Array:
    """A uniform scalar as an operand; the condition of `where` stays bool."""
    kind = boolean if arg.type == "bool" else wide
    with np.errstate(over="ignore"):
        return np.asarray(group.operand(arg)).astype(storage(kind))


def _moved(group: ThreadGroup, op: o.Moving) -> Array:
    """Registers picked within each thread."""
    first = op.sources[0]
    found = op.held(layout_of(group, op.result), layout_of(group, first))
    if found is None:
        group.fault("layout", f"{first!r} to {op.result!r} moves data between threads")
        return group.poison(op.result)
    if len(op.sources) == 1:
        return group.get(first)[:, found[1]]
    held = np.stack([group.get(x) for x in op.sources])
    return held[found[0], :, found[1]].T


# ------------------------------------------------------- along an axis of a layout


def _digits(fragment: Fragment, values: Array) -> Array:
    """[threads, registers] with one dimension for each digit, slowest first."""
    threads = [mode.size for mode in reversed(fragment.threads)]
    regs = [mode.size for mode in reversed(fragment.regs)]
    return values.reshape(*threads, *regs)


def _modes(fragment: Fragment) -> list[Mode]:
    """The mode of each dimension of `_digits`."""
    return [*reversed(fragment.threads), *reversed(fragment.regs)]


def _within_a_warp(
    group: ThreadGroup, fragment: Fragment, axis: int, what: str
) -> None:
    for weight, mode in fragment.thread_digits():
        if mode.axis == axis and mode.size > 1 and weight * mode.size > group.lanes:
            group.fault("layout", f"a {what} along axis {axis} leaves the warp")


def _reduce(group: ThreadGroup, op: o.Reduce) -> Array:
    source = layout_of(group, op.src)
    _within_a_warp(group, source, op.axis, "reduction")
    values = _digits(source, compute(group.get(op.src), op.src.dtype))
    modes = _modes(source)
    along = tuple(i for i, mode in enumerate(modes) if mode.axis == op.axis)
    match op.fn:
        case "sum":
            result = values.sum(axis=along, keepdims=True, dtype=values.dtype)
        case "prod":
            result = values.prod(axis=along, keepdims=True, dtype=values.dtype)
        case "max" | "min":
            result = extreme(op.fn, values, along)
        case "argmax" | "argmin":
            found = extreme(op.fn.removeprefix("arg"), values, along)
            coords = _digits(source, source.table()[:, :, op.axis])
            # The extreme is NaN only if a value is.
            wanted = (values == found) | ((values != values) & (found != found))
            places = np.where(wanted, coords, source.shape[op.axis])
            result = places.min(axis=along, keepdims=True)
        case _:
            raise ValueError(f"no reduction is called {op.fn}")
    return _without(group, op, source, result)


def _rows_along(
    group: ThreadGroup, tile: o.Tile, axis: int
) -> tuple[Array, list[int], list[int]]:
    """[rows, n] of a tile; sizes and order of the digits, the axis last."""
    source = layout_of(group, tile)
    modes = _modes(source)
    along = [i for i, mode in enumerate(modes) if mode.axis == axis]
    along.sort(key=lambda i: -modes[i].step)
    order = [i for i in range(len(modes)) if i not in along] + along
    turned = _digits(source, compute(group.get(tile), tile.dtype)).transpose(order)
    rows = turned.reshape(-1, source.shape[axis])
    return rows, [modes[i].size for i in order], order


def _extracted(group: ThreadGroup, op: o.Extract) -> bool | int | float:
    """The one element, of which every thread holds a copy."""
    copies = compute(group.get(op.src), op.src.dtype)
    if (to_bits(copies, op.src.dtype) != to_bits(copies[:1], op.src.dtype)).any():
        group.fault("layout", f"threads hold different values of {op.src!r}")
    return copies[0, 0].item()


def _sorted(group: ThreadGroup, op: o.Sort) -> Array:
    _within_a_warp(group, layout_of(group, op.src), op.axis, "sort")
    rows, sizes, order = _rows_along(group, op.src, op.axis)
    back = in_order(op, rows).reshape(sizes).transpose(np.argsort(order))
    return rounded(back.reshape(group.threads, -1), op.result.dtype)


def _combined(group: ThreadGroup, op: o.Combining) -> Array:
    source = layout_of(group, op.srcs[0])
    _within_a_warp(group, source, op.axis, "scan")
    modes = _modes(source)
    rows: list[Array] = []
    for tile in op.srcs:
        if not layout_of(group, tile).same_as(source):
            group.fault("layout", f"{tile!r} lies otherwise than {op.srcs[0]!r}")
        rows.append(_rows_along(group, tile, op.axis)[0])
    _, sizes, order = _rows_along(group, op.srcs[0], op.axis)
    found = scanned(op, rows)
    if isinstance(op, o.Scan):
        back = found.reshape(sizes).transpose(np.argsort(order))
        return rounded(back.reshape(group.threads, -1), op.result.dtype)
    kept = [1 if modes[i].axis == op.axis else modes[i].size for i in order]
    last = found[:, -1].reshape(kept).transpose(np.argsort(order))
    return _without(group, op, source, last)


def _without(
    group: ThreadGroup, op: o.Combining | o.Reduce, source: Fragment, last: Array
) -> Array:
    """What is left of digits when an axis is gone: all lanes along it get the same."""
    modes = _modes(source)
    shape = [
        1 if mode.axis == op.axis and i >= len(source.threads) else mode.size
        for i, mode in enumerate(modes)
    ]
    spread = np.broadcast_to(last, shape).reshape(group.threads, -1)
    sliced = source.slice(op.axis)
    wanted = layout_of(group, op.result)
    registers = wanted.register_map(sliced, tuple(range(sliced.rank)))
    if registers is None:
        group.fault("layout", f"{op.result!r} is not where a reduction leaves it")
        return group.poison(op.result)
    return rounded(spread, op.result.dtype)[:, registers]
