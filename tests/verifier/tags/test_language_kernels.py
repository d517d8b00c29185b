"""Kernels that test the language: why they are not proved, and what is missing.

They were written for the frontend, which accepts them. Most state less than a proof
needs; with those facts they are proved. Two are wrong.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.verdict import Report, Verdict
from argus.verify.verifier import verify
from verifier.tags.check_tags import ROOT, told

FOLDER = ROOT / "tests" / "lang" / "kernels"
WHOLE = Verdict.PROVED


def report(folder: Path, name: str, kernel: str, *changes: tuple[str, str]) -> Report:
    """All analyses of a kernel whose source is changed."""
    source = (FOLDER / f"{name}.py").read_text()
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    path = folder / "kernel.py"
    path.write_text(source)
    made = load_kernels(path).kernels[kernel]
    dtypes = {t.name: t.dtypes[0] for t in made.signature.tensors}
    return verify(placed_program(Request(made, dtypes)))


def wrong(made: Report) -> set[str]:
    found = [o for o in made.obligations if o.verdict is Verdict.REFUTED]
    return {o.rule for o in found if not o.slow}


def all_proved(made: Report) -> None:
    bad = [o for o in made.obligations if o.verdict is not WHOLE and not o.slow]
    assert not bad, told(bad)


@pytest.mark.parametrize(
    ("file", "kernel"),
    [("gemm", "gemm"), ("explicit", "explicit"), ("softmax", "rms_norm"),
     ("grouped", "scatter_add")],
)  # fmt: skip
def test_as_they_are(tmp_path: Path, file: str, kernel: str) -> None:
    all_proved(report(tmp_path, file, kernel))


def test_rows_that_are_longer_than_the_tile(tmp_path: Path) -> None:
    assert wrong(report(tmp_path, "softmax", "softmax")) == {"AG0306", "AG0308"}
    line = "    M, N = X.shape\n    ag.launch(warps=4)\n    i ="
    whole = line.replace("    i =", '    ag.require(N <= BN, "rows fit")\n    i =')
    all_proved(report(tmp_path, "softmax", "softmax", (line, whole)))


def test_heads_that_no_group_has(tmp_path: Path) -> None:
    """Where H is no multiple of G, the last heads have a group that there is not."""
    line = "    bq, h, b = ag.block("
    few = '    ag.require(H % G == 0, "groups of heads")\n' + line
    made = report(tmp_path, "attention", "attention")
    assert "AG0310" in {
        o.rule for o in made.obligations if o.verdict is Verdict.REFUTED
    }
    all_proved(report(tmp_path, "attention", "attention", (line, few)))


def test_tables_of_which_nothing_is_known(tmp_path: Path) -> None:
    assert "AG0312" in wrong(report(tmp_path, "grouped", "grouped"))
    line = '    P, K = Y.shape[0], ag.dim("K")\n'
    facts = (
        "    ag.require(Expert.shape[0] * BM >= P, 'a tile for each row')\n"
        "    ag.assume(lambda e: (e >= 0) & (e < W.shape[0]), Expert)\n"
        "    ag.assume(lambda row: (row >= 0) & (row < X.shape[0]), Perm)\n"
    )
    all_proved(report(tmp_path, "grouped", "grouped", (line, line + facts)))


def test_a_copy_that_nobody_waits_for(tmp_path: Path) -> None:
    """The last iteration starts copies past the end, and the block ends without a
    wait."""
    assert wrong(report(tmp_path, "explicit", "pipelined")) == {"AG0421"}
    line = "    C[bm * BM :, bn * BN :] = acc\n"
    waited = "    ag.cp_async_wait(0)\n" + line
    all_proved(report(tmp_path, "explicit", "pipelined", (line, waited)))


def test_an_address_map_whose_result_goes_nowhere(tmp_path: Path) -> None:
    """Every block writes the sums of its own rows to the same 64 elements."""
    assert {"AG0305", "AG0307"} <= wrong(report(tmp_path, "explicit", "conv"))
