"""What one candidate may cost, and the jobs that the judge hands to an executor.

Nothing is enforced here: `process` kills at the times, `worker` sets the memory limit.
"""

from __future__ import annotations

from typing import Literal

from argus.evaluation.judge.plans import Plan
from argus.runs.records import Candidate, Problem, StrictModel

JobKind = Literal["check", "simulate", "evaluate"]
"""check: parse, prove, build, predict. simulate: then correctness in the interpreter,
though there be a GPU. evaluate: correctness and time on a GPU if there is one."""

View = Literal["", "proof", "tile", "placed", "cuda", "sass", "profile"]
"""What is to be shown of a candidate (`inspecting`); "": nothing, it is judged."""


class Limits(StrictModel):
    """Hard limits of one candidate. Seconds are wall clock, bytes those of a process.

    ``parse``, ``verify``, ``build``: seconds of each stage without a GPU (``build``
    with the prediction of the time).
    ``equal``: seconds of comparing it as terms, which gives up long before.
    ``simulate``: seconds of the interpreter and of blocks on tiles, which end
    themselves long before, by the time of their thread.
    ``run``: seconds of the stages on the GPU, with making inputs and the oracle.
    ``launch``: seconds of a first launch of the candidate, after which it counts as
    hung.
    ``wait``: seconds that it may wait for the lock of a GPU that others use.
    ``memory``: address space that a process without a GPU may add to what it begins
    with (CUDA reserves terabytes, so that there can be no such limit with one).
    ``timing``: seconds of the device that timing may take; ``rounds`` is the largest,
    ``fewest`` the smallest number of timed calls.
    ``source``: most characters of a file. ``seeds``: runs of the interpreter for the
    small case that has tails.
    """

    parse: float = 20.0
    verify: float = 60.0
    equal: float = 60.0
    build: float = 120.0
    simulate: float = 180.0
    run: float = 90.0
    launch: float = 10.0
    wait: float = 900.0
    memory: int = 8 << 30
    source: int = 1_000_000
    timing: float = 0.6
    rounds: int = 60
    fewest: int = 5
    seeds: int = 2


class Job(StrictModel):
    """One candidate to judge.

    ``hung`` are programs (``Verdict.program``) that are not to be run again. ``prove``
    is switched off by tests only, which want wrong kernels to reach the device:
    nothing is then proved, and nothing planned, and a candidate may store and assume
    what it likes. ``plan``: what to launch besides the problem itself.
    ``undecided``: why it is not to be compared as terms again, if so.
    ``view``: what to show of it, where that is all that is wanted.
    """

    kind: JobKind
    problem: Problem
    candidate: Candidate
    limits: Limits = Limits()
    hung: frozenset[str] = frozenset()
    prove: bool = True
    plan: Plan | None = None
    undecided: str = ""
    view: View = ""
