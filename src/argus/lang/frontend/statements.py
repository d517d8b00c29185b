"""Statements: assignments, stores, `with`, `assert`, calls. Loops are in control.py.

Mistakes in independent statements of a kernel are collected: a variable whose
assignment failed is marked, and what reads it is passed over in silence.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from argus.diagnostics import ArgusError
from argus.ir.annotations import Annotation
from argus.ir.ops import Block, Roles
from argus.lang.frontend import stores
from argus.lang.frontend.carry import BROKEN
from argus.lang.frontend.control import assign_target, bind_name, run_for, run_if
from argus.lang.frontend.expressions import operate, static_truth
from argus.lang.frontend.indexing import place
from argus.lang.frontend.liveness import stores as stored_names
from argus.lang.frontend.lookup import lookup
from argus.lang.frontend.module import statement_words
from argus.lang.frontend.state import AnnotationPlace, Cascade, Elaborator
from argus.lang.frontend.values import (
    NOTHING,
    Builtin,
    InlineValue,
    Method,
    SlotValue,
    StaticValue,
    TileValue,
    Value,
    describe,
)
from argus.lang.frontend.withs import run_with

_NOT_PART: dict[type[ast.stmt], str] = {
    ast.While: "state how often it runs at most: `while ag.at_most(n, condition):`",
    ast.FunctionDef: "write an `@ag.inline` function at the top of the file",
    ast.Import: "import at the top of the file",
    ast.ImportFrom: "import at the top of the file",
}


def execute(e: Elaborator, body: Sequence[ast.stmt]) -> Value | None:
    """Read a block of statements; the value of its `return`, if it has one."""
    for i, stmt in enumerate(body):
        e.step(e.span(stmt))
        if e.scope.live.annotates(stmt):
            after = e.span(body[i + 1]) if i + 1 < len(body) else None
            e.annotation = AnnotationPlace(after)
        read = _statement if e.active_inlines else _recovering
        result = read(e, stmt)
        if result is not None:
            if isinstance(stmt, ast.Return) and i + 1 < len(body):
                raise e.fail(
                    "AG0008",
                    e.span(stmt),
                    "`return` is the last statement of a function",
                )
            return result
    return None


def _recovering(e: Elaborator, stmt: ast.stmt) -> Value | None:
    """A statement whose errors are collected, and whose variables are lost then."""
    block, inlines, scope = e.block, len(e.active_inlines), e.scope
    try:
        return _statement(e, stmt)
    except ArgusError as error:
        for diagnostic in error.diagnostics:
            e.reporter.add(diagnostic)
        if any(d.code == "AG0515" for d in error.diagnostics):
            raise
    except Cascade:
        pass
    assert (e.block, len(e.active_inlines), e.scope) == (block, inlines, scope)
    for name in stored_names(stmt):
        if name not in e.scope.env.imports:
            e.scope.variables[name] = BROKEN
    return None


def _statement(e: Elaborator, stmt: ast.stmt) -> Value | None:
    match stmt:
        case ast.Assign(targets=[target], value=value):
            _assign(e, target, value)
        case ast.Assign(targets=targets):
            raise e.fail(
                "AG0009",
                e.span(targets[1]),
                "one assignment has one left side",
                help="write two statements",
            )
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            _assign(e, target, value)
        case ast.AugAssign():
            _augmented(e, stmt)
        case ast.Expr(value=ast.Constant(value=str() | None)) | ast.Pass():
            pass
        case ast.Expr(value=value) if e.scope.live.annotates(stmt):
            _annotation(e, value)
        case ast.Expr(value=value):
            _expression(e, value)
        case ast.For():
            run_for(e, stmt)
        case ast.If():
            return run_if(e, stmt)
        case ast.With():
            run_with(e, stmt)
        case ast.Assert():
            _assert(e, stmt)
        case ast.Return():
            return _return(e, stmt)
        case ast.Break() | ast.Continue():
            word = "break" if isinstance(stmt, ast.Break) else "continue"
            raise e.fail(
                "AG0010",
                e.span(stmt),
                f"`{word}` is not part of the language",
                help="guard the rest of the body with `if`"
                if word == "continue"
                else "the number of iterations is fixed when a loop starts: give it as "
                "the end of `ag.range`",
            )
        case _:
            raise e.fail(
                "AG0003",
                e.span(stmt),
                f"{statement_words(stmt)} is not part of the language",
                help=_NOT_PART.get(type(stmt)),
            )
    return None


def _assign(e: Elaborator, target: ast.expr, value: ast.expr) -> None:
    match target:
        case ast.Subscript():
            where = place(e, target)
            stores.store_into(
                e, where, e.evaluate(value), e.span(target), e.span(value)
            )
        case ast.Attribute():
            raise e.fail(
                "AG0009",
                e.span(target),
                "an attribute cannot be assigned",
                help="a shared tile is written with `.store(tile)`",
            )
        case ast.Name(id=name):
            e.naming = (name, e.span(value))
            made = e.evaluate(value)
            e.naming = None
            assign_target(e, target, made)
        case _:
            assign_target(e, target, e.evaluate(value))


def _augmented(e: Elaborator, stmt: ast.AugAssign) -> None:
    match stmt.target:
        case ast.Name(id=name):
            left = lookup(e, name, stmt.target)
            value = operate(e, stmt.op, left, e.evaluate(stmt.value), stmt)
            bind_name(e, name, value, stmt.target)
        case _:
            raise e.fail(
                "AG0009",
                e.span(stmt.target),
                "an update in place is possible for variables only",
                help="`ag.atomic_add(view, tile)` adds to memory",
            )


def _annotation(e: Elaborator, node: ast.expr) -> None:
    """Read an annotation; it names values, and leaves nothing else behind.

    Raises ArgusError (AG0121) where its arguments would have to be computed.
    """
    names = e.names_snapshot()
    try:
        with e.into(Block()) as made:
            _expression(e, node)
    finally:
        e.annotation = None
        e.names_restore(names)
    for op in made.ops:
        if not isinstance(op, Annotation):
            raise e.fail(
                "AG0121",
                op.span,
                "an annotation names values, and this has to be computed for it",
                help="use a value that the kernel computes anyhow",
            )
    ops = e.block.ops
    at = len(ops) - 1 if ops and isinstance(ops[-1], Roles) else len(ops)
    ops[at:at] = made.ops


def _expression(e: Elaborator, node: ast.expr) -> None:
    if isinstance(node, ast.Constant) and node.value is Ellipsis:
        return
    e.discarded = e.span(node)
    value = e.evaluate(node)
    e.discarded = None
    if value == NOTHING and isinstance(node, ast.Call):
        return
    if isinstance(value, Builtin | Method | InlineValue):
        raise e.fail(
            "AG0118",
            e.span(node),
            f"{describe(value)} is named and not called",
            help=f"write `{ast.unparse(node)}(...)`",
        )
    if isinstance(value, SlotValue):
        help = "write `slot = ring.wait()`"
    elif isinstance(value, TileValue):
        help = "operations return new tiles: assign the result"
    else:
        help = None
    raise e.fail(
        "AG0118", e.span(node), f"{describe(value)} is made and not used", help=help
    )


def _assert(e: Elaborator, stmt: ast.Assert) -> None:
    decided = static_truth(e.evaluate(stmt.test))
    if decided is None:
        raise e.fail(
            "AG0108",
            e.span(stmt.test),
            "an assertion must be known at compile time",
            help="a condition on sizes is stated with `ag.require(cond, why)`",
        )
    if not decided:
        message = StaticValue("the assertion does not hold")
        if stmt.msg is not None:
            given = e.evaluate(stmt.msg)
            message = given if isinstance(given, StaticValue) else message
        raise e.fail("AG0120", e.span(stmt.test), str(message.value))


def _return(e: Elaborator, stmt: ast.Return) -> Value:
    if not e.active_inlines:
        raise e.fail(
            "AG0008",
            e.span(stmt),
            "a kernel does not return",
            help="results are stored into tensors: `C[...] = tile`",
        )
    if e.control > e.inline_control[-1]:
        raise e.fail(
            "AG0008",
            e.span(stmt),
            "`return` inside a loop or a condition that is decided at run time",
        )
    return NOTHING if stmt.value is None else e.evaluate(stmt.value)
