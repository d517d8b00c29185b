"""Counterexamples in the interpreter: confirmed, contradicted, or left alone."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from argus.evaluation import replay
from argus.evaluation.replay import confirm, replayed
from argus.ir import ops as o
from argus.ir.walk import walk
from argus.requests import placed_program
from argus.verify.evidence import Counterexample, OperandElement, Step, ThreadPlace
from argus.verify.render.diagnostics import diagnostics
from argus.verify.verdict import Obligation, Report, Verdict
from argus.verify.verifier import verify

sys.path.insert(0, str(Path(__file__).parent))
from reports import GEMM, first, request

SIZES = {"M": 128, "N": 128, "K": 256}


def case(sizes=SIZES, left=(0, 64), right=(0, 0)) -> Counterexample:
    operands = (
        OperandElement("left", {"M": left[0], "K": left[1]}, (0, 0)),
        OperandElement("right", {"N": right[0], "K": right[1]}, (0, 0)),
    )
    return Counterexample("", "", ThreadPlace("math", block=0), sizes, operands)


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


def test_a_barrier_outside_its_array_is_a_fault(tmp_path: Path) -> None:
    ask = request(tmp_path, GEMM)
    program = placed_program(ask)
    assert confirm(program, ask, "AG0423", case()) is False
    for op in walk(program.body):
        if isinstance(op, o.BarrierWait):
            op.barrier = replace(op.barrier, index=op.barrier.index + 8)
    assert confirm(program, ask, "AG0423", case()) is True


def test_warps_that_are_no_warpgroup_are_a_fault(tmp_path: Path) -> None:
    ask = request(tmp_path, GEMM)
    program = placed_program(ask)
    assert confirm(program, ask, "AG0419", case()) is False
    (roles,) = (x for x in program.body.ops if isinstance(x, o.Roles))
    for role in roles.roles:
        role.first_warp = 8 if role.name == "load" else 1
    assert confirm(program, ask, "AG0419", case()) is True


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
    assert confirm(placed_program(ask), ask, "AG0314", case()) is None


class TestValueDependence:
    """Experiments: True where they show it, None where a right kernel shows nothing."""

    SUM = """@ag.kernel
def total(X: bf16["M N"], Z: bf16["M"], *, BN: int = 64):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 16))
    z = ag.zeros((16,), f32).rename("M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 16 :, n:], (16, BN))
        z += ag.sum(x.to(f32), "N")
    Z[i * 16 :] = z.to(bf16)
"""
    COPY = """@ag.kernel
def copy(X: bf16["M N"], B: bf16["N"], Y: bf16["M N"], *, BN: int = 64):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, 16), ag.cdiv(N, BN))
    x = ag.load(X[i * 16 :, j * BN :], (16, BN)).to(f32)
    y = x + ag.load(B[j * BN :], (BN,)).to(f32)
    Y[i * 16 :, j * BN :] = y.to(bf16)
"""

    def refuted(self, folder: Path, source: str) -> dict[str, bool | None]:
        """Of each rule that is refuted, what the interpreter showed."""
        ask = request(folder, source)
        program = placed_program(ask)
        report = replayed(program, ask, verify(program, only=["tags"]))
        found = [x for x in report.obligations if x.verdict is Verdict.REFUTED]
        return {x.rule: x.counterexample.replayed for x in found if x.counterexample}

    @pytest.mark.parametrize(
        ("source", "old", "new", "rule"),
        [
            ("COPY", "Y[i * 16 :, j", "Y[i * 16 + 1 :, j", "AG0305"),
            ("COPY", "B[j * BN :]", "B[j * BN + 1 :]", "AG0303"),
            ("COPY", "ag.cdiv(M, 16), ", "2 * ag.cdiv(M, 16), ", "AG0307"),
            ("SUM", "ag.range(0, N", "ag.range(BN, N", "AG0308"),
            ("SUM", "(16, BN))\n        z", "(16, BN), fill=1.0)\n        z", "AG0310"),
        ],
    )  # fmt: skip
    def test_shown(self, tmp_path: Path, source, old, new, rule) -> None:
        text = getattr(self, source)
        assert text.count(old) == 1
        if rule == "AG0307":
            new = new.replace("2 * ag.cdiv(M, 16), ", "ag.cdiv(M, 8), ")
            text = text.replace("i * 16", "i * 8")
        assert self.refuted(tmp_path, text.replace(old, new))[rule] is True

    @pytest.mark.parametrize("source", ["COPY", "SUM"])
    def test_a_right_kernel_shows_nothing(self, tmp_path: Path, source: str) -> None:
        ask = request(tmp_path, getattr(self, source))
        program = placed_program(ask)
        sizes = {"M": 40, "N": 72}
        missing = OperandElement("missing", {"N": 5}, ())
        load = first(program, o.LoadGlobal)
        stored = OperandElement(
            "stored", {"M": 3, "N": 5}, (), (Step("loaded", load.span),)
        )
        found = Counterexample(
            "", "", ThreadPlace("block", 0, 0), sizes, (stored, missing)
        )
        for rule in ("AG0302", "AG0303", "AG0305", "AG0307", "AG0308", "AG0310"):
            assert confirm(program, ask, rule, found) is None, rule


def test_a_disagreement_is_loud(tmp_path: Path) -> None:
    ask = request(tmp_path, GEMM)
    program = placed_program(ask)
    wrong = Obligation("AG0401", "", program.span, Verdict.REFUTED, "walk", "", case())
    report = Report("gemm", "sm_90a", (wrong,))
    codes = [d.code for d in diagnostics(replayed(program, ask, report))]
    assert codes == ["AG0401", "AG0319"]


def test_faults_at_one_block_are_looked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = request(tmp_path, GEMM)
    program = placed_program(ask)
    asked: list[str] = []

    def noted(*arguments: object) -> bool:
        asked.append(str(arguments[2]))
        return True

    monkeypatch.setattr(replay, "confirm", noted)
    cases = [("AG0401", 128), ("AG0403", 128), ("AG0401", 64), ("AG0402", 128)]
    made = [
        Obligation(
            rule, "", program.span, Verdict.REFUTED, "walk", "", case({"K": size})
        )
        for rule, size in cases
    ]
    replayed(program, ask, Report("k", "sm_90a", tuple(made)))
    assert asked == ["AG0401", "AG0401", "AG0402"]
