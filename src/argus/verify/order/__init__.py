"""When things happen: races, stale reads, deadlock, phases, counts, fences.

    obligations(program)    what is to be shown of a placed program, and whether it is

A placed program is walked with concrete sizes, all roles of a cluster together; what
each warp knows to have happened, in that one run, tells what is ordered in every
schedule. A few trip counts stand for all, because the joint state of the roles repeats;
where all sequences of iterations lead to few joint states, these are walked instead.

control_dependence.py     what decides the course of a program, and what must hold for
                          it to repeat; events.py: which operations are ordered;
                          scalar_sources.py: where scalars come from; shifting.py:
                          which of them repeat
peeling.py                conditions that change in the first and last iterations;
                          table_skips.py: those that leave tiles out in all roles
sizes.py, size_steps.py   concrete sizes for trip counts, and their steps; course.py:
                          what a block does at given sizes; usual_sizes.py: sizes
                          where none is varied;
                          nested_loops.py: sizes that need not be varied;
                          partial_tiles.py: sizes of less than a tile
size_relations.py         whether multiples of tiles stand for all sizes
trip_count.py             trip counts of loops whose bounds change with an outer loop
dependent_trip_counts.py  trip counts that differ in each iteration of an outer loop,
                          or from role to role, as functions of numbers
                          (loop_counts.py), which branches ask for, too
                          (branch_tests.py); trip_count_sequences.py: all sequences of
                          these, as a graph of states (joint_state.py,
                          counter_families.py, liveness.py); trip_count_choices.py:
                          whether a loop iterates once more; choice_places.py: where
                          that is asked; clusters.py: whether blocks of a cluster
                          iterate alike
unusual_sizes.py          sizes at which trip counts differ as they do nowhere else
slicing.py                the operations that matter; block_classes.py: blocks that
                          have the same course
clock.py, state.py        moments, and who knows of them; groups, accesses; barriers
                          (barrier_state.py);
                          async_groups.py: copies and products in flight
walk.py                   the walk: control flow; memory.py, syncs.py: its operations,
                          in a machine.py; scalars.py, footprint.py: values and bytes
fills.py                  which fill of a buffer an access belongs to
finding.py                what a walk finds wrong
accesses.py, barriers.py  what may be wrong with an access, and with a barrier;
                          registers.py: with registers in flight; block_exit.py: at the
                          end of a block; deadlock.py: where nobody can go on
register_budgets.py       who waits for registers (setmaxnreg)
turning.py                rings whose slots are told apart by a counter alone;
                          slot_names.py: what slots are called then, turned_names.py:
                          in walks at given sizes
snapshot.py               the joint state; recurrence.py: where it repeats;
                          extrapolation.py: all trip counts from finitely many walks,
                          of blocks at given sizes (size_walks.py)
in_place.py               tensors that are read and written; cross_block.py: by
                          different blocks; sequential.py: in program order
limits.py                 what a launch fixes and hardware counts
rules.py                  obligations; sharing.py: of programs with the same order
axioms.py                 what is taken for granted beyond the PTX memory model
"""

from argus.verify.order.axioms import AXIOMS, Axiom
from argus.verify.order.rules import obligations
from argus.verify.order.sharing import SharedOrder

__all__ = ["AXIOMS", "Axiom", "SharedOrder", "obligations"]
