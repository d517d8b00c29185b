"""Scans in the text of a kernel: tile after tile, with what is carried."""

from __future__ import annotations

from argus.programs.lowering.expression_text import (
    COMBINE,
    bare,
    call_text,
    neutral_text,
)
from argus.programs.lowering.expressions import NumberNode, ScanNode
from argus.programs.tiles.kernel_text import KernelWriter

_TIMES = ("@ag.inline", "def times(a, b):", "    return a * b", "", "")
"""What running products combine numbers by."""


class ScanWriter(KernelWriter):
    """The lines of a kernel that walks its one column in tiles.

    What is past the end changes nothing: in reverse it comes before all that is stored.
    """

    @property
    def reverse(self) -> bool:
        """The direction of the scans: `tiling.py` takes those of one only."""
        return self.group.scans[0].reverse

    def before(self) -> list[str]:
        """Functions that the kernel calls."""
        return [*_TIMES] if any(s.function == "prod" for s in self.group.scans) else []

    def start(self, loop: str) -> str:
        """The first index of a loop's axis: in reverse they come from the end."""
        if loop in self.group.columns and self.reverse:
            return self.first
        return super().start(loop)

    def passes(self) -> None:
        """Scans, and what is stored of them: one pass over the columns."""
        rows = [a.loop for a in self.tiling.axes if a.loop in self.group.rows]
        (loop,) = self.group.columns
        letter = self.letters[loop]
        scans = self.group.scans
        carried = {s: self.names.fresh("carry") for s in scans}
        for s in scans:
            self.hoisted(s.body)
            neutral = neutral_text(s.function, s.dtype)
            self.line(f"{carried[s]} = {self.full(rows, neutral, s.dtype)}")
        for store in self.group.stores:
            self.hoisted(store.node)
        with self.along([loop]):
            if self.reverse:
                self.first = self.names.fresh("first")
                tiles = f"ag.cdiv({letter}, B{letter})"
                text = f"({tiles} - 1) * B{letter} - {letter.lower()}"
                self.line(f"{self.first} = {text}")
            for s in scans:
                self._one(s, letter, carried[s])
            for store, t in zip(self.group.stores, self.outputs, strict=True):
                self.put(store, t)

    def _one(self, s: ScanNode, letter: str, carry: str) -> None:
        """A scan of one tile after what is carried, and with that what is next."""
        if self.axes(s.body) != tuple(a.loop for a in self.tiling.axes):
            body = self._spread(s, letter)
        else:
            body = self.masked(s, None)
        if not body.isidentifier():
            body = self.assign(s.body, "x", body)
        back = ", reverse=True" if s.reverse else ""
        by = {"sum": "", "prod": ", times"}.get(s.function)
        by = f", ag.{COMBINE[s.function]}" if by is None else by
        name = "cumsum" if s.function == "sum" else "scan"
        found = f'ag.{name}({body}, "{letter}"{by}{back})'
        total = f'ag.{s.function}({body}, "{letter}")'
        both = [call_text(COMBINE[s.function], [x, carry]) for x in (found, total)]
        self.assign(s, f"cum{s.function}", both[0])
        self.line(f"{carry} = {bare(both[1])}")

    def _spread(self, s: ScanNode, letter: str) -> str:
        """The body of a scan that is the same along some axes, as a tile of all."""
        axes = [a.loop for a in self.tiling.axes]
        like, name = self.full(axes, "0", s.body.dtype), self.names.fresh("spread")
        if isinstance(s.body, NumberNode):
            text = self.full(axes, self.text(s.body), s.body.dtype)
        else:
            text = f"ag.broadcast({bare(self.text(s.body))}, {like})"
        self.line(f"{name} = {text}")
        if not s.reverse:
            return name
        inside = f'{self.first} + ag.index({name}, "{letter}") < {letter}'
        return f"ag.where({inside}, {name}, {neutral_text(s.function, s.body.dtype)})"
