"""Single changes of what orders a kernel: waits, arrivals, fences, phases and counts.

    GUARDS["unguarded"](functions, rng) -> (line, change), ...

They are as the kinds of `changes.py`, drawn where only order is to be changed.
"""

from __future__ import annotations

import ast
from itertools import pairwise
from random import Random

from generate.changes import Change, Finder, Functions, Places

_GUARDS = {
    "wait", "arrive", "expect", "sync", "fence_async", "cluster_sync", "release",
    "cp_async_wait", "cp_async_commit", "cp_async_arrive", "tma_store_wait", "next",
    "wgmma_wait",
}  # fmt: skip


def _called(node: ast.AST) -> str:
    if isinstance(node, ast.Expr | ast.Assign):
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr
    return ""


def _bodies(functions: Functions) -> list[list[ast.stmt]]:
    found: list[list[ast.stmt]] = []
    for function in functions:
        for node in ast.walk(function):
            for name in ("body", "orelse"):
                part = getattr(node, name, None)
                if isinstance(part, list) and part:
                    found.append(part)
    return found


def unguarded(functions: Functions, rng: Random) -> Places:
    """A wait, an arrival, a fence, a sync or an announcement is left out."""
    del rng
    for body in _bodies(functions):
        for i, statement in enumerate(body):
            if isinstance(statement, ast.Expr) and _called(statement) in _GUARDS:

                def change(body: list[ast.stmt] = body, i: int = i) -> None:
                    body[i : i + 1] = [] if len(body) > 1 else [ast.Pass()]

                yield statement.lineno, change


def phase(functions: Functions, rng: Random) -> Places:
    """A wait is for the completion before or after, or for a group more or less."""
    for function in functions:
        for node in ast.walk(function):
            if _called(node) not in _GUARDS or not isinstance(node, ast.Call):
                continue
            for i, given in enumerate(node.args):
                by = rng.choice((-1, 1))
                if isinstance(given, ast.Constant) and type(given.value) is not int:
                    continue
                op: ast.operator = ast.Add() if by > 0 else ast.Sub()
                new = ast.BinOp(given, op, ast.Constant(1))

                def change(
                    node: ast.Call = node, i: int = i, new: ast.expr = new
                ) -> None:
                    node.args[i] = new

                yield node.lineno, change


def count(functions: Functions, rng: Random) -> Places:
    """Other arrivals, threads or stages; an arrival is per something else."""
    for function in functions:
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            for given in node.keywords:
                value = given.value
                if not isinstance(value, ast.Constant):
                    continue
                new: ast.expr
                if given.arg == "per":
                    kinds = {"thread", "warp", "warpgroup", "role"} - {value.value}
                    new = ast.Constant(rng.choice(sorted(kinds)))
                elif given.arg in ("arrivals", "threads", "stages", "multicast"):
                    step = 32 if given.arg == "threads" else 1
                    if not isinstance(value.value, int):
                        continue
                    new = ast.Constant(max(1, value.value + rng.choice((-step, step))))
                else:
                    continue
                yield node.lineno, _keyword(given, new)
            if _called(node) in ("ring", "barriers") and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, int):
                    other = ast.Constant(max(1, first.value + rng.choice((-1, 1))))

                    def fewer(node: ast.Call = node, new: ast.expr = other) -> None:
                        node.args[0] = new

                    yield node.lineno, fewer


def _keyword(given: ast.keyword, new: ast.expr) -> Change:
    def change() -> None:
        given.value = new

    return change


def guards_swapped(functions: Functions, rng: Random) -> Places:
    """Two guards of one body change places, or one moves past its neighbour."""
    del rng
    for body in _bodies(functions):
        places = [i for i, s in enumerate(body) if _called(s) in _GUARDS]
        pairs = set(pairwise(places))
        pairs |= {(i, i + 1) for i in places if i + 1 < len(body)}
        pairs |= {(i - 1, i) for i in places if i}
        for i, j in sorted(pairs):

            def change(body: list[ast.stmt] = body, i: int = i, j: int = j) -> None:
                body[i], body[j] = body[j], body[i]

            yield body[i].lineno, change


GUARDS: dict[str, Finder] = {
    f.__name__: f for f in (unguarded, phase, count, guards_swapped)
}
"""Every kind of change of order, by name."""
