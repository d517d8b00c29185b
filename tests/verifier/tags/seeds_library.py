"""Bugs in kernels of the library."""

from __future__ import annotations

from verifier.tags.seed import Seed

SEEDS = (
    Seed(
        "softmax no fill",
        "src/argus/kernels/norms/kernel.py",
        (
            (
                "fill=-ag.inf",
                "fill=0.0",
            ),
        ),
        "AG0310",
        'e = ag.exp2((x - ag.max(x, "N")) * LOG2E',
        kernel="softmax",
    ),
    Seed(
        "softmax row",
        "src/argus/kernels/norms/kernel.py",
        (
            (
                "Y[b * ROWS :, 0:] = (e",
                "Y[b * ROWS + 1 :, 0:] = (e",
            ),
        ),
        "AG0305",
        "Y[b * ROWS + 1 :, 0:] = (e * ag.rcp(ag.sum(e, ",
        kernel="softmax",
    ),
    Seed(
        "rms weight col",
        "src/argus/kernels/norms/kernel.py",
        (
            (
                "ag.load(W[0:], (BN,))",
                "ag.load(W[1:], (BN,))",
            ),
        ),
        "AG0305",
        "Y[b * ROWS :, 0:] = (x * scale * w).to(Y.dtype",
        kernel="rmsnorm",
    ),
    Seed(
        "rms n",
        "src/argus/kernels/norms/kernel.py",
        (
            (
                'X.shape\n    ag.require(N <= BN, "a row is held in registers")',
                "X.shape",
            ),
        ),
        "AG0308",
        "Y[b * ROWS :, 0:] = (x * scale * w).to(Y.dtype",
        kernel="rmsnorm",
    ),
    Seed(
        "rms fill",
        "src/argus/kernels/norms/kernel.py",
        (
            (
                "x = ag.load(X[b * ROWS :, 0:], (ROWS, BN)).to(f32)",
                "x = ag.load(X[b * ROWS :, 0:], (ROWS, BN), fill=1.0).to(f32)",
            ),
        ),
        "AG0310",
        'scale = ag.rsqrt(ag.mean(x * x, "N", N) + eps)',
        kernel="rmsnorm",
    ),
    Seed(
        "attn no mask",
        "src/argus/kernels/attention/kernel.py",
        (
            (
                "ag.where(seen, s, -1e30)",
                "s",
            ),
        ),
        "AG0310",
        'm_new = ag.maximum(m, ag.max(s, "T"))',
    ),
    Seed(
        "attn mask T+1",
        "src/argus/kernels/attention/kernel.py",
        (
            (
                "seen = key < T",
                "seen = key < T + 1",
            ),
        ),
        "AG0310",
        'm_new = ag.maximum(m, ag.max(s, "T"))',
    ),
    Seed(
        "attn batch",
        "src/argus/kernels/attention/kernel.py",
        (
            (
                "slot.k.load(K[b, g, t:, :])",
                "slot.k.load(K[0, g, t:, :])",
            ),
        ),
        "AG0301",
        "s = ag.dot(query.q, slot.k.T)",
    ),
    Seed(
        "attn gqa",
        "src/argus/kernels/attention/kernel.py",
        (
            (
                "b, h // (H // G), 0, steps",
                "b, h, 0, steps",
            ),
        ),
        "AG0310",
        "O[b, h, q0:, :] = o",
    ),
    Seed(
        "attn V tile",
        "src/argus/kernels/attention/kernel.py",
        (
            (
                "slot.v.load(V[b, g, t:, :])",
                "slot.v.load(V[b, g, j * BT:, :])",
            ),
        ),
        "AG0301",
        "o = ag.dot(weights, values.v, o)",
    ),
    Seed(
        "attn V head",
        "src/argus/kernels/attention/kernel.py",
        (
            (
                "slot.v.load(V[b, g, t:, :])",
                "slot.v.load(V[b, 0, t:, :])",
            ),
        ),
        "AG0301",
        "o = ag.dot(weights, values.v, o)",
    ),
    Seed(
        "attn range",
        "src/argus/kernels/attention/kernel.py",
        (
            (
                "ag.range(1, steps)",
                "ag.range(2, steps)",
            ),
        ),
        "AG0308",
        "O[b, h, q0:, :] = o",
    ),
    Seed(
        "attn steps",
        "src/argus/kernels/attention/kernel.py",
        (
            (
                "q0, steps = i * BQ, ag.cdiv(T, BT)",
                "q0, steps = i * BQ, T // BT",
            ),
        ),
        "AG0414",
        "s = ag.dot(query.q, slot.k.T)",
    ),
    Seed(
        "attn store",
        "src/argus/kernels/attention/kernel.py",
        (
            (
                "O[b, h, q0:, :]",
                "O[b, h, q0 + 1:, :]",
            ),
        ),
        "AG0305",
        "O[b, h, q0 + 1:, :] = o",
    ),
    Seed(
        "attn store head",
        "src/argus/kernels/attention/kernel.py",
        (
            (
                "O[b, h, q0:, :]",
                "O[b, 0, q0:, :]",
            ),
        ),
        "AG0305",
        "O[b, 0, q0:, :] = o",
    ),
    Seed(
        "attn causal steps",
        "src/argus/kernels/attention/kernel.py",
        (
            (
                "steps = ag.min(steps, q0 // BT + 1)",
                "steps = ag.min(steps, q0 // BT)",
            ),
        ),
        "AG0414",
        "s = ag.dot(query.q, slot.k.T)",
        statics={"CAUSAL": True},
    ),
    Seed(
        "bias col",
        "src/argus/kernels/gemm/kernel.py",
        (
            (
                "ag.load(Bias[n:], (BN,))",
                "ag.load(Bias[m:], (BN,))",
            ),
        ),
        "AG0303",
        "acc = acc + ag.load(Bias[m:], (BN,)).to(f32)",
        kernel="gemm_sm80",
    ),
    Seed(
        "residual row",
        "src/argus/kernels/gemm/kernel.py",
        (
            (
                "ag.load(Residual[m:, n:], (BM, BN))",
                "ag.load(Residual[m + 1:, n:], (BM, BN))",
            ),
        ),
        "AG0303",
        "acc = acc + ag.load(Residual[m + 1:, n:], (BM,",
        kernel="gemm_sm80",
    ),
    Seed(
        "grouped start",
        "src/argus/kernels/grouped/kernel.py",
        (
            (
                "rows = ag.load(Out[p:end], (BM,), fill=-1)",
                "rows = ag.load(Out[p + 1:end], (BM,), fill=-1)",
            ),
        ),
        "AG0315",
        "Y[rows, bn * BN :] = ag.rename(acc.to(Y.dtype)",
    ),
    Seed(
        "grouped wrong tile",
        "src/argus/kernels/grouped/kernel.py",
        (
            (
                "rows = ag.load(Rows[p:], (BM,))",
                "rows = ag.load(Rows[t * BM:], (BM,))",
            ),
        ),
        "AG0310",
        "Y[rows, bn * BN :] = ag.rename(acc.to(Y.dtype)",
    ),
    Seed(
        "grouped no fill",
        "src/argus/kernels/grouped/kernel.py",
        (
            (
                "(BM,), fill=-1)",
                "(BM,), fill=0)",
            ),
        ),
        "AG0310",
        "Y[rows, bn * BN :] = ag.rename(acc.to(Y.dtype)",
    ),
    Seed(
        "grouped expert",
        "src/argus/kernels/grouped/kernel.py",
        (
            (
                "slot.b.load(W[e, bn * BN :, k:])",
                "slot.b.load(W[e, bn * BN :, 0:])",
            ),
        ),
        "AG0301",
        "acc = ag.dot(ahead.a, ahead.b.T, acc)",
    ),
)
