"""What operations have in common, and how their fields say what they are.

A field's type says its role, and a type that could mean two things is marked:

    Operand[Tile]      the operation reads it
    Result[Tile]       it is defined in the block of the operation; so is Result[Sym]
    Inner[Tile]        it is defined inside: the argument of a loop, a loop variable
    Mentioned[...]     it is named, and neither read nor defined
    Planned[Expr]      a plan computes it where the operation is carried out

An expression is read where it is not marked. Views, carries, merges and roles are
records of such fields. :mod:`argus.ir.fields` derives from them what an operation
reads, defines and contains; a field of which no role follows is an error there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argus.diagnostics import Span
    from argus.ir.dtypes import DType
    from argus.ir.expr import Expr
    from argus.ir.memory import GlobalTensor, SharedView
    from argus.ir.ops.tile import Tile


class Use(Enum):
    """What an operation does with a tile, a symbol or an expression in a field."""

    READ = "read"
    DEFINED = "defined"
    INNER = "inner"
    MENTIONED = "mentioned"
    PLANNED = "planned"


T = TypeVar("T")
Operand = Annotated[T, Use.READ]
Result = Annotated[T, Use.DEFINED]
Inner = Annotated[T, Use.INNER]
Mentioned = Annotated[T, Use.MENTIONED]
Planned = Annotated[T, Use.PLANNED]


@dataclass(eq=False, kw_only=True)
class Op:
    """Base of operations. ``note`` is set on inserted operations: the reason."""

    span: Span
    note: str | None = None

    def keeps_residues(self, tile: Tile) -> bool:
        """Whether it takes an operand of whole numbers modulo 2**bits of its type.

        What it makes of x and of x + 2**bits is then the same, in the bits that the
        result has. Where it is not, a number that left its type matters.
        """
        del tile
        return False

    def hides_residues(self, tile: Tile) -> bool:
        """Whether it makes the same whole number of x and of x + 2**bits, too.

        So does what takes the last bits alone.
        """
        del tile
        return False

    def stored_as_it_is(self, tile: Tile) -> GlobalTensor | None:
        """The tensor of which elements become those of an operand; None: of none."""
        del tile
        return None

    def filled(self) -> SharedView | None:
        """The shared tile that it writes; None: it writes none."""
        return None

    def observed_scalars(self) -> Iterator[tuple[Expr, DType]]:
        """Its scalars whose value matters, as whole numbers of a type of tiles.

        None, where they are taken modulo 2**bits as the tiles are.
        """
        return iter(())


@dataclass(eq=False)
class Structure(Op):
    """It contains blocks, and does nothing besides running them."""

    def keeps_residues(self, tile: Tile) -> bool:
        """Tiles are carried as they are."""
        del tile
        return True


@dataclass(eq=False)
class Access(Op):
    """Threads move a tile between registers and memory, in program order."""


@dataclass(eq=False)
class Copy(Op):
    """A tile moves between global and shared memory, past the registers, later."""


@dataclass(eq=False)
class Synchronisation(Op):
    """It orders what others do: it moves no data, and defines no tile or scalar."""


@dataclass(eq=False)
class Commit(Synchronisation):
    """It closes the group of asynchronous operations issued so far."""


@dataclass(eq=False)
class GroupWait(Synchronisation):
    """It waits until at most ``pending`` of the groups closed so far remain."""

    pending: int


@dataclass(eq=False)
class Annotation(Op):
    """The author says or asks something: no number of the program depends on it."""

    def is_of_names(self) -> bool:
        """Whether it speaks of names of dimensions, which nothing else knows."""
        return False

    def is_of_pairs(self) -> bool:
        """Whether it speaks of every two entries of a table."""
        return False

    def keeps_residues(self, tile: Tile) -> bool:
        """It makes nothing of a tile."""
        del tile
        return True
