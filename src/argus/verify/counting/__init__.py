"""Counters that programs turn by hand, as numbers that only grow.

    with_numbers(program)    the same program, that counts on instead

turned.py       which scalars of a loop are turned, and the loop that counts
later_fills.py  which fill of a buffer a loop makes, where others were made before it
positions.py    expressions as remainders and quotients of numbers: guessed, and proved
periods.py      which periods a scalar may have
unused.py       scalars that nothing asks for any more
"""

from argus.ir.program import Program
from argus.verify.counting.later_fills import with_later_fills
from argus.verify.counting.turned import with_turned_counters

__all__ = ["with_numbers"]


def with_numbers(program: Program) -> Program:
    """The same program, in which fills and completions have numbers that grow."""
    return with_later_fills(with_turned_counters(program))
