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
    facets.py      the ways in which conditions of a program can turn out
    decisions.py   what decides in a scalar expression, and element by element
    search.py      a block in which a condition turns out in a given way
"""

from argus.evaluation.tiles.execute import Run, Stuck, Unmodelled, run_blocks
from argus.evaluation.tiles.facets import Facet, Facets
from argus.evaluation.tiles.search import Place, Sizes, other_sizes, places, writers
from argus.evaluation.tiles.tensors import Drawn, Held, Tensor, Written

__all__ = [
    "Drawn",
    "Facet",
    "Facets",
    "Held",
    "Place",
    "Run",
    "Sizes",
    "Stuck",
    "Tensor",
    "Unmodelled",
    "Written",
    "other_sizes",
    "places",
    "run_blocks",
    "writers",
]
