"""Reductions over windows as a kernel whose threads hold rows: see `sliding.py`."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from argus.layout import WARP_LANES
from argus.programs.lowering.expression_text import number_text
from argus.programs.lowering.expressions import ElementNode
from argus.programs.lowering.lowering import LoweredGroup
from argus.programs.tensors.affine import Affine
from argus.programs.tiles.kernel_text import KernelWriter
from argus.programs.tiles.sliding import SlidingRow
from argus.programs.tiles.tile_axes import GroupTiling


class SlidingWriter(KernelWriter):
    """The lines of such a kernel: a row is loaded, then its taps are slices of it."""

    def __init__(
        self, group: LoweredGroup, tiling: GroupTiling, slide: SlidingRow
    ) -> None:
        super().__init__(group, tiling)
        self.slide = slide
        self.place_in_row = self.names.fresh("q")
        self.held_rows: dict[ElementNode, str] = {}

    @contextmanager
    def along(self, loops: Sequence[str]) -> Generator[None]:
        """Loops over taps: those of a row innermost, behind the load of the row."""
        slide = self.slide
        if slide.tap not in loops:
            with super().along(loops):
                yield
            return
        letter = self.letters[slide.tap]
        with super().along([n for n in loops if n != slide.tap]):
            self.held_rows = {e: self._row_of(e) for e in slide.elements}
            with self.loop(f"for {letter.lower()} in ag.static_range({letter}):"):
                yield

    def _element(self, node: ElementNode, fill: str | None) -> str:
        row, slide = self.held_rows.get(node), self.slide
        if row is None:
            return super()._element(node, fill)
        size = f"B{self.letters[slide.loop]}"
        first = self.letters[slide.tap].lower()
        if slide.apart > 1:
            first += f" * {slide.apart}"
        count = size if slide.step == 1 else f"({size} - 1) * {slide.step} + 1"
        step = "" if slide.step == 1 else f" : {slide.step}"
        taken = f"{row}[{first} : {first} + {count}{step}, :]"
        names = f"{self.letters[slide.loop]} {self.letters[slide.along]}"
        # Without the name of its place in the row: another tap has another.
        return self.assign(node, "x", f'{taken}.rename("{names}")')

    def _row_of(self, node: ElementNode) -> str:
        """Load the row of an element, and return its name."""
        t, slide = self.param(node), self.slide
        loop, along = self.letters[slide.loop], self.letters[slide.along]
        used = frozenset[str]().union(*(i.loops for i in node.indices))
        used -= {slide.loop, slide.tap, slide.along}
        outer = [n for n in (*self.group.rows, *self.group.columns) if n in used]
        letters = [self.letters[n] for n in outer]
        size = f"B{loop}"
        if node not in self.views:
            at = [
                self.letters[d].lower() if isinstance(d, str) else self._index(d.index)
                for d in t.walked
            ]
            dims = (*letters, self.place_in_row.upper(), along)
            sizes = (*letters, self._elements(loop), along)
            self.views[node] = self.view_of(t, "Rows", dims, sizes, at)
        first = self.start(slide.loop)
        if slide.step > 1:
            first = f"{first} * {slide.step}"
        places = [
            *(x.lower() for x in letters),
            f"{first} :",
            f"{self.start(slide.along)} :",
        ]
        shape = f"({self._elements(size)}, B{along})"
        fill = None if node.fill is None else number_text(node.fill)
        extra = "" if fill in (None, "0.0", "0") else f", fill={fill}"
        threads = WARP_LANES * self.tiling.warps
        layout = f"{shape}, {threads}, vector={slide.vector}, order=(1, 0)"
        load = f"ag.load({self.views[node]}[{', '.join(places)}], {shape}{extra}"
        load += f", layout=ag.layouts.blocked({layout}))"
        found = self.names.fresh("row")
        self.line(f'{found} = {load}.rename("_ {along}")')
        return found

    def _elements(self, results: str) -> str:
        """How many elements of a row so many results have."""
        slide = self.slide
        if slide.step == 1:
            return f"{results} + {slide.reach - 1}"
        return f"({results} - 1) * {slide.step} + {slide.reach}"

    def _index(self, index: Affine) -> str:
        """A coordinate in which the place in the row stands for results and taps."""
        slide = self.slide
        if not {slide.loop, slide.tap} & index.loops:
            return self._sum(index)
        kept = {n: c for n, c in index.terms if n not in (slide.loop, slide.tap)}
        rest = self._sum(Affine.of(kept, index.constant))
        return (
            self.place_in_row
            if rest == "0"
            else f"{self.place_in_row} + {rest}".replace("+ -", "- ")
        )
