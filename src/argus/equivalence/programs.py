"""Programs of a specialisation: the one that terms are about, and the placed one.

What is asked of one kernel more than once (its programs, their terms, whether they are
those of its reference) is made once, by those who share `KnownPrograms`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from argus.codegen import emit
from argus.codegen.overflow import WHY
from argus.equivalence.denoted import Denoted
from argus.ir.printer import print_program
from argus.ir.program import LaunchRequirement, Program
from argus.lower import place
from argus.lower.wraps import wrap_scalars
from argus.requests import Request, tile_program
from argus.verify.collecting import rarely_collected
from argus.verify.order.sequential import sequential

if TYPE_CHECKING:
    from argus.equivalence.deciding import Decided

__all__ = ["KnownPrograms", "Programs", "programs_of"]

_FLOATS = re.compile(r"\b(?:f32|f16|bf16|e4m3)\b")


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

    @cached_property
    def denoted(self) -> Denoted:
        """The terms of the tile program."""
        return Denoted(self.tile)

    @cached_property
    def sequential(self) -> frozenset[str]:
        """Tensors that the placed program accesses in program order."""
        return sequential(self.placed)

    @cached_property
    def text(self) -> str:
        """The typed program without divisors of sizes, which are no facts of terms."""
        lines = print_program(self.typed).splitlines()
        return "\n".join(x for x in lines if not x.startswith("fact "))

    @cached_property
    def real_text(self) -> str:
        """What terms, which are of real numbers, can tell of the program."""
        return _FLOATS.sub("float", self.text)


@rarely_collected()
def programs_of(request: Request) -> Programs:
    """All programs. Raises ArgusError for what parsing and placing find."""
    typed = tile_program(request)
    tile = copy.deepcopy(typed)
    wrap_scalars(tile)
    return Programs(typed, tile, place(copy.deepcopy(tile)))


class KnownPrograms:
    """What requests become, each made once. Requests are known by identity.

    And what was decided of them, see :meth:`decided`.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[Request, Programs]] = {}
        self._first: dict[str, Programs] = {}
        self._decided: dict[tuple[str, str], Decided] = {}

    def of(self, request: Request) -> Programs:
        """See :func:`programs_of`."""
        if id(request) not in self._made:
            # The request is kept, so that nothing else gets its identity.
            self._made[id(request)] = request, programs_of(request)
        return self._made[id(request)][1]

    def first(self, programs: Programs) -> Programs:
        """The first of those whose terms are asked for that have the same terms."""
        return self._first.setdefault(programs.text, programs)

    def decided(
        self, programs: Programs, reference: str, decide: Callable[[], Decided]
    ) -> Decided:
        """What ``decide`` says of programs and their reference, asked once.

        Of programs that differ in types of floats or in divisors, too, unless it rests
        on the order of threads.
        """
        self.first(programs)
        shared = reference, programs.real_text
        own = reference, f"placed {id(programs)}"
        for key in (shared, own):
            if key in self._decided:
                return self._decided[key]
        made = decide()
        ordered = made.decision is not None and made.decision.ordered
        self._decided[own if ordered else shared] = made
        return made
