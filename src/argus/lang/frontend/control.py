"""Loops and branches: those that the frontend unrolls, and those that run on the GPU.

The body of a run-time loop is read several times: until the names of carried axes, and
what is carried at all, no longer change. Each reading starts from the same state.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from argus.diagnostics import Span
from argus.ir.divisors import define
from argus.ir.expr import Const, Expr, Sym, divisor, nonnegative
from argus.ir.ops import Block, For, If, ScalarMerge, TileMerge
from argus.lang.frontend import coerce
from argus.lang.frontend.calling import bound_call, called
from argus.lang.frontend.calls import BoundCall
from argus.lang.frontend.carry import (
    BROKEN,
    CarryPlan,
    Closed,
    Open,
    OpenScalar,
    close_value,
    merge_scalar,
    merge_value,
    open_value,
)
from argus.lang.frontend.expressions import static_truth
from argus.lang.frontend.grid import LoopHead, loop_head
from argus.lang.frontend.liveness import assigned, stores
from argus.lang.frontend.state import MAX_READINGS, MAX_UNROLL, Elaborator
from argus.lang.frontend.values import (
    Builtin,
    ScalarValue,
    SlotMode,
    StaticValue,
    TileValue,
    TupleValue,
    Unavailable,
    Value,
    counted,
    describe,
    number,
)

_UNKEPT = Unavailable(
    "AG0102",
    "the loop does not keep this variable, because only an annotation reads it",
    "put the annotation after the assignment, inside the loop",
)

LOOPS = ("range", "static_range", "persistent", "persistent_tiles")


def run_for(e: Elaborator, node: ast.For) -> None:
    """Read a `for` statement.

    Raises ArgusError: not a loop of the language (AG0006), `else` (AG0003), and what
    its body raises where that is not collected.
    """
    if node.orelse:
        raise e.fail("AG0003", e.span(node.orelse[0]), "`for` takes no `else`")
    what = "this"
    if isinstance(node.iter, ast.Call):
        function = called(e, node.iter)
        if isinstance(function, Builtin) and function.name in LOOPS:
            call = bound_call(e, function, node.iter)
            if function.name == "static_range":
                _unroll(e, node, _static_items(e, call))
            else:
                _runtime(e, node, loop_head(e, call))
            return
    elif isinstance(node.iter, ast.Tuple | ast.List | ast.Name | ast.Attribute):
        value = e.evaluate(node.iter)
        if isinstance(value, TupleValue):
            _unroll(e, node, list(value.items))
            return
        what = describe(value)
    raise e.fail(
        "AG0006",
        e.span(node.iter),
        f"{what} cannot be iterated",
        help="loop over `ag.range(start, stop, step)` or `ag.static_range(n)`",
    )


def _static_items(e: Elaborator, call: BoundCall) -> list[Value]:
    def bound(name: str, default: int) -> int:
        if call.given(name) and isinstance(call.value(name), ScalarValue):
            raise e.fail(
                "AG0006",
                call.where(name),
                "a loop that is unrolled needs static bounds",
                label="known only at run time",
                help="use `ag.range` for a loop that runs on the GPU",
            )
        return call.int(name, default)

    start, stop, step = bound("start", 0), bound("stop", 0), bound("step", 1)
    if not call.given("stop"):
        start, stop = 0, start
    if step == 0:
        raise e.fail("AG0210", call.span, "a loop needs a step other than 0")
    items = range(start, stop, step)
    if abs(stop - start) // abs(step) > MAX_UNROLL:
        raise e.fail(
            "AG0515",
            call.span,
            f"the loop would be unrolled more than {MAX_UNROLL} times",
            help="use `ag.range` for a loop that runs on the GPU",
        )
    return [StaticValue(i) for i in items]


def _unroll(e: Elaborator, node: ast.For, items: list[Value]) -> None:
    for item in items:
        e.step(e.span(node))
        assign_target(e, node.target, item)
        e.execute(node.body)


def assign_target(e: Elaborator, target: ast.expr, value: Value) -> None:
    """Bind a name, or names of a tuple, to a value.

    Raises ArgusError: something else than names (AG0009), a wrong number of them
    (AG0111), or a name of the language (AG0019).
    """
    match target:
        case ast.Name(id=name):
            bind_name(e, name, value, target)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            span = e.span(target)
            if len(elts) == 1 and isinstance(value, ScalarValue | StaticValue):
                value = TupleValue((value,))  # `(i,) = ag.block(n)` and `i = ...`
            if not isinstance(value, TupleValue):
                raise e.fail("AG0111", span, f"{describe(value)} cannot be unpacked")
            if len(elts) != len(value.items):
                raise e.fail(
                    "AG0111",
                    span,
                    f"{counted(len(elts), 'name')} for "
                    f"{counted(len(value.items), 'value')}",
                )
            for item, part in zip(elts, value.items, strict=True):
                assign_target(e, item, part)
        case _:
            raise e.fail(
                "AG0009", e.span(target), "only names and tuples of names are assigned"
            )


def bind_name(e: Elaborator, name: str, value: Value, node: ast.expr) -> None:
    """Bind a variable; a tile without a name takes it, a scalar is named by a Let."""
    kind = e.scope.env.imports.get(name)
    if kind is not None:
        raise e.fail(
            "AG0019", e.span(node), f"`{name}` is a name of the language in this file"
        )
    match value:
        case TileValue(tile=t) if t.name == "t":
            t.name = name
        case ScalarValue(expr=expr):
            value = number(e.let(name, expr, e.span(node)))
        case _:
            pass
    e.scope.variables[name] = value


# ------------------------------------------------------------- run-time loops


@dataclass(frozen=True, slots=True)
class _Snapshot:
    variables: dict[str, Value]
    counters: dict[tuple[str, SlotMode], Expr]
    names: dict[str, int]
    sizes: tuple[int, ...]


def _lists(e: Elaborator) -> tuple[list[Any], ...]:
    p = e.program
    return (p.rings, p.shared, p.barriers, p.requirements, e.block_syncs)


def _snapshot(e: Elaborator) -> _Snapshot:
    return _Snapshot(
        dict(e.scope.variables),
        dict(e.counters),
        e.names_snapshot(),
        tuple(len(x) for x in _lists(e)),
    )


def _restore(e: Elaborator, before: _Snapshot) -> None:
    e.scope.variables = dict(before.variables)
    e.counters = dict(before.counters)
    e.names_restore(before.names)
    for items, size in zip(_lists(e), before.sizes, strict=True):
        del items[size:]


def _runtime(e: Elaborator, node: ast.For, head: LoopHead) -> None:
    plan = CarryPlan()
    before = _snapshot(e)
    for _ in range(MAX_READINGS):
        plan.changed = False
        guesses = e.guesses
        e.tentative += 1
        try:
            made = _read_body(e, node, head, plan)
        finally:
            e.tentative -= 1
        if not plan.changed and e.guesses == guesses:
            e.emit(made)
            return
        _restore(e, before)
        if not plan.changed:
            break
    e.emit(_read_body(e, node, head, plan))


def _read_body(e: Elaborator, node: ast.For, head: LoopHead, plan: CarryPlan) -> For:
    span = e.span(node)
    before = dict(e.scope.variables)
    counters = dict(e.counters)
    names = sorted(assigned(node.body) & before.keys() & e.scope.live.head[node])
    # Ordinary statements do not read these before they are assigned again; an
    # annotation might, and would see the value of another iteration.
    unkept = sorted((assigned(node.body) & before.keys()) - set(names))
    e.scope.variables.update(dict.fromkeys(unkept, _UNKEPT))
    opened: dict[str, Open] = {}
    for name in names:
        value = before[name]
        if not isinstance(value, Unavailable):
            e.scope.variables[name], opened[name] = open_value(e, plan, (name,), value)
    ring_counters: dict[tuple[str, SlotMode], Open] = {}
    for key, n in counters.items():
        path = (f"{key[0]}_{key[1]}", 0)
        inside, ring_counters[key] = open_value(e, plan, path, ScalarValue(n))
        e.counters[key] = inside.expr if isinstance(inside, ScalarValue) else n
    nonneg = nonnegative(head.start)
    name = node.target.id if isinstance(node.target, ast.Name) else head.name
    var = Sym(e.fresh(name), "loop", nonneg=nonneg)
    start, step = head.start, head.step
    define(
        e.program.facts,
        var.name,
        lambda known: min(divisor(start, known), divisor(step, known)),
        least=2,
    )
    body = Block()
    e.control += 1
    try:
        with e.into(body):
            assign_target(e, node.target, head.bind(e, var))
            e.execute(node.body)
    finally:
        e.control -= 1
    closed = Closed()
    after: dict[str, Value] = {}
    for name in sorted((assigned(node.body) | assigned([node])) - before.keys()):
        counter = name in stores(node.target)
        after[name] = Unavailable(
            "AG0102",
            f"`{name}` is given by a loop, which may run zero times"
            if counter
            else f"`{name}` is assigned only in a loop, which may run zero times",
            "use it inside the loop" if counter else "assign it before the loop too",
        )
    for name, one in opened.items():
        value = e.scope.variables.get(name, BROKEN)
        where = _last_assignment(e, node, name)
        after[name] = _close(e, plan, (name,), one, value, where, closed)
    after.update(dict.fromkeys(unkept, _UNKEPT))
    for name in assigned([node]) & before.keys():
        if name not in opened and name not in unkept:
            after[name] = Unavailable(
                "AG0102",
                f"`{name}` is assigned in a loop, which may run zero times",
                "use another name in the loop",
            )
    after_counters = dict(counters)
    for key, one in ring_counters.items():
        value = ScalarValue(e.counters[key])
        if isinstance(one, OpenScalar) and value.expr == one.arg:
            continue  # this loop does not use the ring
        path = (f"{key[0]}_{key[1]}", 0)
        match _close(e, plan, path, one, value, span, closed):
            case ScalarValue(expr=expr):
                after_counters[key] = expr
            case StaticValue(value=int() as n):
                after_counters[key] = Const(n)
            case _:
                pass
    for key, n in e.counters.items():
        after_counters.setdefault(key, n)
    e.scope.variables = {**before, **after}
    e.counters = after_counters
    return For(
        var,
        head.start,
        head.stop,
        head.step,
        body,
        closed.tiles,
        closed.scalars,
        head.unroll,
        span=span,
    )


def _last_assignment(e: Elaborator, node: ast.For, name: str) -> Span:
    """Where a loop's body last binds a name: what an error about it points at."""
    found: ast.expr = node.target
    for child in (c for stmt in node.body for c in ast.walk(stmt)):
        if (
            isinstance(child, ast.Name)
            and isinstance(child.ctx, ast.Store)
            and child.id == name
            and (child.lineno, child.col_offset) > (found.lineno, found.col_offset)
        ):
            found = child
    return e.span(found)


def _close(
    e: Elaborator,
    plan: CarryPlan,
    path: tuple[str | int, ...],
    opened: Open,
    value: Value,
    span: Span,
    out: Closed,
) -> Value:
    if value == BROKEN:
        return BROKEN
    if isinstance(value, Unavailable):
        return value
    made = Closed()
    with e.reporter.recover():
        result = close_value(e, plan, path, opened, value, span, made)
        out.tiles += made.tiles
        out.scalars += made.scalars
        return result
    return BROKEN


# ------------------------------------------------------------------ branches


def run_if(e: Elaborator, node: ast.If) -> Value | None:
    """Read an `if` statement; the value of a `return` in a branch taken statically.

    Raises ArgusError (AG0007) for a condition that differs between threads.
    """
    test = e.evaluate(node.test)
    decided = static_truth(test)
    if decided is not None:
        return e.execute(node.body if decided else node.orelse)
    span = e.span(node)
    cond = coerce.condition(e, test, e.span(node.test), "a condition")
    before, counters = dict(e.scope.variables), dict(e.counters)
    results: list[tuple[Block, dict[str, Value], dict[tuple[str, SlotMode], Expr]]] = []
    e.control += 1
    for body in (node.body, node.orelse):
        e.scope.variables, e.counters = dict(before), dict(counters)
        with e.into(Block()) as block:
            returned = e.execute(body)
        if returned is not None:
            e.control -= 1
            raise e.fail("AG0008", span, "`return` in a branch taken at run time")
        results.append((block, e.scope.variables, e.counters))
    e.control -= 1
    (then, then_vars, then_counts), (other, other_vars, other_counts) = results
    tiles: list[TileMerge] = []
    scalars: list[ScalarMerge] = []
    merged = dict(before)
    for name in sorted(assigned([node])):
        missing = Unavailable(
            "AG0102",
            f"`{name}` is assigned in one branch only",
            "assign it before the condition, or in both branches",
        )
        pair = (then_vars.get(name, missing), other_vars.get(name, missing))
        if name in e.scope.live.after[node]:
            merged[name] = merge_value(e, name, *pair, span, tiles, scalars)
        else:
            merged[name] = pair[0] if pair[0] == pair[1] else missing
    e.scope.variables = merged
    e.counters = {
        key: merge_scalar(
            e, f"{key[0]}_{key[1]}", then_counts.get(key, Const(0)),
            other_counts.get(key, Const(0)), scalars,
        )
        for key in {**then_counts, **other_counts}
    }  # fmt: skip
    e.emit(If(cond, then, other, tiles, scalars, span=span))
    return None
