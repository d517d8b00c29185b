"""A random part of the mutation report: nothing that the interpreter shows is proved.

The whole report is written by `tools/mutation_report.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from argus.equivalence.programs import programs_of
from argus.evaluation.requests import request_for
from argus.ir.printer import print_program
from argus.ir.program import Program
from argus.verify.refinement import gaps
from argus.verify.tags import ProgramScope, accessed, named
from argus.verify.verdict import Obligation, Verdict
from argus.verify.verifier import verify
from few import few, spread
from verifier.report.subjects import OPERATORS, SUBJECTS, Mutant, mutants, program_of
from verifier.report.trials import execute, trial

SEED = 11
QUICK = ("gemm one warpgroup", "gemm sm80", "softmax odd", "rmsnorm", "attention tails")
DRAWN = Random(SEED).sample(list(mutants(QUICK, per_operator=1, seed=SEED)), 24)


@pytest.mark.parametrize(
    "mutant", spread(DRAWN, 3), ids=lambda m: f"{m.subject}-{m.operator}-{m.number}"
)
def test_mutant(mutant: Mutant) -> None:
    outcome = trial(mutant, runs=2)
    assert outcome.verdict in ("refuted", "unknown", "proved"), outcome
    if outcome.shown in ("wrong", "fault"):
        assert outcome.verdict != "proved", outcome


DATA = [
    m
    for m in mutants(QUICK, per_operator=1, seed=SEED)
    if OPERATORS[m.operator][0] == "data"
]


@pytest.mark.parametrize("name", few(QUICK, *set(QUICK) - {"gemm one warpgroup"}))
def test_what_names_refute_of_placing_is_seen_without_them(name: str) -> None:
    """So that they need not be asked where terms have decided."""
    subject = SUBJECTS[name]
    request, _ = request_for(subject.entry, subject.case, subject.target)
    tile = programs_of(request).tile
    seen = 0
    for mutant in (m for m in DATA if m.subject == name):
        program, _ = mutant.made()
        if gaps(tile, program) or is_open(accessed(ProgramScope.of(program))):
            seen += 1
        elif not is_open(verify(program, only=("order",)).obligations):
            assert names_refute(program) == set(), mutant
    assert seen > 4


def is_open(found: Iterable[Obligation]) -> bool:
    return any(o.verdict < Verdict.PROVED and not o.slow for o in found)


def names_refute(program: Program) -> set[str]:
    found = named(ProgramScope.of(program))
    return {o.rule for o in found if o.verdict is Verdict.REFUTED}


def test_most_of_them_are_refuted() -> None:
    """One of each operator in one kernel: caught, where the interpreter shows it."""
    found = [trial(m, runs=1) for m in mutants(["softmax odd"], per_operator=2, seed=1)]
    wrong = [x for x in found if x.shown in ("wrong", "fault")]
    assert wrong and all(x.verdict == "refuted" for x in wrong)


def test_a_persistent_grid_is_not_empty() -> None:
    """With tiles rounded down it is, for small sizes."""
    program, _ = Mutant("gemm", "rounded_down", 0).made()
    report = verify(program, only=("tags",))
    assert ("AG0306", Verdict.REFUTED) in {
        (o.rule, o.verdict) for o in report.obligations
    }


def test_a_tile_of_two_heads() -> None:
    """The second half of each key is of another head."""
    boxes = [
        Mutant("attention causal", "load_coordinate", n)
        for n in spread(range(8, 16), 2)
    ]
    verdicts = {verify(m.made()[0], only=("tags",)).verdict for m in boxes}
    assert verdicts == {Verdict.REFUTED}


@pytest.mark.parametrize("name", ["gemm one warpgroup", "grouped gather", "softmax"])
def test_subjects_run_without_a_change(name: str) -> None:
    assert execute(SUBJECTS[name], program_of(name), 1) == ("", "")


def test_a_mutant_is_another_program() -> None:
    before = print_program(program_of("gemm cluster"))
    for mutant in mutants(["gemm cluster"], per_operator=1):
        program, line = mutant.made()
        assert line > 0
        assert print_program(program) != before, mutant
    assert print_program(program_of("gemm cluster")) == before


def test_every_operator_has_a_place() -> None:
    used = {m.operator for m in mutants(SUBJECTS, per_operator=1)}
    # Kernels of the library take turns nowhere, count columns in vectors only, and
    # update what their loops carry in place.
    assert set(OPERATORS) - used <= {"index_axis", "sync_barrier", "carried_back"}


def test_a_solvers_large_numbers_end_in_no_crash() -> None:
    """A model may have more multiprocessors than 64 bits can count."""
    assert verify(program_of("attention causal persistent"), only=("tags",)).obligations
