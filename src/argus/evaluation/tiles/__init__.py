"""Chosen blocks of a problem of any size, run on whole tiles; no GPU.

The interpreter (`argus.interpret`) executes placed programs as threads and registers,
which shows races, and takes seconds for a block of a large problem. Here a program as
it was typed is executed on its tiles, in milliseconds, and its tensors need not exist:
inputs are computed where they are read, and of outputs only what was written is kept.
It shows which values come out, and which conditions turned out how; that placing and
order are right is shown elsewhere.

    tensors.py     inputs drawn where they are read; outputs as far as they are written
    execute.py     blocks, roles, control flow, memory
    order.py       rings, barriers, named syncs
    values.py      what the operations on tiles compute
    facets.py      which ways of conditions to turn out were seen; one is a facet.py
    collecting.py  the facets of a program; meaning.py: which are the same in another
    decisions.py   what decides in a scalar expression, and element by element
    search.py      a block in which a condition turns out in a given way
    solving.py     the same, and other sizes, by the verifier's procedures
    writers.py     blocks that store an element
    endings.py     how a run may end before its blocks do
"""

from argus.clock import now
from argus.evaluation.tiles.collecting import indexing
from argus.evaluation.tiles.endings import NotExecutable, Stuck
from argus.evaluation.tiles.execute import MANY, ExecutedBlocks, run_blocks
from argus.evaluation.tiles.facet import Facet
from argus.evaluation.tiles.facets import Facets
from argus.evaluation.tiles.search import Place, places
from argus.evaluation.tiles.solving import ChosenSizes, conditions, other_sizes
from argus.evaluation.tiles.tensors import BlockTensor, Drawn, IndexTable, Written
from argus.evaluation.tiles.writers import writers

__all__ = [
    "MANY",
    "BlockTensor",
    "ChosenSizes",
    "Drawn",
    "ExecutedBlocks",
    "Facet",
    "Facets",
    "IndexTable",
    "NotExecutable",
    "Place",
    "Stuck",
    "Written",
    "conditions",
    "indexing",
    "now",
    "other_sizes",
    "places",
    "run_blocks",
    "writers",
]
