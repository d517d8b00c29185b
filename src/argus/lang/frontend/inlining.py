"""Expanding `@ag.inline` functions where they are called."""

from __future__ import annotations

import ast
from functools import lru_cache

from argus.diagnostics import Span
from argus.lang.frontend.calls import Arg
from argus.lang.frontend.declarations import FunctionDecl
from argus.lang.frontend.liveness import Liveness
from argus.lang.frontend.state import MAX_INLINE_DEPTH, Elaborator, Scope
from argus.lang.frontend.values import NOTHING, ScalarValue, Value, number


@lru_cache(maxsize=512)
def liveness_of(node: ast.FunctionDef) -> Liveness:
    """Live names of a function body, computed once."""
    arguments = (n for n in ast.walk(node.args) if isinstance(n, ast.arg))
    return Liveness(node.body, frozenset(n.arg for n in arguments))


def expand_inline(
    e: Elaborator,
    decl: FunctionDecl,
    positional: list[Arg],
    keywords: list[tuple[str, Arg]],
    span: Span,
) -> Value:
    """The value that a function returns for these arguments; `None` without a return.

    Raises ArgusError: recursion (AG0015), wrong arguments (AG0104), and whatever its
    body raises, with a label at the call.
    """
    key = f"{decl.env.source.name}:{decl.node.lineno}"
    if any(name == key for name, _ in e.active_inlines) or (
        len(e.active_inlines) >= MAX_INLINE_DEPTH
    ):
        raise e.fail(
            "AG0015",
            span,
            f"`{decl.name}` is called while it is being expanded"
            if len(e.active_inlines) < MAX_INLINE_DEPTH
            else f"inline functions are nested more than {MAX_INLINE_DEPTH} deep",
        )
    bound = _bind(e, decl, positional, keywords, span)
    outer = e.scope
    e.calls.append((decl.name, span))
    e.active_inlines.append((key, decl))
    e.inline_control.append(e.control)
    e.scope = Scope(decl.env, bound, liveness_of(decl.node))
    try:
        result = e.execute(decl.node.body)
    finally:
        e.scope = outer
        e.active_inlines.pop()
        e.inline_control.pop()
        e.calls.pop()
    return NOTHING if result is None else result


def _named(e: Elaborator, name: str, arg: Arg) -> Value:
    """An argument; a scalar gets a name, so that expansion does not multiply it."""
    if isinstance(arg.value, ScalarValue):
        return number(e.let(name, arg.value.expr, arg.span))
    return arg.value


def _bind(
    e: Elaborator,
    decl: FunctionDecl,
    positional: list[Arg],
    keywords: list[tuple[str, Arg]],
    span: Span,
) -> dict[str, Value]:
    args = decl.node.args
    if args.vararg or args.kwarg:
        odd = args.vararg or args.kwarg
        raise e.fail(
            "AG0014",
            decl.env.source.span(odd or args.args[0]),
            f"`{decl.name}` cannot take a variable number of arguments",
        )
    names = [a.arg for a in (*args.posonlyargs, *args.args)]
    only = [a.arg for a in args.kwonlyargs]
    note = (f"the signature is `{decl.name}({ast.unparse(args)})`",)
    if len(positional) > len(names):
        raise e.fail(
            "AG0104",
            positional[len(names)].span,
            f"too many arguments for `{decl.name}`",
            notes=note,
        )
    bound = {
        name: _named(e, name, arg) for name, arg in zip(names, positional, strict=False)
    }
    for name, arg in keywords:
        if name in bound or name not in (*names, *only):
            raise e.fail(
                "AG0104",
                arg.span,
                f"`{name}` is given twice"
                if name in bound
                else f"`{decl.name}` has no parameter `{name}`",
                notes=note,
            )
        bound[name] = _named(e, name, arg)
    tail = args.defaults
    defaults = dict(zip(names[len(names) - len(tail) :], tail, strict=True))
    for name, default in zip(only, args.kw_defaults, strict=True):
        if default is not None:
            defaults[name] = default
    outer = e.scope
    for name in (*names, *only):
        if name in bound:
            continue
        if name not in defaults:
            raise e.fail(
                "AG0104",
                span,
                f"`{decl.name}` needs an argument `{name}`",
                notes=note,
            )
        e.scope = Scope(decl.env, {}, liveness_of(decl.node))
        try:
            bound[name] = e.evaluate(defaults[name])
        finally:
            e.scope = outer
    return bound
