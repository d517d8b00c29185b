"""What decides in a program: in scalar expressions, and element by element.

    nodes(e)               decisions within a scalar expression
    sides(e)               the two ways of one that gives a number
    element_choice(op, ..) the two ways of an element-wise operation

Each way is an expression over symbols and axes where it can be said so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, assert_never

import numpy as np

from argus.interpret.numbers import Array
from argus.ir import ops as o
from argus.ir.dtypes import boolean
from argus.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Select,
    Sym,
    binary,
    evaluate,
    select,
    symbols,
)
from argus.ir.functions import FUNCTIONS
from argus.ir.memory import GlobalView
from argus.ir.walk import expressions

__all__ = [
    "NOWHERE",
    "Probe",
    "Seen",
    "Ways",
    "axes_of",
    "element_choice",
    "expression",
    "first",
    "inverted",
    "last",
    "nodes",
    "sides",
    "value_of",
]

Env = dict[str, Any]
Ways = tuple[Expr | None, Expr | None]
Seen = tuple[Array, Array]
"""Where something turns out in the one way, and where in the other."""
NOWHERE: Seen = (np.array(False), np.array(False))
Probe = Callable[[Mapping[o.Tile, Array], Env], Seen]
Choice = tuple[Probe, tuple[str, str], Ways]
Test = Callable[[list[Any]], tuple[Any, Any]]

_COMPARED: Mapping[str, BinaryOp] = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_ARITHMETIC: Mapping[str, BinaryOp] = {
    **_COMPARED, "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%",
    "minimum": "min", "maximum": "max", "xor": "^",
}  # fmt: skip
_LOGIC: Mapping[str, BinaryOp] = {"and": "and", "or": "or"}
_ENDLESS = 1e29
"""Numbers that stand for infinity: no data are as large."""


# ------------------------------------------------------------------ scalar expressions


def first(op: o.AnyOp) -> tuple[Expr, ...]:
    """Expressions that are evaluated where an operation begins.

    Not those that name a slot of shared memory: which one, order shows.
    """
    match op:
        case o.LoadShared() | o.StoreShared() | o.Dot():
            return ()
        case o.CopyAsync():
            return _of_view(op.src)
        case o.CopyOut():
            return _of_view(op.dst)
        case o.For():
            return (op.start, op.stop, op.step, *(c.init for c in op.scalars))
        case o.If():
            return (op.cond,)
        case (
            o.Roles() | o.Binding() | o.RegisterOp() | o.Access() | o.Synchronisation()
            | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return expressions(op)
        case _:
            assert_never(op)


def _of_view(view: GlobalView) -> tuple[Expr, ...]:
    return (*view.coords, *(e for x in view.limits for e in (x.value, x.extent)))


def last(op: o.AnyOp) -> tuple[Expr, ...]:
    """Expressions that are evaluated after what an operation contains."""
    match op:
        case o.For():
            return tuple(c.yielded for c in op.scalars)
        case o.If():
            return tuple(e for m in op.scalars for e in (m.then, m.other))
        case (
            o.Roles() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
            | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return ()
        case _:
            assert_never(op)


def nodes(e: Expr) -> Iterator[Binary]:
    """Decisions within a scalar expression."""
    match e:
        case Binary():
            yield from nodes(e.left)
            yield from nodes(e.right)
            if e.type == "bool" or e.op in ("min", "max", "//", "%"):
                yield e
        case Select():
            for part in (e.cond, e.then, e.other):
                yield from nodes(part)
        case Const() | Sym():
            pass
        case _:
            assert_never(e)


def sides(e: Binary) -> tuple[tuple[Expr, Expr], tuple[str, str]] | None:
    """Conditions for the two ways of a number that is decided, and their names."""
    match e.op:
        case "min" | "max":
            return (
                (binary("<", e.left, e.right), binary(">", e.left, e.right)),
                (f"more than `{e.left}`", f"more than `{e.right}`")
                if e.op == "max"
                else (f"less than `{e.right}`", f"less than `{e.left}`"),
            )
        case "//" | "%":
            quotient = binary("//", e.left, e.right)
            return (
                (binary("!=", quotient, 0), binary("==", quotient, 0)),
                ("of a quotient but 0", "of a quotient 0"),
            )
        case "+" | "-" | "*" | "/" | "^" | "==" | "!=" | "<" | "<=" | ">" | ">=":
            return None
        case "and" | "or":
            return None
        case _:
            assert_never(e.op)


def inverted(e: Expr) -> Expr:
    """True where a condition is false."""
    return select(e, False, True) if not isinstance(e, Const) else Const(not e.value)


def axes_of(op: o.AnyOp, e: Expr) -> tuple[int, ...]:
    """Extents of the axes of the view that an expression belongs to."""
    if not any(s.kind == "axis" for s in symbols(e)):
        return ()
    match op:
        case o.LoadGlobal() | o.StoreGlobal():
            return op.view.shape
        case o.CopyAsync():
            return op.src.shape
        case o.CopyOut():
            return op.dst.shape
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.LoadShared()
            | o.StoreShared() | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return ()
        case _:
            assert_never(op)


def value_of(e: Expr, env: Env) -> Any:
    """A value; None where a symbol has none (axes, elements of tables)."""
    try:
        return evaluate(e, env)
    except (KeyError, ZeroDivisionError):
        return None


# ------------------------------------------------------------------ element by element


def expression(op: o.Elementwise, args: list[Expr | None]) -> Expr | None:
    """What an element-wise operation is of indices, sizes and scalars."""
    known = [a for a in args if a is not None]
    if len(known) < len(args):
        return None
    fn = op.fn
    if fn == "neg":
        return 0 - known[0]
    if fn == "not":
        return inverted(known[0])
    if fn == "where":
        return select(*known)
    if len(known) != 2:
        return None
    a, b = known
    if fn in _LOGIC and op.result.dtype == boolean:
        return binary(_LOGIC[fn], a, b)
    if fn in ("floordiv", "mod") and isinstance(b, Const) and b.value == 0:
        return None
    return binary(_ARITHMETIC[fn], a, b) if fn in _ARITHMETIC else None


def element_choice(op: o.Elementwise, args: list[Expr | None]) -> Choice | None:
    """How an element-wise operation can turn out, if it is one that decides.

    ``args``: what its arguments are of indices, sizes and scalars, None for data.
    """
    fn = op.fn
    made = expression(op, args)
    left, right = (args[0], args[1]) if len(args) == 2 else (None, None)
    if op.result.dtype == boolean and fn != "where":
        said = f"`{fn}` holds for some element", f"`{fn}` fails for some element"
        return _probe(op, _truth(fn)), said, (made, _maybe_not(made))
    if fn == "where":
        said = "its left side is chosen somewhere", "its right side is chosen somewhere"
        return _probe(op, _chosen), said, (args[0], _maybe_not(args[0]))
    integer = not op.result.dtype.is_float
    zero = _ways(made, "!=", Const(0)), _ways(made, "==", Const(0))
    if fn in ("minimum", "maximum"):
        said = "the left side is less somewhere", "the right side is less somewhere"
        return _probe(op, _order), said, (_less(left, right), _less(right, left))
    if fn in ("floordiv", "floor", "ceil", "round"):
        said = f"`{fn}` is not 0 somewhere", f"`{fn}` is 0 somewhere"
        return _probe(op, _zero(fn)), said, zero
    if fn == "mod":
        wraps = None if left is None else _ways(made, "!=", left)
        same = None if left is None else _ways(made, "==", left)
        said = "`mod` wraps somewhere", "`mod` changes nothing somewhere"
        return _probe(op, _wraps), said, (wraps, same)
    if fn == "mul" and any(_decides(a) for a in args if a is not None):
        if not integer and made is None:
            return None  # a mask times data: the mask has facets of its own
        said = "the product is not 0 somewhere", "the product is 0 somewhere"
        return _probe(op, _zero(fn)), said, zero
    if fn in ("and", "or", "xor"):
        said = f"`{fn}` is not 0 somewhere", f"`{fn}` is 0 somewhere"
        return _probe(op, _zero(fn)), said, zero
    if fn == "abs":
        said = "the argument is negative somewhere", "it is positive somewhere"
        below, above = (None, None) if args[0] is None else (
            binary("<", args[0], 0), binary(">", args[0], 0)
        )  # fmt: skip
        return _probe(op, _sign), said, (below, above)
    return None


def _probe(op: o.Elementwise, test: Test) -> Probe:
    """Look at what the arguments are."""

    def probe(tiles: Mapping[o.Tile, Array], env: Env) -> Seen:
        values = [
            tiles[a] if isinstance(a, o.Tile) else np.asarray(evaluate(a, env))
            for a in op.args
        ]
        with np.errstate(all="ignore"):
            there, other = test(values)
        return np.asarray(there), np.asarray(other)

    return probe


def _truth(fn: str) -> Test:
    def test(values: list[Any]) -> tuple[Any, Any]:
        there = np.asarray(FUNCTIONS[fn].numpy(*values)) != 0
        return there, ~there

    return test


def _zero(fn: str) -> Test:
    def test(values: list[Any]) -> tuple[Any, Any]:
        if fn == "floordiv":
            values = [values[0], _safe(values[1])]
        made = np.asarray(FUNCTIONS[fn].numpy(*values))
        return made != 0, made == 0

    return test


def _chosen(values: list[Any]) -> tuple[Any, Any]:
    there = np.asarray(values[0]) != 0
    return there, ~there


def _order(values: list[Any]) -> tuple[Any, Any]:
    return values[0] < values[1], values[0] > values[1]


def _wraps(values: list[Any]) -> tuple[Any, Any]:
    rest = values[0] % _safe(values[1])
    return rest != values[0], rest == values[0]


def _sign(values: list[Any]) -> tuple[Any, Any]:
    return values[0] < 0, values[0] > 0


def _safe(divisor: Any) -> Any:
    return np.where(np.asarray(divisor) == 0, 1, divisor)


def _decides(e: Expr) -> bool:
    """Whether an expression contains a decision."""
    return e.type == "bool" or any(True for _ in nodes(e))


def _ways(e: Expr | None, op: BinaryOp, other: Expr) -> Expr | None:
    return None if e is None else binary(op, e, other)


def _maybe_not(e: Expr | None) -> Expr | None:
    return None if e is None else inverted(e)


def _less(a: Expr | None, b: Expr | None) -> Expr | None:
    """Whether one side is less; nothing is less than what stands for -infinity."""
    if _constant(a) >= _ENDLESS or _constant(b) <= -_ENDLESS:
        return Const(False)
    return None if a is None or b is None else binary("<", a, b)


def _constant(e: Expr | None) -> float:
    return float(e.value) if isinstance(e, Const) else 0.0
