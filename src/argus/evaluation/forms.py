"""Forms of the library's kernels: those files that lead from a naive kernel to them.

for name, request in form_requests(entry, case, target): ...
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.evaluation.requests import contiguous_facts
from argus.kernels.entry import Case, LibraryEntry
from argus.kernels.library import design_spaces
from argus.lang import library as inlines
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request
from argus.runs.records import Candidate, LibraryProblem, Value

__all__ = ["form_requests"]

_LIBRARY_FILE = "kernel.py"


def form_requests(
    entry: LibraryEntry, case: Case, target: str
) -> Iterator[tuple[str, Request]]:
    """Each form that a case can have, beside the library's own; with its name.

    Static parameters are those with which the search of the design space begins.
    """
    arguments = entry.arguments(case)
    shapes = {a.name: a.shape for a in arguments}
    problem = LibraryProblem(
        entry=entry.name, sizes=dict(case.sizes), options=_options(case), target=target
    )
    for space in design_spaces():
        if entry.name not in space.entries:
            continue
        for form in space.forms.values():
            if form.file == _LIBRARY_FILE or not space.possible(form.name, problem):
                continue
            design = space.entered(form.name, problem)
            candidate = space.candidate(design, problem)
            kernel = load_kernels(form.file, candidate.source).kernels[form.kernel]
            yield (
                form.name,
                Request(
                    kernel,
                    {a.name: a.dtype for a in arguments},
                    _statics(kernel, candidate),
                    target,
                    contiguous_facts(kernel, shapes),
                ),
            )


def _options(case: Case) -> dict[str, Value]:
    """Options of a case that change what is computed, and not how."""
    return {
        n: v
        for n, v in case.options.items()
        if n.islower() and isinstance(v, bool | int | float | str)
    }


def _statics(kernel: Kernel, candidate: Candidate) -> dict[str, object]:
    kinds = {s.name: s.kind for s in kernel.signature.statics}
    return {
        n: getattr(inlines, str(v)) if kinds[n] == "inline" else v
        for n, v in candidate.statics.items()
    }
