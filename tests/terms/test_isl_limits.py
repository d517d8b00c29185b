"""isl may take minutes for one question: each is asked in a limited number of steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import argus

SOURCE = Path(argus.__file__).parent
LIMITS = {"asking", "subtracting", "solving"}
SHARED = {"conjoined", "hull", "parameters", "simplest", "plain"}
"""Functions of `isl_sets` and `sets` that take or give sets of isl."""
CONSTANT = {("terms/space.py", "Space", "__init__")}
"""Asks of a set that is written there."""


def names_isl(node: ast.AST | None) -> bool:
    """Whether an annotation mentions a class of isl."""
    return node is not None and any(
        isinstance(x, ast.Attribute)
        and isinstance(x.value, ast.Name)
        and x.value.id == "isl"
        and x.attr != "Error"
        for x in ast.walk(node)
    )


def is_helper(node: ast.FunctionDef) -> bool:
    """Whether a function takes or gives values of isl: who calls it has a limit."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return names_isl(node.returns) or any(names_isl(a.annotation) for a in every)


def is_limited(node: ast.With) -> bool:
    """Whether the inside of a statement has a limit."""
    return any(
        isinstance(x, ast.Attribute) and x.attr in LIMITS
        for item in node.items
        for x in ast.walk(item.context_expr)
    )


def asks(node: ast.AST, helpers: set[str]) -> bool:
    """Whether an expression is a value of isl, or makes one."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in helpers
        case ast.Call(func=ast.Attribute(value=ast.Attribute() as inner)):
            return names_isl(inner)
        case ast.Attribute(attr="isl"):
            return True
        case _:
            return False


def is_test(node: ast.AST) -> bool:
    """``isinstance(x.isl, bool)`` and ``x.isl is True`` ask nothing."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance")):
            return True
        case ast.Compare(ops=[ast.Is()]):
            return True
        case _:
            return False


def unlimited(tree: ast.AST, helpers: set[str], file: str) -> Iterator[int]:
    """Lines in which isl is asked without a limit."""

    def inside(node: ast.AST, path: tuple[str, ...]) -> Iterator[int]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.ClassDef(name=name):
                    yield from inside(child, (*path, name))
                case ast.FunctionDef(name=name):
                    within = (*path, name)
                    if not is_helper(child) and (file, *within) not in CONSTANT:
                        for statement in child.body:
                            yield from inside(ast.Module([statement], []), within)
                case ast.With() if is_limited(child):
                    continue
                case _ if is_test(child):
                    continue
                case _:
                    if path and asks(child, helpers):
                        assert isinstance(child, ast.expr)
                        yield child.lineno
                    else:
                        yield from inside(child, path)

    yield from inside(tree, ())


def test_isl_is_asked_within_limits() -> None:
    seen = 0
    found: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        text, file = path.read_text(), path.relative_to(SOURCE).as_posix()
        if "argus.terms" not in text and not file.startswith("terms/"):
            continue
        tree = ast.parse(text)
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
        helpers = {n.name for n in functions if is_helper(n)}
        names = {
            a.name
            for n in ast.walk(tree)
            if isinstance(n, ast.ImportFrom) and n.module is not None
            and n.module in ("argus.terms.isl_sets", "argus.terms.sets")
            for a in n.names
        }  # fmt: skip
        helpers |= names & SHARED
        seen += bool(helpers)
        found += [f"{file}:{n}" for n in unlimited(tree, helpers, file)]
    assert seen > 5
    assert not found, found


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (
            "def f(w, x):\n    with w.space.asking:\n        return x.isl.is_empty()",
            True,
        ),
        ("def f(w, x):\n    return x.isl.is_empty()", False),
        ("def f(w, x: isl.Set):\n    return x.is_empty()", True),
        ("def f(w, x):\n    return plain(x)", False),
        ("def f(w):\n    return isl.Set.read_from_str(w, '')", False),
        ("def f(w, x):\n    return isinstance(x.isl, bool) or x.isl is True", True),
    ],
)
def test_what_is_asked_without_a_limit_is_found(text: str, right: bool) -> None:
    assert (not list(unlimited(ast.parse(text), {"plain"}, "f.py"))) == right
