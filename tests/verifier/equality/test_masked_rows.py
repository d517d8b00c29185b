"""Rows of which data may leave nothing: what a sum over no point is multiplied with."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

ROWS = """
@ag.kernel
def k(X: boolean["I J"], S: f32["I J"], V: f32["J"], Y: f32["I"], *, J: int = 64):
    I = ag.dim("I")
    i = ag.block(I)
    x = ag.load(X[i, 0:], (64,))
    s = ag.load(S[i, 0:], (64,))
    w = ag.load(V[0:], (64,))
    v = ag.where(x, s, -ag.inf)
    m = {most}
    e = ag.exp({minus})
    l = ag.sum(e, "J")
    Y[i] = {value}


@ag.reference
def ref(X, S, V):
    import numpy as np

    v = np.where(X, S, -np.inf)
    m = np.max(v, axis=1, keepdims=True)
    e = np.exp(v - np.where(m == -np.inf, 0.0, m))
    l = np.sum(e, axis=1, keepdims=True)
    return {wanted}
"""
FINITE = 'ag.maximum(ag.max(v, "J"), -3.4e38)'
GUARDED = 'ag.sum(e * w, "J") * ag.rcp(ag.where(l == 0.0, 1.0, l))'
UNGUARDED = 'ag.sum(e * w, "J") * ag.rcp(l)'
SHARES = "np.sum(e / np.where(l == 0.0, 1.0, l) * V, axis=1)"
KEPT = 'ag.sum(ag.where(x, s, 0.0), "J")'


def equal(
    value: str, wanted: str = SHARES, most: str = FINITE, minus: str = "v - m"
) -> bool:
    return decided_text(
        ROWS.format(value=value, wanted=wanted, most=most, minus=minus)
    ).equal


def test_shares_of_rows_that_may_be_empty() -> None:
    assert equal(GUARDED)
    # The reference has no number there.
    assert equal(GUARDED, "np.sum(e / l * V, axis=1)")
    assert equal(UNGUARDED, "np.sum(e / l * V, axis=1)")
    assert equal(UNGUARDED, "np.sum(e * V, axis=1) / l[:, 0]")


def test_a_divisor_beside_a_sum_was_one_of_its_points() -> None:
    """The reference divides by nothing where there are none; the kernel does."""
    assert not equal(UNGUARDED)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (f"{KEPT} * ag.exp(-m)", "np.exp(-m[:, 0]) * np.where(X, S, 0.0).sum(1)"),
        (f"{KEPT} * m", "np.where(X, S, 0.0).sum(1) * m[:, 0]"),
    ],
)
def test_infinity_times_nothing_is_no_number(value: str, wanted: str) -> None:
    """Of a row without a kept element; one that says 0 there is another reference."""
    wanted = f"np.where(m[:, 0] == -np.inf, 0.0, {wanted})"
    assert not equal(value, wanted, 'ag.max(v, "J")')


def test_the_finite_part_of_a_fused_product() -> None:
    assert equal(GUARDED, minus="ag.fma(v, 1.0, -m)")


GATHERED = """
@ag.kernel
def k(T: i64["I J"], X: f32["E"], Y: f32["I"], *, J: int = 16):
    I = ag.dim("I")
    E = ag.dim("E")
    ag.assume(lambda t: t >= 0, T)
    i = ag.block(I)
    t = ag.load(T[i, 0:], (16,))
    x = ag.load(X[{index}], (16,))
    Y[i] = {value}


@ag.reference
def ref(T, X):
    import numpy as np

    x = X[{wanted}]
    return {result}
"""


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ('ag.max(x, "J")', "x.max(1)"),
        ('ag.prod(x, "J")', "x.prod(1)"),
        ('ag.log(ag.sum(ag.exp(x), "J"))', "np.log(np.exp(x).sum(1))"),
    ],
)
def test_entries_of_an_array_of_indices_are_positions(value: str, result: str) -> None:
    """Also in what is no sum, where a load makes 0 of another entry."""
    for index in ("t", "t + 1", "t * 2 // 3"):
        wanted = index.replace("t", "T")
        given = {"index": index, "wanted": wanted, "value": value, "result": result}
        assert decided_text(GATHERED.format(**given)).equal, index


IGNORED = """
@ag.kernel
def k(X: f32["M N"], T: i64["M"], Y: f32["M"]):
    M, N = X.shape
    ag.assume(lambda t: t < N, T)
    ag.require(N > 200, "all labels are columns")
    i = ag.block(M)
    Y[i] = {value}


@ag.reference
def ref(X, T):
    import numpy as np

    return np.where(T == -100, 0.0, X[np.arange(len(T)), T])
"""


@pytest.mark.parametrize("value", ["X[i, ag.max(T[i], 0)]", "X[i, T[i]]"])
def test_a_reference_may_say_what_an_entry_below_zero_is(value: str) -> None:
    """numpy counts it from the end: -100 is a position where there are 100 columns."""
    assert not decided_text(IGNORED.format(value=value)).equal


def test_entries_that_no_index_is_may_be_anything() -> None:
    """The reference has those of the first columns as indices."""
    text = GATHERED.format(
        index="t", value='ag.max(x, "J")', wanted="T[:, :8]", result="x.max(1)"
    )
    assert not decided_text(text).equal
    text = text.replace("x = X[T[:, :8]]", "x = np.append(X[T[:, :8]], X[T[:, 8:]], 1)")
    assert not decided_text(text.replace("T[:, 8:]]", "T[:, 8:] * 0]")).equal


CHOSEN = """
@ag.kernel
def k(P: boolean["I"], X: f32["E"], Y: f32["I"]):
    I = ag.dim("I")
    E = ag.dim("E")
    i = ag.block(ag.cdiv(I, 16))
    p = ag.load(P[i * 16 :], (16,))
    Y[i * 16 :] = ag.load(X[ag.where(p, 5, 3)], (16,))


@ag.reference
def ref(P, X):
    import numpy as np

    return X[np.where(P, 5, {other})]
"""


def test_an_index_that_data_chooses_is_a_position() -> None:
    """Whatever the extent is: at few elements the reference fails for some data."""
    assert decided_text(CHOSEN.format(other=3)).equal
    assert not decided_text(CHOSEN.format(other=2)).equal


COUNTED = """
@ag.kernel
def k(X: f32["I K L"], Z: f32["I K"], Y: f32["I"], *, B: int = 64):
    I, K, L = X.shape
    i = ag.block(I)
    s = ag.zeros((1,), f32, dims="J")
    for k in ag.range(0, K):
        p = ag.zeros((B,), f32, dims="L")
        for l in ag.range(0, L, B):
            x = ag.load(X[i, k, l:], (B,))
            z = ag.full((), Z[i, k], f32)
            p = p + ag.where(l + ag.index(p, "L") < L, x - z, 0.0)
        s = s + ag.sum(p, "L")
    Y[i] = ag.sum(s, "J")


@ag.reference
def ref(X, Z):
    return (X - Z[:, :, None]).sum(({axes}))
"""


def test_what_a_body_does_not_mention_is_counted() -> None:
    """In a sum over both at once as in one after the other."""
    assert decided_text(COUNTED.format(axes="1, 2")).equal


WRAPS = """
@ag.kernel
def k(X: i64["I"], Z: i64["I"], Y: i64["I"]):
    I = ag.dim("I")
    i = ag.block(ag.cdiv(I, 16))
    x = ag.load(X[i * 16 :], (16,))
    z = ag.load(Z[i * 16 :], (16,))
    Y[i * 16 :] = {value}


@ag.reference
def ref(X, Z):
    import numpy as np

    return {wanted}
"""


@pytest.mark.parametrize(
    ("value", "wanted", "right"),
    [
        ("x * z + x", "X * Z + X", True),
        ("ag.where(x * z > 0, 1, 0).to(i64)", "np.where(X * Z > 0, 1, 0)", False),
        ("(x * z) // 3", "X * Z // 3", False),
    ],
)
def test_64_bits_that_are_stored_may_wrap(value: str, wanted: str, right: bool) -> None:
    """A reference has the same bits; what decides is asked for its number."""
    assert decided_text(WRAPS.format(value=value, wanted=wanted)).equal == right


BUCKETS = """
@ag.kernel
def k(W: f32["E"], Y: f32["J K"]):
    J = ag.dim("J")
    K = ag.dim("K")
    E = ag.dim("E")
    ag.require(E >= 16, "what is chosen is there")
    j, k = ag.block(J, ag.cdiv(K, 64))
    at = (k * 64 + ag.index(ag.full((64,), 0, i64, dims="K"), "K")).to(i64)
    n = ag.abs(at - j)
    v = ag.log(n.to(f32) / 8.0) * 2.0
    bucket = ag.where(n < 8, n, ag.minimum(v.to(i64) + 8, 15))
    Y[j, k * 64 :] = ag.load(W[bucket], (64,))


@ag.reference
def ref(W, J, K):
    import numpy as np

    n = np.abs(np.arange(K)[None, :] - np.arange(J)[:, None])
    v = np.log(n.astype(np.float64) / 8.0) * 2.0
    return W[np.where(n < 8, n, np.minimum(v.astype(np.int64) + 8, {most}))]
"""


def test_an_index_that_a_logarithm_makes_is_a_position() -> None:
    """Buckets of distances: the least of such a number and another one is one, too."""
    assert decided_text(BUCKETS.format(most=15)).equal
    assert not decided_text(BUCKETS.format(most=14)).equal


PADDED = """
@ag.kernel
def k(X: f32["I"], Y: boolean["I"]):
    I = ag.dim("I")
    i = ag.block(ag.cdiv(I, 16))
    x = ag.load(X[i * 16 :], (16,))
    y = ag.load(X[i * 16 :], (16,), fill={fill})
    Y[i * 16 :] = {value}


@ag.reference
def ref(X):
    return {wanted}
"""


def test_padding_that_is_divided_by_is_compared_nowhere() -> None:
    """Signs of zeros: elements behind the end are 0, and none of them is stored."""
    value, wanted = "(x == 0.0) & (1.0 / x < 0.0)", "(X == 0) & (1 / X < 0)"
    assert decided_text(PADDED.format(value=value, wanted=wanted, fill=0.0)).equal
    other = wanted.replace("< 0)", "> 0)")
    assert not decided_text(PADDED.format(value=value, wanted=other, fill=0.0)).equal


def test_what_is_stored_is_compared_where_it_is_defined() -> None:
    """`x - x` divides everywhere."""
    value, wanted = "1.0 / (x - y) < 0.0", "X != X"
    assert not decided_text(PADDED.format(value=value, wanted=wanted, fill=0.0)).equal
