"""Witnesses that few inputs show: a scalar, an entry or a size that is rare."""

from __future__ import annotations

import numpy as np
import pytest

from argus.equivalence.references import Unusable
from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.targets import DEFAULT_TARGET
from argus.verify.verdict import Report, Verdict
from evaluation.searching import HEAD, kernels, loaded, tried

SHIFTED = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], step: i32 = 2, *, BN: int = 64):
    M, N = X.shape
    ag.require((step >= 1) & (step <= 16), "a step")
    m, j = ag.block(M, ag.cdiv(N, BN))
    back = X.view("M N", shape=(M, N), at=lambda m, n: (m, n - STEP))
    Y[m, j * BN :] = ag.load(back[m, j * BN :], (BN,))


@ag.reference
def ref(X, step):
    N = X.shape[1]
    return np.pad(X, ((0, 0), (step, 0)))[:, :N]
"""


def test_a_scalar_is_near_its_default_if_others_are_refused():
    assert tried(SHIFTED.replace("STEP", "step")).witness is None
    shown = tried(SHIFTED.replace("STEP", "2")).witness
    assert shown is not None


GATHERED = """@ag.kernel
def k(X: f32["M N"], I: i32["P"], Y: f32["P N"], *, BP: int = 8, BN: int = 64):
    P, N = Y.shape
    M = X.shape[0]
    ag.assume(lambda r: (r >= 0) & (r < M), I)
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(N, BN))
    rows = ag.load(I[i * BP :], (BP,), fill=-1)
    Y[i * BP :, j * BN :] = ag.load(X[ROWS, j * BN :], (BP, BN)).rename("P N")


@ag.reference
def ref(X, I):
    return X[I]
"""
ADDED = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    if M * N > 1200000:
        x = x + 1.0
    Y[m, j * BN :] = x


@ag.reference
def ref(X):
    return X
"""


@pytest.mark.parametrize(
    "body",
    [GATHERED.replace("ROWS", "ag.minimum(rows, 100000)"), ADDED],
    ids=["an entry that is the last index", "a product of sizes"],
)
def test_what_differs_far_away_is_found(body: str):
    assert checked(body).verdict is Verdict.REFUTED


def checked(body: str) -> Report:
    """What `argus check` says of a kernel."""
    (kernel,) = load_kernels("made.py", HEAD + body).kernels.values()
    return proved_all(kernel, {}, DEFAULT_TARGET, fresh=True).report


def test_a_reference_that_allocates_by_an_entry_says_nothing():
    body = """@ag.kernel
def k(I: i32["P"], H: i32["V"]):
    i = ag.block(ag.cdiv(I.shape[0], 128))
    rows = ag.load(I[i * 128 :], (128,), fill=-1)
    ag.atomic_add(H[rows], ag.full((128,), 1, i32))


@ag.reference
def ref(I, H):
    return H + np.bincount(I, minlength=len(H))
"""
    reference = loaded(kernels(body)["k"])
    table = np.array([3, 2**31 - 1])
    with pytest.raises(Unusable, match="MemoryError"):
        reference.called({"I": table, "H": np.zeros(4)}, ["H"])
    found = reference.called({"I": table[:1], "H": np.zeros(4)}, ["H"])
    assert found["H"].tolist() == [0, 0, 0, 1]


FIRST = """@ag.kernel
def k(X: f32["P D"], First: i32["B"], Last: i32["B"], Y: f32["B D"], *, BD: int = 64):
    P, D = X.shape
    ag.assume(lambda a, b: (a >= 0) & (b <= P), First, Last)
    b, j = ag.block(Y.shape[0], ag.cdiv(D, BD))
    m = ag.full((BD,), -ag.inf, f32, dims="D")
    for p in ag.range(First[b], Last[b]):
        m = ag.maximum(m, ag.load(X[p, j * BD :], (BD,)))
    Y[b, j * BD :] = m


@ag.reference
def ref(X, First, Last):
    parts = [X[First[b] : Last[b]] for b in range(First.shape[0])]
    return np.stack([p.max(0, initial=SAID) for p in parts])
"""


def test_an_infinity_that_the_reference_says_is_meant():
    right = checked(FIRST.replace("SAID", "-np.inf"))
    assert right.verdict is Verdict.EQUAL, right.equality
    assert checked(FIRST.replace("SAID", "0.0")).verdict is Verdict.REFUTED


KEPT = """@ag.kernel
def k(X: f32["M N"], K: i32["M N"], Y: f32["M"], *, N: int = 128, BM: int = 4):
    M = X.shape[0]
    i = ag.block(ag.cdiv(M, BM))
    x, kept = ag.load(X[i * BM :, :], (BM, N)), ag.load(K[i * BM :, :], (BM, N)) > 0
    n = ag.sum(kept.to(f32), "N")
    Y[i * BM :] = ag.sum(ag.where(kept, x, 0.0), "N") / ag.maximum(n, LEAST)


@ag.reference
def ref(X, K):
    kept = K > 0
    return np.where(kept, X, 0).sum(1) / np.maximum(kept.sum(1), 1)
"""
SCALED = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, N: int = 256, BM: int = 4):
    M = X.shape[0]
    i = ag.block(ag.cdiv(M, BM))
    x = ag.load(X[i * BM :, :], (BM, N))
    Y[i * BM :, :] = x / LARGEST


@ag.reference
def ref(X):
    return X / np.maximum(np.abs(X).max(1, keepdims=True), 1e-8)
"""
LARGEST = 'ag.max(ag.abs(x), "N")'


def test_rows_of_which_nothing_or_one_element_is_left() -> None:
    assert tried(KEPT.replace("LEAST", "1.0")).witness is None
    assert tried(KEPT.replace("LEAST", "2.0")).witness is not None
    right = f"ag.maximum({LARGEST}, 1e-8)"
    assert tried(SCALED.replace("LARGEST", right)).witness is None
    assert tried(SCALED.replace("LARGEST", LARGEST)).witness is not None


UNUSED = """@ag.kernel
def k(X: f32["M"], I: i32["K"], Y: f32["M"]):
    M, = X.shape
    m = ag.block(ag.cdiv(M, 64)) * 64
    Y[m:] = ag.load(X[m:], (64,)) * FACTOR


@ag.reference
def ref(X):
    return 2 * X
"""


def test_a_table_that_nobody_reads_is_no_reason_not_to_run() -> None:
    right = tried(UNUSED.replace("FACTOR", "2.0"))
    assert right.runs and right.witness is None
    assert tried(UNUSED.replace("FACTOR", "3.0")).witness is not None


SIGNED = "ag.abs(x) * ag.where(z {} 0.0, -1.0, 1.0)"
CLIPPED = """@ag.kernel
def k(X: TYPE["M"], Z: TYPE["M"], Y: TYPE["M"]):
    M, = X.shape
    m = ag.block(ag.cdiv(M, 64)) * 64
    x, z = ag.load(X[m:], (64,)), ag.load(Z[m:], (64,))
    Y[m:] = VALUE


@ag.reference
def ref(X, Z):
    return WANTED
"""


@pytest.mark.parametrize(
    ("value", "wanted", "type_", "shown"),
    [
        # Data has the numbers of the reference, too.
        ("x", "X.clip(-300, 250)", "f32", True),
        ("ag.minimum(ag.maximum(x, -300.0), 250.0)", "X.clip(-300, 250)", "f32", False),
        # A zero has no sign in real numbers; what is beside it has one.
        (SIGNED.format("<"), "np.copysign(X, Z)", "f32", False),
        (SIGNED.format(">"), "np.copysign(X, Z)", "f32", True),
    ],
)
def test_numbers_of_a_reference(
    value: str, wanted: str, type_: str, shown: bool
) -> None:
    text = CLIPPED.replace("TYPE", type_).replace("VALUE", value)
    found = tried(text.replace("WANTED", wanted))
    assert (found.witness is not None) == shown and found.runs


def test_a_reference_that_fails_in_the_types_of_the_kernel() -> None:
    """`int32 % 2**32` is an error of numpy; what wraps is said in 64 bits."""
    text = CLIPPED.replace("TYPE", "i32").replace("VALUE", "(x + 1) >> 1")
    found = checked(text.replace("WANTED", "(X % 2**32) // 2"))
    assert found.verdict is Verdict.REFUTED


HASHED = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, 16), ag.cdiv(N, 64))
    x = ag.load(X[i * 16 :, j * 64 :], (16, 64))
    m = ag.broadcast(i * 16 + ag.index(x, "M"), x)
    n = ag.broadcast(j * 64 + ag.index(x, "N"), x)
    Y[i * 16 :, j * 64 :] = ag.where((m * 4051 + n * 301) % 65536 == 12345, 0.0, x)


@ag.reference
def ref(X):
    return X
"""


def test_where_numbers_that_may_wrap_make_terms_differ_runs_look() -> None:
    assert checked(HASHED).verdict is Verdict.REFUTED


CAPPED = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], *, BN: int = 32):
    N, = X.shape
    j = ag.block(ag.min(ag.cdiv(N, BN), CAP))
    Y[j * BN :] = ag.load(X[j * BN :], (BN,))


@ag.reference
def ref(X):
    return X
"""


def test_an_element_beyond_many_blocks_is_not_written() -> None:
    assert checked(CAPPED.replace("CAP", "65537")).verdict is Verdict.REFUTED


SCATTERED = """@ag.kernel
def k(X: f32["P D"], I: i32["P"], Y: f32["V D"], *, BP: int = 16, BD: int = 64):
    P, D = X.shape
    ag.assume(lambda a, b: a != b, I, pairs=True)
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(D, BD))
    rows = ag.minimum(ag.load(I[i * BP :], (BP,), fill=-2), 10)
    Y[rows, j * BD :] = ag.load(X[i * BP :, j * BD :], (BP, BD)).rename("P D")


@ag.reference
def ref(X, I, V):
    y = np.full((V, X.shape[1]), np.nan)
    y[np.minimum(I, 10)] = X
    return y
"""


def test_a_condition_on_where_a_store_writes_is_of_no_element_that_it_stores():
    assert tried(SCATTERED).runs


PADDED = """@ag.kernel
def k(T: f32["V D"], I: i32["P"], Y: f32["P D"], *, BD: int = 64):
    P, D = Y.shape
    p, j = ag.block(P, ag.cdiv(D, BD))
    Y[p, j * BD :] = ag.load(T[ROW, j * BD :], (BD,))


@ag.reference
def ref(T, I):
    return SAYS
"""
NOT_BELOW_0 = "ag.max(I[p], 0)"


@pytest.mark.parametrize(
    ("row", "says", "verdict"),
    [
        # an entry below 0 is padding there, and row 0 here
        (
            NOT_BELOW_0,
            "np.where(I[:, None] < 0, 0.0, T[np.maximum(I, 0)])",
            Verdict.REFUTED,
        ),
        ("I[p]", "np.where(I[:, None] < 0, 0.0, T[np.maximum(I, 0)])", Verdict.EQUAL),
        # numpy counts it from the end, which nobody means
        (NOT_BELOW_0, "T[I]", Verdict.EQUAL),
    ],
)
def test_entries_that_are_padding(row: str, says: str, verdict: Verdict) -> None:
    body = PADDED.replace("ROW", row).replace("SAYS", says)
    assert checked(body).verdict is verdict


EXTREME = """@ag.kernel
def k(X: f32["M N"], Y: f32["M"], *, BN: int = 64):
    M, N = X.shape
    ag.require(N > 0, "columns")
    i = ag.block(ag.cdiv(M, 4))
    most = ag.full((4,), BEGIN, f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN), fill=FILL)
        most = ag.FUNCTION(most, ag.REDUCED(x, "N"))
    Y[i * 4 :] = most


@ag.reference
def ref(X):
    return X.REDUCED(1)
"""


@pytest.mark.parametrize(
    ("function", "begin"), [("maximum", "-200.0"), ("minimum", "500.0")]
)
def test_an_extreme_that_begins_at_a_number_of_which_all_data_may_be_beyond(
    function: str, begin: str
) -> None:
    fill = "-ag.inf" if function == "maximum" else "ag.inf"
    body = EXTREME.replace("FUNCTION", function).replace("REDUCED", function[:3])
    body = body.replace("FILL", fill)
    assert checked(body.replace("BEGIN", begin)).verdict is Verdict.REFUTED
    assert checked(body.replace("BEGIN", fill)).verdict is Verdict.EQUAL


SCALED_ENTRIES = """@ag.kernel
def k(I: i32["P"], Y: i32["P"]):
    P = I.shape[0]
    i = ag.block(ag.cdiv(P, 128))
    x = ag.load(I[i * 128 :], (128,))
    ag.assume(lambda a: (a >= 0) & (a < MOST), I)
    Y[i * 128 :] = (x * 3 + x * 5) // 8


@ag.reference
def ref(I):
    return I
"""


@pytest.mark.parametrize(
    ("most", "verdict"),
    [("100000000", Verdict.EQUAL), ("500000000", Verdict.REFUTED)],
)
def test_entries_at_the_end_of_what_is_assumed(most: str, verdict: Verdict) -> None:
    assert checked(SCALED_ENTRIES.replace("MOST", most)).verdict is verdict


SLOPED = """@ag.kernel
def k(X: f32["M N"], B: f32["N"], Y: f32["M N"], s: f32 = 0.5, *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,)) * s
    if s ASKED:
        x = x + ag.load(B[j * BN :], (BN,))
    Y[m, j * BN :] = x


@ag.reference
def ref(X, B, s):
    return s * X + B
"""


@pytest.mark.parametrize("asked", ["> 0.0", "!= 1.0", "< 3.0"])
def test_a_scalar_on_the_other_side_of_what_it_is_compared_with(asked: str) -> None:
    assert checked(SLOPED.replace("ASKED", asked)).verdict is Verdict.REFUTED
    # The launch refuses the others.
    body = SLOPED.replace("ASKED", asked).replace(
        "    m, j", f'    ag.require(s {asked}, "a side")\n    m, j'
    )
    assert checked(body).verdict is not Verdict.REFUTED


BOUNDED = """@ag.kernel
def k(X: f32["M N"], Y: f32["M"], *, BN: int = 64):
    M, N = X.shape
    ag.require(N <= MOST, "columns")
    i = ag.block(ag.cdiv(M, 4))
    acc = ag.zeros((4,), f32, dims="M")
    n = 0
    while ag.at_most(63, n < N):
        acc = acc + ag.sum(ag.load(X[i * 4 :, n:], (4, BN)), "N")
        n = n + BN
    Y[i * 4 :] = acc


@ag.reference
def ref(X):
    return X.sum(1)
"""


@pytest.mark.parametrize(("most", "wrong"), [("4032", False), ("4096", True)])
def test_the_largest_size_that_is_admitted(most: str, wrong: bool) -> None:
    found = checked(BOUNDED.replace("MOST", most))
    assert (found.verdict is Verdict.REFUTED) == wrong


NAMED = """@ag.kernel
def k(X: f32["P D"], I: i32["P"], Y: f32["V D"], *, BP: int = 16, BD: int = 64):
    P, D = X.shape
    ag.assume(lambda a, b: a != b, I, pairs=True)
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(D, BD))
    rows = ag.load(I[i * BP :], (BP,), fill=-2)
    Y[ROWS, j * BD :] = ag.load(X[i * BP :, j * BD :], (BP, BD)).rename("P D")


@ag.reference
def ref(X, I, V):
    Y = np.full((V, X.shape[1]), np.nan)
    Y[PLACES] = X
    return Y
"""


@pytest.mark.parametrize(
    ("rows", "places", "wrong"),
    [
        ("rows", "I", False),
        ("rows + 1", "I", True),
        # different entries name one row: the last block wins by chance
        ("ag.minimum(rows, 10)", "np.minimum(I, 10)", True),
    ],
)
def test_elements_that_are_no_number_in_the_reference(
    rows: str, places: str, wrong: bool
) -> None:
    found = checked(NAMED.replace("ROWS", rows).replace("PLACES", places))
    assert (found.verdict is Verdict.REFUTED) == wrong


SORTED = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    n = j * BN + ag.index(x, "N")
    Y[m, j * BN :] = ag.where(n ASKED, 0.0, x)


@ag.reference
def ref(X):
    return np.where(np.arange(X.shape[1]) ASKED, 0.0, X + 0.0 * np.sort(X, 1))
"""


@pytest.mark.parametrize(
    ("asked", "verdict"), [("> 500", Verdict.PROVED), ("> 5000000", Verdict.UNKNOWN)]
)
def test_a_condition_that_no_run_shows_where_there_are_no_terms(
    asked: str, verdict: Verdict
) -> None:
    """The reference sorts: nothing but runs says what the kernel computes."""
    assert checked(SORTED.replace("ASKED", asked)).verdict is verdict


def test_where_numbers_may_wrap_runs_look_though_the_reference_has_no_terms() -> None:
    body = SORTED.replace("n ASKED, 0.0, x", "n * 65536 < 0, 0.0, x")
    body = body.replace("np.arange(X.shape[1]) ASKED", "False")
    found = checked(body)
    said = [o.rule for o in found.obligations if o.verdict is Verdict.REFUTED]
    assert said == ["AG0322"]


PERSISTENT = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    ring = ag.ring(2, x=f32.tile(16, 32))
    with ag.role("load", warps=1):
        for i, j in ag.persistent_tiles(ag.cdiv(M, 16), ag.cdiv(N, 32), group=6):
            with ring.fill() as slot:
                slot.x.load(X[i * 16 :, j * 32 :])
    with ag.role("store", warps=4):
        for i, j in ag.persistent_tiles(ag.cdiv(M, 16), ag.cdiv(N, 32), group=GROUP):
            with ring.drain() as slot:
                Y[i * 16 :, j * 32 :] = slot.x.load()


@ag.reference
def ref(X):
    return X
"""


def test_tiles_of_a_persistent_loop_in_another_order_beyond_a_group():
    assert tried(PERSISTENT.replace("GROUP", "6")).witness is None
    shown = tried(PERSISTENT.replace("GROUP", "9"), seconds=5.0)  # on a slow machine
    assert shown.witness is not None


CLAMPED = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], a: f32 = 1.0):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, 64))
    Y[i * 64 :] = ag.load(X[i * 64 :], (64,)) * SCALE


@ag.reference
def ref(X, a):
    return X * a
"""


@pytest.mark.parametrize("scale", ["ag.min(a, 1000.0)", "ag.max(-250.0, a)"])
def test_a_scalar_beyond_its_bound(scale: str):
    assert tried(CLAMPED.replace("SCALE", "a")).witness is None
    assert tried(CLAMPED.replace("SCALE", scale)).witness is not None


SCALARS = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], t: f32 = 0.3, b: f32 = 1.5, *, BN: int = 128):
    N = X.shape[0]
    ag.require(b > 0.0, "a factor")
    i = ag.block(ag.cdiv(N, BN)) * BN
    x = ag.load(X[i:], (BN,))
    Y[i:] = ag.where(KERNEL, 1.0, 0.0)


@ag.reference
def ref(X, t, b):
    return np.where(REFERENCE, 1.0, 0.0)
"""


@pytest.mark.parametrize(
    ("right", "wrong"), [("x > t", "x >= t"), ("x < -t", "x <= -t")]
)
def test_data_meets_scalars(right: str, wrong: str):
    text = SCALARS.replace("REFERENCE", right.replace("x", "X"))
    assert tried(text.replace("KERNEL", right)).witness is None
    assert tried(text.replace("KERNEL", wrong)).witness is not None


def test_what_is_rounded_beside_a_scalar_is_no_witness():
    """The quotient is not above a number where the product is, by a rounding."""
    text = SCALARS.replace("REFERENCE", "X > t * b").replace("KERNEL", "x / b > t")
    assert tried(text).witness is None
