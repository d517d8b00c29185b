"""Annotations leave no trace: the printed kernel is the same without, so its cubin is.

Checked for kernels that are annotated by hand, and for every kernel of the library with
an annotation before each of its statements.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import argus.kernels
from argus.codegen import emit
from argus.evaluation.requests import default_dtypes
from argus.ir.annotations import annotations_of, without_annotations
from argus.ir.check import check
from argus.ir.dtypes import bf16
from argus.ir.printer import print_program
from argus.lang.frontend.liveness import is_annotation
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from few import few

HERE = Path(__file__).parent
LIBRARY = Path(argus.kernels.__file__).parent
FILES = {
    **{p.parent.name: p for p in sorted(LIBRARY.glob("*/kernel.py"))},
    "annotated": HERE / "kernels" / "annotated.py",
}


def blanked(text: str) -> str:
    """The source with `pass` for annotations, every other line at its place."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and is_annotation(node):
            for i in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[i] = "\n"
            # A block may hold nothing else.
            lines[node.lineno - 1] = " " * node.col_offset + "pass\n"
    return "".join(lines)


def kernels_of(text: str) -> list[ast.FunctionDef]:
    return [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(d) == "ag.kernel" for d in node.decorator_list)
    ]


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for stmt in body:
        yield stmt
        for name in ("body", "orelse"):
            inner = getattr(stmt, name, [])
            # `elif` is an If in the else branch: nothing fits in front of it.
            if name == "orelse" and len(inner) == 1 and isinstance(inner[0], ast.If):
                inner = inner[0].body
            yield from statements(inner)


def annotated(text: str) -> str:
    """The source with an annotation in front of each statement of its kernels."""
    lines = text.splitlines(keepends=True)
    places: set[int] = set()
    for node in kernels_of(text):
        for stmt in statements(node.body):
            docstring = isinstance(stmt, ast.Expr) and isinstance(
                stmt.value, ast.Constant
            )
            if not docstring:
                places.add(stmt.lineno - 1)
    for i in sorted(places, reverse=True):
        indent = lines[i][: len(lines[i]) - len(lines[i].lstrip())]
        extra = ['ag.trust("for the test")', "ag.expect(spills=100)"]
        lines[i:i] = [f"{indent}{x}\n" for x in extra]
    return "".join(lines)


RESULTS = {"norm_forward": {"Y": bf16}}
"""Results of kernels of which all are optional."""


def programs(path: Path, target: str) -> dict[str, object]:
    made = {}
    for name, kernel in load_kernels(path).kernels.items():
        dtypes = default_dtypes(kernel, RESULTS.get(name, {}))
        made[name] = placed_program(Request(kernel, dtypes, {}, target))
    return made


def pair(name: str, folder: Path) -> tuple[Path, Path]:
    """The same file with annotations and without, lines at the same places."""
    text = FILES[name].read_text()
    full = text if name == "annotated" else annotated(text)
    (folder / "with").mkdir()
    (folder / "without").mkdir()
    one, other = folder / "with" / "k.py", folder / "without" / "k.py"
    one.write_text(full)
    other.write_text(blanked(full))
    return one, other


def target_of(name: str) -> str:
    return "sm_80" if "sm80" in name else "sm_90a"


# Large files of statements that the others have, too.
LARGE = {
    *("paged_attention", "varlen_attention", "attention_backward"),
    *("four_bit", "scaled", "single"),
}


@pytest.mark.parametrize("name", few(FILES, *FILES.keys() - LARGE))
def test_the_printed_kernel_is_the_same(name: str, tmp_path: Path) -> None:
    one, other = pair(name, tmp_path)
    target = target_of(name)
    full, bare = programs(one, target), programs(other, target)
    assert full.keys() == bare.keys() and full
    for key, program in full.items():
        assert len(list(annotations_of(program))) > 3
        assert next(annotations_of(bare[key]), None) is None
        check(program)
        stripped = print_program(without_annotations(program))
        assert stripped == print_program(bare[key])
        assert print_program(program) != stripped
        sources = [emit(p) for p in (program, bare[key])]
        assert sources[0].text == sources[1].text
        specs = [str(source.spec.to_json()) for source in sources]
        assert specs[0].replace("/with/", "/without/") == specs[1]
