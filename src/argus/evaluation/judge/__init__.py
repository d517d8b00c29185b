"""The judge of untrusted candidates: isolation, limits, verdicts, executors.

    judge.py         `Judge`, `LocalJudge`: what the optimiser calls
    executor.py      the interface of executors; local.py: processes of this machine
    process.py       one process for one task, watched from outside; worker.py: inside;
                     printed.py: what it prints
    limits.py        jobs and their limits
    subject.py       a problem as entry, case and kernel; candidate.py: a candidate as a
                     specialisation with the problem's signature
    checking.py      parse, place, prove, build, predict; equality.py: compare with a
                     kernel that is right, for all sizes
    plans.py         what is run, as records; planning.py: how that is found out
    simulating.py    correctness without a GPU: in the interpreter, at the sizes of
                     small.py, and on blocks of the problem itself
    driving.py       blocks that drive every condition; finding.py: where they are;
                     elsewhere.py: other sizes and scalars; drawing.py: numbers;
                     settings.py: all of these for a run
    agreeing.py      two kernels on the same blocks
    knobs.py         static parameters that change no result
    inspecting.py    what can be shown of a candidate: proof, stages, profile
    measuring.py     correctness and time on a GPU: launching.py, and of what was
                     planned replaying.py; gpu_lock.py: who may use it when;
                     health.py: does the GPU still work
    inputs.py, tolerance.py, speed.py: distributions, tolerances, speed of light

A kernel runs in no process but its own. A file of a candidate is parsed and never
executed.
"""

from argus.evaluation.judge.executor import Executor
from argus.evaluation.judge.judge import Judge, LocalJudge
from argus.evaluation.judge.limits import Job, Limits
from argus.evaluation.judge.local import LocalExecutor

__all__ = ["Executor", "Job", "Judge", "Limits", "LocalExecutor", "LocalJudge"]
