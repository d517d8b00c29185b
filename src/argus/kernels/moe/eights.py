"""The products of a layer of experts in e4m3, with a scale for each 128 elements.

Rows of tokens and of hidden values have a scale for every 128 elements, made from their
largest one (as in DeepSeek-V3, arXiv 2412.19437, section 3.3); weights have one for
each block of 128 x 128, or one for each expert. The sum of each 128 elements is scaled
and added up in f32, outside the tensor cores. Positions and tables are those of
`routing.py`.
"""

import argus as ag
from argus import e4m3, f32, i32


@ag.kernel
def moe_quantise(
    X: ag.half["T B 128"],
    Q: e4m3["T B 128"],
    S: f32["T B"],
    *,
    BT: int = 16,
    WARPS: int = 4,
):
    """X = Q * S: the largest of 128 elements becomes the largest of e4m3."""
    T, B, _ = X.shape
    ag.launch(warps=WARPS)
    i, b = ag.block(ag.cdiv(T, BT), B)
    x = ag.load(X[i * BT :, b, 0:], (BT, 128)).to(f32)
    scale = ag.maximum(ag.max(ag.abs(x), 1), 1e-20) * (1.0 / 448.0)
    Q[i * BT :, b, 0:] = (x / scale).to(e4m3)
    S[i * BT :, b] = scale


@ag.reference
def moe_quantise_reference(X):
    """Blocks by their largest element."""
    import numpy as np

    scale = np.maximum(np.abs(X).max(2), 1e-20) * (1 / 448)
    return {"Q": X / scale[:, :, None], "S": scale}


@ag.kernel
def moe_up_eights(
    X: e4m3["R K"],
    ScaleX: f32["R KB"],
    Gate: e4m3["E N K"],
    Up: e4m3["E N K"],
    ScaleGate: f32["E NB WB"],
    ScaleUp: f32["E NB WB"],
    H: ag.half["P N"],
    Rows: i32["P"],
    Expert: i32["C"],
    *,
    BM: int = 128,
    STAGES: int = 4,
    GROUP: int = 16,
    WARPGROUPS: int = 2,
    REGISTERS: int = 224,
    BLOCKS: bool = True,
):
    """H = silu(x @ gate) * (x @ up) for each position, as `moe_up`.

    BLOCKS: weights have scales for blocks, else for experts (NB = WB = 1).
    """
    R, (E, N, K) = X.shape[0], Gate.shape
    C = Expert.shape[0]
    ag.require(K > 0, "the first step of K is taken before the loop")
    ag.require((R > 0) & (E > 0), "a row of X and an expert are there")
    ag.require(ag.dim("KB") * 128 == K, "rows are whole blocks")
    if BLOCKS:
        ag.require(ag.dim("NB") * 128 == N, "results are whole blocks")
        ag.require(ag.dim("WB") == ag.dim("KB"), "a scale for a block")
    else:
        ag.require(ag.dim("NB") == 1, "a scale for an expert")
        ag.require(ag.dim("WB") == 1, "a scale for an expert")
    ag.require(H.shape[0] == C * BM, "a tile of positions for each expert of a tile")
    gate, up = e4m3.tile(128, 128), e4m3.tile(128, 128)
    ring = ag.ring(STAGES, a=e4m3.tile(BM, 128), g=gate, u=up, s=f32.tile(BM))

    with ag.role("load", warps=4, registers=56):
        for t, bn in ag.persistent_tiles(C, ag.cdiv(N, 128), group=GROUP):
            e = Expert[t]
            if e >= 0:
                rows = ag.load(Rows[t * BM :], (BM,))
                w = ag.min(e, E - 1)
                for k in ag.range(0, K, 128):
                    with ring.fill() as slot:
                        slot.a.load(X[rows, k:])
                        slot.s.load(ScaleX[rows, k // 128], via="cp_async")
                        slot.g.load(Gate[w, bn * 128 :, k:])
                        slot.u.load(Up[w, bn * 128 :, k:])

    with ag.role("math", warpgroups=WARPGROUPS, registers=REGISTERS):
        for t, bn in ag.persistent_tiles(C, ag.cdiv(N, 128), group=GROUP):
            e = Expert[t]
            if e >= 0:
                w = ag.min(e, E - 1)
                g = ag.zeros((BM, 128), f32)
                u = ag.zeros((BM, 128), f32)
                for k in ag.range(0, ag.cdiv(K, 128)):
                    n, b = (bn, k) if BLOCKS else (0, 0)
                    one, two = ScaleGate[w, n, b], ScaleUp[w, n, b]
                    with ring.drain() as slot:
                        s = slot.s.load()
                        g = g + ag.dot(slot.a, slot.g.T) * (s * one)
                        u = u + ag.dot(slot.a, slot.u.T) * (s * two)
                h = ag.silu(g) * u
                H[t * BM :, bn * 128 :] = ag.rename(h.to(H.dtype), "P N")


@ag.reference
def moe_up_eights_reference(
    X, ScaleX, Gate, Up, ScaleGate, ScaleUp, H, Rows, Expert, BM, BLOCKS
):
    """Each position by itself."""
    import numpy as np

    R, E = X.shape[0], Gate.shape[0]
    there = (Rows >= 0) & (Rows < R)
    row = np.where(there, Rows, 0)
    x = np.where(there[:, None], X[row] * np.repeat(ScaleX[row], 128, axis=1), 0)
    e = np.repeat(Expert, BM)
    used = e >= 0
    own = np.where(used, np.minimum(e, E - 1), 0)
    if BLOCKS:
        ScaleGate = np.repeat(np.repeat(ScaleGate, 128, axis=1), 128, axis=2)
        ScaleUp = np.repeat(np.repeat(ScaleUp, 128, axis=1), 128, axis=2)
    gate = np.einsum("pk,pnk->pn", x, (Gate * ScaleGate)[own])
    up = np.einsum("pk,pnk->pn", x, (Up * ScaleUp)[own])
    return np.where(used[:, None], gate / (1 + np.exp(-gate)) * up, H)


@ag.kernel
def moe_down_eights(
    H: e4m3["P K"],
    ScaleH: f32["P KB"],
    W: e4m3["E N K"],
    ScaleW: f32["E NB WB"],
    Y: ag.half["P N"],
    Expert: i32["C"],
    *,
    BM: int = 128,
    STAGES: int = 4,
    GROUP: int = 16,
    WARPGROUPS: int = 2,
    BC: int = 64,
    REGISTERS: int = 224,
    BLOCKS: bool = True,
):
    """Y = H * ScaleH @ (W * ScaleW) for each position, as `moe_down`."""
    E, N, K = W.shape
    C = Expert.shape[0]
    ag.require(K > 0, "the first step of K is taken before the loop")
    ag.require(E > 0, "an expert is there")
    ag.require(ag.dim("KB") * 128 == K, "rows are whole blocks")
    if BLOCKS:
        ag.require(ag.dim("NB") * 128 == N, "results are whole blocks")
        ag.require(ag.dim("WB") == ag.dim("KB"), "a scale for a block")
    else:
        ag.require(N % 128 == 0, "results are whole blocks")
        ag.require(ag.dim("NB") == 1, "a scale for an expert")
        ag.require(ag.dim("WB") == 1, "a scale for an expert")
    ag.require(Y.shape[0] == C * BM, "a tile of positions for each expert of a tile")
    ring = ag.ring(STAGES, a=e4m3.tile(BM, 128), b=e4m3.tile(128, 128), s=f32.tile(BM))
    out = (ag.shared(Y.dtype, (BM, BC)), ag.shared(Y.dtype, (BM, BC)))

    with ag.role("load", warps=4, registers=56):
        for t, bn in ag.persistent_tiles(C, ag.cdiv(N, 128), group=GROUP):
            e = Expert[t]
            if e >= 0:
                for k in ag.range(0, K, 128):
                    with ring.fill() as slot:
                        slot.a.load(H[t * BM :, k:])
                        slot.s.load(ScaleH[t * BM :, k // 128], via="cp_async")
                        slot.b.load(W[ag.min(e, E - 1), bn * 128 :, k:])

    with ag.role("math", warpgroups=WARPGROUPS, registers=REGISTERS):
        for t, bn in ag.persistent_tiles(C, ag.cdiv(N, 128), group=GROUP):
            e = Expert[t]
            if e >= 0:
                acc = ag.zeros((BM, 128), f32)
                for k in ag.range(0, ag.cdiv(K, 128)):
                    n, b = (bn, k) if BLOCKS else (0, 0)
                    scale = ScaleW[ag.min(e, E - 1), n, b]
                    with ring.drain() as slot:
                        s = slot.s.load()
                        acc = acc + ag.dot(slot.a, slot.b.T) * (s * scale)
                for j in ag.static_range(128 // BC):
                    out[j % 2].store(acc[:, j * BC : (j + 1) * BC].to(Y.dtype))
                    ag.tma_store(Y[t * BM :, bn * 128 + j * BC :], out[j % 2])


@ag.reference
def moe_down_eights_reference(H, ScaleH, W, ScaleW, Y, Expert, BM, BLOCKS):
    """Each position by itself."""
    import numpy as np

    e = np.repeat(Expert, BM)
    used = e >= 0
    own = np.where(used, np.minimum(e, W.shape[0] - 1), 0)
    if BLOCKS:
        ScaleW = np.repeat(np.repeat(ScaleW, 128, axis=1), 128, axis=2)
    h = H * np.repeat(ScaleH, 128, axis=1)
    y = np.einsum("pk,pnk->pn", h, (W * ScaleW)[own])
    return np.where(used[:, None], y, Y)
