"""Proofs with their counterexamples replayed in the interpreter.

    proof = proved(request)

The verifier works on an abstraction. Where the rule allows, a counterexample is run: at
its own sizes, in the interpreter, which executes the placed program. If that shows
nothing, one of the two is mistaken, and the report says so loudly.
"""

from __future__ import annotations

from dataclasses import replace

from argus.compiler import Proof, Request, placed_program, prove, remember_proof
from argus.evaluation.replay import replayed
from argus.verify.verdict import Report, Verdict


def proved(request: Request, *, fresh: bool = False) -> Proof:
    """What the verifier says, replayed where possible; cached on disk unless ``fresh``.

    Raises ArgusError for what parsing and placing find.
    """
    proof = prove(request, fresh=fresh)
    if proof.replayed or not _replayable(proof.report):
        return proof
    program = placed_program(request)
    report = replayed(program, request, proof.report)
    proof = replace(proof, report=report, replayed=True)
    remember_proof(request, proof)
    return proof


def _replayable(report: Report) -> bool:
    """Whether some counterexample was not run yet."""
    return any(
        o.verdict is Verdict.REFUTED
        and o.counterexample is not None
        and o.counterexample.replayed is None
        and not o.slow
        for o in report.obligations
    )
