"""All families, and which of them a problem belongs to."""

from __future__ import annotations

from typing import assert_never

from argus.agent.families.attention import Attention
from argus.agent.families.family import Family
from argus.agent.families.gemm import Gemm
from argus.agent.families.grouped import Grouped
from argus.agent.families.norms import RmsNorm, Softmax
from argus.agent.families.statics import Statics
from argus.diagnostics import fail
from argus.runs.records import FileProblem, LibraryProblem, Problem

FAMILIES: dict[str, Family] = {
    f.name: f for f in (Gemm(), Softmax(), RmsNorm(), Attention(), Grouped(), Statics())
}

_ENTRIES = {
    "gemm": "gemm",
    "gemm_sm80": "gemm",
    "softmax": "softmax",
    "rmsnorm": "rmsnorm",
    "attention": "attention",
    "grouped": "grouped",
}


def family_of(problem: Problem) -> Family:
    """The design space of a problem.

    Raises ArgusError AG0909 for a library entry that there is not.
    """
    match problem:
        case LibraryProblem():
            if problem.entry not in _ENTRIES:
                known = ", ".join(_ENTRIES)
                raise fail(
                    "AG0909",
                    None,
                    f"no family of kernels has the library entry `{problem.entry}`",
                    help=f"there are families for {known}",
                )
            return FAMILIES[_ENTRIES[problem.entry]]
        case FileProblem():
            return FAMILIES["statics"]
        case _:
            assert_never(problem)
