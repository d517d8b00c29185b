"""Mistakes of order in kernels of several kinds; more are in `verifier/order`."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def staged(X: f32["M N"], Y: f32["M N"], *, BM: int = 32, BN: int = 64):
    """Tiles through shared memory; each thread stores what another one wrote."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    full, empty = ag.barriers(2), ag.barriers(2, arrivals=4)
    # or AG0409 (wrong arrival count):
    #   full, empty = ag.barriers(2), ag.barriers(2, arrivals=3)
    # or AG0403 (wrong arrival count):
    #   full, empty = ag.barriers(2), ag.barriers(2, arrivals=5)
    s = ag.shared(f32, (BM, BN), stages=2)
    with ag.role("load", warps=1):
        n = 0
        for j in ag.range(0, N, BN):
            empty[n % 2].wait(n // 2 - 1)  # shows AG0403
            # or AG0401 (deleted wait): pass
            # or AG0404 (parity off by one): empty[n % 2].wait(n // 2 - 2)
            # or AG0403 (parity off by one): empty[n % 2].wait(n // 2)
            # or AG0403 (swapped stage index): empty[(n + 1) % 2].wait(n // 2)
            full[n % 2].expect(BM * BN * 4)  # shows AG0405
            # or AG0405 (wrong byte count): full[n % 2].expect(BM * BN * 2)
            # or AG0405 (wrong byte count): full[n % 2].expect(BM * BN * 8)
            # or AG0403 (deleted expect): pass
            k = n % 2
            s[k].copy(X[i * BM :, j:], full[k])  # shows AG0401, AG0402, AG0405
            # or AG0401 (swapped stage index):
            #   s[(n + 1) % 2].copy(X[i * BM :, j:], full[n % 2])
            # or AG0405 (wrong barrier):
            #   s[n % 2].copy(X[i * BM :, j:], full[(n + 1) % 2])
            n += 1
    with ag.role("store", warpgroups=1):
        n = 0
        for j in ag.range(0, N, BN):
            full[n % 2].wait(n // 2)  # shows AG0403
            # or AG0401 (deleted wait): pass
            # or AG0404 (parity off by one): full[n % 2].wait(n // 2 - 1)
            # or AG0403 (parity off by one): full[n % 2].wait(n // 2 + 1)
            x = s[n % 2].load()  # shows AG0401, AG0402
            # or AG0401 (swapped stage index): x = s[(n + 1) % 2].load()
            Y[i * BM :, j:] = x.rename("M N")
            empty[n % 2].arrive(per="warp")  # shows AG0409
            # or AG0403 (deleted arrive): pass
            # or AG0403 (arrival by one thread): empty[n % 2].arrive()
            # or AG0409 (too many arrivals): empty[n % 2].arrive(per="thread")
            n += 1
            # or AG0403 (counter stands): pass


@ag.kernel
def epilogue(A: bf16["M K"], B: bf16["N K"], C: bf16["M N"], *, T: int = 64):
    """A result goes out by TMA; the slot is handed back after its product."""
    M, K = A.shape
    N = B.shape[0]
    bm, bn = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    a = ag.shared(bf16, (T, T), stages=2)
    b = ag.shared(bf16, (T, T), stages=2)
    out = ag.shared(bf16, (T, T))
    full, empty = ag.barriers(2), ag.barriers(2)
    with ag.role("load", warps=1):
        n = 0
        for k in ag.range(0, K, T):
            empty[n % 2].wait(n // 2 - 1)
            full[n % 2].expect(2 * T * T * 2)
            # or AG0405 (wrong byte count): full[n % 2].expect(T * T * 2)
            a[n % 2].copy(A[bm * T :, k:], full[n % 2])  # shows AG0406, AG0401, AG0405
            b[n % 2].copy(B[bn * T :, k:], full[n % 2])  # shows AG0406, AG0401, AG0405
            n += 1
    with ag.role("math", warpgroups=1):
        acc = ag.zeros((T, T), f32)
        n = 0
        for _ in ag.range(0, K, T):
            full[n % 2].wait(n // 2)  # shows AG0403
            # or AG0401 (deleted wait): pass
            acc = ag.dot(a[n % 2], b[n % 2].T, acc)  # shows AG0401, AG0406
            # or AG0401 (swapped stage index):
            #   acc = ag.dot(a[n % 2], b[(n + 1) % 2].T, acc)
            ag.wgmma_wait(0)
            # or AG0406 (empty-barrier arrival while wgmma still reads):
            #   ag.wgmma_wait(1)
            # or AG0406 (empty-barrier arrival while wgmma still reads): pass
            empty[n % 2].arrive()  # shows AG0406
            # or AG0403 (deleted arrive): pass
            n += 1
        out.store(acc.to(bf16))
        ag.tma_store(C[bm * T :, bn * T :], out)


@ag.kernel
def own_groups(X: bf16["M N"], Y: bf16["M N"], *, T: int = 32):
    """`cp.async` by hand, one tile ahead, no roles."""
    M, N = X.shape
    ag.launch(warps=2)
    i = ag.block(ag.cdiv(M, T))
    s = ag.shared(bf16, (T, T), stages=2, dims="M N")
    s[0].copy(X[i * T :, 0:], via="cp_async")
    ag.cp_async_commit()
    # or AG0401 (deleted commit): pass
    n = 0
    for j in ag.range(0, N, T, unroll=1):
        s[(n + 1) % 2].copy(X[i * T :, j + T :], via="cp_async")  # shows AG0401, AG0402
        # or AG0401 (too few stages for the groups in flight):
        #   s[n % 2].copy(X[i * T :, j + T :], via="cp_async")
        ag.cp_async_commit()
        # or AG0401 (deleted commit): pass
        ag.cp_async_wait(1)
        # or AG0401 (too many groups in flight): ag.cp_async_wait(2)
        # or AG0401 (deleted wait): pass
        ag.sync()
        Y[i * T :, j:] = s[n % 2].load()  # shows AG0401, AG0402
        ag.sync()
        n += 1
    ag.cp_async_wait(0)
