"""`argus check`: is this a kernel, and can the target honour it? Nothing is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from argus.cli.output import Output, exit_code, reporting

if TYPE_CHECKING:
    from argus.cli.subjects import Subject
    from argus.diagnostics import Diagnostic, Json


def check(
    source: Source,
    target: TargetOption = None,
    kernel: KernelOption = None,
    case: CaseOption = None,
    settings: SetOption = None,
    dtypes: DtypeOption = None,
    sizes: SizeOption = None,
    json_output: JsonOption = False,
) -> None:
    """Parse, type and place kernels, and show every mistake.

    Exits with 1 if a kernel is wrong.
    """
    with reporting("check", json_output) as out:
        from argus.cli.subjects import Selection, subjects

        selection = Selection(
            target, kernel, case, settings or (), dtypes or (), sizes or ()
        )
        seen: set[Diagnostic] = set()
        results = [_check(out, one, seen) for one in subjects(source, selection)]
        out.data["kernels"] = list(results)
        wrong = sum(not r["ok"] for r in results)
        if wrong:
            out.line(f"{wrong} of {len(results)} wrong", style="bold red")


def _check(out: Output, subject: Subject, seen: set[Diagnostic]) -> dict[str, Json]:
    from argus.compiler import placed_program
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
    }
    try:
        program = placed_program(request)
    except ArgusError as error:
        # Several cases of one entry often have the same mistake: it is shown once.
        fresh = [d for d in error.diagnostics if d not in seen]
        seen.update(fresh)
        out.line(
            f"wrong  {subject.label}{'' if fresh else ': as above'}",
            style="bold red",
            indent=7,
        )
        out.show(fresh, error=False)
        out.line()
        out.fail(exit_code(error.diagnostics))
        result["ok"] = False
        return result
    result["threads"] = 32 * program.warps
    result["shared_bytes"] = program.shared_bytes
    result["cluster"] = program.cluster
    facts = f"{32 * program.warps} threads, {program.shared_bytes} bytes shared"
    if program.cluster > 1:
        facts += f", clusters of {program.cluster}"
    out.line(f"ok     {subject.label}: {facts}", indent=7)
    return result
