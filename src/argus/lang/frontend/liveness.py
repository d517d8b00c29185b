"""Which variables a loop or branch must carry: names assigned in it and read later.

Classic backward liveness on structured code. A block is summed up once as (gen, kill):
names that it reads before assigning them, and names that it assigns on every path. As
there is no `break`, what is live at the head of a loop is what is live after it, plus
the gen of its body.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

Names = frozenset[str]
EMPTY: Names = frozenset()


class Liveness:
    """Live names of one function body, whose arguments are ``parameters``.

    ``after[stmt]``: names read after a `for` or `if`; ``head[stmt]``: names read after
    a `for` or in a further iteration of it.
    """

    def __init__(self, body: Sequence[ast.stmt], parameters: Names = EMPTY) -> None:
        self._variables = parameters.union(*(stores(stmt) for stmt in body))
        self.after: dict[ast.stmt, Names] = {}
        self.head: dict[ast.stmt, Names] = {}
        self._summary: dict[ast.stmt, tuple[Names, Names]] = {}
        self._visit(body, EMPTY)

    def _visit(self, body: Sequence[ast.stmt], out: Names) -> None:
        for stmt in reversed(body):
            match stmt:
                case ast.For():
                    self.after[stmt] = out
                    gen, _ = self._block(stmt.body)
                    self.head[stmt] = out | (gen - stores(stmt.target))
                    self._visit(stmt.body, self.head[stmt])
                case ast.If():
                    self.after[stmt] = out
                    self._visit(stmt.body, out)
                    self._visit(stmt.orelse, out)
                case ast.With():
                    self._visit(stmt.body, out)
                case _:
                    pass
            gen, kill = self._statement(stmt)
            out = gen | (out - kill)

    def _block(self, body: Sequence[ast.stmt]) -> tuple[Names, Names]:
        gen, kill = EMPTY, EMPTY
        for stmt in reversed(body):
            g, k = self._statement(stmt)
            gen, kill = g | (gen - k), kill | k
        return gen, kill

    def _statement(self, stmt: ast.stmt) -> tuple[Names, Names]:
        if stmt not in self._summary:
            self._summary[stmt] = self._summarise(stmt)
        return self._summary[stmt]

    def annotates(self, stmt: ast.stmt) -> bool:
        """Whether a statement of the body is an annotation.

        `bar.expect(...)` is none: `bar` is a variable, and not the module.
        """
        return is_annotation(stmt, self._variables)

    def _summarise(self, stmt: ast.stmt) -> tuple[Names, Names]:
        if self.annotates(stmt):
            return EMPTY, EMPTY
        match stmt:
            case ast.For():
                gen, _ = self._block(stmt.body)
                return loads(stmt.iter) | (gen - stores(stmt.target)), EMPTY
            case ast.If():
                gen_a, kill_a = self._block(stmt.body)
                gen_b, kill_b = self._block(stmt.orelse)
                return loads(stmt.test) | gen_a | gen_b, kill_a & kill_b
            case ast.With():
                gen, kill = self._block(stmt.body)
                bound = EMPTY.union(
                    *(stores(i.optional_vars) for i in stmt.items if i.optional_vars)
                )
                used = EMPTY.union(*(loads(i.context_expr) for i in stmt.items))
                return used | (gen - bound), kill | bound
            case ast.AugAssign(target=ast.Name(id=name)):
                return loads(stmt.value) | {name}, frozenset({name})
            case _:
                return loads(stmt), stores(stmt)


ANNOTATIONS = ("tag", "check", "assume", "expect", "trust")


def is_annotation(stmt: ast.stmt, variables: Names = EMPTY) -> bool:
    """Whether a statement is `ag.check(...)` or the like, of none of ``variables``.

    An annotation keeps no variable alive: what is carried is the same without it.
    """
    match stmt:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr))
        ):
            return attr in ANNOTATIONS and name not in variables
        case _:
            return False


# A kernel is read once for each specialisation, and bodies of loops more often; its
# syntax does not change.
@lru_cache(maxsize=16384)
def loads(node: ast.AST) -> Names:
    """Names that a piece of syntax reads."""
    return frozenset(
        n.id
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    )


@lru_cache(maxsize=16384)
def stores(node: ast.AST) -> Names:
    """Names that a piece of syntax assigns."""
    return frozenset(
        n.id
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )


def assigned(body: Sequence[ast.stmt]) -> Names:
    """Names that a block assigns on some path."""
    return EMPTY.union(*(stores(s) for s in body))
