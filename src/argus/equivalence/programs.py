"""Programs of a specialisation: the one that terms are about, and the placed one."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property

from argus.codegen import emit
from argus.codegen.overflow import WHY
from argus.ir.program import LaunchRequirement, Program
from argus.lower import place
from argus.lower.wraps import wrap_scalars
from argus.requests import Request, tile_program

__all__ = ["KnownPrograms", "Programs", "programs_of"]


@dataclass(frozen=True)
class Programs:
    """The program that was ``typed``, and what is made of copies of it.

    ``tile`` says where scalars wrap; it is what terms are about, and what is placed.
    Tiles of both have the same ``id``.
    """

    typed: Program
    tile: Program
    placed: Program

    @cached_property
    def index_bounds(self) -> tuple[LaunchRequirement, ...]:
        """What a launch requires so that indices fit the types that they have."""
        return tuple(r for r in emit(self.placed).spec.requirements if r.why == WHY)


def programs_of(request: Request) -> Programs:
    """All programs. Raises ArgusError for what parsing and placing find."""
    typed = tile_program(request)
    tile = copy.deepcopy(typed)
    wrap_scalars(tile)
    return Programs(typed, tile, place(copy.deepcopy(tile)))


class KnownPrograms:
    """What requests become, each made once. Requests are known by identity."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Request, Programs]] = {}

    def of(self, request: Request) -> Programs:
        """See :func:`programs_of`."""
        if id(request) not in self._made:
            # The request is kept, so that nothing else gets its identity.
            self._made[id(request)] = request, programs_of(request)
        return self._made[id(request)][1]
