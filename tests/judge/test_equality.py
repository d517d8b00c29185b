"""Candidates are compared as terms with a kernel that is right, before a run."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from argus import kernels
from argus.equivalence import kept
from argus.equivalence.programs import programs_of
from argus.evaluation.judge import checking, equality, knobs
from argus.evaluation.judge.candidate import request_of
from argus.evaluation.judge.checking import CandidateCheck, Clock, check
from argus.evaluation.judge.equality import compared
from argus.evaluation.judge.knobs import settled
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.simulating import simulated
from argus.evaluation.judge.subject import subject_of
from argus.lang.kernel import load_kernels
from argus.runs.records import Candidate, JudgeVerdict, LibraryProblem, Problem
from few import few
from judge.cheats import CHEATS, PROBLEMS
from judge.problems import AFFINE, GEMM, SOFTMAX, TASK

ATTENTION = LibraryProblem(
    entry="attention", sizes={"B": 1, "H": 2, "G": 1, "S": 100, "T": 150, "D": 64}
)
KERNEL = TASK[: TASK.index("@ag.reference")]
STORED = "Y[i * BM :, j * BN :] = ACT(x * alpha) + w"


def checked(
    problem: Problem, candidate: Candidate, undecided: str = ""
) -> JudgeVerdict:
    """The verdict before anything runs."""
    return _check(problem, candidate, undecided).verdict


def _check(
    problem: Problem, candidate: Candidate, undecided: str = ""
) -> CandidateCheck:
    job = Job(kind="check", problem=problem, candidate=candidate, undecided=undecided)
    return check(job, Clock(lambda stage, within="": None))


def affine(lines: str) -> Candidate:
    """The kernel of the task with other lines for its store."""
    assert STORED in KERNEL
    return Candidate(source=KERNEL.replace(STORED, lines), kernel="affine")


def test_a_right_candidate_is_proved_equal() -> None:
    made = checked(AFFINE, affine(STORED.replace("x * alpha", "alpha * x")))
    assert made.status == "correct"
    assert made.equality is not None and made.equality.verdict == "equal"
    assert "proved equal to `affine`, the problem's own kernel" in made.summary


def test_a_wrong_candidate_is_refuted_and_not_even_built() -> None:
    lines = f"y = {STORED.partition(' = ')[2]}\n    if M == 777:\n        y = y * 2.0\n"
    made = checked(AFFINE, affine(f"{lines}    Y[i * BM :, j * BN :] = y"))
    assert (made.status, made.stage) == ("refuted", "verify")
    (found,) = made.findings
    assert found.code == "AG0322" and "`affine` says" in found.message
    assert found.counterexample is not None
    assert found.counterexample["sizes"]["M"] == 777  # pyright: ignore[reportIndexIssue]
    assert made.resources is None and "build" not in made.seconds
    assert made.equality is not None and made.equality.verdict == "refuted"


def test_sizes_are_those_that_the_problem_admits() -> None:
    # Both sizes of the problem are divisible by 8.
    y = STORED.partition(" = ")[2]
    lines = f"y = {y}\n    if N % 8 == 3:\n        y = y * 2.0\n"
    made = checked(AFFINE, affine(f"{lines}    Y[i * BM :, j * BN :] = y"))
    assert made.equality is not None and made.equality.verdict == "equal"


def test_the_naive_kernel_is_the_specification_of_a_library_problem() -> None:
    for problem in (SOFTMAX, GEMM):
        subject = subject_of(problem)
        choice = subject.entry.choose(subject.case, subject.target)
        source = Path(choice.kernel.file).read_text()
        request = request_of(
            Candidate(source=source, kernel=choice.kernel.name), subject
        )
        made = compared(request, programs_of(request), subject)
        assert "the naive kernel" in made.other
        assert made.record.verdict == "equal", made.record.reason


def test_rounding_is_left_to_tests() -> None:
    cheat = next(c for c in CHEATS if c.why == "no maximum")
    problem = cheat.problem.model_copy(update={"sizes": {"M": 32, "N": 1024}})
    passed = _check(problem, cheat.candidate)
    known = passed.verdict.equality
    assert known is not None and known.verdict == "equal"
    job = Job(kind="simulate", problem=problem, candidate=cheat.candidate)
    made = simulated(job, passed, Clock(lambda stage, within="": None))
    assert made.status == "wrong"
    assert "in real arithmetic it is right" in made.summary
    assert made.equality == known


def test_what_is_not_decided_is_said_and_tested() -> None:
    """A comparison that was killed is not the candidate's fault."""
    made = checked(AFFINE, affine(STORED), undecided="comparing terms took 60 s")
    assert made.status == "correct"
    assert made.equality is not None and made.equality.verdict == "unknown"
    assert made.equality.reason == "comparing terms took 60 s"
    assert "tested only, not proved equal to `affine`" in made.summary
    assert made.equality.reason in made.summary


def test_data_flow_that_is_open_is_settled_by_equality() -> None:
    made = checked(AFFINE, affine(f"{STORED}\n    {STORED}"))
    assert made.status == "correct", made.summary
    other = STORED.replace("+ w", "- w")
    made = checked(AFFINE, affine(f"{other}\n    {STORED}"))
    assert made.status == "correct", "the last store counts"
    made = checked(AFFINE, affine(f"{STORED}\n    {other}"))
    assert made.status == "refuted"


def test_what_was_shown_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subject_of(AFFINE)
    request = request_of(affine(STORED.replace("+ w", "+ w + 0.0")), subject)
    programs = programs_of(request)
    first = compared(request, programs, subject)
    monkeypatch.delattr(kept, "decided_alike")
    again = compared(request, programs, subject)
    assert first.record == again.record and again.record.verdict == "equal"


def test_knobs_are_decided_without_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(knobs, "driven")
    assert settled(PROBLEMS["elements"], {"BM": (8, 32), "BN": (32,)}) == {}
    made = settled(PROBLEMS["window"], {"W": (512,), "CAUSAL": (False,)})
    assert made.keys() == {"W", "CAUSAL"}
    assert "`window` as it is" in made["W"] or "`window` says" in made["W"]


def test_nothing_is_compared_where_nothing_is_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(checking, "compared")
    race = (Path(__file__).parent / "exploits" / "race_overwrite.txt").read_text()
    made = checked(AFFINE, Candidate(source=race, kernel="affine"))
    assert made.status == "refuted" and made.equality is None


MISTAKES = {
    "the fill of a sum": (
        SOFTMAX,
        "norms/forms/softmax_passes.py",
        "fill=-ag.inf).to(f32)\n            total",
        "fill=0.0).to(f32)\n            total",
    ),
    "a tile left out": (
        SOFTMAX,
        "norms/forms/softmax_passes.py",
        "ag.range(0, N, BN):\n            x = ag.load(X[m:, n:], (ROWS, BN), "
        "fill=-ag.inf).to(f32)\n            total",
        "ag.range(BN, N, BN):\n            x = ag.load(X[m:, n:], (ROWS, BN), "
        "fill=-ag.inf).to(f32)\n            total",
    ),
    "an offset": (GEMM, "gemm/forms/naive.py", "bn * BN :, k:]", "bn * BN :, k + 1:]"),
    "no rescaling": (ATTENTION, "attention/forms/naive.py", "l * alpha", "l"),
    "another head": (ATTENTION, "attention/forms/naive.py", "h // (H // G)", "h % G"),
}
"""Problems, the start kernel's file, and a change that shows at few sizes only."""


@pytest.mark.parametrize(
    "mistake", few(MISTAKES, "a tile left out", "an offset", "another head")
)
def test_the_start_kernel_has_a_witness_before_anything_runs(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for_slow_machines = partial(equality.located, seconds=4.0)
    monkeypatch.setattr(equality, "located", for_slow_machines)
    problem, file, right, bad = MISTAKES[mistake]
    source = (Path(kernels.__file__).parent / file).read_text()
    assert source.count(right) == 1
    (name,) = load_kernels(file, source).kernels
    statics = {"D": 64} if problem is ATTENTION else {}
    candidate = Candidate(
        source=source.replace(right, bad), kernel=name, statics=statics
    )
    made = checked(problem, candidate)
    assert (made.status, made.stage) == ("refuted", "verify")
    assert made.equality is not None and made.equality.verdict == "refuted"
    found = made.findings[-1]
    assert found.code == "AG0322" and found.counterexample is not None
