"""Adjacent loops that every access walks as one become one.

    X[32 k + l] -> Y[64 k + 32 + l], with 32 l       one loop of all k and l

Where the outer one has a border of its own, and the inner one walks whole rows behind
it, an access has one border for both: row ``k`` is one of ``e`` just where element
``32 k + l`` is one of ``32 e``. It is said so only where it makes one loop of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from argus.programs.lowering.expressions import (
    Border,
    ElementNode,
    ExpressionNode,
    PositionNode,
    ReduceNode,
)
from argus.programs.lowering.lowered_group import KernelStore, LoweredGroup
from argus.programs.tensors.affine import Affine

__all__ = ["collapsed"]

_Place = tuple[Affine, tuple[Border, ...]]
"""What an access touches: elements after the first, and coordinates with borders."""


def collapsed(group: LoweredGroup) -> LoweredGroup:
    """The same with as few loops as there can be."""
    found = _Collapsing(group)
    rows, columns = found.joined(group.rows), found.joined(group.columns)
    return found.group(rows, columns) if found.gone else group


class _Collapsing:
    def __init__(self, group: LoweredGroup) -> None:
        self._group = group
        self._sizes = dict(group.sizes)
        self._positions = [n.index for n in group.nodes if isinstance(n, PositionNode)]
        places: list[_Place] = [(n.offset, n.borders) for n in group.elements]
        places += [(s.offset, s.borders) for s in group.stores]
        self._places = {p: p for p in places}
        """Places as they are now, by what they were."""
        self.gone: set[str] = set()

    def joined(self, loops: Sequence[str]) -> tuple[str, ...]:
        """Those that are left of some, outermost first."""
        kept: list[str] = []
        for loop in reversed(loops):
            if not kept or not self._join(loop, kept[0]):
                kept.insert(0, loop)
        return tuple(kept)

    def _join(self, outer: str, inner: str) -> bool:
        """Whether the inner one walks both from now on."""
        size = self._sizes[inner]

        def as_one(index: Affine) -> bool:
            return index.factor(outer) == index.factor(inner) * size

        if not all(map(as_one, self._positions)):
            return False
        found: dict[_Place, _Place] = {}
        for was, place in self._places.items():
            if not all(map(as_one, _indices(place))):
                moved = _one_border(place, outer, inner, size)
                if moved is None or not all(map(as_one, _indices(moved))):
                    return False
                place = moved
            found[was] = place
        self._places = found
        # The outer index is what the inner one counts beyond its size.
        self._sizes[inner] *= self._sizes.pop(outer)
        self.gone.add(outer)
        return True

    def _without(self, index: Affine) -> Affine:
        left = {n: c for n, c in index.terms if n not in self.gone}
        return Affine.of(left, index.constant)

    def _place(self, was: _Place) -> _Place:
        offset, borders = self._places[was]
        kept = [replace(b, index=self._without(b.index)) for b in borders]
        return self._without(offset), tuple(kept)

    def _changed(self, node: ExpressionNode) -> ExpressionNode:
        pool = self._group.pool
        match node:
            case ReduceNode():
                over = [loop for loop in node.loops if loop not in self.gone]
                return pool.reduce(node.function, node.body, over, node.dtype)
            case ElementNode(buffer=buffer, fill=fill, tables=tables):
                offset, borders = self._place((node.offset, node.borders))
                return pool.element(buffer, offset, borders, fill, tables)
            case _:
                return pool.reindexed(node, self._without)

    def group(self, rows: tuple[str, ...], columns: tuple[str, ...]) -> LoweredGroup:
        """What is computed with these loops."""
        pool = self._group.pool
        done: dict[ExpressionNode, ExpressionNode] = {}
        stores: list[KernelStore] = []
        for s in self._group.stores:
            offset, borders = self._place((s.offset, s.borders))
            node = pool.rewritten(s.node, self._changed, done)
            stores.append(KernelStore(s.buffer, offset, node, borders))
        return replace(
            self._group,
            rows=rows,
            columns=columns,
            sizes=self._sizes,
            stores=tuple(stores),
        )


def _indices(place: _Place) -> list[Affine]:
    offset, borders = place
    return [offset, *(b.index for b in borders)]


def _one_border(place: _Place, outer: str, inner: str, size: int) -> _Place | None:
    """A place whose border of the outer loop is one of both; None: it has no such.

    A border that moves with other loops, too, is that of a window, which is told by it.
    """
    offset, borders = place
    step = offset.factor(inner)
    for at, border in enumerate(borders):
        plain = border.index.terms == ((outer, 1),)
        if step > 0 and plain and border.stride == step * size:
            both = border.index * size + Affine.loop(inner)
            one = Border(both, border.extent * size, step)
            rest = offset + Affine.loop(inner) * -step
            return rest, (*borders[:at], one, *borders[at + 1 :])
    return None
