"""Proving what a command is about to execute, and saying what came of it.

As a call of a kernel does (`compiler.require_right`): what is refuted is not executed,
what is not decided is, with a warning. Verdicts come from the cache where they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from argus.cli.waiting import doing

if TYPE_CHECKING:
    from argus.cli.output import Output
    from argus.requests import Request

__all__ = ["Claim", "proved_first"]

Claim = Literal["proved", "unknown", "not checked"]


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
        right = prove(request).report.verdict is Verdict.PROVED
    return "proved" if right else "unknown"
