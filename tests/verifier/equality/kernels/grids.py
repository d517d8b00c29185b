"""Neighbours, taps and permutations."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def depthwise2d(
    X: f32["B C H W"], F: f32["C R S"], Y: f32["B C H W"], *, BH: int = 8, BW: int = 32
):
    B, C, H, W = X.shape
    ag.require(ag.dim("R") == 3, "3x3")
    ag.require(ag.dim("S") == 3, "3x3")
    b, c, i, j = ag.block(B, C, ag.cdiv(H, BH), ag.cdiv(W, BW))
    acc = ag.zeros((BH, BW), f32, dims="H W")
    for r in ag.static_range(3):
        for s in ag.static_range(3):
            v = X.view(
                "B C H W",
                shape=(B, C, H, W),
                at=lambda b, c, h, w: (b, c, h + r - 1, w + s - 1),
            )
            acc = acc + ag.load(v[b, c, i * BH :, j * BW :], (BH, BW)) * F[c, r, s]
    Y[b, c, i * BH :, j * BW :] = acc


@ag.reference
def depthwise2d_reference(X, F):
    B, C, H, W = X.shape
    p = np.pad(X, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return sum(
        p[:, :, r : r + H, s : s + W] * F[None, :, r, s, None, None]
        for r in range(3)
        for s in range(3)
    )


@ag.kernel
def max_pool_3_pad(X: f32["B C L"], Y: f32["B C L"], *, BL: int = 128):
    """Window 3, stride 1, padding 1."""
    B, C, L = X.shape
    b, c, i = ag.block(B, C, ag.cdiv(L, BL))
    best = ag.full((BL,), -ag.inf, f32, dims="L")
    for s in range(3):
        v = X.view("B C L", shape=(B, C, L), at=lambda b, c, l: (b, c, l + s - 1))
        x = ag.load(v[b, c, i * BL :], (BL,))
        at = i * BL + ag.index(x, "L") + (s - 1)
        best = ag.maximum(best, ag.where((at >= 0) & (at < L), x, -ag.inf))
    Y[b, c, i * BL :] = best


@ag.reference
def max_pool_3_pad_reference(X):
    L = X.shape[2]
    p = np.pad(X, ((0, 0), (0, 0), (1, 1)), constant_values=-np.inf)
    return np.maximum(np.maximum(p[:, :, :L], p[:, :, 1 : L + 1]), p[:, :, 2 : L + 2])


@ag.kernel
def bilinear(
    X: f32["B H W C"],
    Row0: i32["P"],
    Row1: i32["P"],
    Fr: f32["P"],
    Y: f32["B P W C"],
    *,
    BC: int = 64,
    BP: int = 16,
):
    """Linear interpolation along H with given rows and weights."""
    B, H, W, C = X.shape
    P = Row0.shape[0]
    ag.assume(lambda r: (r >= 0) & (r < H), Row0)
    ag.assume(lambda r: (r >= 0) & (r < H), Row1)
    b, w, i, c = ag.block(B, W, ag.cdiv(P, BP), ag.cdiv(C, BC))
    r0 = ag.load(Row0[i * BP :], (BP,), fill=-1)
    r1 = ag.load(Row1[i * BP :], (BP,), fill=-1)
    f = ag.load(Fr[i * BP :], (BP,))
    x0 = ag.load(X[b, r0, w, c * BC :], (BP, BC)).rename("P C")
    x1 = ag.load(X[b, r1, w, c * BC :], (BP, BC)).rename("P C")
    Y[b, i * BP :, w, c * BC :] = x0 + (x1 - x0) * f


@ag.reference
def bilinear_reference(X, Row0, Row1, Fr):
    f = Fr[None, :, None, None]
    return X[:, Row0] * (1 - f) + X[:, Row1] * f


@ag.kernel
def life(X: i32["H W"], Y: i32["H W"], *, BH: int = 16, BW: int = 32):
    """Game of life on a torus... without wrap: outside is dead."""
    H, W = X.shape
    i, j = ag.block(ag.cdiv(H, BH), ag.cdiv(W, BW))
    n = ag.zeros((BH, BW), i32, dims="H W")
    for dy in range(3):
        for dx in range(3):
            if dy != 1 or dx != 1:
                v = X.view(
                    "H W", shape=(H, W), at=lambda h, w: (h + dy - 1, w + dx - 1)
                )
                n = n + ag.load(v[i * BH :, j * BW :], (BH, BW))
    x = ag.load(X[i * BH :, j * BW :], (BH, BW))
    alive = ((x == 1) & ((n == 2) | (n == 3))) | ((x == 0) & (n == 3))
    Y[i * BH :, j * BW :] = ag.where(alive, 1, 0)


@ag.reference
def life_reference(X):
    H, W = X.shape
    p = np.pad(X, 1)
    n = sum(p[a : a + H, b : b + W] for a in range(3) for b in range(3)) - X
    return np.where(
        X == 1, (n == 2) | (n == 3), np.where(X == 0, n == 3, False)
    ).astype(np.int32)


@ag.kernel
def jacobi(X: f32["H W"], F: f32["H W"], Y: f32["H W"], h2: f32 = 0.01):
    """Interior points only; the border is copied."""
    H, W = X.shape
    i, j = ag.block(ag.cdiv(H, 16), ag.cdiv(W, 64))
    c = ag.load(X[i * 16 :, j * 64 :], (16, 64))
    up = ag.load(
        X.view("H W", shape=(H, W), at=lambda h, w: (h - 1, w))[i * 16 :, j * 64 :],
        (16, 64),
    )
    dn = ag.load(
        X.view("H W", shape=(H, W), at=lambda h, w: (h + 1, w))[i * 16 :, j * 64 :],
        (16, 64),
    )
    lf = ag.load(
        X.view("H W", shape=(H, W), at=lambda h, w: (h, w - 1))[i * 16 :, j * 64 :],
        (16, 64),
    )
    rt = ag.load(
        X.view("H W", shape=(H, W), at=lambda h, w: (h, w + 1))[i * 16 :, j * 64 :],
        (16, 64),
    )
    f = ag.load(F[i * 16 :, j * 64 :], (16, 64))
    r = ag.broadcast(i * 16 + ag.index(c, "H"), c)
    q = ag.broadcast(j * 64 + ag.index(c, "W"), c)
    inner = (r > 0) & (r < H - 1) & (q > 0) & (q < W - 1)
    Y[i * 16 :, j * 64 :] = ag.where(inner, 0.25 * (up + dn + lf + rt - h2 * f), c)


@ag.reference
def jacobi_reference(X, F, h2):
    Y = X.copy()
    Y[1:-1, 1:-1] = (
        X[:-2, 1:-1] + X[2:, 1:-1] + X[1:-1, :-2] + X[1:-1, 2:] - h2 * F[1:-1, 1:-1]
    ) / 4
    return Y


@ag.kernel
def fft_stage(
    Re: f32["B H L"],
    Im: f32["B H L"],
    C: f32["Q"],
    S: f32["Q"],
    OR: f32["B H L"],
    OI: f32["B H L"],
    *,
    L: int = 128,
):
    """Radix-2 stage: butterflies between the halves of each run of 128."""
    B, H, _ = Re.shape
    ag.require(ag.dim("Q") == 64, "twiddles")
    b, h = ag.block(B, ag.cdiv(H, 8))
    ar = ag.load(Re[b, h * 8 :, 0:64], (8, 64))
    ai = ag.load(Im[b, h * 8 :, 0:64], (8, 64))
    br = ag.load(Re[b, h * 8 :, 64:128], (8, 64))
    bi = ag.load(Im[b, h * 8 :, 64:128], (8, 64))
    c = ag.load(C[0:64]).rename("L")
    s = ag.load(S[0:64]).rename("L")
    tr = br * c - bi * s
    ti = br * s + bi * c
    OR[b, h * 8 :, 0:64] = ar + tr
    OI[b, h * 8 :, 0:64] = ai + ti
    OR[b, h * 8 :, 64:128] = ar - tr
    OI[b, h * 8 :, 64:128] = ai - ti


@ag.reference
def fft_stage_reference(Re, Im, C, S):
    ar, ai = Re[..., :64], Im[..., :64]
    br, bi = Re[..., 64:], Im[..., 64:]
    tr, ti = br * C - bi * S, br * S + bi * C
    return {
        "OR": np.concatenate([ar + tr, ar - tr], -1),
        "OI": np.concatenate([ai + ti, ai - ti], -1),
    }


@ag.kernel
def sort_step2(X: f32["M N"], Y: f32["M N"], *, BM: int = 4, BH: int = 64):
    """Compare-exchange of neighbours (2i, 2i+1)."""
    M, N = X.shape
    ag.require(N % 2 == 0, "pairs")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N // 2, BH))
    even = X.view("M H", shape=(M, N // 2), at=lambda m, h: (m, 2 * h))
    odd = X.view("M H", shape=(M, N // 2), at=lambda m, h: (m, 2 * h + 1))
    a = ag.load(even[i * BM :, j * BH :], (BM, BH))
    b = ag.load(odd[i * BM :, j * BH :], (BM, BH))
    cols = ag.index(a, "H") + j * BH
    Y[i * BM : i * BM + BM, cols * 2] = ag.minimum(a, b)
    Y[i * BM : i * BM + BM, cols * 2 + 1] = ag.maximum(a, b)


@ag.reference
def sort_step2_reference(X):
    a, b = X[:, 0::2], X[:, 1::2]
    Y = np.empty_like(X)
    Y[:, 0::2] = np.minimum(a, b)
    Y[:, 1::2] = np.maximum(a, b)
    return Y


@ag.kernel
def transpose_smem(X: bf16["M N"], Y: bf16["N M"]):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    s = ag.shared(bf16, (64, 64), swizzle=128)
    s.store(ag.load(X[i * 64 :, j * 64 :], (64, 64)))
    Y[j * 64 :, i * 64 :] = s.T.load()


@ag.reference
def transpose_smem_reference(X):
    return X.T


@ag.kernel
def equal_parts(X: f32["T D"], Y: f32["P D"], *, BT: int = 32):
    """Sums of P parts of equal length, the last ones shorter or empty."""
    T, D = X.shape
    P = Y.shape[0]
    ag.require((P > 0) & (T > 0), "some")
    each = ag.cdiv(T, P)
    p, j = ag.block(P, ag.cdiv(D, 64))
    first = p * each
    last = ag.min(first + each, T)
    acc = ag.zeros((64,), f32, dims="D")
    for t in ag.range(first, last, BT):
        acc = acc + ag.sum(ag.load(X[t:last, j * 64 :], (BT, 64)), "T")
    Y[p, j * 64 :] = acc


@ag.reference
def equal_parts_reference(X, Y):
    T, D = X.shape
    P = Y.shape[0]
    C = (T + P - 1) // P
    return np.stack([X[p * C : (p + 1) * C].sum(0) for p in range(P)])


@ag.kernel
def heads_of_groups(X: f32["T H D"], S: f32["T G"], Y: f32["T H D"], *, BD: int = 64):
    """A block has all heads of a group, of which there are as many as sizes say."""
    T, H, D = X.shape
    G = ag.dim("G")
    ag.require(H % G == 0, "groups of heads")
    t, g, d = ag.block(T, G, ag.cdiv(D, BD))
    R = H // G
    for r in ag.range(0, R):
        x = ag.load(X[t, g * R + r, d * BD :], (BD,))
        Y[t, g * R + r, d * BD :] = x * S[t, g]


@ag.reference
def heads_of_groups_reference(X, S):
    return X * np.repeat(S, X.shape[1] // S.shape[1], axis=1)[:, :, None]


@ag.kernel
def four_groups(X: f32["C P"], W: f32["C"], Y: f32["C P"], *, G: int = 4, BP: int = 64):
    """Channels of one of four groups, as a group norm has them."""
    C, P = X.shape
    ag.require(C % G == 0, "groups of channels")
    S = C // G
    g, p = ag.block(G, ag.cdiv(P, BP))
    for c in ag.range(g * S, g * S + S):
        Y[c, p * BP :] = ag.load(X[c, p * BP :], (BP,)) * W[c]


@ag.reference
def four_groups_reference(X, W):
    return X * W[:, None]


@ag.kernel
def one_number_of_three(X: f32["B C P"], Y: f32["B C P"], *, BP: int = 64):
    """A grid of one number, which is divided by products of sizes."""
    B, C, P = X.shape
    n = ag.cdiv(P, BP)
    t = ag.block(B * C * n)
    b, c, p = t // (C * n), t // n % C, t % n
    Y[b, c, p * BP :] = ag.load(X[b, c, p * BP :], (BP,)) * 2.0


@ag.reference
def one_number_of_three_reference(X):
    return 2 * X
