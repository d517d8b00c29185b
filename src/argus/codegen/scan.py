"""Scans and folds: within each thread, across the lanes of a warp, then over registers.

The lanes of a scan combine what the lanes before them have found over distances 1, 2,
4, ... (Hillis and Steele, "Data Parallel Algorithms", CACM 1986); those of a fold
exchange with a butterfly, of which the lower lane is always the left operand. So the
order of elements is kept, and functions need not be commutative, nor have a neutral
element.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from argus.codegen.code import TERNARY, CppExpression, binary, call, chosen, name
from argus.codegen.context import TID, Emission, Ints, RegisterIteration
from argus.codegen.errors import CodegenError
from argus.codegen.fusing import ROUNDED, rounded_steps
from argus.codegen.reduce import lanes_along, rows_across
from argus.codegen.registers import assign, at, read, scalar
from argus.codegen.storage import RegisterArray, layout_of
from argus.ir import ops as o
from argus.ir.combine import CombinationStep
from argus.ir.dtypes import DType, boolean
from argus.ir.expr import Const, Expr, lift
from argus.ir.functions import FUNCTIONS
from argus.ir.numerics import arithmetic, common
from argus.layout import Fragment

__all__ = ["alike", "combine"]

_State = list[str]
"""Names of the variables that hold a state."""
_Operand = CppExpression | int | float | bool


def alike(first: o.AnyOp, second: o.AnyOp) -> bool:
    """Whether two operations are parts of one scan or fold."""
    return (
        isinstance(first, o.Combining)
        and type(first) is type(second)
        and isinstance(second, o.Combining)
        and (first.srcs, first.axis) == (second.srcs, second.axis)
        and first.combine == second.combine
        and _reverse(first) == _reverse(second)
    )


def _reverse(op: o.Combining) -> bool:
    return isinstance(op, o.Scan) and op.reverse


def combine(cx: Emission, ops: Sequence[o.Combining]) -> None:
    """Parts of one scan or fold along an axis held by the lanes of one warp.

    Along the axis, the coordinate must run over registers, then lanes, then registers
    (what a coalesced layout does). Raises CodegenError otherwise.
    """
    _Combining(cx, ops).run()


@dataclass(frozen=True)
class _Lanes:
    """The lanes along the axis: ``digit`` of this one, thread distance, how many."""

    digit: CppExpression
    last: Expr
    weight: int
    width: int


class _Combining:
    def __init__(self, cx: Emission, ops: Sequence[o.Combining]) -> None:
        self.cx, self.ops, self.op = cx, ops, ops[0]
        self.types = [x.dtype for x in self.op.srcs]
        self.kinds = [arithmetic(x).register for x in self.types]
        self.sources = [cx.array(x) for x in self.op.srcs]
        self.layout = layout_of(self.op.srcs[0])
        for tile in self.op.srcs:
            if not layout_of(tile).same_as(self.layout):
                raise CodegenError(f"{tile!r} lies otherwise than {self.op.srcs[0]!r}")
        self.rounded = rounded_steps(self.op.combine)
        self.table = self._table()
        self.lanes = self._lanes()

    def _lanes(self) -> _Lanes:
        warp = self.cx.program.target.warp_threads
        digit, weight, width = _digit(self.layout, self.op.axis, warp)
        if width == 1:
            return _Lanes(name("0"), Const(0), weight, 1)
        lane = self.cx.thread_value(digit, "scan_lane")
        first = TID % warp - lane * weight
        last = first + (width - 1) * weight
        if _reverse(self.op):
            lane, last = width - 1 - lane, first
        return _Lanes(self.cx.code(lane), last, weight, width)

    def _table(self) -> Ints:
        """Registers [rows, rounds, registers of a round]."""
        layout, axis = self.layout, self.op.axis
        warp = self.cx.program.target.warp_threads
        _, _, width = _digit(layout, axis, warp)
        steps = [m.step for m in layout.threads if m.axis == axis and m.size > 1]
        below = min(steps) if steps else 1
        along, parts, rows = rows_across(layout, axis)
        outer = along // (below * width) if steps else along * 0
        keys = np.lexsort((along, outer, *reversed(parts)))
        rounds = len(np.unique(outer))
        table = keys.reshape(rows, rounds, -1)
        return table[:, ::-1, ::-1] if _reverse(self.op) else table

    def run(self) -> None:
        """Print a loop over the rows that a thread holds."""
        if isinstance(self.op, o.ScanTotal):
            self._fold()
        else:
            self._scan()

    # ------------------------------------------------------------------- both

    def _declared(
        self, stem: str, values: Sequence[CppExpression]
    ) -> tuple[_State, list[str]]:
        """Constants that hold a state."""
        names = [f"{stem}_{i}" for i in range(len(values))]
        kinds = zip(self.kinds, names, values, strict=True)
        return names, [f"const {kind} {x} = {v.bare};" for kind, x, v in kinds]

    def _variables(self, stem: str) -> tuple[_State, list[str]]:
        names = [f"{stem}_{i}" for i in range(len(self.kinds))]
        return names, [f"{k} {x};" for k, x in zip(self.kinds, names, strict=True)]

    def _met(self, into: _State, before: _State, after: _State) -> list[str]:
        """``into = combine(before, after)``; each may be any of the others."""
        lines: list[str] = []

        def apply(step: CombinationStep, args: list[_Operand]) -> _Operand:
            made = f"scan_t{len(lines)}"
            kind = arithmetic(step.dtype).register
            value = self._step(step, args, len(lines) in self.rounded)
            lines.append(f"const {kind} {made} = {value.bare};")
            return name(made)

        left: list[_Operand] = [name(x) for x in before]
        right: list[_Operand] = [name(x) for x in after]
        results = self.op.combine.run(left, right, lambda x: x, apply)
        values = [
            self._operand(x, dtype)
            for x, dtype in zip(results, self.types, strict=True)
        ]
        if self.op.combine.single is not None:
            (line,) = lines
            return [f"{into[0]} = {line.split(' = ', 1)[1]}"]
        for i, x in enumerate(values):
            # What is assigned must not be a variable that is assigned before.
            if x.bare in (*before, *after):
                lines.append(f"const {self.kinds[i]} scan_r{i} = {x.bare};")
                values[i] = name(f"scan_r{i}")
        return _braces([*lines, *_assigned(into, values)])

    def _step(
        self, step: CombinationStep, args: list[_Operand], rounded: bool
    ) -> CppExpression:
        given = self.op.combine.operand_types(step, self.types)
        wide = common(step.fn, given, step.dtype)
        exact = rounded and not wide.encoded
        template = ROUNDED[wide.bits] if exact else FUNCTIONS[step.fn].spelling(wide)
        operands = [self._operand(x, wide) for x in args]
        return CppExpression(template.format(*(x.operand for x in operands)), TERNARY)

    def _operand(self, x: _Operand, dtype: DType) -> CppExpression:
        if isinstance(x, CppExpression):
            return x
        return scalar(self.cx, Const(x), boolean if isinstance(x, bool) else dtype)

    def _read(self, step: RegisterIteration, regs: Ints) -> list[CppExpression]:
        return [read(self.cx, array, step, regs) for array in self.sources]

    def _shuffled(
        self, mode: str, state: _State, by: CppExpression
    ) -> list[CppExpression]:
        return [call(f"argus_shfl_{mode}", name(x), by) for x in state]

    # ------------------------------------------------------------------- scan

    def _scan(self) -> None:
        targets = [(op.part, self.cx.array(op.result)) for op in self.ops]
        for op in self.ops:
            if not layout_of(op.result).same_as(self.layout):
                raise CodegenError(f"the scan of {op.srcs[0]!r} changes its layout")
        rows, rounds, _ = self.table.shape

        def body(step: RegisterIteration) -> list[str]:
            carry, lines = self._variables("scan_carry")
            if rounds == 1:
                lines = []
            for i in range(rounds):
                own = self.table[step.values][:, i]
                inner = self._round(step, own, targets, carry if i else None)
                if i + 1 < rounds:
                    inner += self._carried(carry, i == 0)
                lines += _braces(inner)
            return lines

        self.cx.loop(rows, body)

    def _carried(self, carry: _State, first: bool) -> list[str]:
        """What the next round begins with: the last lane's sum, after the carry."""
        total = [f"scan_sum_{i}" for i in range(len(self.kinds))]
        if self.lanes.width == 1:
            lines: list[str] = []
            names = total
        else:
            last = self.cx.code(self.cx.thread_value(self.lanes.last, "scan_last"))
            shuffled = self._shuffled("idx", total, last)
            names, lines = self._declared("scan_total", shuffled)
        if first:
            return [*lines, *_assigned(carry, map(name, names))]
        return [*lines, *self._met(carry, carry, names)]

    def _round(
        self,
        step: RegisterIteration,
        own: Ints,
        targets: list[tuple[int, RegisterArray]],
        carry: _State | None,
    ) -> list[str]:
        """One register block of a row: in the thread, across lanes, with the carry."""
        held, lines = self._in_thread(step, own)
        total, declared = self._variables("scan_sum")
        lines += declared
        lines += [
            assign(name(x), name(y)) for x, y in zip(total, held[-1], strict=True)
        ]
        digit, weight, width = self.lanes.digit, self.lanes.weight, self.lanes.width
        distance, mode = 1, "down" if _reverse(self.op) else "up"
        while distance < width:
            by = name(str(distance * weight))
            up, shuffled = self._declared("scan_up", self._shuffled(mode, total, by))
            inner = self._met(total, up, total)
            far = binary(">=", digit, name(str(distance))).bare
            lines += ["{", *(f"  {x}" for x in shuffled)]
            lines += [f"  if ({far}) {{", *(f"    {x}" for x in inner), "  }", "}"]
            distance *= 2
        base = carry
        if width > 1:
            before = self._shuffled(mode, total, name(str(weight)))
            below, shuffled = self._declared("scan_below", before)
            lines += shuffled
            inside = binary(">", digit, name("0"))
            if carry is None:
                lines.append(f"if ({inside.bare}) {{")
                for state in held:
                    lines += [f"  {x}" for x in self._met(state, below, state)]
                lines.append("}")
            else:
                base, declared = self._variables("scan_base")
                lines += [*declared, *self._met(base, carry, below)]
                for x, y in zip(base, carry, strict=True):
                    kept = chosen(inside, name(x), name(y))
                    lines.append(assign(name(x), kept))
        if base is not None:
            for state in held:
                lines += self._met(state, base, state)
        for i, state in enumerate(held):
            for part, array in targets:
                place = at(self.cx, array, step, own[:, i])
                lines.append(assign(place, name(state[part])))
        return lines

    def _in_thread(
        self, step: RegisterIteration, own: Ints
    ) -> tuple[list[_State], list[str]]:
        """States after each register of a thread."""
        held: list[_State] = []
        lines: list[str] = []
        for i in range(own.shape[1]):
            state, declared = self._variables(f"scan_v{i}")
            lines += declared
            values = self._read(step, own[:, i])
            lines += _assigned(state, values)
            if held:
                lines += self._met(state, held[-1], state)
            held.append(state)
        return held, lines

    # ------------------------------------------------------------------- fold

    def _fold(self) -> None:
        targets: list[tuple[int, RegisterArray, Ints]] = []
        axis = self.op.axis
        axes = tuple(i if i < axis else i + 1 for i in range(self.layout.rank - 1))
        for op in self.ops:
            found = self.layout.register_map(layout_of(op.result), axes)
            if found is None:
                raise CodegenError(f"the fold of {op.srcs[0]!r} lies in other threads")
            targets.append((op.part, self.cx.array(op.result), found))
        rows, rounds, _ = self.table.shape

        def body(step: RegisterIteration) -> list[str]:
            total, lines = self._variables("scan_total")
            for i in range(rounds):
                own = self.table[step.values][:, i]
                one, inner = self._folded(step, own)
                if i == 0:
                    inner += _assigned(total, map(name, one))
                else:
                    inner += self._met(total, total, one)
                lines += _braces(inner)
            for part, array, found in targets:
                regs = found[self.table[step.values][:, 0, 0]]
                lines.append(assign(at(self.cx, array, step, regs), name(total[part])))
            return lines

        self.cx.loop(rows, body)

    def _folded(self, step: RegisterIteration, own: Ints) -> tuple[_State, list[str]]:
        """A register block of a row: in the thread, then across the lanes."""
        total, lines = self._variables("scan_sum")
        for i in range(own.shape[1]):
            values = self._read(step, own[:, i])
            if i == 0:
                lines += [
                    assign(name(x), v) for x, v in zip(total, values, strict=True)
                ]
                continue
            after, declared = self._declared("scan_v", values)
            inner = [*declared, *self._met(total, total, after)]
            lines += _braces(inner)
        bit = 1
        while bit < self.lanes.width:
            mask = name(str(bit * self.lanes.weight))
            found = self._shuffled("xor", total, mask)
            other, inner = self._declared("scan_other", found)
            upper = binary("&", self.lanes.digit, name(str(bit)))
            pairs = [(name(x), name(y)) for x, y in zip(other, total, strict=True)]
            lower = [chosen(upper, x, y) for x, y in pairs]
            low, first = self._declared("scan_low", lower)
            higher = [chosen(upper, y, x) for x, y in pairs]
            high, second = self._declared("scan_high", higher)
            inner += [*first, *second, *self._met(total, low, high)]
            lines += _braces(inner)
            bit *= 2
        return total, lines


def _assigned(into: _State, values: Iterable[CppExpression]) -> list[str]:
    return [assign(name(x), v) for x, v in zip(into, values, strict=True)]


def _braces(lines: Sequence[str]) -> list[str]:
    return ["{", *(f"  {x}" for x in lines), "}"]


def _digit(layout: Fragment, axis: int, warp: int) -> tuple[Expr, int, int]:
    """Which of the lanes along an axis a thread is, their distance, and how many.

    Raises CodegenError where they are not adjacent, or not in order.
    """
    lanes = lanes_along(layout, axis, warp)
    weight = lanes[0][0] if lanes else 1
    width = 1
    for lane_weight, size in lanes:
        if lane_weight != weight * width:
            raise CodegenError("the lanes along a scan are not adjacent")
        width *= size
    steps = [m.step for m in layout.threads if m.axis == axis and m.size > 1]
    if steps and max(steps) * lanes[-1][1] != min(steps) * width:
        raise CodegenError("the lanes along a scan are not in order")
    return lift(TID) // weight % width, weight, width
