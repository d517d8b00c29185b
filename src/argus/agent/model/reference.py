"""The language in short, for agents: what a file is, and every name there is.

The reference is made from the stubs that authors' editors read, so it cannot say
anything that the language does not have. What a call does is the first paragraph of its
documentation.
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

LANGUAGE = """\
A file holds: a docstring; `import argus as ag` and `from argus import bf16, f32,
...`; constants; functions marked `@ag.kernel` or `@ag.inline`. There is nothing
else in it: no other import, no class, no call at the top level. A function marked
`@ag.reference` says what the kernel computes; it may be left out. In functions
there are assignments, `for`, `if`, `with`, `assert` on static conditions, and calls
of the language; there is no `while`, `try`, comprehension or nested function.

Parameters before `*` are tensors and scalars; those after it are static and have
defaults. Types: bf16 f16 e4m3 e5m2 f32 f64 i8 u8 i16 u16 i32 u32 i64 u64 boolean,
groups ag.half ag.float ag.any; `bf16["M K"]` names the dimensions of a tensor. In a
slice, `a :` begins at `a` and has the size that the context gives; no step. Elements
outside a tensor read as `fill` and are not written, so there is no tail code.
Operands of `ag.dot` and of arithmetic meet by dimension name.
Nothing is converted silently:
write `.to(bf16)`. Tiles have the operators `+ - * / // %`, comparisons, `& | ^ ~`
and `@` (a product); `ag.inf` is infinity.

In a kernel with roles (`with ag.role("load", warps=1):` and so on, at the end of
the kernel), each role is a program of its own: loops that fill a ring and loops
that drain it must agree in number. Waits, fences, barrier phases and byte counts of
rings are inserted.

The compiler proves, for all sizes, that the right elements meet, that every output
is written once, that nothing is out of bounds, and that no access races. What is
not proved is refused, with a counterexample. So are kernels with `ag.assume` or
`ag.trust` that the given kernel does not have.
"""
"""What a file holds, what its words mean, and what is proved of it."""


def language_guide() -> str:
    """What a file is, then the reference; for who has no other documentation."""
    return f"{LANGUAGE}\n{language_reference()}\n"


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
