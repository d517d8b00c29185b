"""Where: which element meets which, in every thread, iteration and block.

    obligations(program)       accessed and named, of ProgramScope.of(program)

What accesses touch is shown of every kernel; what names of dimensions say only where
terms have not decided that it is its reference. The latter follows every element of a
placed program from global memory to registers and back, at the level of bytes and
registers, and shows that those that are combined belong together
(docs/verification.md lists what is shown and what is assumed).

    values.py, kinds.py        what is known of the elements of a tile or stage
    world.py, loops.py         symbols; closed forms of scalars
    scope.py, signs.py         deciding; sampling.py: admissible sizes, to refute
    program_scope.py, place.py a program, a place in it
    walk.py, state.py          a role in program order
    carried.py, branches.py    values of loops and branches
    registers.py, elementwise.py, masks.py, reductions.py      registers
    products.py, contraction.py, operands.py                   matrix products
    transfers.py, loads.py, spread.py, storing.py              moves of data
    memory.py, slots.py        shared memory: which write a read sees
    accesses.py, stages.py, alignment.py, boxes.py     bounds, vectors, descriptors, TMA
    sums.py, split_sums.py     completeness of sums and maxima
    accumulation.py, lanes.py  what is done to parts of them; scalars.py
    shifts.py, shifting.py     numbers relative to partial maxima: online softmax
    coverage.py, order_lemmas.py, patches.py, counting.py, left_out.py
                               each output once
    annotated.py, checks.py    the author's tags, assumptions, assertions
    compare.py, findings.py    agreement of components; obligations
"""

from argus.verify.tags.accesses import accessed
from argus.verify.tags.analysis import named, obligations
from argus.verify.tags.program_scope import ProgramScope

__all__ = ["ProgramScope", "accessed", "named", "obligations"]
