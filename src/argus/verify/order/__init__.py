"""When things happen: races, stale reads, deadlock, phases, counts, fences.

    obligations(program)    what is to be shown of a placed program, and whether it is

A placed program is walked with concrete sizes, all roles of a cluster together; what
each warp knows to have happened, in that one run, tells what is ordered in every
schedule. A few trip counts stand for all, because the joint state of the roles repeats.

control.py     what decides the course of a program, and what must be for it to repeat;
               flips.py: conditions that change near the ends of a loop; events.py
sizes.py       concrete sizes for trip counts; tiles.py: their steps
relations.py   whether multiples of tiles stand for all sizes; lengths.py: how often
               loops turn whose beginnings change; free.py: all trip counts
varying.py     loops that turn differently often in each turn of another;
               sequences.py: all sequences of their numbers, as a graph of states
               joint.py      states of different walks, compared
               families.py   numbers that grow together; alive.py: those that matter
               choices.py    whether a loop turns once more
prune.py       the operations that matter
clock.py       moments, and who knows of them; state.py, queues.py: groups, barriers,
               accesses, copies in flight
walk.py        the walk: control flow; memory.py, syncs.py: its operations, in a
               machine.py; scalars.py, footprint.py: values and bytes
fills.py       which fill of a buffer an access belongs to
accesses.py    what may be wrong with an access; barriers.py, registers.py, ending.py,
               stuck.py: with a barrier, with registers in flight, at the end, for ever
budgets.py     who waits for registers (setmaxnreg)
snapshot.py    the joint state; watch.py, period.py: where it repeats
arrays.py      tensors that are read and written; elsewhere.py: by different blocks
limits.py      what a launch fixes and hardware counts
rules.py       obligations
axioms.py      what is taken for granted beyond the PTX memory model
"""

from argus.verify.order.axioms import AXIOMS, Axiom
from argus.verify.order.rules import obligations

__all__ = ["AXIOMS", "Axiom", "obligations"]
