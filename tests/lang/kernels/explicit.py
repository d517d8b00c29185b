"""The explicit forms: barriers, staged buffers, cp.async groups, TMA stores, maps."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def pipelined(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, BM=64, BN=64, BK=32):
    M, K = A.shape
    N, _ = B.shape
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN))
    a = ag.shared(bf16, (BM, BK), stages=2)
    b = ag.shared(bf16, (BN, BK), stages=2, swizzle=64)
    a[0].copy(A[bm * BM :, 0:], via="cp_async")
    b[0].copy(B[bn * BN :, 0:], via="cp_async")
    ag.cp_async_commit()
    acc = ag.zeros((BM, BN), f32)
    stage = 0
    for k in ag.range(0, K, BK, unroll=1):
        ag.cp_async_wait(0)
        ag.sync()
        nxt = 1 - stage
        a[nxt].copy(A[bm * BM :, k + BK :], via="cp_async")
        b[nxt].copy(B[bn * BN :, k + BK :], via="cp_async")
        ag.cp_async_commit()
        acc = ag.dot(a[stage].load(), b[stage].T, acc)
        stage = nxt
    C[bm * BM :, bn * BN :] = acc


@ag.kernel
def explicit(A: bf16["M K"], C: bf16["M K"], *, BM=128, BK=64, STAGES=3):
    M, K = A.shape
    bm = ag.block(ag.cdiv(M, BM))
    buffer = ag.shared(bf16, (BM, BK), stages=STAGES)
    full, empty = ag.barriers(STAGES), ag.barriers(STAGES, arrivals=4)
    out = ag.shared(bf16, (BM, BK), dims="M K")
    with ag.role("load", warps=1):
        n = 0
        for k in ag.range(0, K, BK):
            empty[n % STAGES].wait(n // STAGES - 1)
            full[n % STAGES].expect(BM * BK * 2)
            buffer[n % STAGES].copy(A[bm * BM :, k:], full[n % STAGES], via="tma")
            n += 1
    with ag.role("copy", warpgroups=1):
        n = 0
        for k in ag.range(0, K, BK):
            full[n % STAGES].wait(n // STAGES)
            x = buffer[n % STAGES].load()
            ag.fence_async()
            empty[n % STAGES].arrive(per="warp")
            n += 1
            ag.tma_store_wait(0)
            ag.sync("out", threads=128)
            out.store(x)
            ag.fence_async()
            ag.sync("out", threads=128)
            ag.tma_store(C[bm * BM :, k:], out)


@ag.kernel
def conv(
    X: bf16["n h w c"],
    W: bf16["f RS c"],
    Y: f32["n oh ow f"],
    *,
    R: int = 3,
    BM: int = 64,
):
    n, H, Wd, c = X.shape
    OH, OW = Y.shape[1], Y.shape[2]
    pad = R // 2
    bm = ag.block(ag.cdiv(n * OH * OW, BM))
    rows = X.view(
        "M c",
        shape=(n * OH * OW, c),
        at=lambda m, ch: (
            m // (OH * OW),
            m // OW % OH + 1 - pad,
            m % OW + 1 - pad,
            ch,
        ),
    )
    acc = ag.zeros((BM,), f32)
    for k in ag.range(0, c, 32):
        x = ag.load(rows[bm * BM :, k:], (BM, 32)).to(f32)
        acc += ag.sum(x, "c")
    if bm == 0:
        acc = acc * 2.0
    Y[0, 0, 0 : 0 + BM, 0] = acc.rename("ow")
