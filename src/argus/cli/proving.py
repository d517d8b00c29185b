"""Proving what a command is about to execute, and saying what came of it.

As a call of a kernel does (`compiler.require_right`): what is refuted is not executed,
what is not decided is, with a warning. Verdicts come from the cache where they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from argus.cli.waiting import doing

if TYPE_CHECKING:
    from argus.cli.output import Output
    from argus.cli.subjects import CommandSubject
    from argus.compiler import Proof
    from argus.requests import Request

__all__ = ["Claim", "proof_of", "proved_first"]

Claim = Literal["equal", "proved", "unknown", "not checked"]


def proved_first(out: Output, request: Request, label: str, no_proof: bool) -> Claim:
    """What is known of a specialisation before it is executed.

    "unknown" is told by a warning; "not checked" is with ``no_proof`` or
    ``ARGUS_CHECK=0``. Raises ArgusError (an ErrorList) if it is refuted.
    """
    from argus.compiler import checking, prove, require_right
    from argus.verify.verdict import Verdict

    if no_proof or not checking():
        return "not checked"
    with doing(out, f"proving {label}"):
        require_right(request)
        verdict = prove(request).report.verdict
    if verdict >= Verdict.PROVED:
        return "equal" if verdict is Verdict.EQUAL else "proved"
    return "unknown"


def proof_of(subject: CommandSubject, *, fresh: bool = False) -> Proof:
    """What the verifier says of a subject, and of its reference.

    Raises ArgusError for what parsing and placing find.
    """
    known = None if fresh else _kept(subject)
    if known is not None:
        return known
    from argus.evaluation.proving import proved, proved_all, proved_case

    request = subject.request
    if subject.entry is not None and subject.case is not None:
        return proved_case(request, subject.entry, subject.case, fresh=fresh)
    if subject.space is None:
        return proved(request, fresh=fresh)
    return proved_all(
        request.kernel, request.statics, request.target, subject.space, fresh=fresh
    )


def _kept(subject: CommandSubject) -> Proof | None:
    """The verdict on disk; nothing is imported to read it that makes verdicts."""
    from argus.evaluation.kept import kept_all, kept_case

    request = subject.request
    if subject.entry is not None and subject.case is not None:
        return kept_case(request, subject.entry, subject.case)
    if subject.space is None:
        return None
    return kept_all(request.kernel, request.statics, request.target, subject.space)
