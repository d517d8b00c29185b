"""`argus check`: is this a kernel, can the target honour it, and is it right?

Kernels are parsed, placed and proved; nothing is built, unless a kernel expects
something of its machine code. What cannot be decided counts as not proved.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from argus.cli.options import (
    CaseOption,
    DtypeOption,
    JsonOption,
    KernelOption,
    SetOption,
    SizeOption,
    Source,
    TargetOption,
)
from argus.cli.output import BUG, WRONG, Output, exit_code, reporting
from argus.cli.waiting import doing

if TYPE_CHECKING:
    from argus.cli.subjects import CommandSubject
    from argus.diagnostics import Diagnostic, Json
    from argus.ir.program import Program
    from argus.verify.render.checked import CheckedKernel
    from argus.verify.verdict import Report

SarifOption = Annotated[
    Path | None,
    typer.Option("--sarif", metavar="FILE", help="Write the findings as SARIF 2.1.0."),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write a page with pictures."),
]
NoProofOption = Annotated[
    bool, typer.Option("--no-proof", help="Parse and place only; prove nothing.")
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Prove again what the cache has a proof of.")
]


def check(
    source: Source,
    target: TargetOption = None,
    kernel: KernelOption = None,
    case: CaseOption = None,
    settings: SetOption = None,
    dtypes: DtypeOption = None,
    sizes: SizeOption = None,
    sarif: SarifOption = None,
    html: HtmlOption = None,
    no_proof: NoProofOption = False,
    fresh: FreshOption = False,
    json_output: JsonOption = False,
) -> None:
    """Find every mistake of kernels, and prove that there is no other.

    A proof is for all blocks, threads, iterations and admitted sizes, and of a file's
    kernel for all specialisations that calls may choose: element types, optional
    tensors, divisors of sizes and strides. --dtype and --size choose some of them.
    Exits with 1 if a kernel is wrong, or if something about it cannot be decided.
    """
    with reporting("check", json_output) as out:
        from argus.cli.subjects import SubjectOptions, subjects
        from argus.diagnostics import ArgusError

        selection = SubjectOptions(
            target, kernel, case, settings or (), dtypes or (), sizes or ()
        )
        checker = _KernelChecker(out, not no_proof, fresh)
        try:
            chosen = subjects(source, selection)
        except ArgusError as error:
            # A log that CI reads has what no kernel could be read for, too.
            if exit_code(error.diagnostics) == WRONG:
                checker.refused(source, error.diagnostics)
                checker.write(sarif, html)
            raise
        results = [checker.check(one) for one in chosen]
        out.data["kernels"] = list(results)
        wrong = sum(not r["ok"] for r in results)
        if wrong:
            out.line(f"{wrong} of {len(results)} not right", style="bold red")
        checker.write(sarif, html)


_REFUSALS = 4
"""Refusals that are shown one by one."""


class _KernelChecker:
    """Checks kernels one after another; the same mistake is shown once."""

    def __init__(self, out: Output, proving: bool, fresh: bool) -> None:
        self.out = out
        self.proving = proving
        self.fresh = fresh
        # Several cases of one entry often have the same mistake.
        self.seen: set[Diagnostic] = set()
        self.told: set[str] = set()
        self.checked: list[CheckedKernel] = []

    def check(self, subject: CommandSubject) -> dict[str, Json]:
        """Check one specialisation, print what it gave, return it for JSON."""
        from argus.diagnostics import ArgusError

        request = subject.request
        result: dict[str, Json] = {
            "kernel": request.kernel.name,
            "case": subject.case.name if subject.case else None,
            "file": request.kernel.file,
            "target": request.target,
            "statics": dict(subject.statics),
            "dtypes": {n: d.name for n, d in request.dtypes.items()},
            "ok": True,
            "threads": None,
            "shared_bytes": None,
            "cluster": None,
            "proof": None,
        }
        try:
            if self.proving:
                self._prove(subject, result)
            else:
                self._place(subject, result)
        except ArgusError as error:
            result["ok"] = False
            self._verdict("wrong", subject, "", error.diagnostics)
            self.out.fail(exit_code(error.diagnostics))
            self.refused(subject.label, error.diagnostics, request.target)
        return result

    def refused(
        self, label: str, found: tuple[Diagnostic, ...], target: str = ""
    ) -> None:
        """Keep for the files what is no program: a kernel, or a source without any."""
        from argus.verify.render.checked import CheckedKernel

        self.checked.append(CheckedKernel(label, target, mistakes=found))

    # ------------------------------------------------------------------ one kernel

    def _place(self, subject: CommandSubject, result: dict[str, Json]) -> None:
        from argus.requests import placed_program

        program = placed_program(subject.request)
        facts = _block(result, program.threads, program.shared_bytes, program.cluster)
        self.out.line(f"placed  {subject.label}: {facts}", indent=8)
        self._keep(subject, facts, None)

    def _keep(self, subject: CommandSubject, facts: str, report: Report | None) -> None:
        from argus.verify.render.checked import CheckedKernel

        program = None if report is None else _program_of(subject, report)
        target = subject.request.target
        given = {**subject.statics, **{k: f"{v:g}" for k, v in subject.scalars.items()}}
        more = tuple(f"{name}={value}" for name, value in given.items())
        self.checked.append(
            CheckedKernel(subject.label, target, (facts, *more), report, program)
        )

    def _prove(self, subject: CommandSubject, result: dict[str, Json]) -> None:
        from argus.cli.proving import proof_of
        from argus.verify.render.data import report_json
        from argus.verify.render.diagnostics import DISAGREEMENT, diagnostics, risks
        from argus.verify.verdict import Verdict

        begin = time.perf_counter()
        with doing(self.out, f"proving {subject.label}"):
            proof = proof_of(subject, fresh=self.fresh)
        seconds = time.perf_counter() - begin
        report = proof.report
        facts = _block(result, proof.threads, proof.shared_bytes, proof.cluster)
        self._keep(subject, facts, report)
        result["proof"] = report_json(report)
        found = diagnostics(report)
        errors = [d for d in found if d.severity == "error"]
        word = str(report.verdict)
        summary = f": {facts}; {_summary(report, seconds)}"
        self._verdict(word, subject, summary, errors)
        self._specialised(subject, report)
        self._equality(report)
        self._remarks(report, [d for d in found if d.severity != "error"])
        self._risks(risks(report))
        if report.verdict < Verdict.PROVED:
            result["ok"] = False
            self.out.fail()
        if any(d.code == DISAGREEMENT for d in errors):
            self.out.fail(BUG)

    def _verdict(
        self,
        word: str,
        subject: CommandSubject,
        summary: str,
        found: tuple[Diagnostic, ...] | list[Diagnostic],
    ) -> None:
        fresh = [d for d in found if d not in self.seen]
        self.seen.update(fresh)
        again = ": as above" if found and not fresh else summary
        style = "bold red" if found else ""
        self.out.line(f"{word:<8}{subject.label}{again}", style=style, indent=8)
        if found:
            self.out.show(fresh, error=False)
            self.out.line()

    def _specialised(self, subject: CommandSubject, report: Report) -> None:
        """Which specialisations the verdict is about, and which calls are refused."""
        found = report.specialised
        if found is None:
            return
        target = subject.request.target
        settings = ", ".join(f"{k}={v}" for k, v in subject.statics.items())
        if found.count == 1:
            text = f"one specialisation on {target}: {found.text}"
        else:
            programs = len(found.programs)
            which = "all" if subject.is_whole else "the"
            left = "" if subject.is_whole else "that the options leave "
            text = (
                f"{which} {found.count} specialisations {left}on {target} ({programs} "
                f"different program{'s' * (programs > 1)}): {found.text}"
            )
        if found.left:
            text += f"; not looked at: {'; '.join(found.left)}"
        with_ = f"{settings}, else defaults" if settings else "defaults"
        self._note("for", f"{text}; static parameters: {with_}")
        for refused in found.refused[:_REFUSALS]:
            why = f"{refused.code} {refused.message}"
            self._note("refused", f"calls with {refused.text}: {why}")
        if found.refused[_REFUSALS:]:
            more = len(found.refused) - _REFUSALS
            self._note("refused", f"{more} more kinds of calls: --json has them")

    def _note(self, word: str, text: str) -> None:
        self.out.line(f"  {word:<8}{text}", indent=10)

    def _equality(self, report: Report) -> None:
        """What was shown of the reference, and what was only tried."""
        from argus.verify.render import words

        for word, text in words.comparison(report):
            self._note(word, text)

    def _remarks(self, report: Report, slow: list[Diagnostic]) -> None:
        """What is slow, and what the proof takes for granted."""
        from argus.verify.render import words

        for remark in slow:
            where = "" if remark.span is None else f"{words.line(remark.span)}: "
            text = f"slow    {remark.code} {where}{remark.message}"
            if text in self.told:
                continue
            self.told.add(text)
            self.out.line(f"  {text}", style="yellow", indent=10)
        for given in report.assumptions:
            text = f"{given.kind:<8}{words.line(given.span)}: {given.text}"
            self.out.line(f"  {text}", indent=10)

    def _risks(self, found: tuple[Diagnostic, ...]) -> None:
        """What is numerically unsafe."""
        fresh = [d for d in found if d not in self.seen]
        self.seen.update(fresh)
        if fresh:
            self.out.show(fresh, error=False)
            self.out.line()

    # ---------------------------------------------------------------------- files

    def write(self, sarif: Path | None, html: Path | None) -> None:
        """Write the reports that were asked for. Raises ArgusError AG0902."""
        import json

        from argus import __version__
        from argus.files.writing import write_text

        if sarif is not None:
            from argus.verify.render.sarif import sarif as as_sarif

            data = as_sarif(self.checked, __version__)
            write_text(sarif, json.dumps(data, indent=1) + "\n")
            self.out.line(f"wrote {sarif}", indent=2)
        if html is not None:
            from argus.verify.render.page import page

            write_text(html, page(self.checked, __version__))
            self.out.line(f"wrote {html}", indent=2)


def _program_of(subject: CommandSubject, report: Report) -> Callable[[str], Program]:
    """The placed program of a specialisation by its words; "" is the first one."""
    from argus.ir.dtypes import DTYPES
    from argus.requests import placed_program

    assert report.specialised is not None
    placed = report.specialised.programs

    @cache
    def found(text: str) -> Program:
        one = next((p for p in placed if p.text == text), placed[0])
        types = {name: DTYPES[t] for name, t in one.dtypes.items()}
        request = replace(subject.request, dtypes=types, facts=one.facts)
        return placed_program(request)

    return found


def _block(
    result: dict[str, Json], threads: int, shared_bytes: int, cluster: int
) -> str:
    """What a block takes: into the result, and in words."""
    result["threads"] = threads
    result["shared_bytes"] = shared_bytes
    result["cluster"] = cluster
    facts = f"{threads} threads, {shared_bytes} bytes shared"
    return facts + (f", clusters of {cluster}" if cluster > 1 else "")


def _summary(report: Report, seconds: float) -> str:
    count = sum(not o.slow for o in report.obligations)
    return f"{count} obligations in {seconds:.2f} s"
