"""The language in short, for prompts: made from the stubs that authors' editors read.

So it cannot say anything that the language does not have. What a call does is the first
paragraph of its documentation.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib.resources import files

_NAMES = "argus.lang.names"
_MODULES = ("decorators", "grid", "memory", "compute", "sync", "annotate")
"""Modules of names that are written `ag.NAME`."""
_LAYOUTS = "layouts"
_KINDS = "values"
"""The module with the kinds of value; their methods."""


@cache
def language_reference() -> str:
    """Every name of the language with its signature and what it does."""
    parts: list[str] = []
    for module in _MODULES:
        parts += _functions(module, "ag.")
    parts += _functions(_LAYOUTS, "ag.layouts.")
    # Inline functions that come with the language.
    parts += _functions("library", "ag.", "argus.lang")
    return "\n".join([*parts, "", *_methods()])


def _tree(module: str, package: str = _NAMES) -> ast.Module:
    path = files(package).joinpath(f"{module}.py")
    return ast.parse(path.read_text(encoding="utf-8"))


def _functions(module: str, prefix: str, package: str = _NAMES) -> list[str]:
    found = [n for n in _tree(module, package).body if isinstance(n, ast.FunctionDef)]
    return [_line(prefix, f) for f in found if not f.name.startswith("_")]


def _methods() -> list[str]:
    found: list[str] = []
    for kind in _tree(_KINDS).body:
        if not isinstance(kind, ast.ClassDef) or kind.name.startswith("_"):
            continue
        found.append(f"{kind.name}: {_sentence(kind)}")
        for node in kind.body:
            if isinstance(node, ast.AnnAssign):
                found.append(f"  .{ast.unparse(node)}")
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found.append("  " + _line(".", node))
    return found


def _line(prefix: str, function: ast.FunctionDef) -> str:
    arguments = ast.unparse(function.args)
    if prefix == ".":
        arguments = arguments.removeprefix("self").removeprefix(", ")
    returns = ""
    if function.returns is not None:
        kind = ast.unparse(function.returns)
        returns = "" if kind in ("None", "object") else f" -> {kind}"
    text = _sentence(function)
    return f"{prefix}{function.name}({arguments}){returns}" + (
        f"  # {text}" if text else ""
    )


def _sentence(node: ast.FunctionDef | ast.ClassDef) -> str:
    """The first paragraph of the documentation, on one line."""
    return " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
