"""Windows of a row or an image, and arrays in another shape."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def average_pool(X: f32["B L"], Y: f32["B T"], *, BT: int = 64):
    """Average pool, window 3, stride 2, padding 1, the border does not count."""
    B, L = X.shape
    T = Y.shape[1]
    ag.require(T == (L - 1) // 2 + 1, "windows")
    b, j = ag.block(B, ag.cdiv(T, BT))
    s = ag.zeros((BT,), f32, dims="T")
    for r in ag.static_range(3):
        v = X.view("B T", shape=(B, T), at=lambda b, t: (b, 2 * t + r - 1))
        s = s + ag.load(v[b, j * BT :], (BT,))
    t = j * BT + ag.index(s, "T")
    first = ag.maximum(2 * t - 1, 0)
    last = ag.minimum(2 * t + 2, L)
    Y[b, j * BT :] = s / (last - first).to(f32)


@ag.reference
def average_pool_reference(X):
    B, L = X.shape
    p = np.pad(X, ((0, 0), (1, 1)))
    c = np.pad(np.ones((L,)), (1, 1))
    T = (L - 1) // 2 + 1
    s = sum(p[:, r : r + 2 * T - 1 : 2] for r in range(3))
    n = sum(c[r : r + 2 * T - 1 : 2] for r in range(3))
    return s / n


@ag.kernel
def min_pool(X: f32["B H W"], Y: f32["B P Q"], *, BP: int = 8, BQ: int = 32):
    """Min pool 2 by 2, stride 2, of sizes that may be odd (floor)."""
    B, H, W = X.shape
    P, Q = Y.shape[1], Y.shape[2]
    ag.require((P == H // 2) & (Q == W // 2), "whole windows")
    b, i, j = ag.block(B, ag.cdiv(P, BP), ag.cdiv(Q, BQ))
    m = ag.full((BP, BQ), ag.inf, f32, dims="P Q")
    for r in ag.static_range(4):
        v = X.view(
            "B P Q",
            shape=(B, P, Q),
            at=lambda b, p, q: (b, 2 * p + r // 2, 2 * q + r % 2),
        )
        m = ag.minimum(m, ag.load(v[b, i * BP :, j * BQ :], (BP, BQ)))
    Y[b, i * BP :, j * BQ :] = m


@ag.reference
def min_pool_reference(X):
    B, H, W = X.shape
    x = X[:, : H // 2 * 2, : W // 2 * 2]
    return x.reshape(B, H // 2, 2, W // 2, 2).min((2, 4))


@ag.kernel
def pixel_shuffle(X: f32["B C H W"], Y: f32["B O P Q"], *, R: int = 2, BQ: int = 128):
    """Depth to space: Y[b, o, h R + r, w R + s] = X[b, (o R + r) R + s, h, w]."""
    B, C, H, W = X.shape
    O, P, Q = Y.shape[1], Y.shape[2], Y.shape[3]
    ag.require((C == O * R * R) & (P == H * R) & (Q == W * R), "shuffle")
    v = X.view(
        "B O P Q",
        shape=(B, O, P, Q),
        at=lambda b, o, p, q: (b, (o * R + p % R) * R + q % R, p // R, q // R),
    )
    b, o, p, j = ag.block(B, O, P, ag.cdiv(Q, BQ))
    Y[b, o, p, j * BQ :] = ag.load(v[b, o, p, j * BQ :], (BQ,))


@ag.reference
def pixel_shuffle_reference(X):
    B, C, H, W = X.shape
    O = C // 4
    x = X.reshape(B, O, 2, 2, H, W).transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(B, O, H * 2, W * 2)


@ag.kernel
def flattened(X: f32["M N"], Y: f32["L"], *, B: int = 256):
    """Flatten a matrix: an index tile computed in i32."""
    M, N = X.shape
    ag.require(Y.shape[0] == M * N, "flat")
    ag.require(M * N < 2**31, "fits")
    i = ag.block(ag.cdiv(Y.shape[0], B))
    flat = X.view("L", shape=(M * N,), at=lambda l: (l // N, l % N))
    Y[i * B :] = ag.load(flat[i * B :], (B,))


@ag.reference
def flattened_reference(X):
    return X.reshape(-1)


@ag.kernel
def dilated(
    X: bf16["B L C"],
    F: bf16["N K"],
    Y: f32["M N"],
    dil: i32 = 2,
    *,
    C: int = 32,
    R: int = 3,
):
    """Dilated causal convolution as a product: K is (tap, channel)."""
    B, L, _ = X.shape
    M, N = Y.shape
    ag.require(
        (M == B * L) & (ag.dim("K") == R * C) & (dil >= 1) & (dil <= 64), "pixels"
    )
    cols = X.view(
        "M K",
        shape=(M, R * C),
        at=lambda m, k: (m // L, m % L + (k // C - (R - 1)) * dil, k % C),
    )
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, R * C, 32):
        acc = ag.dot(
            ag.load(cols[i * 64 :, k:], (64, 32)),
            ag.load(F[j * 64 :, k:], (64, 32)).T,
            acc,
        )
    Y[i * 64 :, j * 64 :] = acc


@ag.reference
def dilated_reference(X, F, dil):
    B, L, C = X.shape
    p = np.pad(X, ((0, 0), (2 * dil, 0), (0, 0)))
    t = [p[:, r * dil : r * dil + L] for r in range(3)]
    return np.concatenate(t, -1).reshape(B * L, 3 * C) @ F.T


@ag.kernel
def stencil(
    X: f32["D H W"], Y: f32["D H W"], c: f32 = 0.1, *, BH: int = 8, BW: int = 32
):
    """Seven points, zero outside."""
    D, H, W = X.shape
    d, i, j = ag.block(D, ag.cdiv(H, BH), ag.cdiv(W, BW))
    x = ag.load(X[d, i * BH :, j * BW :], (BH, BW))
    acc = x * -6.0
    for s in ag.static_range(2):
        o = 2 * s - 1
        v = X.view("D H W", shape=(D, H, W), at=lambda d, h, w: (d + o, h, w))
        acc = acc + ag.load(v[d, i * BH :, j * BW :], (BH, BW))
        v = X.view("D H W", shape=(D, H, W), at=lambda d, h, w: (d, h + o, w))
        acc = acc + ag.load(v[d, i * BH :, j * BW :], (BH, BW))
        v = X.view("D H W", shape=(D, H, W), at=lambda d, h, w: (d, h, w + o))
        acc = acc + ag.load(v[d, i * BH :, j * BW :], (BH, BW))
    Y[d, i * BH :, j * BW :] = x + c * acc


@ag.reference
def stencil_reference(X, c):
    p = np.pad(X, 1)
    beside = p[2:, 1:-1, 1:-1] + p[:-2, 1:-1, 1:-1]
    beside = beside + p[1:-1, 2:, 1:-1] + p[1:-1, :-2, 1:-1]
    beside = beside + p[1:-1, 1:-1, 2:] + p[1:-1, 1:-1, :-2]
    return X + c * (beside - 6 * X)


@ag.kernel
def pairs_in_order(X: f32["M N"], Y: f32["M N"], *, BM: int = 4):
    """Compare and exchange n with n ^ 1: reshape to pairs."""
    M, N = X.shape
    ag.require(N % 64 == 0, "pairs")
    i, j = ag.block(ag.cdiv(M, BM), N // 64)
    x = ag.reshape(ag.load(X[i * BM :, j * 64 :], (BM, 64)), (BM, 32, 2), dims="M P C")
    a, b = ag.split(x, "C", 2)
    lo, hi = ag.minimum(a, b), ag.maximum(a, b)
    Y[i * BM :, j * 64 :] = ag.reshape(ag.join(lo, hi, "C"), (BM, 64), dims="M N")


@ag.reference
def pairs_in_order_reference(X):
    M, N = X.shape
    p = X.reshape(M, N // 2, 2)
    return np.stack([p.min(2), p.max(2)], 2).reshape(M, N)


@ag.kernel
def channel_shuffle(X: f32["B C L"], Y: f32["B C L"], *, G: int = 4, BL: int = 128):
    """Channel c of the output is channel (c % G) * (C // G) + c // G."""
    B, C, L = X.shape
    ag.require(C % G == 0, "groups")
    b, c, j = ag.block(B, C, ag.cdiv(L, BL))
    Y[b, c, j * BL :] = ag.load(X[b, (c % G) * (C // G) + c // G, j * BL :], (BL,))


@ag.reference
def channel_shuffle_reference(X):
    B, C, L = X.shape
    return X.reshape(B, 4, C // 4, L).transpose(0, 2, 1, 3).reshape(B, C, L)


@ag.kernel
def reflected(X: f32["B L"], Y: f32["B T"], *, P: int = 3, BT: int = 64):
    """Padding by reflection, 3 on each side."""
    B, L = X.shape
    T = Y.shape[1]
    ag.require((T == L + 2 * P) & (L > P), "padding")
    b, j = ag.block(B, ag.cdiv(T, BT))
    v = X.view(
        "B T", shape=(B, T), at=lambda b, t: (b, L - 1 - ag.abs(L - 1 - ag.abs(t - P)))
    )
    Y[b, j * BT :] = ag.load(v[b, j * BT :], (BT,))


@ag.reference
def reflected_reference(X):
    return np.pad(X, ((0, 0), (3, 3)), mode="reflect")


@ag.kernel
def rows_of_windows(X: f32["H W"], Y: f32["P K"], *, BP: int = 32):
    """Each window of 3 by 3 as a row, without a border."""
    H, W = X.shape
    P, K = Y.shape
    ag.require((H > 2) & (W > 2), "a window")
    ag.require((P == (H - 2) * (W - 2)) & (K == 9), "windows")
    i = ag.block(ag.cdiv(P, BP))
    rows = X.view(
        "P K",
        shape=(P, 9),
        at=lambda p, k: (p // (W - 2) + k // 3, p % (W - 2) + k % 3),
    )
    Y[i * BP :, :] = ag.load(rows[i * BP :, 0:], (BP, 16))


@ag.reference
def rows_of_windows_reference(X):
    H, W = X.shape
    windows = np.lib.stride_tricks.sliding_window_view(X, (3, 3))
    return windows.reshape((H - 2) * (W - 2), 9)


@ag.kernel
def periodic(X: f32["M N"], Y: f32["M N"], *, BM: int = 8, BN: int = 64):
    """Differences of a row whose ends meet, and a row that is turned by three."""
    M, N = X.shape
    ag.require(N > 3, "neighbours")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))

    after = X.view(
        "M N", shape=(M, N), at=lambda m, n: (m, ag.where(n + 1 == N, 0, n + 1))
    )
    before = X.view(
        "M N", shape=(M, N), at=lambda m, n: (m, ag.where(n == 0, N - 1, n - 1))
    )
    turned = X.view(
        "M N", shape=(M, N), at=lambda m, n: (m, ag.where(n < 3, n + N - 3, n - 3))
    )
    a = ag.load(after[i * BM :, j * BN :], (BM, BN))
    b = ag.load(before[i * BM :, j * BN :], (BM, BN))
    c = ag.load(turned[i * BM :, j * BN :], (BM, BN))
    Y[i * BM :, j * BN :] = (a - b) * c


@ag.reference
def periodic_reference(X):
    return (np.roll(X, -1, 1) - np.roll(X, 1, 1)) * np.roll(X, 3, 1)


@ag.kernel
def causal_taps(X: f32["B S C"], W: f32["R C"], Y: f32["B S C"], *, BC: int = 64):
    """A filter of any number of taps, which no launch has none of."""
    B, S, C = X.shape
    R = W.shape[0]
    b, i, j = ag.block(B, ag.cdiv(S, 32), ag.cdiv(C, BC))
    acc = ag.zeros((32, BC), f32, dims="S C")
    for r in ag.range(R):
        v = X.view("B S C", shape=(B, S, C), at=lambda b, s, c: (b, s + r - R + 1, c))
        x = ag.load(v[b, i * 32 :, j * BC :], (32, BC))
        acc = acc + x * ag.load(W[r, j * BC :], (BC,))
    Y[b, i * 32 :, j * BC :] = acc


@ag.reference
def causal_taps_reference(X, W):
    R = W.shape[0]
    p = np.pad(X, ((0, 0), (R - 1, 0), (0, 0)))
    return sum(p[:, r : r + X.shape[1]] * W[r] for r in range(R))


@ag.kernel
def nchw_convolution(
    X: f32["B C H W"], F: f32["N C 3 3"], Y: f32["B N H W"], *, BW: int = 64
):
    """3 x 3 taps of each channel, added up one by one; padding 1."""
    B, C, H, W = X.shape
    N = F.shape[0]
    b, n, h, j = ag.block(B, N, H, ag.cdiv(W, BW))
    acc = ag.zeros((BW,), f32, dims="W")
    for c in ag.range(0, C):
        for r in ag.static_range(3):
            for s in ag.static_range(3):
                v = X.view("W", shape=(W,), at=lambda w: (b, c, h + r - 1, w + s - 1))
                acc = acc + ag.load(v[j * BW :], (BW,)) * F[n, c, r, s]
    Y[b, n, h, j * BW :] = acc


@ag.reference
def nchw_convolution_reference(X, F):
    import torch

    return torch.nn.functional.conv2d(X, F, padding=1)


@ag.kernel
def nchw_product(
    X: bf16["B C H W"],
    F: bf16["N C 3 3"],
    Y: bf16["B N H W"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 32,
):
    """The same as a product: K is channel and tap, M the pixel of an image."""
    B, C, H, W = X.shape
    N = F.shape[0]
    M, K = H * W, C * 9
    b, i, j = ag.block(B, ag.cdiv(M, BM), ag.cdiv(N, BN))
    pixels = X.view(
        "M K",
        shape=(M, K),
        at=lambda m, q: (b, q // 9, m // W + q % 9 // 3 - 1, m % W + q % 3 - 1),
    )
    taps = F.view("N K", shape=(N, K), at=lambda n, q: (n, q // 9, q % 9 // 3, q % 3))
    out = Y.view("M N", shape=(M, N), at=lambda m, n: (b, n, m // W, m % W))
    acc = ag.zeros((BM, BN), f32)
    for q in ag.range(0, K, BK):
        x = ag.load(pixels[i * BM :, q:], (BM, BK))
        f = ag.load(taps[j * BN :, q:], (BN, BK))
        acc = ag.dot(x, f.T, acc)
    out[i * BM :, j * BN :] = acc.to(bf16)


@ag.reference
def nchw_product_reference(X, F):
    import torch

    return torch.nn.functional.conv2d(X, F, padding=1)
