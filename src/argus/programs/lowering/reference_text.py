"""The reference of a kernel: its group as a function of numpy.

Every value has one dimension for each loop of the group (of size 1 where it does not
depend on it), so that they meet as numpy's arrays do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from argus.ir.dtypes import DType
from argus.programs.lowering.expression_text import (
    COMBINE,
    bare,
    call_text,
    number_text,
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
from argus.programs.lowering.lowering import KernelStore, LoweredGroup
from argus.programs.lowering.naming import (
    KernelTensor,
    ParameterKey,
    TableDim,
    parameter_key,
    table_dim,
)
from argus.programs.tensors.affine import Affine

_NUMPY = {"atan": "arctan", "round": "rint"}
"""Functions that numpy calls otherwise."""
_LONG = 60
_WITHIN = frozenset({"and", "or", "xor", "shr", "minimum", "maximum", "where", "mod"})
"""Functions of which a result lies where its operands do."""


def _cast(source: DType, dtype: DType) -> str:
    """The type of numpy to which a reference converts.

    Floats have 64 bits, and so do whole numbers, but where they wrap around.
    """
    if dtype.is_float:
        return "float64"
    wraps = source.kind == "int" and not dtype.holds(source)
    return dtype.numpy if wraps or source.is_float else "int64"


def reference_lines(
    group: LoweredGroup,
    letters: Mapping[str, str],
    params: Mapping[ParameterKey, KernelTensor],
    stores: Sequence[tuple[KernelStore, KernelTensor]],
) -> Callable[[str], list[str]]:
    """The lines of the reference, by its name."""

    def lines(name: str) -> list[str]:
        writer = _ReferenceWriter(group, letters, params)
        results = [writer.result(store, tensor) for store, tensor in stores]
        body = [*writer.lines, f"    return {', '.join(results)}"]
        text = "\n".join(body)
        sizes = [n for n in letters.values() if re.search(rf"\b{n}\b", text)]
        given = ", ".join([*(t.name for t in params.values()), *sizes])
        head = [f"def {name}({given}):", '    """The same in numpy."""']
        if "np." in text:
            head.append("    import numpy as np")
        if "math." in text:
            head.insert(2, "    import math")
        return [*head, "", *body] if len(head) > 2 else [*head, *body]

    return lines


class _ReferenceWriter:
    def __init__(
        self,
        group: LoweredGroup,
        letters: Mapping[str, str],
        params: Mapping[ParameterKey, KernelTensor],
    ) -> None:
        self.group, self.letters, self.params = group, letters, params
        self.loops = (*group.rows, *group.columns)
        self.lines: list[str] = []
        self.done: dict[ExpressionNode, str] = {}
        self.uses: dict[ExpressionNode, int] = {}
        self.count = 0
        for node in group.nodes:
            for part in parts_of(node):
                self.uses[part] = self.uses.get(part, 0) + 1

    def _spread(self, text: str, loops: Sequence[str]) -> str:
        """An array over some loops, in order, with dimensions of size 1 for others."""
        if tuple(loops) == self.loops:
            return text
        keys = [":" if n in loops else "None" for n in self.loops]
        return f"{text}[{', '.join(keys)}]" if keys else text

    def _element(self, node: ElementNode) -> str:
        t = self.params[parameter_key(node)]
        if t.borders or t.tables:
            return self._indexed(node, t)
        text = f"{t.name}[..., 0]" if t.unit else t.name
        order = sorted(range(len(t.loops)), key=lambda d: self.loops.index(t.loops[d]))
        if order != list(range(len(t.dims))):
            text = f"np.transpose({text}, {tuple(order)})"
        return self._spread(text, [n for n in self.loops if n in t.dims])

    def _indexed(self, node: ElementNode, t: KernelTensor) -> str:
        """Elements of an array with a border around it, by tables of coordinates."""
        tables = {table_dim(x): x.index for x in node.tables}
        text = f"{t.name}[..., 0]" if t.unit else t.name
        widths: list[str] = []
        indices: list[str] = []
        for dim in t.dims:
            low, high = 0, 0
            if isinstance(dim, TableDim):
                widths.append("(0, 0)")
                indices.append(self._text(tables[dim]))
                continue
            index = Affine.loop(dim) if isinstance(dim, str) else dim.index
            if isinstance(dim, Border):
                least, most = index.range(self.group.sizes)
                low, high = max(0, -least), max(0, most - dim.extent + 1)
            widths.append(f"({low}, {high})")
            indices.append(self._index(index + low))
        fill = number_text(node.fill or 0).replace("ag.", "np.")
        if any(w != "(0, 0)" for w in widths):
            given = f"{text}, ({', '.join(widths)},), constant_values={fill}"
            text = f"np.pad({given})"
        return f"{text}[{', '.join(indices)}]"

    def _index(self, index: Affine) -> str:
        """A sum of loop indices, with a dimension for each loop."""
        parts = [
            self._spread(f"np.arange({self.letters[n]})", [n])
            + (f" * {c}" if c != 1 else "")
            for n, c in index.terms
        ]
        if index.constant or not parts:
            parts.append(str(index.constant))
        return " + ".join(parts)

    def _text(self, node: ExpressionNode) -> str:
        if node in self.done:
            return self.done[node]
        text = self._made(node)
        if self.uses.get(node, 0) > 1 or len(text) > _LONG:
            if isinstance(node, NumberNode):
                return text
            self.count += 1
            self.lines.append(f"    v{self.count} = {bare(text)}")
            text = f"v{self.count}"
            self.done[node] = text
        return text

    def _made(self, node: ExpressionNode) -> str:
        match node:
            case NumberNode(value=value):
                return number_text(value).replace("ag.", "np.")
            case ElementNode():
                return self._element(node)
            case PositionNode(index=index):
                return f"({self._index(index)})"
            case ReduceNode(function=function, body=body):
                axes = tuple(self.loops.index(n) for n in node.loops)
                axis = axes[0] if function.startswith("arg") else axes
                text = bare(self._text(body))
                return f"np.{function}({text}, axis={axis}, keepdims=True)"
            case ScanNode():
                return self._scanned(node)
            case ApplyNode(function=function, parts=parts, dtype=dtype):
                texts = [self._text(p) for p in parts]
                if function == "cast":
                    return f"{texts[0]}.astype(np.{_cast(parts[0].dtype, dtype)})"
                if function == "nearest_tf32":
                    return texts[0]
                if function == "erf":
                    return f"np.vectorize(math.erf)({bare(texts[0])})"
                text = call_text(_NUMPY.get(function, function), texts, "np")
                if dtype.kind == "int" and dtype.bits < 32 and function not in _WITHIN:
                    # Kernels compute in the type that elements have, and wrap there.
                    text = f"{text}.astype(np.{dtype.numpy}).astype(np.int64)"
                return text

    def _scanned(self, node: ScanNode) -> str:
        text, axis = bare(self._text(node.body)), self.loops.index(node.loop)
        function = COMBINE[node.function]
        called = {"add": "np.cumsum", "mul": "np.cumprod"}.get(
            function, f"np.{function}.accumulate"
        )
        if not node.reverse:
            return f"{called}({text}, axis={axis})"
        return f"np.flip({called}(np.flip({text}, {axis}), axis={axis}), {axis})"

    def result(self, store: KernelStore, t: KernelTensor) -> str:
        """What an output is, as its parameter has it."""
        text = self._text(store.node)
        free = self.group.pool.free(store.node)
        walked = [self._loops_of(d) for d in t.walked]
        dims = [n for loops in walked for n in loops]
        kept = [n for n in self.loops if n in dims]
        if any(n not in free for n in kept) or isinstance(store.node, NumberNode):
            sizes = [self.letters[n] if n in kept else "1" for n in self.loops]
            shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
            text = f"np.broadcast_to({bare(text)}, {shape})"
        if len(kept) < len(self.loops):
            keys = [":" if n in kept else "0" for n in self.loops]
            text = f"{text}[{', '.join(keys)}]"
        order = [kept.index(n) for n in dims]
        if order != list(range(len(order))):
            text = f"np.transpose({bare(text)}, {tuple(order)})"
        if t.unit or len(dims) != len(walked):
            sizes = [*map(self._size, t.walked), *["1"] * t.unit]
            text = f"np.reshape({bare(text)}, ({', '.join(sizes)},))"
        return f"{text}{self._inside(t)}" if t.borders else bare(text)

    def _inside(self, t: KernelTensor) -> str:
        """The slices of what is stored, where more is computed."""
        kept: list[str] = []
        for dim in t.walked:
            low, high = 0, 0
            if isinstance(dim, Border):
                low, high = dim.index.range(self.group.sizes)
                high -= dim.extent - 1
            slices = f"{-low}:{-low + dim.extent}" if isinstance(dim, Border) else ":"
            kept.append(slices if low or high else ":")
        return f"[{', '.join(kept)}]" if any(k != ":" for k in kept) else ""

    def _loops_of(self, dim: str | Border) -> tuple[str, ...]:
        """The loops that walk a dimension of an output, outermost first."""
        if isinstance(dim, str):
            return self.group.flat.get(dim, (dim,))
        return tuple(n for n, _ in sorted(dim.index.terms, key=lambda t: -t[1]))

    def _size(self, dim: str | Border) -> str:
        if isinstance(dim, str):
            return self.letters[dim]
        return " * ".join(self.letters[n] for n in self._loops_of(dim))
