"""Counts the files of src that know an operation of the IR by its class.

    python tools/operation_files.py [BEFORE]

Prints a line for each operation: how many files name its class, of which packages. What
an operation has in common with others is asked of a base class or of its facts
(`argus.ir.ops`), so that few files have to change where one is added. BEFORE is a
checkout of another version to compare with. `tests/ir/test_operation_files.py` holds
the counts.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from argus.ir import ops as o

NAMES = frozenset(cls.__name__ for cls in o.OPS)
_MODULES = ("argus.ir.ops", "argus.ir.annotations")
_MAY_NAME = re.compile(rf"argus\.ir|class ({'|'.join(NAMES)})\(")
"""What is in the text of each module that names one."""


def named(tree: ast.AST) -> Iterator[str]:
    """Operations whose classes a module names: as ``o.For``, imported, or defined."""
    modules: set[str] = set()
    own: dict[str, str] = {}
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                known = alias.asname or alias.name
                if f"{node.module}.{alias.name}" in _MODULES:
                    modules.add(known)
                elif node.module.startswith("argus.ir") and alias.name in NAMES:
                    own[known] = alias.name
                    yield alias.name
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                if module in modules and name in NAMES:
                    yield name
            case ast.Name(id=name) if name in own:
                yield own[name]
            case ast.ClassDef(name=name, bases=[_, *_]) if name in NAMES:
                yield name
            case _:
                pass


def counted(sources: Path) -> dict[str, set[str]]:
    """For each operation the files below ``sources`` (the package) that name it."""
    found: dict[str, set[str]] = {name: set() for name in NAMES}
    for path in sorted(sources.rglob("*.py")):
        place = path.relative_to(sources)
        text = path.read_text()
        for name in named(ast.parse(text)) if _MAY_NAME.search(text) else ():
            found[name].add(place.as_posix())
    return found


def main(arguments: list[str]) -> None:
    """Print the table, with the counts of another checkout where one is given."""
    here = counted(Path(__file__).parents[1] / "src" / "argus")
    before = counted(Path(arguments[0]) / "src" / "argus") if arguments else here
    for name, files in sorted(here.items(), key=lambda x: (-len(x[1]), x[0])):
        packages = Counter(file.split("/")[0] for file in files)
        where = " ".join(f"{p}:{n}" for p, n in sorted(packages.items()))
        change = f" (was {len(before[name])})" if arguments else ""
        print(f"{len(files):3}{change} {name:16} {where}")


if __name__ == "__main__":
    main(sys.argv[1:])
