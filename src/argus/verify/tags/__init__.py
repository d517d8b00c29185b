"""Where: which element meets which, in every thread, iteration and block.

    obligations(program)

Follows every element of a placed program from global memory to registers and back, at
the level of bytes and registers, and shows that those that are combined belong together
(docs/verification.md lists what is shown and what is assumed).

    values.py      what is known of the elements of a tile or stage
    world.py       symbols; loops.py: closed forms of scalars; scope.py: deciding
    sampling.py    admissible sizes, to find counterexamples
    walk.py        a role in program order; carried.py: values of loops
    registers.py, reductions.py, products.py, operands.py    operations on registers
    transfers.py, memory.py, storing.py, alignment.py        moves of data
    sums.py        completeness of sums; coverage.py: each output once
"""

from argus.verify.tags.analysis import obligations

__all__ = ["obligations"]
