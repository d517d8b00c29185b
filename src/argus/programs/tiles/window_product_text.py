"""A product over windows as a kernel: views of input and weights, and `ag.dot`."""

from __future__ import annotations

from math import prod

from argus.ir.dtypes import f32
from argus.programs.lowering.expression_text import type_name
from argus.programs.lowering.expressions import ElementNode
from argus.programs.lowering.lowering import LoweredGroup
from argus.programs.lowering.naming import accessed, parameter_key
from argus.programs.tensors.affine import Affine
from argus.programs.tiles.kernel_text import KernelWriter
from argus.programs.tiles.tile_axes import GroupTiling
from argus.programs.tiles.window_products import PIXELS, TAPS, WindowProduct


class WindowProductWriter(KernelWriter):
    """The lines of such a kernel: one tile of the output for each block."""

    def __init__(
        self, group: LoweredGroup, tiling: GroupTiling, product: WindowProduct
    ) -> None:
        super().__init__(group, tiling)
        self.product = product
        (store,), (output,) = group.stores, self.outputs
        step = store.offset.factor(product.pixels[-1])
        kept = {n: c for n, c in store.offset.terms if n not in product.pixels}
        offset = Affine.of({**kept, PIXELS: step}, store.offset.constant)
        self.outputs = [accessed(output.name, store.buffer, offset)]

    def body(self) -> None:
        """The loop over taps, and the store."""
        product, letters = self.product, self.letters
        (store,), (output,) = self.group.stores, self.outputs
        loops = (*product.batch, product.row, PIXELS)
        counts = [
            f"ag.cdiv({letters[n]}, B{letters[n]})" if self.is_axis(n) else letters[n]
            for n in loops
        ]
        row, pixels, taps = (letters[n] for n in (product.row, PIXELS, TAPS))
        indices = ", ".join(letters[n].lower() for n in loops)
        self.line(f"{indices} = ag.block({', '.join(counts)})")
        weight = self._tile(product.weight, (product.row, TAPS))
        image = self._tile(product.image, (TAPS, PIXELS))
        left, right, total = (self.names.fresh(n) for n in ("w", "x", "acc"))
        tf32 = ', precision="tf32"' if product.image.dtype == f32 else ""
        dims = f'dims="{row} {pixels}"'
        self.line(f"{total} = ag.zeros((B{row}, B{pixels}), f32, {dims})")
        first = taps.lower()
        with self.loop(f"for {first} in ag.range(0, {taps}, B{taps}):"):
            self.line(f"{left} = ag.load({weight}, (B{row}, B{taps}))")
            self.line(f"{right} = ag.load({image}, (B{taps}, B{pixels}))")
            if tf32:  # as torch does; the instruction would leave out bits
                self.line(f"{left} = ag.nearest_tf32({left})")
                self.line(f"{right} = ag.nearest_tf32({right})")
            self.line(f"{total} = ag.dot({left}, {right}, {total}{tf32})")
        text = total
        if store.buffer.dtype != f32:
            text += f".to({type_name(store.buffer.dtype)})"
        axes = [d for d in output.loops if self.is_axis(d)]
        if axes != [product.row, PIXELS]:
            text += ".T"
        self.line(f"{self.place(output)} = {text}")

    def start(self, loop: str) -> str:
        """The first index of a loop's axis in this block or iteration."""
        return self.letters[loop].lower() if loop == TAPS else super().start(loop)

    def _tile(self, node: ElementNode, axes: tuple[str, str]) -> str:
        """The place of a tile, through a view with these two dimensions last."""
        tensor = self.params[parameter_key(node)]
        used = self.group.pool.free(node)
        loops = [n for n in self.product.batch if n in used] + list(axes)
        letters = [self.letters[n] for n in loops]
        indices = {n: self._index(n) for n in used}
        at = [
            indices[d]
            if isinstance(d, str)
            else _sum(d.index, indices)
            for d in tensor.walked
        ]  # fmt: skip
        name = self.view_of(tensor, "View", letters, letters, at)
        places = [
            f"{self.start(n)} :" if n in axes else self.letters[n].lower()
            for n in loops
        ]
        return f"{name}[{', '.join(places)}]"

    def _index(self, loop: str) -> str:
        """The index of a loop, or that digit of the index that it is part of."""
        for flat, loops in self.group.flat.items():
            if loop in loops:
                at = loops.index(loop)
                inner = prod(self.group.sizes[n] for n in loops[at + 1 :])
                text = self.letters[flat].lower()
                text += f" // {inner}" if inner > 1 else ""
                return text + (f" % {self.group.sizes[loop]}" if at else "")
        return self.letters[loop].lower()


def _sum(index: Affine, indices: dict[str, str]) -> str:
    parts = [f"({indices[n]}) * {c}" if c != 1 else indices[n] for n, c in index.terms]
    if index.constant or not parts:
        parts.append(str(index.constant))
    return " + ".join(parts).replace("+ -", "- ")
