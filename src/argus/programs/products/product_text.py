"""A group whose sum of products tensor cores compute, as a kernel file.

    source = product_source(group, product_form(group), "linear_relu", "...")

The loop over K is the library's (`multiplied`, `summed`), whose text the file takes
over. What stands around it is written here: which tiles of which tensors are loaded,
what a step multiplies, and the epilogue, slice by slice of the accumulator.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from types import MappingProxyType

from argus.kernels.gemm.kernel import multiplied, summed  # pyright: ignore[reportUnknownVariableType]
from argus.lang.kernel import InlineFunction
from argus.programs.lowering.expression_text import bare, type_name
from argus.programs.lowering.expressions import Border, ElementNode
from argus.programs.lowering.kernel_file import KernelSource, file_text
from argus.programs.lowering.lowering import LoweredGroup
from argus.programs.lowering.naming import KernelTensor, TableDim, accessed, table_dim
from argus.programs.lowering.reference_text import reference_lines
from argus.programs.products.product_forms import (
    TMA_DIMENSIONS,
    ProductForm,
    in_tma_units,
)
from argus.programs.tiles.tile_axes import GroupTiling, TileAxis
from argus.programs.tiles.tile_text import TileWriter

_USED = frozenset(
    (
        *("acc", "BC", "bm", "bn", "CLUSTER", "GROUP", "j", "multiplied", "out"),
        *("part", "product", "REGISTERS", "ring", "slot", "STAGES", "steps"),
        *("summed", "WARPGROUPS", "raw", "parts", "three", "x", "i", "V", "W"),
    )
)
_SLICE = 32
"""Columns of the accumulator that an epilogue finishes at a time."""
_STORED_SLICE = 64
"""The same where nothing but a store follows."""
_LOADING_REGISTERS = 24
_LOOPS: dict[bool, object] = {False: multiplied, True: summed}
"""The library's loop over K; True: each step is added up by itself."""


_SPLIT_RING = 2
"""Slots of f32 before they are split."""
_SPLIT_TERMS = ((1, 1), (2, 0), (0, 2), (1, 0), (0, 1), (0, 0))
"""Which parts of left and right are multiplied, the smallest products first."""
_THREE = '''@ag.inline
def three(x):
    """Three numbers of bf16 that are x together."""
    high = x.to(bf16)
    rest = x - high.to(f32)
    middle = rest.to(bf16)
    return high, middle, (rest - middle.to(f32)).to(bf16)'''


def product_source(
    group: LoweredGroup, form: ProductForm, name: str, title: str
) -> KernelSource:
    """The file of a kernel that computes a group in a form.

    Raises NotFusedError for an epilogue that the language cannot say.
    """
    return ProductWriter(group, form).source(name, title)


def library_text(function: object) -> list[str]:
    """The lines of an inline function of the library."""
    assert isinstance(function, InlineFunction), function
    return ast.unparse(function.declaration.node).splitlines()


def _letters(
    group: LoweredGroup, form: ProductForm, further: Mapping[str, str]
) -> dict[str, str]:
    found = {form.row: "M", form.column: "N", form.inner: "K", **further}
    for names, loops in (("PQRST", form.batch), ("CDEFG", form.outer)):
        for i, loop in enumerate(loops):
            found[loop] = names[i] if i < len(names) else f"{names[0]}{i}"
    return {n: found[n] for n in (*group.rows, *group.columns)}


class ProductWriter(TileWriter):
    """The lines of a product's kernel. ``further``: loops with names of their own."""

    def __init__(
        self,
        group: LoweredGroup,
        form: ProductForm,
        further: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.form, self.tile = form, form.tile
        (self.stored,) = group.stores
        self.width = self._width()
        letters = _letters(group, form, further)
        super().__init__(group, GroupTiling(self._axes(), False, 0), letters, _USED)
        self.output = self._output()
        self.fields: dict[ElementNode, str] = {}
        for side, letter in enumerate("ab"):
            nodes = dict.fromkeys(pair[side] for pair in form.terms)
            for i, node in enumerate(nodes):
                self.fields[node] = f"{letter}{i if len(nodes) > 1 else ''}"

    def _axes(self) -> tuple[TileAxis, ...]:
        """Of the tiles of what follows the sum."""
        form = self.form
        return TileAxis(form.row, self.tile.bm), TileAxis(form.column, self.width)

    def _output(self) -> KernelTensor:
        stored = self.stored
        return accessed(self.names.result(stored.buffer), stored.buffer, stored.offset)

    def _width(self) -> int:
        """Columns of a slice of the accumulator."""
        tile = self.tile
        if tile.swap:
            return tile.bn
        plain = self.stored.node is self.form.reduction
        wide = self.stored.buffer.dtype.bits < 32
        wanted = _STORED_SLICE if plain and wide else _SLICE
        return wanted if tile.bn % wanted == 0 else tile.bn

    # -- names

    def _label_of(self, dim: Border | TableDim) -> str:
        """Dimensions that are walked alike have one name: their products are added."""
        if isinstance(dim, Border):
            for (_, other), label in self.labels.items():
                alike = isinstance(other, Border) and other.index == dim.index
                if alike and other.extent == dim.extent:
                    return label
        return super()._label_of(dim)

    def shape(self, loops: tuple[str, ...] | list[str]) -> str:  # type: ignore[override]
        """The shape of a tile of the accumulator's slice."""
        names = {self.form.row: "BM", self.form.column: "BC"}
        sizes = ", ".join(names[n] for n in loops)
        return f"({sizes},)" if len(loops) == 1 else f"({sizes})"

    def start(self, loop: str) -> str:
        """Where a slice begins."""
        return self.letters[loop].lower()

    def _factor(self, node: ElementNode) -> str:
        """The view of a factor's tile."""
        form, t = self.form, self.param(node)
        tiled = (form.row, form.column, form.inner)
        tables = {table_dim(x): x.index for x in node.tables}
        parts: list[str] = []
        for d in t.dims:
            match d:
                case Border():
                    parts.append(self._border(d))
                case TableDim():
                    parts.append(self._row(tables[d]))
                case _:
                    parts.append(self.letters[d].lower() + (":" if d in tiled else ""))
        return f"{t.name}[{', '.join(parts)}]"

    def _border(self, border: Border) -> str:
        """The index of a dimension that several loops walk, or where a slice begins."""
        tiled = {self.form.row, self.form.column, self.form.inner}
        return self._sum(border.index) + (" :" if border.index.loops & tiled else "")

    def _field(self, t: KernelTensor) -> str:
        """What a ring's slot has room for."""
        sizes = [side for d in t.walked for side in self._sides(d)]
        return f"{type_name(t.buffer.dtype)}.tile({', '.join(sizes)})"

    def _sides(self, dim: str | Border) -> list[str]:
        """Sides of a factor's tile along a dimension."""
        tiled = {self.form.row, self.form.column, self.form.inner}
        walked = dim.index.loops if isinstance(dim, Border) else {dim}
        return [f"B{self.letters[n]}" for n in walked & tiled]

    # -- the file

    def source(self, name: str, title: str) -> KernelSource:
        """The file."""
        self._body()
        tensors = (*self.params.values(), self.output)
        sizes = {self.letters[n]: s for n, s in self.group.sizes.items()}
        sizes |= {n: border.extent for (_, border), n in self.labels.items()}
        reference = reference_lines(
            self.group, self.letters, self.params, [(self.stored, self.output)]
        )
        text = file_text(
            name,
            title,
            map(self.declaration, tensors),
            self._statics(),
            sizes,
            [*self.heads, *self.lines],
            reference(f"{name}_reference"),
            [*self._product(), "", "", *self._loop_over_k()],
        )
        return KernelSource(name, text, tensors, (self.output.name,), sizes)

    def _loop_over_k(self) -> list[str]:
        """The library's, where there is no other loop around it."""
        if self.form.outer:
            return []
        return [*library_text(_LOOPS[self.tile.apart]), "", ""]

    def _statics(self) -> dict[str, int]:
        tile = self.tile
        found = {
            "BM": tile.bm, "BN": tile.bn, "BK": tile.bk, "BC": self.width,
            "STAGES": tile.stages, "WARPGROUPS": tile.warpgroups,
        }  # fmt: skip
        if tile.persistent and self._in_groups():
            found["GROUP"] = tile.group
        if tile.cluster > 1:
            found["CLUSTER"] = tile.cluster
        if tile.registers:
            found["REGISTERS"] = tile.registers
        static = [n for n in self.form.outer if n in self.fixed]
        found |= {self.letters[n]: self.group.sizes[n] for n in static}
        return found

    def _product(self) -> list[str]:
        """What a step multiplies."""
        turned, swap = self.form.turned, self.tile.swap
        tf32 = self.form.element.bits == 32 and not self.tile.split
        wide = ', precision="tf32"' if tf32 else ""
        lines: list[str] = []
        pairs = [(self.fields[a], self.fields[b]) for a, b in self.form.terms]
        if self.tile.split:
            pairs = [(f"{a}{i}", f"{b}{j}") for a, b in pairs for i, j in _SPLIT_TERMS]
        last = len(pairs) - 1
        for i, (left, right) in enumerate(pairs):
            a, b = f"slot.{left}", f"slot.{right}"
            if tf32 and self.form.rounded:  # by way of registers
                way = ".T" if turned[0] else ""
                pair = (f"ag.nearest_tf32({a}.load(){way})", f"{b}.T")
            elif swap:
                pair = (f"{b}.T" if turned[1] else b, a if turned[0] else f"{a}.T")
            else:
                pair = (f"{a}.T" if turned[0] else a, b if turned[1] else f"{b}.T")
            head = "return" if i == last else "acc ="
            lines.append(f"    {head} ag.dot({pair[0]}, {pair[1]}, acc{wide})")
        words = " in parts" if last else ""
        return [
            *([*_THREE.splitlines(), "", ""] if self.tile.split else []),
            "@ag.inline",
            "def product(slot, acc):",
            f'    """The product of a step{words}, added to ``acc``."""',
            *lines,
        ]

    # -- roles

    def _body(self) -> None:
        form, tile = self.form, self.tile
        self.line('ag.require(K > 0, "the first step of K is taken before the loop")')
        for loop in form.outer:
            letter = self.letters[loop]
            self.line(f'ag.require({letter} > 0, "there is something to sum")')
        if form.between is not None:
            low, high = (
                self.param(n).name for n in (form.between.low, form.between.high)
            )
            last = self.letters[form.between.loop]
            self.line(f"ag.assume(lambda row: row >= 0, {low})")
            self.line(f"ag.assume(lambda row: row <= {last}, {high})")
        read = {
            label: border
            for (name, border), label in self.labels.items()
            if name != self.output.name  # outside of it nothing is stored
            and isinstance(border, Border)
        }
        for label, border in read.items():
            self._inside(label, border)
        if tile.cluster > 1:
            self.line("ag.cluster(CLUSTER)")
        if tile.resident > 1:
            self.line(f"ag.launch(min_blocks={tile.resident})")
        if not tile.persistent:
            self.line(f"{self._indices()} = ag.block({self._counts()})")
        tiles = {f: self._field(self.param(node)) for node, f in self.fields.items()}
        fields = ", ".join(f"{field}={tile}" for field, tile in tiles.items())
        if tile.split:
            self.line(f"raw = ag.ring({_SPLIT_RING}, {fields})")
            fields = ", ".join(
                f"{field}{i}={made.replace('f32', 'bf16', 1)}"
                for field, made in tiles.items()
                for i in range(3)
            )
        self.line(f"ring = ag.ring(STAGES, {fields})")
        if self._staged():
            sides = self.shape([a.loop for a in self.tiling.axes])
            one = f"ag.shared({type_name(self.output.buffer.dtype)}, {sides})"
            self.line(f"out = ({one}, {one})")
        budget = tile.registers
        registers = f", registers={_LOADING_REGISTERS}" if budget else ""
        with self.loop(f'with ag.role("load", warps=1{registers}):'), self._tiles():
            self._load()
        if tile.split:
            head = f'with ag.role("split", warpgroups=1, registers={tile.split}):'
            with self.loop(head), self._tiles():
                self._split()
        registers = ", registers=REGISTERS" if budget else ""
        head = f'with ag.role("math", warpgroups=WARPGROUPS{registers}):'
        with self.loop(head), self._tiles():
            self._multiply()

    def _inside(self, label: str, border: Border) -> None:
        """Require that all indices along a dimension are inside of it."""
        last = [
            f"({self.letters[n]} - 1)" + (f" * {c}" if c != 1 else "")
            for n, c in border.index.terms
        ]
        inside = f"{' + '.join(last)} < {label}"
        self.line(f'ag.require({inside}, "all indices are inside")')

    def _indices(self) -> str:
        return ", ".join(
            [*(self.letters[n].lower() for n in self.form.batch), "bm, bn"]
        )

    def _counts(self) -> str:
        batch = [self.letters[n] for n in self.form.batch]
        return ", ".join([*batch, "ag.cdiv(M, BM), ag.cdiv(N, BN)"])

    def _in_groups(self) -> bool:
        """Whether tiles are walked so that neighbours share factors in L2."""
        return not self.form.batch

    @contextmanager
    def _tiles(self) -> Generator[None]:
        """The tiles of a block."""
        if not self.tile.persistent:
            yield
            return
        grouped = self._in_groups()
        walk = "ag.persistent_tiles" if grouped else "ag.persistent"
        group = ", group=GROUP" if grouped else ""
        counts = f"{self._counts()}{group}"
        with self.loop(f"for {self._indices()} in {walk}({counts}):"):
            yield

    @contextmanager
    def _steps(self) -> Generator[None]:
        """All steps of a sum."""
        between = self.form.between
        with ExitStack() as stack:
            for loop in (*self.form.outer, self.form.inner):
                letter = self.letters[loop]
                step = ", BK" if loop == self.form.inner else ""
                ends = f"0, {letter}{step}"
                if between is not None and loop == between.loop:
                    ends = f"{self._row(between.low)}, {self._row(between.high)}"
                head = f"for {letter.lower()} in ag.range({ends}):"
                stack.enter_context(self.loop(head))
            yield

    def _load(self) -> None:
        self.line("m, n = bm * BM, bn * BN")
        ring = "raw" if self.tile.split else "ring"
        with self._steps(), self.loop(f"with {ring}.fill() as slot:"):
            right = {pair[1] for pair in self.form.terms}
            for node, field in self.fields.items():
                shared = self.tile.cluster > 1 and node in right
                extra = ", multicast=CLUSTER" if shared else ""
                self.line(f"slot.{field}.load({self._factor(node)}{extra})")

    def _split(self) -> None:
        """Tiles of f32 become three of bf16."""
        with self._steps():
            with self.loop("with raw.drain() as slot:"):
                for field in self.fields.values():
                    self.line(f"{field} = slot.{field}.load()")
            with self.loop("with ring.fill() as parts:"):
                for field in self.fields.values():
                    self.line(f"x = three({field})")
                    for i in range(3):
                        self.line(f"parts.{field}{i}.store(x[{i}])")

    def _multiply(self) -> None:
        turn = ".T" if self.tile.swap else ""
        tiled = {self.form.row, self.form.column}
        moved = any(
            b.index.loops & tiled for t in self.params.values() for b in t.borders
        )
        turn += '.rename("M N")' if moved else ""
        if self.form.outer:
            sides = "(BN, BM)" if self.tile.swap else "(BM, BN)"
            self.line(f"acc = ag.zeros({sides}, f32)")
            with self._steps(), self.loop("with ring.drain() as slot:"):
                apart = self.tile.apart
                one = "acc + product(slot, None)" if apart else "product(slot, acc)"
                self.line(f"acc = {one}")
            if turn:
                self.line(f"acc = acc{turn}")
        else:
            loop = "summed" if self.tile.apart else "multiplied"
            self.line(f"acc = {loop}(ring, ag.cdiv(K, BK), product){turn}")
        self._slices()

    def _slices(self) -> None:
        """What follows, of parts of the accumulator."""
        if not self._sliced():
            self.line("m, n, part = bm * BM, bn * BN, acc")
            self._finish("0")
            return
        with self.loop("for j in ag.static_range(BN // BC):"):
            self.line("m, n = bm * BM, bn * BN + j * BC")
            self.line("part = acc[:, j * BC : (j + 1) * BC]")
            self._finish("j % 2")

    # -- the epilogue

    def _sliced(self) -> bool:
        """Whether what follows walks slices of the accumulator."""
        return self.width != self.tile.bn

    def _staged(self) -> str:
        """How results leave: "tma", or "shared" where TMA cannot.

        Else each thread writes what it has: parts of rows.
        """
        t = self.output
        if not self.tile.persistent or t.buffer.dtype.bits not in (16, 32) or t.unit:
            return ""
        if t.dims[-1] != self.form.column or not self._sliced():
            return ""
        # Of strides a kernel knows what divides those of all rows along a dimension.
        beside = [
            x for x in self.params.values() if x.dims and x.dims[-1] == t.dims[-1]
        ]
        strides = [s for x in (t, *beside) for s in x.strides[:-1]]
        counts = (self.group.sizes[self.form.column], *strides, t.start)
        fits = len(t.dims) <= TMA_DIMENSIONS and in_tma_units(counts, t.buffer.dtype)
        return "tma" if fits else "shared"

    def _finish(self, buffer: str) -> None:
        self.scopes[-1][self.form.reduction] = "part"
        text = bare(self.text(self.stored.node))
        t, staged = self.output, self._staged()
        if staged:
            self.line(f"out[{buffer}].store({text})")
            if staged == "tma":
                self.line(f"ag.tma_store({self.place(t)}, out[{buffer}])")
                return
            text = f'out[{buffer}].load().rename("{self._tile_dims()}")'
        axes = [d for d in t.loops if self.is_axis(d)]
        if axes != [a.loop for a in self.tiling.axes]:
            text = f"({text}).T"
        self.line(f"{self.place(t)} = {text}")

    def _tile_dims(self) -> str:
        """Dimensions of a tile of what follows."""
        return "M N"
