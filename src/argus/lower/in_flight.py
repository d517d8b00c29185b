"""wgmma groups in flight: what they use, and what becomes of that at joins and loops.

A state lists the groups that may be in flight, oldest first. A wait counts from the
newest, so states are joined aligned there: a group at some distance from the newest is
what either side has at that distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary, symbols
from argus.ir.memory import SharedView
from argus.ir.walk import walk


@dataclass(frozen=True)
class Slot:
    """A stage of a buffer (by id): ``number`` modulo the stages; None: any stage."""

    buffer: int
    number: Expr | None

    @staticmethod
    def of(view: SharedView) -> Slot:
        """The stage that a view is in."""
        number = view.stage
        match number:
            case Binary(op="%", left=n, right=Const(value=v)) if v == view.alloc.stages:
                number = n
            case Const() | Sym() | Binary() | Select():
                pass
            case _:
                assert_never(number)
        return Slot(id(view.alloc), number)


@dataclass(frozen=True)
class InFlight:
    """One committed group: results not readable yet, registers and slots it reads."""

    tiles: frozenset[int]
    operands: frozenset[int]
    slots: frozenset[Slot]

    def without(self, tile: int) -> InFlight:
        """The group when a result has got another name."""
        return replace(self, tiles=self.tiles - {tile})


State = tuple[InFlight, ...]
"""Groups in flight, oldest first."""


def join(a: State, b: State) -> State:
    """Either state may hold: aligned at the newest group, joined group by group."""
    if len(a) < len(b):
        a, b = b, a
    extra = len(a) - len(b)
    joined = [
        InFlight(x.tiles | y.tiles, x.operands | y.operands, x.slots | y.slots)
        for x, y in zip(a[extra:], b, strict=True)
    ]
    return (*a[:extra], *joined)


def results(state: State) -> frozenset[int]:
    """Tiles (by id) that a group in flight computes."""
    return frozenset(t for g in state for t in g.tiles)


def rename(
    state: State, pairs: list[tuple[o.Tile, o.Tile]], keep: frozenset[int]
) -> State:
    """State with results renamed; of the other names those to ``keep`` stay."""
    table: dict[int, set[int]] = {}
    for old, new in pairs:
        table.setdefault(old.id, set()).add(new.id)
    renamed: list[InFlight] = []
    for g in state:
        tiles = {n for t in g.tiles for n in table.get(t, set[int]())}
        tiles |= {t for t in g.tiles if t in keep and t not in table}
        renamed.append(replace(g, tiles=frozenset(tiles)))
    return tuple(renamed)


def any_stage(state: State) -> State:
    """State in which every slot may be any stage of its buffer."""
    return tuple(
        replace(g, slots=frozenset(Slot(s.buffer, None) for s in g.slots))
        for g in state
    )


def restage(state: State, op: o.For, names: list[Sym]) -> State:
    """Slots after an iteration, in terms of what its carried scalars become.

    ``names`` are the symbols that take the yielded values, those of the next iteration
    or those after the loop. A slot that cannot be told in these terms is any slot.
    """
    inner = set(_bound(op))
    pairs = [(c.yielded, name) for c, name in zip(op.scalars, names, strict=True)]

    def renamed(e: Expr) -> Expr | None:
        for value, name in pairs:
            if e == value:
                return name
            match value:
                case Binary(op="+", left=left, right=Const() as by) if left == e:
                    return binary("-", name, by)
                case Const() | Sym() | Binary() | Select():
                    pass
                case _:
                    assert_never(value)
        match e:
            case Sym():
                return None if e.name in inner else e
            case Binary():
                left, right = renamed(e.left), renamed(e.right)
                if left is None or right is None:
                    return None
                return binary(e.op, left, right)
            case Const() | Select():
                return None if any(s.name in inner for s in symbols(e)) else e
            case _:
                assert_never(e)

    def slot(s: Slot) -> Slot:
        return s if s.number is None else Slot(s.buffer, renamed(s.number))

    return tuple(replace(g, slots=frozenset(map(slot, g.slots))) for g in state)


def _bound(op: o.For) -> Iterator[str]:
    """Names that mean something else in each iteration."""
    yield op.var.name
    yield from (c.arg.name for c in op.scalars)
    for inner in walk(op.body):
        match inner:
            case o.Binding():
                yield inner.sym.name
            case o.For():
                yield inner.var.name
                yield from (s.name for c in inner.scalars for s in (c.arg, c.result))
            case o.If():
                yield from (m.result.name for m in inner.scalars)
            case (
                o.Roles() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(inner)
