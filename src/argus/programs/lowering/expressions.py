"""What one element is, over the loops of a kernel: a graph whose nodes are shared.

Nodes that are alike are one object, so that they are compared by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from argus.ir.dtypes import DType
from argus.programs.tensors.affine import Affine
from argus.programs.tensors.numbers import number_of
from argus.programs.tensors.recorder import promoted
from argus.programs.tensors.tensor_program import ProgramValue


@dataclass(frozen=True, eq=False)
class NumberNode:
    """A number, the same everywhere."""

    value: float | int | bool
    dtype: DType


@dataclass(frozen=True)
class Border:
    """A coordinate that may lie outside: below 0, or ``extent`` and more.

    Each step of it is ``stride`` elements.
    """

    index: Affine
    extent: int
    stride: int


@dataclass(frozen=True)
class TableIndex:
    """A coordinate that is a number of the program: ``extent`` steps of ``stride``.

    What is read where it lies outside is 0.
    """

    index: ExpressionNode
    extent: int
    stride: int


@dataclass(frozen=True, eq=False)
class ElementNode:
    """The element of a buffer ``offset`` elements after its first, borders and tables.

    Outside of a border it is ``fill``; with None it is any number there.
    """

    buffer: ProgramValue
    offset: Affine
    dtype: DType
    borders: tuple[Border, ...] = ()
    fill: float | int | bool | None = None
    tables: tuple[TableIndex, ...] = ()

    @property
    def whole(self) -> Affine:
        """The offset with that of the borders: where it is inside of them all."""
        total = self.offset
        for border in self.borders:
            total = total + border.index * border.stride
        return total

    @property
    def indices(self) -> tuple[Affine, ...]:
        """All sums of loop indices, but for those inside of tables."""
        return (self.offset, *(b.index for b in self.borders))


@dataclass(frozen=True, eq=False)
class PositionNode:
    """A whole number made of loop indices."""

    index: Affine
    dtype: DType


@dataclass(frozen=True, eq=False)
class ApplyNode:
    """A function of `argus.ir.functions`, or "cast" to ``dtype``."""

    function: str
    parts: tuple[ExpressionNode, ...]
    dtype: DType


@dataclass(frozen=True, eq=False)
class ReduceNode:
    """``function`` of ``body`` over all indices of ``loops``."""

    function: str
    body: ExpressionNode
    loops: tuple[str, ...]
    dtype: DType


@dataclass(frozen=True, eq=False)
class ScanNode:
    """``function`` of ``body`` over all indices of ``loop`` up to the present one.

    ``reverse``: from the present one on.
    """

    function: str
    body: ExpressionNode
    loop: str
    reverse: bool
    dtype: DType


ExpressionNode = (
    NumberNode | ElementNode | PositionNode | ApplyNode | ReduceNode | ScanNode
)
_Node = TypeVar("_Node", bound=ExpressionNode)


class ExpressionPool:
    """Makes nodes; those that are alike are one."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], ExpressionNode] = {}
        self._free: dict[ExpressionNode, frozenset[str]] = {}

    def _one(self, key: tuple[object, ...], make: Callable[[], _Node]) -> _Node:
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = make()
        return found  # type: ignore[return-value]

    def number(self, value: float | int | bool, dtype: DType) -> ExpressionNode:
        """A number."""
        return self._one(
            ("number", repr(value), dtype), lambda: NumberNode(value, dtype)
        )

    def element(
        self,
        buffer: ProgramValue,
        offset: Affine,
        borders: tuple[Border, ...] = (),
        fill: float | int | bool | None = None,
        tables: tuple[TableIndex, ...] = (),
    ) -> ExpressionNode:
        """An element of a buffer."""
        return self._one(
            ("element", buffer, offset, borders, repr(fill), tables),
            lambda: ElementNode(buffer, offset, buffer.dtype, borders, fill, tables),
        )

    def reindexed(
        self, node: ExpressionNode, change: Callable[[Affine], Affine]
    ) -> ExpressionNode:
        """An element or a position with other indices; anything else as it is."""
        match node:
            case ElementNode(buffer=buffer, offset=offset, fill=fill):
                borders = tuple(
                    Border(change(b.index), b.extent, b.stride) for b in node.borders
                )
                return self.element(buffer, change(offset), borders, fill, node.tables)
            case PositionNode(index=index, dtype=dtype):
                return self.position(change(index), dtype)
            case _:
                return node

    def position(self, index: Affine, dtype: DType) -> ExpressionNode:
        """A whole number made of loop indices."""
        if not index.terms:
            return self.number(index.constant, dtype)
        return self._one(("position", index, dtype), lambda: PositionNode(index, dtype))

    def apply(
        self, function: str, parts: Sequence[ExpressionNode], dtype: DType
    ) -> ExpressionNode:
        """A function of nodes; of numbers a number."""
        given = tuple(parts)
        if function == "where" and isinstance(given[0], NumberNode):
            chosen = given[1] if given[0].value else given[2]
            if chosen.dtype == dtype:
                return chosen
        numbers = [p for p in given if isinstance(p, NumberNode)]
        if given and len(numbers) == len(given):
            computed = (
                dtype if function == "cast" else promoted([n.dtype for n in numbers])
            )
            values = [n.value for n in numbers]
            return self.number(number_of(function, values, computed), dtype)
        return self._one(
            ("apply", function, given, dtype),
            lambda: ApplyNode(function, given, dtype),
        )

    def reduce(
        self, function: str, body: ExpressionNode, loops: Sequence[str], dtype: DType
    ) -> ExpressionNode:
        """A reduction over loops."""
        over = tuple(loops)
        return self._one(
            ("reduce", function, body, over, dtype),
            lambda: ReduceNode(function, body, over, dtype),
        )

    def scan(
        self,
        function: str,
        body: ExpressionNode,
        loop: str,
        reverse: bool,
        dtype: DType,
    ) -> ExpressionNode:
        """Running sums, products or extremes along a loop."""
        return self._one(
            ("scan", function, body, loop, reverse, dtype),
            lambda: ScanNode(function, body, loop, reverse, dtype),
        )

    def free(self, node: ExpressionNode) -> frozenset[str]:
        """Loops on whose indices a node depends."""
        if node not in self._free:
            match node:
                case NumberNode():
                    found = frozenset[str]()
                case ElementNode():
                    found = frozenset[str]().union(
                        *(i.loops for i in node.indices),
                        *(self.free(t.index) for t in node.tables),
                    )
                case PositionNode(index=index):
                    found = index.loops
                case ApplyNode(parts=parts):
                    found = frozenset[str]().union(*(self.free(p) for p in parts))
                case ReduceNode(body=body, loops=loops):
                    found = self.free(body) - set(loops)
                case ScanNode(body=body, loop=loop):
                    found = self.free(body) | {loop}
            self._free[node] = found
        return self._free[node]

    def rewritten(
        self,
        node: ExpressionNode,
        change: Callable[[ExpressionNode], ExpressionNode],
        done: dict[ExpressionNode, ExpressionNode],
    ) -> ExpressionNode:
        """A node with ``change`` applied to each of its nodes, parts first."""
        if node in done:
            return done[node]
        match node:
            case ApplyNode(function=function, parts=parts, dtype=dtype):
                made = [self.rewritten(p, change, done) for p in parts]
                new = self.apply(function, made, dtype)
            case ReduceNode(function=function, body=body, loops=loops, dtype=dtype):
                inner = self.rewritten(body, change, done)
                new = self.reduce(function, inner, loops, dtype)
            case ScanNode(function=function, body=body, loop=loop, dtype=dtype):
                inner = self.rewritten(body, change, done)
                new = self.scan(function, inner, loop, node.reverse, dtype)
            case ElementNode(tables=tables) if tables:
                moved = tuple(
                    TableIndex(
                        self.rewritten(t.index, change, done), t.extent, t.stride
                    )
                    for t in tables
                )
                new = self.element(
                    node.buffer, node.offset, node.borders, node.fill, moved
                )
            case _:
                new = node
        done[node] = change(new)
        return done[node]


def parts_of(node: ExpressionNode) -> tuple[ExpressionNode, ...]:
    """What a node is made of."""
    match node:
        case ApplyNode(parts=parts):
            return parts
        case ReduceNode(body=body) | ScanNode(body=body):
            return (body,)
        case ElementNode(tables=tables):
            return tuple(t.index for t in tables)
        case NumberNode() | PositionNode():
            return ()


def walked(roots: Sequence[ExpressionNode]) -> Iterator[ExpressionNode]:
    """All nodes, each once, parts before what is made of them."""
    seen: set[ExpressionNode] = set()
    stack: list[tuple[ExpressionNode, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((p, False) for p in reversed(parts_of(node)))


def flattened(node: ExpressionNode, function: str) -> Iterator[ExpressionNode]:
    """The operands of nested applications of an associative function, in order."""
    if isinstance(node, ApplyNode) and node.function == function:
        for part in node.parts:
            yield from flattened(part, function)
    else:
        yield node
