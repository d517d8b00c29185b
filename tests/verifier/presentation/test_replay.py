"""Counterexamples in the interpreter: confirmed, contradicted, or left alone."""

import sys
from pathlib import Path

import pytest

from argus.compiler import placed_program
from argus.evaluation.replay import confirm, replayed
from argus.ir import ops as o
from argus.ir.walk import walk
from argus.verify.evidence import Counterexample, Operand, Place
from argus.verify.render.diagnostics import diagnostics
from argus.verify.verdict import Obligation, Report, Verdict

sys.path.insert(0, str(Path(__file__).parent))
from reports import GEMM, request

SIZES = {"M": 128, "N": 128, "K": 256}


def case(sizes=SIZES, left=(0, 64), right=(0, 0)) -> Counterexample:
    operands = (
        Operand("left", {"M": left[0], "K": left[1]}, (0, 0)),
        Operand("right", {"N": right[0], "K": right[1]}, (0, 0)),
    )
    return Counterexample("", "", Place("math", block=0), sizes, operands)


def test_elements_that_meet_are_confirmed(tmp_path: Path) -> None:
    wrong = GEMM.replace("B[bn * BN :, k:]", "B[bn * BN :, k - BK :]")
    ask = request(tmp_path, wrong)
    program = placed_program(ask)
    # A[0, 64] meets B[0, 0], and not B[0, 64].
    assert confirm(program, ask, "AG0301", case()) is True
    assert confirm(program, ask, "AG0301", case(right=(0, 64))) is False


def test_elements_outside_their_tensor_say_nothing(tmp_path: Path) -> None:
    ask = request(tmp_path, GEMM)
    found = case(right=(0, -64))
    assert confirm(placed_program(ask), ask, "AG0301", found) is None


@pytest.mark.parametrize("rule", ["AG0401", "AG0403", "AG0311"])
def test_a_missing_wait_is_a_fault(tmp_path: Path, rule: str) -> None:
    ask = request(tmp_path, GEMM)
    program = placed_program(ask)
    assert confirm(program, ask, rule, case()) is False
    for op in walk(program.body):
        if isinstance(op, o.For):
            op.body.ops = [x for x in op.body.ops if not isinstance(x, o.BarrierWait)]
    assert confirm(program, ask, rule, case()) is True


def test_an_element_that_nobody_writes(tmp_path: Path) -> None:
    ask = request(tmp_path, GEMM)
    assert confirm(placed_program(ask), ask, "AG0306", case()) is False
    short = GEMM.replace("ag.cdiv(M, BM)", "M // BM")
    sizes = {"M": 144, "N": 128, "K": 64}
    ask = request(tmp_path, short)
    assert confirm(placed_program(ask), ask, "AG0306", case(sizes)) is True


@pytest.mark.parametrize(
    "sizes", [{"M": 128}, {"M": 1 << 14, "N": 1 << 14, "K": 64}, {**SIZES, "K": 3}]
)
def test_what_cannot_be_run_is_left_alone(tmp_path: Path, sizes) -> None:
    ask = request(tmp_path, GEMM)
    assert confirm(placed_program(ask), ask, "AG0401", case(sizes)) is None


def test_rules_without_a_replay_are_left_alone(tmp_path: Path) -> None:
    ask = request(tmp_path, GEMM)
    assert confirm(placed_program(ask), ask, "AG0305", case()) is None


def test_a_disagreement_is_loud(tmp_path: Path) -> None:
    ask = request(tmp_path, GEMM)
    program = placed_program(ask)
    wrong = Obligation("AG0401", "", program.span, Verdict.REFUTED, "walk", "", case())
    report = Report("gemm", "sm_90a", (wrong,))
    codes = [d.code for d in diagnostics(replayed(program, ask, report))]
    assert codes == ["AG0401", "AG0319"]
