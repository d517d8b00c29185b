"""A product whose tiles are boxes of pixels, as a kernel file.

As `product_text.py` writes it, but for what rows of a tile are: pixels of several
dimensions. A view says which; TMA brings them at once, and takes results so.
"""

from __future__ import annotations

from argus.programs.lowering.expressions import Border, ElementNode
from argus.programs.lowering.kernel_file import KernelSource
from argus.programs.lowering.lowering import LoweredGroup
from argus.programs.lowering.naming import TableDim
from argus.programs.products.product_forms import ProductForm
from argus.programs.products.product_text import ProductWriter
from argus.programs.tiles.tile_axes import TileAxis

_LETTERS = {1: "W", 2: "IW", 3: "IHW", 4: "ILHW"}
"""Names of dimensions of pixels."""
_WIDEST, _NARROW = 64, 32
"""Columns of a slice of the accumulator, at most, and of others."""


def box_source(
    group: LoweredGroup, form: ProductForm, name: str, title: str
) -> KernelSource:
    """The file of a kernel that computes a group in a form with a `box`.

    Raises NotFusedError for an epilogue that the language cannot say.
    """
    return _BoxWriter(group, form).source(name, title)


class _BoxWriter(ProductWriter):
    def __init__(self, group: LoweredGroup, form: ProductForm) -> None:
        assert form.box is not None
        self.box = form.box
        ((self.pixels, _),) = form.terms
        letters = _LETTERS[len(self.box.loops)]
        super().__init__(group, form, dict(zip(self.box.loops, letters, strict=True)))

    def _width(self) -> int:
        wide, bn = super()._width(), self.tile.bn
        if wide < bn or bn <= _WIDEST or bn % _NARROW:
            return wide
        return _NARROW

    def _axes(self) -> tuple[TileAxis, ...]:
        pairs = zip(self.box.loops, self.box.sides, strict=True)
        columns = TileAxis(self.form.column, self.width)
        return *(TileAxis(n, side) for n, side in pairs), columns

    # -- names

    def shape(self, loops: tuple[str, ...] | list[str]) -> str:  # type: ignore[override]
        """The shape of a tile of a slice of the accumulator."""
        sizes = ", ".join(
            "BC" if n == self.form.column else f"B{self.letters[n]}" for n in loops
        )
        return f"({sizes},)" if len(loops) == 1 else f"({sizes})"

    def _sides(self, dim: str | Border) -> list[str]:
        walked = dim.index.loops if isinstance(dim, Border) else {dim}
        if self.box.loops[0] in walked:
            return [self._count()]
        return [] if {*self.box.loops} & walked else super()._sides(dim)

    def _count(self) -> str:
        return " * ".join(f"B{self.letters[n]}" for n in self.box.loops)

    def _digit(self, loop: str, step: int = 1) -> str:
        """Where the m-th pixel of a tile is along a loop, behind the first."""
        number = self.box.loops.index(loop)
        if self.box.sides[number] == 1:
            return ""
        sides = [f"B{self.letters[n]}" for n in self.box.loops]
        behind = sides[number + 1 :]
        text = "m" if not behind else f"m // {behind[0]}"
        if len(behind) > 1:
            text = f"m // ({' * '.join(behind)})"
        text += f" % {sides[number]}" if number else ""
        return f" + {text}" + (f" * {step}" if step != 1 else "")

    def _coordinate(self, dim: str | Border) -> str:
        if isinstance(dim, Border):
            (loop,) = dim.index.loops & {*self.box.loops}
            step = dim.index.factor(loop)
            return self._sum(dim.index) + self._digit(loop, step)
        letter = self.letters[dim].lower()
        return letter + (self._digit(dim) if dim in self.box.loops else "")

    def _factor(self, node: ElementNode) -> str:
        return super()._factor(node) if node is not self.pixels else "pixels[0:, k:]"

    # -- the file

    def _statics(self) -> dict[str, int]:
        found = super()._statics()
        del found["BM"]
        pairs = zip(self.box.loops, self.box.sides, strict=True)
        found |= {f"B{self.letters[n]}": side for n, side in pairs}
        borders = self.param(self.pixels).borders
        found |= {
            self.letters[n]: self.group.sizes[n]
            for border in borders
            for n in sorted(border.index.loops)
        }
        return found | {
            self.labels[self.param(self.pixels).name, b]: b.extent for b in borders
        }

    def _inside(self, label: str, border: Border) -> None:
        """What lies outside of an image is zero."""

    def _indices(self) -> str:
        first = [self.letters[n].lower() for n in self.form.batch]
        tiles = [f"b{self.letters[n].lower()}" for n in self.box.loops]
        return ", ".join([*first, *tiles, "bn"])

    def _counts(self) -> str:
        names = [self.letters[n] for n in self.box.loops]
        tiles = [f"ag.cdiv({n}, B{n})" for n in [*names, "N"]]
        return ", ".join([*(self.letters[n] for n in self.form.batch), *tiles])

    def _in_groups(self) -> bool:
        return False

    # -- roles

    def _begin(self) -> None:
        """The first pixel of a tile."""
        names = [self.letters[n] for n in self.box.loops]
        firsts = ", ".join(f"b{n.lower()} * B{n}" for n in names)
        self.line(f"{', '.join(n.lower() for n in names)} = {firsts}")

    def _load(self) -> None:
        self._begin()
        self.line("n = bn * BN")
        tensor = self.param(self.pixels)
        at = ", ".join(
            "c0" if d == self.form.inner else self._coordinate(d)
            for d in tensor.dims
            if not isinstance(d, TableDim)
        )
        with self._steps():
            self.line(f"pixels = {tensor.name}.view(")
            self.line(f'    "M K", shape=({self._count()}, K), at=lambda m, c0: ({at})')
            self.line(")")
            with self.loop("with ring.fill() as slot:"):
                for node, field in self.fields.items():
                    self.line(f"slot.{field}.load({self._factor(node)})")

    def _multiply(self) -> None:
        self.line(f"acc = ag.zeros(({self._count()}, BN), f32)")
        with self._steps(), self.loop("with ring.drain() as slot:"):
            self.line("acc = product(slot, acc)")
        self._begin()
        shape, dims = self.shape([a.loop for a in self.tiling.axes]), self._tile_dims()
        with self.loop("for j in ag.static_range(BN // BC):"):
            self.line("n = bn * BN + j * BC")
            part = "acc[:, j * BC : (j + 1) * BC]"
            self.line(f'part = ag.reshape({part}, {shape}, dims="{dims}")')
            self._finish("j % 2")

    # -- the epilogue

    def _sliced(self) -> bool:
        return True

    def _tile_dims(self) -> str:
        return " ".join(self.letters[a.loop] for a in self.tiling.axes)
