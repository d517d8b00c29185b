"""Proofs with their counterexamples replayed in the interpreter.

    proof = proved(request)                       of one specialisation
    proof = proved_case(request, entry, case)     the same, with a library reference
    proof = proved_all(kernel, statics, target)   of all that calls may choose

The verifier works on an abstraction. Where the rule allows, a counterexample is run: at
its own sizes, in the interpreter, which executes the placed program. If that shows
nothing, one of the two is mistaken, and the report says so loudly.

The verdict on several specialisations is the least of theirs. Each different program is
proved once, for the specialisation that knows least of those that become it; what was
not looked at is an obligation that is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from argus.compiler import Proof, prove, prove_placed, remember_proof
from argus.diagnostics import ErrorList, Span
from argus.equivalence.concluding import concluded, equality_of
from argus.equivalence.programs import KnownPrograms
from argus.equivalence.settling import StatedReference
from argus.equivalence.traced import decided_case
from argus.evaluation.accepting import EXPECTED, Proofs, accepted, without_launch
from argus.evaluation.equal.proof import with_reference
from argus.evaluation.exploring import (
    Become,
    Box,
    Explored,
    Numbers,
    explore,
    never_accepted,
)
from argus.evaluation.fault_runs import with_faults
from argus.evaluation.kept import kept_all, kept_case, key_of_all, key_of_case
from argus.evaluation.numbers import with_numbers
from argus.evaluation.replay import replayed
from argus.evaluation.specialised import (
    box_words,
    several_words,
    space_words,
    specialised_of,
)
from argus.ir.annotations import Expect, annotations_of
from argus.kernels.entry import Case, LibraryEntry
from argus.lang.kernel import Kernel
from argus.requests import Request, placed_program, request_of
from argus.specialisations import SpecialisationSpace
from argus.verify.verdict import (
    Assumption,
    Obligation,
    Placed,
    Refused,
    Report,
    Specialised,
    Verdict,
)

if TYPE_CHECKING:
    from argus.verify.order.sharing import SharedOrder

MOST_PROGRAMS = 128
"""Different programs that are proved; the others are named as left out."""


def proved(
    request: Request, *, fresh: bool = False, known: KnownPrograms | None = None
) -> Proof:
    """What the verifier says, replayed where possible; cached on disk unless ``fresh``.

    ``known``: what else is asked of the kernel. Raises ArgusError for what parsing and
    placing find.
    """
    known = known or KnownPrograms()
    proof = prove(request, fresh=fresh, known=known)
    if not proof.replayed and _replayable(proof.report):
        proof = _replayed(request, proof, known)
        remember_proof(request, proof)
    said = specialised_of(request, proof.report.verdict)
    return replace(proof, report=replace(proof.report, specialised=said))


def proved_case(
    request: Request, entry: LibraryEntry, case: Case, *, fresh: bool = False
) -> Proof:
    """Like :func:`proved`, and whether a kernel is what an entry's reference says.

    Its options are those of the case; its sizes do not matter. Cached on disk, by the
    code of Argus too, to which the reference belongs, unless ``fresh``. Raises
    ArgusError like :func:`proved`.
    """
    kept = None if fresh else kept_case(request, entry, case)
    if kept is not None:
        return kept
    known = KnownPrograms()
    compared = cache(
        partial(decided_case, request, entry.proved_reference, case, known=known)
    )
    said = StatedReference(f"{entry.name}.reference", compared)
    placed = known.of(request).placed
    proof = _replayed(
        request, prove_placed(request, placed, known=known, said=said), known
    )
    named = specialised_of(request, proof.report.verdict)
    report = replace(proof.report, specialised=named)
    if report.verdict is Verdict.PROVED:
        made = compared()
        at = _declared(request.kernel)
        report = concluded(report, equality_of(said.name, made), at)
    proof = replace(proof, report=report)
    remember_proof(request, proof, *key_of_case(entry, case))
    return proof


def _replayed(request: Request, proof: Proof, known: KnownPrograms) -> Proof:
    """The proof with its counterexamples given to the interpreter, if there are any."""
    if not _replayable(proof.report):
        return proof
    report = replayed(known.of(request).placed, request, proof.report)
    return replace(proof, report=report, replayed=True)


def _replayable(report: Report) -> bool:
    """Whether some counterexample was not run yet."""
    return any(
        o.verdict is Verdict.REFUTED
        and o.counterexample is not None
        and o.counterexample.replayed is None
        and not o.slow
        for o in report.obligations
    )


# ---------------------------------------------------------------- all specialisations


def proved_all(
    kernel: Kernel,
    statics: Mapping[str, object],
    target: str,
    space: SpecialisationSpace | None = None,
    *,
    fresh: bool = False,
) -> Proof:
    """What the verifier says of all specialisations that calls may choose.

    ``statics`` override defaults of static parameters; ``space`` restricts the choices
    (default: all of them). Threads, bytes and clusters are the most that one takes.
    Cached on disk unless ``fresh``. Raises ArgusError where no specialisation is a
    program, and where none is with (or without) one of the optional tensors.
    """
    space = space or SpecialisationSpace.of(kernel.signature)
    known = None if fresh else kept_all(kernel, statics, target, space)
    if known is not None:
        return known
    explored = explore(kernel, statics, target, space)
    wrong = never_accepted(explored)
    if wrong is not None:
        raise ErrorList(wrong)
    made: dict[tuple[int, Numbers], Request] = {}

    def at(box: Box, numbers: Numbers) -> Request:
        key = id(box), numbers
        if key not in made:
            chosen = explored.space.at(box.form, numbers)
            made[key] = request_of(kernel, statics, target, chosen)
        return made[key]

    programs = KnownPrograms()
    found = _each(explored, at, programs)
    requests = [
        at(box, box.low)
        for became in explored.programs.values()
        for box in least(became)
    ]
    placed = [(programs.of(r).placed, r.facts) for r in requests]
    never = without_launch(found, placed)
    requests = [r for n, r in enumerate(requests) if n not in never]
    proof = _joined(kernel, explored, *accepted(found, never))
    report = proof.report
    if requests:  # the first is of the program that knows least of its divisors
        report = with_faults(programs.of(requests[0]).placed, requests[0], report)
    report = with_reference(requests, report, space, known=programs)
    proof = replace(proof, report=with_numbers(requests, report, programs))
    remember_proof(Request(kernel, {}, statics, target), proof, *key_of_all(space))
    return proof


_At = Callable[[Box, Numbers], Request]
"""The request for a form and numbers of a box."""
_SPEED = ("AG0510", "AG0511", "AG0512", "AG0513")
_COST = "performance"


def _each(explored: Explored, at: _At, known: KnownPrograms) -> Proofs:
    """Every different program, proved where least is known of the divisors."""
    from argus.verify.order.sharing import SharedOrder

    programs = list(explored.programs.values())[:MOST_PROGRAMS]
    boxes = [(box, became) for became in programs for box in least(became)]
    shared = SharedOrder()
    proofs: dict[int, Proof] = {}
    # What is proved where least is known holds for the others, too.
    for box, _ in sorted(boxes, key=lambda pair: sum(pair[0].low)):
        proofs[id(box)] = _proof(at(box, box.low), shared, known)
    speed: dict[int, Report] = {}
    for became in programs:
        best = next((b for b in became.boxes if _is_best(explored.space, b)), None)
        if best is not None:
            speed[id(became)] = _speed(at(best, best.high))
    found: Proofs = []
    for box, became in boxes:
        proof = _with_remarks(proofs[id(box)], speed.get(id(became)))
        request = at(box, box.low)
        said = Placed(
            box_words(explored.space, box),
            proof.report.verdict,
            {n: d.name for n, d in request.dtypes.items()},
            dict(request.facts),
        )
        found.append((said, proof))
    return found


def _proof(request: Request, shared: SharedOrder, known: KnownPrograms) -> Proof:
    """A proof that is kept only as a part of the one of all.

    What a program costs is not looked at here, but for what is expected of that.
    """
    from argus.verify.verifier import ANALYSES

    program = known.of(request).placed
    expected = any(isinstance(op, Expect) for op in annotations_of(program))
    only = ANALYSES if expected else tuple(a for a in ANALYSES if a != _COST)
    proof = prove_placed(request, program, only=only, shared=shared, known=known)
    return _replayed(request, proof, known)


def _is_best(space: SpecialisationSpace, box: Box) -> bool:
    most = tuple(max(numbers) for numbers in space.levels(box.form))
    return box.high == most


def _speed(request: Request) -> Report:
    program = placed_program(request)
    return prove_placed(request, program, only=(_COST,)).report


def _with_remarks(proof: Proof, speed: Report | None) -> Proof:
    """What a program costs counts where everything is divisible by the most.

    Elsewhere accesses have to be narrower. What is expected there (AG0513) still
    counts where ``speed`` does not say that it holds.
    """
    remarks = () if speed is None else speed.obligations
    held = {(o.claim, o.span) for o in remarks if o.rule == EXPECTED}
    kept = [
        o
        for o in proof.report.obligations
        if not (o.slow and o.rule in _SPEED)
        and not (o.rule == EXPECTED and (o.claim, o.span) in held)
    ]
    seconds = dict(proof.report.seconds)
    for name, spent in () if speed is None else speed.seconds.items():
        seconds[name] = seconds.get(name, 0.0) + spent
    both = (*kept, *remarks)
    return replace(
        proof, report=replace(proof.report, obligations=both, seconds=seconds)
    )


def least(became: Become) -> list[Box]:
    """Boxes whose lowest members know no more than some member of every other one.

    Of forms that differ in types only the first is enough: they have one fingerprint.
    """
    by_tensors: dict[frozenset[str], list[Box]] = {}
    for box in became.boxes:
        kept = by_tensors.setdefault(frozenset(box.form), [])
        if any(_below(k, box) for k in kept):
            continue
        kept[:] = [k for k in kept if not _below(box, k)]
        kept.append(box)
    return [box for kept in by_tensors.values() for box in kept]


def _below(a: Box, b: Box) -> bool:
    return all(x <= y for x, y in zip(a.low, b.low, strict=True))


def _joined(
    kernel: Kernel, explored: Explored, found: Proofs, expected: list[Refused]
) -> Proof:
    """One proof from those of the programs: the least verdict of all."""
    space = explored.space
    several = bool(found[1:] or explored.refused or expected)
    obligations: dict[tuple[object, ...], Obligation] = {}
    assumptions: dict[Assumption, None] = {}
    seconds: dict[str, float] = {}
    settled: dict[tuple[object, ...], Obligation] = {}
    for said, proof in found:
        for x in proof.report.settled:
            settled.setdefault((x.rule, x.claim, x.span), x)
        for x in proof.report.obligations:
            key = (x.rule, x.claim, x.span, x.slow)
            before = obligations.get(key)
            if before is None or x.verdict < before.verdict:
                where = said.text if several else ""
                if x.verdict is Verdict.PROVED:
                    where = ""
                obligations[key] = replace(x, specialisation=where)
        assumptions.update(dict.fromkeys(proof.report.assumptions))
        for name, spent in proof.report.seconds.items():
            seconds[name] = seconds.get(name, 0.0) + spent
    left = _left(explored)
    span = _declared(kernel)
    if left:
        claim = "every specialisation is right"
        reason = f"not looked at: {'; '.join(left)}"
        obligations["AG0393", claim, span, False] = Obligation(
            "AG0393", claim, span, Verdict.UNKNOWN, "none", reason
        )
    forms = sum(space.count(form) for form in space.forms())
    first = found[0][1].report
    report = Report(
        first.kernel,
        first.target,
        tuple(sorted(obligations.values(), key=_position)),
        tuple(assumptions),
        seconds,
        Specialised(
            space_words(space),
            forms,
            tuple(said for said, _ in found),
            (*_refusals(explored), *expected),
            tuple(left),
        ),
        settled=tuple(settled.values()),
    )
    return Proof(
        report,
        max(p.threads for _, p in found),
        max(p.shared_bytes for _, p in found),
        max(p.cluster for _, p in found),
        all(p.replayed for _, p in found),
    )


def _declared(kernel: Kernel) -> Span:
    """Where a kernel stands."""
    return kernel.declaration.env.source.span(kernel.declaration.node)


def _position(o: Obligation) -> tuple[Verdict, str, int, int, str]:
    """The worst first, then by place."""
    return (o.verdict, o.span.file, o.span.line, o.span.column, o.rule)


def _left(explored: Explored) -> list[str]:
    found: list[str] = []
    if explored.left:
        found.append(f"{explored.left} combinations of element types")
    if len(explored.programs) > MOST_PROGRAMS:
        found.append(f"{len(explored.programs) - MOST_PROGRAMS} of the programs")
    return found


def _refusals(explored: Explored) -> Iterable[Refused]:
    for (code, message), one in explored.refused.items():
        yield Refused(several_words(explored.space, one.boxes), code, message)
