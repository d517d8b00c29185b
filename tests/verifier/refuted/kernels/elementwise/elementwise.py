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
def rope_pairs(
    X: f16["T H D"],
    Cos: f32["T F"],
    Sin: f32["T F"],
    Y: f16["T H D"],
    *,
    D: int = 64,
    BH: int = 4,
):
    """Neighbours are a pair in X; in Y the halves of a head are."""
    F = D // 2
    T, H, _ = X.shape
    ag.require(ag.dim("F") == F, "an angle for each pair of a head")
    t, h = ag.block(T, ag.cdiv(H, BH))
    x = ag.load(X[t, h * BH :, 0:D], (BH, D)).to(f32)
    even = x[:, 0::2].rename("H F")
    # or AG0303 (off-by-one element): even = x[:, 1 : F + 1].rename("H F")
    # or AG0303 (off-by-one pair):
    #   even = ag.load(X[t, h * BH :, 2 : D + 2], (BH, D)).to(f32)[:, 0::2]
    #   even = even.rename("H F")
    odd = x[:, 1::2].rename("H F")
    # or AG0303 (wrong head):
    #   odd = ag.load(X[t, (h + 1) * BH :, 0:D], (BH, D)).to(f32)[:, 1::2]
    #   odd = odd.rename("H F")
    cos = ag.load(Cos[t, 0:F])
    # or AG0303 (rotary angle): cos = ag.load(Cos[t, 1 : F + 1])
    sin = ag.load(Sin[t, 0:F])
    first = even * cos - odd * sin  # shows AG0303
    second = odd * cos + even * sin  # shows AG0303
    Y[t, h * BH :, 0:F] = first.rename("H D").to(f16)  # shows AG0305, AG0306
    # or AG0305 (off-by-one element):
    #   Y[t, h * BH :, 1 : F + 1] = first.rename("H D").to(f16)
    # or AG0305 (not renamed): Y[t, h * BH :, 0:F] = x[:, 0::2].to(f16)
    Y[t, h * BH :, F : 2 * F] = second.rename("H D").to(f16)


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
    # or AG0308 (does not begin with the first): x = ag.load(X[m, 8:], (BN,))
    y = ag.cumsum(x, "N")  # shows AG0308
    Y[m, 0:] = y  # shows AG0308
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


@ag.kernel
def scan_of_tiles(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    """Each tile begins anew."""
    M, N = X.shape
    m = ag.block(M)
    for n in ag.range(0, N, BN):
        x = ag.load(X[m, n:], (BN,))
        Y[m, n:] = ag.cumsum(x, "N")  # refuted AG0308 (prefix of a tile)


@ag.kernel
def fused_swiglu(X: bf16["M W"], Y: bf16["M N"], *, BM: int = 4, BN: int = 128):
    """silu of the first half of a row times the second half."""
    M, N = Y.shape
    ag.require(ag.dim("W") == 2 * N, "two halves")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    first = X.view("M N", shape=(M, N), at=lambda m, n: (m, n))
    second = X.view("M N", shape=(M, N), at=lambda m, n: (m, N + n))
    gate = ag.load(first[i * BM :, j * BN :], (BM, BN)).to(f32)
    # or AG0303 (off-by-one element):
    #   gate = ag.load(first[i * BM :, j * BN + 1 :], (BM, BN)).to(f32)
    up = ag.load(second[i * BM :, j * BN :], (BM, BN)).to(f32)
    # or AG0303 (half of another row):
    #   up = ag.load(second[i * BM + 1 :, j * BN :], (BM, BN)).to(f32)
    # or AG0303 (tile of another step):
    #   up = ag.load(second[i * BM :, (j + 1) * BN :], (BM, BN)).to(f32)
    Y[i * BM :, j * BN :] = (ag.silu(gate) * up).to(bf16)  # shows AG0303, AG0310


@ag.kernel
def row_scale(X: f32["M N"], S: f32["M"], T: f32["B"], Y: f32["M N"], *, BN: int = 64):
    """A scale for each row and one for all, as scalars."""
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    y = x * S[m] * T[0]  # shows AG0303
    # or AG0303 (scale of the first row): y = x * S[0] * T[0]
    # or AG0303 (scale of another row): y = x * S[M - 1 - m] * T[0]
    # or AG0303 (scale of another row): y = x + ag.full((BN,), S[m // 2], f32)
    Y[m, j * BN :] = y  # shows AG0305
    # or AG0305 (scale as a row of its own):
    #   Y[m, j * BN :] = ag.full((BN,), S[m // 2], f32)


@ag.kernel
def ahead(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    """The next tile is loaded while this one is stored."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, 0:], (4, BN))
    for n in ag.range(0, N, BN):
        Y[i * 4 :, n:] = x  # shows AG0305
        x = ag.load(X[i * 4 :, n + BN :], (4, BN))
        # or AG0305 (one tile late): x = ag.load(X[i * 4 :, n:], (4, BN))


@ag.kernel
def late(X: f32["M N"], S: f32["N"], Y: f32["M N"], *, BN: int = 64):
    """Nothing is there in the first iteration, in later ones the tile before."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    s = ag.zeros((BN,), f32, dims="N")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN))
        Y[i * 4 :, n:] = x * s  # refuted AG0303 (tile of the iteration before)
        s = ag.load(S[n:], (BN,))


@ag.kernel
def assumed(X: f32["M N"], Y: f32["M N"], *, BM: int = 4, BN: int = 64):
    """What is assumed of sizes holds for the grid and the outputs as a whole."""
    M, N = X.shape
    ag.assume(N <= 8 * BN)
    # or AG0306 (forgotten): ag.assume(N <= 9 * BN)
    i = ag.block(ag.cdiv(M, BM))
    for j in ag.static_range(8):
        x = ag.load(X[i * BM :, j * BN :], (BM, BN))
        Y[i * BM :, j * BN :] = x  # shows AG0306


@ag.kernel
def masked(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    """A mask that says what the end of the tensor says anyway."""
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    inside = j * BN + ag.index(x, "N") < N
    # or AG0306 (mask off by one): inside = j * BN + ag.index(x, "N") < N - 1
    # or AG0306 (mask of the wrong tile): inside = (j + 1) * BN + ag.index(x, "N") < N
    # or AG0306 (every other element): inside = ag.index(x, "N") % 2 == 0
    # or AG0306 (mask by the wrong length): inside = j * BN + ag.index(x, "N") < M
    ag.store(Y[m, j * BN :], x, mask=inside)  # shows AG0306
