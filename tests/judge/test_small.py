"""Small cases stand for a problem: sizes, divisors, and how programs depend on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.evaluation.judge.candidate import request_of
from argus.evaluation.judge.small import Unrepresented, small_cases
from argus.evaluation.judge.subject import subject_of
from argus.ir.program import Program
from argus.requests import placed_program
from argus.runs.records import Candidate, LibraryProblem, Problem, Value
from judge.problems import AFFINE, TASK

KERNELS = Path(__file__).parents[2] / "src/argus/kernels"


def program_of(
    problem: Problem, file: str, kernel: str, statics: dict[str, Value]
) -> Program:
    source = (KERNELS / file).read_text()
    candidate = Candidate(source=source, kernel=kernel, statics=statics)
    return placed_program(request_of(candidate, subject_of(problem)))


def test_a_small_problem_is_its_own_case() -> None:
    subject = subject_of(AFFINE)
    candidate = Candidate(source=TASK, kernel="affine")
    program = placed_program(request_of(candidate, subject))
    (only,) = small_cases(program, subject)
    assert only.case == subject.case and only.whole


@pytest.mark.parametrize("n", [4096, 4000, 4095, 4088])
def test_divisors_and_remainders_are_kept(n: int) -> None:
    problem = LibraryProblem(entry="gemm_sm80", sizes={"M": n, "N": n, "K": n})
    subject = subject_of(problem)
    vectors = n % 2 == 0
    statics: dict[str, Value] = {"BM": 64, "BN": 64, "BK": 32, "VECTORS": vectors}
    program = program_of(problem, "gemm/kernel.py", "gemm_sm80", statics)
    whole, tails = small_cases(program, subject)
    for small in (whole, tails):
        sizes = small.case.sizes
        assert all(s <= 400 for s in sizes.values())
        for name in ("N", "K"):  # innermost dimensions: accesses are that wide
            assert sizes[name] % min(16, n & -n) == 0
    assert whole.case.sizes["K"] % 32 == n % 32
    assert tails.case.sizes["M"] % 64 != 0 and tails.case.sizes["K"] % 32 != 0


def test_groups_of_heads_stay() -> None:
    sizes = {"B": 4, "H": 32, "G": 8, "S": 4096, "T": 4096, "D": 128}
    problem = LibraryProblem(entry="attention", sizes=sizes)
    program = program_of(problem, "attention/kernel.py", "attention", {})
    for small in small_cases(program, subject_of(problem)):
        assert small.case.sizes["H"] == 4 * small.case.sizes["G"]
        assert small.case.sizes["D"] == 128


def test_a_table_with_a_divisor() -> None:
    sizes = {"E": 8, "P": 16384, "N": 4096, "K": 4096}
    problem = LibraryProblem(entry="grouped", sizes=sizes)
    program = program_of(problem, "grouped/kernel.py", "grouped_gemm", {})
    cases = small_cases(program, subject_of(problem))
    assert len(cases) >= 2


def test_requirements_that_no_small_size_meets() -> None:
    text = TASK.replace(
        "    M, N = X.shape\n",
        '    M, N = X.shape\n    ag.require(M >= 8192, "for large sizes")\n',
    )
    large = AFFINE.model_copy(update={"sizes": {"M": 8192, "N": 8192}})
    subject = subject_of(large)
    candidate = Candidate(source=text, kernel="affine")
    program = placed_program(request_of(candidate, subject))
    with pytest.raises(Unrepresented, match="refuse every small size"):
        small_cases(program, subject)
