"""Kernels that are wrong only rarely: at a size, in a block, for an entry."""

from __future__ import annotations

import pytest

from argus.evaluation.equal import proof
from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.verify.verdict import Report, Verdict

HEAD = "import argus as ag\nfrom argus import f32, i32\n\n\n"
VECTOR = """@ag.kernel
def k(X: {type}["N"], Y: {type}["N"], *, BN: int = 128):
    N, = X.shape
    b = ag.block({grid})
    x = ag.load(X[b * BN :], (BN,))
    n = ag.index(x, "N") + b * BN
    {store}


@ag.reference
def ref(X):
    return {wanted}
"""
COUNTED = """@ag.kernel
def k(I: i32["N"], H: i32["B"]):
    v = I[ag.block(ag.dim("N"))]
    if v >= 0:
        if v < ag.dim("B"):
            ag.atomic_add(H[v], 1)
            if v == 63:
                ag.atomic_add(H[v], 1)


@ag.reference
def ref(I, B):
    h = np.zeros(B, dtype=np.int64)
    np.add.at(h, I, 1)
    return h
"""
STORE = "Y[b * BN :] = {}"
MISTAKES = {
    "a grid that ends": ("f32", "ag.min(ag.cdiv(N, BN), 4096)", STORE.format("x"), "X"),
    "an element that a mask leaves out": (
        *("f32", "ag.cdiv(N, BN)"),
        *("ag.store(Y[b * BN :], x, mask=n != 100000)", "X"),
    ),
    "numbers that wrap": (
        *("f32", "ag.cdiv(N, BN)"),
        *(STORE.format("(n * n).to(f32)"), "np.arange(len(X), dtype=float) ** 2"),
    ),
    "negative numbers": (
        *("i32", "ag.cdiv(N, BN)"),
        *(STORE.format("ag.where(x < 0, -((-x) // 4), x // 4)"), "X // 4"),
    ),
    "floats beyond whole numbers": (
        *("f32", "ag.cdiv(N, BN)", STORE.format("(x.to(i32) % 7).to(f32)")),
        "(X.astype(np.int64) % 7).astype(float)",
    ),
    "one block": (
        *(
            "f32",
            "ag.cdiv(N, BN)",
            STORE.format("x * ag.where(n // BN == 9999, 2.0, 1.0)"),
        ),
        "X",
    ),
}


def checked(text: str) -> Report:
    """What `argus check` says of the only kernel of a text."""
    (kernel,) = load_kernels("made.py", HEAD + text).kernels.values()
    return proved_all(kernel, {}, "sm_90a", fresh=True).report


@pytest.mark.parametrize("name", MISTAKES)
def test_a_rare_mistake_has_a_witness(name: str):
    kind, grid, store, wanted = MISTAKES[name]
    text = VECTOR.format(type=kind, grid=grid, store=store, wanted=wanted)
    report = checked(text)
    assert report.verdict is Verdict.REFUTED
    assert any(o.rule == "AG0322" for o in report.obligations)


def test_an_entry_that_is_counted_twice_has_a_witness():
    assert checked(COUNTED).verdict is Verdict.REFUTED
    right = COUNTED.replace("            if v == 63:\n                ag.", "    ag.")
    right = right.replace("    ag.atomic_add(H[v], 1)\n\n", "\n", 1)
    assert checked(right).verdict is Verdict.EQUAL


def test_a_number_that_is_cut_does_not_depend_on_the_machine():
    """What numpy makes of a float that an integer cannot hold says nothing."""
    text = VECTOR.format(
        type="f32",
        grid="ag.cdiv(N, BN)",
        store=STORE.format("(x.to(i32) % 7).to(f32)"),
        wanted="(X.astype(np.int32) % 7).astype(float)",
    )
    assert checked(text).verdict is not Verdict.REFUTED


def test_rare_sizes_are_tried_where_terms_are_not_equal(monkeypatch) -> None:
    """And only there: terms that are equal are so at each size."""
    tried: list[bool] = []

    def refute(*args: object, few: bool = False, **named: object) -> object:
        tried.append(few)
        return search(*args, few=few, **named)

    search = proof.refute
    monkeypatch.setattr(proof, "refute", refute)
    kind, grid, store, wanted = MISTAKES["one block"]
    text = VECTOR.format(type=kind, grid=grid, store=store, wanted=wanted)
    right = text.replace("9999, 2.0, 1.0", "9999, 1.0, 1.0")
    assert checked(right).verdict is Verdict.EQUAL
    assert tried == [True]
    assert checked(text).verdict is Verdict.REFUTED
    assert tried[:2] == [True, True] and tried[2] is False
