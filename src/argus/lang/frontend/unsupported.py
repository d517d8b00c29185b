"""Syntax that is no part of the language, in words."""

from __future__ import annotations

import ast

from argus.diagnostics import ArgusError
from argus.lang.frontend.state import Elaborator

__all__ = ["unsupported"]


def unsupported(e: Elaborator, node: ast.expr, why: str | None) -> ArgusError:
    """The error for an expression. ``why``: where its kind alone does not say it."""
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
