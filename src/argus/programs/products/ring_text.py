"""What kernels have in common that walk blocks of factors through rings.

Rows of a tile begin at ``s``, a block of what they see at ``t``; other dimensions of
factors are whole in a tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from argus.programs.lowering.expression_text import type_name
from argus.programs.lowering.expressions import ElementNode
from argus.programs.lowering.lowering import LoweredGroup
from argus.programs.tiles.tile_text import TileWriter
from argus.programs.tiles.tiling import GroupTiling

LOADING_REGISTERS = 24
"""Registers of a thread of the warp that loads."""


class RingLoops(Protocol):
    """Which loop is what."""

    @property
    def row(self) -> str:
        """Along which blocks have tiles."""
        ...

    @property
    def along(self) -> str:
        """Along which a block walks."""
        ...

    @property
    def batch(self) -> tuple[str, ...]:
        """Loops of which a block has one index each."""
        ...


class RingWriter(TileWriter):
    """Lines of such a kernel. ``fields``: names of factors in the slots of rings."""

    def __init__(
        self,
        group: LoweredGroup,
        tiling: GroupTiling,
        loops: RingLoops,
        letters: dict[str, str],
        used: frozenset[str],
    ) -> None:
        super().__init__(group, tiling, letters, used)
        self.ringed = loops
        self.fields: dict[ElementNode, str] = {}

    def name_fields(self, letter: str, nodes: Iterable[ElementNode]) -> None:
        """Name factors by a letter, with numbers where there are several."""
        different = list(dict.fromkeys(nodes))
        for i, node in enumerate(different):
            self.fields[node] = f"{letter}{i if len(different) > 1 else ''}"

    def start(self, loop: str) -> str:
        """Where a tile begins."""
        return {self.ringed.row: "s", self.ringed.along: "t"}.get(loop, "0")

    def factor(self, node: ElementNode) -> str:
        """The place of a factor's tile."""
        parts = [
            self.letters[d].lower()
            if d in self.ringed.batch
            else {self.ringed.row: "s:", self.ringed.along: "t:"}.get(d, "0:")
            for d in self.param(node).loops
        ]
        return f"{self.param(node).name}[{', '.join(parts)}]"

    def _field(self, node: ElementNode) -> str:
        """What a ring's slot has room for."""
        sizes = [
            f"B{self.letters[d]}"
            for d in self.param(node).loops
            if d not in self.ringed.batch
        ]
        return f"{type_name(node.dtype)}.tile({', '.join(sizes)})"

    def ring(self, name: str, stages: str, nodes: Sequence[ElementNode]) -> None:
        """A ring with room for factors."""
        fields = ", ".join(f"{self.fields[n]}={self._field(n)}" for n in nodes)
        self.line(f"{name} = ag.ring({stages}, {fields})")

    def fill(self, ring: str, nodes: Sequence[ElementNode]) -> None:
        """Load factors into a slot."""
        with self.loop(f"with {ring}.fill() as slot:"):
            for node in nodes:
                self.line(f"slot.{self.fields[node]}.load({self.factor(node)})")


def ring_letters(
    group: LoweredGroup, given: dict[str, str], batch: Sequence[str]
) -> dict[str, str]:
    """Names of dimensions: those that are given, and those of a batch."""
    found = dict(given)
    for i, loop in enumerate(batch):
        found[loop] = "BHGJN"[i] if i < len("BHGJN") else f"B{i}"
    return {n: found[n] for n in (*group.rows, *group.columns)}
