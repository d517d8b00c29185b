"""Assumptions that no table satisfies are an error, and no others are."""

from __future__ import annotations

from typing import cast

import pytest

from argus.diagnostics import Span
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request, tile_program
from argus.verify.assumptions import obligations
from argus.verify.decide.decision import Decision
from argus.verify.tags.annotated import contradiction
from argus.verify.tags.compare import Agreement
from argus.verify.tags.place import WalkPlace
from argus.verify.verdict import Obligation, Verdict

KERNEL = """
import argus as ag
from argus import f32, i32, u8


@ag.kernel
def k(I: i32["P"], J: i32["P"], B: u8["P"], X: f32["V"], Y: f32["P"]):
    P, V = I.shape[0], X.shape[0]
    {given}
    i = ag.block(ag.cdiv(P, 16))
    Y[i * 16 :] = ag.load(I[i * 16 :], (16,)).to(f32)
"""


def found(given: str) -> list[Obligation]:
    """What is said of assumptions, one on each line."""
    text = KERNEL.format(given=given.strip().replace("\n", "\n    "))
    (kernel,) = load_kernels("assuming.py", text).kernels.values()
    return list(obligations(tile_program(Request(kernel, default_dtypes(kernel, {})))))


DISTINCT = "ag.assume(lambda a, b: a != b, I, pairs=True)\n"
ROWS = "ag.assume(lambda a: (a >= 0) & (a < V), I)\n"
RIGHT = [
    DISTINCT,
    ROWS,
    DISTINCT + ROWS,
    "ag.assume(lambda a, b: a == b, I, pairs=True)",
    "ag.assume(lambda f, l: (f >= 0) & (f <= l) & (l <= V), I, J)",
    "ag.assume(lambda a: a < ag.cdiv(P, 64) * ag.cdiv(V, 64), I)",
    'ag.require(P <= 1, "one")\nag.assume(lambda a, b: a < b, I, pairs=True)',
    "if V > 5:\n    ag.assume(lambda a: a > 3, I)\n"
    "else:\n    ag.assume(lambda a: a < 3, I)",
]
WRONG = [
    "ag.assume(lambda a, b: a < b, I, pairs=True)",
    DISTINCT + "ag.assume(lambda a, b: a == b, I, pairs=True)",
    DISTINCT + "ag.assume(lambda a: (a >= 0) & (a < 3), I)",
    "ag.assume(lambda a: a > 4, I)\nag.assume(lambda a, b: a + b < 8, I, pairs=True)",
    "ag.assume(lambda a, b: a < b, I, J)\nag.assume(lambda a, b: a > b, I, J)",
    "ag.assume(lambda a: a < -1, I)\n" + ROWS,
    'ag.require(V > 9, "long")\nag.assume(lambda a: (a > V) & (a < 9), I)',
    "ag.assume(lambda a: a > 255, B)",
    "ag.assume(lambda a: a > 5, I)\nif V > 5:\n    ag.assume(lambda a: a < 3, I)",
]


@pytest.mark.parametrize("given", RIGHT)
def test_what_some_table_satisfies(given: str) -> None:
    assert [o.verdict for o in found(given)] == [Verdict.PROVED] * given.count("assume")


@pytest.mark.parametrize("given", WRONG)
def test_what_no_table_satisfies(given: str) -> None:
    said = found(given)[-1]
    assert said.rule == "AG0318"
    assert said.verdict is Verdict.REFUTED
    assert said.counterexample is not None
    # The contradiction is shown: each assumption of it, and no other.
    notes = "\n".join(said.counterexample.notes)
    assert notes
    if given.startswith(DISTINCT):
        assert "a != b" in notes


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("b = ag.block(P)\nag.assume(b == 1)", True),
        ("b = ag.block(P)\nif b < 3:\n    ag.assume(b == 1)", True),
        ("b = ag.block(P)\nif b > 3:\n    ag.assume(b == 5)", False),
        (
            "b = ag.block(P)\nif b > 3:\n    ag.assume(V > 5)\n    ag.assume(b < V)",
            False,
        ),
        ("b = ag.block(P)\nag.assume(b < V)", False),
    ],
)
def test_what_is_assumed_of_blocks(given: str, wrong: bool) -> None:
    text = KERNEL.format(given=given.replace("\n", "\n    "))
    text = text.replace("i = ag.block(ag.cdiv(P, 16))", "i = b")
    (kernel,) = load_kernels("assuming.py", text).kernels.values()
    said = obligations(tile_program(Request(kernel, default_dtypes(kernel, {}))))
    assert [o.verdict for o in said] == [Verdict.REFUTED] * wrong


def test_only_what_contradicts_is_shown() -> None:
    given = ROWS + "ag.assume(lambda a: a % 2 == 0, I)\n"
    said = found(given + "ag.assume(lambda a: a % 2 == 1, I)")[-1]
    assert said.counterexample is not None
    assert all("% 2" in note for note in said.counterexample.notes)
    assert len(said.counterexample.notes) == 2


def test_what_the_solver_does_not_say_is_unknown() -> None:
    given = "ag.assume(lambda a, b: (a - b) * (a - b) == 1, I, pairs=True)"
    (said,) = found(given)
    assert said.verdict in (Verdict.UNKNOWN, Verdict.REFUTED)


@pytest.mark.parametrize("verdict", [Verdict.UNKNOWN, Verdict.REFUTED])
def test_what_is_not_known_of_block_0_is_said(
    verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No time for the question whether anything is possible is no answer to it."""
    monkeypatch.setattr(
        "argus.verify.assumptions.prove", lambda *_, **__: Decision(verdict, "z3")
    )
    text = KERNEL.format(given="b = ag.block(P)\n    ag.assume(b < V)")
    text = text.replace("i = ag.block(ag.cdiv(P, 16))", "i = b")
    (kernel,) = load_kernels("assuming.py", text).kernels.values()
    said = obligations(tile_program(Request(kernel, default_dtypes(kernel, {}))))
    open_ = verdict is Verdict.UNKNOWN
    assert [o.verdict for o in said] == [Verdict.UNKNOWN] * open_


class _Place:
    """A place of which the solver says a verdict."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.scope = self
        self.said: list[Verdict] = []

    def contradictory(self) -> Decision:
        """See `argus.verify.tags.scope.Scope`."""
        return Decision(self.verdict, "z3", "timeout")

    def report(
        self, rule: str, claim: str, span: Span, found: Agreement, *_: str
    ) -> None:
        """See `argus.verify.tags.state.WalkPlace`."""
        self.said.append(found.verdict)


@pytest.mark.parametrize(
    ("possible", "said"),
    [
        (Verdict.REFUTED, []),
        (Verdict.PROVED, [Verdict.REFUTED]),
        (Verdict.UNKNOWN, [Verdict.UNKNOWN]),
    ],
)
def test_requirements_that_may_contradict_each_other(
    possible: Verdict, said: list[Verdict]
) -> None:
    place = _Place(possible)
    contradiction(cast(WalkPlace, place), Span("kernel.py", 1, 1, 1, 1))
    assert place.said == said
