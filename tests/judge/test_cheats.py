"""No kernel of the table of cheats is accepted, and every right one is; no GPU.

By default one cheat in twelve of each problem; all with ``ARGUS_TESTS=all``.
"""

from __future__ import annotations

import inspect
import sys

import pytest

from argus.clock import now
from argus.equivalence.programs import programs_of
from argus.evaluation.judge import driving
from argus.evaluation.judge.candidate import request_of
from argus.evaluation.judge.checking import CandidateCheck, Clock
from argus.evaluation.judge.equality import compared
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.simulating import simulated
from argus.evaluation.judge.subject import subject_of
from argus.requests import placed_program
from argus.runs.records import JudgeVerdict
from few import EVERY
from judge.cheats import CHEATS, PROBLEMS, RIGHT, Cheat

STEP = 1 if EVERY else 12
PASSED = JudgeVerdict(status="correct", stage="build")


UNDECIDED = {
    # That a sum of exponentials is exactly one number is beyond what is tried.
    "flat rows",
    # For no element is it known where a number that follows from its place is large.
    "a bump at one row",
    "a bump that multiplies",
    "a bump at a step",
    "a pole at one row",
    # One number in all elements of a row, or one that the poison happens to be.
    "rows of one number",
    "an output that is one number",
    # Inputs are drawn for the problem's scalars, and a row of a table at random.
    "a scalar and a number",
    "a table entry and a column",
    # One entry is found in a second of searching, on a machine that is idle.
    "one table entry",
    "a large number in a row",
    # Beside infinite numbers a wrong one is not seen.
    "an infinite number beside a row",
    # No finite numbers make the sum so much less than a part of it.
    "a running extreme",
    # Functions of sizes and scalars that are large near some alone.
    "a bump at one size",
    "a bump at one scalar",
    "a pole at one size",
    # Inputs, or what outputs hold, are equal to others by chance alone.
    "equal numbers in few places",
    "what an output held",
    "an output that was 0",
    # Entries of tables are drawn for the whole table.
    "one length",
    "a length in one row",
    "the last element of one row",
    "two rows of one length",
}


def judged(cheat: Cheat, passed: JudgeVerdict = PASSED) -> JudgeVerdict:
    """The verdict of the tests alone: nothing is proved, nothing is built."""
    subject = subject_of(cheat.problem)
    request = request_of(cheat.candidate, subject)
    checked = CandidateCheck(passed, subject, request, placed_program(request))
    job = Job(kind="simulate", problem=cheat.problem, candidate=cheat.candidate)
    return simulated(job, checked, Clock(lambda stage, within="": None))


def test_there_are_enough() -> None:
    assert len({(c.base, c.why) for c in CHEATS}) == len(CHEATS) >= 100


@pytest.mark.parametrize("base", PROBLEMS)
def test_no_cheat_is_accepted(base: str) -> None:
    accepted: list[str] = []
    undecided: list[str] = []
    of_base = [c for c in CHEATS if c.base == base]
    for cheat in of_base[::STEP]:
        made = judged(cheat)
        if made.status == "correct":
            accepted.append(f"{cheat.why}: {made.summary}")
        elif made.status == "unknown":
            undecided.append(cheat.why)
            assert made.not_driven and "not driven" in made.summary
        else:
            assert made.status == "wrong", (cheat.why, made.summary)
    assert not accepted, "\n".join(accepted)
    assert set(undecided) <= UNDECIDED


SLOWLY = [
    ("product", "exactly seven turns"),
    ("product", "one tile"),
    ("sums", "long rows"),
    ("elements", "nested choices"),
    ("elements", "a number after ten blocks"),
    ("elements", "a size and a large scalar"),
    ("elements", "branches that meet"),
    ("window", "a number in the window's edge"),
    ("gather", "a number at one position"),
    ("ints", "numbers that wrap"),
    ("pair", "a sum in one block"),
    ("scalars", "where the condition flips"),
]


@pytest.mark.parametrize(("base", "why"), SLOWLY[:: 1 if EVERY else 2])
def test_on_a_slow_machine_none_is_accepted(
    base: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seconds that are few leave a condition undecided, never taken for shown."""
    cheat = next(c for c in CHEATS if (c.base, c.why) == (base, why))
    for factor in (20, 100):
        with monkeypatch.context() as patched:
            _hurry(patched, factor)
            made = judged(cheat)
        assert made.status in ("wrong", "unknown"), made.summary
        assert made.status == "wrong" or made.not_driven


def _hurry(patched: pytest.MonkeyPatch, factor: int) -> None:
    """Let the clock run so many times as fast, for all who look at it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("argus.") and getattr(module, "now", None) is now:
            patched.setattr(module, "now", lambda: factor * now())


def test_all_limits_of_a_drive_say_what_is_left() -> None:
    """A limit that is asked for elsewhere could be passed in silence."""
    assert inspect.getsource(driving).count("now() >") == 1


ROUNDED = {
    "rows with a large maximum",
    "no maximum",
    "a very low maximum",
    "no number",
    "infinite numbers",
    "an infinite number beside a row",
}
"""Right in real arithmetic: numbers overflow, or are infinite."""
RIGHT_BUT_FOR_SIGNS = {"the sign of zero"}
"""Right as numbers compare: 0 is -0."""


def test_terms_refute_many_before_anything_runs() -> None:
    found: dict[str, set[str]] = {"equal": set(), "refuted": set(), "unknown": set()}
    for cheat in CHEATS[:: 2 * STEP]:
        subject = subject_of(cheat.problem)
        request = request_of(cheat.candidate, subject)
        known = compared(request, programs_of(request), subject).record
        found[known.verdict].add(cheat.why)
        assert known.verdict == "equal" or known.reason, cheat.why
    assert found["equal"] <= ROUNDED | RIGHT_BUT_FOR_SIGNS
    assert 3 * len(found["refuted"]) >= sum(map(len, found.values()))


@pytest.mark.parametrize("why", sorted(ROUNDED)[:: min(STEP, 3)])
def test_what_is_equal_in_real_arithmetic_alone_is_not_accepted(why: str) -> None:
    cheat = next(c for c in CHEATS if c.why == why)
    subject = subject_of(cheat.problem)
    request = request_of(cheat.candidate, subject)
    known = compared(request, programs_of(request), subject).record
    assert known.verdict == "equal"
    made = judged(cheat, PASSED.model_copy(update={"equality": known}))
    if made.status == "unknown":  # found or not: by how fast the machine is
        assert why in UNDECIDED and made.not_driven
        return
    assert made.status == "wrong"
    assert "in real arithmetic it is right" in made.summary


@pytest.mark.parametrize("cheat", RIGHT, ids=lambda c: f"{c.base}-{c.why}")
def test_right_kernels_are_accepted(cheat: Cheat) -> None:
    made = judged(cheat)
    assert made.status == "correct", (made.summary, made.findings)
    assert made.not_driven == ()
