"""Joining: what the kernel's own words do to what the analyses find."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from argus.ir import ops as o
from argus.verify import verifier
from argus.verify.expectations import MeasuredFact, Usage, judge
from argus.verify.verdict import Obligation, Verdict

sys.path.insert(0, str(Path(__file__).parent))
from reports import GEMM, first, placed

DOT = "                acc = ag.dot(slot.a, slot.b.T, acc)\n"
TRUST = '                ag.trust("it is known")\n'


@pytest.fixture
def finding(monkeypatch: pytest.MonkeyPatch):
    """Let the analyses find what a test wants."""

    def install(find) -> None:
        def available(name: str):
            return find if name == "tags" else lambda program: []

        monkeypatch.setattr(verifier, "available", available)

    return install


def at_the_dot(verdict: Verdict):
    def find(program):
        span = first(program, o.Dot).span
        yield Obligation("AG0301", "K agrees", span, verdict, "z3", "timeout")

    return find


def test_unknown_is_the_least_of_proved_and_unknown(tmp_path, finding) -> None:
    finding(at_the_dot(Verdict.UNKNOWN))
    report = verifier.verify(placed(tmp_path, GEMM))
    assert report.verdict is Verdict.UNKNOWN
    assert set(report.seconds) == set(verifier.ANALYSES)


def test_what_is_trusted_becomes_an_assumption(tmp_path, finding) -> None:
    finding(at_the_dot(Verdict.UNKNOWN))
    report = verifier.verify(placed(tmp_path, GEMM.replace(DOT, TRUST + DOT)))
    assert report.verdict is Verdict.PROVED
    (given,) = report.assumptions
    assert (given.kind, given.text) == ("trust", "it is known (1 unknown: AG0301)")


def test_trust_does_not_cover_other_statements(tmp_path, finding) -> None:
    finding(at_the_dot(Verdict.UNKNOWN))
    source = GEMM.replace(DOT, DOT + TRUST + "                other = 1\n")
    report = verifier.verify(placed(tmp_path, source))
    assert report.verdict is Verdict.UNKNOWN
    assert report.assumptions[0].text == "it is known (nothing)"


def test_what_is_refuted_is_never_trusted(tmp_path, finding) -> None:
    finding(at_the_dot(Verdict.REFUTED))
    report = verifier.verify(placed(tmp_path, GEMM.replace(DOT, TRUST + DOT)))
    assert report.verdict is Verdict.REFUTED


def test_trust_of_the_whole_kernel(tmp_path, finding) -> None:
    def find(program):
        yield Obligation(
            "AG0403", "", program.span, Verdict.UNKNOWN, "walk", "no period"
        )

    finding(find)
    assert verifier.verify(placed(tmp_path, GEMM)).verdict is Verdict.UNKNOWN
    whole = TRUST.replace(")", ", whole=True)")
    report = verifier.verify(placed(tmp_path, GEMM.replace(DOT, whole + DOT)))
    assert report.verdict is Verdict.PROVED


def test_slow_findings_do_not_bind(tmp_path, finding) -> None:
    def find(program):
        (one,) = at_the_dot(Verdict.REFUTED)(program)
        yield replace(one, slow=True)

    finding(find)
    assert verifier.verify(placed(tmp_path, GEMM)).verdict is Verdict.PROVED


def test_a_missing_analysis_is_not_a_proof(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(verifier, "available", lambda name: None)
    program = placed(tmp_path, GEMM)
    report = verifier.verify(program, only=["order"])
    assert report.verdict is Verdict.UNKNOWN
    assert "lacks the order analysis" in report.obligations[0].reason
    whole = verifier.verify(program)
    reasons = [o.reason for o in whole.obligations if o.verdict is Verdict.UNKNOWN]
    assert whole.verdict is Verdict.UNKNOWN
    assert len(reasons) == len(verifier.ANALYSES)


def test_only_placed_programs_and_known_analyses(tmp_path) -> None:
    program = placed(tmp_path, GEMM)
    with pytest.raises(ValueError, match="no analysis speed"):
        verifier.verify(program, only=["speed"])
    program.placed = False
    with pytest.raises(ValueError, match="not placed"):
        verifier.verify(program)


class TestExpectations:
    def judged(self, fact, bound, found):
        op = o.Expect(((fact, bound),), span=None)
        measured = {} if found is None else {fact: found}
        (made,) = judge([op], measured, {fact: "not built"})
        return made

    @pytest.mark.parametrize(
        ("fact", "bound", "value", "met"),
        [
            ("bank_conflicts", 0, 0, True),
            ("bank_conflicts", 0, 1, False),
            ("occupancy", 2, 2, True),
            ("occupancy", 2, 1, False),
            ("access_bytes", 16, 8, False),
        ],
    )
    def test_directions(self, fact, bound, value, met) -> None:
        made = self.judged(fact, bound, MeasuredFact(value, "count"))
        assert made.verdict is (Verdict.PROVED if met else Verdict.REFUTED)
        assert (made.rule, made.slow) == ("AG0513", False)
        assert (made.counterexample is None) == met

    def test_what_is_not_known_is_not_met(self) -> None:
        made = self.judged("spills", 0, None)
        assert (made.verdict, made.reason) == (Verdict.UNKNOWN, "not built")

    def test_what_is_partly_counted_is_not_met_either(self) -> None:
        found = MeasuredFact(0, "count", uncounted="an access")
        assert self.judged("bank_conflicts", 0, found).verdict is Verdict.UNKNOWN
        worse = replace(found, value=3)
        assert self.judged("bank_conflicts", 0, worse).verdict is Verdict.REFUTED

    def test_of_a_kernel(self, tmp_path) -> None:
        expect = "    ag.expect(bank_conflicts=0, spills=0, occupancy=3)\n"
        source = GEMM.replace("    M, K = A.shape\n", "    M, K = A.shape\n" + expect)
        program = placed(tmp_path, source)
        usage = Usage(registers=168, spill_bytes=8)
        report = verifier.verify(program, only=["performance"], usage=usage)
        said = {x.claim: x.verdict for x in report.obligations if x.rule == "AG0513"}
        assert said == {
            "at most 0 wavefronts beyond the ideal in a shared access": Verdict.PROVED,
            "at most 0 bytes spilled per thread": Verdict.REFUTED,
            "at least 3 blocks resident on a multiprocessor": Verdict.REFUTED,
        }
