"""Facts of a problem that conditions of knowledge entries are evaluated on."""

from __future__ import annotations

from argus.kernels.library import LIBRARY, Case
from argus.runs.records import Candidate, LibraryProblem, Value


def library_features(problem: LibraryProblem, start: Candidate) -> dict[str, Value]:
    """Sizes, types, work, options, and the design of the start.

    Every size by its dimension's name; ``flops``, ``bytes`` and ``intensity``, their
    quotient; each option as a truth value.
    """
    entry = LIBRARY[problem.entry]
    case = Case("", problem.sizes, problem.options)
    work = entry.work(case)
    first = entry.arguments(case)[0]
    words = [w for w in problem.options if w.islower()]
    return {
        "entry": problem.entry,
        "target": problem.target,
        "dtype": first.dtype.name,
        **problem.sizes,
        **dict.fromkeys(words, True),
        "flops": work.flops,
        "bytes": work.bytes,
        "intensity": work.flops / work.bytes,
        **start.design,
    }
