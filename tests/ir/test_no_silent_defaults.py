"""No reader of the representation passes over what it does not know.

In the packages that read operations, expressions and plans:

- A ``match`` that has an arm for everything (``case _``, or a bare name) raises there,
  or calls ``assert_never``. One without such an arm is complete, or pyright (strict)
  reports it; one on operations always has such an arm, since an operation that is not
  listed in `AnyOp` is unknown to pyright, too.
- A table by type is read with ``[]``, not with ``.get`` and a default; no attribute is
  looked up with a default.
- A chain ``if isinstance ... elif isinstance ...`` over operations, expressions or
  plans has an ``else``. A single question is a filter, and passes over the rest.

So an arm that does nothing names whom it does nothing for: classes, or one of the base
classes in :mod:`argus.ir.op`, which say why a reader may leave them alone.
"""

import ast
import copy
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import argus
from argus.codegen.emit import emit
from argus.diagnostics import Span
from argus.evaluation.requests import request_for
from argus.ir import ops as o
from argus.ir import placement as p
from argus.ir.check import check
from argus.ir.fields import FieldError
from argus.ir.op import Op
from argus.ir.printer import print_program
from argus.kernels.library import LIBRARY
from argus.lower import place
from argus.model.predict import predict
from argus.requests import placed_program
from argus.verify.verifier import verify

SOURCES = Path(argus.__file__).parent
PACKAGES = (
    "ir", "lower", "verify", "interpret", "codegen", "model", "evaluation/tiles",
)  # fmt: skip
OPS = {cls.__name__ for base in o.OPS for cls in base.__mro__ if issubclass(cls, Op)}
CLOSED = OPS | {"Const", "Sym", "Binary", "Select"}
CLOSED |= {cls.__name__ for cls in (p.VectorPlan, p.TmaPlan, p.WgmmaPlan, p.MmaPlan)}


def findings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and kind of each silent default."""
    inner = {id(x.orelse[0]) for x in ast.walk(tree) if _has_elif(x)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Match):
            last = node.cases[-1]
            if _takes_everything(last.pattern):
                if not _is_loud(last.body):
                    yield last.pattern.lineno, "a default that passes"
            elif _classes(node) & OPS:
                yield node.lineno, "a match on operations that ends without a default"
            for case in node.cases[:-1]:
                if _takes_everything(case.pattern) and not _is_loud(case.body):
                    yield case.pattern.lineno, "a guarded default that passes"
        elif isinstance(node, ast.If) and id(node) not in inner:
            chain = list(_chain(node))
            asked = sum(1 for x in chain if _asks_for_a_class(x.test))
            if asked > 1 and not chain[-1].orelse:
                yield node.lineno, "a chain of isinstance without else"
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            by_type = bool(node.args) and ast.unparse(node.args[0]).startswith("type(")
            if name.endswith(".get") and by_type and len(node.args) > 1:
                yield node.lineno, "a table by type with a default"
            if name == "getattr" and len(node.args) == 3:
                yield node.lineno, "an attribute with a default"


def _has_elif(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and len(node.orelse) == 1
        and isinstance(node.orelse[0], ast.If)
    )


def _chain(node: ast.If) -> Iterator[ast.If]:
    yield node
    if _has_elif(node):
        yield from _chain(node.orelse[0])  # type: ignore[arg-type]


def _asks_for_a_class(test: ast.expr) -> bool:
    """`isinstance` of one of the closed unions, anywhere in a condition."""
    return any(
        isinstance(call, ast.Call)
        and ast.unparse(call.func) == "isinstance"
        and {ast.unparse(x).split(".")[-1] for x in ast.walk(call.args[1])
             if isinstance(x, ast.Name | ast.Attribute)} & CLOSED
        for call in ast.walk(test)
    )  # fmt: skip


def _classes(node: ast.Match) -> set[str]:
    patterns = (x for case in node.cases for x in ast.walk(case.pattern))
    found = (x.cls for x in patterns if isinstance(x, ast.MatchClass))
    # Steps of the model and syntax have classes of the same names elsewhere.
    return {ast.unparse(x)[2:] for x in found if ast.unparse(x).startswith("o.")}


def _takes_everything(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return any(_takes_everything(x) for x in pattern.patterns)
    if isinstance(pattern, ast.MatchSequence):
        return all(_takes_everything(x) for x in pattern.patterns)
    return isinstance(pattern, ast.MatchAs) and (
        pattern.pattern is None or _takes_everything(pattern.pattern)
    )


def _is_loud(body: list[ast.stmt]) -> bool:
    last = body[-1]
    if isinstance(last, ast.Raise):
        return True
    call = last.value if isinstance(last, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) == "assert_never"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_default_passes_in_silence(package: str) -> None:
    files = sorted((SOURCES / package).rglob("*.py"))
    assert files
    found = [
        f"{path.relative_to(SOURCES)}:{line}: {kind}"
        for path in files
        for line, kind in findings(ast.parse(path.read_text()))
    ]
    assert not found, "\n".join(found)


def test_incomplete_matches_are_errors_of_the_type_checker() -> None:
    """Strict pyright reports a match that does not handle all values."""
    settings = tomllib.loads((SOURCES.parents[1] / "pyproject.toml").read_text())
    pyright = settings["tool"]["pyright"]
    assert pyright["strict"] == ["src/argus"]
    assert "reportMatchNotExhaustive" not in pyright


@pytest.mark.parametrize(
    "text",
    [
        "match op:\n case o.For(): x\n case _: pass",
        "match op:\n case o.For(): x\n case other: y(other)",
        "match op:\n case o.For(): x",
        "match op:\n case _ if quick: pass\n case _: raise ValueError",
        "match a, b:\n case Const(), Const(): x\n case _, _: y",
        "match kind:\n case 'let' | _: x",
        "if isinstance(op, o.For): x\nelif isinstance(op, o.If): y",
        "if a: x\nelif isinstance(e, Const): y\nelif b and isinstance(e, Sym): z",
        "table.get(type(op), nothing)",
        "getattr(op, 'plan', None)",
    ],
)  # fmt: skip
def test_each_kind_is_found(text: str) -> None:
    assert list(findings(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        "match op:\n case o.For(): x\n case _: assert_never(op)",
        "match op:\n case o.For(): x\n case _: raise TypeError(op)",
        "match e:\n case Const(): x\n case Sym() | Binary(): pass",
        "if isinstance(op, o.For): x",
        "if isinstance(op, o.For): x\nelif isinstance(op, o.If): y\nelse: z",
        "table[type(op)]",
    ],
)
def test_what_is_complete_is_not_found(text: str) -> None:
    assert not list(findings(ast.parse(text)))


# --------------------------------------- an operation that nobody has heard of


@dataclass(eq=False)
class Unheard(Op):
    """An operation that is in no list and of no kind."""


def with_unheard() -> Any:
    made = copy.deepcopy(placed())
    made.body.ops.insert(0, Unheard(span=Span("made.py", 1, 1, 1, 2)))  # type: ignore[arg-type]
    return made


def sizes() -> dict[str, int]:
    return dict(LIBRARY["softmax"].large[0].sizes)


@cache
def placed() -> Any:
    entry = LIBRARY["softmax"]
    return placed_program(request_for(entry, entry.large[0], "sm_90a")[0])


READERS: dict[str, Any] = {
    "check": check,
    "printer": print_program,
    "place": place,
    "codegen": emit,
    "order": lambda program: verify(program, only=("order",)),
    "tags": lambda program: verify(program, only=("tags",)),
    "performance": lambda program: verify(program, only=("performance",)),
    "model": lambda program: predict(program, sizes()),
}


@pytest.mark.parametrize("reader", READERS)
def test_an_operation_that_nobody_knows_stops_every_reader(reader: str) -> None:
    with pytest.raises(
        (AssertionError, FieldError, KeyError, TypeError), match="Unheard"
    ):
        list(READERS[reader](with_unheard()) or ())
