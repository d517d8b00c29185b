"""How much of what blocks read comes from device memory, by what they read together.

Blocks that run at the same time and read the same tile meet in L2. Which do is counted:
the origins of an access are computed for all blocks that are resident at once, and the
share of different ones is what must come from memory. Tiles that a later wave reads
again are still there if what a wave touches is smaller than the cache.

What is swept by an inner loop (the steps along K) counts once: blocks run through it
side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.ir.expr import evaluate, substitute, symbols
from argus.ir.memory import GlobalView
from argus.model.steps import Traffic


@dataclass
class Read:
    """One access of the program: bytes each time, share of different tiles.

    ``times``: executions per block, on average; ``inner``: of those, within one sweep.
    """

    traffic: Traffic
    tensor: str
    bytes: float
    share: float
    times: float
    inner: float
    parts: int
    """Thread groups that share an execution."""


@dataclass
class LaunchTraffic:
    """Everything that the blocks of a launch read and write."""

    sizes: Mapping[str, float]
    wave: int
    grid: int
    capacity: float
    reads: list[Read] = field(default_factory=list[Read])
    stored: float = 0.0
    """Bytes that a block stores in one sweep."""

    def settle(self) -> dict[str, float]:
        """Set the bytes from memory of every access; returns totals of the launch."""
        touched = sum(r.share * r.bytes * r.inner for r in self.reads) + self.stored
        everything = sum(self.sizes.values())
        kept = max(
            _fits(touched * self.wave, self.capacity),
            _fits(everything, self.capacity),
        )
        total = 0.0
        for r in self.reads:
            asked = r.bytes * r.times * self.grid
            apart = asked * r.share
            once = min(self.sizes[r.tensor], apart)
            dram = kept * once + (1 - kept) * apart
            r.traffic.dram = r.bytes / r.parts * dram / asked if asked else 0.0
            if asked:
                # Blocks begin side by side: all wait for what one of them fetches. In
                # later rounds they are apart, and most find it in L2.
                rounds = max(1.0, r.times / r.inner * self.grid / self.wave)
                later = dram / asked
                r.traffic.far = later + (dram / apart - later) / rounds
            total += dram
        return {"read": total, "touched": touched * self.wave}


def _fits(size: float, capacity: float) -> float:
    """1 where it fits into the cache, 0 where it is much larger."""
    return min(1.0, max(0.0, 1.5 - size / capacity))


def origin_share(
    view: GlobalView, env: Mapping[str, Any], swept: set[str], wave: int
) -> float:
    """Different origins of a view over the resident blocks, as a share of them.

    ``env`` has a number, or an array with one for each block; ``swept`` the scalars
    that inner loops run through.
    """
    columns: list[Any] = []
    for coordinate in view.coords:
        names = {s.name for s in symbols(coordinate)}
        if names & swept:
            continue
        start = evaluate(substitute(coordinate, _zeros(view)), env)
        if np.ndim(start):
            columns.append(np.asarray(start))
    if not columns:
        return 1.0 / wave
    # Mixed radix: one number for each place.
    key = np.zeros(wave, np.int64)
    for column in columns:
        key = key * (int(column.max()) + 2) + column
    return np.unique(key).size / wave


def present(view: GlobalView, env: Mapping[str, Any]) -> float:
    """The part of a view that lies within its tensor, on average over blocks."""
    whole = 1.0
    gathered = {g.symbol.name for g in view.gathers}
    last = {f"%{i}": n - 1 for i, n in enumerate(view.shape)}
    for coordinate, extent in zip(view.coords, view.tensor.shape, strict=True):
        names = {s.name for s in symbols(coordinate)}
        if names & gathered or not any(n.startswith("%") for n in names):
            continue
        ends = [
            evaluate(substitute(coordinate, at), env) for at in (_zeros(view), last)
        ]
        first, end = np.minimum(*ends), np.maximum(*ends)  # some are walked backwards
        length = end - first + 1
        inside = np.minimum(end + 1, evaluate(extent, env)) - np.maximum(first, 0)
        room: NDArray[np.float64] = np.asarray(inside, float)
        whole *= float((room.clip(0, length) / length).mean())
    return whole


def _zeros(view: GlobalView) -> dict[str, int]:
    return {f"%{i}": 0 for i in range(len(view.shape))}
