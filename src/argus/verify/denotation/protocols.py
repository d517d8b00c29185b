"""What a walk asks of the grid and of named barriers, and which tile a block takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from argus.ir import ops as o
from argus.ir.expr import Expr
from argus.ir.memory import SharedAlloc
from argus.terms import Integer, Value, Variable
from argus.verify.denotation.buffers import OneBarrier

__all__ = ["GridLike", "MeetingsLike", "RoleLike", "Tiles"]


class MeetingsLike(Protocol):
    """What reads and writes ask of named barriers (`meetings.py`)."""

    @property
    def roles(self) -> Mapping[str, RoleLike]:
        """How roles sync."""
        ...

    @property
    def ahead(self) -> dict[SharedAlloc, dict[str | OneBarrier, int]]:
        """By how much meetings are ahead of writes."""
        ...

    def between(self, writer: str, reader: str) -> frozenset[str | OneBarrier]:
        """Barriers at which two roles meet."""
        ...

    def awaits_only(self, role: str, barrier: OneBarrier) -> bool:
        """Whether a role waits for nothing else."""
        ...

    def met_by(self, role: str) -> frozenset[str | OneBarrier]:
        """Barriers at which others may see how far a role has come."""
        ...


class RoleLike(Protocol):
    """How a role syncs."""

    @property
    def named(self) -> frozenset[str]:
        """Named barriers that it syncs at."""
        ...


class GridLike(Protocol):
    """What loops, scalars and copies ask of the grid (`grid.py`)."""

    @property
    def rank(self) -> Variable | None:
        """The block's place in its cluster; None without clusters."""
        ...

    def special(self, e: Expr) -> Value | None:
        """The row or column of a tile in grouped order; None: another expression."""
        ...

    def persistent(self, op: o.For) -> Tiles | None:
        """The tiles of a persistent loop; None: it is another loop."""
        ...


@dataclass(frozen=True)
class Tiles:
    """Which tile a block (or an iteration of a persistent loop) takes."""

    number: Integer
    """Its place in the order."""
    variables: tuple[Variable, ...]
    """Independent variables that the place is a function of; the function is one to
    one onto [0, ``total``)."""
    total: Integer
