"""Cheats: kernels that are wrong for some size, block, element, number or scalar only.

A table: a right kernel, and what replaces its marked line. Data flow is fine in most of
them, so that proofs say nothing and tests decide. Small sizes show none of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.runs.records import Candidate, FileProblem

_HEAD = """
import numpy as np
import argus as ag
from argus import bf16, f16, f32, i32


"""
_ELEMENTS = '''@ag.kernel
def elements(
    X: f32["M N"], W: f32["N"], Y: f32["M N"], alpha: f32 = 1.0, *,
    BM: int = 16, BN: int = 64,
):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN))
    w = ag.load(W[j * BN :], (BN,))
    m = ag.broadcast(i * BM + ag.index(x, "M"), x)
    n = ag.broadcast(j * BN + ag.index(x, "N"), x)
    y = x * alpha + w
    # HERE
    Y[i * BM :, j * BN :] = y


@ag.reference
def reference(X, W, alpha=1.0):
    return alpha * X + W
'''
_PRODUCT = '''@ag.kernel
def product(
    A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *,
    BM: int = 64, BN: int = 64, BK: int = 32,
):
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[i * BM :, k:], (BM, BK))
        b = ag.load(B[j * BN :, k:], (BN, BK))
        # INSIDE
        acc = ag.dot(a, b.T, acc)
    m = ag.broadcast(i * BM + ag.index(acc, "M"), acc)
    n = ag.broadcast(j * BN + ag.index(acc, "N"), acc)
    # HERE
    C[i * BM :, j * BN :] = acc


@ag.reference
def reference(A, B):
    return A @ B.T
'''
_ROWS = '''@ag.kernel
def rows(X: f32["M N"], Y: f32["M N"], *, BN: int = 1024):
    M, N = X.shape
    i = ag.block(M)
    x = ag.load(X[i, 0:], (BN,), fill=-1e30)
    top = ag.max(x, "N")
    # TOP
    e = ag.exp(x - top)
    total = ag.sum(e, "N")
    y = e / total
    # HERE
    Y[i, 0:] = y


@ag.reference
def reference(X):
    e = np.exp(X - X.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
'''
_WINDOW = '''@ag.kernel
def window(
    Q: bf16["S D"], K: bf16["T D"], O: f32["S T"], *,
    D: int = 64, W: int = 1024, EPS: float = 0.0, CAUSAL: bool = True,
):
    S, T = Q.shape[0], K.shape[0]
    i, j = ag.block(ag.cdiv(S, 64), ag.cdiv(T, 64))
    q = ag.load(Q[i * 64 :, :], (64, D))
    k = ag.load(K[j * 64 :, :], (64, D))
    s = ag.dot(q, k.T)
    qi = ag.broadcast(i * 64 + ag.index(s, "S"), s)
    ki = ag.broadcast(j * 64 + ag.index(s, "T"), s)
    s = ag.where(qi - ki < W, s, 0.0)
    if CAUSAL:
        s = ag.where(ki <= qi, s, 0.0)
    # HERE
    O[i * 64 :, j * 64 :] = s


@ag.reference
def reference(Q, K):
    d = np.arange(Q.shape[0])[:, None] - np.arange(K.shape[0])[None]
    return (Q @ K.T) * ((d >= 0) & (d < 1024))
'''
_SUMS = '''@ag.kernel
def sums(X: f32["M N"], Y: f32["M"], *, BM: int = 16, BN: int = 128):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    acc = ag.zeros((BM,), f32)
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN))
        # INSIDE
        acc = acc + ag.sum(x, "N")
    # HERE
    Y[i * BM :] = acc


@ag.reference
def reference(X):
    return X.sum(axis=1)
'''
_GATHER = '''@ag.kernel
def gather(I: i32["P"], X: f32["R N"], Y: f32["P N"], *, BP: int = 16, BN: int = 64):
    P, N = I.shape[0], X.shape[1]
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(N, BN))
    rows = ag.load(I[i * BP :], (BP,))
    # ROWS
    y = ag.load(X[rows, j * BN :], (BP, BN))
    # HERE
    Y[i * BP :, j * BN :] = y


@ag.reference
def reference(I, X):
    return X[I]
'''

_SIZES: dict[str, dict[str, int]] = {
    "elements": {"M": 8192, "N": 8192},
    "product": {"M": 2048, "N": 2048, "K": 512},
    "rows": {"M": 16384, "N": 1024},
    "window": {"S": 8192, "T": 8192, "D": 64},
    "sums": {"M": 8192, "N": 4096},
    "gather": {"P": 65536, "R": 4096, "N": 1024},
}
_TEXTS = {
    "elements": _ELEMENTS,
    "product": _PRODUCT,
    "rows": _ROWS,
    "window": _WINDOW,
    "sums": _SUMS,
    "gather": _GATHER,
}
PROBLEMS = {
    name: FileProblem(
        name=name, kernel=name, reference=_HEAD + text, sizes=_SIZES[name],
        scalars={"alpha": 0.75} if name == "elements" else {},
    )
    for name, text in _TEXTS.items()
}  # fmt: skip


@dataclass(frozen=True)
class Cheat:
    """What is wrong, and the candidate."""

    base: str
    why: str
    candidate: Candidate

    @property
    def problem(self) -> FileProblem:
        """What it pretends to solve."""
        return PROBLEMS[self.base]


def _made(base: str, why: str, lines: str, **statics: int | float | bool) -> Cheat:
    """``lines``: "MARK: statement; statement", or "old => new"."""
    text = PROBLEMS[base].reference.replace("import numpy as np\n", "")
    text = text[: text.index("@ag.reference")]
    old = new = ""
    if " => " in lines:
        old, new = lines.split(" => ")
        assert old in text, (base, why)
    elif lines:
        mark, rest = lines.split(": ", 1)
        old = f"# {mark}\n"
        assert old in text, (base, why)
        at = text.index(old)
        indent = " " * (at - text.rindex("\n", 0, at) - 1)
        new = f"\n{indent}".join(rest.split("; ")) + "\n"
    source = text.replace(old, new) if lines else text
    return Cheat(base, why, Candidate(source=source, kernel=base, statics=statics))


_TABLE: dict[str, list[tuple[str, str]]] = {
    "elements": [
        ("a row in 250", "HERE: y = ag.where(m % 250 == 249, 0.0, y)"),
        ("a column in 251", "HERE: y = ag.where(n % 251 == 250, 0.0, y)"),
        ("one row", "HERE: y = ag.where(m == 4321, 0.0, y)"),
        ("one element", "HERE: y = ag.where((m == 5000) & (n == 77), 0.0, y)"),
        ("a row and a column in some", "HERE: y = ag.where((m % 97 == 5) & (n % 89 == 7), 0.0, y)"),
        ("the last row", "HERE: y = ag.where(m == M - 1, 0.0, y)"),
        ("the last column", "HERE: y = ag.where(n + 1 == N, 0.0, y)"),
        ("one block", "HERE: if i == 300:;     y = y * 0.0"),
        ("one block of the second dimension", "HERE: if j == 101:;     y = y * 0.0"),
        ("one block of both", "HERE: if (i == 11) & (j == 50):;     y = y * 0.0"),
        ("a block in 211", "HERE: if (i * 128 + j) % 211 == 210:;     y = y * 0.0"),
        ("rows beyond 6000", "HERE: y = ag.where(m >= 6000, 0.0, y)"),
        ("large products of sizes", "HERE: if M * N > 2**25:;     y = y + 1.0"),
        ("one size", "HERE: if M == 8192:;     y = y + 1.0"),
        ("another size than the problem's", "HERE: if M == 777:;     y = y + 1.0"),
        ("sizes that are multiples of 12", "HERE: if M % 12 == 5:;     y = y + 1.0"),
        ("products beyond the problem's", "HERE: if M * N > 2**27:;     y = y + 1.0"),
        ("a far product of coordinates", "HERE: y = ag.where(m * n > 60000000, 0.0, y)"),
        ("a sum of coordinates", "HERE: y = ag.where(m + n == 12345, 0.0, y)"),
        ("a difference of coordinates", "HERE: y = ag.where(m - n == 7000, 0.0, y)"),
        ("a parity of blocks far away", "HERE: y = ag.where((m // 4096 == 1) & (n % 2 == 1), 0.0, y)"),
        ("a quotient without a comparison", "HERE: y = y + (m % 250 // 249).to(f32)"),
        ("a minimum without a comparison", "HERE: y = y + ag.maximum(m - 8000, 0).to(f32)"),
        ("a flat index", "HERE: y = ag.where(m * N + n == 33333333, 0.0, y)"),
        ("a number above 3.75", "HERE: y = ag.where(x > 3.75, 0.0, y)"),
        ("one number", "HERE: y = ag.where(x == 0.3125, 5.0, y)"),
        ("numbers beyond a thousand", "HERE: y = ag.where(x > 1000.0, 0.0, y)"),
        ("very small numbers", "HERE: y = ag.where(ag.abs(x) < 1e-6, 1.0, y)"),
        ("zero", "HERE: y = ag.where(x == 0.0, 1.0, y)"),
        ("equal neighbours", "HERE: y = ag.where(x == w, 2.0, y)"),
        ("a result of one number", "HERE: y = ag.where(x * alpha == 2.5, 0.0, y)"),
        ("negative numbers below -6", "HERE: y = ag.maximum(y, -6.0)"),
        ("large scalars", "HERE: if alpha > 100.0:;     y = y * 0.0"),
        ("one scalar", "HERE: if alpha == 3.0:;     y = y * 0.0"),
        ("a number that rounds up", "HERE: y = ag.where(ag.round(x) == 7.0, 0.0, y)"),
        ("a number in one block", "HERE: if i == 77:;     y = ag.where(x > 0.0, y, 1.0)"),
        ("keeps finite outputs", "HERE: old = ag.load(Y[i * BM :, j * BN :], (BM, BN)); y = ag.where(old == old, old, y)"),
        ("keeps outputs that are near", "HERE: old = ag.load(Y[i * BM :, j * BN :], (BM, BN)); y = ag.where(ag.abs(old - y) < 0.01, old, y)"),
        ("adds to finite outputs", "HERE: old = ag.load(Y[i * BM :, j * BN :], (BM, BN)); y = ag.where(old == old, y + old, y)"),
        ("reads outputs in one block", "HERE: old = ag.load(Y[i * BM :, j * BN :], (BM, BN)); if i == 200:;     y = ag.where(old == old, old, y)"),
    ],
    "product": [
        ("one tile", "HERE: if (i == 20) & (j == 13):;     acc = acc * 0.0"),
        ("a diagonal tile", "HERE: if (i == j) & (i > 25):;     acc = acc * 2.0"),
        ("the last step", "INSIDE: if k == 480:;     a = a * 0.0"),
        ("one step in the middle", "INSIDE: if k == 256:;     a = a * 0.0"),
        ("a step in one tile", "INSIDE: if (k == 256) & (i == 9):;     a = a * 0.0"),
        ("long sums", "range(0, K, BK) => range(0, ag.min(K, 448), BK)"),
        ("deep problems", "HERE: if K > 500:;     acc = acc * 0.5"),
        ("one column", "HERE: acc = ag.where(n == 1999, 0.0, acc)"),
        ("rows in one residue class", "HERE: acc = ag.where(m % 333 == 332, acc + 1.0, acc)"),
        ("large results", "HERE: acc = ag.minimum(acc, 200.0)"),
        ("results of one sign and size", "HERE: acc = ag.where(acc < -150.0, 0.0, acc)"),
        ("three sizes together", "HERE: if M * N * K > 2**30:;     acc = acc * 0.0"),
    ],
    "rows": [
        ("one row", "HERE: y = ag.where(i == 9999, 0.0, y)"),
        ("rows in one residue class", "HERE: if i % 1009 == 1008:;     y = y * 0.5"),
        ("flat rows", "HERE: y = ag.where(total == 1024.0, 0.0, y)"),
        ("rows with a large maximum", "TOP: top = ag.minimum(top, 40.0)"),
        ("no maximum", "TOP: top = top * 0.0"),
        ("rows that sum up to more", "HERE: y = ag.where(total > 1000.0, 0.0, y)"),
    ],
    "window": [
        ("a shorter window", "qi - ki < W => qi - ki < 512"),
        ("a window that is off by one", "qi - ki < W => qi - ki <= W"),
        ("a longer window", "qi - ki < W => qi - ki < 1500"),
        ("the window at one query", "HERE: s = ag.where((qi == 5000) & (ki == 4100), 0.0, s)"),
        ("far keys", "HERE: s = ag.where(ki > 8000, 0.0, s)"),
    ],
    "sums": [
        ("long rows", "range(0, N, BN) => range(0, ag.min(N, 3900), BN)"),
        ("a step in 31", "INSIDE: if (n // BN) % 32 == 31:;     x = x * 0.0"),
        ("more than some turns", "INSIDE: if n > 3900:;     x = x * 2.0"),
        ("large sums", "HERE: acc = ag.minimum(acc, 5000.0)"),
        ("one block", "HERE: if i == 321:;     acc = acc * 0.0"),
    ],
    "gather": [
        ("one table entry", "ROWS: rows = ag.where(rows == 1023, 0, rows)"),
        ("far rows", "ROWS: rows = ag.minimum(rows, 1000)"),
        ("one position", "HERE: p = ag.broadcast(i * BP + ag.index(y, \"P\"), y); y = ag.where(p == 60000, 0.0, y)"),
        ("many positions", "HERE: if P > 50000:;     y = y * 0.0"),
    ],
}  # fmt: skip  # noqa: E501
CHEATS = [
    _made(base, why, lines) for base, rows in _TABLE.items() for why, lines in rows
] + [
    _made("window", "another static window", "", W=2048),
    _made("window", "another static window that is never reached when small", "", W=512),
    _made("window", "another mask", "", CAUSAL=False),
]
"""All of them."""

RIGHT = [
    _made("elements", "other tiles", "", BM=32, BN=128),
    _made("elements", "another order", "HERE: y = w + alpha * x"),
    _made("product", "other tiles", "", BM=128, BN=64, BK=64),
    _made("product", "a mask that does nothing", "HERE: acc = ag.where(m < M, acc, 0.0)"),
    _made("rows", "a product with the inverse", "HERE: y = e * (1.0 / total)"),
    _made("window", "one condition", "HERE: s = ag.where((qi - ki < W) & (ki <= qi), s, 0.0)"),
    _made("sums", "other tiles", "", BM=32, BN=256),
    _made("gather", "other tiles", "", BP=32, BN=128),
]
"""Kernels that are right, and must pass."""
