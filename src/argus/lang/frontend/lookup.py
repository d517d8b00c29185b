"""What a name stands for: variables, then the file's declarations, then Python's."""

from __future__ import annotations

import ast
from types import FunctionType, ModuleType
from typing import cast

from argus.diagnostics import ArgusError, Span
from argus.ir.dtypes import DType
from argus.lang.frontend import statics
from argus.lang.frontend.calls import HANDLERS
from argus.lang.frontend.declarations import (
    FunctionDecl,
    HostValue,
    ImportedName,
    LanguageModule,
    LanguageName,
    ModuleEnv,
)
from argus.lang.frontend.idioms import of_name
from argus.lang.frontend.liveness import Liveness
from argus.lang.frontend.module import elsewhere, library
from argus.lang.frontend.state import Cascade, Elaborator, Scope, suggest
from argus.lang.frontend.values import (
    Builtin,
    InlineValue,
    Namespace,
    StaticValue,
    TupleValue,
    Unavailable,
    Value,
    describe,
)
from argus.lang.kernel import InlineFunction
from argus.lang.names import DTYPES, FUNCTIONS, inf
from argus.lang.names.types import ElementType


def lookup(e: Elaborator, name: str, node: ast.expr) -> Value:
    """The value of a name.

    Raises ArgusError: no such name (AG0101), a variable of another role (AG0115), or
    one that is not assigned on every path (AG0102). Raises Cascade for a variable whose
    assignment failed.
    """
    span = e.span(node)
    found = e.scope.variables.get(name)
    if found is None:
        found = declared(e, e.scope.env, name, span)
    if found is None:
        raise _missing(e, name, span)
    if isinstance(found, Unavailable):
        if found.code is None:
            raise Cascade
        raise e.fail(found.code, span, found.message, help=found.help)
    return found


def _missing(e: Elaborator, name: str, span: Span) -> ArgusError:
    if name in e.scope.role_locals:
        return e.fail(
            "AG0115",
            span,
            f"`{name}` belongs to role `{e.scope.role_locals[name]}`",
            help="pass data from role to role through a ring or a shared tile",
        )
    if name in FUNCTIONS or name in DTYPES or name in ("inf", "layouts"):
        alias = next(
            (
                n
                for n, v in e.scope.env.imports.items()
                if isinstance(v, LanguageModule)
            ),
            "ag",
        )
        help = f"write `{alias}.{name}`"
    else:
        near = suggest(name, e.scope.variables) or suggest(name, e.scope.env.names())
        help = of_name(name) or near
    return e.fail("AG0101", span, f"there is no name `{name}`", help=help)


def declared(e: Elaborator, env: ModuleEnv, name: str, span: Span) -> Value | None:
    """What a file declares under a name, as a value; None where it declares nothing."""
    match env.lookup(name):
        case None:
            return None
        case FunctionDecl() as decl:
            return _function(e, decl, span)
        case ast.expr() as constant:
            return _constant(e, env, name, constant, span)
        case LanguageModule():
            return Namespace("argus")
        case LanguageName(name=original):
            return language(e, original, span)
        case ImportedName() as place:
            return _elsewhere(e, place, span)
        case HostValue(value=value):
            return host_value(e, name, value, span)


def _function(e: Elaborator, decl: FunctionDecl, span: Span) -> Value:
    if decl.kind == "inline":
        return InlineValue(decl)
    raise e.fail(
        "AG0005",
        span,
        f"`{decl.name}` is marked `@ag.{decl.kind}` and cannot be used in a kernel",
        help="mark a function that kernels call with `@ag.inline`",
    )


def _constant(
    e: Elaborator, env: ModuleEnv, name: str, node: ast.expr, span: Span
) -> Value:
    key = f"{env.source.name}:{name}"
    if key in e.constants:
        raise e.fail("AG0101", span, f"the constant `{name}` is defined by itself")
    scope, block_size = e.scope, len(e.block.ops)
    e.constants.append(key)
    e.scope = Scope(env, {}, Liveness(()))
    try:
        value = e.evaluate(node)
        where = e.span(node)
    finally:
        e.scope = scope
        e.constants.pop()
    if not is_static(value) or len(e.block.ops) != block_size:
        del e.block.ops[block_size:]
        raise e.fail(
            "AG0108",
            where,
            f"the constant `{name}` is {describe(value)}, which is not static",
        )
    return value


def is_static(value: Value) -> bool:
    """Whether a value is known at compile time and takes no operations to make."""
    match value:
        case StaticValue() | InlineValue() | Builtin() | Namespace():
            return True
        case TupleValue(items=items):
            return all(is_static(i) for i in items)
        case _:
            return False


def _elsewhere(e: Elaborator, place: ImportedName, span: Span) -> Value:
    value = declared(e, elsewhere(place), place.name, span)
    if value is None:
        raise e.fail("AG0101", span, f"there is no name `{place.name}` in {place.file}")
    return value


def language(e: Elaborator, name: str, span: Span) -> Value:
    """A name of the language: what `ag.NAME` is.

    Raises ArgusError (AG0103) where the language has no such name.
    """
    if name in HANDLERS:
        return Builtin(name)
    if name in DTYPES:
        return StaticValue(DTYPES[name].dtype)
    if name == "inf":
        return StaticValue(inf)
    if name == "layouts":
        return Namespace("layouts")
    own = library().functions.get(name)
    if own is not None:
        return InlineValue(own)
    options = [*FUNCTIONS, *DTYPES, *library().functions, "inf", "layouts"]
    raise e.fail(
        "AG0103",
        span,
        f"the language has no name `{name}`",
        help=of_name(name) or suggest(name, options),
    )


def host_value(e: Elaborator, name: str, value: object, span: Span) -> Value:
    """A Python object that a kernel's module or its caller gives a name to.

    Raises ArgusError (AG0101) for objects that have no meaning in a kernel.
    """
    match value:
        case bool() | float() | str() | None:
            return StaticValue(value)
        case int():
            return StaticValue(statics.checked(e, value, span))
        case DType():
            return StaticValue(value)
        case ElementType(dtype=dtype):
            return StaticValue(dtype)
        case InlineFunction():
            return InlineValue(value.declaration)
        case FunctionDecl():
            return _function(e, value, span)
        case ModuleType(__name__="argus"):
            return Namespace("argus")
        case tuple():
            return TupleValue(
                tuple(
                    host_value(e, name, item, span)
                    for item in cast(tuple[object, ...], value)
                )
            )
        case _:
            for key, stub in FUNCTIONS.items():
                if stub is value:
                    return Builtin(key)
            raise e.fail(
                "AG0101",
                span,
                f"`{name}` is a Python object of type `{type(value).__name__}`, which "
                "has no meaning in a kernel",
                notes=(
                    "a kernel sees numbers, texts, element types and inline functions",
                ),
                help=f"mark `{name}` with `@ag.inline`"
                if isinstance(value, FunctionType)
                else None,
            )
