"""All blocks and iterations of small launches: which elements they write."""

from __future__ import annotations

from itertools import product

import numpy as np

from argus.ir.memory import GlobalTensor
from argus.ir.program import CLUSTER_RANK
from argus.verify.tags.compare import Agreement
from argus.verify.tags.patches import dense_box
from argus.verify.tags.sampling import Points
from argus.verify.tags.state import Stored, WalkState
from argus.verify.tags.values import Coord
from argus.verify.verdict import Verdict

__all__ = ["counted"]

LAUNCHES = 8
_ELEMENTS = 400_000
_INSTANCES = 4_000


def counted(
    state: WalkState, tensor: GlobalTensor, stores: list[Stored]
) -> tuple[str, Agreement, str, str] | None:
    """A launch in which an element is written never or twice, if there is one."""
    points = state.scope.points
    if points is None:
        return None
    tried = 0
    for i in _by_size(points, tensor):
        model = points.at(int(i))
        try:
            found = _launch(state, tensor, stores, model)
        except KeyError:
            return None  # where it stores depends on what is not known
        if found is None:
            continue
        tried += 1
        count = found
        wrong = np.argwhere(count != 1)
        if len(wrong):
            at = tuple(int(x) for x in wrong[0])
            times = int(count[at])
            rule = "AG0306" if times == 0 else "AG0307"
            outcome = Agreement(Verdict.REFUTED, "enumeration of a launch", "", model)
            where = ", ".join(f"{n}={x}" for n, x in zip(tensor.dims, at, strict=True))
            text = "never" if times == 0 else f"{times} times"
            message = (
                "an output element is never written"
                if times == 0
                else "an output element is written more than once"
            )
            return rule, outcome, message, f"{tensor.name}[{where}] is written {text}"
        if tried >= LAUNCHES:
            break
    return None


def _by_size(points: Points, tensor: GlobalTensor) -> list[int]:
    """Points with small outputs: half the smallest, half spread over the others."""
    total = np.ones(points.size)
    for e in tensor.shape:
        total = total * points.of(e)
    fits = np.flatnonzero(total <= _ELEMENTS)
    order = fits[np.argsort(total[fits], kind="stable")]
    if len(order) <= 2 * LAUNCHES:
        return [int(i) for i in order]
    spread = order[:: max(1, len(order) // (2 * LAUNCHES))]
    return [int(i) for i in (*spread[::-1], *order[:LAUNCHES])]


def _launch(
    state: WalkState, tensor: GlobalTensor, stores: list[Stored], model: dict[str, int]
) -> np.ndarray | None:
    """How often each element is written in one launch; None: too large to try."""
    world = state.world
    grid = model[world.count.name]
    blocks = grid * world.cluster
    if blocks > _INSTANCES:
        return None
    fixed = {
        n: v
        for n, v in model.items()
        if n not in (world.index.name, CLUSTER_RANK.name) and "@" not in n
    }
    base = Points(world, {n: np.full(blocks, v) for n, v in fixed.items()})
    number = np.arange(blocks)
    base = base.plus(world.index.name, number // world.cluster)
    if world.cluster > 1:
        base = base.plus(CLUSTER_RANK.name, number % world.cluster)
    shape = tuple(state.scope.value_at(e, model) or 0 for e in tensor.shape)
    # By how much the number changes where a box begins and where it ends.
    change = np.zeros([n + 1 for n in shape], np.int32)
    for s in stores:
        points = _instances(s, base)
        if points is None or not _add(s, points, change):
            return None
    for axis in range(change.ndim):
        np.cumsum(change, axis, out=change)
    return change[tuple(slice(n) for n in shape)]


def _instances(stored: Stored, points: Points) -> Points | None:
    """Every block and iteration that reaches the store."""
    for loop in stored.scope.loops:
        trips = np.maximum(points.of(loop.trips).astype(np.int64), 0)
        if trips.sum() > _INSTANCES:
            return None
        rows = np.repeat(np.arange(points.size), trips)
        its = np.arange(len(rows)) - np.repeat(np.cumsum(trips) - trips, trips)
        picked = {n: v[rows] for n, v in points.values_.items()}
        points = Points(points.world, {**picked, loop.sym.name: its})
    for cond in stored.scope.branches:
        points = points.where(points.of(cond).astype(np.bool_))
    return points


def _add(stored: Stored, points: Points, change: np.ndarray) -> bool:
    """Count the box of each point; False where what is stored is no box."""
    coords = [c for c in stored.coords if isinstance(c, Coord)]
    box = dense_box([c.offs for c in coords], False)
    if box is None or len(coords) != change.ndim or stored.limits:
        return False
    ends: list[tuple[np.ndarray, np.ndarray]] = []
    for c, lo, n, more in zip(coords, *box, change.shape, strict=True):
        start = points.of(c.base).astype(np.int64) + lo
        ends.append((np.clip(start, 0, more - 1), np.clip(start + n, 0, more - 1)))
    for sides in product((0, 1), repeat=change.ndim):
        at = tuple(end[side] for end, side in zip(ends, sides, strict=True))
        np.add.at(change, at, 1 - 2 * (sum(sides) % 2))
    return True
