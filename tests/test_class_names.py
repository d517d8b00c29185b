"""A public class of the compiler has a name that no other class has."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import argus

ROOT = Path(argus.__file__).parent

AUTHORS = ("lang/names/",)
"""Names that authors write: stubs of what the compiler has under the same names."""


def _names() -> dict[str, list[str]]:
    """Where each public class is defined; a private one is a matter of its file."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if file.startswith(AUTHORS):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(f"{file}:{node.lineno}")
    return found


def test_each_class_has_a_name_of_its_own() -> None:
    found = _names()
    assert len(found) > 500, "the walk misses the package"
    assert not {name: at for name, at in found.items() if len(at) > 1}
