"""Cheats: kernels that are wrong for some size, block, element, number or scalar only.

A table (`cheats.txt`): a right kernel, and what replaces its marked line. Data flow is
fine in most of them, so that proofs say nothing and tests decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from argus.runs.records import Candidate, FileProblem

_HEAD = """
import numpy as np
import argus as ag
from argus import bf16, f16, f32, i32


"""
_ELEMENTS = """@ag.kernel
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
"""
_PRODUCT = """@ag.kernel
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
"""
_ROWS = """@ag.kernel
def rows(X: f32["M N"], Y: f32["M N"], *, BN: int = 1024):
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
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
"""
_WINDOW = """@ag.kernel
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
"""
_SUMS = """@ag.kernel
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
"""
_GATHER = """@ag.kernel
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
"""
_INTS = """@ag.kernel
def ints(
    X: i32["M N"], W: i32["N"], Y: i32["M N"], c: i32 = 3, *,
    BM: int = 16, BN: int = 64,
):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN))
    w = ag.load(W[j * BN :], (BN,))
    m = ag.broadcast(i * BM + ag.index(x, "M"), x)
    y = x * c + w
    # HERE
    Y[i * BM :, j * BN :] = y


@ag.reference
def reference(X, W, c=3):
    return c * X + W
"""
_PAIR = """@ag.kernel
def pair(
    X: f32["M N"], Y: f32["M N"], S: f32["M"], *, BM: int = 16, BN: int = 1024
):
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    i = ag.block(ag.cdiv(M, BM))
    x = ag.load(X[i * BM :, 0:], (BM, BN))
    y = x * 2.0
    s = ag.sum(x, "N")
    # HERE
    Y[i * BM :, 0:] = y
    S[i * BM :] = s


@ag.reference
def reference(X):
    return 2 * X, X.sum(axis=1)
"""
_LENGTHS = """@ag.kernel
def lengths(L: i32["B"], X: f32["B N"], Y: f32["B N"], *, BN: int = 256):
    N = X.shape[1]
    b, j = ag.block(X.shape[0], ag.cdiv(N, BN))
    x = ag.load(X[b, j * BN :], (BN,))
    n = j * BN + ag.index(x, "N")
    e = L[b]
    y = ag.where(n < e, x, 0.0)
    # HERE
    Y[b, j * BN :] = y


@ag.reference
def reference(L, X):
    return np.where(np.arange(X.shape[1])[None] < L[:, None], X, 0.0)
"""
_SCALARS = """@ag.kernel
def scalars(
    X: f32["M N"], Y: f32["M N"], a: f32 = 1.0, c: i32 = 2, d: i32 = 1, *,
    BM: int = 16, BN: int = 64,
):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN))
    y = x * a
    if c > d:
        y = y * 2.0
    # HERE
    Y[i * BM :, j * BN :] = y


@ag.reference
def reference(X, a=1.0, c=2, d=1):
    return X * a * (2.0 if c > d else 1.0)
"""

_SIZES: dict[str, dict[str, int]] = {
    "elements": {"M": 8192, "N": 8192},
    "product": {"M": 2048, "N": 2048, "K": 512},
    "rows": {"M": 16384, "N": 1024},
    "window": {"S": 8192, "T": 8192, "D": 64},
    "sums": {"M": 8192, "N": 4096},
    "gather": {"P": 65536, "R": 4096, "N": 1024},
    "ints": {"M": 8192, "N": 8192},
    "pair": {"M": 16384, "N": 1024},
    "lengths": {"B": 2048, "N": 4096},
    "scalars": {"M": 4096, "N": 4096},
}
_PASSED: dict[str, dict[str, int | float]] = {
    "elements": {"alpha": 0.75},
    "ints": {"c": 5},
    "scalars": {"a": 0.5, "c": 7, "d": 3},
}
_TEXTS = {
    "elements": _ELEMENTS,
    "product": _PRODUCT,
    "rows": _ROWS,
    "window": _WINDOW,
    "sums": _SUMS,
    "gather": _GATHER,
    "ints": _INTS,
    "pair": _PAIR,
    "lengths": _LENGTHS,
    "scalars": _SCALARS,
}
PROBLEMS = {
    name: FileProblem(
        name=name, kernel=name, reference=_HEAD + text, sizes=_SIZES[name],
        scalars=_PASSED.get(name, {}),
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


def _read() -> list[Cheat]:
    found: list[Cheat] = []
    text = Path(__file__).with_name("cheats.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            base, why, lines = line.split(" | ", 2)
            found.append(_made(base, why, lines))
    return found


CHEATS = [
    *_read(),
    _made("window", "another static window", "", W=2048),
    _made("window", "another window that small sizes do not reach", "", W=512),
    _made("window", "another mask", "", CAUSAL=False),
]
"""All of them."""

RIGHT = [
    _made("elements", "other tiles", "", BM=32, BN=128),
    _made("elements", "another order", "HERE: y = w + alpha * x"),
    _made("product", "other tiles", "", BM=128, BN=64, BK=64),
    _made(
        "product",
        "sums in two parts",
        "acc = ag.dot(a, b.T, acc) => acc = acc + ag.dot(a, b.T)",
    ),
    _made(
        "product", "a mask that does nothing", "HERE: acc = ag.where(m < M, acc, 0.0)"
    ),
    _made("rows", "a product with the inverse", "HERE: y = e * (1.0 / total)"),
    _made(
        "window",
        "one condition",
        "HERE: s = ag.where((qi - ki < W) & (ki <= qi), s, 0.0)",
    ),
    _made("sums", "other tiles", "", BM=32, BN=256),
    _made("gather", "other tiles", "", BP=32, BN=128),
    _made(
        "elements",
        "a branch on sizes",
        "HERE: if M * N > 2**25:;     y = w + x * alpha",
    ),
    _made(
        "elements",
        "a mask of two",
        "HERE: y = ag.where(m < M, ag.where(n < N, y, 0.0), 0.0)",
    ),
    _made("ints", "another order", "HERE: y = w + c * x"),
    _made("pair", "another order", "HERE: y = x + x"),
    _made("lengths", "the other way", "HERE: y = ag.where(n >= e, 0.0, x)"),
    _made(
        "scalars",
        "the other way",
        "HERE: y = x * a; if c <= d:;     y = y * 0.5; y = y * 2.0",
    ),
]
"""Kernels that are right, and must pass."""
