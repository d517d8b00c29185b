"""The forms of a library kernel as subjects of a command."""

from __future__ import annotations

from argus.cli.subjects import (
    CommandSubject,
    SubjectOptions,
    cases_of,
    entry_cases,
    entry_target,
)
from argus.evaluation.forms import form_requests
from argus.kernels.library import entry_named

__all__ = ["form_subjects"]


def form_subjects(name: str, selection: SubjectOptions) -> list[CommandSubject]:
    """Each form that is not the library's own, once for each manner of the cases.

    None where options choose static parameters or a kernel. Raises ArgusError like
    `entry_subjects`.
    """
    if selection.settings or selection.kernel is not None:
        return []
    entry = entry_named(name)
    target = entry_target(entry, selection.target)
    found: dict[object, CommandSubject] = {}
    for case in entry_cases(entry, selection, cases_of(entry)):
        words = frozenset(word for word in case.options if word.islower())
        for form, request in form_requests(entry, case, target):
            subject = CommandSubject(request, case, entry=entry)
            found.setdefault((form, words), subject)
    return list(found.values())
