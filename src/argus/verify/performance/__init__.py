"""What a placed program costs beyond being right: counted, never timed.

    obligations(program) -> findings with severity "slow"
    measure(program)     -> the worst number of each kind, for `ag.expect`

bank_conflicts.py   wavefronts of shared accesses, exactly
coalescing.py       sectors of global requests
resources.py        occupancy
sites.py            the accesses, and the values of sizes at which they are counted
"""

from argus.verify.performance.analysis import PerformanceFacts, measure, obligations
from argus.verify.performance.findings import PerformanceFinding

__all__ = ["PerformanceFacts", "PerformanceFinding", "measure", "obligations"]
