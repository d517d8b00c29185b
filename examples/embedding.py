"""A gather: rows of a table by the numbers in an index tensor.

A tile of indices is loaded to registers and then used as a coordinate. An index outside
the table reads as `fill` (0), as any coordinate outside a tensor does.
"""

import argus as ag
from argus import i32


@ag.kernel
def embedding(
    Table: ag.half["V D"],
    Index: i32["P"],
    Y: ag.half["P D"],
    *,
    BP: int = 16,
    BD: int = 128,
):
    """Y[p, d] = Table[Index[p], d]."""
    P, D = Y.shape
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(D, BD))
    rows = ag.load(Index[i * BP :], (BP,), fill=-1)
    Y[i * BP :, j * BD :] = ag.load(Table[rows, j * BD :], (BP, BD))


@ag.reference
def reference(Table, Index):
    """The same in numpy."""
    return Table[Index]
