"""Sorts by a bitonic network over the registers and lanes that hold an axis.

K. E. Batcher, "Sorting networks and their applications", AFIPS 1968. An element travels
with its index, which decides between equal ones: so the order is total, and the result
is stable, although the network is not. In stage (k, j) the elements c and c ^ j are
compared, upwards where c & k is 0; a bit of c is one of a register or of a lane.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from argus.codegen.code import call, name
from argus.codegen.context import Emission, RegisterIteration
from argus.codegen.errors import CodegenError
from argus.codegen.reduce import lanes_along, rows_across
from argus.codegen.registers import assign, at, read
from argus.codegen.storage import layout_of
from argus.ir import ops as o

__all__ = ["alike", "sort"]


def alike(first: o.AnyOp, second: o.AnyOp) -> bool:
    """Whether two operations are values and indices of one sort."""
    if not isinstance(first, o.Sort) or not isinstance(second, o.Sort):
        return False
    return (first.src, first.axis, first.descending) == (
        second.src, second.axis, second.descending,
    )  # fmt: skip


def sort(cx: Emission, ops: Sequence[o.Sort]) -> None:
    """Values and indices of one sort, along an axis held by the lanes of one warp.

    Raises CodegenError where the axis leaves the warp, or is no power of two.
    """
    op = ops[0]
    layout = layout_of(op.src)
    for one in ops:
        if not layout.same_as(layout_of(one.result)):
            raise CodegenError(f"the sort of {op.src!r} changes its layout")
    extent = op.src.shape[op.axis]
    lanes = lanes_along(layout, op.axis, cx.program.target.warp_threads)
    modes = [m for m in layout.threads if m.axis == op.axis and m.size > 1]
    masks = {
        mode.step << bit: weight << bit
        for (weight, size), mode in zip(lanes, modes, strict=True)
        for bit in range(size.bit_length() - 1)
    }
    along, parts, rows = rows_across(layout, op.axis)
    table = np.lexsort((along, *reversed(parts))).reshape(rows, -1)
    places = [int(x) for x in along[table[0]]]
    bits = {1 << b for b in range(extent.bit_length() - 1)}
    held = bits - set(masks)
    if extent & (extent - 1) or len(places) != 1 << len(held):
        raise CodegenError(f"axis {op.axis} of {op.src!r} is not sorted by a network")
    source, dtype = cx.array(op.src), op.src.dtype
    thread = cx.coordinate(op.src.dims, layout, op.axis)
    own = cx.code(cx.thread_value(thread, "sort_lane"))
    network = _Network(dtype.is_float, op.descending, dtype.register, own.operand)

    def body(step: RegisterIteration) -> list[str]:
        lines: list[str] = []
        for i, place in enumerate(places):
            value = read(cx, source, step, table[step.values][:, i])
            lines.append(f"{dtype.register} sort_v{i} = {value.bare};")
            lines.append(f"int sort_i{i} = {own.operand} + {place};")
        lines += network.stages(extent, places, masks)
        for one in ops:
            array, stem = cx.array(one.result), "i" if one.indices else "v"
            for i in range(len(places)):
                target = at(cx, array, step, table[step.values][:, i])
                lines.append(assign(target, name(f"sort_{stem}{i}")))
        return lines

    cx.loop(rows, body)


class _Network:
    def __init__(self, floats: bool, descending: bool, kind: str, own: str) -> None:
        self.floats, self.kind, self.own = floats, kind, own
        self.sign = ">" if descending else "<"
        self.descending = descending

    def precedes(self, a: str, i: str, b: str, j: str) -> str:
        """Whether one element comes before another one."""
        before, same = f"{a} {self.sign} {b}", f"{a} == {b}"
        if self.floats:
            first, second = (a, b) if self.descending else (b, a)
            before = f"({before} || ({first} != {first} && {second} == {second}))"
            same = f"({same} || ({a} != {a} && {b} != {b}))"
        return f"({before} || ({same} && {i} < {j}))"

    def stages(
        self, extent: int, places: list[int], masks: dict[int, int]
    ) -> list[str]:
        """All stages on ``sort_v*`` and ``sort_i*``."""
        lines: list[str] = []
        k = 2
        while k <= extent:
            j = k // 2
            while j >= 1:
                for i, place in enumerate(places):
                    up = self._clear(k, place, extent, masks)
                    if j in masks:
                        lines += self._across(i, j, masks[j], up)
                    elif not place & j:
                        lines += self._within(i, places.index(place | j), up)
                j //= 2
            k *= 2
        return lines

    def _clear(self, k: int, place: int, extent: int, masks: dict[int, int]) -> str:
        """Whether bit k of an element's coordinate is 0."""
        if k == extent:
            return "true"
        if k in masks:
            return f"({self.own} & {k}) == 0"
        return "false" if place & k else "true"

    def _within(self, a: int, b: int, up: str) -> list[str]:
        later = self.precedes(f"sort_v{b}", f"sort_i{b}", f"sort_v{a}", f"sort_i{a}")
        return [
            f"if ({later} == ({up})) {{",
            f"  const {self.kind} sort_v = sort_v{a};",
            f"  const int sort_i = sort_i{a};",
            f"  sort_v{a} = sort_v{b};",
            f"  sort_i{a} = sort_i{b};",
            f"  sort_v{b} = sort_v;",
            f"  sort_i{b} = sort_i;",
            "}",
        ]

    def _across(self, a: int, j: int, mask: int, up: str) -> list[str]:
        value = call("argus_shfl_xor", name(f"sort_v{a}"), name(str(mask)))
        index = call("argus_shfl_xor", name(f"sort_i{a}"), name(str(mask)))
        first = self.precedes("sort_v", "sort_i", f"sort_v{a}", f"sort_i{a}")
        lower = f"(({self.own} & {j}) == 0)"
        return [
            "{",
            f"  const {self.kind} sort_v = {value.bare};",
            f"  const int sort_i = {index.bare};",
            f"  if ({first} == ({lower} == ({up}))) {{",
            f"    sort_v{a} = sort_v;",
            f"    sort_i{a} = sort_i;",
            "  }",
            "}",
        ]
