"""Denotation: what a tile program stores, as terms over its inputs, for all sizes.

    world = World()
    found = denote(tile_program(request), world)
    for store in found.stores:
        print(store.tensor.name, store.coords, store.value)

The program is walked once, with blocks, iterations and sizes as variables; what it
computes are terms of `argus.terms`. Nothing is guessed and nothing is dropped: what is
not modelled is lost, with a reason, together with all that is made of it. Tiles have no
threads here: that placing keeps what a tile is, and that accesses are ordered
(`argus.verify.order`), is shown elsewhere.

    denote.py                     roles, passes, what is handed on
    result.py                     stores
    state.py, protocols.py        what a walk knows at a place, and asks of others
    walk.py                       one operation after the other
    scalars.py, cases.py          scalar expressions; values put together
    registers.py                  register tiles, element by element
    observed.py                   where whole numbers of data have to fit their type
    infinities.py                 which of them are never infinite
    views.py                      tiles of global tensors: places, fills, masks
    demand.py                     which elements of a load anything comes of
    guarded.py                    results that matter only where a condition holds
    grid.py, tile_order.py        block indices, persistent loops, grouped orders
    grid_order.py                 which factor of a grid is which digit of its index
    trips.py, loops.py            loops: iterations, and reading a body once for all
    counters.py, counts.py        integers that a loop carries; how often things happen;
                                  steps.py: sums of steps with a form of their own
    totals.py                     what a loop counts by data, as a sum
    recurrences.py, rescaling.py  tiles that a loop carries, each form a theorem;
                                  extremes.py, balanced.py, following.py, places.py:
                                  further forms; known_forms.py: what is solved;
                                  peeling.py: loops that begin in another way
    dependence.py                 which carried values a term depends on
    branches.py                   branches
    buffers.py, shared.py         shared memory in program order; left_shared.py: what
                                  an iteration finds of the one before it
    multicast.py                  copies that blocks of a cluster share
    fills.py, reads.py            which fill of a slot a drain reads
    meetings.py                   buffers that barriers hand over
    stages.py                     stages that have numbers, as buffers by themselves
    assumptions.py                requirements, `ag.assume`
    memory.py                     global tiles that are written, and read again
    in_place.py                   tensors that are read and written
"""

from argus.verify.denotation.denote import denote
from argus.verify.denotation.result import Denotation, Noticed, Store

__all__ = ["Denotation", "Noticed", "Store", "denote"]
