"""The body of a kernel, line by line: loops, tiles, and expressions over them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cached_property
from math import prod

from argus.ir.dtypes import DType, f64, i64
from argus.programs.lowering.expression_text import (
    bare,
    call_text,
    number_text,
    type_name,
)
from argus.programs.lowering.expressions import (
    ApplyNode,
    Border,
    ElementNode,
    ExpressionNode,
    NumberNode,
    PositionNode,
    ReduceNode,
    ScanNode,
    parts_of,
)
from argus.programs.lowering.lowering import LoweredGroup, NotFusedError
from argus.programs.lowering.naming import (
    KernelTensor,
    ParameterKey,
    TableDim,
    UsedNames,
    accessed,
    fixed_loops,
    loop_letters,
    parameter_key,
    table_dim,
)
from argus.programs.lowering.tables import scalar_index
from argus.programs.tensors.affine import Affine
from argus.programs.tiles.tile_axes import GroupTiling

_LONG = 52
"""Letters of an expression that gets a name of its own."""
_VECTOR = 16
"""Bytes of the widest access."""
_STAGED = 200 << 10
"""Bytes of tiles that a block turns in shared memory, at most."""


def _wide(node: ExpressionNode) -> bool:
    """Whether a node is a whole number of more than 32 bits."""
    if not isinstance(node, NumberNode) or node.dtype.kind != "int":
        return False
    return not -(2**31) <= node.value < 2**31


def open_slice(start: str) -> str:
    """A slice that begins there."""
    return f"{start}:" if start.isidentifier() else f"{start} :"


class TileWriter:
    """Lines of a kernel's body, and what is named in them so far."""

    def __init__(
        self,
        group: LoweredGroup,
        tiling: GroupTiling,
        letters: dict[str, str] | None = None,
        used: frozenset[str] = frozenset(),
    ) -> None:
        self.group, self.tiling = group, tiling
        self.letters = loop_letters(group) if letters is None else letters
        names = set(self.letters.values())
        self.names = UsedNames(
            names | {n.lower() for n in names} | {f"B{n}" for n in names} | used
        )
        self.fixed: frozenset[str] = fixed_loops(group) | set(tiling.taps)
        self.params: dict[ParameterKey, KernelTensor] = {}
        self.labels: dict[tuple[str, Border | TableDim], str] = {}
        self.views: dict[ElementNode, str] = {}
        self.heads: list[str] = []
        """Lines before all others: views of tensors."""
        for node in group.elements:
            self.param(node)
        self.lines: list[str] = []
        self.depth = 1
        self.staged = 0
        self.scopes: list[dict[ExpressionNode, str]] = [{}]
        self.uses: dict[ExpressionNode, int] = {}
        for node in group.nodes:
            for part in parts_of(node):
                self.uses[part] = self.uses.get(part, 0) + 1

    def param(self, node: ElementNode) -> KernelTensor:
        """The parameter through which an element is read."""
        key = parameter_key(node)
        if key not in self.params:
            name = self.names.tensor(node.buffer)
            made = accessed(name, node.buffer, node.offset, node.borders, node.tables)
            self.params[key] = made
            for dim in (*made.borders, *made.tables):
                self.labels[name, dim] = self._label_of(dim)
        return self.params[key]

    def _label_of(self, dim: Border | TableDim) -> str:
        """The name of a tensor's dimension that no single loop walks."""
        return self.names.fresh("E")

    def declaration(self, t: KernelTensor) -> str:
        """A parameter of the kernel: its name, element type and dimensions."""
        dims = [
            self.letters[d] if isinstance(d, str) else self.labels[t.name, d]
            for d in t.dims
        ] + ["1"] * t.unit
        return f'{t.name}: {type_name(t.buffer.dtype)}["{" ".join(dims)}"]'

    # -- lines and scopes

    def line(self, text: str) -> None:
        """A line at the depth of the loops that are open."""
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def loop(self, head: str) -> Generator[None]:
        """A loop; what is named in it is not known after it."""
        self.line(head)
        self.depth += 1
        self.scopes.append({})
        yield
        self.scopes.pop()
        self.depth -= 1

    def assign(self, node: ExpressionNode, wish: str, text: str) -> str:
        """Give a node a name, and return it."""
        name = self.names.fresh(wish)
        self.line(f"{name} = {bare(text)}")
        self.scopes[-1][node] = name
        return name

    # -- loops

    def start(self, loop: str) -> str:
        """The first index of a loop's axis in this block or iteration."""
        letter = self.letters[loop]
        if loop in self.group.columns:
            return "0" if self.tiling.held else letter.lower()
        return f"{letter.lower()} * B{letter}"

    def is_axis(self, loop: str) -> bool:
        """Whether a loop is an axis of tiles."""
        return self.tiling.size(loop) is not None

    def axes(self, node: ExpressionNode) -> tuple[str, ...]:
        """The axes of a node's tile, in the order of the tiling."""
        free = self.group.pool.free(node)
        return tuple(a.loop for a in self.tiling.axes if a.loop in free)

    def shape(self, loops: Sequence[str]) -> str:
        """The shape of a tile with these axes."""
        sizes = ", ".join(f"B{self.letters[n]}" for n in loops)
        return f"({sizes},)" if len(loops) == 1 else f"({sizes})"

    def _dims(self, loops: Sequence[str]) -> str:
        return " ".join(self.letters[n] for n in loops)

    def full(self, loops: Sequence[str], value: str, dtype: DType) -> str:
        """A tile of one number."""
        dims = f', dims="{self._dims(loops)}"' if loops else ""
        return f"ag.full({self.shape(loops)}, {value}, {type_name(dtype)}{dims})"

    def place(self, t: KernelTensor) -> str:
        """The index of an access of a tensor."""
        parts = self._walked(t.loops)
        return f"{t.name}[{', '.join([*parts, *(['0'] if t.unit else [])])}]"

    def _walked(self, loops: Sequence[str]) -> list[str]:
        return [
            open_slice(self.start(d)) if self.is_axis(d) else self.letters[d].lower()
            for d in loops
        ]

    def _view(self, node: ElementNode) -> tuple[str, list[str]]:
        """The index of an access through a view whose dimensions are loops.

        Its axes are in the order of the tiling; of two axes of maps that along which
        elements lie side by side is the last.
        """
        t = self.param(node)
        used = frozenset[str]().union(*(i.loops for i in node.indices))
        axes = [a.loop for a in self.tiling.axes if a.loop in used]
        if not self.group.columns and len(axes) == 2:
            axes.sort(key=lambda n: node.whole.factor(n) == 1)
        order = (*self.group.rows, *self.group.columns)
        loops = [n for n in order if n in used and n not in axes] + axes
        if node not in self.views:
            at = [
                self.letters[d].lower() if isinstance(d, str) else self._sum(d.index)
                for d in t.walked
            ]
            letters = [self.letters[n] for n in loops]
            self.views[node] = self.view_of(t, "View", letters, letters, at)
        return f"{self.views[node]}[{', '.join(self._walked(loops))}]", axes

    def view_of(
        self,
        t: KernelTensor,
        wish: str,
        dims: Sequence[str],
        shape: Sequence[str],
        at: Sequence[str],
    ) -> str:
        """A view of a tensor at coordinates ``at`` of its own, and return its name."""
        name = self.names.fresh(f"{t.name}{wish}")
        given = ", ".join(x.lower() for x in dims)
        lines = [
            f"{name} = {t.name}.view(",
            f'    "{" ".join(dims)}",',
            f"    shape=({', '.join(shape)},),",
            f"    at=lambda {given}: ({', '.join([*at, *['0'] * t.unit])},),",
            ")",
        ]
        self.heads += [f"    {line}" for line in lines]
        return name

    def _chosen(self, node: ElementNode, t: KernelTensor) -> tuple[str, list[str]]:
        """The index of an access through tables, and its axes."""
        tables = {table_dim(x): x.index for x in node.tables}
        parts: list[str] = []
        axes: list[str] = []
        for d in t.dims:
            if isinstance(d, TableDim):
                own = self.axes(tables[d])
                axes += own
                parts.append(self._row(tables[d]) if not own else self.text(tables[d]))
                continue
            assert isinstance(d, str)
            axes += [d] if self.is_axis(d) else []
            parts += self._walked([d])
        return f"{t.name}[{', '.join([*parts, *['0'] * t.unit])}]", axes

    def _row(self, node: ExpressionNode) -> str:
        """A number of a table as a scalar. Raises NotFusedError for what is none."""
        match node:
            case NumberNode(value=value):
                return number_text(value)
            case ElementNode() if scalar_index(node):
                return self.place(self.param(node))
            case _:
                raise NotFusedError("a position that is computed for a whole block")

    def _sum(self, index: Affine) -> str:
        """A sum of loop indices."""
        parts = [
            self.letters[n].lower() + (f" * {c}" if c != 1 else "")
            for n, c in index.terms
        ]
        if index.constant or not parts:
            parts.append(str(index.constant))
        return " + ".join(parts).replace("+ -", "- ")

    # -- expressions

    def text(self, node: ExpressionNode, fill: str | None = None) -> str:
        """A node as a name or an expression. ``fill``: of an element past the end."""
        for scope in reversed(self.scopes):
            if node in scope:
                return scope[node]
        match node:
            case NumberNode(value=value):
                return number_text(value)
            case ElementNode():
                return self._element(node, fill)
            case PositionNode():
                return self._position(node)
            case ApplyNode():
                text = self._applied(node)
                if self.uses.get(node, 0) > 1 or len(text) > _LONG:
                    return self.assign(node, "v", text)
                return text
            case ReduceNode() | ScanNode():
                raise AssertionError("a reduction that is used before its pass")

    def _element(self, node: ElementNode, fill: str | None) -> str:
        t = self.param(node)
        wanted = self.axes(node)
        if t.tables:
            place, axes = self._chosen(node, t)
            fill = None
        else:
            axes = [d for d in t.loops if self.is_axis(d)]
            place = self.place(t) if not t.borders else ""
        if t.tables and len(axes) > 2 and tuple(axes) != wanted:
            raise NotFusedError("a table that chooses along one of many axes")
        if t.borders and not wanted:
            return self._number_beside_border(node, t)
        if t.borders or (len(axes) > 2 and tuple(axes) != wanted):
            place, axes = self._view(node)
            fill = fill if node.fill is None else number_text(node.fill)
        wish = t.name.lower() if t.name.lower() != t.name else "x"
        if not axes:
            if node.dtype.kind == "bool":
                return self._truth(node, t, wish)
            return self.assign(node, wish, self._number(node, place))
        extra = "" if fill in (None, "0.0", "0") else f", fill={fill}"
        if self.tiling.vectors and len(axes) == len(self.tiling.axes):
            extra += f", layout={self._lined(axes)}"
        text = f"ag.load({place}, {self.shape(axes)}{extra})"
        if tuple(axes) != wanted:
            text = self.turned(text, axes, node.dtype, self._widest_turned)
        return self.assign(node, wish, text)

    def _number(self, node: ElementNode, place: str) -> str:
        """One number, as a tile without dimensions."""
        if node.dtype == f64:  # no scalar holds it
            return place
        wide = "f32" if node.dtype.is_float else type_name(node.dtype)
        text = f"ag.full((), {place}, {wide})"
        narrow = node.dtype.is_float and node.dtype.bits < 32
        return f"{text}.to({type_name(node.dtype)})" if narrow else text

    def _number_beside_border(self, node: ElementNode, t: KernelTensor) -> str:
        """One number that may lie outside: the nearest inside, and the fill there."""
        if node.dtype.kind == "bool":
            raise NotFusedError("one truth value that a border gives")
        parts: list[str] = []
        inside: list[str] = []
        for d in t.walked:
            if isinstance(d, str):
                parts += self._walked([d])
                continue
            at = self._sum(d.index)
            low, high = d.index.range(self.group.sizes)
            held = [f"({at} >= 0)"] if low < 0 else []
            held += [f"({at} < {d.extent})"] if high >= d.extent else []
            parts.append(
                f"ag.maximum(ag.minimum({at}, {d.extent - 1}), 0)" if held else at
            )
            inside += held
        place = f"{t.name}[{', '.join([*parts, *['0'] * t.unit])}]"
        found = self.assign(node, "x", self._number(node, place))
        if not inside:  # it runs backwards
            return found
        fill = number_text(node.fill if node.fill is not None else 0)
        chosen = f"ag.where({' & '.join(inside)}, {found}, {fill})"
        return self.assign(node, "x", chosen)

    @cached_property
    def _widest_turned(self) -> int:
        """Bytes of the widest elements whose tiles may have two axes in another order.

        Tiles that are joined have one layout: that in which all can be read.
        """
        turned = (n for n in self.group.elements if self._may_turn(n))
        return max((n.dtype.bytes for n in turned), default=1)

    def _may_turn(self, node: ElementNode) -> bool:
        t, axes = self.param(node), self.axes(node)
        if len(axes) != 2 or node.dtype.kind == "bool":
            return False
        loaded = tuple(d for d in t.loops if self.is_axis(d))
        return bool(t.tables or t.borders) or loaded != axes

    def _lined(self, axes: Sequence[str]) -> str:
        """A layout in which all threads lie along the vector axis."""
        last = axes.index(self.tiling.axes[-1].loop)
        order = (last, *(d for d in reversed(range(len(axes))) if d != last))
        given = f"{32 * self.tiling.warps}, vector={self.tiling.vectors}"
        return f"ag.layouts.blocked({self.shape(axes)}, {given}, order={order})"

    def turned(
        self, text: str, axes: Sequence[str], dtype: DType, widest: int = 1
    ) -> str:
        """A tile of two axes with them in the other order.

        Through shared memory, so that both sides are walked along their rows; but not
        in loops, nor more than there is. ``widest``: bytes of the widest elements that
        are read in the same way. Raises NotFusedError for a tile of more axes.
        """
        if len(axes) > 2:
            raise NotFusedError("a tile of many axes in another order")
        tiling = self.tiling
        plain = bool(self.group.columns) and not tiling.taps and not tiling.held
        filled = prod(tiling.size(n) or 1 for n in axes) * dtype.bytes
        fits = self.staged + filled <= _STAGED
        if plain or self.depth > 1 or dtype.kind == "bool" or not fits:
            return f"{text}.T"
        self.staged += filled
        stage, threads = self.names.fresh("stage"), 32 * tiling.warps
        first, last = (tiling.size(n) or 1 for n in axes)
        rows = axes if first <= last else axes[::-1]  # long rows, few bank conflicts
        shape, along = self.shape(rows), rows.index(axes[0])
        self.line(f"{stage} = ag.shared({type_name(dtype)}, {shape})")
        self.line(f"{stage}.store({bare(text if along == 0 else f'{text}.T')})")
        vector = min(first, _VECTOR // max(dtype.bytes, widest))
        order = f"{threads}, vector={vector}, order=({along}, {1 - along})"
        layout = f"ag.layouts.blocked({shape}, {order})"
        dims = " ".join(self.letters[n] for n in rows)
        found = f'{stage}.load(layout={layout}).rename("{dims}")'
        return f"{found}.T" if along == 0 else found

    def _truth(self, node: ElementNode, t: KernelTensor, wish: str) -> str:
        """One truth value, which the language reads in tiles only."""
        if t.borders or t.tables:
            raise NotFusedError("one truth value that a border or a table gives")
        *ahead, last = [*self._walked(t.loops), *(["0"] if t.unit else [])]
        end = "1" if last == "0" else f"{last} + 1"
        place = f"{t.name}[{', '.join([*ahead, f'{last}:{end}'])}]"
        text = f"ag.sum(ag.load({place}, (1,)).to(i32), 0) != 0"
        return self.assign(node, wish, text)

    def _position(self, node: PositionNode) -> str:
        low, high = node.index.range(self.group.sizes)
        if low < -(2**31) or high >= 2**31:
            raise NotFusedError("a position that has more than 32 bits")
        parts: list[str] = []
        name = type_name(node.dtype)
        axes, terms = self.axes(node), node.index.terms
        wide = node.dtype == i64 and [f for _, f in terms] != [1]
        for loop, factor in terms:
            letter = self.letters[loop]
            if self.is_axis(loop):
                like = self.full([loop], "0", node.dtype)
                text = f'{self.start(loop)} + ag.index({like}, "{letter}")'
                if wide:  # 32 bits do not hold it for all sizes that there are
                    text = f"({text}).to(i64)"
                if len(axes) > 1:
                    whole = self.full(axes, "0", node.dtype)
                    text = f"ag.broadcast({text}, {whole})"
            else:
                text = letter.lower()
                if wide:
                    text = f"ag.full((), {text}, i64)"
            parts.append(f"({text}) * {factor}" if factor != 1 else text)
        text = " + ".join(
            [
                *parts,
                *(
                    [str(node.index.constant)]
                    if node.index.constant or not parts
                    else []
                ),
            ]
        )
        tile = axes or (wide and terms)
        text = f"({text}).to({name})" if tile else f"ag.full((), {text}, {name})"
        return self.assign(node, "at", text)

    def _applied(self, node: ApplyNode) -> str:
        texts = [self.text(p) for p in node.parts]
        axes = [self.axes(p) for p in node.parts]
        wanted = self.axes(node)
        if len(wanted) > 1 and wanted not in axes:
            at = next(i for i, a in enumerate(axes) if a)
            like = self.full(wanted, "0", node.parts[at].dtype)
            texts[at] = f"ag.broadcast({bare(texts[at])}, {like})"
        if node.function == "cast":
            return f"{texts[0]}.to({type_name(node.dtype)})"
        others = node.parts[1:]
        numbers = all(isinstance(p, NumberNode) for p in others)
        if node.function == "where" and numbers and any(map(_wide, others)):
            # Two numbers alone meet in 32 bits.
            texts[1] = self.full((), texts[1], node.dtype)
        text = call_text(node.function, texts)
        if node.function == "where" and numbers:
            text += f".to({type_name(node.dtype)})"
        return text

    def hoisted(self, node: ExpressionNode) -> None:
        """What does not depend on columns is computed before their loop."""
        if self.named(node):
            return
        if self.group.pool.free(node) & set(self.group.columns):
            for part in parts_of(node):
                # The position that a table has is read where it is used.
                if not isinstance(node, ElementNode) or self.axes(part):
                    self.hoisted(part)
        elif not isinstance(node, NumberNode):
            text = self.text(node)
            if not self.named(node):
                self.assign(node, "v", text)

    def named(self, node: ExpressionNode) -> bool:
        """Whether a node has a name here."""
        return any(node in scope for scope in self.scopes)
