"""The judge without a GPU: bugs that are put into kernels are found."""

import dataclasses
from pathlib import Path

import pytest

from argus.diagnostics import ArgusError
from argus.evaluation.simulate import simulate
from argus.kernels.gemm import kernel as gemm_source
from argus.kernels.library import LIBRARY, Case, KernelChoice, LibraryEntry
from argus.lang.kernel import load_kernels

SOURCE = Path(gemm_source.__file__).read_text(encoding="utf-8")
GEMM = LIBRARY["gemm"]


def _with_bug(old: str, new: str) -> LibraryEntry:
    assert SOURCE.count(old) >= 1
    kernels = load_kernels("buggy.py", SOURCE.replace(old, new, 1)).kernels

    def choose(case: Case, target: str) -> KernelChoice:
        choice = GEMM.choose(case, target)
        statics = {k: v for k, v in choice.statics.items() if k != "ACTIVATION"}
        return dataclasses.replace(choice, kernel=kernels["gemm_sm90"], statics=statics)

    return dataclasses.replace(GEMM, choose=choose)


def test_the_copy_without_a_bug_is_right() -> None:
    assert simulate(_with_bug("ag.kernel", "ag.kernel"), GEMM.small[0], "sm_90a").ok


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A[bm * BM :, k:], multi", "A[bm * BM :, k - BK :], multi"),
        ("A[bm * BM :, k:], multi", "A[bm * BM + 1 :, k:], multi"),
        ("for _ in ag.range(BK, K, BK)", "for _ in ag.range(2 * BK, K, BK)"),
        ("slot.a.load(A[bm * BM :, k:], ", "pass  # "),
    ],
    ids=["K shifted", "M shifted", "last step left out", "tile not loaded"],
)
def test_a_bug_is_found(old: str, new: str) -> None:
    entry = _with_bug(old, new)
    try:
        done = simulate(entry, GEMM.small[0], "sm_90a")
    except ArgusError as error:
        assert error.code.startswith("AG04")
        return
    assert not done.ok
    assert done.why()


def test_the_same_seed_gives_the_same_run() -> None:
    one, two = (simulate(GEMM, GEMM.small[2], "sm_90a", seed=4) for _ in range(2))
    assert one.verdict == two.verdict


def test_sizes_that_the_kernel_refuses() -> None:
    entry = LIBRARY["softmax"]
    with pytest.raises(ArgusError) as caught:
        simulate(entry, entry.small[2], "sm_90a", statics={"BN": 256})
    assert caught.value.code == "AG0808"
    assert "a row is held in registers" in str(caught.value)


def test_a_target_without_a_form() -> None:
    with pytest.raises(ArgusError) as caught:
        simulate(GEMM, GEMM.small[0], "sm_80")
    assert caught.value.code == "AG0602"
