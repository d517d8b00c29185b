"""A product whose tiles are pixels and phases, as a kernel file.

As `product_text.py` writes it, but for what a tile of the accumulator is: pixels, and
channels with their phases. Turned, it is rows of the output.
"""

from __future__ import annotations

from argus.programs.lowering.expression_text import bare
from argus.programs.lowering.expressions import Border
from argus.programs.lowering.kernel_file import KernelSource
from argus.programs.lowering.lowering import LoweredGroup
from argus.programs.lowering.naming import KernelTensor, accessed
from argus.programs.products.product_forms import ProductForm
from argus.programs.products.product_text import ProductWriter
from argus.programs.tensors.affine import Affine
from argus.programs.tiles.tile_axes import TileAxis

_SLICE = 32
"""Columns of the accumulator that an epilogue finishes at a time."""


def pixel_source(
    group: LoweredGroup, form: ProductForm, name: str, title: str
) -> KernelSource:
    """The file of a kernel that computes a group in a form with `pixels`.

    Raises NotFusedError for an epilogue that the language cannot say.
    """
    return _PixelWriter(group, form).source(name, title)


class _PixelWriter(ProductWriter):
    def __init__(self, group: LoweredGroup, form: ProductForm) -> None:
        assert form.pixels is not None
        self.pixels = form.pixels
        further = {self.pixels.phase: "U"}
        further |= {self.pixels.above: "H"} if self.pixels.above else {}
        super().__init__(group, form, further)

    # -- names

    def _width(self) -> int:
        """Channels of a slice of the accumulator."""
        return min(_SLICE, self.tile.bn) // self.pixels.phases

    def _axes(self) -> tuple[TileAxis, ...]:
        form = self.form
        return TileAxis(form.column, self.width), TileAxis(form.row, self.tile.bm)

    def shape(self, loops: tuple[str, ...] | list[str]) -> str:  # type: ignore[override]
        """The shape of a tile of rows of the output."""
        names = {self.form.column: "BC", self.form.row: "BM * U"}
        sizes = ", ".join(names[n] for n in loops)
        return f"({sizes},)" if len(loops) == 1 else f"({sizes})"

    def _output(self) -> KernelTensor:
        """With pixels and their phases as one dimension."""
        stored, pixels, row = self.stored, self.pixels, self.form.row
        borders = [*stored.borders]
        if not any(pixels.phase in b.index.loops for b in borders):
            walked = Affine.of({row: pixels.phases, pixels.phase: 1})
            extent = pixels.phases * self.group.sizes[row]
            borders.append(Border(walked, extent, 1))
        rest = stored.offset
        name = self.names.result(stored.buffer)
        for border in borders:
            rest = rest + border.index * -border.stride
            lies = pixels.phase in border.index.loops
            self.labels[name, border] = "V" if lies else self.names.fresh("E")
        return accessed(name, stored.buffer, rest, tuple(borders))

    def _tiled(self, border: Border) -> str:
        """M or N for what a tile walks of a factor; "" for another dimension."""
        if self.pixels.phase in border.index.loops:
            return "N"
        return "M" if self.form.row in border.index.loops else ""

    def _border(self, border: Border) -> str:
        found = self._tiled(border)
        return f"{found.lower()}:" if found else super()._border(border)

    def _sides(self, dim: str | Border) -> list[str]:
        found = self._tiled(dim) if isinstance(dim, Border) else ""
        return [f"B{found}"] if found else super()._sides(dim)

    def _label(self, tiled: str) -> str:
        """The dimension of a factor that a tile walks."""
        return next(
            (
                label
                for (name, border), label in self.labels.items()
                if isinstance(border, Border)
                and name != self.output.name
                and self._tiled(border) == tiled
            ),
            tiled,
        )

    # -- the file

    def _statics(self) -> dict[str, int]:
        form, pixels = self.form, self.pixels
        found = super()._statics()
        loops = [form.row, form.column, pixels.phase]
        loops += [n for b in self.stored.borders for n in sorted(b.index.loops)]
        if pixels.above:
            loops.append(pixels.above)
            found["W"] = pixels.pitch
        found |= {self.letters[n]: self.group.sizes[n] for n in loops}
        return found | {
            label: border.extent
            for (name, border), label in self.labels.items()
            if isinstance(border, Border)
            and (name == self.output.name or self._tiled(border))
        }

    def _counts(self) -> str:
        batch = [self.letters[n] for n in self.form.batch]
        tiles = [f"ag.cdiv({self._label(n)}, B{n})" for n in "MN"]
        return ", ".join([*batch, *tiles])

    # -- the epilogue

    def _slices(self) -> None:
        """Slices of channels, each stored row by row."""
        pixels = self.pixels
        with self.loop("for j in ag.static_range(BN // (BC * U)):"):
            self.line("m, n = bm * BM, bn * (BN // U) + j * BC")
            self.line("part = acc[:, j * BC * U : (j + 1) * BC * U]")
            self.line('part = ag.reshape(part, (BM, BC, U), dims="M N U")')
            turned = 'ag.permute(part, "N M U"), (BC, BM * U), dims="N V"'
            self.line(f"part = ag.reshape({turned})")
            self.scopes[-1][self.form.reduction] = "part"
            text = bare(self.text(self.stored.node))
            if self._staged():
                self.line(f"out[j % 2].store({text})")
                text = 'out[j % 2].load().rename("N V")'
            if not pixels.above:
                self.line(f"{self._stored_at('m * U')} = {text}")
                return
            self.line(f"part = {text}")
            count = pixels.segments(self.tile.bm)
            with self.loop(f"for i in ag.static_range({count}):"):
                self.line("h = m // W + i")
                self.line(f"{self._stored_at('(m - h * W) * U')} = part")

    def _staged(self) -> str:
        """Parts of several rows leave by way of shared memory, and so do odd ones.

        There neighbours write neighbours, and most warps have nothing of a row. What
        is a part of one row leaves in whole sectors as it is, phases side by side.
        """
        parts = self.pixels.above or self.stored.borders
        return "shared" if parts and self.tile.persistent else ""

    def _stored_at(self, start: str) -> str:
        """Where a row of the output is stored from."""
        parts: list[str] = []
        for d in self.output.walked:
            if isinstance(d, str):
                parts += self._walked([d])
            elif self.pixels.phase in d.index.loops:
                before = d.index.constant
                parts.append(f"{start} - {-before} :" if before else f"{start} :")
            else:
                parts.append(self._sum(d.index))
        return f"{self.output.name}[{', '.join(parts)}]"
