"""`argus bench`: a kernel beside what a torch user has today. GPU only."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
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
)
from argus.cli.output import Output, reporting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from argus.cli.proving import Claim
    from argus.cli.subjects import SubjectOptions
    from argus.evaluation.bench import BenchRecord
    from argus.kernels.library import Case, LibraryEntry
    from argus.model import Prediction
    from argus.requests import Request


def bench(
    name: Annotated[
        str,
        typer.Argument(
            metavar="FILE|NAME",
            help="A kernel file, or a library kernel; of a file Python is executed.",
        ),
    ],
    kernel: KernelOption = None,
    case: CaseOption = None,
    settings: SetOption = None,
    sizes: SizeOption = None,
    dtypes: DtypeOption = None,
    repeat: Annotated[
        int,
        typer.Option("--repeat", "-n", min=1, help="Timed calls of each; the median."),
    ] = 50,
    seed: SeedOption = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="JSON", help="Write the records here."),
    ] = None,
    no_proof: Annotated[
        bool, typer.Option("--no-proof", help="Time what is not proved, too.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Check and time a kernel beside its baselines, on the GPU.

    It is proved first, and what is refuted is not run; a wrong result is not timed.
    Times are medians with a cold L2 cache, in turns. Of a library kernel all large
    cases, unless --case or --size names one. A kernel of a file needs a reference, and
    has functions marked `@ag.baseline` beside it, which take torch tensors.
    """
    with reporting("bench", json_output) as out:
        from argus.cli.subjects import SubjectOptions, is_file

        selection = SubjectOptions(
            None, kernel, case, settings or (), dtypes or (), sizes or ()
        )
        how = _Timing(out, seed, repeat, no_proof)
        if is_file(name):
            how.file(name, selection)
        else:
            how.entry(name, selection)
        how.finish(output)


class _Timing:
    """Times kernels one after the other, and keeps the records."""

    def __init__(self, out: Output, seed: int, repeat: int, no_proof: bool) -> None:
        self.out, self.seed, self.repeat = out, seed, repeat
        self.no_proof = no_proof
        self.records: list[BenchRecord] = []
        self.claims: list[Claim] = []

    def file(self, path: str, selection: SubjectOptions) -> None:
        """The kernels of a file. Raises what its parts raise, AG0903 without a GPU."""
        from argus.agent.tasks.file import file_task
        from argus.cli.given_values import parse_sizes
        from argus.cli.subjects import file_subjects
        from argus.evaluation.device import require_device
        from argus.evaluation.file_bench import timed_file
        from argus.evaluation.requests import with_statics
        from argus.runs.records import FileProblem
        from argus.runtime.driver import target_of

        # Mistakes of the file and of options are told wherever it is.
        subjects = file_subjects(path, selection)
        problems = [
            file_task(
                path,
                parse_sizes(selection.sizes),
                {n: t.name for n, t in subject.request.dtypes.items()},
                subject.request.kernel.name,
                scalars=dict(subject.scalars),
                settle=False,
            ).problem
            for subject in subjects
        ]
        device = require_device("timing")
        target = target_of(device).name
        self.out.line(f"{path} on {device.name}", style="bold", indent=2)
        for subject, problem in zip(subjects, problems, strict=True):
            assert isinstance(problem, FileProblem)
            problem = problem.model_copy(update={"target": target})
            timed = timed_file(problem)
            statics = dict(subject.request.statics)
            request = with_statics(timed.request, statics)
            label = f"{path} ({problem.kernel})"
            record, claim = self._timed(
                timed.entry, timed.case, request, statics, label, device.name
            )
            sizes = " ".join(f"{n}={size}" for n, size in problem.sizes.items())
            record = replace(record, case=f"{problem.kernel} {sizes}".rstrip())
            self._add(record, claim, timed.predicted(request))
            if not timed.baselines:
                self.out.line("  nothing beside it: `@ag.baseline` marks what is timed")

    def entry(self, name: str, selection: SubjectOptions) -> None:
        """Cases of a library kernel. Raises what its parts raise."""
        from argus.cli.given_values import parse_statics
        from argus.cli.subjects import entry_cases
        from argus.diagnostics import fail
        from argus.evaluation.device import require_device
        from argus.evaluation.requests import request_for, with_statics
        from argus.kernels.entry import choose
        from argus.kernels.library import entry_named
        from argus.runtime.driver import target_of

        entry = entry_named(name)
        if selection.kernel is not None or selection.dtypes:
            what = "--dtype" if selection.kernel is None else "--kernel"
            raise fail("AG0908", None, f"`{what}` is for kernel files, not `{name}`")
        cases = entry_cases(entry, selection, entry.large)
        device = require_device("timing")
        self.out.line(f"{entry.name} on {device.name}", style="bold", indent=2)
        for one in cases:
            target = target_of(device).name
            kernel = choose(entry, one, target).kernel
            statics = parse_statics(kernel, selection.settings)
            request = with_statics(request_for(entry, one, target)[0], statics)
            label = f"{entry.name} ({one.name})"
            timed = self._timed(entry, one, request, statics, label, device.name)
            self._add(*timed)

    def _timed(
        self,
        entry: LibraryEntry,
        case: Case,
        request: Request,
        statics: Mapping[str, object],
        label: str,
        device: str,
    ) -> tuple[BenchRecord, Claim]:
        """Prove a kernel, check and time it; ``label`` names it where it fails."""
        from argus.cli.proving import proved_first
        from argus.evaluation.bench import bench as measure

        claim = proved_first(self.out, request, label, self.no_proof)
        record = measure(
            entry, case, device, seed=self.seed, rounds=self.repeat, statics=statics
        )
        return record, claim

    def _add(
        self, record: BenchRecord, claim: Claim, model: Prediction | str | None = None
    ) -> None:
        self.records.append(record)
        self.claims.append(claim)
        show_record(self.out, record, claim, model)

    def finish(self, output: Path | None) -> None:
        """The records, for the JSON object and for a file."""
        from argus.evaluation.report import bench_json, environment
        from argus.files.writing import write_json

        data = bench_json(self.records, environment(shlex.join(sys.argv)))
        data.pop("version")
        data["proofs"] = [*self.claims]
        self.out.data.update(data)
        if output is not None:
            write_json(output, {"version": 1, **data})
            self.out.line(f"written to {output}", style="dim")


def show_record(
    out: Output,
    record: BenchRecord,
    claim: Claim,
    model: Prediction | str | None = None,
) -> None:
    """One case: a line for each callable; ``claim``: what is known of the kernel.

    ``model``: what it predicts for an H200, or why it does not.
    """
    from argus.evaluation.bench import OURS
    from argus.evaluation.report import rate

    out.line(f"{record.case}: {claim}", indent=2)
    left = max(len(name) for name in record.timings)
    for name, timing in record.timings.items():
        text = f"  {name:<{left}}  {rate(record.rates[name]):>5} {record.unit}"
        text += f"  {timing.median:9.1f} µs ± {timing.iqr / 2:.1f}"
        if name in record.ratios:
            text += f"  argus is {record.ratios[name]:.3f} of it"
        elif name == OURS and record.share is not None:
            text += f"  {record.share:.0%} of peak"
        out.line(text, indent=left + 4)
    if isinstance(model, str):
        out.line(f"  {'model':<{left}}  no prediction: {model}", indent=left + 4)
    elif model is not None:
        said = f"{model.microseconds:.1f} µs predicted on an H200"
        text = f"  {'model':<{left}}  {said}, limited by {model.bottleneck}"
        out.line(text, indent=left + 4)
