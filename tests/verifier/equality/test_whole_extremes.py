"""Extremes of whole numbers that a loop carries, from the end of their type on."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

TEXT = """
@ag.kernel
def k(X: TYPE["I J"], T: f32["I J"], Y: TYPE["I"], *, BJ: int = 8):
    I, J = X.shape
    ag.require(J > 0, "there is something to reduce")
    i = ag.block(I)
    at = ag.full((), i, i64) * 8
    m = ag.full((BJ,), FIRST, TYPE, dims="J")
    for j in ag.range(0, J, BJ):
        p = (j + ag.index(m, "J")).to(i64)
        x = ag.load(X[i, j:], (BJ,))
        t = ag.load(T[i, j:], (BJ,))
        m = ag.OPERATION(m, ag.where(p < J, VALUE, FIRST))
    Y[i] = ag.REDUCED(m, "J")


@ag.reference
def ref(X, T, I, J):
    i, p = np.arange(I)[:, None], np.arange(J)[None, :]
    return WANTED
"""
LEAST, MOST = -(2**31), 2**31 - 1
ENDS = {
    ("maximum", "i32"): LEAST,
    ("minimum", "i32"): MOST,
    ("maximum", "i64"): -(2**63),
    ("minimum", "i64"): 2**63 - 1,
}


def _equal(type_: str, operation: str, first: int, value: str, wanted: str) -> bool:
    text = TEXT.replace("TYPE", type_).replace("FIRST", str(first))
    text = text.replace("OPERATION", operation).replace("REDUCED", operation[:3])
    text = text.replace("VALUE", value).replace("WANTED", wanted)
    return decided_text(text).equal


@pytest.mark.parametrize(("operation", "type_"), ENDS)
def test_an_extreme_begins_with_the_end_of_its_type(operation: str, type_: str) -> None:
    first, wanted = ENDS[operation, type_], f"np.{operation[:3]}(X, axis=1)"
    assert _equal(type_, operation, first, "x", wanted)
    inward = 1 if operation == "maximum" else -1
    assert not _equal(type_, operation, first + inward, "x", wanted)
    assert not _equal(type_, operation, first, "x + 1", wanted)
    other = "min" if operation == "maximum" else "max"
    assert not _equal(type_, operation, first, "x", f"np.{other}(X, axis=1)")


def test_an_extreme_begins_with_a_number() -> None:
    wanted = "np.minimum(np.min(X, axis=1), 5)"
    assert _equal("i32", "minimum", 5, "x", wanted)
    assert not _equal("i32", "minimum", 6, "x", wanted)
    assert not _equal("i32", "maximum", 5, "x", wanted)


PLACE = "ag.where((3 * p >= at) & (3 * p < at + 10), ag.where(t > 0.0, at + p, 64), 64)"
WANTED = (
    "np.minimum(np.min(np.where((3 * p >= 8 * i) & (3 * p < 8 * i + 10), "
    "np.where(T > 0, 8 * i + p, 64), 64), axis=1), 64)"
)


def test_the_first_place_of_a_window_that_data_chooses() -> None:
    """What a maximum in uneven windows says of where it stands."""
    assert _equal("i64", "minimum", 64, PLACE, WANTED)
    for old, new in (
        ("+ p, 64", "+ p + 1, 64"),
        ("T > 0", "T >= 0"),
        ("8 * i + 10", "8 * i + 11"),
        ("64)", "65)"),
    ):
        assert old in WANTED
        assert not _equal("i64", "minimum", 64, PLACE, WANTED.replace(old, new))
