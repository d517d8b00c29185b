"""What a report says of a kernel's reference: a witness, or what was shown.

    report = with_reference(requests, report, space)

Called by `proving.py` for kernels of files. A kernel that is refuted for another reason
than its data flow is left alone: which result it gives is not known then. Where a rule
on data flow is refuted, and the kernel computes its reference at the very sizes of the
counterexample, one of the two says too much, and neither is believed: it is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from argus.clock import now
from argus.diagnostics import ArgusError
from argus.equivalence.concluding import RULE, concluded, equality_of
from argus.equivalence.deciding import Decided, TrialPlace
from argus.equivalence.programs import KnownPrograms
from argus.equivalence.references import Reference, load, reference_of
from argus.equivalence.settling import is_wrong
from argus.equivalence.sizes import named_sizes
from argus.equivalence.traced import decided
from argus.evaluation.equal.computed_alone import only_computed
from argus.evaluation.equal.refuting import SECONDS, Tried, refute, tried_at
from argus.evaluation.equal.stored import stores_of
from argus.evaluation.equal.witness import Witness
from argus.ir.program import Program
from argus.lang.frontend.declarations import FunctionDecl
from argus.requests import Request, of_each_form
from argus.specialisations import SpecialisationSpace, stride_divisors
from argus.verify.evidence import Counterexample, ThreadPlace
from argus.verify.verdict import Equality, Obligation, Report, Verdict

__all__ = ["obligation_of", "with_reference"]

_SEEN = frozenset({
    "AG0301", "AG0302", "AG0303", "AG0304", "AG0305", "AG0307", "AG0308", "AG0309",
    "AG0310",
})  # fmt: skip
"""Rules that nearly all numbers show to be broken, where they are. (An element that is
written twice may be so in one order only: nothing is proved of it either. That a result
changes with the padding, as a replay shows, does not say that the padding is wrong.)"""
_MISPLACED = ("AG0305", "AG0307")
"""Rules that say of a store that it writes another element than its own."""
_SEARCHES = 5
"""More searches where terms are not shown to be equal."""
_FORMS = 8
"""Combinations of optional tensors and element types that are tried, at most."""


def with_reference(
    requests: Sequence[Request],
    report: Report,
    space: SpecialisationSpace,
    *,
    seconds: float = SECONDS,
    known: KnownPrograms | None = None,
) -> Report:
    """The report with what is known of the kernel's reference, if it has one.

    ``requests``: one for each different program; ``known`` has what they become.
    ``seconds`` of CPU time are spent on looking for a witness.
    """
    declared = reference_of(requests[0].kernel)
    if declared is None or is_wrong(report):
        return report
    begin = now()
    at = declared.env.source.span(declared.node)
    try:
        reference = load(declared)
    except ArgusError as error:
        failed = Equality(declared.name, False, error.diagnostics[0].message)
        return _spent(concluded(report, failed, at), begin)
    runs = _Runs(reference, space, known or KnownPrograms())
    forms = of_each_form(requests)[:_FORMS]
    found = runs.searched(forms, seconds, few=True)
    for request in forms:
        # Terms take a few entries for numbers of which sums and differences fit.
        if only_computed(runs.programs(request).typed, declared.node):
            found = found or runs.at(request, TrialPlace({}), signed=True)
    # Terms that are equal are so at rare sizes, too: nobody has to look there.
    if found is None and not _equal(requests, declared, runs):
        found = runs.searched(forms, seconds)
    equality = None
    if found is None:
        equality, found = _compared(requests, declared, runs)
    if found is None:
        shown = equality is not None and equality.shown
        report, found = _doubted(report, requests, runs, shown)
    if found is not None:
        if runs.missing:
            program = runs.programs(requests[0]).typed
            found = _at_blamed(found, runs.missing, program, report)
        obligations = (found, *report.obligations)
        report = replace(report, obligations=obligations, equality=None)
    elif equality is not None:
        report = concluded(report, equality, at)
    return _spent(report, begin)


def _doubted(
    report: Report, requests: Sequence[Request], runs: _Runs, shown: bool
) -> tuple[Report, Obligation | None]:
    """The report with refutations as unknown whose sizes show no difference.

    Or a witness, if there is a difference at one of them. A counterexample without
    sizes is one of any: small ones are run. Where nothing can be run, it
    is unknown, too. A rule that random numbers need not show, and that a replay has
    confirmed, stays refuted, unless terms are ``shown`` to be equal.
    """
    made: list[Obligation] = []
    for x in report.obligations:
        sizes = {} if x.counterexample is None else x.counterexample.sizes
        confirmed = x.counterexample is not None and x.counterexample.replayed
        believed = confirmed and not shown and x.rule not in _SEEN
        if x.verdict is not Verdict.REFUTED or x.slow or believed:
            made.append(x)
            continue
        before, differed = runs.count, runs.differed
        for request in of_each_form(requests)[:_FORMS]:
            found = runs.at(request, TrialPlace(sizes))
            if found is not None:
                return report, found
        if runs.differed > differed and not shown:
            made.append(x)
            continue
        said = ", ".join(f"{name} = {n}" for name, n in sizes.items()) or "any size"
        shows = (
            f"the kernel computes `{runs.reference.name}` in {runs.count - before} runs"
            if runs.count > before
            else f"no run could be compared ({runs.why})"
        )
        reason = f"the analysis of names of dimensions refutes it at {said}, and there "
        reason += shows
        made.append(
            replace(x, verdict=Verdict.UNKNOWN, reason=reason, counterexample=None)
        )
    return replace(report, obligations=tuple(made)), None


def _spent(report: Report, begin: float) -> Report:
    seconds = {**report.seconds, "reference": now() - begin}
    return replace(report, seconds=seconds)


def _equal(requests: Sequence[Request], declared: FunctionDecl, runs: _Runs) -> bool:
    """Whether all programs have the terms of the reference."""
    return all(decided(r, declared, known=runs.known).equal for r in requests)


def _compared(
    requests: Sequence[Request], declared: FunctionDecl, runs: _Runs
) -> tuple[Equality | None, Obligation | None]:
    """What is decided of all programs, or a witness where their terms differ.

    Of programs that are open, one that could be compared with the reference counts.
    """
    axioms: dict[str, None] = {}
    open_: Decided | None = None
    for request in requests:
        made = decided(request, declared, known=runs.known)
        axioms.update(dict.fromkeys(made.axioms))
        if made.untraced and (why := runs.failing(request)):
            made = replace(made, untraced=False, reason=why)
        if made.equal or (open_ is not None and made.untraced):
            continue
        found = None
        for place in made.places:
            found = found or runs.at(request, place, signed=made.signed)
        if made.untraced and only_computed(runs.programs(request).typed, declared.node):
            # Else terms say where numbers below 0 are tried.
            found = found or runs.at(request, TrialPlace({}), signed=True)
        for seed in range(1, 1 + _SEARCHES):
            # Terms that differ deserve more than the usual search.
            found = found or runs.searched([request], SECONDS / 2, seed)
        if found is not None:
            return None, found
        if made.untraced and (left := runs.left_out(request)):
            made = replace(made, untraced=False, reason=f"{made.reason}; {left}")
        open_ = made
        if not made.untraced:
            break
    if open_ is not None:
        return equality_of(declared.name, open_, runs.count), None
    return Equality(declared.name, True, axioms=tuple(axioms), tried=runs.count), None


_Form = frozenset[tuple[str, str]]
"""Which tensors a call gives, and of which element type."""


class _Runs:
    """Runs against a reference; ``count``: those that found no difference.

    ``differed``: those that found one of which the placed program is not sure.
    ``why``: the last reason for which one said nothing. ``missing``: the output of
    which a witness has an element that is not written, or "". ``beyond``: a condition
    of the kernel that only sizes show that are too large for a run, or "".
    """

    def __init__(
        self, reference: Reference, space: SpecialisationSpace, known: KnownPrograms
    ) -> None:
        self.reference = reference
        self.space = space
        self.known = known
        self.programs = known.of
        self.count = 0
        self.differed = 0
        self.why = ""
        self.missing = ""
        self.beyond = ""
        self._unshown: dict[_Form, frozenset[str]] = {}
        self._compared: set[_Form] = set()
        self._failed: dict[_Form, str] = {}

    def failing(self, request: Request) -> str:
        """Why the reference says nothing of any call of a form, if it only fails."""
        form = _form(request)
        return "" if form in self._compared else self._failed.get(form, "")

    def left_out(self, request: Request) -> str:
        """What runs have not shown of calls of a form; "" for nothing."""
        form = _form(request)
        if form not in self._compared:
            return f"no run could be compared ({self.why})"
        if self.beyond:
            return f"no run has shown that {self.beyond}"
        unshown = sorted(self._unshown.get(form, ()))
        return f"no run has shown that {unshown[0]}" if unshown else ""

    def searched(
        self,
        requests: Sequence[Request],
        seconds: float,
        seed: int = 0,
        *,
        few: bool = False,
    ) -> Obligation | None:
        """A search for each request, until one has a witness. ``few``: see `refute`."""
        for request in requests:
            share = seconds / len(requests)
            program = self.programs(request).typed
            tried = refute(
                request,
                program,
                self.reference,
                seconds=share,
                seed=seed,
                few=few,
                divisors=self.space.extents,
            )
            found = self._witness(request, tried)
            if found is not None:
                return found
            before = self._unshown.get(_form(request), frozenset(tried.unshown))
            self._unshown[_form(request)] = before.intersection(tried.unshown)
        return None

    def at(
        self,
        request: Request,
        place: TrialPlace,
        *,
        signed: bool = False,
    ) -> Obligation | None:
        """Runs at some sizes, of all manners of inputs; see `tried_at`."""
        program = self.programs(request).typed
        tried = tried_at(
            request,
            program,
            self.reference,
            place,
            signed=signed,
            divisors=self.space.extents,
        )
        return self._witness(request, tried)

    def _witness(self, request: Request, tried: Tried) -> Obligation | None:
        self.count += tried.runs - tried.differed
        self.differed += tried.differed
        self.why = tried.why or self.why
        self.beyond = tried.beyond or self.beyond
        if tried.runs:
            self._compared.add(_form(request))
        elif tried.failed:
            self._failed[_form(request)] = tried.why
        witness = tried.witness
        if witness is None or not _inside(request, witness, self.space):
            return None
        missing = witness.difference
        self.missing = "" if missing.written else missing.output
        return obligation_of(witness, request, self.programs(request).typed)


def _form(request: Request) -> _Form:
    return frozenset((name, dtype.name) for name, dtype in request.dtypes.items())


def _inside(request: Request, witness: Witness, space: SpecialisationSpace) -> bool:
    """Whether a call with these sizes and strides chooses one of the space."""
    form = dict(request.dtypes)
    shapes: dict[str, tuple[int, ...]] = {}
    for tensor in request.kernel.signature.tensors:
        if tensor.name in form:
            shapes[tensor.name] = tuple(_extent(d, witness.sizes) for d in tensor.dims)
    strides = {
        name: stride_divisors(shape, witness.strides[name])
        for name, shape in shapes.items()
    }
    return space.member(form, shapes, strides) in space


def obligation_of(witness: Witness, request: Request, program: Program) -> Obligation:
    """A witness as what is refuted, at the line that writes the output."""
    found = witness.difference
    name = found.output
    notes = [
        f"{found.wrong} of the {found.elements} elements that were compared differ"
    ]
    apart = [
        t.name
        for t in request.kernel.signature.tensors
        if (steps := witness.strides.get(t.name))
        and len(steps) > 1
        and steps[-2] != _extent(t.dims[-1], witness.sizes)
    ]
    if apart:
        notes.append(f"with room between the rows of {', '.join(apart)}")
    if witness.backwards:
        notes.append("where the last block runs first: nothing orders blocks")
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
        witness.span or next(stores_of(program, name), program.span),
        Verdict.REFUTED,
        "interpreter",
        counterexample=Counterexample(
            witness.message,
            f"`{name}` is written here",
            ThreadPlace(""),
            sizes=named_sizes(witness.sizes),
            notes=tuple(notes),
            replayed=True,
        ),
    )


def _extent(dim: str | int, sizes: Mapping[str, int]) -> int:
    return dim if isinstance(dim, int) else sizes[dim]


def _at_blamed(
    found: Obligation, name: str, program: Program, report: Report
) -> Obligation:
    """A witness of an element that nothing writes, at a store that names refute.

    Where several statements store to an output, one of them was meant to write it.
    """
    blamed = {
        x.span.line
        for x in report.obligations
        if x.verdict is Verdict.REFUTED and x.rule in _MISPLACED
    }
    at = [span for span in stores_of(program, name) if span.line in blamed]
    return replace(found, span=at[0]) if at else found
