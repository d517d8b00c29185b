"""The placed program is the tile program, but for what placing may insert.

Both programs are read side by side. Operations correspond one to one, in order: of one
class, with the same fields, whose operands mean the same tiles. Between them the placed
program may have

    waits, fences, syncs     they move no data; `verify/order` says if they suffice
    Convert                  the same elements in other registers
    StoreShared, LoadShared  of scratch: the same elements through shared memory
    Reshape, Reduce          a reduction across warps in parts (`meaning.py`)
    LoadShared               of an operand that the next product takes from registers

and nothing else. Steps of rings become waits and arrivals on the slot of the fill that
they name: fill n is completion n // S of barrier n % S.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import takewhile
from typing import Any, cast

from argus.ir import ops as o
from argus.ir.equality import identical
from argus.ir.expr import Arithmetic, Const, Expr
from argus.ir.memory import BarrierAlloc, GlobalTensor, Ring, SharedAlloc, SharedView
from argus.ir.program import Program
from argus.ir.walk import arguments, defined, walk
from argus.verify.refinement.gaps import Gap
from argus.verify.refinement.meaning import Meaning

__all__ = ["correspondence_gaps"]

_IN_PAIRS: dict[type, tuple[str, ...]] = {
    o.TileCarry: ("arg", "yielded"),
    o.TileMerge: ("then", "other"),
}
"""What `_Reader.same` compares when it has been inside."""

_PLACED = {"plan", "note", "span", "via", "result"}
"""Fields that placing fills in, and results, which are compared by `_Reader.bind`."""


class _DifferError(Exception):
    """The programs do not correspond, and why."""


def correspondence_gaps(tile: Program, placed: Program) -> list[Gap]:
    """The first operation at which the programs do not correspond; empty: they do."""
    for name in ("name", "grid", "cluster", "outputs", "params"):
        if repr(getattr(tile, name)) != repr(getattr(placed, name)):
            return [Gap(placed.span, f"placing changed the {name} of the program")]
    lost = [r for r in tile.requirements if r not in placed.requirements]
    if lost:
        return [Gap(placed.span, f"placing dropped a requirement: {lost[0].why}")]
    reader = _Reader(tile, placed)
    try:
        reader.block(tile.body, placed.body)
    except _DifferError as why:
        op = reader.at
        return [Gap(placed.span if op is None else op.span, str(why))]
    return []


def _placed_anew(tile: o.AnyOp, rest: Sequence[o.AnyOp]) -> bool:
    """Whether placing has put other waits in the place of one for groups.

    Whether these suffice is found out by `argus.verify.order`.
    """
    if not isinstance(tile, o.GroupWait):
        return False
    return not any(type(op) is type(tile) and op.note is None for op in rest)


class _Reader:
    def __init__(self, tile: Program, placed: Program) -> None:
        ops = list(walk(tile.body))
        known = {t.id: t for op in ops for t in (*defined(op), *arguments(op))}
        self.meanings = {i: Meaning.of(t) for i, t in known.items()}
        self.own = set(known)
        self.scratch: dict[str, Meaning] = {}
        self.copied: dict[int, o.CopyAsync] = {}  # tile -> the copy it is a part of
        self.loaded: dict[int, SharedView] = {}  # operands of the next product
        self.rings = {ring.name: ring for ring in placed.rings}
        self.at: o.AnyOp | None = None

    # ------------------------------------------------------------------ blocks

    def block(self, tile: o.Block, placed: o.Block) -> None:
        """Two blocks correspond, or _DifferError is raised."""
        wanted, given = list(tile.ops), list(placed.ops)
        t = p = 0
        while t < len(wanted) or p < len(given):
            if t < len(wanted) and isinstance(wanted[t], o.RingOp):
                self.at = wanted[t]
                self.ring(wanted[t], given[p:])
                t += 1
                continue
            if t < len(wanted) and _placed_anew(wanted[t], given[p:]):
                t += 1
                continue
            if p == len(given):
                self.at = wanted[t]
                raise _DifferError(f"placing lost a {type(wanted[t]).__name__}")
            op = given[p]
            self.at = op
            p += 1
            here = wanted[t] if t < len(wanted) else None
            if here is not None and self.through_registers(here, op):
                t += isinstance(op, o.StoreShared)
            elif here is not None and type(here) is type(op) and self.same(here, op):
                t += 1
            else:
                t += self.inserted(op, here)

    def same(self, tile: o.AnyOp, placed: o.AnyOp) -> bool:
        """Whether two operations of one class correspond.

        Raises _DifferError where it is the same operation and something in it is not.
        """
        if (
            placed.note is not None
            and tile.note is None
            and not isinstance(placed, o.Structure)
        ):
            return False  # inserted
        why = next(self.differ(tile, placed), None)
        if why is not None:
            raise _DifferError(f"placing changed a {type(tile).__name__}: {why}")
        self.loaded.clear()
        match tile, placed:
            case o.For(), o.For():
                for one, other in zip(tile.tiles, placed.tiles, strict=True):
                    self.bind(one.arg, other.arg)
                self.block(tile.body, placed.body)
                for one, other in zip(tile.tiles, placed.tiles, strict=True):
                    self.need(one.yielded, other.yielded)
                    self.bind(one.result, other.result)
            case o.If(), o.If():
                self.block(tile.then, placed.then)
                for one, other in zip(tile.tiles, placed.tiles, strict=True):
                    self.need(one.then, other.then)
                self.block(tile.other, placed.other)
                for one, other in zip(tile.tiles, placed.tiles, strict=True):
                    self.need(one.other, other.other)
                    self.bind(one.result, other.result)
            case o.Roles(), o.Roles():
                for one, other in zip(tile.roles, placed.roles, strict=True):
                    if (one.name, one.warps) != (other.name, other.warps):
                        raise _DifferError(f"role {one.name} became {other.name}")
                    self.block(one.body, other.body)
            case (
                o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.Annotation(),
                _,
            ):  # fmt: skip
                for one, other in zip(defined(tile), defined(placed), strict=True):
                    self.bind(one, other)
            case _:
                raise _DifferError(f"a {type(tile).__name__} in a placed program")
        return True

    # ------------------------------------------------------------------- tiles

    def meaning(self, tile: o.Tile) -> Meaning:
        """What a tile of the placed program is."""
        found = self.meanings.get(tile.id)
        if found is None:
            raise _DifferError(f"{tile!r} is no tile of the tile program")
        return found

    def need(self, tile: o.Tile, placed: o.Tile) -> None:
        """An operand is the tile that it should be."""
        if self.meaning(placed) != Meaning.of(tile):
            raise _DifferError(f"{placed!r} stands where {tile!r} should")

    def bind(self, tile: o.Tile, placed: o.Tile) -> None:
        """A result of an operation that both have."""
        if (tile.dtype, tile.shape) != (placed.dtype, placed.shape):
            raise _DifferError(f"{tile!r} became {placed!r}")
        if placed.id in self.own and placed.id != tile.id:
            raise _DifferError(f"{placed!r} is made where {tile!r} should be")
        self.meanings[placed.id] = Meaning.of(tile)

    def made(self, result: o.Tile, meaning: Meaning, next_: o.AnyOp | None) -> bool:
        """A tile that an inserted operation makes; True: it completes ``next_``."""
        if result.id not in self.own:
            self.meanings[result.id] = meaning
            return False
        if meaning == Meaning.of(result):
            return False
        if isinstance(next_, o.Reduce) and next_.result.id == result.id:
            if meaning.is_reduction(next_):
                return True
            raise _DifferError(f"{result!r} is not the whole reduction")
        raise _DifferError(f"{result!r} is made of something else")

    # ---------------------------------------------------------------- inserted

    def inserted(self, op: o.AnyOp, next_: o.AnyOp | None) -> bool:
        """An operation that placing inserted; True: with it, ``next_`` is done."""
        if op.note is None:
            raise _DifferError(f"a {type(op).__name__} without a reason was inserted")
        match op:
            case o.Convert() if (
                op.src.id in self.loaded and op.result.id not in self.own
            ):
                self.loaded[op.result.id] = self.loaded[op.src.id]
                return False
            case o.Convert():
                return self.made(op.result, self.meaning(op.src), next_)
            case o.Reshape():
                return self.made(
                    op.result, self.some(self.meaning(op.src).reshape(op)), next_
                )
            case o.Reduce():
                return self.made(
                    op.result, self.some(self.meaning(op.src).reduce(op)), next_
                )
            case o.StoreShared() if op.view.alloc.scratch and _whole(op):
                self.scratch[op.view.alloc.name] = self.meaning(op.src)
                return False
            case o.LoadShared() if op.view.alloc.scratch and _whole(op):
                held = self.scratch.get(op.view.alloc.name)
                if held is None:
                    raise _DifferError(
                        f"{op.view.alloc.name} is read before it is written"
                    )
                return self.made(op.result, held, next_)
            case o.LoadShared() if isinstance(next_, o.Dot):
                if op.result.id in self.own:
                    raise _DifferError(f"{op.result!r} is loaded by nobody's order")
                self.loaded[op.result.id] = op.view
                return False
            case o.Synchronisation():
                return False
            case _:
                raise _DifferError(f"a {type(op).__name__} was inserted")

    def some(self, meaning: Meaning | None) -> Meaning:
        """A meaning that there is."""
        if meaning is None:
            raise _DifferError("a part of a reduction that is no part of it")
        return meaning

    def through_registers(self, tile: o.AnyOp, placed: o.AnyOp) -> bool:
        """A copy that becomes a load and a store: whether this is one of the two."""
        if not isinstance(tile, o.CopyAsync):
            return False
        if isinstance(placed, o.LoadGlobal) and placed.note is not None:
            plain = placed.mask is None and identical(placed.fill, Const(0))
            why = next(self.differ(tile.src, placed.view), None)
            if not plain or why is not None:
                raise _DifferError(f"another load than its copy: {why}")
            self.copied[placed.result.id] = tile
            return True
        if isinstance(placed, o.StoreShared) and self.copied.get(placed.src.id) is tile:
            why = next(self.differ(tile.dst, placed.view), None)
            if why is not None:
                raise _DifferError(f"another store than its copy: {why}")
            return True
        return False

    # ------------------------------------------------------------------- rings

    def ring(self, op: o.AnyOp, rest: list[o.AnyOp]) -> None:
        """A step of a ring became the wait that its fill number says.

        ``rest``: the placed operations from here on. What a release or a publication
        becomes is left to `verify/order`, which finds out whether it suffices.
        """
        assert isinstance(op, o.RingOp)
        ring = self.rings.get(op.ring.name)
        if ring is None or (ring.stages, len(ring.fields)) != (
            op.ring.stages,
            len(op.ring.fields),
        ):
            raise _DifferError(f"{op.ring.name} became another ring")
        slot, lap = op.n % ring.stages, op.n // ring.stages
        here = list(takewhile(lambda x: isinstance(x, o.Synchronisation), rest))

        def waited(barrier: BarrierAlloc, n: Expr) -> bool:
            return any(
                isinstance(x, o.BarrierWait)
                and x.barrier.alloc is barrier
                and identical(x.barrier.index, slot)
                and identical(x.n, n)
                for x in here
            )

        match op:
            case o.RingWait():
                grouped = any(isinstance(x, o.CpAsyncWait) for x in here)
                if not (grouped if ring.full is None else waited(ring.full, lap)):
                    raise _DifferError(f"a drain of {ring.name} waits for another fill")
            case o.RingAcquire():
                if ring.empty is not None and not waited(ring.empty, lap - 1):
                    raise _DifferError(f"a fill of {ring.name} waits for another drain")
            case o.RingPublish() | o.RingRelease():
                pass
            case _:
                raise _DifferError(f"a step of a ring: {type(op).__name__}")

    # ------------------------------------------------------------------ fields

    def differ(self, a: Any, b: Any, path: str = "") -> Iterator[str]:
        """Paths of the fields in which two operations, or parts of them, differ."""
        if isinstance(a, SharedView) and isinstance(b, o.Tile) and b.id in self.loaded:
            yield from self.differ(a, self.loaded[b.id], path)
        elif isinstance(a, o.Tile):
            if not isinstance(b, o.Tile) or self.meaning(b) != Meaning.of(a):
                yield f"{path} is {b!r}"
        elif isinstance(a, Arithmetic):
            if not identical(a, b):
                yield f"{path} is {b!r}, not {a!r}"
        elif isinstance(a, SharedAlloc | BarrierAlloc | Ring):
            if type(a) is not type(b) or a.name != b.name:
                yield f"{path} is {b!r}"
        elif isinstance(a, GlobalTensor):
            if a != b:
                yield f"{path} is {b!r}"
        elif isinstance(a, o.Block | o.Role):
            return  # compared by `same`
        elif isinstance(a, list | tuple):
            mine = cast("Sequence[Any]", a)
            other = cast("Sequence[Any]", b if isinstance(b, list | tuple) else ())
            if len(mine) != len(other):
                yield f"{path} is {b!r}"
            for i, (x, y) in enumerate(zip(mine, other, strict=False)):
                yield from self.differ(x, y, f"{path}[{i}]")
        elif is_dataclass(a) and not isinstance(a, type):
            if type(a) is not type(b):
                yield f"{path} is a {type(b).__name__}"
                return
            for field in fields(a):
                if field.name not in _PLACED and not _filled_in(a, field.name):
                    below = f"{path}.{field.name}" if path else field.name
                    yield from self.differ(
                        getattr(a, field.name), getattr(b, field.name), below
                    )
        elif repr(a) != repr(b):
            yield f"{path} is {b!r}, not {a!r}"


def _filled_in(a: Any, name: str) -> bool:
    """Fields of particular operations that placing sets, or that `same` compares."""
    if isinstance(a, o.CopyAsync) and a.ring is not None:
        return name == "barrier"
    if isinstance(a, o.Sync):
        return name == "barrier" or (name == "threads" and a.name is None)
    return type(a) in _IN_PAIRS and name in _IN_PAIRS[type(a)]


def _whole(op: o.LoadShared | o.StoreShared) -> bool:
    """Whether an access is to all of its buffer, element by element."""
    view = op.view
    zero = all(identical(x, Const(0)) for x in (view.stage, *view.origin))
    return (
        zero
        and view.axes == tuple(range(len(view.shape)))
        and (view.shape or (1,)) == view.alloc.shape
    )
