"""Chained products as a kernel file: what lies between them stays on the chip.

    source = chained_source(group, form, "attention_gradient", "...")

The order of loads and products is that of `kernels/attention_backward/kernel.py`. What
is written here is what the weights are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf

from argus.ir.dtypes import f32
from argus.kernels.attention.kernel import LOG2E
from argus.programs.attention.attention_form import unit
from argus.programs.attention.chained_form import ChainedForm
from argus.programs.lowering.expression_text import bare, type_name
from argus.programs.lowering.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    ExpressionPool,
    NumberNode,
    walked,
)
from argus.programs.lowering.kernel_file import KernelSource, file_text
from argus.programs.lowering.lowering import KernelStore, LoweredGroup, NotFusedError
from argus.programs.lowering.naming import KernelTensor, accessed
from argus.programs.lowering.reference_text import reference_lines
from argus.programs.products.ring_text import (
    LOADING_REGISTERS,
    RingWriter,
    ring_letters,
)
from argus.programs.tiles.tiling import GroupTiling, TileAxis

_USED = frozenset(
    (
        *("begin", "blocks", "i", "j", "LOG2E", "own", "own_ring", "REGISTERS", "s"),
        *("slot", "STAGES", "steps", "t", "WARPGROUPS"),
        *(
            f"{name}{i}"
            for name in ("a", "b", "o", "p", "w", "x")
            for i in ("", *range(4))
        ),
    )
)
_STEP = 16
_SHARED = 226 * 1024
"""Bytes of shared memory for the tiles of a block."""
_BLOCK = 64
"""Of what rows see, in a step: more does not fit the registers."""


@dataclass(frozen=True)
class _Tile:
    """Sizes of a block's tile: rows, steps along, and factors' rows by loop."""

    bs: int
    bt: int
    across: dict[str, int]
    stages: int
    warpgroups: int


def chained_source(
    group: LoweredGroup, form: ChainedForm, name: str, title: str
) -> KernelSource:
    """The file of a kernel that computes a group in a form.

    Raises NotFusedError for what the language cannot say.
    """
    return _ChainedWriter(group, form).source(name, title)


def _tile(group: LoweredGroup, form: ChainedForm) -> _Tile:
    """The library's; smaller where it does not fit."""
    over = [n for p in form.inner for n in p.total.loops]
    across = {
        n: ceil(group.sizes[n] / _STEP) * _STEP
        for n in dict.fromkeys([form.across, *over])
    }
    many = group.sizes[form.row] > _BLOCK
    tile = _Tile(128 if many else 64, _BLOCK, across, 3, 1 + many)

    def bytes_of(tile: _Tile) -> int:
        def row(node: ElementNode) -> int:
            return next(n for loop, n in across.items() if loop in node.offset.loops)

        own = sum(tile.bs * row(n) for n in form.own)
        each = sum(tile.bt * row(n) for n in form.walked)
        return 2 * (own + tile.stages * each)

    smaller = ({"stages": 2}, {"stages": 1}, {"bs": 64, "warpgroups": 1})
    for change in smaller:
        if bytes_of(tile) <= _SHARED:
            break
        tile = replace(tile, **change)
    if bytes_of(tile) > _SHARED:
        raise NotFusedError("tiles of chained products that do not fit shared memory")
    return tile


def _letters(group: LoweredGroup, form: ChainedForm) -> dict[str, str]:
    found = {form.row: "S", form.along: "T", form.across: "D"}
    for product in form.inner:
        for loop in product.total.loops:
            found.setdefault(loop, "EF"[len(found) - 3])
    return ring_letters(group, found, form.batch)


class _ChainedWriter(RingWriter):
    def __init__(self, group: LoweredGroup, form: ChainedForm) -> None:
        self.form, self.tile = form, _tile(group, form)
        axes = (
            TileAxis(form.row, self.tile.bs),
            TileAxis(form.along, self.tile.bt),
            *(TileAxis(n, size) for n, size in self.tile.across.items()),
        )
        letters = _letters(group, form)
        super().__init__(group, GroupTiling(axes, False, 0), form, letters, _USED)
        self.outputs = [
            accessed(self.names.result(s.buffer), s.buffer, s.offset)
            for s in group.stores
        ]
        self.name_fields("a", form.own)
        self.name_fields("b", form.walked)
        self.totals = [p.total for p in form.inner]
        self.weights = [_eased(group.pool, p.weights) for p in form.outer]

    # -- the file

    def source(self, name: str, title: str) -> KernelSource:
        """The file."""
        self._body()
        tensors = (*self.params.values(), *self.outputs)
        sizes = {self.letters[n]: s for n, s in self.group.sizes.items()}
        stored = list(zip(self.group.stores, self.outputs, strict=True))
        reference = reference_lines(self.group, self.letters, self.params, stored)
        tile = self.tile
        statics = {"BS": tile.bs, "BT": tile.bt}
        statics |= {f"B{self.letters[n]}": size for n, size in tile.across.items()}
        statics |= {"STAGES": tile.stages, "WARPGROUPS": tile.warpgroups}
        text = file_text(
            name,
            title,
            map(self.declaration, tensors),
            {**statics, "REGISTERS": 240},
            sizes,
            self.lines,
            reference(f"{name}_reference"),
            [f"LOG2E = {LOG2E!r}", "", ""],
        )
        outputs = tuple(t.name for t in self.outputs)
        return KernelSource(name, text, tensors, outputs, sizes)

    def _body(self) -> None:
        for loop in self.tile.across:
            letter = self.letters[loop]
            self.line(f'ag.require({letter} <= B{letter}, "a tile has whole rows")')
        batch = [self.letters[n] for n in self.form.batch]
        indices = ", ".join([*(n.lower() for n in batch), "i"])
        self.line(f"{indices} = ag.block({', '.join([*batch, 'ag.cdiv(S, BS)'])})")
        self._reach()
        self.ring("own_ring", "1", self.form.own)
        self.ring("blocks", "STAGES", self.form.walked)
        registers = f"registers={LOADING_REGISTERS}"
        with self.loop(f'with ag.role("load", warps=1, {registers}):'):
            self.fill("own_ring", self.form.own)
            with self.loop("for j in ag.range(begin, steps):"):
                self.line("t = j * BT")
                self.fill("blocks", self.form.walked)
        head = 'with ag.role("math", warpgroups=WARPGROUPS, registers=REGISTERS):'
        with self.loop(head):
            self._multiply()

    def _reach(self) -> None:
        """Where a tile of rows begins, and which blocks it sees."""
        form, tile = self.form, self.tile
        self.line("begin, steps = 0, ag.cdiv(T, BT)")
        if form.last is None:
            self.line("s = i * BS")
        else:  # the longest first
            self.line("s = (ag.cdiv(S, BS) - 1 - i) * BS")
            last = tile.bs - 1 + form.last
            end = f"(s + {last}) // BT + 1".replace("+ -", "- ")
            self.line(f"steps = ag.max(0, ag.min(steps, {end}))")
        if form.first is not None:
            far = f"ag.max(0, s - {form.first})" if form.first > 0 else "s"
            far = f"(s + {-form.first})" if form.first < 0 else far
            self.line(f"begin = {far} // BT")

    # -- products

    def _multiply(self) -> None:
        form, inside = self.form, {self.form.along}
        for weights in self.weights:
            self._read(weights, inside, wanted=False)
        for i, _ in enumerate(form.outer):
            self.line(f"o{i} = ag.zeros((BS, B{self.letters[form.across]}), f32)")
        self.line("own = own_ring.wait()")
        with self.loop("for j in ag.range(begin, steps):"):
            self.line("t = j * BT")
            for weights in self.weights:
                self._read(weights, inside, wanted=True)
            with self.loop("with blocks.drain() as slot:"):
                for i, product in enumerate(form.inner):
                    left = f"own.{self.fields[product.own]}"
                    left += ".T" if unit(product.own) == form.row else ""
                    right = f"slot.{self.fields[product.other]}"
                    right += "" if unit(product.other) == form.along else ".T"
                    self.line(f"x{i} = ag.dot({left}, {right})")
                    self.scopes[-1][product.total] = f"x{i}"
                for i, product in enumerate(form.outer):
                    self._added(i, product.factor)
        self.line("own.release()")
        scope = self.scopes[-1]
        scope |= {p.total: f"o{i}" for i, p in enumerate(form.outer)}
        for store, t in zip(self.group.stores, self.outputs, strict=True):
            self._stored(store, t)

    def _read(self, node: ExpressionNode, inside: set[str], *, wanted: bool) -> None:
        """Elements are asked for before the products that they wait for.

        Those that lie along the blocks in each of them, others once.
        """
        for one in walked([node]):
            if isinstance(one, ElementNode) and not self._factor(one):
                along = bool(self.group.pool.free(one) & inside)
                if along == wanted:
                    self.text(one)

    def _factor(self, node: ElementNode) -> bool:
        return node in self.fields

    def _added(self, number: int, factor: ElementNode) -> None:
        """The product of weights and what lies along a block."""
        form = self.form
        self.line(f"w{number} = {bare(self.text(self.weights[number]))}")
        if self.group.sizes[form.along] % self.tile.bt:
            # Past the end factors are 0, and weights may be anything.
            key = f'ag.broadcast(t + ag.index(w{number}, "T"), w{number})'
            self.line(f"w{number} = ag.where({key} < T, w{number}, 0.0)")
        right = f"slot.{self.fields[factor]}"
        right += ".T" if unit(factor) == form.along else ""
        narrow = f"w{number}.to({type_name(form.element)})"
        self.line(f"o{number} = ag.dot({narrow}, {right}, o{number})")

    def _stored(self, store: KernelStore, t: KernelTensor) -> None:
        text = self.text(store.node)
        if store.node.dtype != store.buffer.dtype:
            text += f".to({type_name(store.buffer.dtype)})"
        axes = [d for d in t.loops if self.is_axis(d)]
        wanted = [a.loop for a in self.tiling.axes if a.loop in axes]
        if axes != wanted:
            text += ".T"
        self.line(f"{self.place(t)} = {bare(text)}")

    # -- weights

    def _applied(self, node: ApplyNode) -> str:
        if node.function != "exp" or self.form.along not in self.axes(node):
            return super()._applied(node)
        return self.assign(node, "p", f"ag.exp2({bare(self._doubled(node.parts[0]))})")

    def _doubled(self, node: ExpressionNode) -> str:
        """A logarithm to base 2 of what an exponential is of; factors meet LOG2E.

        Products of scores are fused with what is added to them, as is asked for here:
        two products that meet in a sum are not.
        """
        match node:
            case ApplyNode(function="sub" | "add" as function, parts=(x, y)) if (
                len(self.axes(x)) > 1 or len(self.axes(y)) > 1
            ):
                sign = "-" if function == "sub" else ""
                if (both := self._scaled(x)) is not None:
                    return f"ag.fma({', '.join(both)}, {sign}{self._doubled(y)})"
                if function == "add" and (both := self._scaled(y)) is not None:
                    return f"ag.fma({', '.join(both)}, {self._doubled(x)})"
                return f"({self._doubled(x)} {sign or '+'} {self._doubled(y)})"
            case _:
                both = self._factors(node)
                return f"({both[0]} * {both[1]})"

    def _scaled(self, node: ExpressionNode) -> tuple[str, str] | None:
        """Two factors of a logarithm of each score; None of a sum, or of each row."""
        match node:
            case ApplyNode(function="sub" | "add"):
                return None
            case _:
                return self._factors(node) if len(self.axes(node)) > 1 else None

    def _factors(self, node: ExpressionNode) -> tuple[str, str]:
        match node:
            case ApplyNode(function="mul", parts=(x, NumberNode(value=c))):
                return self.text(x), f"({c!r} * LOG2E)"
            case _:
                return self.text(node), "LOG2E"


def _eased(pool: ExpressionPool, node: ExpressionNode) -> ExpressionNode:
    """The same with masks around exponentials: what is infinitely low becomes 0."""

    def change(n: ExpressionNode) -> ExpressionNode:
        match n:
            case ApplyNode(
                function="exp",
                parts=(ApplyNode(function="sub", parts=(masked, shift)),),
            ):
                kept = masked
                conditions: list[ExpressionNode] = []
                while (
                    isinstance(kept, ApplyNode)
                    and kept.function == "where"
                    and isinstance(kept.parts[2], NumberNode)
                    and kept.parts[2].value == -inf
                ):
                    conditions.append(kept.parts[0])
                    kept = kept.parts[1]
                found = pool.apply("exp", (pool.apply("sub", (kept, shift), f32),), f32)
                zero = pool.number(0.0, f32)
                for condition in reversed(conditions):
                    found = pool.apply("where", (condition, found, zero), f32)
                return found
            case _:
                return n

    return pool.rewritten(node, change, {})
