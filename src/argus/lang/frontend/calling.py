"""Calls: what is called, with which arguments."""

from __future__ import annotations

import ast

from argus.ir.dtypes import DType
from argus.lang.frontend.calls import HANDLERS, Arg, BoundCall, bind
from argus.lang.frontend.indexing import place
from argus.lang.frontend.inlining import expand_inline
from argus.lang.frontend.lookup import lookup
from argus.lang.frontend.state import Elaborator
from argus.lang.frontend.unsupported import unsupported
from argus.lang.frontend.values import (
    Builtin,
    InlineValue,
    LambdaValue,
    Method,
    StaticValue,
    TupleValue,
    Value,
    describe,
)

__all__ = ["bound_call", "call", "called"]

_PLAIN_CALLS = {"range": "static_range", "min": "min", "max": "max", "abs": "abs"}


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
    positional, keywords = _arguments(e, node, written)
    receiver = function.receiver if isinstance(function, Method) else None
    return bind(e, function.name, receiver, positional, keywords, e.span(node))


def call(e: Elaborator, node: ast.Call) -> Value:
    """The value of a call."""
    plain = isinstance(node.func, ast.Name) and node.func.id == "len"
    if plain and not _is_bound(e, "len"):
        return _length(e, node)
    function = called(e, node)
    match function:
        case Builtin(name=name) | Method(name=name):
            return HANDLERS[name](bound_call(e, function, node))
        case InlineValue(declaration=declaration):
            positional, keywords = _arguments(e, node)
            return expand_inline(e, declaration, positional, keywords, e.span(node))
        case _:
            raise e.fail(
                "AG0005",
                e.span(node.func),
                f"{describe(function)} cannot be called",
                help=_uncalled(function),
            )


def _uncalled(function: Value) -> str | None:
    """What is meant by a call of what is no function."""
    if isinstance(function, StaticValue) and isinstance(function.value, DType):
        return f"a tile is converted by `.to({function.value})`; a scalar has no type"
    return None


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
        value = e.evaluate(node.args[0])
        if isinstance(value, TupleValue):
            return StaticValue(len(value.items))
    raise e.fail("AG0104", e.span(node), "`len` takes one tuple")


def _arguments(
    e: Elaborator, node: ast.Call, written: str | None = None
) -> tuple[list[Arg], list[tuple[str, Arg]]]:
    """The evaluated arguments of a call.

    ``written``: the first parameter, where it is a place that the call writes to.
    """

    def one(item: ast.expr, is_place: bool = False) -> Arg:
        if is_place and isinstance(item, ast.Subscript):
            return Arg(place(e, item), e.span(item))
        if isinstance(item, ast.Starred):
            raise unsupported(e, item, "`*` in a call is not part of the language")
        if isinstance(item, ast.Lambda):
            return Arg(LambdaValue(item, e.scope), e.span(item))
        return Arg(e.evaluate(item), e.span(item))

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
