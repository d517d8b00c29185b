"""One bug each, written into a kernel of the library, the tutorial or the examples.

Each seed replaces a piece of source, and names the code that is expected and how the
line begins at which it is expected. Where several obligations fail, one of them must be
that one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from argus.verify.verdict import Verdict
from verifier.tags.check_tags import ROOT, failing, placed, told


@dataclass(frozen=True)
class Seed:
    """``text``: what is replaced by what. ``line``: where the bug shows."""

    name: str
    file: str
    text: tuple[tuple[str, str], ...]
    rule: str
    line: str
    kernel: str | None = None
    statics: dict[str, bool] = field(default_factory=dict)


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
        "softmax no fill",
        "src/argus/kernels/norms.py",
        (
            (
                "fill=-ag.inf",
                "fill=0.0",
            ),
        ),
        "AG0310",
        'e = ag.exp2((x - ag.max(x, "N")) * 1.442695040',
        kernel="softmax",
    ),
    Seed(
        "softmax row",
        "src/argus/kernels/norms.py",
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
        "src/argus/kernels/norms.py",
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
        "src/argus/kernels/norms.py",
        (
            (
                'ag.require(N <= BN, "a row is held in registers")',
                "",
            ),
        ),
        "AG0308",
        "Y[b * ROWS :, 0:] = (x * scale * w).to(Y.dtype",
        kernel="rmsnorm",
    ),
    Seed(
        "rms fill",
        "src/argus/kernels/norms.py",
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
        "src/argus/kernels/attention.py",
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
        "src/argus/kernels/attention.py",
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
        "src/argus/kernels/attention.py",
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
        "src/argus/kernels/attention.py",
        (
            (
                "b, h // (H // G), steps",
                "b, h, steps",
            ),
        ),
        "AG0310",
        "O[b, h, q0:, :] = o",
    ),
    Seed(
        "attn V tile",
        "src/argus/kernels/attention.py",
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
        "src/argus/kernels/attention.py",
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
        "src/argus/kernels/attention.py",
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
        "src/argus/kernels/attention.py",
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
        "src/argus/kernels/attention.py",
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
        "src/argus/kernels/attention.py",
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
        "src/argus/kernels/attention.py",
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
        "src/argus/kernels/gemm.py",
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
        "src/argus/kernels/gemm.py",
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
        "src/argus/kernels/grouped.py",
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
        "src/argus/kernels/grouped.py",
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
        "src/argus/kernels/grouped.py",
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
        "src/argus/kernels/grouped.py",
        (
            (
                "slot.b.load(W[e, bn * BN :, k:])",
                "slot.b.load(W[e, bn * BN :, 0:])",
            ),
        ),
        "AG0301",
        "acc = ag.dot(ahead.a, ahead.b.T, acc)",
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


@pytest.mark.parametrize("seed", SEEDS, ids=[s.name for s in SEEDS])
def test_seed(seed: Seed) -> None:
    source = (ROOT / seed.file).read_text()
    for old, new in seed.text:
        assert old in source, f"{seed.file} no longer contains {old!r}"
        source = source.replace(old, new)
    bad = failing(placed(source, seed.kernel, "sm_90a", **seed.statics))
    refuted = [o for o in bad if o.verdict is Verdict.REFUTED]
    assert refuted, told(bad)
    lines = source.splitlines()
    fitting = [
        o
        for o in refuted
        if o.rule == seed.rule and lines[o.span.line - 1].strip().startswith(seed.line)
    ]
    assert fitting, told(bad)
    for o in refuted:
        assert o.counterexample is not None
        assert o.counterexample.sizes, "a counterexample names sizes"
