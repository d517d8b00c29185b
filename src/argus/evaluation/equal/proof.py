"""What a report says of a kernel's reference: a witness, or what was shown.

    report = with_reference(requests, report, space)

Called by `proving.py` for kernels of files. A kernel that is refuted for another reason
is left alone: which result it gives is not known then.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from argus.compiler import Request, tile_program
from argus.diagnostics import ArgusError, Span
from argus.evaluation.equal.references import Reference, load, reference_of
from argus.evaluation.equal.refuting import SECONDS, Tried, refute
from argus.evaluation.equal.witness import Witness
from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.lang.frontend.module import FunctionDecl
from argus.specialisations import Space, stride_divisors
from argus.verify.evidence import Counterexample, Place
from argus.verify.verdict import Equality, Obligation, Report, Verdict

__all__ = ["RULE", "obligation_of", "with_reference"]

RULE = "AG0322"
_FORMS = 8
"""Combinations of optional tensors and element types that are tried, at most."""


def with_reference(
    requests: Sequence[Request],
    report: Report,
    space: Space,
    *,
    seconds: float = SECONDS,
) -> Report:
    """The report with what is known of the kernel's reference, if it has one.

    ``requests``: one for each different program. ``seconds`` of CPU time are spent on
    looking for a witness.
    """
    declared = reference_of(requests[0].kernel)
    if declared is None or report.verdict is Verdict.REFUTED:
        return report
    begin = time.process_time()
    try:
        reference = load(declared)
    except ArgusError as error:
        return _not_shown(report, declared, str(error.diagnostics[0].message))
    found = _tried(_different(requests), reference, space, seconds)
    spent = time.process_time() - begin
    report = replace(report, seconds={**report.seconds, "reference": spent})
    for request, tried in found:
        if tried.witness is not None:
            told = obligation_of(tried.witness, request)
            both = (told, *report.obligations)
            return replace(report, obligations=both)
    runs = sum(t.runs for _, t in found)
    why = next((t.why for _, t in found if t.why), "")
    return _not_shown(report, declared, why or "it was only tried", runs)


def _not_shown(
    report: Report, declared: FunctionDecl, why: str, runs: int = 0
) -> Report:
    span = declared.env.source.span(declared.node)
    said = Equality(declared.name, False, why, span, tried=runs)
    return replace(report, equality=said)


def _different(requests: Sequence[Request]) -> list[Request]:
    """One request for each combination of tensors and types."""
    found: dict[object, Request] = {}
    for request in requests:
        found.setdefault(tuple(sorted(request.dtypes.items(), key=str)), request)
    return list(found.values())[:_FORMS]


def _tried(
    requests: Sequence[Request],
    reference: Reference,
    space: Space,
    seconds: float,
) -> list[tuple[Request, Tried]]:
    """A search for each, until there is a witness."""
    found: list[tuple[Request, Tried]] = []
    for request in requests:
        tried = refute(request, reference, seconds=seconds / len(requests))
        if tried.witness is not None and not _inside(request, tried.witness, space):
            tried.witness = None
            tried.why = "it differs in specialisations that were not asked for"
        found.append((request, tried))
        if tried.witness is not None:
            break
    return found


def _inside(request: Request, witness: Witness, space: Space) -> bool:
    """Whether a call with these sizes chooses one of the space."""
    form = dict(request.dtypes)
    shapes: dict[str, tuple[int, ...]] = {}
    for tensor in request.kernel.signature.tensors:
        if tensor.name in form:
            shapes[tensor.name] = tuple(
                d if isinstance(d, int) else witness.sizes[d] for d in tensor.dims
            )
    strides = {
        name: stride_divisors(shape, [prod(shape[i + 1 :]) for i in range(len(shape))])
        for name, shape in shapes.items()
    }
    return space.member(form, shapes, strides) in space


def obligation_of(witness: Witness, request: Request) -> Obligation:
    """A witness as what is refuted, at the line that writes the output."""
    program = tile_program(request)
    name = witness.output
    notes = [
        f"{witness.wrong} of the {witness.elements} elements that were compared differ"
    ]
    if witness.scalars:
        given = ", ".join(f"{n} = {v:g}" for n, v in witness.scalars.items())
        notes.append(f"with {given}")
    given = [
        t.name
        for t in request.kernel.signature.tensors
        if t.optional and t.name in request.dtypes
    ]
    if given:
        notes.append(f"with the optional {', '.join(given)} given")
    return Obligation(
        RULE,
        f"{name} is what `{witness.reference}` says",
        _stored_at(program, name),
        Verdict.REFUTED,
        "interpreter",
        counterexample=Counterexample(
            witness.message,
            f"`{name}` is written here",
            Place(""),
            sizes=dict(witness.sizes),
            notes=tuple(notes),
            replayed=True,
        ),
    )


def _stored_at(program: Program, name: str) -> Span:
    """The first statement that writes a tensor."""
    for op in _stores(program):
        view = op.dst if isinstance(op, o.CopyOut) else op.view
        if view.tensor.name == name:
            return op.span
    return program.span


def _stores(program: Program) -> Iterable[o.StoreGlobal | o.CopyOut]:
    for op in walk(program.body):
        if isinstance(op, o.StoreGlobal | o.CopyOut):
            yield op
