"""All design spaces, and which of them a problem belongs to."""

from __future__ import annotations

from typing import assert_never

from argus.agent.statics import Statics
from argus.diagnostics import fail
from argus.kernels.library import design_spaces
from argus.kernels.space import DesignSpace
from argus.runs.records import FileProblem, LibraryProblem, Problem

_LIBRARY = design_spaces()
_STATICS = Statics()

SPACES: dict[str, DesignSpace] = {s.name: s for s in (*_LIBRARY, _STATICS)}

_OF_ENTRY = {entry: space for space in _LIBRARY for entry in space.entries}


def space_for(problem: Problem) -> DesignSpace:
    """The design space of a problem.

    Raises ArgusError AG0909 for a library entry that has none.
    """
    match problem:
        case LibraryProblem():
            if problem.entry not in _OF_ENTRY:
                raise fail(
                    "AG0909",
                    None,
                    f"the library entry `{problem.entry}` has no design space",
                    help=f"those that have one are {', '.join(_OF_ENTRY)}",
                )
            return _OF_ENTRY[problem.entry]
        case FileProblem():
            return _STATICS
        case _:
            assert_never(problem)
