"""Bugs in kernels of the tutorial and the examples."""

from __future__ import annotations

from verifier.tags.seed import Seed

SEEDS = (
    Seed(
        "B wrong k",
        "docs/tutorial/step1_naive.py",
        (
            (
                "b = ag.load(B[bn * BN :, k:], (BN, BK))",
                "b = ag.load(B[bn * BN :, k + 1:], (BN, BK))",
            ),
        ),
        "AG0301",
        "acc = ag.dot(a, b.T, acc)",
    ),
    Seed(
        "B k-BK",
        "docs/tutorial/step4_roles.py",
        (
            (
                "slot.b.load(B[bn * BN :, k:])",
                "slot.b.load(B[bn * BN :, k - BK:])",
            ),
        ),
        "AG0301",
        "acc = ag.dot(slot.a, slot.b.T, acc)",
    ),
    Seed(
        "off by one tile",
        "docs/tutorial/step4_roles.py",
        (
            (
                "C[bm * BM :, bn * BN :] = acc",
                "C[(bm + 1) * BM :, bn * BN :] = acc",
            ),
        ),
        "AG0305",
        "C[(bm + 1) * BM :, bn * BN :] = acc.to(bf16)",
    ),
    Seed(
        "loop from BK",
        "docs/tutorial/step1_naive.py",
        (
            (
                "ag.range(0, K, BK)",
                "ag.range(BK, K, BK)",
            ),
        ),
        "AG0308",
        "C[bm * BM :, bn * BN :] = acc.to(bf16)",
    ),
    Seed(
        "loop stops early",
        "docs/tutorial/step1_naive.py",
        (
            (
                "ag.range(0, K, BK)",
                "ag.range(0, K - BK, BK)",
            ),
        ),
        "AG0308",
        "C[bm * BM :, bn * BN :] = acc.to(bf16)",
    ),
    Seed(
        "swapped bm bn",
        "docs/tutorial/step1_naive.py",
        (
            (
                "C[bm * BM :, bn * BN :]",
                "C[bn * BM :, bm * BN :]",
            ),
        ),
        "AG0305",
        "C[bn * BM :, bm * BN :] = acc.to(bf16)",
    ),
    Seed(
        "wrong grid",
        "docs/tutorial/step1_naive.py",
        (
            (
                "ag.cdiv(N, BN))",
                "N // BN)",
            ),
        ),
        "AG0306",
        "C[bm * BM :, bn * BN :] = acc.to(bf16)",
    ),
    Seed(
        "overlap tiles",
        "docs/tutorial/step1_naive.py",
        (
            (
                "bm * BM",
                "bm * 32",
            ),
        ),
        "AG0307",
        "C[bm * 32 :, bn * BN :] = acc.to(bf16)",
    ),
    Seed(
        "prologue k",
        "docs/tutorial/step2_ring.py",
        (
            (
                "slot.b.load(B[bn * BN :, s * BK :]",
                "slot.b.load(B[bn * BN :, (s + 1) * BK :]",
            ),
        ),
        "AG0301",
        "acc = ag.dot(full.a, full.b.T, acc)",
    ),
    Seed(
        "prologue both",
        "docs/tutorial/step2_ring.py",
        (
            (
                "s * BK :",
                "(s + 1) * BK :",
            ),
        ),
        "AG0308",
        "C[bm * BM :, bn * BN :] = acc.to(bf16)",
    ),
    Seed(
        "ring k off",
        "docs/tutorial/step2_ring.py",
        (
            (
                "slot.a.load(A[bm * BM :, k + (STAGES - 1) * BK :]",
                "slot.a.load(A[bm * BM :, k + STAGES * BK :]",
            ),
        ),
        "AG0301",
        "acc = ag.dot(full.a, full.b.T, acc)",
    ),
    Seed(
        "stale slot",
        "docs/tutorial/step5_persistent.py",
        (
            (
                "acc = ag.dot(ahead.a, ahead.b.T, acc)",
                "acc = ag.dot(slot.a, ahead.b.T, acc)",
            ),
        ),
        "AG0301",
        "acc = ag.dot(slot.a, ahead.b.T, acc)",
    ),
    Seed(
        "stale both",
        "docs/tutorial/step5_persistent.py",
        (
            (
                "acc = ag.dot(ahead.a, ahead.b.T, acc)",
                "acc = ag.dot(slot.a, slot.b.T, acc)",
            ),
        ),
        "AG0309",
        "C[bm * BM :, bn * BN :] = acc.to(bf16)",
    ),
    Seed(
        "math range",
        "docs/tutorial/step5_persistent.py",
        (
            (
                "ag.range(BK, K, BK)",
                "ag.range(0, K, BK)",
            ),
        ),
        "AG0414",
        "acc = ag.dot(slot.a, slot.b.T)",
    ),
    Seed(
        "multicast A",
        "docs/tutorial/step6_cluster.py",
        (
            (
                "slot.a.load(A[bm * BM :, k:])",
                "slot.a.load(A[bm * BM :, k:], multicast=CLUSTER)",
            ),
        ),
        "AG0305",
        "ag.tma_store(C[bm * BM :, bn * BN + j * BC :],",
    ),
    Seed(
        "slice wrong",
        "docs/tutorial/step6_cluster.py",
        (
            (
                "acc[:, j * BC : (j + 1) * BC]",
                "acc[:, (BN // BC - 1 - j) * BC : (BN // BC - j) * BC]",
            ),
        ),
        "AG0305",
        "ag.tma_store(C[bm * BM :, bn * BN + j * BC :],",
    ),
    Seed(
        "store wrong column",
        "docs/tutorial/step6_cluster.py",
        (
            (
                "bn * BN + j * BC :]",
                "bn * BN + j * 32 :]",
            ),
        ),
        "AG0305",
        "ag.tma_store(C[bm * BM :, bn * BN + j * 32 :],",
    ),
    Seed(
        "rope sin",
        "examples/elementwise.py",
        (
            (
                "sin = ag.load(Sin[t, 0:F])",
                "sin = ag.load(Sin[t + 1, 0:F])",
            ),
        ),
        "AG0303",
        "first = low * cos - high * sin",
        kernel="rope",
    ),
    Seed(
        "rope half",
        "examples/elementwise.py",
        (
            (
                "cos = ag.load(Cos[t, 0:F])",
                "cos = ag.load(Cos[t, 1:F + 1])",
            ),
        ),
        "AG0303",
        "first = low * cos - high * sin",
        kernel="rope",
    ),
    Seed(
        "ln mask",
        "examples/layernorm.py",
        (
            (
                'ag.where(ag.index(x, "N") < N, x - mean, 0.0)',
                "x - mean",
            ),
        ),
        "AG0310",
        'scale = ag.rsqrt(ag.sum(centred * centred, "N"',
    ),
    Seed(
        "ln off",
        "examples/layernorm.py",
        (
            (
                'ag.index(x, "N") < N',
                'ag.index(x, "N") <= N',
            ),
        ),
        "AG0310",
        'scale = ag.rsqrt(ag.sum(centred * centred, "N"',
    ),
    Seed(
        "ln bias",
        "examples/layernorm.py",
        (
            (
                "b = ag.load(B[0:], (BN,))",
                "b = ag.load(B[8:], (BN,))",
            ),
        ),
        "AG0305",
        "Y[m, 0:] = (centred * scale * w + b).to(Y.dtyp",
    ),
    Seed(
        "turns rows",
        "examples/turns.py",
        (
            (
                "C[i * 2 * BM + w * BM :, n:]",
                "C[i * 2 * BM + (1 - w) * BM :, n:]",
            ),
        ),
        "AG0305",
        "C[i * 2 * BM + (1 - w) * BM :, n:] = ag.gelu(a",
    ),
    Seed(
        "turns same",
        "examples/turns.py",
        (
            (
                "mine.a[w * BM : (w + 1) * BM, :]",
                "mine.a[0 : BM, :]",
            ),
        ),
        "AG0305",
        "C[i * 2 * BM + w * BM :, n:] = ag.gelu(acc).to",
    ),
    Seed(
        "turns n",
        "examples/turns.py",
        (
            (
                "slot.b.load(B[n:, :])",
                "slot.b.load(B[n + BN:, :])",
            ),
        ),
        "AG0305",
        "C[i * 2 * BM + w * BM :, n:] = ag.gelu(acc).to",
    ),
    Seed(
        "conv k",
        "examples/convolution.py",
        (
            (
                "f = ag.load(Filter[j * BN :, k:], (BN, BK))",
                "f = ag.load(Filter[j * BN :, k + 8:], (BN, BK))",
            ),
        ),
        "AG0301",
        "acc = ag.dot(x, f.T, acc)",
    ),
    Seed(
        "conv m",
        "examples/convolution.py",
        (
            (
                "Y[i * BM :, j * BN :]",
                "Y[i * BM + 1:, j * BN :]",
            ),
        ),
        "AG0305",
        "Y[i * BM + 1:, j * BN :] = acc.to(bf16)",
    ),
    Seed(
        "emb",
        "examples/embedding.py",
        (
            (
                "Y[i * BP :, j * BD :]",
                "Y[i * BP + 1 :, j * BD :]",
            ),
        ),
        "AG0305",
        "Y[i * BP + 1 :, j * BD :] = ag.load(Table[rows",
    ),
)
