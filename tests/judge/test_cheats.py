"""No kernel of the table of cheats is accepted, and every right one is; no GPU."""

from __future__ import annotations

import pytest

from argus.compiler import placed_program
from argus.evaluation.judge.candidate import request_of
from argus.evaluation.judge.checking import Checked, Clock
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.simulating import simulated
from argus.evaluation.judge.subject import subject_of
from argus.runs.records import Verdict
from judge.cheats import CHEATS, PROBLEMS, RIGHT, Cheat

PASSED = Verdict(status="correct", stage="build")


def judged(cheat: Cheat) -> Verdict:
    """The verdict of the tests alone: nothing is proved, nothing is built."""
    subject = subject_of(cheat.problem)
    request = request_of(cheat.candidate, subject)
    checked = Checked(PASSED, subject, request, placed_program(request))
    job = Job(kind="simulate", problem=cheat.problem, candidate=cheat.candidate)
    return simulated(job, checked, Clock(lambda stage, within="": None))


def test_there_are_enough() -> None:
    assert len({(c.base, c.why) for c in CHEATS}) == len(CHEATS) >= 60


@pytest.mark.parametrize("base", PROBLEMS)
def test_no_cheat_is_accepted(base: str) -> None:
    accepted: list[str] = []
    undecided: list[str] = []
    for cheat in CHEATS:
        if cheat.base != base:
            continue
        made = judged(cheat)
        if made.status == "correct":
            accepted.append(f"{cheat.why}: {made.summary}")
        elif made.status == "unknown":
            undecided.append(cheat.why)
            assert made.not_driven and "not driven" in made.summary
        else:
            assert made.status == "wrong", (cheat.why, made.summary)
    assert not accepted, "\n".join(accepted)
    # That a sum of exponentials is exactly one number is beyond what is tried.
    assert set(undecided) <= {"flat rows"}


@pytest.mark.parametrize("cheat", RIGHT, ids=lambda c: f"{c.base}-{c.why}")
def test_right_kernels_are_accepted(cheat: Cheat) -> None:
    made = judged(cheat)
    assert made.status == "correct", (made.summary, made.findings)
    assert made.not_driven == ()
