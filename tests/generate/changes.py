"""The kinds of single changes of a kernel's syntax tree, and the places for each.

    KINDS["shift"](functions, rng) -> (line, change), ...

A change is a function that makes it, in place. Nothing here chooses among them.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from random import Random

Change = Callable[[], None]
Places = Iterator[tuple[int, Change]]
Functions = list[ast.FunctionDef]


def _all(functions: Functions, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    for function in functions:
        for node in ast.walk(ast.Module(function.body, [])):
            if isinstance(node, kinds):
                yield node


def _set(node: ast.AST, **values: object) -> Change:
    def change() -> None:
        for name, value in values.items():
            setattr(node, name, value)

    return change


def _plus(node: ast.expr, by: int) -> ast.expr:
    op: ast.operator = ast.Add() if by > 0 else ast.Sub()
    return ast.BinOp(copy.deepcopy(node), op, ast.Constant(abs(by)))


def _numbers(functions: Functions) -> Iterator[tuple[ast.Constant, int]]:
    for node in _all(functions, ast.Constant):
        assert isinstance(node, ast.Constant)
        if type(node.value) is int:
            yield node, node.value


def shift(functions: Functions, rng: Random) -> Places:
    """A slice begins somewhere else, or a scalar index is another one."""
    for node in _all(functions, ast.Subscript):
        assert isinstance(node, ast.Subscript)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        by = rng.choice((-8, -1, 1, 1, 2, 8, 16))
        for i, part in enumerate(parts):
            if isinstance(part, ast.Slice) and part.lower is not None:
                yield node.lineno, _set(part, lower=_plus(part.lower, by))
            elif isinstance(part, ast.Name | ast.BinOp):
                if isinstance(node.slice, ast.Tuple):
                    yield node.lineno, _item(node.slice.elts, i, _plus(part, 1))
                else:
                    yield node.lineno, _set(node, slice=_plus(part, 1))


def _item(items: list[ast.expr], i: int, new: ast.expr) -> Change:
    def change() -> None:
        items[i] = new

    return change


def slices_swapped(functions: Functions, rng: Random) -> Places:
    """Two indices of a subscript are exchanged."""
    for node in _all(functions, ast.Subscript):
        assert isinstance(node, ast.Subscript)
        if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > 1:
            items = list(node.slice.elts)
            i = rng.randrange(len(items) - 1)
            items[i], items[i + 1] = items[i + 1], items[i]
            yield node.lineno, _set(node.slice, elts=items)


def number(functions: Functions, rng: Random) -> Places:
    """A whole number is another one: a stage, a size, a bound, a count, a step."""
    for node, value in _numbers(functions):
        others = {value + 1, value - 1, value * 2, value // 2, 0} - {value}
        if value >= 0:
            others = {x for x in others if x >= 0}
        yield node.lineno, _set(node, value=rng.choice(sorted(others)))


def default(functions: Functions, rng: Random) -> Places:
    """A static parameter has another default."""
    for function in functions:
        for node in function.args.kw_defaults:
            if isinstance(node, ast.Constant) and type(node.value) is int:
                new = rng.choice((node.value * 2, max(1, node.value // 2)))
                yield node.lineno, _set(node, value=new)


def bound(functions: Functions, rng: Random) -> Places:
    """A loop or a grid ends earlier or later, or a loop begins later."""
    for node in _all(functions, ast.Call):
        assert isinstance(node, ast.Call)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name == "cdiv":
            rounded = ast.BinOp(node.args[0], ast.FloorDiv(), node.args[1])
            yield node.lineno, _become(functions, node, rounded)
        if name in ("range", "block", "block_tile", "persistent", "persistent_tiles"):
            i = rng.randrange(len(node.args))
            by = rng.choice((-1, 1))
            yield node.lineno, _item(node.args, i, _plus(node.args[i], by))


def _become(functions: Functions, old: ast.expr, new: ast.expr) -> Change:
    class Exchange(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else super().visit(node)

    def change() -> None:
        for function in functions:
            Exchange().visit(function)

    return change


def operands(functions: Functions, rng: Random) -> Places:
    """Two arguments of a call, or the sides of an operator, are exchanged."""
    del rng
    for node in _all(functions, ast.Call):
        assert isinstance(node, ast.Call)
        if len(node.args) > 1:
            yield (
                node.lineno,
                _set(node, args=[node.args[1], node.args[0], *node.args[2:]]),
            )
    for node in _all(functions, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod):
            yield node.lineno, _set(node, left=node.right, right=node.left)


def keyword(functions: Functions, rng: Random) -> Places:
    """A keyword argument is left out: a mask, a fill, an arrival count, a budget."""
    del rng
    for node in _all(functions, ast.Call):
        assert isinstance(node, ast.Call)
        for given in node.keywords:
            kept = [k for k in node.keywords if k is not given]
            yield node.lineno, _set(node, keywords=kept)


def unmasked(functions: Functions, rng: Random) -> Places:
    """A `where` is one of its sides."""
    for node in _all(functions, ast.Call):
        assert isinstance(node, ast.Call)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "where":
            side = node.args[rng.choice((1, 1, 1, 2))]
            yield node.lineno, _become(functions, node, side)


def comparison(functions: Functions, rng: Random) -> Places:
    """A comparison is a neighbouring one."""
    near: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
        ast.Lt: (ast.LtE, ast.Gt),
        ast.LtE: (ast.Lt,),
        ast.Gt: (ast.GtE, ast.Lt),
        ast.GtE: (ast.Gt,),
        ast.Eq: (ast.NotEq,),
    }
    for node in _all(functions, ast.Compare):
        assert isinstance(node, ast.Compare)
        new = near.get(type(node.ops[0]))
        if new:
            yield node.lineno, _set(node, ops=[rng.choice(new)()])


def _bodies(functions: Functions) -> Iterator[list[ast.stmt]]:
    for function in functions:
        yield function.body
    for node in _all(functions, ast.For, ast.With, ast.If):
        assert isinstance(node, ast.For | ast.With | ast.If)
        yield node.body
        if isinstance(node, ast.If) and node.orelse:
            yield node.orelse


def dropped(functions: Functions, rng: Random) -> Places:
    """A statement is left out: a wait, a sync, a store, a load, a release."""
    del rng
    for body in _bodies(functions):
        for i, statement in enumerate(body):

            def change(body: list[ast.stmt] = body, i: int = i) -> None:
                body[i : i + 1] = [] if len(body) > 1 else [ast.Pass()]

            yield statement.lineno, change


def doubled(functions: Functions, rng: Random) -> Places:
    """A statement stands twice."""
    del rng
    for body in _bodies(functions):
        for i, statement in enumerate(body):

            def change(body: list[ast.stmt] = body, i: int = i) -> None:
                body.insert(i, copy.deepcopy(body[i]))

            yield statement.lineno, change


def moved(functions: Functions, rng: Random) -> Places:
    """Two neighbouring statements are exchanged."""
    del rng
    for body in _bodies(functions):
        for i in range(len(body) - 1):

            def change(body: list[ast.stmt] = body, i: int = i) -> None:
                body[i], body[i + 1] = body[i + 1], body[i]

            yield body[i].lineno, change


def left_early(functions: Functions, rng: Random) -> Places:
    """The last statement of a `with` or loop comes after it."""
    del rng
    for body in _bodies(functions):
        for i, statement in enumerate(body):
            inner = getattr(statement, "body", [])
            if isinstance(statement, ast.For | ast.With) and len(inner) > 1:

                def change(body=body, i=i, inner=inner) -> None:
                    body.insert(i + 1, inner.pop())

                yield statement.lineno, change


_FUNCTIONS = {
    "sum": ("max", "min", "mean"), "max": ("min", "sum"), "min": ("max",),
    "cumsum": ("rename",), "argmax": ("argmin",), "argmin": ("argmax",),
    "maximum": ("minimum",), "minimum": ("maximum",), "exp": ("exp2",),
    "fill": ("drain",), "drain": ("fill",), "wait": ("next",), "next": ("wait",),
    "sync": ("arrive",), "block": ("persistent",),
}  # fmt: skip


def function(functions: Functions, rng: Random) -> Places:
    """Another function is called."""
    for node in _all(functions, ast.Attribute):
        assert isinstance(node, ast.Attribute)
        if node.attr in _FUNCTIONS:
            yield node.lineno, _set(node, attr=rng.choice(_FUNCTIONS[node.attr]))


def transposed(functions: Functions, rng: Random) -> Places:
    """A `.T` is dropped."""
    del rng
    for node in _all(functions, ast.Attribute):
        assert isinstance(node, ast.Attribute)
        if node.attr == "T":
            yield node.lineno, _become(functions, node, node.value)


def name(functions: Functions, rng: Random) -> Places:
    """Another name that the kernel has is read."""
    names = sorted(
        {n.id for n in _all(functions, ast.Name) if isinstance(n, ast.Name)} - {"ag"}
    )
    for node in _all(functions, ast.Name):
        assert isinstance(node, ast.Name)
        if isinstance(node.ctx, ast.Load) and node.id != "ag":
            others = [x for x in names if x != node.id]
            # Rather one of its kind: names that begin alike.
            alike = [x for x in others if x[0] == node.id[0]]
            pool = alike if alike and rng.random() < 0.7 else others
            if pool:
                yield node.lineno, _set(node, id=rng.choice(pool))


def operator(functions: Functions, rng: Random) -> Places:
    """Another operator."""
    ops = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
    for node in _all(functions, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        others = [o for o in ops if not isinstance(node.op, o)]
        yield node.lineno, _set(node, op=rng.choice(others)())


Finder = Callable[[Functions, Random], Places]
KINDS: dict[str, Finder] = {
    f.__name__: f
    for f in (
        shift, slices_swapped, number, default, bound, operands, keyword, unmasked,
        comparison, dropped, doubled, moved, left_early, function, transposed, name,
        operator,
    )
}  # fmt: skip
"""Every kind of change, by name."""
FORMULAS = frozenset({"operands", "function", "operator", "comparison", "unmasked"})
"""Kinds that may change the formula alone, which no tag knows."""
