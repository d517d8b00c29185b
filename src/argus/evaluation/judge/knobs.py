"""Static parameters of a user's kernel that may be searched: they change no result.

A parameter may be the size of a tile, or a window, a mask or a constant. So the kernel
with another value is compared with the kernel as it is: as terms, for all sizes
(`equality.py`), and where that decides nothing, on blocks that drive the conditions of
both (`driving.py`). What disagrees is no knob, nor is what could not be decided. The
reference is not executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from argus.diagnostics import ArgusError
from argus.equivalence.programs import programs_of
from argus.evaluation.judge.agreeing import declared_tolerance
from argus.evaluation.judge.driving import Effort, driven
from argus.evaluation.judge.equality import compared_with
from argus.evaluation.judge.subject import Subject, own_request, subject_of
from argus.runs.records import FileProblem, Value

__all__ = ["settled"]

_EFFORT = Effort(usual=0.1, most=4.0, search=1.0)
_SECONDS = 4.0
"""CPU time of comparing the kernel with itself at another value, as terms."""


def settled(
    problem: FileProblem, values: Mapping[str, Sequence[Value]]
) -> dict[str, str]:
    """Parameters that are no knobs, and why; ``values``: others that each would take.

    Raises ArgusError for a problem that cannot be judged.
    """
    subject = subject_of(problem, reference=False)
    found: dict[str, str] = {}
    for name, others in values.items():
        why = _why_not(subject, name, others)
        if why:
            found[name] = why
    return found


def _why_not(subject: Subject, name: str, values: Sequence[Value]) -> str:
    """Why a parameter is no knob; empty if results agree at every value it takes."""
    request = own_request(subject)
    tolerances = declared_tolerance(subject)
    own = f"`{request.kernel.name}` as it is"
    compared = 0
    for value in values:
        other = replace(request, statics={**request.statics, name: value})
        try:
            programs = programs_of(other)
            known = compared_with(other, programs, request, own, subject, _SECONDS)
            if known.witness is not None:
                said = known.witness.message
                return f"the result is another at {name}={value}: {said}"
            if known.decided.equal:
                compared += 1
                continue
            made = driven(subject, other, tolerances, _EFFORT)
        except ArgusError:
            continue  # the kernel does not take this value
        if made.found is not None:
            return f"the result is another at {name}={value}: {made.found.why()}"
        if made.why or made.missed:
            reason = made.why or f"not driven: {made.missed[0]}"
            return f"whether {name}={value} changes the result is open ({reason})"
        compared += 1
    return "" if compared or not values else "the kernel takes no other value"
