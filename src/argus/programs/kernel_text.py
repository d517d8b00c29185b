"""A group as a kernel file in the language, with its reference.

    source = kernel_source(group, tiling_of(group), "softmax", "...")

A kernel has a block for each tile of rows. Reductions that need no other come first,
then those that need them, then what is stored; each of these passes walks the columns,
unless a block holds them all.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from argus.ir.dtypes import DTYPES
from argus.programs.expression_text import (
    COMBINE,
    bare,
    call_text,
    neutral_text,
    number_text,
    type_name,
)
from argus.programs.expressions import (
    ApplyNode,
    Border,
    ElementNode,
    ExpressionNode,
    NumberNode,
    ReduceNode,
)
from argus.programs.lowering import KernelStore, LoweredGroup, NotFusedError
from argus.programs.naming import KernelTensor, accessed, table_dim
from argus.programs.reference_text import reference_lines
from argus.programs.tables import assumed_of
from argus.programs.tile_axes import GroupTiling, levels_of
from argus.programs.tile_text import TileWriter

_LONG = 52
"""Letters of an expression that gets a name of its own."""


@dataclass(frozen=True)
class KernelSource:
    """A kernel file. ``tensors`` are its parameters in order, the last are outputs.

    ``sizes`` are the numbers of elements of its dimensions, by their names.
    """

    name: str
    text: str
    tensors: tuple[KernelTensor, ...]
    outputs: tuple[str, ...]
    sizes: dict[str, int]


def kernel_source(
    group: LoweredGroup, tiling: GroupTiling, name: str, title: str
) -> KernelSource:
    """The file of a kernel that computes a group.

    Raises NotFusedError for what the language cannot say.
    """
    if tiling.product is not None:
        from argus.programs.window_product_text import WindowProductWriter

        return WindowProductWriter(group, tiling, tiling.product).source(name, title)
    return KernelWriter(group, tiling).source(name, title)


class KernelWriter(TileWriter):
    """The lines of a kernel that walks its rows and columns in tiles."""

    def __init__(self, group: LoweredGroup, tiling: GroupTiling) -> None:
        super().__init__(group, tiling)
        self.outputs = [
            accessed(self.names.tensor(s.buffer), s.buffer, s.offset)
            for s in group.stores
        ]

    # -- the file

    def source(self, name: str, title: str) -> KernelSource:
        """The file; `title` is what it computes."""
        group, letters = self.group, self.letters
        self.body()
        tensors = (*self.params.values(), *self.outputs)
        types = {type_name(t.buffer.dtype) for t in tensors}
        body = "\n".join([*self.heads, *self.lines])
        known = (*(type_name(t) for t in DTYPES.values()),)
        types |= {t for t in known if _mentions(body, t)}
        sizes = {letters[n]: s for n, s in group.sizes.items()}
        sizes |= {n: dim.extent for (_, dim), n in self.labels.items()}
        head = [
            f'"""{title}"""',
            "",
            "import argus as ag",
            f"from argus import {', '.join(sorted(types))}",
            "",
            "",
            "@ag.kernel",
            f"def {name}(",
            *(f"    {t.name}: {self.declared(t)}," for t in tensors),
        ]
        statics = {letters[n]: group.sizes[n] for n in self.fixed}
        statics |= {
            n: dim.extent
            for (_, dim), n in self.labels.items()
            if isinstance(dim, Border)
        }
        statics |= {f"B{letters[a.loop]}": a.size for a in self.tiling.axes}
        if statics:
            head.append("    *,")
        head += [f"    {n}: int = {statics[n]}," for n in sorted(statics)]
        head += ["):", f'    """{title}"""']
        names = [*letters.values(), *self.labels.values()]
        used = [n for n in names if n in sizes and _mentions(body, n)]
        head += [f'    {n} = ag.dim("{n}")' for n in used if n not in statics]
        head += self.heads
        outputs = tuple(t.name for t in self.outputs)
        reference = reference_lines(
            group,
            letters,
            self.params,
            list(zip(group.stores, self.outputs, strict=True)),
        )
        text = "\n".join(
            [
                *head,
                *self.lines,
                "",
                "",
                "@ag.reference",
                *reference(f"{name}_reference"),
                "",
            ]
        )
        return KernelSource(name, text, tensors, outputs, sizes)

    # -- passes

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
        if group.columns:
            self._assumed()
        if tiling.warps != 4:
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
        if group.scans:
            self._scanned()
            return
        for level in levels_of(group):
            self._reduced(level)
        self._stored(list(zip(group.stores, self.outputs, strict=True)))

    def _assumed(self) -> None:
        """What torch requires of tables: with other numbers nothing is reduced."""
        said: dict[str, None] = {}
        for node in self.group.elements:
            t = self.param(node)
            for table in node.tables:
                found, dim = assumed_of(table.index), table_dim(table)
                if found is None:
                    continue
                name, end = self.param(found[0]).name, self.labels[t.name, dim]
                low = f"-{end}" if found[1] else "0"
                facts = f"(row >= {low}) & (row < {end})"
                said[f"ag.assume(lambda row: {facts}, {name})"] = None
        for line in said:
            self.line(line)

    @contextmanager
    def _columns(self, loops: Sequence[str]) -> Generator[None]:
        if not loops:
            yield
            return
        loop, letter = loops[0], self.letters[loops[0]]
        step = f", B{letter}" if self.is_axis(loop) else ""
        step += f", unroll={letter}" if loop in self.tiling.taps else ""
        with (
            self.loop(f"for {letter.lower()} in ag.range(0, {letter}{step}):"),
            self._columns(loops[1:]),
        ):
            yield

    @property
    def _axes(self) -> list[str]:
        """The column loops that are axes of tiles; several where all are held."""
        return [n for n in self.group.columns if self.is_axis(n)]

    def _masked(self, reduction: ReduceNode, like: str | None) -> str:
        """The body of a reduction; what is past the end does not change it."""
        body = reduction.body
        neutral = neutral_text(reduction.function, body.dtype)
        plain = isinstance(body, ElementNode) and not self.named(body)
        if isinstance(body, ElementNode) and body.borders:
            plain &= body.fill is None or number_text(body.fill) == neutral
        if isinstance(body, ElementNode) and body.tables:
            plain = False  # past its end a table chooses any element
        text = self.text(body, neutral if plain else None)
        if plain:
            return text
        kept: list[str] = []
        for loop in self._axes:
            letter = self.letters[loop]
            whole = self.tiling.held and loop in self.fixed
            whole = whole and self.tiling.size(loop) == self.group.sizes[loop]
            if not whole and not (neutral == "0.0" and self._vanishes(body, loop)):
                start = "" if self.tiling.held else f"{self.start(loop)} + "
                index = f'ag.index({like or bare(text)}, "{letter}")'
                kept.append(f"{start}{index} < {letter}")
        for one in kept:
            text = f"ag.where({one}, {bare(text)}, {neutral})"
        return text

    def _reduced(self, level: list[ReduceNode]) -> None:
        for reduction in level:
            self.hoisted(reduction.body)
        if self.tiling.held:
            self._held(level)
            return
        (loop,) = self._axes
        letter = self.letters[loop]
        others = [n for n in self.group.columns if n != loop]
        axes = [a.loop for a in self.tiling.axes]
        rows = [n for n in axes if n != loop]
        totals: dict[ReduceNode, str] = {}
        parts = {r: self.names.fresh(f"{r.function}_part") for r in level}
        neutral = {r: neutral_text(r.function, r.dtype) for r in level}
        if others:
            for r in level:
                totals[r] = self.assign(
                    r, r.function, self.full(rows, neutral[r], r.dtype)
                )
        with self._columns(others):
            for r in level:
                kept = rows if r.function == "prod" else axes
                self.line(f"{parts[r]} = {self.full(kept, neutral[r], r.dtype)}")
            with self._columns([loop]):
                for r in level:
                    like = None if r.function == "prod" else parts[r]
                    body = self._masked(r, like)
                    if r.function == "prod":  # the verifier follows no other form
                        body = f'ag.prod({bare(body)}, "{letter}")'
                    text = call_text(COMBINE[r.function], [parts[r], body])
                    self.line(f"{parts[r]} = {bare(text)}")
            for r in level:
                text = f'ag.{r.function}({parts[r]}, "{letter}")'
                if r.function == "prod":
                    text = parts[r]
                if others:
                    text = bare(call_text(COMBINE[r.function], [totals[r], text]))
                    self.line(f"{totals[r]} = {text}")
                else:
                    self.assign(r, r.function, text)

    def _vanishes(self, node: ExpressionNode, loop: str) -> bool:
        """Whether a node is 0 past the end of an axis: made of elements that are."""
        match node:
            case ElementNode(offset=offset, fill=fill, tables=tables):
                free = offset.loops if tables else self.group.pool.free(node)
                return not fill and loop in free
            case ApplyNode(function="mul" | "cast", parts=parts):
                return all(self._vanishes(p, loop) for p in parts)
            case _:
                return False

    def _scanned(self) -> None:
        """Running sums, and what is stored of them: one pass over the columns."""
        rows = [a.loop for a in self.tiling.axes if a.loop in self.group.rows]
        (loop,) = self.group.columns
        letter = self.letters[loop]
        scans = self.group.scans
        carried = {s: self.names.fresh("carry") for s in scans}
        for s in scans:
            self.hoisted(s.body)
            zero = neutral_text("sum", s.dtype)
            self.line(f"{carried[s]} = {self.full(rows, zero, s.dtype)}")
        with self._columns([loop]):
            for s in scans:
                body = self.text(s.body)
                if not self.named(s.body):
                    body = self.assign(s.body, "x", body)
                # What is past the end comes after all that is stored.
                found = f'ag.cumsum({body}, "{letter}") + {carried[s]}'
                self.assign(s, "cumsum", found)
                self.line(f'{carried[s]} = {carried[s]} + ag.sum({body}, "{letter}")')
            for store, t in zip(self.group.stores, self.outputs, strict=True):
                self._put(store, t)

    def _held(self, level: list[ReduceNode]) -> None:
        """Reductions along axes that are whole in a tile; others are walked."""
        others = [n for n in self.group.columns if not self.is_axis(n)]
        axes = [a.loop for a in self.tiling.axes]
        bodies: dict[ReduceNode, str] = {}
        if others:
            for r in level:
                bodies[r] = self.names.fresh(f"{r.function}_part")
                neutral = neutral_text(r.function, r.dtype)
                self.line(f"{bodies[r]} = {self.full(axes, neutral, r.dtype)}")
            with self._columns(others):
                for r in level:
                    parts = [bodies[r], self._masked(r, bodies[r])]
                    text = call_text(COMBINE[r.function], parts)
                    self.line(f"{bodies[r]} = {bare(text)}")
        for r in level:
            if not others:
                like = self.text(r.body) if self.named(r.body) else None
                bodies[r] = bare(self._masked(r, like))
            text = bodies[r]
            for loop in self._axes:
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
                self._put(store, t)
        with self._columns([] if self.tiling.held or not along else self._walk()):
            for store, t in along:
                self._put(store, t)

    def _put(self, store: KernelStore, t: KernelTensor) -> None:
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
        (loop,) = self._axes
        return [*(n for n in self.group.columns if n != loop), loop]


def _mentions(text: str, word: str) -> bool:
    import re

    return re.search(rf"\b{word}\b", text) is not None
