"""Loops that end by a condition: `while ag.at_most(n, condition)`.

Such a loop is read as another one, so that nobody but this file knows of it:

    for _ in ag.range(n):
        if condition:
            body

Where the condition has become false nothing changes, and it stays false. The number n
of iterations is what proofs, waits and predicted times go by.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["BOUND", "bounded"]

BOUND = "at_most"
"""The function of the language in which such a loop states its bound."""


def bounded(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function with its bounded loops as `for` loops, in place.

    Other `while` statements stay, and are refused where they are read.
    """
    if not any(isinstance(s, ast.While) for s in _statements(function)):
        return function
    return ast.fix_missing_locations(_Bounded().visit(function))


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements inside of one, however deep: none stands in an expression."""
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        for inner in getattr(node, field, ()):
            if isinstance(inner, ast.stmt):
                yield inner
            yield from _statements(inner)


class _Bounded(ast.NodeTransformer):
    def visit_While(self, node: ast.While) -> ast.stmt:
        self.generic_visit(node)
        match node:
            case ast.While(
                test=ast.Call(
                    func=ast.Attribute(value=module, attr=attr) as called,
                    args=[count, condition],
                    keywords=[],
                ),
                orelse=[],
            ) if attr == BOUND:
                pass
            case _:
                return node
        range_ = ast.copy_location(ast.Attribute(module, "range", ast.Load()), called)
        call = ast.copy_location(ast.Call(range_, [count], []), node.test)
        inside = ast.copy_location(ast.If(condition, node.body, []), node)
        target = ast.copy_location(ast.Name("_", ast.Store()), node.test)
        return ast.copy_location(ast.For(target, call, [inside], []), node)
