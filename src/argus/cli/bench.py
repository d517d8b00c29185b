"""`argus bench`: a library kernel beside what a torch user has today. GPU only."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from argus.cli.options import (
    CaseOption,
    JsonOption,
    SeedOption,
    SetOption,
    SizeOption,
)
from argus.cli.output import Output, reporting

if TYPE_CHECKING:
    from argus.cli.proving import Claim
    from argus.diagnostics import Json
    from argus.evaluation.bench import BenchRecord


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A library kernel.")],
    case: CaseOption = None,
    settings: SetOption = None,
    sizes: SizeOption = None,
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
    """Check and time a library kernel beside its baselines, on the GPU.

    It is proved first, and what is refuted is not run.
    All large cases, unless --case or --size names one.
    """
    with reporting("bench", json_output) as out:
        from argus.cli.proving import proved_first
        from argus.cli.subjects import (
            SubjectOptions,
            entry_cases,
            entry_named,
            parse_statics,
        )
        from argus.evaluation.bench import bench as measure
        from argus.evaluation.device import require_device
        from argus.evaluation.report import bench_json, environment
        from argus.evaluation.requests import request_for, with_statics
        from argus.files.writing import write_json
        from argus.kernels.entry import choose
        from argus.runtime.driver import target_of

        entry = entry_named(name)
        selection = SubjectOptions(
            case=case, settings=settings or (), sizes=sizes or ()
        )
        cases = entry_cases(entry, selection, entry.large)
        device = require_device("timing")
        out.line(f"{entry.name} on {device.name}", style="bold", indent=2)
        records: list[BenchRecord] = []
        claims: list[Claim] = []
        for one in cases:
            target = target_of(device).name
            kernel = choose(entry, one, target).kernel
            statics = parse_statics(kernel, selection.settings)
            request = with_statics(request_for(entry, one, target)[0], statics)
            claim = proved_first(out, request, f"{entry.name} ({one.name})", no_proof)
            record = measure(
                entry, one, device.name, seed=seed, rounds=repeat, statics=statics
            )
            records.append(record)
            claims.append(claim)
            show_record(out, record, claim)
        data = bench_json(records, environment(shlex.join(sys.argv)))
        data.pop("version")
        data["proofs"] = list[Json](claims)
        out.data.update(data)
        if output is not None:
            write_json(output, {"version": 1, **data})
            out.line(f"written to {output}", style="dim")


def show_record(out: Output, record: BenchRecord, claim: Claim) -> None:
    """One case: a line for each callable; ``claim``: what is known of the kernel."""
    from argus.evaluation.bench import OURS
    from argus.evaluation.report import rate

    out.line(f"{record.case}: {claim}", indent=2)
    left = max(len(name) for name in record.timings)
    for name, timing in record.timings.items():
        text = f"  {name:<{left}}  {rate(record.rates[name]):>5} {record.unit}"
        text += f"  {timing.median:9.1f} µs"
        if name in record.ratios:
            text += f"  argus is {record.ratios[name]:.3f} of it"
        elif name == OURS and record.share is not None:
            text += f"  {record.share:.0%} of peak"
        out.line(text, indent=left + 4)
