"""Right kernels without a reference are never refuted; wrong ones are not proved.

`kernels/unreferenced.py` has kernels by what is said of them: `sound_` is shown by
terms, `open_` is right (or wrong, `open_wrong_`) and nobody can know, `wrong_` shows
where its tiles end, or breaks a rule that needs no meaning.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from argus.equivalence.settling import settled
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request, placed_program
from argus.verify.verdict import Obligation, Report, Verdict
from argus.verify.verifier import verify

KERNELS = load_kernels(Path(__file__).parent / "kernels" / "unreferenced.py").kernels
WRONG = {  # and one rule that says so
    "k_shifted": "AG0301",
    "k_tile_twice": "AG0309",
    "k_overlap": "AG0309",
    "k_short": "AG0308",
    "store_swapped": "AG0305",
    "sum_same_tile": "AG0309",
    "max_padding": "AG0310",
    "output_overlap": "AG0307",
    "softmax_max_stale": "AG0321",
    "bias_each_time": "AG0309",
    "split_k_bias": "AG0309",
}


def named(prefix: str) -> list[str]:
    return [name for name in KERNELS if name.startswith(prefix)]


def request_of(kernel: Kernel) -> Request:
    dtypes = {t.name: t.dtypes[0] for t in kernel.signature.tensors}
    return Request(kernel, dtypes)


def judged(name: str, only: tuple[str, ...] = ("tags",)) -> Report:
    request = request_of(KERNELS[name])
    return settled(verify(placed_program(request), only=only), request)


def told(report: Report) -> str:
    return "\n".join(
        f"{o.rule} line {o.span.line} {o.verdict}: {o.claim} {o.reason}"
        for o in report.obligations
        if o.verdict < Verdict.PROVED
    )


@pytest.mark.parametrize("name", named("sound_"))
def test_terms_settle_what_names_refute(name: str) -> None:
    report = judged(name, ("tags", "order"))
    assert report.verdict is Verdict.PROVED, told(report)
    assert any(o.verdict is Verdict.REFUTED for o in report.settled)


@pytest.mark.parametrize("name", named("open_"))
def test_what_may_be_meant_is_unknown(name: str) -> None:
    report = judged(name)
    assert report.verdict is Verdict.UNKNOWN, told(report)
    assert all(o.reason for o in report.obligations if o.verdict is Verdict.UNKNOWN)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_kernels_are_refuted(name: str) -> None:
    report = judged(f"wrong_{name}")
    refuted = {o.rule for o in report.obligations if o.verdict is Verdict.REFUTED}
    assert WRONG[name] in refuted, told(report)


def test_a_fault_stands_beside_what_is_refuted() -> None:
    report = judged("wrong_k_overlap")
    notes = [
        note
        for o in report.obligations
        if o.counterexample is not None
        for note in o.counterexample.notes
    ]
    assert "tiles of a sum overlap: A·B is added again" in notes


def test_a_missing_analysis_is_not_settled() -> None:
    """An AG0394 is none of the rules that terms decide."""
    request = request_of(KERNELS["sound_fma_chain"])
    report = verify(placed_program(request), only=("tags", "order"))
    missing = Obligation(
        "AG0394",
        "all is well",
        report.obligations[0].span,
        Verdict.UNKNOWN,
        "none",
        "none",
    )
    several = (*report.obligations, missing)
    report = settled(replace(report, obligations=several), request)
    assert missing in report.obligations
