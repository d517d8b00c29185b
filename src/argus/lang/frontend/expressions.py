"""Expressions: syntax to values. Names, literals, operators, attributes, calls."""

from __future__ import annotations

import ast

from argus.diagnostics import Span
from argus.ir.expr import Binary, BinaryOp, Expr, binary, select
from argus.lang.frontend import coerce, statics
from argus.lang.frontend.attributes import attribute
from argus.lang.frontend.calling import call
from argus.lang.frontend.calls import HANDLERS, Arg, bind
from argus.lang.frontend.indexing import subscript
from argus.lang.frontend.lookup import lookup
from argus.lang.frontend.shared import with_names
from argus.lang.frontend.state import Elaborator
from argus.lang.frontend.tiles import elementwise
from argus.lang.frontend.unsupported import unsupported
from argus.lang.frontend.values import (
    InlineValue,
    ScalarValue,
    SharedValue,
    StaticValue,
    TensorValue,
    TileValue,
    TupleValue,
    Value,
    ViewValue,
    describe,
    number,
)

_ARITHMETIC: dict[type[ast.operator], tuple[str, BinaryOp | None]] = {
    ast.Add: ("add", "+"),
    ast.Sub: ("sub", "-"),
    ast.Mult: ("mul", "*"),
    ast.Div: ("div", "/"),
    ast.FloorDiv: ("floordiv", "//"),
    ast.Mod: ("mod", "%"),
    ast.BitAnd: ("and", None),
    ast.BitOr: ("or", None),
    ast.BitXor: ("xor", "^"),
}
_INSTEAD: dict[type[ast.operator], str] = {
    ast.Pow: "write a product, or `ag.exp(y * ag.log(x))` of tiles; "
    "`ag.full((), x, f32)` makes a tile of a number",
    ast.LShift: "shift by a static number of bits, or shift a tile",
    ast.RShift: "shift by a static number of bits, or shift a tile",
}
_SHIFTS = {ast.LShift: ("shl", ast.Mult()), ast.RShift: ("shr", ast.FloorDiv())}
_COMPARE: dict[type[ast.cmpop], tuple[str, BinaryOp]] = {
    ast.Eq: ("eq", "=="),
    ast.NotEq: ("ne", "!="),
    ast.Lt: ("lt", "<"),
    ast.LtE: ("le", "<="),
    ast.Gt: ("gt", ">"),
    ast.GtE: ("ge", ">="),
}
_NEGATED: dict[BinaryOp, BinaryOp] = {
    "==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<",
}  # fmt: skip


def evaluate(e: Elaborator, node: ast.expr) -> Value:
    """The value of an expression; operations that it needs go to the current block.

    Raises ArgusError, and Cascade for a variable whose assignment has failed.
    """
    value = _evaluate(e, node)
    return with_names(value) if isinstance(value, SharedValue) else value


def _evaluate(e: Elaborator, node: ast.expr) -> Value:
    match node:
        case ast.Constant():
            return _constant(e, node)
        case ast.Name(id=name):
            return lookup(e, name, node)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return TupleValue(tuple(evaluate(e, item) for item in elts))
        case ast.Attribute(value=base, attr=attr):
            return attribute(e, evaluate(e, base), attr, node)
        case ast.Subscript():
            return subscript(e, node)
        case ast.Call():
            return call(e, node)
        case ast.BinOp():
            return _binary(e, node)
        case ast.UnaryOp():
            return _unary(e, node)
        case ast.Compare():
            return _compare(e, node)
        case ast.BoolOp():
            return _boolean(e, node)
        case ast.IfExp():
            return _conditional(e, node)
        case ast.JoinedStr():
            return _format(e, node)
        case ast.Lambda():
            raise unsupported(e, node, "a lambda stands only as the argument `at=`")
        case ast.Slice() | ast.Starred() | ast.NamedExpr():
            raise unsupported(e, node, None)
        case _:
            raise unsupported(e, node, None)


def _constant(e: Elaborator, node: ast.Constant) -> Value:
    match node.value:
        case bool() | float() | str() | None:
            return StaticValue(node.value)
        case int():
            return StaticValue(statics.checked(e, node.value, e.span(node)))
        case _:
            raise unsupported(e, node, "this literal is not part of the language")


# ---------------------------------------------------------------------- operators


def _binary(e: Elaborator, node: ast.BinOp) -> Value:
    left, right = evaluate(e, node.left), evaluate(e, node.right)
    return operate(e, node.op, left, right, node)


def operate(
    e: Elaborator,
    op: ast.operator,
    left: Value,
    right: Value,
    node: ast.BinOp | ast.AugAssign,
) -> Value:
    """`left op right`; `node` gives the places of both."""
    span = e.span(node)
    if isinstance(node, ast.BinOp):
        spans = (e.span(node.left), e.span(node.right))
    else:
        spans = (e.span(node.target), e.span(node.value))
    if isinstance(op, ast.MatMult):
        call = bind(
            e, "dot", None, [Arg(left, spans[0]), Arg(right, spans[1])], [], span
        )
        return HANDLERS["dot"](call)
    if isinstance(left, StaticValue) and isinstance(right, StaticValue):
        return statics.operate(e, op, left, right, span)
    if isinstance(left, TupleValue) and isinstance(right, TupleValue):
        if isinstance(op, ast.Add):
            return TupleValue(left.items + right.items)
        raise e.fail("AG0105", span, "tuples can only be added")
    if isinstance(op, ast.LShift | ast.RShift):
        shifted = _shifted(e, op, left, right, spans, node)
        if shifted is not None:
            return shifted
    if type(op) not in _ARITHMETIC:
        raise e.fail(
            "AG0004",
            span,
            f"the operator `{statics.SYMBOLS[type(op)]}` is defined for static numbers "
            "only",
            help=_INSTEAD.get(type(op)),
        )
    fn, scalar_op = _ARITHMETIC[type(op)]
    if isinstance(left, ScalarValue | StaticValue) and isinstance(
        right, ScalarValue | StaticValue
    ):
        return _scalar_operation(e, fn, scalar_op, (left, right), spans, node)
    return elementwise(e, fn, (left, right), spans, span)


def _shifted(
    e: Elaborator,
    op: ast.LShift | ast.RShift,
    left: Value,
    right: Value,
    spans: tuple[Span, Span],
    node: ast.BinOp | ast.AugAssign,
) -> Value | None:
    """A shift of a tile or by a tile, or by so many bits; None for other scalars.

    By a static number of bits it is a product with, or a quotient by, a power of two,
    which the proofs know.
    """
    fn, instead = _SHIFTS[type(op)]
    by = right.value if isinstance(right, StaticValue) else None
    match left:
        case TileValue(tile=tile) if tile.dtype.kind == "int":
            most = tile.dtype.bits - 1
        case ScalarValue(expr=expr) if expr.type == "int":
            most = statics.MAX_BITS
        case _:
            most = 0
    if isinstance(by, int) and not isinstance(by, bool):
        if by < 0:
            raise e.fail("AG0119", spans[1], "a shift by a negative number of bits")
        if by < most:
            return operate(e, instead, left, StaticValue(1 << by), node)
    if isinstance(left, TileValue) or isinstance(right, TileValue):
        return elementwise(e, fn, (left, right), spans, e.span(node))
    return None


def _scalar_operation(
    e: Elaborator,
    fn: str,
    op: BinaryOp | None,
    operands: tuple[Value, Value],
    spans: tuple[Span, Span],
    node: ast.BinOp | ast.AugAssign,
) -> Value:
    a = coerce.scalar(e, operands[0], spans[0], "the left side")
    b = coerce.scalar(e, operands[1], spans[1], "the right side")
    if op is None:
        if a.type == b.type == "bool":
            return number(binary("and" if fn == "and" else "or", a, b))
        raise e.fail("AG0107", e.span(node), "`&` and `|` join truth values and masks")
    if op == "^" and (a.type, b.type) != ("int", "int"):
        raise e.fail("AG0107", e.span(node), "`^` is defined for integers")
    return number(statics.guarded(e, op, a, b, e.span(node)))


def _unary(e: Elaborator, node: ast.UnaryOp) -> Value:
    value = evaluate(e, node.operand)
    span, where = e.span(node), e.span(node.operand)
    match node.op:
        case ast.Not():
            if isinstance(value, TileValue):
                raise e.fail(
                    "AG0018",
                    span,
                    "`not` asks a tile for one truth value",
                    help="use `~`",
                )
            return number(negate(coerce.condition(e, value, where, "the operand")))
        case ast.UAdd():
            return value
        case ast.USub():
            if isinstance(value, StaticValue):
                return statics.negative(e, value, span)
            if isinstance(value, ScalarValue):
                zero = 0.0 if value.expr.type == "float" else 0
                return number(binary("-", zero, value.expr))
            return elementwise(e, "neg", (value,), (where,), span)
        case ast.Invert():
            if isinstance(value, ScalarValue | StaticValue):
                return number(negate(coerce.condition(e, value, where, "the operand")))
            t = coerce.tile(e, value, where, "the operand")
            if t.tile.dtype.kind == "int":
                ones = StaticValue(
                    -1 if t.tile.dtype.signed else t.tile.dtype.integers[1]
                )
                return elementwise(e, "xor", (t, ones), (where, span), span)
            return elementwise(e, "not", (t,), (where,), span)
        case _:
            raise unsupported(e, node, None)


def negate(cond: Expr) -> Expr:
    """The opposite of a truth value."""
    if isinstance(cond, Binary) and cond.op in _NEGATED:
        return binary(_NEGATED[cond.op], cond.left, cond.right)
    return select(cond, False, True)


def _compare(e: Elaborator, node: ast.Compare) -> Value:
    values = [evaluate(e, node.left), *(evaluate(e, c) for c in node.comparators)]
    nodes = [node.left, *node.comparators]
    results: list[Value] = []
    for i, op in enumerate(node.ops):
        pair, at = (values[i], values[i + 1]), (nodes[i], nodes[i + 1])
        results.append(_compare_pair(e, op, pair, at, node))
    if len(results) == 1:
        return results[0]
    if any(isinstance(r, TileValue) for r in results):
        raise e.fail(
            "AG0018",
            e.span(node),
            "a chain of comparisons asks a tile for one truth value",
            help="write `(a < b) & (b < c)`",
        )
    total = coerce.condition(e, results[0], e.span(node), "a comparison")
    for r in results[1:]:
        more = coerce.condition(e, r, e.span(node), "a comparison")
        total = binary("and", total, more)
    return number(total)


def _compare_pair(
    e: Elaborator,
    op: ast.cmpop,
    pair: tuple[Value, Value],
    at: tuple[ast.expr, ast.expr],
    node: ast.Compare,
) -> Value:
    left, right = pair
    span = e.span(node)
    if isinstance(op, ast.Is | ast.IsNot):
        if StaticValue(None) not in pair:
            raise unsupported(e, node, "`is` compares with `None` only")
        same = left == right
        return StaticValue(same if isinstance(op, ast.Is) else not same)
    if type(op) not in _COMPARE:
        raise unsupported(e, node, "`in` is not part of the language")
    fn, scalar_op = _COMPARE[type(op)]
    if isinstance(left, StaticValue) and isinstance(right, StaticValue):
        return statics.compare(e, op, left, right, span)
    if isinstance(op, ast.Eq | ast.NotEq) and not any(
        isinstance(v, ScalarValue | TileValue | ViewValue | SharedValue) for v in pair
    ):
        same = left == right
        return StaticValue(same if isinstance(op, ast.Eq) else not same)
    if isinstance(left, ScalarValue | StaticValue) and isinstance(
        right, ScalarValue | StaticValue
    ):
        a = coerce.scalar(e, left, e.span(at[0]), "the left side")
        b = coerce.scalar(e, right, e.span(at[1]), "the right side")
        return number(binary(scalar_op, a, b))
    return elementwise(e, fn, pair, (e.span(at[0]), e.span(at[1])), span)


def _boolean(e: Elaborator, node: ast.BoolOp) -> Value:
    op: BinaryOp = "and" if isinstance(node.op, ast.And) else "or"
    total: Expr | None = None
    for item in node.values:
        value = evaluate(e, item)
        if isinstance(value, TileValue):
            raise e.fail(
                "AG0018",
                e.span(item),
                f"`{op}` asks a tile for one truth value",
                help=f"use `{'&' if op == 'and' else '|'}`, with parentheses",
            )
        if isinstance(value, StaticValue | TensorValue | InlineValue):
            truth = statics.truth(value)
            if truth == (op == "or"):
                return (
                    StaticValue(truth)
                    if total is None
                    else number(binary(op, total, truth))
                )
            continue
        cond = coerce.condition(e, value, e.span(item), f"an operand of `{op}`")
        total = cond if total is None else binary(op, total, cond)
    return StaticValue(op == "and") if total is None else number(total)


def _conditional(e: Elaborator, node: ast.IfExp) -> Value:
    test = evaluate(e, node.test)
    decided = static_truth(test)
    if decided is not None:
        return evaluate(e, node.body if decided else node.orelse)
    cond = coerce.condition(e, test, e.span(node.test), "a condition")
    then, other = evaluate(e, node.body), evaluate(e, node.orelse)
    if isinstance(then, TileValue) or isinstance(other, TileValue):
        raise e.fail(
            "AG0105",
            e.span(node),
            "a run-time condition cannot choose between tiles in an expression",
            help="use `ag.where(cond, x, y)`, or an `if` statement",
        )
    a = coerce.scalar(e, then, e.span(node.body), "the first choice")
    b = coerce.scalar(e, other, e.span(node.orelse), "the second choice")
    if "float" in (a.type, b.type):
        a = a if a.type == "float" else binary("*", a, 1.0)
        b = b if b.type == "float" else binary("*", b, 1.0)
    if a.type != b.type:
        raise e.fail("AG0110", e.span(node), f"the choices are {a.type} and {b.type}")
    return number(select(cond, a, b))


def static_truth(value: Value) -> bool | None:
    """The truth of a static value, or None for a run-time one."""
    match value:
        case StaticValue() | TupleValue() | TensorValue() | InlineValue():
            return statics.truth(value)
        case _:
            return None


def _format(e: Elaborator, node: ast.JoinedStr) -> Value:
    parts: list[str] = []
    for part in node.values:
        match part:
            case ast.Constant(value=str(text)):
                parts.append(text)
            case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                value = evaluate(e, inner)
                if not isinstance(value, StaticValue):
                    raise e.fail(
                        "AG0108",
                        e.span(inner),
                        f"a text is made of static values, not of {describe(value)}",
                    )
                parts.append(str(value.value))
            case _:
                raise unsupported(e, node, "conversions in texts are not supported")
    return StaticValue(statics.checked_text(e, "".join(parts), e.span(node)))
