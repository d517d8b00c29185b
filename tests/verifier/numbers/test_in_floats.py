"""Whole numbers in floats that decide: equal where they are exact, else open.

Each pair differs in a type or a constant alone, so that the exact form shows that
equality is within reach.
"""

from __future__ import annotations

import pytest

from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.specialisations import SpecialisationSpace
from argus.verify.verdict import Verdict
from verifier.equality.attacking import HEAD, decided_text

MASK = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], L: i32["M"]):
    M, N = X.shape
    ag.require(N <= {width}, "one tile")
    m = ag.block(M)
    x = ag.load(X[m, 0:], ({width},))
    n = ag.index(x, "N")
    {more}
    Y[m, 0:] = ag.where({mask}, x, 0.0)


@ag.reference
def ref(X, L):
    n = np.arange(X.shape[1])
    return np.where({wanted}, X, 0.0)
"""
BELOW = "n < 100"
MASKS = [
    # (exact, rounded): width of the tile, what is between, mask
    ((256, "", "n.to(bf16) < 100.0"), (512, "", "n.to(bf16) < 100.0"), BELOW),
    ((2048, "", "n.to(f16) < 100.0"), (4096, "", "n.to(f16) < 100.0"), BELOW),
    ((512, "", "n.to(f32) < 100.0"), (512, "", "n.to(bf16).to(f32) < 100.0"), BELOW),
    (
        (512, "f = n.to(f16)", "f + 1.0 < 101.0"),
        (2048, "f = n.to(f16)", "f + 2.0 < 102.0"),
        BELOW,
    ),
    (
        (512, "", "n.to(f32).to(i32) < 100"),
        (512, "", "n.to(bf16).to(i32) < 100"),
        BELOW,
    ),
    (
        (512, "f = n.to(f32)", "ag.floor(f * 0.5) < 50.0"),
        (512, "f = n.to(f32)", "ag.floor(f * 0.2) < 20.0"),
        BELOW,
    ),
    (
        (512, "f = n.to(f32)", "(f / 3.0).to(i32) < 33"),
        (512, "f = n.to(f32)", "ag.fdiv(f, 3.0).to(i32) < 33"),
        "n // 3 < 33",
    ),
    (
        (512, "f = n.to(f32)", "(f / 3.0).to(i32) < 33"),
        (512, "f = n.to(f32)", "(f * ag.rcp(f * 0.0 + 3.0)).to(i32) < 33"),
        "n // 3 < 33",
    ),
    # what a table holds is known of narrow ones only
    (
        (512, "", "n < L[m]"),
        (512, "", "n.to(f32) < ag.full((512,), L[m], i32, dims='N').to(f32)"),
        "n[None, :] < L[:, None]",
    ),
    # a loop hands it on
    (
        (512, "f = n.to(f32)\n    for _ in ag.range(0, 3):\n        f = f + 0.0",
         "f < 100.0"),
        (512, "f = n.to(bf16)\n    for _ in ag.range(0, 3):\n        f = f + 0.0",
         "f < 100.0"),
        BELOW,
    ),
    # shared memory hands it on
    (
        (512, "s = ag.shared(f32, (512,))\n    s.store(n.to(f32))",
         "s.load().rename('N') < 100.0"),
        (512, "s = ag.shared(f32, (512,))\n    s.store(n.to(bf16).to(f32))",
         "s.load().rename('N') < 100.0"),
        BELOW,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("exact", "rounded", "wanted"), MASKS)
def test_masks(
    exact: tuple[int, str, str], rounded: tuple[int, str, str], wanted: str
) -> None:
    forms = [
        MASK.format(width=width, more=more, mask=mask, wanted=wanted)
        for width, more, mask in (exact, rounded)
    ]
    found = [decided_text(form) for form in forms]
    assert found[0].equal, found[0].reason
    assert not found[1].equal
    assert "may not hold" in found[1].reason


CLAMPED = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    ag.require(N <= {width}, "one tile")
    m = ag.block(M)
    x = ag.load(X[m, 0:], ({width},))
    n = ag.index(x, "N").to({type})
    Y[m, 0:] = x * ag.minimum(ag.maximum(100.0 - n, 0.0), 1.0).to(f32)


@ag.reference
def ref(X):
    n = np.arange(X.shape[1])
    return X * np.minimum(np.maximum(100.0 - n, 0.0), 1.0)
"""


def test_masks_that_are_numbers() -> None:
    found = [
        decided_text(CLAMPED.format(width=width, type=type_)).reason
        for width, type_ in ((256, "bf16"), (512, "bf16"), (512, "f16"))
    ]
    assert ["may not hold" in reason for reason in found] == [False, True, False]


GATHER = """
@ag.kernel
def k(X: f32["P D"], Y: f32["P D"]):
    P, D = X.shape
    i, j = ag.block(ag.cdiv(P, 16), ag.cdiv(D, 64))
    z = ag.zeros((16,), f32, dims="P")
    rows = {rows}
    Y[i * 16 :, j * 64 :] = ag.load(X[rows, j * 64 :], (16, 64))
"""


@pytest.mark.parametrize(
    ("rows", "proved"),
    [
        ('i * 16 + ag.index(z, "P")', True),
        ('i * 16 + ag.index(z, "P").to(bf16).to(i32)', True),
        ('(i * 16 + ag.index(z, "P")).to(bf16).to(i32)', False),
        ('(i * 16 + ag.index(z, "P")).to(f32).to(i32)', True),
        ('(i * P + ag.index(z, "P")).to(f32).to(i32)', False),
    ],
)
def test_rows_of_a_gather_without_a_reference(rows: str, proved: bool) -> None:
    (kernel,) = load_kernels(
        "made.py", HEAD + GATHER.format(rows=rows)
    ).kernels.values()
    space = SpecialisationSpace.of(kernel.signature)
    report = proved_all(kernel, {}, "sm_90a", space, fresh=True).report
    assert (report.verdict >= Verdict.PROVED) == proved
    if not proved:
        assert {o.rule for o in report.obligations if o.verdict < Verdict.PROVED} >= {
            "AG0323"
        }


WHOLE = """
@ag.kernel
def k(X: {type}["M"], Y: {out}["M"]):
    M, = X.shape
    m = ag.block(ag.cdiv(M, 64)) * 64
    x = ag.load(X[m:], (64,))
    {more}
    Y[m:] = {value}


@ag.reference
def ref(X):
    return {wanted}
"""


@pytest.mark.parametrize(
    ("type_", "out", "more", "right", "wrong", "wanted"),
    [
        ("i8", "i32", "w = x.to(i32)", "w * w * w * w", "w * w * w * w * w", "X**{}"),
        ("u8", "i32", "w = x.to(i32)", "w * w * w", "w * w * w * w", "X**{}"),
        ("i16", "i32", "w = x.to(i32)", "w * w", "w * w * w", "X**{}"),
        ("i16", "i16", "w = x.to(i32)", "((w + w) // 2).to(i16)", "(x + x) // 2", "X"),
        ("u16", "i32", "w = x.to(i32)", "w - 1", "(x - 1).to(i32)", "X - 1"),
    ],
)
def test_products_and_sums_of_narrow_entries(
    type_: str, out: str, more: str, right: str, wrong: str, wanted: str
) -> None:
    found = [
        decided_text(
            WHOLE.format(
                type=type_,
                out=out,
                more=more,
                value=value,
                wanted=wanted.format(value.count("w")),
            )
        )
        for value in (right, wrong)
    ]
    assert found[0].equal, found[0].reason
    assert not found[1].equal


FOLDED = """
@ag.inline
def below(a, b):
    return ag.where(a < b, b, a)


@ag.kernel
def k(X: f32["M N"], Y: f32["M"]):
    M, N = X.shape
    m = ag.block(M)
    x = ag.load(X[m, 0:{width}], ({width},))
    n = ag.index(x, "N").to(bf16)
    Y[m] = ag.reduce(n, "N", below).to(f32)


@ag.reference
def ref(X):
    return np.full(X.shape[0], {width} - 1.0)
"""


def test_what_a_function_of_a_reduction_decides() -> None:
    reasons = [decided_text(FOLDED.format(width=w)).reason for w in (256, 512)]
    assert ["may not hold" in reason for reason in reasons] == [False, True]
