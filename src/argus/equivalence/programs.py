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
    """The program that was ``typed``, and what is made of copies of it.

    ``tile`` says where scalars wrap; it is what terms are about, and what is placed.
    Tiles of both have the same ``id``.
    """

    typed: Program
    tile: Program
    placed: Program


def programs_of(request: Request) -> Programs:
    """All programs. Raises ArgusError for what parsing and placing find."""
    typed = tile_program(request)
    tile = copy.deepcopy(typed)
    wrap_scalars(tile)
    return Programs(typed, tile, place(copy.deepcopy(tile)))
