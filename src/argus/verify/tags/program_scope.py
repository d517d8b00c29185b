"""A placed program, with its symbols and what holds everywhere in it."""

from __future__ import annotations

from dataclasses import dataclass

from argus.ir.program import Program
from argus.verify.counting import with_numbers
from argus.verify.tags.annotated import of_sizes
from argus.verify.tags.scope import PathScope
from argus.verify.tags.world import TagWorld

__all__ = ["ProgramScope"]


@dataclass(frozen=True, eq=False)
class ProgramScope:
    """What both walks of a program share: what one decides the other knows."""

    program: Program
    world: TagWorld
    scope: PathScope

    @staticmethod
    def of(program: Program) -> ProgramScope:
        """Of a program of which nothing was asked. Raises ValueError: not placed."""
        if not program.placed:
            raise ValueError("only placed programs can be verified")
        return _known(of_sizes(with_numbers(program)))

    def again(self) -> ProgramScope:
        """For another walk: assumptions on tables hold from their lines on."""
        met = self.world.assumed or self.world.paired
        return _known(self.program) if met else self


def _known(program: Program) -> ProgramScope:
    world = TagWorld(program)
    return ProgramScope(program, world, PathScope.top(world))
