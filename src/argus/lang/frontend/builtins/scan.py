"""Scans and folds with a function of the author's."""

from __future__ import annotations

from argus.diagnostics import Span
from argus.ir.combine import Combination, CombinationStep, CombinationValue
from argus.ir.expr import Const, Expr
from argus.ir.numerics import accumulated
from argus.ir.ops import AnyOp, Block, Elementwise, Full, Scan, ScanTotal, Tile
from argus.lang.frontend import coerce
from argus.lang.frontend.broadcast import meet
from argus.lang.frontend.calls import HANDLERS, Arg, BoundCall, bind, builtin
from argus.lang.frontend.inlining import expand_inline
from argus.lang.frontend.state import Elaborator
from argus.lang.frontend.tiles import cast
from argus.lang.frontend.values import (
    Builtin,
    InlineValue,
    TileValue,
    TupleValue,
    Value,
    describe,
)

__all__ = ["combining", "reduce", "scan"]


@builtin("scan")
def scan(call: BoundCall) -> Value:
    """States after each element."""
    return _given(call, Scan)


@builtin("reduce")
def reduce(call: BoundCall) -> Value:
    """The state after all elements."""
    return _given(call, ScanTotal)


def _given(call: BoundCall, cls: type[Scan] | type[ScanTotal]) -> Value:
    e, where = call.e, call.where("x")
    several = isinstance(call.value("x"), TupleValue)
    tiles = [coerce.tile(e, x, where, "`x`").tile for x in call.items("x")]
    if not tiles:
        raise call.wrong("x", f"`ag.{call.name}` takes one tile or several")
    for t in tiles:
        if t.dtype.kind == "bool":
            raise e.fail("AG0107", where, f"`{call.name}` is not defined for bool")
    met, _, dims = meet(e, tiles, where)
    axis = coerce.axis_of(e, call.value("dim"), call.where("dim"), dims)
    tiles = [cast(e, t, accumulated("sum", t.dtype), call.span) for t in met]
    combine = _read(call, tiles)
    reverse = cls is Scan and call.flag("reverse", False)
    made = combining(e, cls, tiles, axis, combine, call.span, reverse)
    return TupleValue(made) if several else made[0]


def combining(
    e: Elaborator,
    cls: type[Scan] | type[ScanTotal],
    tiles: list[Tile],
    axis: int,
    combine: Combination,
    span: Span,
    reverse: bool = False,
) -> tuple[Value, ...]:
    """Emit a scan or fold of tiles of one shape, an operation for each part."""
    found: list[Value] = []
    for part, t in enumerate(tiles):
        shape, dims = t.shape, t.dims
        if cls is ScanTotal:
            shape = shape[:axis] + shape[axis + 1 :]
            dims = dims[:axis] + dims[axis + 1 :]
        result = e.tile(t.dtype, shape, dims, span)
        made = cls(result, tuple(tiles), axis, combine, part, span=span)
        if isinstance(made, Scan):
            made.reverse = reverse
        e.emit(made)
        found.append(TileValue(result))
    return tuple(found)


def _read(call: BoundCall, tiles: list[Tile]) -> Combination:
    """The author's function, called with tiles that stand for single numbers."""
    e, where = call.e, call.where("fn")
    states = [[e.tile(t.dtype, t.shape, t.dims, where) for t in tiles] for _ in "ab"]
    args = [Arg(TileValue(t), where) for state in states for t in state]
    block = Block([])
    with e.into(block):
        found = _called(call, args, where)
    results = found.items if isinstance(found, TupleValue) else (found,)
    if len(results) != len(tiles):
        given = "one number" if len(results) == 1 else f"{len(results)} numbers"
        raise e.fail(
            "AG0105",
            where,
            f"the function gives {given} for a state of {len(tiles)}",
            help="it takes two states and returns one: "
            "`fn(a0, a1, b0, b1)` returns a tuple of two",
        )
    names: dict[Tile, CombinationValue] = {
        t: f"{letter}{i}"
        for letter, state in zip("ab", states, strict=True)
        for i, t in enumerate(state)
    }
    steps: list[CombinationStep] = []
    for op in block.ops:
        _step(call, op, names, steps)
    ends: list[CombinationValue] = []
    for value, t in zip(results, tiles, strict=True):
        if not isinstance(value, TileValue) or value.tile not in names:
            raise e.fail(
                "AG0105", where, f"the function returns {describe(value)}, no tile"
            )
        if value.tile.dtype != t.dtype:
            raise e.fail(
                "AG0106",
                where,
                f"the function makes {value.tile.dtype} of {t.dtype}",
                help="a state keeps its element types; convert the tile before",
            )
        ends.append(names[value.tile])
    return Combination(tuple(steps), tuple(ends))


def _called(call: BoundCall, args: list[Arg], where: Span) -> Value:
    e, function = call.e, call.value("fn")
    match function:
        case InlineValue(declaration=declaration):
            return expand_inline(e, declaration, args, [], where)
        case Builtin(name=name) if name in ("maximum", "minimum"):
            return HANDLERS[name](bind(e, name, None, args, [], where))
        case _:
            raise call.wrong(
                "fn",
                f"`fn` is an `@ag.inline` function, `ag.maximum` or `ag.minimum`, and "
                f"this is {describe(function)}",
            )


def _step(
    call: BoundCall,
    op: AnyOp,
    names: dict[Tile, CombinationValue],
    steps: list[CombinationStep],
) -> None:
    """One operation of the function on single numbers."""

    def operand(x: Tile | Expr) -> CombinationValue:
        if isinstance(x, Tile) and x in names:
            return names[x]
        if isinstance(x, Const):
            return x.value
        raise call.e.fail(
            "AG0125",
            op.span,
            "the function of a scan depends on more than its arguments",
            help="what it needs is a part of the state, or a constant",
        )

    match op:
        case Full():
            names[op.result] = operand(op.value)
        case Elementwise():
            args = tuple(operand(x) for x in op.args)
            names[op.result] = f"t{len(steps)}"
            steps.append(CombinationStep(op.fn, op.result.dtype, args))
        case _:
            raise call.e.fail(
                "AG0125",
                op.span,
                "the function of a scan is more than arithmetic on single elements",
                help="use element-wise functions, `ag.where` and constants",
            )
