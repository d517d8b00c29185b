"""Boxes of TMA copies: where each begins, in closed form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from argus.ir.expr import Const, Expr
from argus.ir.placement import TmaBox, TmaPlan
from argus.ir.program import CLUSTER_RANK
from argus.verify.tags.place import WalkPlace

__all__ = ["box_place", "ranks_of"]


def ranks_of(plan: TmaPlan) -> Iterable[int | None]:
    """Blocks of a cluster that issue parts of a copy; None: whichever executes it."""
    return range(plan.multicast) if plan.multicast > 1 else (None,)


def box_place(
    place: WalkPlace, box: TmaBox, rank: int | None
) -> tuple[list[Expr], int | None]:
    """Coordinates at which a box begins, and its offset in the stage, if constant.

    ``rank``: the block of the cluster that issues it, for multicast.
    """
    env: Mapping[str, Expr] = {} if rank is None else {CLUSTER_RANK.name: Const(rank)}
    world = place.world
    bases = [world.replace(place.close(c), env) for c in box.coords]
    offset = world.replace(place.close(box.offset), env)
    return bases, int(offset.value) if isinstance(offset, Const) else None
