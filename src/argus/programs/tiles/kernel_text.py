"""A group as a kernel file in the language, with its reference.

    source = kernel_source(group, tiling_of(group), "softmax", "...")

A kernel has a block for each tile of rows. Reductions that need no other come first,
then those that need them, then what is stored; each of these passes walks the columns,
unless a block holds them all.
"""

from __future__ import annotations

from argus.programs.lowering.expression_text import (
    COMBINE,
    bare,
    call_text,
    neutral_text,
    type_name,
)
from argus.programs.lowering.expressions import (
    ApplyNode,
    Border,
    ElementNode,
    NumberNode,
    ReduceNode,
    walked,
)
from argus.programs.lowering.kernel_file import KernelSource, file_text
from argus.programs.lowering.lowering import KernelStore, LoweredGroup, NotFusedError
from argus.programs.lowering.naming import KernelTensor, accessed, table_dim
from argus.programs.lowering.reference_text import reference_lines
from argus.programs.lowering.tables import assumed_of
from argus.programs.tensors.recorder import COMPARISONS
from argus.programs.tiles.carried_text import pairs_of
from argus.programs.tiles.column_text import ColumnWriter
from argus.programs.tiles.tile_axes import GroupTiling, levels_of

_LONG = 52
"""Letters of an expression that gets a name of its own."""


def kernel_source(
    group: LoweredGroup, tiling: GroupTiling, name: str, title: str
) -> KernelSource:
    """The file of a kernel that computes a group.

    Raises NotFusedError for what the language cannot say.
    """
    if tiling.product is not None:
        from argus.programs.tiles.window_product_text import WindowProductWriter

        return WindowProductWriter(group, tiling, tiling.product).source(name, title)
    if tiling.slide is not None:
        from argus.programs.tiles.sliding_text import SlidingWriter

        return SlidingWriter(group, tiling, tiling.slide).source(name, title)
    if group.scans:
        from argus.programs.tiles.scan_text import ScanWriter

        return ScanWriter(group, tiling).source(name, title)
    return KernelWriter(group, tiling).source(name, title)


class KernelWriter(ColumnWriter):
    """The lines of a kernel that walks its rows and columns in tiles."""

    def __init__(self, group: LoweredGroup, tiling: GroupTiling) -> None:
        super().__init__(group, tiling)
        self.fixed = self.fixed | self._whole()
        self.outputs = [
            accessed(self.names.result(s.buffer), s.buffer, s.offset)
            for s in group.stores
        ]

    def _whole(self) -> set[str]:
        """Columns that fill an axis: of known size, so that no element is tested."""
        axes = self.tiling.axes if self.tiling.held else ()
        return {
            a.loop
            for a in axes
            if a.loop in self.group.columns and self.group.sizes[a.loop] == a.size
        }

    # -- the file

    def source(self, name: str, title: str) -> KernelSource:
        """The file; `title` is what it computes."""
        group, letters = self.group, self.letters
        self.body()
        tensors = (*self.params.values(), *self.outputs)
        sizes = {letters[n]: s for n, s in group.sizes.items()}
        sizes |= {n: dim.extent for (_, dim), n in self.labels.items()}
        statics = {letters[n]: group.sizes[n] for n in self.fixed}
        statics |= {
            n: dim.extent
            for (_, dim), n in self.labels.items()
            if isinstance(dim, Border)
        }
        statics |= {f"B{letters[a.loop]}": a.size for a in self.tiling.axes}
        stored = list(zip(group.stores, self.outputs, strict=True))
        reference = reference_lines(group, letters, self.params, stored)
        names = [*letters.values(), *self.labels.values()]
        text = file_text(
            name,
            title,
            map(self.declaration, tensors),
            dict(sorted(statics.items())),
            [n for n in names if n in sizes],
            [*self.heads, *self.lines],
            reference(f"{name}_reference"),
            self.before(),
        )
        outputs = tuple(t.name for t in self.outputs)
        return KernelSource(name, text, tensors, outputs, sizes)

    # -- passes

    def before(self) -> list[str]:
        """Lines ahead of the kernel."""
        return []

    def body(self) -> None:
        """The lines after the names of sizes."""
        group, tiling, letters = self.group, self.tiling, self.letters
        for loop in group.columns:
            letter = letters[loop]
            if loop in self.fixed:
                continue
            self.line(f'ag.require({letter} > 0, "there is something to reduce")')
            if tiling.held and self.is_axis(loop):
                self.line(f'ag.require({letter} <= B{letter}, "a block holds a row")')
            elif tiling.whole:
                self.line(f'ag.require({letter} % B{letter} == 0, "tiles are whole")')
        if group.columns or self._one_by_one() or self._compared():
            self._assumed()
        self._counted()
        if tiling.resident > 1:
            blocks = f", min_blocks={tiling.resident}"
            self.line(f"ag.launch(warps={tiling.warps}{blocks})")
        elif tiling.warps != 4:
            self.line(f"ag.launch(warps={tiling.warps})")
        if group.rows:
            indices = ", ".join(letters[n].lower() for n in group.rows)
            counts = ", ".join(
                f"ag.cdiv({letters[n]}, B{letters[n]})"
                if self.is_axis(n)
                else letters[n]
                for n in group.rows
            )
            self.line(f"{indices} = ag.block({counts})")
        self.passes()

    def passes(self) -> None:
        """Reductions in their order, then what is stored."""
        tiling = self.tiling
        pairs = [] if tiling.held else pairs_of(self.group, whole=tiling.whole)
        done = {p.second for p in pairs}
        for level in levels_of(self.group):
            left = [r for r in level if r not in done]
            for reduction in left:
                self.hoisted(reduction.body)
            if self.tiling.held:
                self._held(left)
            elif left:
                self.reduced(left, [p for p in pairs if p.first in left])
        self._stored(list(zip(self.group.stores, self.outputs, strict=True)))

    def _one_by_one(self) -> bool:
        """Whether a table's element is read by itself: nothing is left out then."""
        free = self.group.pool.free
        tables = (t for node in self.group.elements for t in node.tables)
        axes = {a.loop for a in self.tiling.axes}
        return any(not free(table.index) & axes for table in tables)

    def _compared(self) -> bool:
        """Whether what a table chooses is compared, and so decides something."""
        return any(
            isinstance(inner, ElementNode) and inner.tables
            for node in self.group.nodes
            if isinstance(node, ApplyNode) and node.function in COMPARISONS
            for inner in walked([node])
        )

    def _assumed(self) -> None:
        """What torch requires of tables: with other numbers nothing is reduced.

        And a single element is not read, and nothing is decided.
        """
        said: dict[str, None] = {}
        for node in self.group.elements:
            t = self.param(node)
            for table in node.tables:
                found, dim = assumed_of(table.index), table_dim(table)
                if found is None:
                    continue
                name, end = self.param(found[0]).name, self.labels[t.name, dim]
                low = f"-{end}" if found[1] else "0"
                if found[1]:  # the sum of a row and the extent is that many
                    why = "rows below 0 count from its end"
                    said[f'ag.require({end} == {table.extent}, "{why}")'] = None
                facts = f"(row >= {low}) & (row < {end})"
                said[f"ag.assume(lambda row: {facts}, {name})"] = None
        for line in said:
            self.line(line)

    def _counted(self) -> None:
        """What is chosen by positions alone, of which none lies outside, is there."""
        said: dict[str, None] = {}
        for node in self.group.elements:
            for table in node.tables:
                if any(isinstance(n, ElementNode) for n in walked([table.index])):
                    continue
                end = self.labels[self.param(node).name, table_dim(table)]
                fact = f"{end} >= {table.extent}"
                said[f'ag.require({fact}, "what is chosen is there")'] = None
        for line in said:
            self.line(line)

    def _held(self, level: list[ReduceNode]) -> None:
        """Reductions along axes that are whole in a tile; others are walked."""
        self.together = level
        others = [n for n in self.group.columns if not self.is_axis(n)]
        axes = [a.loop for a in self.tiling.axes]
        bodies: dict[ReduceNode, str] = {}
        if others:
            for r in level:
                bodies[r] = self.names.fresh(f"{r.function}_part")
                neutral = neutral_text(r.function, r.dtype)
                self.line(f"{bodies[r]} = {self.full(axes, neutral, r.dtype)}")
            with self.along(others):
                for r in level:
                    parts = [bodies[r], self.masked(r, bodies[r])]
                    text = call_text(COMBINE[r.function], parts)
                    self.line(f"{bodies[r]} = {bare(text)}")
        for r in level:
            if not others:
                like = self.text(r.body) if self.named(r.body) else None
                bodies[r] = bare(self.masked(r, like))
            text = bodies[r]
            for loop in self.held_axes:
                text = f'ag.{r.function}({text}, "{self.letters[loop]}")'
            if r.function.startswith("arg"):
                text += f".to({type_name(r.dtype)})"
            self.assign(r, r.function, text)

    def _stored(self, stores: list[tuple[KernelStore, KernelTensor]]) -> None:
        """What has no column is stored first; all others in one walk along them."""
        along: list[tuple[KernelStore, KernelTensor]] = []
        for store, t in stores:
            columns = [n for n in self.group.columns if n in store.offset.loops]
            if columns and len(columns) != len(self.group.columns):
                raise NotFusedError("what is stored depends on some columns only")
            self.hoisted(store.node)
            if columns:
                along.append((store, t))
            else:
                self.put(store, t)
        with self.along([] if self.tiling.held or not along else self._walk()):
            for store, t in along:
                self.put(store, t)

    def put(self, store: KernelStore, t: KernelTensor) -> None:
        """Store what a result is in this tile."""
        text = bare(self.text(store.node))
        axes = [d for d in t.loops if self.is_axis(d)]
        wanted = tuple(a.loop for a in self.tiling.axes if a.loop in axes)
        if isinstance(store.node, NumberNode):
            text = self.full(wanted, text, store.buffer.dtype)
        elif self.axes(store.node) != wanted:
            like = self.full(wanted, "0", store.buffer.dtype)
            text = f"ag.broadcast({text}, {like})"
        if tuple(axes) != wanted:
            text = self.turned(f"({text})", wanted, store.buffer.dtype)
        self.line(f"{self.place(t)} = {text}")

    def _walk(self) -> list[str]:
        (loop,) = self.held_axes
        return [*(n for n in self.group.columns if n != loop), loop]
