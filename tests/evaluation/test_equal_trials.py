"""What runs beside a reference are given: sizes, numbers, tensors, multiprocessors."""

from __future__ import annotations

import pytest

from argus.equivalence.deciding import TrialPlace
from argus.evaluation.equal.refuting import tried_at
from argus.evaluation.requests import default_dtypes
from argus.requests import Request, tile_program
from evaluation.searching import kernels, loaded, tried


def test_rows_of_a_trial_are_as_wide_as_tma_needs():
    body = """@ag.kernel
def k(A: e4m3["M K"], B: e4m3["N K"], S: f32["M"], C: f32["M N"]):
    M, K = A.shape
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(B.shape[0], 64))
    ring = ag.ring(2, a=e4m3.tile(64, 128), b=e4m3.tile(64, 128))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, 128):
            with ring.fill() as s:
                s.a.load(A[i * 64 :, k:])
                s.b.load(B[j * 64 :, k:])
    with ag.role("math", warpgroups=1):
        acc = ag.zeros((64, 64), f32)
        for k in ag.range(0, K, 128):
            with ring.drain() as s:
                acc = ag.dot(s.a, s.b.T, acc)
        C[i * 64 :, j * 64 :] = acc SCALED


@ag.reference
def ref(A, B, S):
    return A @ B.T * S[:, None]
"""
    right = tried(body.replace("SCALED", "* ag.load(S[i * 64 :], (64,))"))
    assert right.witness is None
    shown = tried(body.replace("SCALED", "")).witness
    assert shown is not None
    assert all(n % 16 == 0 for n in (shown.strides["A"][0], shown.strides["B"][0]))


def test_a_reference_that_wraps_in_narrow_types_is_no_excuse_for_a_third_result():
    body = """@ag.kernel
def k(Q: u8["N"], Y: f32["N"]):
    i = ag.block(ag.cdiv(ag.dim("N"), 64))
    q = ag.load(Q[i * 64 :], (64,)).to(i32)
    Y[i * 64 :] = (TAKEN).to(f32)


@ag.reference
def ref(Q):
    return Q % 16 - 8
"""
    assert tried(body.replace("TAKEN", "q % 16 - 8")).witness is None
    # What 8 bits make of it may be meant.
    wrapped = "ag.where(q % 16 < 8, q % 16 + 248, q % 16 - 8)"
    assert tried(body.replace("TAKEN", wrapped)).witness is None
    assert tried(body.replace("TAKEN", "q % 16 - 7")).witness is not None


def test_numbers_that_an_assumption_names_are_drawn():
    body = """@ag.kernel
def k(T: i32["N"], Y: f32["N"]):
    ag.assume(lambda t: (t == -100) | ((t >= 0) & (t < 9)), T)
    i = ag.block(ag.cdiv(ag.dim("N"), 64))
    t = ag.load(T[i * 64 :], (64,))
    Y[i * 64 :] = ag.where(t == IGNORED, 0.0, 1.0)


@ag.reference
def ref(T):
    return np.where(T == -100, 0.0, 1.0)
"""
    assert tried(body.replace("IGNORED", "-100")).witness is None
    assert tried(body.replace("IGNORED", "-99")).witness is not None


def test_an_optional_tensor_that_is_left_out_is_none_for_its_reference():
    body = """@ag.kernel
def k(X: f32["N"], B: f32["N"] | None = None, R: f32["N"] | None = None):
    i = ag.block(ag.cdiv(ag.dim("N"), 64))
    x = ag.load(X[i * 64 :], (64,))
    if COND:
        x = x + ag.load(R[i * 64 :], (64,))
    X[i * 64 :] = x * 2.0


@ag.reference
def ref(X, B, R):
    return 2.0 * (X if R is None else X + R)
"""
    right = tried(body.replace("COND", "R is not None"), present=("R",))
    assert right.witness is None
    assert right.runs
    both = "R is not None and B is not None"
    assert tried(body.replace("COND", both), present=("R",)).witness is not None


def test_a_block_does_several_tiles():
    body = """@ag.kernel
def k(X: f32["M N"], Y: f32["M"]):
    M, N = X.shape
    BEFORE
    for i in ag.persistent(ag.cdiv(M, 32)):
        INSIDE
        for n in ag.range(0, N, 64):
            acc = acc + ag.sum(ag.load(X[i * 32 :, n:], (32, 64)), "N")
        Y[i * 32 :] = acc


@ag.reference
def ref(X):
    return X.sum(1)
"""
    zero = 'acc = ag.zeros((32,), f32, dims="M")'
    right = tried(body.replace("BEFORE", "pass").replace("INSIDE", zero))
    assert right.witness is None
    assert right.runs
    shown = tried(body.replace("BEFORE", zero).replace("INSIDE", "pass")).witness
    assert shown is not None
    assert shown.sizes["sm_count"] < 5


def test_a_masked_score_is_a_number():
    body = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], last: i32):
    i = ag.block(ag.cdiv(ag.dim("N"), 64))
    x = ag.load(X[i * 64 :], (64,))
    n = ag.index(x, "N") + i * 64
    Y[i * 64 :] = ag.where(n OP last, x, -1e30)


@ag.reference
def ref(X, last):
    return np.where(np.arange(len(X)) < last, X, -1e30)
"""
    right = tried(body.replace("OP", "<"))
    assert right.witness is None
    assert right.runs
    assert tried(body.replace("OP", "<=")).witness is not None


@pytest.mark.parametrize("blocks", [2, 8])
def test_runs_have_room_for_a_cluster(blocks: int) -> None:
    body = """@ag.kernel
def k(X: f32["M"], Y: f32["M"]):
    M, = X.shape
    ag.cluster(BLOCKS)
    for i in ag.persistent(ag.cdiv(M, 32)):
        Y[i * 32 :] = 2.0 * ag.load(X[i * 32 :], (32,))


@ag.reference
def ref(X):
    return 2 * X
"""
    right = tried(body.replace("BLOCKS", str(blocks)))
    assert right.witness is None
    assert right.runs
    assert tried(body.replace("BLOCKS", str(blocks)).replace("2.0", "3.0")).witness


BESIDE = """@ag.kernel
def k(P: f32["N"], G: f32["N"], Y: f32["N"], lr: f32 = 1e-3, wd: f32 = WD):
    i = ag.block(ag.cdiv(ag.dim("N"), 128))
    p = ag.load(P[i * 128 :], (128,))
    Y[i * 128 :] = p * (1.0 SIGN lr * wd) - ag.load(G[i * 128 :], (128,))


@ag.reference
def ref(P, G, lr, wd):
    return P * (1 - lr * wd) - G
"""


@pytest.mark.parametrize("default", ["1e-2", "0.0"])
def test_what_a_small_scalar_is_a_factor_of_is_seen(default: str):
    """At their defaults both differ by less than rounding, or not at all."""
    text = BESIDE.replace("WD", default)
    assert tried(text.replace("SIGN", "-")).witness is None
    assert tried(text.replace("SIGN", "+")).witness is not None


SIGNED = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], s: f32 = 2.0):
    i = ag.block(ag.cdiv(ag.dim("N"), 128))
    Y[i * 128 :] = VALUE


@ag.reference
def ref(X, s):
    return np.maximum(X * s, -3.0 * s)
"""


@pytest.mark.parametrize(
    "value", ["ag.maximum(x, -3.0) * s", "ag.maximum(x * s, -3.0 * ag.max(s, -s))"]
)
def test_a_scalar_of_the_other_sign(value: str):
    load = "ag.load(X[i * 128 :], (128,))"
    right = "ag.maximum(x * s, -3.0 * s)".replace("x *", load + " *")
    assert tried(SIGNED.replace("VALUE", right)).witness is None
    value = value.replace("(x", "(" + load)
    assert tried(SIGNED.replace("VALUE", value)).witness is not None


def test_a_scale_of_what_is_masked_keeps_its_sign():
    """Minus infinity times a scale is less than all others: what else is not said."""
    masked = "ag.maximum(ag.load(X[i * 128 :], (128,), fill=-ag.inf), -3.0) * s"
    assert tried(SIGNED.replace("VALUE", masked)).witness is None


BETWEEN = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], lo: f32 = -1.0, hi: f32 = 1.0):
    i = ag.block(ag.cdiv(ag.dim("N"), 128))
    x = ag.load(X[i * 128 :], (128,))
    Y[i * 128 :] = VALUE


@ag.reference
def ref(X, lo, hi):
    return np.clip(X, lo, hi)
"""


def test_a_bound_above_the_other_one():
    right = "ag.minimum(ag.maximum(x, lo), hi)"
    assert tried(BETWEEN.replace("VALUE", right)).witness is None
    wrong = "ag.maximum(ag.minimum(x, hi), lo)"
    assert tried(BETWEEN.replace("VALUE", wrong)).witness is not None


GROUPS = """@ag.kernel
def k(Q: f32["H D"], K: f32["G D"], Y: f32["H"], *, D: int = 32):
    H, G = Q.shape[0], K.shape[0]
    ag.require(H % G == 0, "groups")
    h = ag.block(H)
    Y[h] = ag.sum(ag.load(Q[h, :], (D,)) * ag.load(K[TAKEN, :], (D,)), "D")


@ag.reference
def ref(Q, K):
    return (np.repeat(K, Q.shape[0] // K.shape[0], 0) * Q).sum(1)
"""


@pytest.mark.parametrize("taken", ["h % G", "h // G", "ag.min(h, G - 1)"])
def test_there_are_groups_of_several(taken: str):
    """With one group, or one member of each, nearly all indices are the same."""
    assert tried(GROUPS.replace("TAKEN", "h // (H // G)")).witness is None
    assert tried(GROUPS.replace("TAKEN", taken)).witness is not None


PLACES = """@ag.kernel
def k(U: f32["M N"], I: i32["M"], *, BN: int = 64):
    M, N = U.shape
    ag.require((N > 0) & (N <= BN), "a row")
    m = ag.block(M)
    u = ag.load(U[m, 0:], (BN,), fill=0.5)
    x = ag.where(ag.index(u, "N") < N, -ag.log(SIGN ag.log(u)), -ag.inf)
    best = ag.max(x, "N")
    I[m] = ag.min(ag.where(x == best, ag.index(u, "N"), BN), "N")


@ag.reference
def ref(U):
    return (-np.log(-np.log(U))).argmax(1)
"""


def test_the_place_of_what_is_no_number_says_nothing():
    """numpy says where the first is; of probabilities there is none."""
    assert tried(PLACES.replace("SIGN", "-")).witness is None
    wrong = PLACES.replace("-ag.log(SIGN ag.log(u))", "ag.log(-ag.log(u))")
    # Few rows hold probabilities alone: most differences say nothing.
    assert any(tried(wrong, seed=seed).witness is not None for seed in range(8))


def test_blocks_that_do_not_run_may_write_what_tables_name():
    body = """@ag.kernel
def k(X: f32["P"], Ends: i32["R"], Y: f32["P"]):
    P = X.shape[0]
    ag.assume(lambda p: (p >= 0) & (p <= P), Ends)
    b = ag.block(Ends.shape[0] - 1)
    first, last = Ends[b], Ends[b + 1]
    for p in ag.range(first, last, 32):
        Y[p:last] = ag.load(X[p:last], (32,)) + b


@ag.reference
def ref(X, Ends, Y):
    out = Y.copy()
    for b in range(len(Ends) - 1):
        out[Ends[b] : Ends[b + 1]] = X[Ends[b] : Ends[b + 1]] + b
    return out
"""
    kernel = kernels(body)["k"]
    request = Request(kernel, default_dtypes(kernel, {}))
    place = TrialPlace({"P": 2, "R": 193})
    made = tried_at(request, tile_program(request), loaded(kernel), place)
    assert made.witness is None
    assert made.differed == 0
