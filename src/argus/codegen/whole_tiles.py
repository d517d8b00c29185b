"""Whether a whole tile of a view exists: one test of a block instead of one for each.

A thread has seven predicates. Loads of which each has a condition of its own wait for
them, and are not in flight together: a running sum along rows of 32768 took 3527 us on
an H200 with 16 such loads in a step, and 2434 us where one branch of the block asks
whether the tile is whole, and loads without conditions if it is. In flight they all
need registers: only where a block leaves its threads as many as a thread can have.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from argus.codegen import expressions
from argus.codegen.addresses import needs_test, register_coordinates
from argus.codegen.code import CppExpression, binary, joined
from argus.codegen.context import Emission
from argus.codegen.expressions import literal
from argus.codegen.scalars import ScalarTypes
from argus.ir.expr import Binary, Const, Expr, Sym, axis, substitute, symbols
from argus.ir.memory import GlobalView
from argus.ir.ranges import I64, fits
from argus.isa.registers import at_launch
from argus.layout import Fragment

_PREDICATES = 7
"""Predicates of a thread, P0 to P6 (PTX ISA and nvdisasm of sm_90)."""


def whole_tile(
    cx: Emission, view: GlobalView, layout: Fragment, width: int
) -> CppExpression | None:
    """The condition that all elements of a tile exist, the same for all its threads.

    None where threads have few registers, where accesses of ``width`` elements have no
    more conditions than a thread has predicates, where the corners of the tile do not
    decide, and where no tile is whole.
    """
    program = cx.program
    registers = at_launch(program.warps, program.min_blocks, program.target)
    if registers < program.target.thread_registers:
        return None
    shape = {axis(a): n for a, n in enumerate(view.shape)}
    scalars = cx.scalars.among({s.name: (0, n - 1) for s, n in shape.items()})
    tested = [
        (value, extent)
        for value, extent in _bounds(view)
        if needs_test(value, extent, scalars)
    ]
    if _conditions(tested, layout, width) <= _PREDICATES:
        return None
    first: dict[str, Expr] = {s.name: Const(0) for s in shape}
    last: dict[str, Expr] = {s.name: Const(n - 1) for s, n in shape.items()}
    found: list[CppExpression] = []
    for value, extent in tested:
        if not _grows(value) or not _uniform(extent):
            return None
        low, high = substitute(value, first), substitute(value, last)
        for e in (low, high, extent):
            if not fits(cx.scalars.ranges.of(e), I64):
                return None
        if cx.scalars.ranges.of(high)[0] >= cx.scalars.ranges.of(extent)[1]:
            return None  # no tile is whole
        if cx.scalars.ranges.of(low)[0] < 0:
            found.append(binary(">=", _code(cx, low, scalars), literal(0)))
        found.append(binary("<", _code(cx, high, scalars), _code(cx, extent, scalars)))
    return joined("&&", list(dict.fromkeys(found)))


def _bounds(view: GlobalView) -> Iterator[tuple[Expr, Expr]]:
    """What is less than what, and not negative, for each element of a tile."""
    yield from zip(view.coords, view.tensor.shape, strict=True)
    for limit in view.limits:
        yield limit.value, limit.extent


def _code(cx: Emission, e: Expr, scalars: ScalarTypes) -> CppExpression:
    return expressions.code(e, cx.spell, scalars)


def _conditions(tested: list[tuple[Expr, Expr]], layout: Fragment, width: int) -> int:
    """How many conditions the accesses of a thread have that differ."""
    axes = {s for value, _ in tested for s in symbols(value) if s.kind == "axis"}
    parts = register_coordinates(layout)
    along = [parts[a][::width] for a in range(layout.rank) if axis(a) in axes]
    return len(np.unique(np.stack(along), axis=1).T) if along else 0


def _uniform(e: Expr) -> bool:
    """Whether it is the same for all elements of a tile."""
    return not any(s.kind in ("axis", "gather", "thread") for s in symbols(e))


def _grows(e: Expr) -> bool:
    """Whether it is known never to fall along an axis: corners have its extremes."""
    if _uniform(e):
        return True
    if not isinstance(e, Binary):
        return isinstance(e, Sym) and e.kind == "axis"
    left, right = e.left, e.right
    if e.op == "+":
        return _grows(left) and _grows(right)
    if e.op == "-":
        return _grows(left) and _uniform(right)
    steps = e.op in ("*", "//") and isinstance(right, Const) and right.value > 0
    return steps and _grows(left)
