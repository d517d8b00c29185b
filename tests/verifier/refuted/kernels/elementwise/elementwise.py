"""Element-wise kernels: activations, rotary embeddings, transposes, with mistakes."""

# facts 1

import argus as ag
from argus import bf16, f16, f32, i32


@ag.kernel
def add(X: f32["M N"], Y: f32["M N"], Z: f32["M N"], *, BM: int = 4, BN: int = 128):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    # or AG0306 (grid too small): i, j = ag.block(M // BM, N // BN)
    # or AG0306 (swapped block indices): j, i = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN))
    y = ag.load(Y[i * BM :, j * BN :], (BM, BN))
    # or AG0303 (residual of another tile): y = ag.load(Y[j * BM :, i * BN :], (BM, BN))
    # or AG0303 (off-by-one element): y = ag.load(Y[i * BM :, j * BN + 1 :], (BM, BN))
    # or AG0303 (wrong rows): y = ag.load(Y[i * BM + 1 :, j * BN :], (BM, BN))
    # or AG0303 (wrong tile size): y = ag.load(Y[i * BN :, j * BN :], (BM, BN))
    z = x + y  # shows AG0303
    Z[i * BM :, j * BN :] = z  # shows AG0305, AG0306
    # or AG0305 (off-by-one tile): Z[i * BM :, (j + 1) * BN :] = z
    # or AG0306 (conditional store):
    #   if j < N // BN:
    #       Z[i * BM :, j * BN :] = z


@ag.kernel
def swiglu(
    G: bf16["M N"], U: bf16["M N"], Y: bf16["M N"], *, BM: int = 4, BN: int = 128
):
    """silu(gate) * up."""
    M, N = Y.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    gate = ag.load(G[i * BM :, j * BN :], (BM, BN)).to(f32)
    # or AG0303 (wrong rows): gate = ag.load(G[M - BM :, j * BN :], (BM, BN)).to(f32)
    up = ag.load(U[i * BM :, j * BN :], (BM, BN)).to(f32)
    # or AG0303 (wrong rows): up = ag.load(U[0:, j * BN :], (BM, BN)).to(f32)
    # or AG0303 (off-by-one tile):
    #   up = ag.load(U[i * BM :, (j + 1) * BN :], (BM, BN)).to(f32)
    y = ag.silu(gate) * up  # shows AG0303
    Y[i * BM :, j * BN :] = y.to(bf16)  # shows AG0305
    # or AG0305 (swapped block indices): Y[j * BM :, i * BN :] = y.to(bf16)


@ag.kernel
def rope(
    X: f16["T H D"],
    Cos: f32["T F"],
    Sin: f32["T F"],
    Y: f16["T H D"],
    *,
    D: int = 64,
    BH: int = 4,
):
    F = D // 2
    T, H, _ = X.shape
    ag.require(ag.dim("F") == F, "an angle for each pair of a head")
    t, h = ag.block(T, ag.cdiv(H, BH))
    low = ag.load(X[t, h * BH :, 0:F], (BH, F)).to(f32).rename("H F")
    # or AG0303 (wrong half):
    #   low = ag.load(X[t, h * BH :, 1 : F + 1], (BH, F)).to(f32).rename("H F")
    high = ag.load(X[t, h * BH :, F : 2 * F], (BH, F)).to(f32).rename("H F")
    # or AG0303 (wrong head):
    #   high = ag.load(X[t, (h + 1) * BH :, F : 2 * F], (BH, F)).to(f32).rename("H F")
    cos = ag.load(Cos[t, 0:F])
    # or AG0303 (rotary position): cos = ag.load(Cos[t + 1, 0:F])
    # or AG0303 (rotary position): cos = ag.load(Cos[h, 0:F])
    sin = ag.load(Sin[t, 0:F])
    # or AG0303 (rotary position): sin = ag.load(Sin[0, 0:F])
    # or AG0303 (rotary angle): sin = ag.load(Sin[t, 1 : F + 1])
    first = low * cos - high * sin  # shows AG0303
    second = high * cos + low * sin
    Y[t, h * BH :, 0:F] = first.rename("H D").to(f16)  # shows AG0305, AG0306, AG0315
    # or AG0306 (wrong half): Y[t, h * BH :, F : 2 * F] = first.rename("H D").to(f16)
    Y[t, h * BH :, F : 2 * F] = second.rename("H D").to(f16)
    # or AG0305 (wrong head):
    #   Y[t, (h + 1) * BH :, F : 2 * F] = second.rename("H D").to(f16)


@ag.kernel
def transpose(X: f32["M N"], Y: f32["N M"], *, T: int = 32):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    s = ag.shared(f32, (T, T), dims="M N")
    s.store(ag.load(X[i * T :, j * T :], (T, T)))
    # or AG0305 (off-by-one tile): s.store(ag.load(X[(i + 1) * T :, j * T :], (T, T)))
    x = s.T.load()
    Y[j * T :, i * T :] = x  # shows AG0305
    # or AG0305 (swapped block indices): Y[i * T :, j * T :] = x
    # or AG0305 (transposed operand): Y[j * T :, i * T :] = s.load().rename("N M")
    # or AG0305 (wrong rows): Y[j * T + 1 :, i * T :] = x


@ag.kernel
def permute(X: bf16["B S H D"], Y: bf16["B H S D"], *, D: int = 64, BS: int = 16):
    """Heads outside of positions."""
    B, S, H, _ = X.shape
    b, h, i = ag.block(B, H, ag.cdiv(S, BS))
    # or AG0306 (swapped block indices): h, b, i = ag.block(B, H, ag.cdiv(S, BS))
    x = ag.load(X[b, i * BS :, h, :], (BS, D))
    # or AG0305 (wrong head): x = ag.load(X[b, i * BS :, b, :], (BS, D))
    # or AG0305 (wrong batch): x = ag.load(X[h, i * BS :, h, :], (BS, D))
    Y[b, h, i * BS :, :] = x  # shows AG0305, AG0306
    # or AG0305 (off-by-one element): Y[b, h, i * BS + 1 :, :] = x


@ag.kernel
def scan(X: f32["M N"], Y: f32["M N"], *, BN: int = 256):
    """Prefix sums along rows that fit."""
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    m = ag.block(M)
    x = ag.load(X[m, 0:], (BN,))
    y = ag.cumsum(x, "N")
    Y[m, 0:] = y
    # or AG0305 (off-by-one element): Y[m, 1:] = y
    # or AG0305 (wrong rows): Y[0, 0:] = y


@ag.kernel
def first_of_table(T: i32["N"], Y: i32["N"], *, BN: int = 64):
    """Reads a neighbour through a scalar."""
    N = T.shape[0]
    j = ag.block(N)
    x = T[j]
    # or AG0312 (table index): x = T[j + 1]
    # or AG0312 (table index): x = T[j - 1]
    Y[j : j + 1] = ag.full((1,), x, i32, dims="N")


@ag.kernel
def histogram(X: f32["M N"], Y: f32["N"], *, BM: int = 8, BN: int = 64):
    """Column sums, added by every block of rows."""
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    # or AG0308 (grid too small): i, j = ag.block(M // BM, ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN))
    # or AG0309 (overlapping parts): x = ag.load(X[i * BM // 2 :, j * BN :], (BM, BN))
    # or AG0310 (padding in a sum):
    #   x = ag.load(X[i * BM :, j * BN :], (BM, BN), fill=1.0)
    part = ag.sum(x, "M")  # shows AG0310
    ag.atomic_add(Y[j * BN :], part)  # shows AG0305, AG0308, AG0309
    # or AG0308 (partial sum stored): Y[j * BN :] = part
    # or AG0305 (off-by-one tile): ag.atomic_add(Y[(j + 1) * BN :], part)
