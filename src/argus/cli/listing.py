"""`argus list`: the library's kernels, and the cases of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from argus.cli.options import JsonOption
from argus.cli.output import Output, reporting

if TYPE_CHECKING:
    from argus.diagnostics import Json
    from argus.kernels.library import Case, LibraryEntry


def list_library(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show the cases of this one.")
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """List library kernels, or the numbered cases of one."""
    with reporting("list", json_output) as out:
        from argus.kernels.library import LIBRARY, entry_named

        entries = list(LIBRARY.values()) if name is None else [entry_named(name)]
        out.data["entries"] = [_entry(entry) for entry in entries]
        if name is not None:
            _show_cases(out, entries[0])
            return
        left = max(len(entry.name) for entry in entries) + 2
        for entry in entries:
            text = f"{entry.name:<{left}}{entry.title}"
            out.line(f"{text} [{', '.join(entry.targets)}]", indent=left)
        out.line()
        out.line("`argus list NAME` shows the cases of one.")


def _show_cases(out: Output, entry: LibraryEntry) -> None:
    from argus.cli.subjects import cases_of

    out.line(f"{entry.name}: {entry.title}", style="bold", indent=2)
    out.line(f"targets {', '.join(entry.targets)}", indent=2)
    for number, case in enumerate(cases_of(entry)):
        if number == 0:
            out.line("small cases, for the interpreter:")
        if number == len(entry.small):
            out.line("large cases, for the GPU:")
        out.line(f"  {number:>2}  {case.name}", indent=6)


def _entry(entry: LibraryEntry) -> Json:
    from argus.cli.subjects import entry_target

    target = entry_target(entry, None)
    cases = [*((c, "small") for c in entry.small), *((c, "large") for c in entry.large)]
    return {
        "name": entry.name,
        "title": entry.title,
        "targets": list(entry.targets),
        "tolerance": entry.tolerance,
        "memory_bound": entry.memory_bound,
        "kernels": list(dict.fromkeys(_kernel(entry, c, target) for c, _ in cases)),
        "cases": [
            {
                "number": number,
                "name": case.name,
                "group": group,
                "sizes": dict(case.sizes),
            }
            for number, (case, group) in enumerate(cases)
        ],
    }


def _kernel(entry: LibraryEntry, case: Case, target: str) -> str:
    return entry.choose(case, target).kernel.name
