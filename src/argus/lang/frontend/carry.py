"""What loops and branches carry: variables and ring counters, leaf by leaf.

A variable is opened before the body (tiles become loop arguments, numbers become
symbols) and closed after it. A plan remembers across readings of the same body what was
learnt: names of axes, which leaves do not change, which numbers may be negative.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.diagnostics import ArgusError, Span
from argus.ir.expr import Const, Expr, Sym, binary, nonnegative
from argus.ir.memory import Ring
from argus.ir.ops import (
    ScalarCarry,
    ScalarMerge,
    Tile,
    TileCarry,
    TileMerge,
)
from argus.lang.frontend.broadcast import unify_dims
from argus.lang.frontend.state import Dims, Elaborator
from argus.lang.frontend.values import (
    ScalarValue,
    SlotMode,
    SlotValue,
    StaticValue,
    TileValue,
    TupleValue,
    Unavailable,
    Value,
    describe,
    number,
)

BROKEN = Unavailable()
Path = tuple[str | int, ...]


@dataclass(eq=False)
class CarryPlan:
    """What is known about the leaves of a loop, by path (variable, index, ...)."""

    dims: dict[Path, Dims] = field(default_factory=dict[Path, Dims])
    fixed: set[Path] = field(default_factory=set[Path])
    signed: set[Path] = field(default_factory=set[Path])
    floats: set[Path] = field(default_factory=set[Path])
    changed: bool = False


@dataclass(frozen=True, slots=True)
class OpenTile:
    """A carried tile."""

    init: Tile
    arg: Tile


@dataclass(frozen=True, slots=True)
class OpenScalar:
    """A carried number. ``static``: it was a static one before the loop."""

    init: Expr
    arg: Sym
    static: bool


@dataclass(frozen=True, slots=True)
class OpenSlot:
    """A carried slot: its counter."""

    ring: Ring
    mode: SlotMode
    n: OpenScalar | Expr


@dataclass(frozen=True, slots=True)
class OpenTuple:
    """A carried tuple: its items."""

    items: tuple[Open, ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    """Not carried: it must come out of the body as it went in."""

    value: Value


Open = OpenTile | OpenScalar | OpenSlot | OpenTuple | Fixed


def open_value(
    e: Elaborator, plan: CarryPlan, path: Path, value: Value
) -> tuple[Value, Open]:
    """The value of a variable inside the body, and what is to be closed after it."""
    if path in plan.fixed:
        return value, Fixed(value)
    name = str(path[0])
    match value:
        case TileValue(tile=t):
            dims = plan.dims.get(path, t.dims)
            arg = Tile(t.dtype, t.shape, dims, t.span, name=name)
            return TileValue(arg), OpenTile(t, arg)
        case ScalarValue(expr=expr):
            opened = _open_scalar(e, plan, path, expr, static=False)
            return ScalarValue(opened.arg), opened
        case StaticValue(value=bool() | int() | float() as v):
            init = Const(float(v)) if path in plan.floats else Const(v)
            opened = _open_scalar(e, plan, path, init, static=True)
            return ScalarValue(opened.arg), opened
        case SlotValue(ring=ring, n=n, mode=mode):
            opened = _open_scalar(e, plan, path, n, static=False)
            return SlotValue(ring, opened.arg, mode), OpenSlot(ring, mode, opened)
        case TupleValue(items=items):
            pairs = [
                open_value(e, plan, (*path, i), item) for i, item in enumerate(items)
            ]
            inside = TupleValue(tuple(v for v, _ in pairs))
            return inside, OpenTuple(tuple(o for _, o in pairs))
        case _:
            return value, Fixed(value)


def _open_scalar(
    e: Elaborator, plan: CarryPlan, path: Path, init: Expr, *, static: bool
) -> OpenScalar:
    nonneg = nonnegative(init) and path not in plan.signed
    name = e.fresh(str(path[0]))
    return OpenScalar(init, Sym(name, "let", init.type, nonneg=nonneg), static)


@dataclass(eq=False)
class Closed:
    """The carries of a loop, and the values of its variables after it."""

    tiles: list[TileCarry] = field(default_factory=list[TileCarry])
    scalars: list[ScalarCarry] = field(default_factory=list[ScalarCarry])


def close_value(
    e: Elaborator,
    plan: CarryPlan,
    path: Path,
    opened: Open,
    value: Value,
    span: Span,
    out: Closed,
) -> Value:
    """Add the carries of one variable to `out`; its value after the loop.

    Raises ArgusError (AG0109) where the body changes the type of the variable.
    """
    match opened, value:
        case OpenTile(), TileValue(tile=t):
            return _close_tile(e, plan, path, opened, t, span, out)
        case OpenScalar(), ScalarValue() | StaticValue(value=bool() | int() | float()):
            expr = value.expr if isinstance(value, ScalarValue) else _const(value)
            return number(_close_scalar(e, plan, path, opened, expr, span, out))
        case OpenSlot(ring=ring, mode=mode, n=OpenScalar() as n), SlotValue() if (
            value.ring is ring and value.mode == mode
        ):
            after = _close_scalar(e, plan, path, n, value.n, span, out)
            return SlotValue(ring, after, mode)
        case OpenTuple(items=items), TupleValue(items=values) if len(items) == len(
            values
        ):
            return TupleValue(
                tuple(
                    close_value(e, plan, (*path, i), o, v, span, out)
                    for i, (o, v) in enumerate(zip(items, values, strict=True))
                )
            )
        case Fixed(value=before), _ if before == value:
            return value
        case _:
            before = opened.value if isinstance(opened, Fixed) else _inside(opened)
            raise _type_change(e, path, before, value, span)


def _const(value: StaticValue) -> Expr:
    v = value.value
    return Const(v) if isinstance(v, bool | int | float) else Const(0)


def _inside(opened: Open) -> Value:
    match opened:
        case OpenTile(arg=arg):
            return TileValue(arg)
        case OpenScalar(arg=arg):
            return ScalarValue(arg)
        case OpenSlot(ring=ring, mode=mode):
            return SlotValue(ring, Const(0), mode)
        case OpenTuple(items=items):
            return TupleValue(tuple(_inside(i) for i in items))
        case Fixed(value=value):
            return value


def _type_change(
    e: Elaborator, path: Path, before: Value, after: Value, span: Span
) -> ArgusError:
    return e.fail(
        "AG0109",
        span,
        f"`{path[0]}` is {describe(before)} before the body of the loop and "
        f"{describe(after)} after it",
        notes=("a variable that a loop carries keeps its type and its shape",),
        help=_begun_as(path, before, after),
    )


def _begun_as(path: Path, before: Value, after: Value) -> str | None:
    """How a variable begins that a loop makes a tile of; None where it is no number."""
    if not isinstance(after, TileValue) or isinstance(before, TileValue):
        return None
    if not isinstance(before, StaticValue | ScalarValue):
        return None
    tile = after.tile
    made = f"ag.full({tuple(tile.shape)}, value, {tile.dtype.name})"
    return f"before the loop, begin with a tile: `{path[0]} = {made}`"


def _close_tile(
    e: Elaborator,
    plan: CarryPlan,
    path: Path,
    opened: OpenTile,
    t: Tile,
    span: Span,
    out: Closed,
) -> Value:
    arg = opened.arg
    if t is arg:
        plan.fixed.add(path)
        plan.changed = True
        return TileValue(opened.init)
    if (t.dtype, t.shape) != (arg.dtype, arg.shape):
        raise _type_change(e, path, TileValue(arg), TileValue(t), span)
    if any(x and y and x != y for x, y in zip(arg.dims, t.dims, strict=True)):
        raise _type_change(e, path, TileValue(arg), TileValue(t), span)
    dims = unify_dims(e, arg.dims, t.dims, t.span, "AG0109")
    if dims != arg.dims:
        plan.dims[path] = dims
        plan.changed = True
    result = Tile(t.dtype, t.shape, dims, t.span, name=str(path[0]))
    out.tiles.append(TileCarry(opened.init, arg, t, result))
    return TileValue(result)


def _close_scalar(
    e: Elaborator,
    plan: CarryPlan,
    path: Path,
    opened: OpenScalar,
    expr: Expr,
    span: Span,
    out: Closed,
) -> Expr:
    arg = opened.arg
    if expr == arg or (opened.static and expr == opened.init):
        plan.fixed.add(path)
        plan.changed = True
        return opened.init
    if expr.type != arg.type:
        if (arg.type, expr.type) == ("int", "float") and opened.static:
            plan.floats.add(path)
            plan.changed = True
            return expr
        if (arg.type, expr.type) != ("float", "int"):
            raise _type_change(e, path, ScalarValue(arg), ScalarValue(expr), span)
        expr = binary("*", expr, 1.0)
    if arg.nonneg and not nonnegative(e.expand(expr)) and not nonnegative(expr):
        plan.signed.add(path)
        plan.changed = True
    result = Sym(e.fresh(str(path[0])), "let", arg.type, nonneg=arg.nonneg)
    out.scalars.append(ScalarCarry(opened.init, arg, expr, result))
    return result


def merge_value(
    e: Elaborator,
    name: str,
    then: Value,
    other: Value,
    span: Span,
    tiles: list[TileMerge],
    scalars: list[ScalarMerge],
) -> Value:
    """The value of a variable after a branch; what cannot be merged is unavailable."""
    if then == other:
        return then
    if BROKEN in (then, other):
        return BROKEN
    match then, other:
        case TileValue(tile=a), TileValue(tile=b) if (a.dtype, a.shape) == (
            b.dtype,
            b.shape,
        ):
            dims = unify_dims(e, a.dims, b.dims, span, "AG0110")
            made = Tile(a.dtype, a.shape, dims, span, name=name)
            tiles.append(TileMerge(a, b, made))
            return TileValue(made)
        case (
            (ScalarValue() | StaticValue(value=bool() | int() | float())),
            (ScalarValue() | StaticValue(value=bool() | int() | float())),
        ):
            x = then.expr if isinstance(then, ScalarValue) else _const(then)
            y = other.expr if isinstance(other, ScalarValue) else _const(other)
            if {x.type, y.type} == {"int", "float"}:
                x, y = _floats(x), _floats(y)
            if x.type == y.type:
                return number(merge_scalar(e, name, x, y, scalars))
        case SlotValue(), SlotValue() if (then.ring, then.mode) == (
            other.ring,
            other.mode,
        ):
            n = merge_scalar(e, name, then.n, other.n, scalars)
            return SlotValue(then.ring, n, then.mode)
        case TupleValue(items=xs), TupleValue(items=ys) if len(xs) == len(ys):
            return TupleValue(
                tuple(
                    merge_value(e, name, x, y, span, tiles, scalars)
                    for x, y in zip(xs, ys, strict=True)
                )
            )
        case (Unavailable() as missing, _) | (_, Unavailable() as missing):
            return missing
        case _:
            pass
    return Unavailable(
        "AG0110",
        f"`{name}` is {describe(then)} in one branch, {describe(other)} in the other",
    )


def _floats(x: Expr) -> Expr:
    return x if x.type == "float" else binary("*", x, 1.0)


def merge_scalar(
    e: Elaborator, name: str, then: Expr, other: Expr, scalars: list[ScalarMerge]
) -> Expr:
    """One symbol for a number that depends on the branch taken."""
    if then == other:
        return then
    nonneg = nonnegative(then) and nonnegative(other)
    result = Sym(e.fresh(name), "let", then.type, nonneg=nonneg)
    scalars.append(ScalarMerge(then, other, result))
    return result
