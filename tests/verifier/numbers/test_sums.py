"""Sums of whole numbers that may leave their type: equal where none can, else open.

Each pair differs in a bound alone, so that the form that fits shows that equality is
within reach.
"""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

ROWS = """
@ag.kernel
def k(X: {dtype}["M N"], Y: {out}["M"], *, BN: int = 64):
    M, N = X.shape
    ag.require(N <= {most}, "sums fit")
    {more}
    m = ag.block(M)
    acc = ag.zeros((), {kept})
    for n in ag.range(0, N, BN):
        acc = acc + ag.sum(ag.load(X[m, n:], (BN,)).to({kept}), "N")
    Y[m] = {value}


@ag.reference
def ref(X):
    return {wanted}
"""
PRODUCTS = """
@ag.kernel
def k(X: {a}["M K"], W: {b}["N K"], S: f32["N"], Y: {out}["M N"]):
    M, K = X.shape
    N = W.shape[0]
    ag.require(K <= {most}, "sums of products fit")
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    acc = ag.zeros((64, 64), i32)
    for k in ag.range(0, K, 64):
        x = ag.load(X[i * 64 :, k:], (64, 64))
        acc = ag.dot(x, ag.load(W[j * 64 :, k:], (64, 64)).T, acc)
    Y[i * 64 :, j * 64 :] = {value}


@ag.reference
def ref(X, W, S):
    return {wanted}
"""
PREFIX = """
@ag.kernel
def k(C: i32["N"], O: i32["N"]):
    N = C.shape[0]
    ag.assume(lambda c: (c >= {least}) & (c <= {largest}), C)
    ag.require(N <= {most}, "sums fit")
    base = ag.zeros((), i32)
    for n in ag.range(0, N, 64):
        c = ag.load(C[n:], (64,))
        O[n:] = ag.cumsum(c, "N") - c + base
        base = base + ag.sum(c, "N")


@ag.reference
def ref(C):
    return np.cumsum(C) - C
"""
MULTIPLIED = """
@ag.kernel
def k(X: i8["M N"], Y: i32["M"]):
    M, N = X.shape
    ag.require(N <= 64, "one tile")
    m = ag.block(M)
    Y[m] = ag.prod(ag.load(X[m, 0:], (64,), fill=1).to(i32), "N")


@ag.reference
def ref(X):
    return X.prod(1)
"""
ADDED = """
@ag.kernel
def k(X: {dtype}["N"], S: i32["1"]):
    N = X.shape[0]
    ag.require(N <= {most}, "sums fit")
    i = ag.block(ag.cdiv(N, 64))
    ag.atomic_add(S[0], ag.sum(ag.load(X[i * 64 :], (64,)).to(i32), "N"))


@ag.reference
def ref(X, S):
    return S + X.sum()
"""

FLAT = """
@ag.kernel
def k(X: f32["M N"], Y: {out}):
    M, N = X.shape
    ag.require(M * N <= {most}, "places fit")
    i, j = ag.block(ag.cdiv(M, 4), ag.cdiv(N, 32))
    x = ag.load(X[i * 4 :, j * 32 :], (4, 32))
    row = ag.broadcast(ag.index(x, "M") + i * 4, x)
    place = row * N + ag.broadcast(ag.index(x, "N") + j * 32, x)
    {stored}


@ag.reference
def ref(X, Y):
    M, N = X.shape
    place = np.where(X > 0, np.arange(M * N).reshape(M, N), 0)
    return {wanted}
"""
STORED = {
    "out": 'i32["M N"]',
    "stored": "Y[i * 4 :, j * 32 :] = ag.where(x > 0.0, place, 0)",
    "wanted": "place",
}
"""What wraps beside X is not stored."""
SUMMED = {
    "out": 'i32["M"]',
    "stored": 'ag.atomic_max(Y[i * 4 :], ag.max(ag.where(x > 0.0, place, 0), "N"))',
    "wanted": "np.maximum(Y, place.max(1))",
}


def rows(
    most: int,
    dtype: str = "i16",
    kept: str = "i32",
    out: str = "i32",
    value: str = "acc",
    wanted: str = "X.sum(1)",
    more: str = "",
) -> str:
    return ROWS.format_map(locals())


def products(
    most: int,
    a: str = "i8",
    b: str = "i8",
    out: str = "i32",
    value: str = "acc",
    wanted: str = "X @ W.T",
) -> str:
    return PRODUCTS.format_map(locals())


AS_FLOATS = {
    "out": "f32",
    "value": "acc.to(f32) * ag.load(S[j * 64 :], (64,))",
    "wanted": "(X @ W.T) * S",
}
LESS = {"out": "f32", "value": "ag.where(acc > 0, 1.0, 0.0)"}
SIGNS = "np.where(X.sum(1) > 0, 1.0, 0.0)"
ASSUMED = "ag.assume(lambda x: (x >= {0}) & (x <= {1}), X)"
PAIRS = {
    "i16": (rows(65000), rows(66000)),
    "i8": (rows(16_000_000, "i8"), rows(17_000_000, "i8")),
    "u8": (rows(8_000_000, "u8"), rows(8_500_000, "u8")),
    "u16": (rows(32_000, "u16"), rows(33_000, "u16")),
    "compared": (
        rows(65000, **LESS, wanted=SIGNS),
        rows(66000, **LESS, wanted=SIGNS),
    ),
    "i32": (
        rows(1000, "i32", more=ASSUMED.format(-2000000, 2000000)),
        rows(1100, "i32", more=ASSUMED.format(-2000000, 2000000)),
    ),
    "i32 of any size": (
        rows(1000, "i32", more=ASSUMED.format(0, 1000)),
        rows(1000, "i32"),
    ),
    "added as i32, wanted in i64": (
        rows(1000, "i32", "i64", "i64", "acc"),
        rows(1000, "i32", "i32", "i64", "acc.to(i64)"),
    ),
    "products of i8": (products(131071), products(131073)),
    "products of u8": (products(33000, "u8", "u8"), products(34000, "u8", "u8")),
    "scaled": (products(131071, **AS_FLOATS), products(1000000, **AS_FLOATS)),
    "prefix": (
        PREFIX.format(least=0, largest=1000, most=2_000_000),
        PREFIX.format(least=0, largest=1000, most=2_200_000),
    ),
    "prefix, negative": (
        PREFIX.format(least=-1000, largest=0, most=2_000_000),
        PREFIX.format(least=-1000, largest=0, most=2_200_000),
    ),
    "places": (
        FLAT.format(most=1 << 31, **STORED),
        FLAT.format(most=1 << 32, **STORED),
    ),
    "atomic": (
        ADDED.format(dtype="i16", most=65000),
        ADDED.format(dtype="i16", most=66000),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_fits_is_equal_and_what_may_not_is_open(name: str):
    fits, wraps = PAIRS[name]
    made = decided_text(fits)
    assert made.equal, made.reason
    found = decided_text(wraps)
    assert not found.equal
    assert "does not fit" in found.reason


def test_products_over_a_row_may_leave_32_bits():
    found = decided_text(MULTIPLIED)
    assert not found.equal
    assert "does not fit" in found.reason


def test_the_size_is_told():
    found = decided_text(products(1000000))
    first, second = found.samples
    assert 131072 <= first["K"] <= 1000000
    assert second["K"] == 2 * first["K"]


def test_numbers_in_between_may_wrap():
    """Sums are those of numbers modulo 2**32: what is looked at alone has to fit."""
    text = rows(1000, "i8", value="acc * 65536 - acc * 65535")
    assert decided_text(text).equal


def test_a_sum_of_fewer_bits_is_not_taken_to_its_ends():
    wanted = "np.minimum(np.maximum(X.sum(1), -128), 127)"
    found = decided_text(rows(60, out="i8", value="acc.to(i8)", wanted=wanted))
    assert not found.equal
    assert "differ" in found.reason
    wanted = "X.sum(1).astype(np.int8)"
    assert decided_text(rows(60, out="i8", value="acc.to(i8)", wanted=wanted)).equal


ENTRIES = """
@ag.kernel
def k(X: f32["P D"], I: i32["P"], Y: f32["P D"], *, BP: int = 16, BD: int = 64):
    P, D = X.shape
    ag.assume(lambda r: (r >= 0) & (r < {most}), I)
    i, j = ag.block(P, ag.cdiv(D, BD))
    one = I[i]
    {more}
    x = ag.load(X[i, j * BD :], (BD,))
    n = j * BD + ag.index(x, "D")
    Y[i, j * BD :] = ag.where({asked}, x, 0.0)


@ag.reference
def ref(X, I):
    return X
"""
MADE = {
    "a scalar": ("", "n * 0 + one"),
    "one that a loop adds to": (
        "for _ in ag.range(0, 1):\n        one = one + I[i]", "n * 0 + one"
    ),
    "one of a branch": (
        "if I[i] > 3:\n        one = I[i]\n    else:\n        one = I[i]", "n * 0 + one"
    ),
    "prefix sums of one": ("", "ag.cumsum(n * 0 + one, 'D')"),
    "a tile": ("", "ag.max(ag.load(I[i : i + 1], (1,)), 'P') + n * 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(("most", "equal"), [(20, True), (1 << 20, False)])
def test_products_of_a_tile_with_an_entry(name: str, most: int, equal: bool):
    more, tile = MADE[name]
    asked = f"({tile}) * 1000000 >= 0"
    made = decided_text(ENTRIES.format(most=most, more=more, asked=asked))
    assert made.equal == equal, made.reason
    assert equal or "does not fit" in made.reason


@pytest.mark.parametrize(("most", "equal"), [(100, True), (1 << 20, False)])
def test_an_entry_that_is_added_to_itself_many_times(most: int, equal: bool):
    more = "many = ag.zeros((BD,), i32, dims='D') + one\n"
    more += "    for _ in ag.static_range(20):\n        many = many + many"
    asked = "many >= n * 0"
    made = decided_text(ENTRIES.format(most=most, more=more, asked=asked))
    assert made.equal == equal, made.reason
    assert equal or "does not fit" in made.reason


def test_numbers_beside_a_tensor_that_come_into_a_result() -> None:
    """Of the largest in a row it is asked whether those beside X fit, too."""
    found = decided_text(FLAT.format(most=1 << 31, **SUMMED))
    assert not found.equal
    assert "does not fit" in found.reason
