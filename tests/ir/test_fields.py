"""What an operation reads and defines follows from the types of its fields."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import pytest

from argus.diagnostics import Span
from argus.evaluation.requests import request_for
from argus.ir import fields as f
from argus.ir import ops as o
from argus.ir import walk as w
from argus.ir.expr import Expr, Sym
from argus.ir.op import Op, Operand
from argus.ir.program import Program
from argus.kernels.library import LIBRARY
from argus.requests import placed_program

HERE = Span("made.py", 1, 1, 1, 2)
COLLECTORS = [x for x in vars(f).values() if isinstance(x, f.Collector)]
QUESTIONS = (
    w.used, w.defined, w.arguments, w.mentioned, w.expressions, w.plan_expressions,
    w.mentioned_expressions, w.bound, w.inner_symbols, w.blocks,
)  # fmt: skip


def leaves(cls: type[Op]) -> set[type[Op]]:
    below = cls.__subclasses__()
    return {cls} if not below else {x for sub in below for x in leaves(sub)}


def test_the_list_of_operations_has_all_of_them() -> None:
    bases = {o.StoreGlobal}  # an operation, and what an atomic one is, too
    found = {x for x in leaves(Op) if x.__module__.startswith("argus.")}
    assert set(o.OPS) == found | bases


@pytest.mark.parametrize("cls", o.OPS)
def test_every_field_of_every_operation_has_a_role(cls: type[Op]) -> None:
    for collector in COLLECTORS:
        collector.table(cls)


@pytest.mark.parametrize("hint", [o.Tile, Sym, dict[str, Expr], object])
def test_a_field_without_a_role_is_an_error(
    hint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(eq=False)
    class Made(Op):
        src: Operand[o.Tile]
        other: hint

    monkeypatch.setattr(o, "OPS", (*o.OPS, Made))
    with pytest.raises(f.FieldError, match=r"Made\.other"):
        w.used(Made(None, None, span=HERE))  # type: ignore[arg-type]


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_no_operation_has_no_answer(question: Any) -> None:
    @dataclass(eq=False)
    class Unlisted(Op):
        pass

    with pytest.raises(f.FieldError, match="Unlisted"):
        question(Unlisted(span=HERE))
    for part in (None, HERE, o.Block()):
        with pytest.raises(f.FieldError):
            question(part)


# ------------------------------------------- against what the values really hold


def reachable(value: Any, found: list[Any]) -> None:
    """Tiles, expressions and blocks in a value, whatever its type says."""
    if isinstance(value, o.Tile | Expr | o.Block):
        found.append(value)
    elif isinstance(value, tuple | list):
        for x in value:
            reachable(x, found)
    elif is_dataclass(value) and type(value) not in (*f.DECLARATIONS, *f.ATTRIBUTES):
        for field in fields(value):
            reachable(getattr(value, field.name), found)


def programs() -> list[Program]:
    names = ("gemm", "attention", "softmax", "gather_rows", "paged_attention")
    chosen = [LIBRARY[name] for name in names if name in LIBRARY] or [*LIBRARY.values()]
    return [placed_program(request_for(x, x.large[0], "sm_90a")[0]) for x in chosen[:4]]


def test_nothing_that_an_operation_holds_is_left_out() -> None:
    count = 0
    for program in programs():
        for op in w.walk(program.body):
            held: list[Any] = []
            for field in fields(op):
                reachable(getattr(op, field.name), held)
            told = [x for question in QUESTIONS for x in question(op)]
            assert sorted(map(id, held)) == sorted(map(id, told)), op
            count += len(held)
    assert count > 500
