"""`argus equal`: does a kernel compute what its reference, or another kernel, does?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from argus.cli.options import (
    DtypeOption,
    JsonOption,
    SetOption,
    SizeOption,
    TargetOption,
)
from argus.cli.output import Output, reporting
from argus.cli.waiting import doing

if TYPE_CHECKING:
    from collections.abc import Callable

    from argus.cli.subjects import CommandSubject, SubjectOptions
    from argus.diagnostics import ArgusError, Json, Span
    from argus.equivalence.deciding import Decided
    from argus.requests import Request
    from argus.verify.verdict import Report, Verdict

Kernels = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel", "-k", metavar="K", help="The kernel of a file; again for B's."
    ),
]
A = Annotated[
    str,
    typer.Argument(metavar="A", help="FILE, FILE:KERNEL, or a library kernel."),
]
B = Annotated[
    str | None,
    typer.Argument(
        metavar="[B]", help="What says what is right; A's reference without it."
    ),
]


def equal(
    a: A,
    b: B = None,
    kernel: Kernels = None,
    target: TargetOption = None,
    settings: SetOption = None,
    dtypes: DtypeOption = None,
    sizes: SizeOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show that a kernel is equal to its reference, or to another kernel.

    Equal means: every element of every output is the same real number, for every size
    that a launch admits. Where terms differ, both are shown, and runs look for inputs
    that show it. --size says where runs begin. Exits with 1 unless it is equal.
    """
    with reporting("equal", json_output) as out:
        from argus.cli.subjects import SubjectOptions

        names = list(kernel or ())
        chosen = SubjectOptions(
            target, None, None, settings or (), dtypes or (), sizes or ()
        )
        if len(names) > (1 if b is None else 2):
            raise _too_many(a, b, names)
        shown = _Shown(out)
        if b is None:
            results = [shown.reference(s) for s in _all_of(a, names[:1], chosen)]
        else:
            (first,), (second,) = (
                _of(source, wanted, chosen)[:1]
                for source, wanted in ((a, names[:1]), (b, names[1:2]))
            )
            results = [shown.kernels(first, second)]
        out.data["kernels"] = list(results)


def _too_many(a: str, b: str | None, names: list[str]) -> ArgusError:
    """The error for more kernels than there is to choose from."""
    from argus.diagnostics import fail

    one = f"`argus equal {a}:{names[0]} {a}:{names[1]}` compares kernels of one file"
    return fail(
        "AG0908",
        None,
        f"`--kernel` names {len(names)} kernels of {1 if b is None else 2}",
        help=one if b is None else None,
    )


def _of(source: str, wanted: list[str], chosen: SubjectOptions) -> list[CommandSubject]:
    """The kernels that FILE, FILE:KERNEL or NAME stands for; of a NAME one case."""
    from argus.cli.subjects import one_or_all

    return one_or_all(*_named(source, wanted, chosen))


def _all_of(
    source: str, wanted: list[str], chosen: SubjectOptions
) -> list[CommandSubject]:
    """The same, and of a NAME all cases and all forms of its kernels."""
    from argus.cli.forms import form_subjects
    from argus.cli.subjects import is_file, subjects

    source, chosen = _named(source, wanted, chosen)
    found = subjects(source, chosen)
    return found if is_file(source) else [*found, *form_subjects(source, chosen)]


def _named(
    source: str, wanted: list[str], chosen: SubjectOptions
) -> tuple[str, SubjectOptions]:
    """FILE or NAME, and the options with the kernel that is meant."""
    from dataclasses import replace

    from argus.cli.subjects import is_file

    name = wanted[0] if wanted else None
    if not is_file(source) or not source.endswith(".py"):
        file, colon, own = source.rpartition(":")
        if colon and own.isidentifier() and is_file(file):
            source, name = file, own
    return source, replace(chosen, kernel=name)


class _Shown:
    """Compares kernels one after another, and says what came of it."""

    def __init__(self, out: Output) -> None:
        self.out = out

    def reference(self, subject: CommandSubject) -> dict[str, Json]:
        """A kernel against its reference. Raises ArgusError AG1018 without one."""
        from argus.cli.proving import proof_of
        from argus.verify.verdict import Verdict

        name, compare = _reference(subject)
        with doing(self.out, f"comparing {subject.label} and `{name}`"):
            report = proof_of(subject).report
            verdict = report.verdict
            made: Decided | None = None
            if verdict in (Verdict.PROVED, Verdict.UNKNOWN):
                made, verdict = compare(), Verdict.UNKNOWN
        axioms = report.equality.axioms if report.equality else ()
        runs = report.equality.tried if report.equality else 0
        return self._said(subject, name, verdict, report, made, axioms, runs)

    def kernels(
        self, subject: CommandSubject, other: CommandSubject
    ) -> dict[str, Json]:
        """A kernel against another one."""
        from dataclasses import replace

        from argus.cli.proving import proof_of
        from argus.evaluation.equal.comparing import compare_kernels
        from argus.evaluation.equal.proof import obligation_of

        with doing(self.out, f"comparing {subject.label} and {other.label}"):
            report = proof_of(subject).report
            found = [
                (request, compare_kernels(request, right, report))
                for request, right in _forms(subject, other)
            ]
        request, made = min(found, key=lambda pair: pair[1].verdict)
        if made.witness is not None:
            told = obligation_of(made.witness, request, made.program)
            report = replace(report, obligations=(told, *report.obligations))
        name = other.request.kernel.name
        axioms = made.decided.axioms if made.decided else ()
        if len(found) == 1 and subject.space and subject.space.form_count > 1:
            types = ", ".join(f"{n}: {t.name}" for n, t in request.dtypes.items())
            axioms = (*axioms, f"a call is given {types}")
        return self._said(
            subject, name, made.verdict, report, made.decided, axioms, made.runs
        )

    # -------------------------------------------------------------------- telling

    def _said(
        self,
        subject: CommandSubject,
        other: str,
        verdict: Verdict,
        report: Report,
        made: Decided | None,
        axioms: tuple[str, ...],
        runs: int,
    ) -> dict[str, Json]:
        from argus.verify.render import words
        from argus.verify.render.data import report_json
        from argus.verify.render.diagnostics import diagnostics
        from argus.verify.verdict import Verdict

        whole = verdict is Verdict.EQUAL
        reason, span = "", None
        if verdict is Verdict.UNKNOWN:
            reason, span = _reason(report, made)
        text = "every element, for all sizes, in real arithmetic"
        if not whole:
            text = reason or "they differ"
            text += "" if span is None else f", at line {span.line}"
        style = "" if whole else "bold red"
        line = f"{verdict!s:<8}{subject.label} and `{other}`: {text}"
        self.out.line(line, style=style, indent=8)
        if verdict is Verdict.REFUTED:
            errors = [d for d in diagnostics(report) if d.severity == "error"]
            self.out.show(errors, error=False)
        terms = _terms(made)
        for word, value in terms.items():
            self._note(word, value)
        if verdict is Verdict.UNKNOWN:
            self._note("tried", words.tried(runs))
        for axiom in axioms if whole else ():
            self._note("rests on", axiom)
        if not whole:
            self.out.fail()
        return {
            "kernel": subject.request.kernel.name,
            "other": other,
            "verdict": str(verdict),
            "reason": reason,
            "span": None if span is None else {**span.to_json()},
            "terms": dict(terms),
            "axioms": list(axioms),
            "runs": runs,
            "proof": report_json(report),
        }

    def _note(self, word: str, text: str) -> None:
        self.out.line(f"  {word:<10}{text}", indent=12)


_FORMS = 16
"""Combinations of optional tensors and element types that are compared, at most."""


def _forms(
    subject: CommandSubject, other: CommandSubject
) -> list[tuple[Request, Request]]:
    """Both kernels for each combination of tensors and element types that both take.

    Of too many only the first, which is the default one.
    """
    from dataclasses import replace

    first = subject.request, other.request
    space = subject.space
    if space is None or space.form_count > _FORMS:
        return [first]
    taken = {t.name: t for t in other.request.kernel.signature.tensors}
    found: list[tuple[Request, Request]] = []
    for form in space.forms():
        fits = all(n in taken and t in taken[n].dtypes for n, t in form.items())
        if fits and all(t.optional or n in form for n, t in taken.items()):
            pair = (replace(one, dtypes=dict(form)) for one in first)
            found.append((next(pair), next(pair)))
    return found or [first]


def _reference(subject: CommandSubject) -> tuple[str, Callable[[], Decided]]:
    """What a kernel's reference is called, and a comparison with it.

    Raises ArgusError AG1018 where there is none.
    """
    request, entry, case = subject.request, subject.entry, subject.case
    if entry is not None and case is not None:

        def compare_case() -> Decided:
            from argus.equivalence.traced import decided_case

            return decided_case(request, entry.proved_reference, case)

        return f"{entry.name}.reference", compare_case

    from argus.diagnostics import fail
    from argus.equivalence.references import reference_of

    declared = reference_of(request.kernel)
    if declared is None:
        raise fail(
            "AG1018",
            None,
            f"`{request.kernel.name}` has no reference that it goes with",
            help=f"mark a function `{request.kernel.name}_reference` with "
            "`@ag.reference`, or give another kernel: argus equal A B",
        )

    def compare() -> Decided:
        from argus.equivalence.traced import decided

        return decided(request, declared)

    return declared.name, compare


def _reason(report: Report, made: Decided | None) -> tuple[str, Span | None]:
    """Why it is not known: of the comparison, or of the proof that it needs."""
    from argus.verify.verdict import Verdict

    if made is not None and not made.equal:
        return made.reason, made.span
    for obligation in report.obligations:
        if obligation.verdict is Verdict.UNKNOWN and not obligation.slow:
            reason = f"it is not known whether {obligation.claim}"
            return reason, obligation.span
    return "", None


def _terms(made: Decided | None) -> dict[str, str]:
    """Both terms, and where they differ: as a set and as a sample."""
    first = None if made is None or made.decision is None else made.decision.first
    if first is None or not first.kernel:
        return {}
    found = {
        "kernel": first.kernel,
        "the other": first.specification,
        "where": first.where,
    }
    if first.sample:
        found["such as"] = ", ".join(f"{v.name} = {n}" for v, n in first.sample.items())
    return found
