"""Is this a program at all? Run between passes; whatever it finds is a compiler bug.

    check(program)       raises InvalidProgramError

Always: everything is defined before it is used and once, a name stands for one symbol
(its value is looked up by name), shapes and element types of each operation agree,
views fit what they view, roles come last. Of a placed program also: every tile has a
layout over the threads of its role, operations that move no registers have layouts that
say so, every access has a plan for its layout, shared buffers and barriers have their
place, and no ring operation is left.

Not checked here: whether the program is right (the verifier), and whether a kernel may
be written like this (the frontend, with an error for its author).
"""

from __future__ import annotations

from typing import assert_never

from argus.ir import memory as m
from argus.ir import ops as o
from argus.ir.annotations import AnyAnnotation
from argus.ir.check_memory import Storages, check_memory
from argus.ir.check_types import Types
from argus.ir.expr import Expr, Sym, symbols
from argus.ir.printer import Names, print_op
from argus.ir.program import HARDWARE, Program
from argus.ir.walk import (
    bound,
    defined,
    expressions,
    inner_symbols,
    mentioned,
    mentioned_expressions,
    plan_expressions,
    used,
    walk,
)

__all__ = ["InvalidProgramError", "check"]


class InvalidProgramError(Exception):
    """A program that breaks the rules of the representation: a bug of the compiler."""


def check(program: Program) -> None:
    """Check a program, placed or not.

    Raises InvalidProgramError that names the first operation found wrong, and why.
    """
    checker = _Checker(program)
    if program.placed:
        check_memory(program, checker.need)
    checker.parameters()
    scope = _Scope(set(), set(), program.threads)
    checker.block(program.body, scope, top=True)
    if program.placed:
        checker.storages()


class _Scope:
    """What is defined here, and by how many threads it is run."""

    def __init__(self, tiles: set[o.Tile], scalars: set[str], threads: int) -> None:
        self.tiles = tiles
        self.scalars = scalars
        self.threads = threads

    def inner(self) -> _Scope:
        """A nested block: it sees what is here, and keeps what it defines."""
        return _Scope(set(self.tiles), set(self.scalars), self.threads)


class _Checker:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.placed = program.placed
        self.seen: set[o.Tile] = set()
        self.names = Names()
        self.symbols = {sym.name: sym for sym in HARDWARE}
        self.op: o.AnyOp | None = None
        self.types = Types(program, self.need)

    def need(self, condition: bool, message: str) -> None:
        if condition:
            return
        where = self.program.name
        if self.op is not None:
            where += f", line {self.op.span.line}: {print_op(self.op, self.names)}"
        raise InvalidProgramError(f"{message}\n  in {where}")

    def storages(self) -> None:
        """Tiles that share registers agree, over the whole program."""
        storages = Storages(self.need)
        for op in walk(self.program.body):
            self.op = op
            storages.add(op)

    def parameters(self) -> None:
        """Sizes, strides and scalars, and what is said of them, have their names."""
        program = self.program
        for param in program.params:
            if isinstance(param, m.GlobalTensor):
                found = (*param.shape, *param.strides)
            else:
                found = (param.sym,)
            for e in found:
                self.known(e)
        for e in (program.grid, *(r.cond for r in program.requirements)):
            self.known(e)

    def known(self, e: Expr) -> None:
        """One name, one symbol; those of a view or an annotation are its own."""
        for sym in symbols(e):
            if sym.kind not in ("axis", "gather", "tag"):
                other = self.symbols.setdefault(sym.name, sym)
                self.need(other == sym, f"{sym!r} has the name of {other!r}")

    # -------------------------------------------------------------- structure

    def block(self, block: o.Block, scope: _Scope, top: bool = False) -> None:
        for position, op in enumerate(block.ops):
            self.op = op
            if isinstance(op, o.Roles):
                last = position == len(block.ops) - 1
                self.need(top and last, "roles come last in a kernel")
                self.roles(op, scope)
                continue
            if not isinstance(op, o.For | o.If):
                for tile in used(op):
                    self.need(tile in scope.tiles, f"{tile!r} is used before it exists")
                self.scalars(op, scope)
            self.structure(op, scope)
            self.op = op
            for tile in defined(op):
                self.define(tile, scope)
            self.types.rule(op)

    def define(self, tile: o.Tile, scope: _Scope) -> None:
        self.need(tile not in self.seen, f"{tile!r} is defined twice")
        self.need(
            len(tile.shape) == len(tile.dims) and all(n > 0 for n in tile.shape),
            f"{tile!r} has dims {tile.dims} and shape {tile.shape}",
        )
        self.seen.add(tile)
        scope.tiles.add(tile)
        if not self.placed:
            return
        layout = tile.layout
        if layout is None:
            self.need(False, f"{tile!r} has no layout")
            return
        self.need(layout.shape == tile.shape, f"{tile!r} has layout {layout.shape}")
        self.need(
            layout.num_threads == scope.threads,
            f"{tile!r} is spread over {layout.num_threads} threads, but"
            f" {scope.threads} run it",
        )

    def scalars(self, op: o.AnyOp, scope: _Scope) -> None:
        """Let and loop symbols are in scope; axis and gather symbols in their view."""
        own = {symbol.name for symbol in inner_symbols(op)}
        for e in (*expressions(op), *plan_expressions(op)):
            self.bound(e, scope, own)

    def bound(self, e: Expr, scope: _Scope, gathers: set[str] | None = None) -> None:
        self.known(e)
        for sym in symbols(e):
            if sym.kind in ("let", "loop"):
                self.need(sym.name in scope.scalars, f"{sym} is used before it exists")
            elif sym.kind == "gather":
                known = gathers is not None and sym.name in gathers
                self.need(known, f"{sym} stands for no index tile")

    def bind(self, sym: Sym, scope: _Scope) -> None:
        self.known(sym)
        self.need(sym.name not in scope.scalars, f"{sym} is bound twice")
        scope.scalars.add(sym.name)

    def structure(self, op: o.AnyOp, scope: _Scope) -> None:
        """Nested blocks; scalars that an operation binds, and tiles that it names."""
        for tile in mentioned(op):
            self.need(tile in scope.tiles, f"{tile!r} does not exist yet")
        if isinstance(op, o.For):
            self.loop(op, scope)
        elif isinstance(op, o.If):
            self.branch(op, scope)
        else:
            for symbol in bound(op):
                self.bind(symbol, scope)
        if isinstance(op, AnyAnnotation):
            self.annotation(op, scope)

    def loop(self, op: o.For, scope: _Scope) -> None:
        for e in (op.start, op.stop, op.step, *(c.init for c in op.scalars)):
            self.bound(e, scope)
        inner = scope.inner()
        self.bind(op.var, inner)
        for carry in op.tiles:
            self.need(carry.init in scope.tiles, f"{carry.init!r} does not exist yet")
            self.define(carry.arg, inner)
            self.types.same(carry.init, carry.arg)
        for scalar in op.scalars:
            self.bind(scalar.arg, inner)
        self.block(op.body, inner)
        self.op = op
        for carry in op.tiles:
            self.need(carry.yielded in inner.tiles, f"{carry.yielded!r} is not there")
            self.types.same(carry.arg, carry.yielded)
            self.types.same(carry.arg, carry.result)
        for scalar in op.scalars:
            self.bound(scalar.yielded, inner)
            self.bind(scalar.result, scope)

    def branch(self, op: o.If, scope: _Scope) -> None:
        self.bound(op.cond, scope)
        then, other = scope.inner(), scope.inner()
        self.block(op.then, then)
        self.block(op.other, other)
        self.op = op
        for merge in op.tiles:
            self.need(merge.then in then.tiles, f"{merge.then!r} is not there")
            self.need(merge.other in other.tiles, f"{merge.other!r} is not there")
            self.types.same(merge.then, merge.result)
            self.types.same(merge.other, merge.result)
        for scalar in op.scalars:
            self.bound(scalar.then, then)
            self.bound(scalar.other, other)
            self.bind(scalar.result, scope)

    def roles(self, op: o.Roles, scope: _Scope) -> None:
        """Roles see the scalars of the common code, and none of its tiles."""
        taken: set[int] = set()
        names = [role.name for role in op.roles]
        self.need(len(set(names)) == len(names), f"roles {names} share a name")
        lanes = self.program.target.warp_threads
        for role in op.roles:
            inner = _Scope(set(), set(scope.scalars), lanes * role.warps)
            if self.placed:
                first = role.first_warp
                end = 0 if first is None else first + role.warps
                warps = set(range(first or 0, end))
                self.need(
                    bool(warps)
                    and warps <= set(range(self.program.warps))
                    and not warps & taken,
                    f"role {role.name} runs on warps {sorted(warps)} of"
                    f" {self.program.warps}",
                )
                taken |= warps
            self.block(role.body, inner)
            self.op = op

    def annotation(self, op: AnyAnnotation, scope: _Scope) -> None:
        """It speaks of what exists, by symbols that mean something here."""
        own: set[str] = set()
        match op:
            case o.Tag(target=target):
                own = {f"%{i}" for i in range(len(target.shape))}
                self.named(target, scope)
            case o.Check():
                for arg, axes in zip(op.args, op.axes, strict=True):
                    self.named(arg, scope)
                    self.types.distinct(axes, len(op.shape), len(arg.shape))
                    run = tuple(op.shape[axis] for axis in axes)
                    self.need(run == arg.shape, f"{arg} does not run along {run}")
                self.need(len(op.dims) == len(op.shape), "dims of the check")
            case o.Assume():
                own = {s.name for s in (*op.elements, *op.others)}
                for table in op.tables:
                    self.types.tensor(table)
                self.need(len(op.elements) == len(op.tables), "an element for each")
                pairs = len(op.others) in (0, len(op.tables))
                self.need(pairs, "a second element for each")
            case o.Expect() | o.Trust():
                return
            case _:
                assert_never(op)
        for e in mentioned_expressions(op):
            for sym in symbols(e):
                if sym.kind in ("axis", "gather"):
                    self.need(sym.name in own, f"{sym} is not of this annotation")
                elif sym.kind == "tag":
                    number = sym.name.partition(".")[0]
                    count = len(op.args) if isinstance(op, o.Check) else 0
                    self.need(number in map(str, range(count)), f"{sym} of no argument")
                else:
                    self.bound(sym, scope)

    def named(self, x: o.Tile | m.SharedView | m.GlobalTensor, scope: _Scope) -> None:
        match x:
            case o.Tile():
                self.need(x in scope.tiles, f"{x!r} does not exist yet")
            case m.SharedView():
                self.types.shared(x)
                for e in (x.stage, *x.origin):
                    self.bound(e, scope)
            case m.GlobalTensor():
                self.types.tensor(x)
