"""A matrix instruction of which all operands are in registers, as one record.

    D (rows x columns) = D + A (rows x depth) * B (depth x columns), by one warp

Placing chooses among those of a target (`registry.register_products`), and whoever
reads an `MmaPlan` finds the record by the name in it (`registry.register_product`):
interpreter, proofs and printer know no family of these. What is done to numbers is
`MatrixElement.product`; the text and the costs are those of the instruction's record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from argus.isa.matrix import WORD, MatrixElement
from argus.layout import Fragment

__all__ = ["WORD", "RegisterProduct"]

Tiled = Callable[[int, int, int, int], Fragment]
"""From the two extents of a tile, and the rows and columns of warps, which thread and
register hold which element."""


@dataclass(frozen=True)
class RegisterProduct:
    """One form of instruction; ``name`` is what messages call its family.

    ``accumulator``, ``left`` and ``right`` lay out a whole tile of D [m, n], of A
    [m, k] and of B [n, k] in the registers of a grid of warps: in each thread, the
    registers of one instruction follow each other, those along k (n for D) before those
    along the other axis.
    """

    name: str
    function: str
    element: MatrixElement
    rows: int
    columns: int
    depth: int
    accumulator: Tiled
    left: Tiled
    right: Tiled

    @property
    def shape(self) -> str:
        """As messages say it."""
        return f"{self.name} m{self.rows}n{self.columns}k{self.depth}"

    @property
    def d(self) -> Fragment:
        """D of one instruction [rows, columns]."""
        return self.accumulator(self.rows, self.columns, 1, 1)

    @property
    def a(self) -> Fragment:
        """A of one instruction [rows, depth]."""
        return self.left(self.rows, self.depth, 1, 1)

    @property
    def b(self) -> Fragment:
        """B of one instruction [columns, depth]."""
        return self.right(self.columns, self.depth, 1, 1)

    @property
    def lanes(self) -> int:
        """Threads that execute it together."""
        return self.d.num_threads
