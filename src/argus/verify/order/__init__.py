"""When things happen: races, stale reads, deadlock, phases, counts, fences.

    obligations(program)    what is to be shown of a placed program, and whether it is

A placed program is walked with concrete sizes, all roles of a cluster together; vector
clocks over that one run tell what is ordered in every schedule. A few trip counts stand
for all, because the joint state of the roles repeats.

control.py     what decides the course of a program; what must be for it to repeat
sizes.py       concrete sizes for trip counts
walk.py        the walk; barriers.py, accesses.py, registers.py, ending.py its rules
snapshot.py    the joint state; watch.py, period.py where it repeats
rules.py       obligations
axioms.py      what is taken for granted beyond the PTX memory model
"""

from argus.verify.order.axioms import AXIOMS, Axiom
from argus.verify.order.rules import obligations

__all__ = ["AXIOMS", "Axiom", "obligations"]
