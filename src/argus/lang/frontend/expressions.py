"""Expressions: syntax to values. Names, literals, operators, attributes, calls."""

from __future__ import annotations

import ast

from argus.diagnostics import ArgusError, Span
from argus.ir.expr import Binary, BinaryOp, Expr, binary, select
from argus.lang.frontend import coerce, statics
from argus.lang.frontend.attributes import attribute
from argus.lang.frontend.calls import HANDLERS, Arg, BoundCall, bind
from argus.lang.frontend.indexing import place, subscript
from argus.lang.frontend.inlining import expand_inline
from argus.lang.frontend.lookup import lookup
from argus.lang.frontend.shared import with_names
from argus.lang.frontend.state import Elaborator
from argus.lang.frontend.tiles import elementwise
from argus.lang.frontend.values import (
    Builtin,
    InlineValue,
    LambdaValue,
    Method,
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
    ast.Pow: "write a product",
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
_PLAIN_CALLS = {"range": "static_range", "min": "min", "max": "max", "abs": "abs"}


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
            return _call(e, node)
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
            raise _unsupported(e, node, "a lambda stands only as the argument `at=`")
        case ast.Slice() | ast.Starred() | ast.NamedExpr():
            raise _unsupported(e, node, None)
        case _:
            raise _unsupported(e, node, None)


def _unsupported(e: Elaborator, node: ast.expr, why: str | None) -> ArgusError:
    what = _WORDS.get(type(node), "this expression")
    return e.fail(
        "AG0004",
        e.span(node),
        why or f"{what} is not part of the language",
    )


_WORDS: dict[type[ast.expr], str] = {
    ast.ListComp: "a list comprehension",
    ast.SetComp: "a set comprehension",
    ast.DictComp: "a dict comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.Dict: "a dictionary",
    ast.Set: "a set",
    ast.Await: "`await`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield from`",
    ast.NamedExpr: "`:=`",
    ast.Starred: "`*` before a value",
    ast.Slice: "a slice outside of an index",
}


def _constant(e: Elaborator, node: ast.Constant) -> Value:
    match node.value:
        case bool() | float() | str() | None:
            return StaticValue(node.value)
        case int():
            return StaticValue(statics.checked(e, node.value, e.span(node)))
        case _:
            raise _unsupported(e, node, "this literal is not part of the language")


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
            raise _unsupported(e, node, None)


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
            raise _unsupported(e, node, "`is` compares with `None` only")
        same = left == right
        return StaticValue(same if isinstance(op, ast.Is) else not same)
    if type(op) not in _COMPARE:
        raise _unsupported(e, node, "`in` is not part of the language")
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
                raise _unsupported(e, node, "conversions in texts are not supported")
    return StaticValue(statics.checked_text(e, "".join(parts), e.span(node)))


# ---------------------------------------------------------------------- calls


def called(e: Elaborator, node: ast.Call) -> Value:
    """What a call calls; the Python functions that kernels may use are builtins too."""
    if isinstance(node.func, ast.Name) and not _is_bound(e, node.func.id):
        name = node.func.id
        return (
            Builtin(_PLAIN_CALLS[name])
            if name in _PLAIN_CALLS
            else lookup(e, name, node.func)
        )
    return e.evaluate(node.func)


def bound_call(e: Elaborator, function: Builtin | Method, node: ast.Call) -> BoundCall:
    """A call of the language with its arguments evaluated and bound."""
    written = _PLACES.get(function.name) if isinstance(function, Builtin) else None
    positional, keywords = arguments(e, node, written)
    receiver = function.receiver if isinstance(function, Method) else None
    return bind(e, function.name, receiver, positional, keywords, e.span(node))


def _call(e: Elaborator, node: ast.Call) -> Value:
    plain = isinstance(node.func, ast.Name) and node.func.id == "len"
    if plain and not _is_bound(e, "len"):
        return _length(e, node)
    function = called(e, node)
    match function:
        case Builtin(name=name) | Method(name=name):
            return HANDLERS[name](bound_call(e, function, node))
        case InlineValue(declaration=declaration):
            positional, keywords = arguments(e, node)
            return expand_inline(e, declaration, positional, keywords, e.span(node))
        case _:
            raise e.fail(
                "AG0005",
                e.span(node.func),
                f"{describe(function)} cannot be called",
            )


_PLACES: dict[str, str] = dict.fromkeys(
    (
        "store",
        "atomic_add",
        "atomic_max",
        "atomic_min",
        "atomic_exchange",
        "atomic_cas",
    ),
    "view",
)
"""Built-in functions that write to their first argument: `L[0]` is a place there."""


def _is_bound(e: Elaborator, name: str) -> bool:
    return name in e.scope.variables or e.scope.env.lookup(name) is not None


def _length(e: Elaborator, node: ast.Call) -> Value:
    if len(node.args) == 1 and not node.keywords:
        value = evaluate(e, node.args[0])
        if isinstance(value, TupleValue):
            return StaticValue(len(value.items))
    raise e.fail("AG0104", e.span(node), "`len` takes one tuple")


def arguments(
    e: Elaborator, node: ast.Call, written: str | None = None
) -> tuple[list[Arg], list[tuple[str, Arg]]]:
    """The evaluated arguments of a call.

    ``written``: the first parameter, where it is a place that the call writes to.
    """

    def one(item: ast.expr, is_place: bool = False) -> Arg:
        if is_place and isinstance(item, ast.Subscript):
            return Arg(place(e, item), e.span(item))
        if isinstance(item, ast.Starred):
            raise _unsupported(e, item, "`*` in a call is not part of the language")
        if isinstance(item, ast.Lambda):
            return Arg(LambdaValue(item, e.scope), e.span(item))
        return Arg(evaluate(e, item), e.span(item))

    places = (i == 0 and written is not None for i in range(len(node.args)))
    positional = [one(*item) for item in zip(node.args, places, strict=True)]
    keywords: list[tuple[str, Arg]] = []
    for keyword in node.keywords:
        if keyword.arg is None:
            raise e.fail(
                "AG0004", e.span(keyword), "`**` in a call is not part of the language"
            )
        keywords.append((keyword.arg, one(keyword.value, keyword.arg == written)))
    return positional, keywords
