"""Cross-entropy over rows of logits: the loss, and the gradient of the logits.

`cross_entropy` reads each row once, BN columns at a time. What it carries are maximum
and sum of exponentials of every C = BN / V columns (Milakov and Gimelshein 2018), V
elements of which one thread holds: nothing is exchanged before the row has ended. The
logarithm of the sum is kept, so that `cross_entropy_backward` knows the probability of
an element by itself, and may cut rows as it likes.

The target's logit is read by its index. One that is no class reads nothing, and the
loss is infinite: there is no such class to be right about.

Few long rows are cut into parts, which blocks share: `cross_entropy_parts` keeps of
each its maximum and sum, and `cross_entropy_merge` makes the loss of those of a row.
"""

import argus as ag
from argus import f32, i32, i64

LOG2E = 1.4426950408889634
LN2 = 0.6931471805599453
LEAST = -3.4028234663852886e38
"""Of f32. A maximum is no less: a difference with it is a number, or infinite."""


@ag.kernel
def cross_entropy(
    X: ag.float["M N"],
    T: i64["M"],
    L: f32["M"],
    S: f32["M"],
    K: f32["M"],
    ignore: i64 = -100,
    smoothing: f32 = 0.0,
    z: f32 = 0.0,
    *,
    BN: int = 8192,
    ROWS: int = 1,
    V: int = 8,
    APART: bool = False,
    WARPS: int = 8,
    MIN_BLOCKS: int = 1,
    SMOOTH: bool = False,
):
    """L[m]: the loss of row m and class T[m], 0 where that is ``ignore``.

    S[m]: the logarithm of the sum of exponentials, of which ``z`` times the square is
    added. K[m]: 1, or 0 where the row is ignored. SMOOTH: a share ``smoothing`` of the
    target is that of all classes alike.
    APART: the V columns that are taken together are BN / V apart.
    """
    M, N = X.shape
    ag.require(N > 0, "a softmax over no columns is not defined")
    ag.launch(warps=WARPS, min_blocks=MIN_BLOCKS)
    m = ag.block(ag.cdiv(M, ROWS)) * ROWS
    C = BN // V
    top = ag.full((ROWS, C), LEAST, f32, dims="M C")
    total = ag.zeros((ROWS, C), f32, dims="M C")
    sums = ag.zeros((ROWS, C), f32, dims="M C")
    for n in ag.range(0, N, BN):
        x = ag.load(X[m:, n:], (ROWS, BN), fill=-ag.inf).to(f32)
        if SMOOTH:
            there = ag.broadcast(m + ag.index(x, "M") < M, x)
            seen = ag.broadcast(n + ag.index(x, "N") < N, x) & there
            sums = sums + ag.sum(together(ag.where(seen, x, 0.0), V, APART), "V")
        x = together(x, V, APART)
        higher = ag.maximum(top, ag.max(x, "V"))
        part = ag.sum(ag.exp2((x - higher) * LOG2E), "V")
        total = total * ag.exp2((top - higher) * LOG2E) + part
        top = higher
    most = ag.max(top, "C")
    log = ag.log2(ag.sum(total * ag.exp2((top - most) * LOG2E), "C")) * LN2
    mean = ag.sum(sums, "C") / N
    t = ag.load(T[m:], (ROWS,))
    L[m:] = loss_of(X, t, m, most, log, mean, ROWS, ignore, smoothing, z, SMOOTH)
    S[m:] = most + log
    K[m:] = ag.where(t != ignore, 1.0, 0.0)


@ag.reference
def cross_entropy_reference(X, T, ignore, smoothing, z, SMOOTH):
    """Logarithms of sums, less the target's logit."""
    import numpy as np

    top = X.max(1)
    s = top + np.log(np.exp(X - top[:, None]).sum(1))
    kept = ignore != T
    safe = np.where(kept, T, 0)
    target = np.take_along_axis(X, safe[:, None], 1)[:, 0]
    if SMOOTH:
        target = (1 - smoothing) * target + smoothing * X.sum(1) / X.shape[1]
    loss = np.where(kept, s - target + z * s**2, 0)
    return {"L": loss, "S": s, "K": np.where(kept, 1, 0)}


@ag.inline
def together(x, V, APART):
    """V columns of each row as an axis of their own."""
    ROWS, BN = x.shape
    if APART:
        return ag.reshape(x, (ROWS, V, BN // V), dims="M V C")
    return ag.reshape(x, (ROWS, BN // V, V), dims="M C V")


@ag.inline
def loss_of(X, t, m, top, log, mean, ROWS, ignore, smoothing, z, SMOOTH):
    """Losses of ROWS rows from m on: targets t, maxima, logarithms of sums less these.

    Of a maximum that is large the logarithm would be lost in their sum.
    """
    N = X.shape[1]
    if ROWS > 1:
        rows, columns = m + ag.index(t, "M"), ag.rename(t, "T")
        each = ag.zeros((ROWS, ROWS), i32, dims="M T")
        row = ag.broadcast(ag.index(each, "M"), each)
        own = row == ag.broadcast(ag.index(each, "T"), each)
        target = ag.sum(ag.load(X[rows, columns], mask=own).to(f32), "T")
    else:
        target = ag.load(X[m, t]).to(f32)
    if SMOOTH:
        target = target + smoothing * (mean - target)
    s = top + log
    loss = ag.where(t != ignore, (top - target) + log + z * s * s, 0.0)
    return ag.where((t == ignore) | ((t >= 0) & (t < N)), loss, ag.inf)


@ag.kernel
def cross_entropy_parts(
    X: ag.float["M N"],
    A: f32["P M"],
    B: f32["P M"],
    C: f32["P M"],
    *,
    BN: int = 2048,
    WARPS: int = 8,
    SMOOTH: bool = False,
):
    """A[p, m]: the maximum of part p of row m. B[p, m]: the sum of exp(X - A) in it.

    C[p, m]: with SMOOTH the sum of the part, else 0. A is finite, so that a part of
    nothing but -inf has the sum 0.
    """
    M, N = X.shape
    P = A.shape[0]
    ag.require(A.shape[0] == ag.cdiv(N, BN), "every column is in one part")
    ag.launch(warps=WARPS)
    m, p = ag.block(M, P)
    x = ag.load(X[m, p * BN :], (BN,), fill=-ag.inf).to(f32)
    top = ag.maximum(ag.max(x, "N"), LEAST)
    A[p, m] = top
    B[p, m] = ag.sum(ag.exp2((x - top) * LOG2E), "N")
    if SMOOTH:
        seen = ag.index(x, "N") < N - p * BN
        C[p, m] = ag.sum(ag.where(seen, x, 0.0), "N")
    else:
        C[p, m] = ag.full((), 0.0, f32)


@ag.reference
def cross_entropy_parts_reference(X, P, BN, SMOOTH):
    """Each part by itself."""
    import numpy as np

    N = X.shape[1]
    parts = [X[:, p * BN : min(N, (p + 1) * BN)] for p in range(P)]
    tops = [np.maximum(x.max(-1), LEAST) for x in parts]
    pairs = zip(parts, tops, strict=True)
    sums = [np.exp(x - top[:, None]).sum(-1) for x, top in pairs]
    totals = [x.sum(-1) if SMOOTH else 0 * x.sum(-1) for x in parts]
    return np.stack(tops), np.stack(sums), np.stack(totals)


@ag.kernel
def cross_entropy_merge(
    X: ag.float["M N"],
    A: f32["P M"],
    B: f32["P M"],
    C: f32["P M"],
    T: i64["M"],
    L: f32["M"],
    S: f32["M"],
    K: f32["M"],
    ignore: i64 = -100,
    smoothing: f32 = 0.0,
    z: f32 = 0.0,
    *,
    BP: int = 128,
    WARPS: int = 4,
    SMOOTH: bool = False,
):
    """As `cross_entropy`, of parts of rows."""
    M, N = X.shape
    P = A.shape[0]
    ag.require(P > 0, "there is something to merge")
    ag.require(N > 0, "a softmax over no columns is not defined")
    ag.launch(warps=WARPS)
    m = ag.block(M)
    tops = ag.full((BP,), LEAST, f32)
    for p in ag.range(0, P, BP):
        tops = ag.maximum(tops, ag.load(A[p:, m], (BP,), fill=-ag.inf))
    top = ag.max(tops, "P")
    total = ag.zeros((BP,), f32)
    sums = ag.zeros((BP,), f32)
    for p in ag.range(0, P, BP):
        a = ag.load(A[p:, m], (BP,), fill=-ag.inf)
        total = total + ag.load(B[p:, m], (BP,)) * ag.exp2((a - top) * LOG2E)
        sums = sums + ag.load(C[p:, m], (BP,))
    log = ag.log2(ag.sum(total, "P")) * LN2
    t = ag.load(T[m:], (1,))
    mean = ag.sum(sums, "P") / N
    L[m:] = loss_of(X, t, m, top, log, mean, 1, ignore, smoothing, z, SMOOTH)
    S[m] = top + log
    K[m:] = ag.where(t != ignore, 1.0, 0.0)


@ag.reference
def cross_entropy_merge_reference(X, A, B, C, T, ignore, smoothing, z, SMOOTH):
    """The sums of parts are those of exponentials less the maximum of each."""
    import numpy as np

    top = A.max(0)
    s = top + np.log((B * np.exp(A - top)).sum(0))
    kept = ignore != T
    safe = np.where(kept, T, 0)
    target = np.take_along_axis(X, safe[:, None], 1)[:, 0]
    if SMOOTH:
        target = (1 - smoothing) * target + smoothing * C.sum(0) / X.shape[1]
    loss = np.where(kept, s - target + z * s**2, 0)
    return {"L": loss, "S": s, "K": np.where(kept, 1, 0)}


@ag.kernel
def cross_entropy_backward(
    X: ag.float["M N"],
    T: i64["M"],
    S: f32["M"],
    G: f32["R"],
    DX: ag.float["M N"],
    Factor: f32["1"] | None = None,
    ignore: i64 = -100,
    smoothing: f32 = 0.0,
    z: f32 = 0.0,
    *,
    BN: int = 4096,
    ROWS: int = 1,
    WARPS: int = 8,
    EACH: bool = False,
):
    """DX: the gradient of X, where G is that of the losses and S from `cross_entropy`.

    EACH: every row has its own; else G[0], times ``Factor``, is that of all. Rows whose
    target is ``ignore`` are not read.
    """
    M, N = X.shape
    ag.require(ag.dim("R") == (M if EACH else 1), "a gradient for each row, or one")
    ag.launch(warps=WARPS)
    b, j = ag.block(ag.cdiv(M, ROWS), ag.cdiv(N, BN))
    m, n = b * ROWS, j * BN
    t = ag.load(T[m:], (ROWS,))
    s = ag.load(S[m:], (ROWS,))
    if EACH:
        g = ag.rename(ag.load(G[m:], (ROWS,)), "M")
    else:
        g = ag.full((ROWS,), G[0], f32, dims="M")
    if Factor is not None:
        g = g * Factor[0]
    kept = t != ignore
    x = ag.zeros((ROWS, BN), f32, dims="M N")
    kept = ag.broadcast(kept, x)
    x = ag.load(X[m:, n:], (ROWS, BN), mask=kept).to(f32)
    p = ag.exp2((x - s) * LOG2E) * (1.0 + 2.0 * z * s) - smoothing / N
    hit = ag.broadcast((n + ag.index(x, "N")).to(i64), x) == ag.broadcast(t, x)
    p = ag.where(hit, p - (1.0 - smoothing), p)
    DX[m:, n:] = ag.where(kept, p * g, 0.0).to(DX.dtype)


@ag.reference
def cross_entropy_backward_reference(
    X, T, S, G, ignore, smoothing, z, EACH, Factor=None
):
    """Probabilities less the target."""
    import numpy as np

    N = X.shape[1]
    g = G if EACH else G[0]
    g = g if Factor is None else g * Factor[0]
    p = np.exp(X - S[:, None]) * (1 + 2 * z * S[:, None])
    target = np.where(T[:, None] == np.arange(N), 1 - smoothing, 0) + smoothing / N
    scaled = (p - target) * (g[:, None] if EACH else g)
    return np.where((ignore == T)[:, None], 0, scaled)


@ag.kernel
def loss_mean(
    L: f32["M"],
    K: f32["M"],
    Y: f32["1"],
    Factor: f32["1"],
    *,
    BM: int = 4096,
    WARPS: int = 16,
    MEAN: bool = True,
):
    """Y: the mean of losses L, of which K says how many they are; else their sum.

    Factor: what each of them counts, 1 over their number or 1. One block, always in the
    same order.
    """
    M = L.shape[0]
    ag.launch(warps=WARPS)
    total = ag.zeros((BM,), f32, dims="M")
    count = ag.zeros((BM,), f32, dims="M")
    for m in ag.range(0, M, BM):
        total = total + ag.load(L[m:], (BM,))
        count = count + ag.load(K[m:], (BM,))
    loss, number = ag.sum(total, "M"), ag.sum(count, "M")
    Y[0] = loss / number if MEAN else loss
    Factor[0] = 1.0 / number if MEAN else ag.full((), 1.0, f32)


@ag.reference
def loss_mean_reference(L, K, MEAN):
    """Losses that do not count are 0."""
    import numpy as np

    count = K.sum() if MEAN else 1.0
    return {
        "Y": np.stack([L.sum() / count]),
        "Factor": np.stack([1 / count + 0 * K.sum()]),
    }


@ag.kernel
def loss_sums(
    L: f32["M"],
    K: f32["M"],
    A: f32["P"],
    B: f32["P"],
    *,
    BM: int = 4096,
    WARPS: int = 8,
):
    """A[p], B[p]: the sums of the p-th BM elements of L and K."""
    M = L.shape[0]
    ag.require(A.shape[0] == ag.cdiv(M, BM), "every element is in one part")
    ag.launch(warps=WARPS)
    p = ag.block(A.shape[0])
    A[p] = ag.sum(ag.load(L[p * BM :], (BM,)), "M")
    B[p] = ag.sum(ag.load(K[p * BM :], (BM,)), "M")


@ag.reference
def loss_sums_reference(L, K, P, BM):
    """Each part by itself."""
    import numpy as np

    M = L.shape[0]
    ends = [(p * BM, min(M, (p + 1) * BM)) for p in range(P)]
    losses = [L[first:last].sum() for first, last in ends]
    return np.stack(losses), np.stack([K[first:last].sum() for first, last in ends])
