"""Order that is looked at once holds for every program that it is believed of."""

from dataclasses import replace

from argus.ir import ops as o
from argus.ir.dtypes import DType, bf16, f32
from argus.ir.program import Program
from argus.ir.walk import map_blocks
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.order import SharedOrder, obligations
from argus.verify.verdict import Obligation, Verdict

TEXT = """import argus as ag
from argus import bf16, f32

@ag.kernel
def k(A: bf16["M K"], B: bf16["N K"], C: ag.float["M N"], Bias: f32["N"] | None = None):
    M, K = A.shape
    N, _ = B.shape
    bm, bn = ag.block_tile(ag.cdiv(M, 64), ag.cdiv(N, 64))
    ring = ag.ring(2, a=bf16.tile(64, 64), b=bf16.tile(64, 64))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, 64):
            with ring.fill() as slot:
                slot.a.load(A[bm * 64 :, k:])
                slot.b.load(B[bn * 64 :, k:])
    with ag.role("math", warpgroups=1):
        acc = ag.zeros((64, 64), f32)
        for k in ag.range(0, K, 64):
            with ring.drain() as slot:
                acc = ag.dot(slot.a, slot.b.T, acc)
        if Bias is not None:
            acc = acc + ag.load(Bias[bn * 64 :], (64,))
        C[bm * 64 :, bn * 64 :] = acc.to(C.dtype)
"""
KERNEL = load_kernels("k.py", TEXT).kernels["k"]


def program(out: DType = bf16, *, bias: bool = False, n: int = 16) -> Program:
    types = {"A": bf16, "B": bf16, "C": out, **({"Bias": f32} if bias else {})}
    facts = {"N": n, "C_s0": n}
    return placed_program(Request(KERNEL, types, {}, "sm_90a", facts))


def without(one: Program, kind: type[o.AnyOp], which: int = 0) -> Program:
    """The program without an operation of a kind."""
    left = [which]

    def change(block: o.Block) -> o.Block:
        kept: list[o.AnyOp] = []
        for op in block.ops:
            left[0] -= isinstance(op, kind)
            if not isinstance(op, kind) or left[0] != -1:
                kept.append(map_blocks(op, change))
        return o.Block(kept)

    return replace(one, body=change(one.body))


class Walks:
    """Counts how often order is looked at, of which programs."""

    def __init__(self, monkeypatch) -> None:
        self.of: list[Program] = []
        import argus.verify.order.rules as rules

        real = rules.study

        def study(one: Program):
            self.of.append(one)
            return real(one)

        monkeypatch.setattr(rules, "study", study)


def test_specialisations_with_one_order_are_looked_at_once(monkeypatch) -> None:
    variants = [program(bias=bias, n=n) for n in (1, 16, 4) for bias in (False, True)]
    alone = [list(obligations(one)) for one in variants]
    assert all(o.verdict is Verdict.PROVED for found in alone for o in found)
    walks, shared = Walks(monkeypatch), SharedOrder()
    assert [list(obligations(one, shared)) for one in variants] == alone
    # What is added to the accumulator touches registers of the product.
    assert len(walks.of) == 2
    assert all([p.name for p in least.params] == ["A", "B"] for least in walks.of)


def test_what_is_proved_where_more_is_known_is_no_proof_for_less(monkeypatch) -> None:
    facts = {"K": 16}, {"K": 1}
    types = {"A": bf16, "B": bf16, "C": bf16}
    more, less = (
        placed_program(Request(KERNEL, types, {}, "sm_90a", known)) for known in facts
    )
    walks, shared = Walks(monkeypatch), SharedOrder()
    for one, count in ((more, 1), (less, 2), (more, 2)):
        list(obligations(one, shared))
        assert len(walks.of) == count


def wrong(found: list[Obligation]) -> list[Obligation]:
    return [one for one in found if one.verdict is not Verdict.PROVED]


def test_what_is_wrong_is_found_whatever_was_proved_before() -> None:
    shared = SharedOrder()
    assert not wrong(list(obligations(program(), shared)))
    for kind in (o.BarrierWait, o.BarrierArrive, o.WgmmaWait, o.BarrierExpect):
        bad = without(program(bias=True), kind)
        alone = wrong(list(obligations(bad)))
        assert alone, kind
        again = wrong(list(obligations(bad, shared)))
        assert [(x.rule, x.span, x.verdict) for x in again] == [
            (x.rule, x.span, x.verdict) for x in alone
        ]
        sizes = [x.counterexample.sizes for x in again if x.counterexample]
        assert all("C_s0" in known and "Bias" not in known for known in sizes)
