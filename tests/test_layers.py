"""No way around the layers of pyproject.toml: imports by name are looked at, too.

`lint-imports` follows the statements `import` and `from`, also those in functions. What
a call imports by name it cannot see; here each such call is one of this list, with what
it loads, and what it loads lies no higher than the file.
"""

import ast
import tomllib
from pathlib import Path

import argus

PACKAGE = Path(argus.__file__).parent
PROJECT = PACKAGE.parents[1] / "pyproject.toml"

LOADED = {
    "agent/operation.py": ("argus.agent.session",),
    "evaluation/arrays.py": ("torch",),
    "evaluation/device.py": ("torch",),
    "evaluation/judge/preload.py": (
        "argus.codegen", "argus.compiler", "argus.evaluation", "argus.interpret",
        "argus.kernels", "argus.lang", "argus.lower", "argus.model", "argus.runtime",
        "argus.verify",
    ),
    "evaluation/judge/ray_executor.py": ("ray",),
    "kernels/library.py": ("argus.kernels",),
    "runtime/nvrtc.py": ("cuda.bindings.nvrtc",),
    "verify/decide/solver.py": ("z3",),
    "verify/verifier.py": ("argus.verify",),
}  # fmt: skip
"""Files that import by name, and the packages that they import."""
CALLS = ("import_module", "__import__", "exec_module", "run_module", "load_module")


def rows() -> dict[str, int]:
    """The row of each part of the package, the lowest being 0."""
    settings = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    contract, *_ = settings["tool"]["importlinter"]["contracts"]
    return {
        part.strip(" ()"): number
        for number, row in enumerate(reversed(contract["layers"]))
        for part in row.split("|")
    }


def calls_by_name(tree: ast.Module) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Attribute) and node.func.attr in CALLS)
            or (isinstance(node.func, ast.Name) and node.func.id in CALLS)
        )
    ]


def test_what_is_imported_by_name_is_known_and_lies_no_higher() -> None:
    found: dict[str, list[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        named = any(name in text for name in CALLS)
        calls = calls_by_name(ast.parse(text)) if named else []
        if not calls:
            continue
        name = file.relative_to(PACKAGE).as_posix()
        words = (c.args[0] for c in calls if c.args)
        found[name] = [w.value for w in words if isinstance(w, ast.Constant)]
    assert sorted(found) == sorted(LOADED)
    row = rows()
    for name, words in found.items():
        own = row[name.split("/")[0].removesuffix(".py")]
        for word in words:
            assert word.startswith(LOADED[name]), f"{name} imports {word}"
        for loaded in LOADED[name]:
            if loaded.startswith("argus."):
                assert row[loaded.split(".")[1]] <= own, f"{name} imports {loaded}"


def test_what_the_judge_loads_before_is_what_the_list_says() -> None:
    tree = ast.parse((PACKAGE / "evaluation/judge/preload.py").read_text("utf-8"))
    names = {
        n.value
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and str(n.value).startswith("argus.")
    }
    assert names
    assert all(n.startswith(LOADED["evaluation/judge/preload.py"]) for n in names)


def test_a_call_by_name_is_found() -> None:
    for text in (
        'importlib.import_module("argus.cli")',
        'def f():\n    return __import__("argus.cli")',
        "from importlib import import_module\nimport_module(name)",
    ):
        assert len(calls_by_name(ast.parse(text))) == 1
