"""Kernels that are alike in all but which values they read and write are made once.

    known = KnownKernels()
    group, form = known.of([stored], inside, "kernel", make)

Layers of a model repeat: what is found of the kernels of one holds for all others. The
structure of a kernel is what its values are, with numbers in place of the values; what
was made for other values of the same structure is rewritten for these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from argus.programs.lowering.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    ExpressionPool,
    NumberNode,
    PositionNode,
    ReduceNode,
    ScanNode,
)
from argus.programs.lowering.kernel_file import KernelSource
from argus.programs.lowering.lowering import LoweredGroup, NotFusedError
from argus.programs.planning.forms import KernelForm, source_of
from argus.programs.tensors.tensor_program import (
    GivenPrimitive,
    ProgramValue,
    ViewedValue,
)
from argus.programs.tiles.tile_axes import GroupTiling

_NODES = (NumberNode, ElementNode, PositionNode, ApplyNode, ReduceNode, ScanNode)


@dataclass(frozen=True)
class KernelStructure:
    """What kernels have in common that are alike; ``values`` has theirs by number."""

    key: tuple[object, ...]
    values: tuple[ProgramValue, ...]


class KnownKernels:
    """Kernels by their structure; ``of`` makes one, or rewrites one that was made."""

    def __init__(self) -> None:
        self._made: dict[
            tuple[object, ...], tuple[KernelStructure, LoweredGroup, KernelForm] | str
        ] = {}
        self._sources: dict[
            tuple[object, ...], tuple[KernelStructure, KernelSource]
        ] = {}
        self._said: dict[ProgramValue, _Said] = {}

    def of(
        self,
        stored: Sequence[ProgramValue],
        inside: Collection[ProgramValue],
        kind: object,
        make: Callable[[], tuple[LoweredGroup, KernelForm]],
    ) -> tuple[LoweredGroup, KernelForm]:
        """What ``make`` gives for these values, which depends on nothing else.

        ``kind`` says which function ``make`` is. Raises the NotFusedError of ``make``.
        """
        found = self.structure(stored, inside)
        key = (kind, *found.key)
        known = self._made.get(key)
        if known is None:
            try:
                group, form = make()
            except NotFusedError as error:
                self._made[key] = str(error)
                raise
            self._made[key] = found, group, form
            return group, form
        if isinstance(known, str):
            raise NotFusedError(known)
        before, group, form = known
        if before.values == found.values:
            return group, form
        names = dict(zip(before.values, found.values, strict=True))
        return _Rewriting(group.pool, names).both(group, form)

    def source(
        self,
        stored: Sequence[ProgramValue],
        inside: Collection[ProgramValue],
        group: LoweredGroup,
        form: KernelForm,
        said: tuple[str, str],
    ) -> KernelSource:
        """The file of a kernel that `of` gave, by its name and title."""
        found = self.structure(stored, inside)
        numbers = {value: i for i, value in enumerate(found.values)}
        tiling = repr(form) if isinstance(form, GroupTiling) and not group.flat else ""
        key = (
            *(said, tiling, type(form), group.rows, group.columns),
            *((numbers[s.buffer], s.offset) for s in group.stores),
            *found.key,
        )
        known = self._sources.get(key)
        if known is None:
            source = source_of(group, form, *said)
            self._sources[key] = found, source
            return source
        before, source = known
        names = dict(zip(before.values, found.values, strict=True))
        tensors = tuple(replace(t, buffer=names[t.buffer]) for t in source.tensors)
        return replace(source, tensors=tensors)

    def structure(
        self, stored: Sequence[ProgramValue], inside: Collection[ProgramValue]
    ) -> KernelStructure:
        """The structure of a kernel that stores values, and computes some inside."""
        numbers: dict[ProgramValue, int] = {}
        waiting: list[ProgramValue] = []

        def number(value: ProgramValue) -> int:
            if value not in numbers:
                numbers[value] = len(numbers)
                waiting.append(value)
            return numbers[value]

        key: list[object] = [tuple(number(v) for v in stored)]
        first = len(waiting)
        for at, value in enumerate(waiting):  # which grows
            said = self._said.get(value)
            if said is None:
                said = self._said[value] = _said_of(value)
            own = at < first or value in inside  # else it is read
            home = -1 if value.home is None else number(value.home)
            parts = tuple(number(v) for v in said.operands) if own else ()
            taken = value in inside
            key.append((said.own if own else said.read, taken, home, parts))
        return KernelStructure(tuple(key), tuple(waiting))


@dataclass(frozen=True)
class _Said:
    """What a value is: where it is made, with places for its operands; where read."""

    own: str
    read: str
    operands: tuple[ProgramValue, ...]


def _said_of(value: ProgramValue) -> _Said:
    stored = f"{value.shape} {value.dtype.name} {value.pitch} {value.begin}"
    operands: list[ProgramValue] = []
    parts: list[str] = []
    for field in fields(value.made):
        found = getattr(value.made, field.name)
        if field.name == "call":  # of torch, which no kernel computes
            continue
        if isinstance(value.made, GivenPrimitive) and field.name == "source":
            found = str(found).rpartition(".")[2]
        parts.append(f"{field.name}={_text(found, operands)}")
    made = f"{stored} {type(value.made).__name__} {' '.join(parts)}"
    given = isinstance(value.made, GivenPrimitive)
    return _Said(made, made if given else stored, tuple(operands))


def _text(found: object, operands: list[ProgramValue]) -> str:
    match found:
        case ViewedValue(value=value, views=views):
            operands.append(value)
            return f"@{views!r}"
        case _ if isinstance(found, tuple):
            items = cast("tuple[object, ...]", found)
            return f"({', '.join(_text(x, operands) for x in items)})"
        case _:
            return repr(found)


class _Rewriting:
    """A kernel for other values of its structure, in the same pool of nodes."""

    def __init__(
        self, pool: ExpressionPool, names: dict[ProgramValue, ProgramValue]
    ) -> None:
        self.pool, self.names = pool, names
        self._done: dict[ExpressionNode, ExpressionNode] = {}

    def both(
        self, group: LoweredGroup, form: KernelForm
    ) -> tuple[LoweredGroup, KernelForm]:
        stores = tuple(
            replace(s, buffer=self.names[s.buffer], node=self._node(s.node))
            for s in group.stores
        )
        return replace(group, stores=stores), self._changed(form)

    def _node(self, node: ExpressionNode) -> ExpressionNode:
        return self.pool.rewritten(node, self._element, self._done)

    def _element(self, n: ExpressionNode) -> ExpressionNode:
        if not isinstance(n, ElementNode):
            return n
        buffer = self.names[n.buffer]
        return self.pool.element(buffer, n.offset, n.borders, n.fill, n.tables)

    def _changed(self, part: Any) -> Any:
        """A form, or a part of it, with the nodes of this kernel."""
        if isinstance(part, _NODES):
            return self._node(part)
        if isinstance(part, tuple):
            return tuple(map(self._changed, cast("tuple[object, ...]", part)))
        if isinstance(part, frozenset):
            return frozenset(map(self._changed, cast("frozenset[object]", part)))
        if is_dataclass(part) and not isinstance(part, type):
            own = {f.name: self._changed(getattr(part, f.name)) for f in fields(part)}
            return replace(part, **own)
        return part
