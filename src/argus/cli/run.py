"""`argus run`: execute a kernel, and compare it with its reference in fp64.

On a GPU if there is one, else in the interpreter. Nothing is timed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from argus.cli.options import (
    CaseOption,
    DtypeOption,
    JsonOption,
    KernelOption,
    SeedOption,
    SetOption,
    SizeOption,
    Source,
    TargetOption,
)
from argus.cli.output import Output, reporting
from argus.cli.places import chosen_place
from argus.cli.waiting import doing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from argus.cli.proving import Claim
    from argus.cli.subjects import CommandSubject, SubjectOptions
    from argus.diagnostics import Json
    from argus.evaluation.arrays import Statistics
    from argus.evaluation.oracle import OracleVerdict
    from argus.kernels.library import Case, LibraryEntry

_SHOWN = 5
"""Mistakes of one case that are printed."""


def run(
    source: Source,
    target: TargetOption = None,
    kernel: KernelOption = None,
    case: CaseOption = None,
    settings: SetOption = None,
    dtypes: DtypeOption = None,
    sizes: SizeOption = None,
    seed: SeedOption = 0,
    interpret: Annotated[
        bool, typer.Option("--interpret", help="Use the interpreter even with a GPU.")
    ] = False,
    no_proof: Annotated[
        bool, typer.Option("--no-proof", help="Run what is not proved, too.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Run a kernel on random inputs and compare it with its reference.

    A kernel is proved first, and one that is refuted is not run.
    A library kernel runs its small cases, on a GPU its first large one too. A file's
    kernel is described by its outputs: `argus test` compares it with its reference.
    Sizes that are not given are 256, or what the kernel requires, or less where tensors
    would be large.
    """
    with reporting("run", json_output) as out:
        from argus.cli.subjects import SubjectOptions, is_file
        from argus.kernels.library import entry_named

        selection = SubjectOptions(
            target, kernel, case, settings or (), dtypes or (), sizes or ()
        )
        where, on_device = chosen_place(out, target, interpret)
        if is_file(source):
            run_file(out, source, selection, seed, where, on_device, no_proof)
        else:
            entry = entry_named(source)
            run_entry(out, entry, selection, seed, where, on_device, no_proof)


def run_entry(
    out: Output,
    entry: LibraryEntry,
    selection: SubjectOptions,
    seed: int,
    where: str,
    on_device: bool,
    no_proof: bool = False,
) -> None:
    """Run cases of a library entry, and show each verdict."""
    from argus.cli.subjects import entry_cases

    default = (*entry.small, *entry.large[:1]) if on_device else entry.small
    cases = entry_cases(entry, selection, default)
    out.line(f"{entry.name} in {where}, seed {seed}", style="bold", indent=2)
    results: list[Json] = []
    out.data["entry"] = entry.name
    for case in cases:
        results.append(_case(out, entry, case, selection, seed, on_device, no_proof))
    out.data["cases"] = results


def _case(
    out: Output,
    entry: LibraryEntry,
    case: Case,
    selection: SubjectOptions,
    seed: int,
    on_device: bool,
    no_proof: bool,
) -> Json:
    from argus.cli.given_values import parse_statics
    from argus.cli.proving import proved_first
    from argus.cli.subjects import entry_target
    from argus.evaluation.device import run_on_device
    from argus.evaluation.requests import request_for, with_statics
    from argus.evaluation.simulate import simulate
    from argus.kernels.entry import choose

    target = entry_target(entry, selection.target)
    statics = parse_statics(choose(entry, case, target).kernel, selection.settings)
    request = with_statics(request_for(entry, case, target)[0], statics)
    claim = proved_first(out, request, f"{entry.name} ({case.name})", no_proof)
    with doing(out, f"running {entry.name} ({case.name})"):
        if on_device:
            verdict = run_on_device(entry, case, seed=seed, statics=statics)
            why: Sequence[str] = verdict.why()
        else:
            done = simulate(entry, case, target, seed=seed, statics=statics)
            verdict, why = done.verdict, done.why()
    if why:
        out.fail()
    word = "wrong" if why else "ok"
    style = "bold red" if why else "green"
    limit = f"tolerance {entry.tolerance:.0e}"
    out.line(
        f"{word:<7}{case.name}: error {verdict.error:.1e}, {limit}; {claim}",
        style=style,
        indent=7,
    )
    show_mistakes(out, why)
    return {
        "case": case.name,
        "sizes": dict(case.sizes),
        "ok": not why,
        "proof": claim,
        "why": list(why),
        "tolerance": entry.tolerance,
        **_verdict(verdict),
    }


def show_mistakes(out: Output, why: Sequence[str]) -> None:
    """The first few mistakes of a run, indented."""
    for text in why[:_SHOWN]:
        for line in text.splitlines():
            out.line(f"       {line}", indent=9)
    if len(why) > _SHOWN:
        out.line(f"       and {len(why) - _SHOWN} more")


def _verdict(verdict: OracleVerdict) -> dict[str, Json]:
    return {
        "outputs": {
            o.name: {
                "error": o.error,
                "unwritten": o.unwritten,
                "outliers": o.outliers,
                "elements": o.elements,
            }
            for o in verdict.outputs
        },
        "changed_inputs": list(verdict.changed),
    }


def run_file(
    out: Output,
    source: str,
    selection: SubjectOptions,
    seed: int,
    where: str,
    on_device: bool,
    no_proof: bool = False,
) -> None:
    """Run the kernels of a file, and describe their outputs."""
    from dataclasses import replace

    from argus.cli.given_values import parse_sizes
    from argus.cli.proving import proved_first
    from argus.cli.subjects import file_subjects
    from argus.equivalence.references import reference_of
    from argus.evaluation.loose import admitted

    found: list[Json] = []
    references: list[str] = []
    given = parse_sizes(selection.sizes)
    for each in file_subjects(source, selection):
        request, sizes = admitted(each.request, each.sizes, given)
        subject = replace(each, request=request, sizes=sizes)
        declared = reference_of(request.kernel)
        references += [] if declared is None else [declared.name]
        claim = proved_first(out, subject.request, subject.label, no_proof)
        found.append(_observe(out, subject, seed, where, on_device, claim))
    out.data["kernels"] = found
    out.line(
        f"Nothing was compared with the reference: `argus test {source}` does that."
        if references
        else "Nothing was compared: the file has no `@ag.reference` for `argus test`.",
        style="dim",
    )


def _observe(
    out: Output,
    subject: CommandSubject,
    seed: int,
    where: str,
    on_device: bool,
    claim: Claim,
) -> Json:
    from argus.evaluation.loose import observe, scalars_of
    from argus.evaluation.memory import in_words

    kernel = subject.request.kernel
    scalars = scalars_of(kernel, subject.scalars)
    with doing(out, f"running {subject.label}"):
        seen = observe(
            subject.request, subject.sizes, scalars, seed=seed, on_device=on_device
        )
    if not seen.ok:
        out.fail()
    sizes = ", ".join(f"{d}={n}" for d, n in subject.sizes.items())
    out.line(
        f"{kernel.name} in {where}: {sizes}; {in_words(seen.bytes)}; {claim}",
        style="bold",
        indent=2,
    )
    for name, s in seen.outputs.items():
        out.line(
            f"  {name}: {s.elements} elements, {s.unwritten} not written, from "
            f"{s.minimum:.4g} to {s.maximum:.4g}, mean {s.mean:.4g}, rms {s.rms:.4g}",
            indent=4,
        )
    mistakes = [str(fault) for fault in seen.faults]
    mistakes += [f"the input {name} was overwritten" for name in seen.changed]
    show_mistakes(out, mistakes)
    return {
        "kernel": kernel.name,
        "ok": seen.ok,
        "proof": claim,
        "sizes": dict(subject.sizes),
        "bytes": seen.bytes,
        "scalars": dict(scalars),
        "outputs": {n: _statistics(s) for n, s in seen.outputs.items()},
        "why": list(mistakes),
    }


def _statistics(s: Statistics) -> Json:
    return {
        "elements": s.elements,
        "unwritten": s.unwritten,
        "min": s.minimum,
        "max": s.maximum,
        "mean": s.mean,
        "rms": s.rms,
    }
