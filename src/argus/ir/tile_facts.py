"""One fact of each tile of a tile program, by one walk.

    facts = walked(program, Domain())
    facts.of(tile)

A domain says what a fact is, and what operations make of facts; it is one file, and the
walk is the same for all. Facts are joined where values meet (branches, loops, writes
to one buffer), so they are of the kind "may be", and a domain's facts only grow: it is
walked until none does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar, assert_never

from argus.ir import ops as o
from argus.ir.expr import Const, Expr
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.program import Program
from argus.ir.walk import blocks, defined, expressions, used, walk

__all__ = ["FactDomain", "TileFacts", "moved_back", "walked"]

F = TypeVar("F")


class FactDomain(Protocol[F]):
    """What a fact is. The walk hands on what the methods return."""

    def nothing(self) -> F:
        """Of what was not written yet: joined with it, facts stay."""
        ...

    def scalar(self, value: Expr) -> F:
        """Of a scalar."""
        return self.nothing()

    def element(self, held: F) -> F:
        """Of what is loaded; ``held``: of what was stored there, or fills it."""
        ...

    def old(self) -> F:
        """Of what an atomic operation found in memory."""
        return self.element(self.nothing())

    def joined(self, one: F, other: F) -> F:
        """Of a value that may be either."""
        ...

    def elementwise(self, op: o.Elementwise, args: Sequence[F]) -> F:
        """Of the result of a function."""
        ...

    def product(self, op: o.Dot, parts: Sequence[F]) -> F:
        """Of a matrix product; ``parts`` are its operands and accumulator."""
        return self.nothing()

    def made(self, op: o.RegisterOp, parts: Sequence[F]) -> F:
        """Of what another operation makes: moved, converted, reduced."""
        ...

    def stored(self, fact: F) -> None:
        """A value with this fact leaves the kernel."""


class TileFacts(Generic[F]):
    """Facts of tiles and of shared buffers."""

    def __init__(self, domain: FactDomain[F]) -> None:
        self.domain = domain
        self._tiles: dict[o.Tile, F] = {}
        self._shared: dict[SharedAlloc, F] = {}
        self.changed = True
        """Whether the last walk has found more: what a turn carries on is known in the
        next."""

    def of(self, value: o.Tile | Expr) -> F:
        """What is known of a tile or scalar."""
        if not isinstance(value, o.Tile):
            return self.domain.scalar(value)
        return self._tiles[value] if value in self._tiles else self.domain.nothing()

    def __contains__(self, tile: o.Tile) -> bool:
        return tile in self._tiles

    def _held(self, alloc: SharedAlloc) -> F:
        return self._shared[alloc] if alloc in self._shared else self.domain.nothing()

    def _put(self, tile: o.Tile, fact: F) -> None:
        made = self.domain.joined(self.of(tile), fact)
        self.changed |= made != self.of(tile)
        self._tiles[tile] = made

    def _of_all(self, values: Iterable[o.Tile | Expr]) -> list[F]:
        return [self.of(x) for x in values]

    def walk(self, block: o.Block) -> None:
        """One pass over a block and what is inside of it."""
        for op in block.ops:
            self._before(op)
            for inner in blocks(op):
                self.walk(inner)
            self._after(op)

    def _before(self, op: o.AnyOp) -> None:
        domain = self.domain
        match op:
            case o.Elementwise():
                self._put(op.result, domain.elementwise(op, self._of_all(op.args)))
            case o.LoadGlobal():
                self._put(op.result, domain.element(self.of(op.fill)))
            case o.LoadShared():
                self._put(op.result, domain.element(self._held(op.view.alloc)))
            case o.StoreShared():
                alloc = op.view.alloc
                made = domain.joined(self._held(alloc), self.of(op.src))
                self.changed |= made != self._held(alloc)
                self._shared[alloc] = made
            case o.Dot():
                parts = self._of_all(used(op))
                shared = [x for x in (op.a, op.b) if isinstance(x, SharedView)]
                parts += [self._held(x.alloc) for x in shared]
                self._put(op.result, domain.product(op, parts))
            case o.StoreGlobal():
                domain.stored(self.of(op.src))
                for old in defined(op):
                    self._put(old, domain.old())
            case o.CopyOut():
                domain.stored(self._held(op.src.alloc))
            case o.For():
                for carry in op.tiles:
                    self._put(carry.arg, self.of(carry.init))
            case o.RegisterOp():
                # What is made of no tiles is made of scalars.
                parts = used(op) or expressions(op)
                self._put(op.result, domain.made(op, self._of_all(parts)))
            case (
                o.Binding() | o.If() | o.Roles() | o.CopyAsync()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass  # it makes no tile, or in the blocks inside
            case _:
                assert_never(op)

    def _after(self, op: o.AnyOp) -> None:
        """What comes out of a loop or branch."""
        match op:
            case o.For():
                for carry in op.tiles:
                    self._put(carry.arg, self.of(carry.yielded))
                    self._put(carry.result, self.of(carry.yielded))
                    self._put(carry.result, self.of(carry.init))
            case o.If():
                for merge in op.tiles:
                    self._put(merge.result, self.of(merge.then))
                    self._put(merge.result, self.of(merge.other))
            case (
                o.Binding() | o.Roles() | o.RegisterOp() | o.Dot()
                | o.Access() | o.Copy() | o.Synchronisation() | o.RingOp()
                | o.Annotation()
            ):  # fmt: skip
                pass  # nothing comes out of it
            case _:
                assert_never(op)


def walked(program: Program, domain: FactDomain[F]) -> TileFacts[F]:
    """The facts of a domain for all tiles of a program."""
    facts = TileFacts(domain)
    while facts.changed:
        facts.changed = False
        facts.walk(program.body)
    return facts


def moved_back(program: Program) -> frozenset[o.AnyOp]:
    """The operations that move bits of i32 to the right which have just moved left.

    ``(x << 20) >> 28`` is bits 8 to 11 of x, from -8 to 7: in between 32 bits keep what
    they hold of the product, and the shift to the right asks for its sign.
    """
    found: set[o.AnyOp] = set()
    left: set[o.Tile] = set()
    for op in walk(program.body):
        if not isinstance(op, o.Elementwise) or op.result.dtype.name != "i32":
            continue
        if op.fn in ("mul", "shl") and _moves(op, "mul"):
            left.add(op.result)
        back = op.fn in ("floordiv", "shr") and _moves(op, "floordiv")
        if back and op.args[0] in left:
            found.add(op)
    return frozenset(found)


def _moves(op: o.Elementwise, by_number: str) -> bool:
    """Whether a tile is the first operand, and a number of places the second."""
    value, by = op.args
    if not isinstance(value, o.Tile) or not isinstance(by, Const):
        return False
    if op.fn != by_number:
        return True
    number = by.value
    return isinstance(number, int) and number > 0 and not number & (number - 1)
