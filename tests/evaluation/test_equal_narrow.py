"""Witnesses of rows that are scaled to eight bits, and of what is no number."""

from __future__ import annotations

import pytest

from evaluation.searching import tried

SCALED = """@ag.kernel
def k(X: f32["M N"], Y: TYPE["M N"], S: f32["M"], *, BN: int = 128):
    M, N = X.shape
    ag.require(N > 0, "a row")
    i = ag.block(ag.cdiv(M, 4))
    m = ag.zeros((4,), f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN))
        m = ag.maximum(m, ag.max(ag.abs(x), "N"))
    s = ag.maximum(m, 1e-12) / MOST
    S[i * 4 :] = s
    for n in ag.range(0, N, BN):
        Y[i * 4 :, n:] = (ag.load(X[i * 4 :, n:], (4, BN)) / s).to(TYPE)


@ag.reference
def ref(X):
    s = np.maximum(np.abs(X).max(1), 1e-12) / MOST
    return X / s[:, None], s
"""


@pytest.mark.parametrize(("type_", "most"), [("e4m3", 448.0), ("e5m2", 57344.0)])
def test_rows_that_fill_eight_bits_are_compared(type_: str, most: float) -> None:
    text = SCALED.replace("TYPE", type_).replace("MOST", f"{most}")
    right = tried(text)
    assert right.witness is None
    assert right.runs > right.differed
    # What is cut to the largest number hides a scale in one output, not in the other.
    for old, new in (
        ("ag.maximum(m, ag.max", "ag.maximum(0.0 * m, ag.max"),
        ("/ s)", "* s)"),
    ):
        assert old in text
        assert tried(text.replace(old, new)).witness is not None


CLIPPED = """@ag.kernel
def k(G: f32["N"], Sq: f32["1"], Y: f32["N"], c: f32 = 1.0, *, B: int = 512):
    N = G.shape[0]
    i = ag.block(ag.cdiv(N, B))
    n = ag.sqrt(ag.load(Sq[0:1], (1,)))
    f = ag.minimum(c / (n + 1e-6), 1.0)
    Y[i * B :] = ag.load(G[i * B :], (B,)) * ag.sum(f, 0)


@ag.reference
def ref(G, Sq, c):
    n = np.sqrt(Sq[0])
    return G * np.where(n + 1e-6 > c, c / (n + 1e-6), 1.0)
"""


def test_a_reference_that_compares_what_is_no_number_is_no_witness() -> None:
    """The root of a negative number is not above c, and the kernel's result is none."""
    found = tried(CLIPPED)
    assert found.witness is None
    assert found.runs > found.differed
    assert tried(CLIPPED.replace("ag.minimum", "ag.maximum")).witness is not None


def test_a_guard_that_a_kernel_lacks_is_a_witness() -> None:
    text = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], *, B: int = 128):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    Y[i * B :] = ag.sqrt(ag.load(X[i * B :], (B,)))


@ag.reference
def ref(X):
    return np.where(X > 0, np.sqrt(np.maximum(X, 0)), 0.0)
"""
    assert tried(text).witness is not None
