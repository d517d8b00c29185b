"""The reward of a trial, from its verdict and the time of the kernel it changed.

A violated invariant is a negative process reward, graded by how wrong the kernel would
have been. A wrong result is 0: it says that nothing was gained, and no more. A correct
kernel has the logarithm of its speed-up over its parent, which cannot be better than
the speed of light allows.
"""

from __future__ import annotations

import math
from typing import assert_never

from argus.runs.records import Finding, JudgeVerdict

WORST = -1.0
"""A correct kernel that is far slower than its parent is no worse than a data race."""

NO_OP = -0.05

_GRADES: tuple[tuple[str, float], ...] = (
    ("AG05", -0.3),  # resources: too much shared memory, too many registers
    ("AG06", -0.3),  # the target cannot do it
    ("AG07", -0.3),  # does not build, spills
    ("AG04", -1.0),  # order: races, deadlocks
    ("AG03", -0.8),  # invariants: tags, bounds, coverage
    ("AG02", -0.5),  # shapes and types
    ("AG01", -0.5),
    ("AG00", -0.5),  # not a program of the language
)
"""By the first four characters of a finding's code."""


def reward(verdict: JudgeVerdict, parent: float | None) -> float:
    """Reward of a verdict; ``parent`` is the parent's time in microseconds."""
    match verdict.status:
        case "rejected" | "refuted" | "unbuildable":
            return min((grade(f) for f in verdict.findings), default=-0.5)
        case "unknown":
            return -0.2
        case "crashed" | "hung":
            return WORST
        case "duplicate":
            return NO_OP
        case "wrong" | "quarantined" | "failed":
            return 0.0
        case "correct":
            gained = gain(verdict, parent)
            return 0.0 if gained is None else max(WORST, gained)
        case _:
            assert_never(verdict.status)


def grade(finding: Finding) -> float:
    """The process reward of one mistake, between -1 and 0."""
    found = (g for family, g in _GRADES if finding.code.startswith(family))
    return next(found, -0.5)


def gain(verdict: JudgeVerdict, parent: float | None) -> float | None:
    """Log speed-up over the parent, capped at the speed of light; None if not known."""
    time = verdict.microseconds
    if time is None or parent is None or time <= 0.0:
        return None
    if verdict.limit_microseconds is not None:
        time = max(time, verdict.limit_microseconds)
    return math.log(parent / time)
