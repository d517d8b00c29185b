"""Coalescing: 32-byte sectors that each warp's global request touches.

Global memory moves in sectors of 32 bytes. The ideal of a request is its bytes divided
by 32, rounded up; more means that threads skip bytes, or that rows begin within a
sector. Elements that several threads load count once. (CUDA C++ Best Practices Guide,
"Coalesced Access to Global Memory".)

The addresses are those of an inner tile (`sites.py`): data pointers are multiples of
256 bytes, as allocators make them; rows begin where the least known alignment of their
strides allows; run-time indices are consecutive. The unit is an instruction of the
plan; the compiler may still join or split some.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.ir import ops as o
from argus.ir.access import (
    Ints,
    element_offset,
    register_coords,
    vector_global,
)
from argus.ir.memory import GlobalView
from argus.ir.placement import VectorPlan
from argus.targets import Target
from argus.verify.performance.findings import PerformanceFinding
from argus.verify.performance.sites import Site

__all__ = ["access_bytes", "count_sectors", "global_access", "sectors_of"]


def count_sectors(
    addresses: Ints, size: int, active: NDArray[np.bool_], target: Target
) -> tuple[Ints, Ints]:
    """Sectors and ideal sectors of each request, both [warps, accesses].

    ``addresses`` [threads, accesses, width] in bytes of elements of ``size`` bytes;
    ``active`` of the same shape. The number of threads is a multiple of a warp's.
    """
    threads, accesses, width = addresses.shape
    lanes, sector = target.warp_threads, target.sector_bytes
    warps = threads // lanes

    def by_request(x: Any) -> Any:
        moved = x.reshape(warps, lanes, accesses, width).transpose(0, 2, 1, 3)
        return moved.reshape(warps * accesses, lanes * width)

    first, used = by_request(addresses), by_request(active)
    touched = np.where(used, first // sector, -1)
    sectors = _different(touched)
    ideal = -(-_different(np.where(used, first, -1)) * size // sector)
    return sectors.reshape(warps, accesses), ideal.reshape(warps, accesses)


def _different(values: Ints) -> Ints:
    """Different values that are not -1, per row."""
    ordered = np.sort(values, axis=1)
    new = np.ones(ordered.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return (new & (ordered >= 0)).sum(axis=1).astype(np.int64)


def _runs(addresses: Ints, size: int) -> str:
    """How the bytes of a request lie, in words."""
    places = np.unique(addresses)
    starts = np.flatnonzero(np.diff(places, prepend=places[0] - size - 1) != size)
    lengths = np.diff(np.append(starts, places.size)) * size
    return (
        f"the bytes of the warp are {starts.size} runs of {int(lengths.min())}"
        f" to {int(lengths.max())} bytes, the first at {int(places[0])}"
    )


def global_access(site: Site) -> tuple[GlobalView, VectorPlan] | None:
    """The global view that an access touches by vectors, or None."""
    view = site.op.src if isinstance(site.op, o.CopyAsync) else site.op.view
    plan = site.op.plan
    if isinstance(view, GlobalView) and isinstance(plan, VectorPlan):
        return view, plan
    return None


def access_bytes(site: Site) -> int | None:
    """Bytes that each thread moves at once; None for an access elsewhere."""
    access = global_access(site)
    return None if access is None else access[1].width * access[0].dtype.bytes


def sectors_of(site: Site, target: Target) -> PerformanceFinding | None:
    """The request with most sectors beyond its ideal; None for an access elsewhere.

    Raises KeyError where an address depends on a scalar that has no chosen value.
    """
    access = global_access(site)
    if access is None:
        return None
    view, plan = access
    coords = register_coords(plan)
    gathered = {g.symbol.name: coords[g.axis] for g in view.gathers}
    place = vector_global(plan, view, site.env, gathered)
    size = view.dtype.bytes
    addresses = element_offset(view.tensor, place.coords, site.env) * size
    active = place.exists
    if plan.unique:
        owners = plan.layout.owner_mask().reshape(active.shape)
        active = active & owners
    sectors, ideal = count_sectors(addresses, size, active, target)
    warp, at = (
        int(i) for i in np.unravel_index(np.argmax(sectors - ideal), sectors.shape)
    )
    value, best = int(sectors[warp, at]), int(ideal[warp, at])
    why, thread = "", target.warp_threads * warp
    if value > best:
        some = slice(thread, thread + target.warp_threads)
        why = _runs(addresses[some, at][active[some, at]], size)
    what = f"{plan.instruction} of {view.tensor.name}"
    return PerformanceFinding(value, best, site.op.span, site.role, what, why, thread)
