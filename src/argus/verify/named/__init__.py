"""What terms say of a kernel that has no reference, as far as names of dimensions tell.

    found = judged(program, denotation)
    found.sound      each output element is made of what the names say, each once
    found.faults     what no meaning of the kernel can explain, with sizes

Without a reference nobody has said what a kernel is to compute, and a rule on names can
only suspect: a window adds neighbours, a triangular loop leaves coordinates out. Two
things are certain.

- Sound: an element of an output reads each dimension of its inputs at its own
  coordinate of that name, or in a sum or maximum over all of the dimension, once.
- The tile shows: what an element is changes where a tile ends, though no size that the
  author has written says so. How a tensor is cut into tiles is no part of any meaning.

Everything else is neither.

    judging.py        the outputs of a denotation
    sound.py          each coordinate once, by names
    faults.py         sums that repeat tiles, leave out ends, count tiles, mix them
    steps.py          whether a set changes with a number only where a tile ends
    tiles.py          the sizes of tiles, and those that mean something
"""

from argus.verify.named.judging import NamedTerms, judged

__all__ = ["NamedTerms", "judged"]
