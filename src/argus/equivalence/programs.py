"""Programs of a specialisation: the one that terms are about, and the placed one."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from argus.ir.program import Program
from argus.lower import place
from argus.lower.wraps import wrap_scalars
from argus.requests import Request, tile_program

__all__ = ["Programs", "programs_of"]


@dataclass(frozen=True)
class Programs:
    """A tile program that says where scalars wrap, and what a copy of it is placed to.

    Tiles of both have the same ``id``.
    """

    tile: Program
    placed: Program


def programs_of(request: Request) -> Programs:
    """Both programs. Raises ArgusError for what parsing and placing find."""
    tile = tile_program(request)
    wrap_scalars(tile)
    return Programs(tile, place(copy.deepcopy(tile)))
