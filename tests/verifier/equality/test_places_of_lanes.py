"""Places of extremes that each lane carries, or that a second loop looks for."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

LANES = """
@ag.kernel
def k(X: f32["M N"], V: f32["M 64"], A: i32["M 64"], *, BN: int = 64):
    M, N = X.shape
    ag.require({rows}, "rows")
    i = ag.block(ag.cdiv(M, 4))
    best = ag.full((4, BN), -ag.inf, f32, dims="M N")
    at = ag.zeros((4, BN), i32, dims="M N")
    for t in ag.range(0, ag.cdiv(N, BN)):
        x = ag.load(X[i * 4 :, t * BN :], (4, BN), fill=-ag.inf)
        better = {better}
        best = ag.where(better, x, best)
        at = ag.where(better, {place}, at)
    V[i * 4 :, 0:64] = best.rename("M _")
    A[i * 4 :, 0:64] = at.rename("M _")


@ag.reference
def ref(X):
    Z = X.reshape(X.shape[0], -1, 64)
    return Z.max(1), Z.argmax(1)
"""
PLACE = "t"


@pytest.mark.parametrize(
    ("better", "place", "right"),
    [
        ("x > best", PLACE, True),
        ("best < x", PLACE, True),
        ("x >= best", PLACE, False),
        ("x < best", PLACE, False),
        ("x > best", "t + 1", False),
    ],
)
def test_each_lane_keeps_its_largest(better: str, place: str, right: bool) -> None:
    """Beside a tensor, where nothing is larger, nothing is asked of what is carried."""
    rows = "(N > 0) & (N % BN == 0)"
    text = LANES.format(rows=rows, better=better, place=place)
    assert decided_text(text).equal == right


FOUND = """
@ag.kernel
def k(X: f32["M N"], Y: i32["M"], *, BN: int = 64):
    M, N = X.shape
    ag.require(N > 0, "some")
    i = ag.block(ag.cdiv(M, 4))
    best = ag.full((4,), -ag.inf, f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN), fill=-ag.inf)
        best = ag.maximum(best, ag.max(x, "N"))
    at = ag.full((4,), {beyond}, i32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN), fill=-ag.inf)
        j = ag.broadcast(n + ag.index(x, "N"), x)
        here = ag.where(x == ag.broadcast(best, x), j, {beyond})
        at = ag.{least}imum(at, ag.{least}(here, "N"))
    Y[i * 4 :] = at


@ag.reference
def ref(X):
    return X.argmax(1)
"""


@pytest.mark.parametrize(
    ("beyond", "least", "right"),
    [
        ("2147483647", "min", True),
        ("N", "min", True),
        ("1000000", "min", False),
        ("0", "min", False),
        ("-1", "max", False),
    ],
)
def test_the_least_place_of_the_largest(beyond: str, least: str, right: bool) -> None:
    assert decided_text(FOUND.format(beyond=beyond, least=least)).equal == right


MERGED = """
@ag.inline
def better(v0, i0, v1, i1):
    take = (v1 > v0) | ((v1 == v0) & (i1 < i0))
    return ag.where(take, v1, v0), ag.where(take, i1, i0)


@ag.inline
def larger(v0, i0, v1, i1):
    return ag.where(v1 > v0, v1, v0), ag.where(v1 > v0, i1, i0)


@ag.kernel
def k(X: f32["M N"], Z: f32["M N"], V: f32["M"], I: i32["M"], *, BN: int = 64):
    M, N = X.shape
    ag.require(N > 0, "a row has elements")
    i = ag.block(ag.cdiv(M, 4))
    best = ag.full((4, BN), -ag.inf, f32, dims="M N")
    at = ag.full((4, BN), 0, i32, dims="M N")
    for n in ag.range(0, {end}, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN), fill=-ag.inf)
        z = ag.load(Z[i * 4 :, n:], (4, BN), fill=-ag.inf)
        better_ones = {better}
        best = ag.where(better_ones, x, best)
        at = ag.where(better_ones, ag.broadcast(ag.index(x, "N") + n, x), at)
    m = ag.max(best, "N")
    {merged}
    V[i * 4 :] = v
    I[i * 4 :] = p


@ag.reference
def ref(X, Z):
    return X.max(1), X.argmax(1)
"""
STEPS = "v, p = ag.reduce((best, at), 'N', better)"
LEAST = "v, p = m, ag.min(ag.where(best == m, at, 2147483647), 'N')"


@pytest.mark.parametrize(
    ("merged", "better", "end", "right"),
    [
        (STEPS, "x > best", "N", True),
        (LEAST, "x > best", "N", True),
        # the last place of a lane, or the place of the first of all lanes
        (STEPS, "x >= best", "N", False),
        (LEAST, "x >= best", "N", False),
        ("v, p = ag.reduce((best, at), 'N', larger)", "x > best", "N", False),
        ("v, p = m, ag.max(ag.where(best == m, at, -1), 'N')", "x > best", "N", False),
        # places of any lane, and of lanes that are asked for something else
        ("v, p = m, ag.min(at, 'N')", "x > best", "N", False),
        (LEAST.replace("best == m", "best >= m - 1.0"), "x > best", "N", False),
        (LEAST.replace("at, 2", "at + ag.index(at, 'N'), 2"), "x > best", "N", False),
        (LEAST.replace("2147483647", "60"), "x > best", "N", False),
        # numbers of another tensor, and a row without its end
        (STEPS, "z > best", "N", False),
        (STEPS, "x > best", "N - 1", False),
        (LEAST, "x > best", "N // BN * BN", False),
    ],
)
def test_lanes_are_merged(merged: str, better: str, end: str, right: bool) -> None:
    """Of lanes with the largest number of a row, the least place is the first one."""
    text = MERGED.format(merged=merged, better=better, end=end)
    assert decided_text(text).equal == right


PARTS = """
@ag.kernel
def k(V: f32["P M"], J: i32["P M"], W: f32["M"], I: i32["M"]):
    P, M = V.shape
    ag.require({parts}, "parts")
    i = ag.block(ag.cdiv(M, 16))
    v = ag.load(V[0:, i * 16 :], (32, 16), fill=-ag.inf)
    j = ag.load(J[0:, i * 16 :], (32, 16))
    m = ag.max(v, "P")
    W[i * 16 :] = m
    I[i * 16 :] = ag.min(ag.where({asked}, j, {beyond}), "P")


@ag.reference
def ref(V, J):
    m = V.max(0)
    return m, np.where(V == m, J, {beyond}).min(0)
"""


@pytest.mark.parametrize(
    ("parts", "asked", "beyond", "right"),
    [
        ("(P > 0) & (P <= 32)", "v == m", "2147483647", True),
        ("P == 32", "v == m", "1000", True),  # no part is padded
        ("(P > 0) & (P <= 32)", "v == m", "1000", False),  # a place may be larger
        ("(P > 0) & (P <= 32)", "v == m", "2147483646", False),
        ("(P > 0) & (P <= 32)", "v >= m - 1.0", "2147483647", False),
        ("P <= 32", "v == m", "2147483647", False),  # there may be no part
    ],
)
def test_parts_are_merged(parts: str, asked: str, beyond: str, right: bool) -> None:
    """What a padded part has in place of its place is no less than any place."""
    text = PARTS.format(parts=parts, asked=asked, beyond=beyond)
    assert decided_text(text).equal == right
