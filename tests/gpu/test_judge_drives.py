"""The judge on the device drives conditions, too: on tiles first, then launched.

pytest tests/gpu/test_judge_drives.py -s
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from argus.compiler import build
from argus.evaluation.arrays import TorchArrays
from argus.evaluation.judge import Limits, LocalJudge
from argus.evaluation.judge.candidate import request_of
from argus.evaluation.judge.checking import CandidateCheck, Clock
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.planning import planned
from argus.evaluation.judge.replaying import Replay
from argus.evaluation.judge.subject import own_request, subject_of
from argus.requests import placed_program, tile_program
from argus.runs.records import Candidate, JudgeVerdict, LibraryProblem, Problem
from argus.runtime.launch import LoadedKernel
from judge.cheats import CHEATS, PROBLEMS, RIGHT, Cheat
from judge.problems import AFFINE
from judge.test_cheats import UNDECIDED
from judge.test_replaying import BRANCHES

pytestmark = pytest.mark.gpu

KERNELS = Path(__file__).parents[2] / "src/argus/kernels"
CLOCK = Clock(lambda stage, within="": None)


@pytest.fixture(scope="module")
def judge() -> Iterator[LocalJudge]:
    with LocalJudge(workers=8, limits=Limits(launch=5)) as made:
        assert made.devices
        yield made


def _by_problem(cheats: list[Cheat]) -> dict[str, list[Cheat]]:
    return {base: [c for c in cheats if c.base == base] for base in PROBLEMS}


def test_no_cheat_is_accepted(judge: LocalJudge) -> None:
    accepted: list[str] = []
    for group in _by_problem(CHEATS).values():
        begin = time.monotonic()
        made = judge.evaluate(group[0].problem, [c.candidate for c in group])
        for cheat, verdict in zip(group, made, strict=True):
            print(f"{cheat.base}, {cheat.why}: {verdict.status}: {verdict.summary}")
            assert verdict.status != "failed", (cheat.why, verdict.summary)
            if verdict.status == "correct":
                accepted.append(f"{cheat.base}, {cheat.why}: {verdict.summary}")
            if verdict.status == "unknown" and verdict.stage == "compare":
                assert cheat.why in UNDECIDED, (cheat.why, verdict.summary)
        print(f"{len(group)} of {group[0].base} in {time.monotonic() - begin:.1f} s")
    assert not accepted, "\n".join(accepted)


def test_right_kernels_are_accepted_and_driven(judge: LocalJudge) -> None:
    for group in _by_problem(RIGHT).values():
        made = judge.evaluate(group[0].problem, [c.candidate for c in group])
        for cheat, verdict in zip(group, made, strict=True):
            print(f"{cheat.base}, {cheat.why}: {verdict.summary} {verdict.seconds}")
            assert verdict.status == "correct", (cheat.why, verdict.findings)
            assert verdict.measured is not None
            assert "runs that drive" in verdict.summary
            # Not all of what two conditions may be together can be.
            assert all("two conditions" in x for x in verdict.not_driven)


def _replayed(
    problem: Problem, candidate: Candidate
) -> tuple[JudgeVerdict | None, str]:
    """The candidate's plan, launched in this process."""
    subject = subject_of(problem)
    request = request_of(candidate, subject)
    passed = JudgeVerdict(status="correct", stage="build")
    checked = CandidateCheck(passed, subject, request, placed_program(request))
    job = Job(kind="evaluate", problem=problem, candidate=candidate)
    verdict, plan = planned(job, checked, CLOCK)
    assert plan is not None, verdict.summary
    built = build(request)
    kernel = LoadedKernel(built.spec, built.cubin.image)
    programs = tile_program(request), tile_program(own_request(subject))
    begin = time.monotonic()
    replay = Replay(subject, programs, kernel, TorchArrays(1), CLOCK, 1)
    bad, words = replay.run(plan)
    spent = time.monotonic() - begin
    print(f"{candidate.kernel}{words}; {spent:.2f} s, own {replay.spent:.2f} s")
    return bad, words


@pytest.mark.parametrize(
    ("entry", "file", "kernel", "sizes", "statics"),
    [
        ("gemm", "gemm/kernel.py", "gemm_sm90", {"M": 8192, "N": 8192, "K": 8192}, {}),
        (
            "softmax", "norms/kernel.py", "softmax", {"M": 4096, "N": 4096},
            {"BN": 4096, "WARPS": 4},
        ),
        (
            "rmsnorm", "norms/kernel.py", "rmsnorm", {"M": 4096, "N": 4096},
            {"BN": 4096, "WARPS": 4},
        ),
        (
            "attention", "attention/kernel.py", "attention",
            {"B": 2, "H": 8, "G": 8, "S": 2048, "T": 2048, "D": 128}, {},
        ),
        (
            "grouped", "grouped/kernel.py", "grouped_gemm",
            {"E": 8, "P": 2048, "N": 512, "K": 512}, {},
        ),
    ],
)  # fmt: skip
def test_plans_of_the_library_are_launched(
    entry: str,
    file: str,
    kernel: str,
    sizes: dict[str, int],
    statics: dict[str, int],
) -> None:
    source = (KERNELS / file).read_text()
    candidate = Candidate(source=source, kernel=kernel, statics=dict(statics))
    bad, words = _replayed(LibraryProblem(entry=entry, sizes=sizes), candidate)
    assert bad is None, (bad.summary, bad.findings)
    assert " 0 small trials" not in words and " 0 runs" not in words


def test_driven_sizes_scalars_and_numbers_are_launched() -> None:
    bad, words = _replayed(AFFINE, Candidate(source=BRANCHES, kernel="affine"))
    assert bad is None, (bad.summary, bad.findings)
    assert "(" not in words  # nothing is left out
