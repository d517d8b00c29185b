"""The search for witnesses: what differs from its reference is found, nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from argus.equivalence.deciding import TrialPlace
from argus.equivalence.references import reference_of
from argus.equivalence.sizes import mended
from argus.evaluation.equal.noise import Rounding, with_noise
from argus.evaluation.equal.refuting import refute, tried_at
from argus.evaluation.requests import default_dtypes
from argus.kernels.varlen_attention.kernel import varlen_attention
from argus.requests import Request, tile_program
from evaluation.searching import kernels, loaded, tried
from few import EVERY

ROWS = """@ag.kernel
def k(X: f32["M N"], Y: f32["M"], scale: f32 = 2.0, *, BN: int = 64):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    acc = ag.zeros((4,), f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN))
        acc = acc + ag.sum(CHANGED, "N")
    Y[i * 4 :] = acc * scale


@ag.reference
def ref(X, scale):
    return X.sum(1) * scale
"""


def test_a_right_kernel_is_not_refuted():
    found = tried(ROWS.replace("CHANGED", "x"))
    assert found.witness is None
    assert found.runs >= 12
    assert found.why == ""


@pytest.mark.parametrize(
    "changed",
    [
        # One column, at one position only: sizes above 100 show it.
        "ag.where(ag.broadcast(n + ag.index(x, 'N') != 100, x), x, 0.0)",
        # The whole numbers of the sum: rounding would be about as large.
        "x * 1.001",
        # Only where data is large.
        "ag.where(x > 2.5, 0.0, x)",
        "ag.where(ag.broadcast(n + ag.index(x, 'N') > 4000, x), 0.0, x)",
    ],
)
def test_a_wrong_kernel_is_refuted_with_an_element(changed: str):
    shown = tried(ROWS.replace("CHANGED", changed)).witness
    assert shown is not None
    found = shown.difference
    assert found.output == "Y"
    assert found.index[0] < shown.sizes["M"]
    assert abs(found.got - found.wanted) > 1e-4 * abs(found.wanted)
    assert "`ref` says" in shown.message


def test_what_is_not_written_is_said_so():
    body = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    ag.store(Y[m, j * BN :], x, mask=x > 0.0)


@ag.reference
def ref(X):
    return X
"""
    found = tried(body).witness
    assert found is not None
    assert not found.difference.written
    assert "is not written" in found.message


def test_a_reference_of_other_shapes_fails_or_has_no_number_is_no_witness():
    for said in ("X[:-1].sum(1)", "1 / 0", "X.sum(1) / 0.0", "np.sqrt(X.sum(1) - 1e9)"):
        body = ROWS.replace("CHANGED", "x").replace("X.sum(1) * scale", said)
        found = tried(body)
        assert found.witness is None
        assert found.runs == 0
        assert found.why


def test_a_size_that_only_the_output_has_follows_from_the_reference():
    body = """@ag.kernel
def k(X: f32["M N"], Y: f32["M W"], *, BW: int = 64):
    M, N = X.shape
    W = Y.shape[1]
    ag.require(W == 2 * N, "twice as wide")
    m, j = ag.block(M, ag.cdiv(W, BW))
    up = X.view("M W", shape=(M, W), at=lambda m, w: (m, OFF))
    Y[m, j * BW :] = ag.load(up[m, j * BW :], (BW,))


@ag.reference
def ref(X):
    return np.repeat(X, 2, 1)
"""
    right, wrong_ = (tried(body.replace("OFF", at)) for at in ("w // 2", "w // 3"))
    assert right.witness is None
    assert right.runs
    assert wrong_.witness is not None


def test_tables_keep_what_is_assumed_of_them():
    body = """@ag.kernel
def k(S: f32["B T"], Len: i32["B"], Y: f32["B"], *, BT: int = 64):
    B, T = S.shape
    ag.assume(lambda n: (n > 0) & (n <= T), Len)
    b = ag.block(B)
    n = Len[b]
    acc = ag.zeros((1,), f32, dims="B")
    for t in ag.range(0, n, BT):
        x = ag.load(S[b : b + 1, t:n], (1, BT))
        acc = acc + ag.sum(x, "T")
    Y[b : b + 1] = acc


@ag.reference
def ref(S, Len):
    return np.array([S[b, : Len[b]].sum() for b in range(len(Len))])
"""
    right = tried(body)
    assert right.witness is None
    assert right.runs
    assert tried(body.replace("t:n]", "t:T]")).witness is not None


def test_a_table_that_the_reference_does_not_take_says_how_work_is_split():
    body = """@ag.kernel
def k(X: f32["M N"], Row: i32["M"], Y: f32["M N"], *, N: int = 64):
    M, _ = X.shape
    m = ag.block(M)
    r = Row[m]
    Y[r, :] = ag.load(X[r, :], (N,))


@ag.reference
def ref(X):
    return X
"""
    found = tried(body)
    assert found.witness is None
    assert "table `Row`" in found.why
    kernel = kernels(body)["k"]
    request = Request(kernel, default_dtypes(kernel, {}))
    at = tried_at(request, tile_program(request), loaded(kernel), TrialPlace({"M": 5}))
    assert at.witness is None
    assert "table `Row`" in at.why


def test_an_output_that_is_added_to_begins_as_the_reference_takes_it():
    body = """@ag.kernel
def k(X: f32["M N"], S: f32["N"], *, BM: int = 16, BN: int = 64):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN))
    ag.atomic_add(S[j * BN :], ag.sum(x, "M"))


@ag.reference
def ref(X, S):
    return S + X.sum(0)
"""
    assert tried(body).witness is None
    without = body.replace("def ref(X, S)", "def ref(X)").replace("S + X", "X")
    assert tried(without).witness is None  # it begins as 0
    assert tried(body.replace("S + X", "X")).witness is not None


def test_optional_tensors_are_held_against_the_reference_too():
    body = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], Bias: f32["N"] | None = None, *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    if Bias is not None:
        x = x + ag.load(Bias[j * BN :], (BN,))
    Y[m, j * BN :] = x


@ag.reference
def ref(X, Bias=None):
    return X if Bias is None else X - Bias
"""
    assert tried(body).witness is None
    assert tried(body, present=("Bias",)).witness is not None
    assert (
        tried(body.replace("X - Bias", "X + Bias"), present=("Bias",)).witness is None
    )


def test_requirements_are_mended():
    kernel = kernels(
        """@ag.kernel
def k(A: f32["M K"], S: f32["B"], C: f32["M K"]):
    M, K = A.shape
    ag.require(M == 4 * S.shape[0], "four rows each")
    ag.require((K >= 256) & (K <= 8192) & (K % 8 == 0), "rows")
    i = ag.block(M)
    C[i, 0:] = ag.load(A[i, 0:], (8192,))
"""
    )["k"]
    from argus.requests import tile_program

    program = tile_program(Request(kernel, default_dtypes(kernel, {})))
    assert mended(program, {"M": 3, "K": 65, "B": 5}) == {"M": 20, "K": 256, "B": 5}


def test_a_reference_goes_with_a_kernel_by_name():
    two = """@ag.kernel
def first(X: f32["N"], Y: f32["N"]):
    Y[0:] = ag.load(X[0:], (16,))


@ag.kernel
def second(X: f32["N"], Y: f32["N"]):
    Y[0:] = ag.load(X[0:], (16,)) * 2.0


@ag.reference
def second_reference(X):
    return 2 * X
"""
    found = kernels(two)
    assert reference_of(found["first"]) is None
    assert loaded(found["second"]).name == "second_reference"
    # With several kernels a name that says nothing goes with none of them.
    found = kernels(two.replace("second_reference", "ref"))
    assert reference_of(found["second"]) is None
    np.testing.assert_array_equal(
        loaded(kernels(two)["second"]).called({"X": np.ones(3)}, ["Y"])["Y"], 2.0
    )


ELEMENTS = """@ag.kernel
def k(X: {type}["M N"], I: i32["M"], Y: {type}["M N"], s: i32 = 2, *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    Y[m, j * BN :] = {value}


@ag.reference
def ref(X, I, s):
    return {wanted}
"""


@pytest.mark.parametrize(
    ("type_", "wrong", "right"),
    [
        # at constants that are no small numbers, and beyond them
        ("f32", "ag.where(x == 12345.5, 0.0, x)", "x"),
        ("f32", "ag.minimum(x, 1e6)", "x"),
        ("i32", "ag.where(x == 99991, 0, x)", "x"),
        # at the ends of a type, where what is in between wraps around
        ("i16", "(x + x) // 2", "x"),
        ("i32", "(x + x) // 2", "x"),
        ("u8", "(x * 2) // 2", "x"),
        ("i8", "(x * 2) // 2", "x"),
        # a scalar argument has another value than its default
        ("i32", "x + 2", "x + s"),
        ("i32", "x + s - s // 1000000", "x + s"),
        ("i32", "x + ag.max(s, 0)", "x + s"),
        # many blocks, and the last of them
        ("i32", "x + j * BN // 1000000", "x"),
    ],
)
def test_what_is_wrong_at_few_numbers_is_found(type_: str, wrong: str, right: str):
    forms = [
        ELEMENTS.format(type=type_, value=value, wanted=right.replace("x", "X"))
        for value in (right, wrong)
    ]
    first, second = (tried(form) for form in forms)
    assert first.witness is None
    assert first.runs
    assert second.witness is not None


GATHER = """@ag.kernel
def k(X: f32["V D"], I: i32["P"], Y: f32["P D"], *, BP: int = 16, BD: int = 64):
    V, D = X.shape
    P = I.shape[0]
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(D, BD))
    rows = ag.load(I[i * BP :], (BP,), fill=-1)
    rows = ROWS
    Y[i * BP :, j * BD :] = ag.load(X[rows, j * BD :], (BP, BD)).rename("P D")


@ag.reference
def ref(X, I):
    return X[I]
"""


def test_an_entry_that_is_a_large_constant_is_found():
    assert tried(GATHER.replace("ROWS", "rows")).witness is None
    for rows in ("ag.where(rows == 9001, 0, rows)", "ag.minimum(rows, 9001)"):
        found = tried(GATHER.replace("ROWS", rows)).witness
        assert found is not None
        assert found.sizes["V"] > 9001


LOGSUM = """@ag.kernel
def k(X: f32["M N"], Y: f32["M"], *, BN: int = 128):
    M, N = X.shape
    ag.require((N > 0) & (N <= BN), "a row")
    m = ag.block(M)
    x = ag.load(X[m, 0:], (BN,), fill=-ag.inf)
    top = TOP
    Y[m] = top + ag.log(ag.sum(ag.exp(x - top), "N"))


@ag.reference
def ref(X):
    return np.log(np.exp(X).sum(1))
"""


def test_what_leaves_the_range_of_its_type_is_found():
    assert tried(LOGSUM.replace("TOP", 'ag.max(x, "N")')).witness is None
    found = tried(LOGSUM.replace("TOP", 'ag.maximum(128.0, ag.max(x, "N"))')).witness
    assert found is not None
    assert not np.isfinite(found.difference.got)
    assert np.isfinite(found.difference.wanted)


def test_what_saturates_is_found_and_what_is_rounded_is_not():
    for value, wrong in (
        ("x.to(e4m3).to(f32)", False),
        ("(x * 1000.0).to(e4m3).to(f32) * 0.001", True),
    ):
        text = ELEMENTS.format(type="f32", value=value, wanted="X")
        assert (tried(text).witness is not None) == wrong


MASKED = """@ag.kernel
def k(X: f32["M N"], Y: f32["M"], *, BN: int = 128):
    M, N = X.shape
    ag.require((N > 0) & (N <= BN), "a row")
    m = ag.block(M)
    x = ag.load(X[m, 0:], (BN,), fill=0.0)
    x = ag.where(ag.index(x, "N") < N, x, -1e4)
    Y[m] = ag.sum(ag.exp(x - ag.max(x, "N")), "N")


@ag.reference
def ref(X):
    return np.exp(X - X.max(1, keepdims=True)).sum(1)
"""
ADDED = """@ag.kernel
def k(X: f32["M N"], S: f32["M"], *, BN: int = 16):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    part = ag.sum(ag.load(X[m : m + 1, j * BN :], (1, BN)), "N")
    ag.atomic_add(S[m : m + 1], part)


@ag.reference
def ref(X, S):
    return S + X.sum(1)
"""


def test_what_masks_scores_is_larger_than_any_of_them():
    found = tried(MASKED)
    assert found.witness is None
    assert found.runs >= 12


@pytest.mark.parametrize(
    ("sizes", "run"), [({"M": 15, "N": 200}, True), ({"M": 40, "N": 200}, False)]
)
def test_what_some_of_many_blocks_have_added_is_no_result(
    sizes: dict[str, int], run: bool
):
    kernel = kernels(ADDED)["k"]
    request = Request(kernel, default_dtypes(kernel, {}))
    program = tile_program(request)
    found = tried_at(request, program, loaded(kernel), TrialPlace(sizes))
    assert found.witness is None
    assert bool(found.sizes) == run
    assert ("520 blocks are too many" in found.why) != run


QUANTISED = """@ag.kernel
def k(X: f32["M N"], Q: i8["M N"], *, BN: int = 64):
    M, N = X.shape
    ag.require(N <= BN, "a row is a tile")
    i = ag.block(M)
    x = ag.load(X[i : i + 1, 0:], (1, BN))
    top = ag.maximum(ag.max(ag.abs(x), "N"), 1e-8)
    Q[i : i + 1, 0:] = ag.ROUND(x * (127.0 / top)).to(i8)


@ag.reference
def ref(X):
    top = np.maximum(np.abs(X).max(1), 1e-8)
    return np.rint(X / top[:, None] * 127.0)
"""


def test_a_step_of_a_function_is_no_witness():
    """Two right formulas, one of which ends before a half, and the other behind."""
    for seed in range(6 if EVERY else 2):
        kernel = kernels(QUANTISED.replace("ROUND", "round"))["k"]
        request = Request(kernel, default_dtypes(kernel, {}))
        found = refute(request, tile_program(request), loaded(kernel), seed=seed)
        assert found.witness is None, found.witness
    assert tried(QUANTISED.replace("ROUND", "floor")).witness is not None


def test_a_comparison_with_what_is_given_is_one():
    """Nothing is rounded before it decides."""
    body = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], *, BN: int = 64):
    i = ag.block(ag.cdiv(X.shape[0], BN))
    x = ag.load(X[i * BN :], (BN,))
    Y[i * BN :] = ag.where(x > 0.75, x * 2.0, 0.0)


@ag.reference
def ref(X):
    return np.where(X >= 0.75, X * 2.0, 0.0)
"""
    found = tried(body).witness
    assert found is not None
    assert found.difference.wanted == 1.5


def test_noise_leaves_what_is_exact():
    for seed in range(4):
        whole = with_noise(np.arange(12.0).reshape(3, 4), Rounding(seed))
        assert ((whole * 2.0 + 1.0).sum() == 2.0 * 66.0 + 12.0).all()
        assert (np.maximum(whole, 3.0) >= 3.0).all()
        assert np.sqrt(whole)[0, 2] == pytest.approx(np.sqrt(2.0), rel=2e-7)
        assert np.sqrt(whole)[0, 2] != np.sqrt(2.0)


def test_noise_of_a_sum_is_of_what_it_adds() -> None:
    """The sum of a row that cancels is off by what its elements are rounded by."""
    tables = np.array([[1.0, 1.0, -1.0, -1.0 - 2e-16]]).T
    for name in ("matmul", "dot", "einsum"):
        whole = with_noise(np.full((2, 4), 1e3), Rounding(1))
        args = ("ij,jk->ik",) if name == "einsum" else ()
        made = np.asarray(getattr(np, name)(*args, whole, tables))
        assert made.shape == (2, 1)
        assert 1e-8 < np.abs(made).max() < 1e-2, name


def test_what_is_too_small_for_64_bits_is_not_0() -> None:
    small = np.exp(with_noise(np.array([-800.0, -np.inf, 0.0]), Rounding(1)))
    assert 0.0 < small[0] < 1e-300
    assert small[1] == 0.0
    assert 1.0 + small[0] == 1.0


QUOTIENTS = """@ag.kernel
def k(X: f32["M N"], V: f32["M N"], Y: f32["M"], *, BM: int = 4, BN: int = 64):
    M, N = X.shape
    ag.require((N > 0) & (N <= BN), "a row is a tile")
    i = ag.block(ag.cdiv(M, BM))
    x = ag.load(X[i * BM :, 0:], (BM, BN), fill=-ag.inf) * 200.0
    v = ag.load(V[i * BM :, 0:], (BM, BN))
    e = ag.exp(x - ag.max(x, "N"))
    Y[i * BM :] = ag.sum(e * v, "N") / ag.sum(e, "N")


@ag.reference
def ref(X, V):
    e = np.exp(X * 200.0)
    total = e.sum(1)
    return (e * V).sum(1) / np.where(total > 0.0, total, 1.0)
"""


def test_a_reference_that_takes_a_small_number_for_0_is_no_witness() -> None:
    """In real arithmetic its sum of exponentials is always above 0."""
    found = tried(QUOTIENTS)
    assert found.witness is None, found.witness
    wrong = tried(QUOTIENTS.replace("(e * V)", "(e * X)"))
    assert wrong.witness is not None


COSINES = """@ag.kernel
def k(X: f32["M 4"], Y: f32["M"]):
    i = ag.block(ag.cdiv(X.shape[0], 32))
    Y[i * 32 :] = ag.load(X[i * 32 :, 1], (32,)) * CHANGED


@ag.reference
def ref(X):
    return X @ np.sin(np.pi * np.arange(4) / 1.0) + X[:, 1] * 0.0
"""


def test_the_sine_of_pi_is_no_witness() -> None:
    """It is 1e-16 in 64 bits, and 0 where a kernel computes none of it."""
    found = tried(COSINES.replace("CHANGED", "0.0"))
    assert found.runs and found.witness is None
    assert tried(COSINES.replace("CHANGED", "1e-3")).witness is not None


def test_a_branch_hands_on_what_was_not_computed():
    """Where a sequence has one block of keys, the loop over the others has no turn."""
    statics = {"D": 16, "BQ": 64, "BT": 16, "WARPGROUPS": 1}
    request = Request(varlen_attention, default_dtypes(varlen_attention, {}), statics)
    reference = loaded(varlen_attention)
    found = refute(request, tile_program(request), reference, seconds=1.0)
    assert found.witness is None
    assert found.runs
