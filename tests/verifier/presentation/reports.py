"""Small placed programs, and reports made by hand."""

from pathlib import Path

from argus.evaluation.requests import default_dtypes
from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.evidence import (
    Counterexample,
    Event,
    OperandElement,
    Step,
    ThreadPlace,
)
from argus.verify.render.checked import CheckedKernel
from argus.verify.verdict import Assumption, Obligation, Report, Verdict

HEAD = "import argus as ag\nfrom argus import bf16, f32, i32\n\n\n"

GEMM = '''@ag.kernel
def gemm(A: bf16["M K"], B: bf16["N K"], C: bf16["M N"], *, BM=128, BN=128, BK=64):
    """C = A B^T."""
    M, K = A.shape
    N, _ = B.shape
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=4)
    ring = ag.ring(3, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))
    with ag.role("load", warps=1, registers=40):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:])
                slot.b.load(B[bn * BN :, k:])
    with ag.role("math", warpgroups=2, registers=232):
        acc = ag.zeros((BM, BN), f32)
        for k in ag.range(0, K, BK):
            with ring.drain() as slot:
                acc = ag.dot(slot.a, slot.b.T, acc)
        C[bm * BM :, bn * BN :] = acc.to(bf16)
'''


def request(folder: Path, body: str, target: str = "sm_90a") -> Request:
    """The one kernel of a source, written to a file of the folder."""
    path = folder / "k.py"
    path.write_text(HEAD + body)
    (kernel,) = load_kernels(path).kernels.values()
    return Request(kernel, default_dtypes(kernel, {}), {}, target)


def placed(folder: Path, body: str) -> Program:
    return placed_program(request(folder, body))


def first(program: Program, kind: type) -> o.AnyOp:
    return next(op for op in walk(program.body) if isinstance(op, kind))


def report(program: Program) -> Report:
    """Of a GEMM: one of each verdict, each kind of evidence."""
    dot, store = first(program, o.Dot), first(program, o.StoreGlobal)
    copy_a, copy_b = (op for op in walk(program.body) if isinstance(op, o.CopyAsync))
    arrive = first(program, o.BarrierArrive)
    pair = Counterexample(
        "elements that do not share K are multiplied",
        "K = 208 on the left, K = 144 on the right",
        ThreadPlace("math", 165, 0, {"k": 192}),
        {"M": 256, "N": 256, "K": 512},
        (
            OperandElement(
                "left",
                {"M": 37, "K": 208},
                (37, 16),
                (Step("loaded into slot 3", copy_a.span), Step("read", dot.span)),
            ),
            OperandElement(
                "right", {"N": 0, "K": 144}, (16, 0), (Step("loaded", copy_b.span),)
            ),
        ),
        help="load B at `k`",
        replayed=True,
    )
    order = Counterexample(
        "the slot is overwritten while wgmma reads it",
        "released too early",
        ThreadPlace("load", None, 0, {"k": 192}),
        {"M": 128, "N": 128, "K": 512},
        interleaving=(
            Event("math", "issues wgmma", dot.span, {"k": 0}),
            Event("math", "arrives on ring_empty[0]", arrive.span, {"k": 0}),
            Event("load", "overwrites slot 0", copy_a.span, {"k": 192}),
        ),
        notes=("nothing orders the read before the write",),
    )
    doubted = Counterexample(
        "row 5 is stored at row 133",
        "",
        ThreadPlace("math", 20),
        {"M": 256, "N": 256, "K": 64},
        (OperandElement("stored", {"M": 5, "N": 64}, (5, 64)),),
        replayed=False,
    )
    slow = Counterexample("8 wavefronts where 1 would do", "", ThreadPlace("math", 0))
    refuted, proved = Verdict.REFUTED, Verdict.PROVED
    return Report(
        "gemm",
        "sm_90a",
        (
            Obligation(
                "AG0301", "K agrees", dot.span, refuted, "enumeration", "", pair
            ),
            Obligation(
                "AG0401", "slots are ordered", arrive.span, refuted, "walk", "", order
            ),
            Obligation("AG0305", "C is C", store.span, refuted, "z3", "", doubted),
            Obligation(
                "AG0306", "C is written", store.span, Verdict.UNKNOWN, "z3", "timeout"
            ),
            Obligation(
                "AG0511", "few", store.span, refuted, "count", "", slow, slow=True
            ),
            Obligation("AG0301", "K agrees", dot.span, proved, "normal form"),
            Obligation("AG0403", "every wait ends", arrive.span, proved, "walk"),
        ),
        (Assumption("assume", "K > 0", dot.span), Assumption("trust", "<b>", dot.span)),
        {"tags": 0.25, "order": 0.5},
    )


def checked(program: Program) -> CheckedKernel:
    """The report as `argus check` hands it to its page and its SARIF log."""
    facts = ("384 threads, 98352 bytes shared", "BM=128")
    made = report(program)
    return CheckedKernel(
        "gemm (256x256)", made.target, facts, made, lambda text: program
    )
