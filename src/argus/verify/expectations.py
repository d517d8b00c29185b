"""Expectations about speed: what `ag.expect` binds, held against what was measured.

What is measured here is counted from the placed program (bank conflicts, sectors) or
read from machine code (registers, spills); nothing is timed. A number that is not known
makes the expectation unknown, never met.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus.diagnostics import Span
from argus.ir.annotations import Expect, Fact, annotations_of
from argus.ir.program import Program
from argus.verify.evidence import Counterexample, ThreadPlace
from argus.verify.verdict import Obligation, Verdict

AT_LEAST: frozenset[Fact] = frozenset({"access_bytes", "occupancy"})
"""Expectations that are a least value; the others are a most."""

_WORDS: Mapping[Fact, str] = {
    "bank_conflicts": "wavefronts beyond the ideal in a shared access",
    "excess_sectors": "sectors beyond the ideal in a global request",
    "access_bytes": "bytes per thread in a global access",
    "occupancy": "blocks resident on a multiprocessor",
    "spills": "bytes spilled per thread",
    "registers": "registers per thread",
}


_MACHINE_CODE: frozenset[Fact] = frozenset({"spills", "registers", "occupancy"})


def about_machine_code(program: Program) -> bool:
    """Whether an expectation of the kernel can be judged only after building it."""
    expects = (op for op in annotations_of(program) if isinstance(op, Expect))
    return any(fact in _MACHINE_CODE for op in expects for fact, _ in op.facts)


@dataclass(frozen=True)
class Usage:
    """What machine code uses, where it was built: per thread."""

    registers: int
    spill_bytes: int


@dataclass(frozen=True)
class MeasuredFact:
    """One measured fact: the worst value, and the place where it is.

    ``uncounted`` says which accesses are not in it: then it may be worse.
    """

    value: int
    method: str
    span: Span | None = None
    why: str = ""
    uncounted: str = ""


def judge(
    expects: Sequence[Expect],
    measured: Mapping[Fact, MeasuredFact],
    missing: Mapping[Fact, str],
) -> list[Obligation]:
    """An obligation (AG0513) for each expected fact.

    ``missing`` says why a fact that is not in ``measured`` is not known.
    """
    made: list[Obligation] = []
    for op in expects:
        for fact, bound in op.facts:
            relation = "at least" if fact in AT_LEAST else "at most"
            claim = f"{relation} {bound} {_WORDS[fact]}"
            found = measured.get(fact)
            if found is None:
                reason = missing.get(fact, "nothing measures it")
                made.append(
                    Obligation(
                        "AG0513", claim, op.span, Verdict.UNKNOWN, "none", reason
                    )
                )
                continue
            met = found.value >= bound if fact in AT_LEAST else found.value <= bound
            verdict = Verdict.PROVED if met else Verdict.REFUTED
            if met and found.uncounted:
                verdict = Verdict.UNKNOWN
            made.append(
                Obligation(
                    "AG0513",
                    claim,
                    op.span,
                    verdict,
                    found.method,
                    found.uncounted if verdict is Verdict.UNKNOWN else "",
                    counterexample=None if met else _shown(fact, bound, found),
                )
            )
    return made


def _shown(fact: Fact, bound: int, found: MeasuredFact) -> Counterexample:
    relation = "at least" if fact in AT_LEAST else "at most"
    notes = (f"found at line {found.span.line}",) if found.span is not None else ()
    return Counterexample(
        f"{found.value} {_WORDS[fact]}, where {relation} {bound} are expected",
        f"{found.value} instead of {relation} {bound}",
        ThreadPlace("block"),
        notes=notes + ((found.why,) if found.why else ()),
    )
