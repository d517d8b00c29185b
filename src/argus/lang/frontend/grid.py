"""The grid: which block does which tiles, and the loops that hand them out.

Grouped order of a gm x gn grid of tiles, `group` rows at a time (columns inside a group
are walked down first, so that blocks that run together share rows of A and columns of B
in L2), for pid in 0 .. gm * gn - 1:

    per = group * gn;  g = pid // per;  first = g * group
    rows = min(gm - first, group);  at = pid % per
    bm = first + at % rows;  bn = at // rows

With clusters of c blocks, pid counts clusters, gm counts cluster rows, and a block has
row bm * c + its rank: it may be past the last one, where nothing exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from argus.diagnostics import Span
from argus.ir.expr import Const, Expr, Sym, binary, cdiv, symbols
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, SM_COUNT
from argus.lang.frontend import coerce, statics
from argus.lang.frontend.calls import BoundCall
from argus.lang.frontend.state import DeclaredGrid, Elaborator
from argus.lang.frontend.values import TupleValue, Value, number


@dataclass(frozen=True, slots=True)
class LoopHead:
    """A run-time loop before its body: bounds, and what its target is bound to."""

    name: str
    start: Expr
    stop: Expr
    step: Expr
    unroll: int
    bind: Callable[[Elaborator, Sym], Value]


def loop_head(e: Elaborator, call: BoundCall) -> LoopHead:
    """The head of `ag.range`, `ag.persistent` or `ag.persistent_tiles`.

    Raises ArgusError: a step that is not static and positive (AG0210), a second grid
    that differs from the first (AG0613).
    """
    match call.name:
        case "range":
            return _range(e, call)
        case "persistent":
            extents = _extents(e, call)
            work = _product(extents)
            return _persistent(e, call, work, lambda _, v: _digits(v, extents))
        case _:
            gm, gn = call.integer("gm"), call.integer("gn")
            group = call.positive("group", 8)
            work = binary("*", cdiv(gm, e.program.cluster), gn)
            return _persistent(
                e, call, work, lambda e, v: _grouped(e, v, gm, gn, group, call.span)
            )


def _range(e: Elaborator, call: BoundCall) -> LoopHead:
    start: Expr = call.integer("start")
    if call.given("stop"):
        stop: Expr = call.integer("stop")
    else:
        start, stop = Const(0), start
    step = 1
    if call.given("step"):
        step = call.int("step")
    if step < 1:
        raise e.fail(
            "AG0210", call.where("step"), f"a loop has a step of at least 1, not {step}"
        )
    unroll = call.int("unroll", 0)
    if not 0 <= unroll <= 1024:
        raise e.fail("AG0104", call.where("unroll"), "`unroll` is 0 to 1024")
    return LoopHead("k", start, stop, Const(step), unroll, lambda _, v: number(v))


def _persistent(
    e: Elaborator,
    call: BoundCall,
    work: Expr,
    bind: Callable[[Elaborator, Sym], Value],
) -> LoopHead:
    set_grid(e, work, persistent=True, span=call.span)
    c = e.program.cluster
    return LoopHead(
        "tile",
        binary("//", BLOCK_INDEX, c),
        work,
        binary("//", GRID_SIZE, c),
        0,
        bind,
    )


def set_grid(e: Elaborator, work: Expr, *, persistent: bool, span: Span) -> None:
    """Declare the grid, in clusters.

    Raises ArgusError: it depends on what a launch does not know (AG0105), or the kernel
    has another grid already (AG0613).
    """
    full = e.expand(work)
    odd = [s for s in symbols(full) if s.kind not in ("dim", "param", "sms")]
    if odd:
        raise e.fail(
            "AG0105",
            span,
            f"the grid depends on {origin(odd[0])}, which is not known at launch",
            notes=("it may depend on sizes and scalar arguments",),
        )
    made = DeclaredGrid(full, persistent, span)
    if e.grid is not None and (e.grid.work, e.grid.persistent) != (full, persistent):
        raise e.fail(
            "AG0613",
            span,
            "the kernel has another grid already",
            notes=(f"it was declared at line {e.grid.span.line}",),
        )
    e.grid = e.grid or made


def origin(sym: Sym) -> str:
    """What a run-time number is, in the words of a diagnostic."""
    match sym.kind:
        case "block":
            return "the index of the block"
        case "rank":
            return "the rank of the block in its cluster"
        case "loop":
            return f"the loop counter `{sym.name}`"
        case "let":
            return "a value that is loaded or computed on the device"
        case _:
            return f"`{sym.name}`"


def final_grid(e: Elaborator) -> Expr:
    """Number of blocks of the launch."""
    if e.grid is None:
        return Const(e.program.cluster)
    c = e.program.cluster
    units = e.grid.work
    if e.grid.persistent:
        resident = binary("*", SM_COUNT, e.program.min_blocks)
        units = binary("min", units, binary("//", resident, c))
    return binary("*", units, c)


def block_index(e: Elaborator, call: BoundCall) -> Value:
    """`ag.block(...)`: the index tuple of this block, the last index fastest."""
    extents = _extents(e, call)
    if e.program.cluster > 1:
        raise e.fail(
            "AG0613",
            call.span,
            "`ag.block` does not say how blocks form clusters",
            help="use `ag.block_tile` or a persistent loop",
        )
    set_grid(e, _product(extents), persistent=False, span=call.span)
    return _digits(BLOCK_INDEX, extents)


def _extents(e: Elaborator, call: BoundCall) -> list[Expr]:
    """Numbers of blocks or tiles; raises ArgusError if there are none (AG0104)."""
    what = "blocks" if call.name == "block" else "tiles"
    values = call.items("extents")
    if not values:
        text = f"`{call.name}` needs at least one number of {what}"
        raise e.fail("AG0104", call.span, text)
    return [coerce.integer(e, v, call.span, f"a number of {what}") for v in values]


def _product(extents: list[Expr]) -> Expr:
    total: Expr = Const(1)
    for extent in extents:
        total = binary("*", total, extent)
    return total


def _digits(place: Expr, extents: list[Expr]) -> Value:
    """The index tuple at a place in the order; a number where it is a single one."""
    indices: list[Expr] = []
    for extent in reversed(extents[1:]):
        indices.append(binary("%", place, extent))
        place = binary("//", place, extent)
    indices.append(place)
    values = [number(i) for i in reversed(indices)]
    return TupleValue(tuple(values)) if len(values) > 1 else values[0]


def block_tile(e: Elaborator, call: BoundCall) -> Value:
    """`ag.block_tile(gm, gn, group)`: this block's tile in grouped order."""
    gm, gn = call.integer("gm"), call.integer("gn")
    c = e.program.cluster
    work = binary("*", cdiv(gm, c), gn)
    set_grid(e, work, persistent=False, span=call.span)
    pid = binary("//", BLOCK_INDEX, c)
    return _grouped(e, pid, gm, gn, call.positive("group", 8), call.span)


def _grouped(
    e: Elaborator, pid: Expr, gm: Expr, gn: Expr, group: int, span: Span
) -> Value:
    c = e.program.cluster
    rows_total = cdiv(gm, c)
    group = max(group // c, 1)
    per = e.let("per_group", binary("*", gn, group), span)
    g = e.let("group", binary("//", pid, per), span)
    first = binary("*", g, group)
    # At least 1: pid < rows_total * gn, so that the group begins before the last row.
    rows = e.let(
        "group_rows", binary("min", binary("-", rows_total, first), group), span, True
    )
    at = e.let("in_group", binary("%", pid, per), span)
    bm = binary("+", first, binary("%", at, rows))
    bn = binary("//", at, rows)
    if c > 1:
        bm = binary("+", binary("*", bm, c), CLUSTER_RANK)
    return TupleValue((number(bm), number(bn)))


def ceiling(call: BoundCall) -> Value:
    """`ag.cdiv(a, b)`; raises ArgusError for a divisor that is not positive."""
    a, b = call.integer("a"), call.integer("b")
    if isinstance(b, Const) and b.value <= 0:
        raise call.e.fail(
            "AG0119", call.where("b"), f"`cdiv` divides by a positive number, not {b}"
        )
    return number(statics.divided(call.e, cdiv(a, b), b))
