"""Which register array holds each tile, and where the array is declared.

Tiles that placing gave the same ``storage`` share one array. A loop's argument and its
result are one array, since they are never alive together, and so is the initial value
when the loop is its only reader. Operations that move no register (Transpose, Reshape,
Reinterpret) make their result another name of their source, unless one of the two is
updated in place. An array is declared in the innermost block that holds every
operation that writes it.

This reads a program; it prints nothing but the names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from argus.codegen.errors import CodegenError
from argus.codegen.names import Identifiers
from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.walk import blocks, defined, used, walk
from argus.layout import Fragment

_Path = tuple[tuple[int, int], ...]
"""(identity of a block, index of an operation in it), outermost first."""


@dataclass
class RegisterArray:
    """One register array: ``name[length]``, packed two to a word for 16-bit types."""

    name: str
    dtype: DType
    regs: int
    unread: bool = False
    """Whether no operation reads it: a result that is there beside another."""

    @property
    def packed(self) -> bool:
        """True when each word holds two elements."""
        return self.dtype.packed

    @property
    def length(self) -> int:
        """Number of array elements."""
        return -(-self.regs // 2) if self.packed else self.regs

    @property
    def declaration(self) -> str:
        """The C++ declaration."""
        unread = "[[maybe_unused]] " if self.unread else ""
        return f"{unread}{self.dtype.register} {self.name}[{self.length}];"


def layout_of(tile: o.Tile) -> Fragment:
    """The tile's layout. Raises CodegenError when placing left it out."""
    if tile.layout is None:
        raise CodegenError(f"tile {tile!r} has no layout")
    return tile.layout


@dataclass
class RegisterArrays:
    """``array(tile)``, and ``declared[block, index]``: what to declare before an op."""

    declared: dict[tuple[int, int], list[RegisterArray]] = field(
        default_factory=dict[tuple[int, int], list[RegisterArray]]
    )
    _arrays: dict[int, RegisterArray] = field(default_factory=dict[int, RegisterArray])

    def array(self, tile: o.Tile) -> RegisterArray:
        """The array that holds ``tile``."""
        return self._arrays[tile.id]

    def same(self, a: o.Tile, b: o.Tile) -> bool:
        """True when both tiles are one array."""
        return self._arrays[a.id] is self._arrays[b.id]

    def alone(self, tile: o.Tile) -> bool:
        """True when no other tile is in the array of this one."""
        own = self._arrays[tile.id]
        return sum(array is own for array in self._arrays.values()) == 1

    def put(self, tile: o.Tile, array: RegisterArray) -> None:
        """Record the array of a tile."""
        self._arrays[tile.id] = array


class _Classes:
    """Union-find over tiles; remembers which classes are updated in place."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}
        self._by_storage: dict[int, int] = {}
        self._mutable: set[int] = set()

    def find(self, tile: o.Tile) -> int:
        """Representative of the tile's class."""
        if tile.id not in self._parent:
            self._parent[tile.id] = tile.id
            if tile.storage is not None:
                other = self._by_storage.setdefault(tile.storage, tile.id)
                self._parent[tile.id] = other
                self._mutable.add(self._root(other))
        return self._root(tile.id)

    def _root(self, i: int) -> int:
        while self._parent[i] != i:
            i = self._parent[i]
        return i

    def join(self, a: o.Tile, b: o.Tile) -> None:
        """Make both one class, updated in place. Two storages stay apart."""
        if None not in (a.storage, b.storage) and a.storage != b.storage:
            return
        first, second = self.find(a), self.find(b)
        self._parent[second] = first
        self._mutable.add(first)

    def alias(self, result: o.Tile, source: o.Tile) -> None:
        """Make ``result`` another name of ``source`` if neither is updated in place."""
        first, second = self.find(source), self.find(result)
        if first in self._mutable or second in self._mutable:
            return
        self._parent[second] = first


def assign(program_body: o.Block, names: Identifiers) -> RegisterArrays:
    """Choose arrays and their places for every tile of a placed program.

    Raises CodegenError when tiles of different element types share a storage.
    """
    classes = _Classes()
    reads = Counter(t.id for op in walk(program_body) for t in used(op))
    _join_carries(program_body, classes, reads)
    for op in walk(program_body):
        if isinstance(op, o.Reinterpret):
            classes.alias(op.result, op.src)
        elif isinstance(op, o.Moving) and op.renames:
            (source,) = op.sources
            classes.alias(op.result, source)
        else:
            pass  # its registers are its own
    members: dict[int, list[tuple[o.Tile, _Path]]] = {}
    for tile, path in _definitions(program_body, ()):
        members.setdefault(classes.find(tile), []).append((tile, path))
    storage = RegisterArrays()
    for found in members.values():
        array = _array(found, names)
        array.unread = not any(reads[tile.id] for tile, _ in found)
        for tile, _ in found:
            storage.put(tile, array)
        place = _common([path for _, path in found])
        storage.declared.setdefault(place, []).append(array)
    return storage


def _join_carries(block: o.Block, classes: _Classes, reads: Counter[int]) -> None:
    """Join what a loop carries: argument, result, and an initial value of its own."""
    here: set[int] = set()
    for op in block.ops:
        if isinstance(op, o.For):
            for carry in op.tiles:
                classes.join(carry.arg, carry.result)
                own = carry.init.id in here and reads[carry.init.id] == 1
                if own and carry.init.storage is None:
                    classes.join(carry.arg, carry.init)
        if not isinstance(op, o.For | o.If):
            here.update(t.id for t in defined(op))
        for inner in blocks(op):
            _join_carries(inner, classes, reads)


def _definitions(block: o.Block, path: _Path) -> Iterator[tuple[o.Tile, _Path]]:
    for index, op in enumerate(block.ops):
        here = (*path, (id(block), index))
        if isinstance(op, o.For):
            for carry in op.tiles:
                yield carry.arg, here
        for tile in defined(op):
            yield tile, here
        for inner in blocks(op):
            yield from _definitions(inner, here)


def _common(paths: list[_Path]) -> tuple[int, int]:
    """Innermost block on every path, and the first index used there."""
    depth = 0
    while all(len(p) > depth + 1 for p in paths):
        if len({p[depth] for p in paths}) != 1:
            break
        if len({p[depth + 1][0] for p in paths}) != 1:
            break
        depth += 1
    return (paths[0][depth][0], min(p[depth][1] for p in paths))


def _array(found: list[tuple[o.Tile, _Path]], names: Identifiers) -> RegisterArray:
    tiles = [tile for tile, _ in found]
    types = {tile.dtype for tile in tiles}
    if len(types) != 1:
        raise CodegenError(f"tiles of different types share registers: {tiles}")
    regs = max(layout_of(tile).num_regs for tile in tiles)
    named = next((t.name for t in tiles if t.name != "t"), tiles[0].name)
    return RegisterArray(names.unique(named), tiles[0].dtype, regs)
