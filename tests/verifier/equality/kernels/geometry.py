"""Numbers of points in space, and of the pixels around one."""

import argus as ag
from argus import f32, i32, u8


@ag.kernel
def gravity(
    P: f32["N 3"],
    Ms: f32["N"],
    F: f32["N 3"],
    e: f32 = 0.01,
    *,
    BN: int = 32,
    BM: int = 64,
):
    """Softened gravity of all pairs."""
    N, _ = P.shape
    n = ag.block(ag.cdiv(N, BN)) * BN
    x, y, z = (
        ag.load(P[n:, 0], (BN,)),
        ag.load(P[n:, 1], (BN,)),
        ag.load(P[n:, 2], (BN,)),
    )
    fx, fy, fz = (
        ag.zeros((BN,), f32, dims="N"),
        ag.zeros((BN,), f32, dims="N"),
        ag.zeros((BN,), f32, dims="N"),
    )
    for m in ag.range(0, N, BM):
        u, v, w = (
            ag.load(P[m:, 0], (BM,)).rename("J"),
            ag.load(P[m:, 1], (BM,)).rename("J"),
            ag.load(P[m:, 2], (BM,)).rename("J"),
        )
        q = ag.load(Ms[m:], (BM,)).rename("J")
        o = ag.zeros((BN, BM), f32, dims="N J")
        dx, dy, dz = (o + u) - x, (o + v) - y, (o + w) - z
        r = ag.rsqrt(dx * dx + dy * dy + dz * dz + e)
        g = r * r * r * q
        fx = fx + ag.sum(g * dx, "J")
        fy = fy + ag.sum(g * dy, "J")
        fz = fz + ag.sum(g * dz, "J")
    F[n:, 0] = fx
    F[n:, 1] = fy
    F[n:, 2] = fz


@ag.reference
def gravity_reference(P, Ms, e):
    d = P[None] - P[:, None]
    r2 = (d * d).sum(-1) + e
    return (d * (Ms / r2**1.5)[:, :, None]).sum(1)


@ag.kernel
def basis_functions(
    P: f32["N 2"],
    C: f32["M 2"],
    W: f32["M"],
    Y: f32["N"],
    g: f32 = 0.5,
    *,
    BN: int = 32,
    BM: int = 64,
):
    """Radial basis functions in the plane."""
    N, _ = P.shape
    M = C.shape[0]
    n = ag.block(ag.cdiv(N, BN)) * BN
    x, y = ag.load(P[n:, 0], (BN,)), ag.load(P[n:, 1], (BN,))
    acc = ag.zeros((BN,), f32, dims="N")
    for m in ag.range(0, M, BM):
        u, v = ag.load(C[m:, 0], (BM,)), ag.load(C[m:, 1], (BM,))
        w = ag.load(W[m:], (BM,))
        o = ag.zeros((BN, BM), f32, dims="N M")
        dx, dy = (o + u) - x, (o + v) - y
        acc = acc + ag.sum(ag.exp(-g * (dx * dx + dy * dy)) * w, "M")
    Y[n:] = acc


@ag.reference
def basis_functions_reference(P, C, W, g):
    d = P[:, None] - C[None]
    return (np.exp(-g * (d * d).sum(-1)) * W).sum(1)


@ag.kernel
def dilation(X: u8["H W"], Y: u8["H W"], *, BH: int = 8, BW: int = 64):
    """Dilation by a cross, outside counts as 0."""
    H, W = X.shape
    i, j = ag.block(ag.cdiv(H, BH), ag.cdiv(W, BW))
    h, w = i * BH, j * BW
    m = ag.load(X[h:, w:], (BH, BW)).to(i32)
    for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        at = X.view("H W", shape=(H, W), at=lambda y, x: (y + dy, x + dx))
        m = ag.maximum(m, ag.load(at[h:, w:], (BH, BW)).to(i32))
    Y[h:, w:] = m.to(u8)


@ag.reference
def dilation_reference(X):
    P = np.pad(X, 1)
    return np.maximum.reduce(
        [P[1:-1, 1:-1], P[:-2, 1:-1], P[2:, 1:-1], P[1:-1, :-2], P[1:-1, 2:]]
    )
