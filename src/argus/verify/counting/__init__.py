"""Counters that programs turn by hand, as numbers that only grow.

    with_turned_counters(program)    the same program, that counts on instead

turned.py      which scalars of a loop are turned, and the loop that counts
positions.py   expressions as remainders and quotients of numbers: guessed, and proved
periods.py     which periods a scalar may have
unused.py      scalars that nothing asks for any more
"""

from argus.verify.counting.turned import with_turned_counters

__all__ = ["with_turned_counters"]
