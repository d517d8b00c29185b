"""The ways in which the conditions of a program can turn out, and which were seen.

A *facet* is one way: a branch that is taken, a comparison that holds for some element,
a minimum that is its left side, a quotient that is not 0, a loop that turns once, an
element outside its tensor. A test that has not seen a facet says nothing of what the
program does then, so facets are what tests are chosen by.

    facets = Facets(program)
    run_blocks(program, ..., watch=facets)
    facets.unseen()

Where a condition follows from sizes, scalars, tables and indices alone, its facet has
``when``: the condition as an expression over the symbols of its ``scope`` and the axes
of its tile, which `search.py` solves.
"""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from argus.evaluation.tiles.decisions import (
    Probe,
    Ways,
    axes_of,
    element_choice,
    first,
    inverted,
    last,
    nodes,
    sides,
    value_of,
)
from argus.evaluation.tiles.meaning import Meaning
from argus.interpret.numbers import Array
from argus.ir import ops as o
from argus.ir.dtypes import boolean
from argus.ir.expr import Binary, Const, Expr, binary, symbols
from argus.ir.program import Program

__all__ = ["Facet", "Facets", "Scope"]

Env = dict[str, Any]
Scope = tuple["o.Let | o.LoadScalar | o.For | tuple[Expr, bool]", ...]
"""What is known at an operation, outermost first; pairs are branches taken."""


@dataclass(frozen=True, eq=False)
class Facet:
    """One way in which something turns out.

    ``text`` says it as a sentence; ``mark`` is the same for the same condition of
    another program; ``shape`` are the extents of the axes in ``when``. ``decides``:
    what is computed may depend on it by a choice of the author; accesses at the end of
    a tensor and turns of loops do not, whose proofs are others' business.
    """

    op: o.AnyOp
    text: str
    mark: str
    scope: Scope
    when: Expr | None
    shape: tuple[int, ...] = ()
    decides: bool = True
    compares: bool = False
    """A comparison, or a combination of comparisons."""
    drivable: bool = True
    """Whether a run can show it."""


@dataclass(eq=False)
class _Pair:
    """Two facets of one condition, and what looks which of them are there."""

    probe: Probe
    facets: tuple[Facet, Facet]


class Facets:
    """All facets of a typed program. Tell it what runs: it is a watch of blocks."""

    def __init__(self, program: Program) -> None:
        self._pairs: dict[o.AnyOp, list[_Pair]] = {}
        self._ends: dict[o.AnyOp, list[_Pair]] = {}
        self._views: dict[o.AnyOp, tuple[Facet, Facet]] = {}
        self._seen: set[Facet] = set()
        self._kept: set[Facet] = set()
        self.all: list[Facet] = []
        self.flips: list[Facet] = []
        """Where comparisons flip: they are searched for, and not seen."""
        self._meaning = Meaning(program)
        self._collect(program.body, ())

    def before(self, op: o.AnyOp, tiles: Mapping[o.Tile, Array], env: Env) -> None:
        """See :class:`argus.evaluation.tiles.execute.Watch`."""
        if self._pairs.get(op):
            self._look(self._pairs, op, tiles, env)

    def ended(self, op: o.AnyOp, env: Env) -> None:
        """See :class:`argus.evaluation.tiles.execute.Watch`."""
        if self._ends.get(op):
            self._look(self._ends, op, {}, env)

    def _look(
        self,
        table: dict[o.AnyOp, list[_Pair]],
        op: o.AnyOp,
        tiles: Mapping[o.Tile, Array],
        env: Env,
    ) -> None:
        table[op] = [p for p in table[op] if not self._kept.issuperset(p.facets)]
        for pair in table[op]:
            if self._seen.issuperset(pair.facets):
                continue
            for facet, there in zip(pair.facets, pair.probe(tiles, env), strict=True):
                if there:
                    self._seen.add(facet)

    def keep(self, compared: bool) -> None:
        """A run is over: what it has shown counts if all it wrote was compared."""
        if compared:
            self._kept = set(self._seen)
        else:
            self._seen = set(self._kept)

    def existed(self, op: o.AnyOp, exists: Array) -> None:
        """See :class:`argus.evaluation.tiles.execute.Watch`."""
        pair = self._views.get(op)
        if pair is None or self._seen.issuperset(pair):
            return
        inside, outside = pair
        if exists.any():
            self._seen.add(inside)
        if not exists.all():
            self._seen.add(outside)

    @property
    def seen(self) -> AbstractSet[Facet]:
        """Facets that some block has shown."""
        return self._seen

    def unseen(self) -> list[Facet]:
        """Facets that no block has shown yet, in order of the program."""
        return [f for f in self.all if f not in self._seen]

    # ---------------------------------------------------------------- collecting

    def _collect(self, block: o.Block, scope: Scope) -> None:
        for op in block.ops:
            for e in first(op):
                for node in nodes(e):
                    self._scalar(op, node, scope, self._pairs)
            match op:
                case o.For():
                    self._loop(op, scope)
                    self._meaning.enter(op)
                    self._collect(op.body, (*scope, op))
                    self._last(op, scope)
                    self._meaning.leave(op)
                case o.If():
                    if not isinstance(op.cond, Binary):
                        self._truth(op, op.cond, scope, self._pairs)
                    self._collect(op.then, (*scope, (op.cond, True)))
                    self._collect(op.other, (*scope, (op.cond, False)))
                    self._last(op, scope)
                    self._meaning.merge(op)
                case o.Roles():
                    for role in op.roles:
                        self._collect(role.body, scope)
                case o.Let() | o.LoadScalar():
                    scope = (*scope, op)
                    self._meaning.define(op)
                case (
                    o.LoadGlobal() | o.StoreGlobal() | o.CopyAsync() | o.CopyOut()
                ):  # fmt: skip
                    self._view(op, scope)
                    self._meaning.define(op)
                case (
                    o.RegisterOp() | o.Dot() | o.Access() | o.Synchronisation()
                    | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    self._meaning.define(op)
                case _:
                    assert_never(op)
            self._tile(op, scope)

    def _last(self, op: o.For | o.If, scope: Scope) -> None:
        for e in last(op):
            for node in nodes(e):
                self._scalar(op, node, scope, self._ends)

    def _add(
        self,
        op: o.AnyOp,
        probe: Probe,
        said: tuple[str, str],
        mark: str,
        scope: Scope,
        when: Ways | None,
        shape: tuple[int, ...] = (),
        table: dict[o.AnyOp, list[_Pair]] | None = None,
        decides: bool = True,
        compares: bool = False,
    ) -> None:
        first, second = (
            Facet(
                op,
                _sentence(op, words),
                f"{mark} way {i}",
                scope,
                None if when is None else when[i],
                shape,
                decides,
                compares,
            )
            for i, words in enumerate(said)
        )
        table = self._pairs if table is None else table
        table.setdefault(op, []).append(_Pair(probe, (first, second)))
        self.all += [first, second]

    def _flip(
        self, op: o.AnyOp, e: Expr, mark: str, scope: Scope, shape: tuple[int, ...]
    ) -> None:
        """Where a comparison flips: its sides are the same, or neighbours."""
        if not isinstance(e, Binary) or e.op not in ("<", "<=", ">", ">="):
            return
        off = binary("-", e.left, e.right)
        if off.type != "int":
            return
        for by in (0, -1, 1):
            words = f"`{e}` is {abs(by)} from where it flips"
            self.flips.append(
                Facet(
                    op, _sentence(op, words), f"{mark} flip {by}", scope,
                    binary("==", off, by), shape, compares=True,
                )
            )  # fmt: skip

    def _truth(
        self, op: o.AnyOp, e: Expr, scope: Scope, table: dict[o.AnyOp, list[_Pair]]
    ) -> None:
        def probe(_: Mapping[o.Tile, Array], env: Env) -> tuple[bool, bool]:
            value = value_of(e, env)
            if value is None:
                return False, False
            return bool(np.any(value)), not bool(np.all(value))

        mark = f"scalar {self._meaning.scalar(e)}"
        said = f"`{e}` is true", f"`{e}` is false"
        when = e, inverted(e)
        self._add(
            op, probe, said, mark, scope, when, axes_of(op, e), table, compares=True
        )
        self._flip(op, e, mark, scope, axes_of(op, e))

    def _scalar(
        self, op: o.AnyOp, e: Binary, scope: Scope, table: dict[o.AnyOp, list[_Pair]]
    ) -> None:
        if any(s.kind == "gather" for s in symbols(e)):
            return
        if e.type == "bool":
            self._truth(op, e, scope, table)
            return
        when = sides(e)
        if when is None:
            return
        condition, names = when
        first, second = (f"`{e}` is {name}" for name in names)

        def probe(_: Mapping[o.Tile, Array], env: Env) -> tuple[bool, bool]:
            found = [value_of(c, env) for c in condition]
            return (
                found[0] is not None and bool(np.any(found[0])),
                found[1] is not None and bool(np.any(found[1])),
            )

        said, axes = (first, second), axes_of(op, e)
        mark = f"scalar {self._meaning.scalar(e)}"
        self._add(op, probe, said, mark, scope, condition, axes, table)

    def _loop(self, op: o.For, scope: Scope) -> None:
        turns = (op.stop - op.start + op.step - 1) // op.step
        name = op.var.name
        for least in (1, 2):

            def probe(
                _: Mapping[o.Tile, Array], env: Env, least: int = least
            ) -> tuple[bool, bool]:
                count = value_of(turns, env)
                return count is not None and count >= least, (
                    count is not None and count < least
                )

            said = (
                f"the loop over `{name}` turns {('', 'once', 'twice')[least]} or more",
                f"the loop over `{name}` turns {('', 'never', 'at most once')[least]}",
            )
            when = binary(">=", turns, least), binary("<", turns, least)
            mark = f"loop {self._meaning.scalar(turns)} {least}"
            self._add(op, probe, said, mark, scope, when, decides=False)

    def _view(
        self, op: o.LoadGlobal | o.StoreGlobal | o.CopyAsync | o.CopyOut, scope: Scope
    ) -> None:
        view = op.src if isinstance(op, o.CopyAsync) else (
            op.dst if isinstance(op, o.CopyOut) else op.view
        )  # fmt: skip
        masked = isinstance(op, o.LoadGlobal | o.StoreGlobal) and op.mask is not None
        when: tuple[Expr, Expr] | None = None
        if not view.gathers and not masked:
            outside: Expr = Const(False)
            for coord, extent in zip(view.coords, view.tensor.shape, strict=True):
                outside = binary("or", outside, binary("<", coord, 0))
                outside = binary("or", outside, binary(">=", coord, extent))
            for limit in view.limits:
                outside = binary("or", outside, binary("<", limit.value, 0))
                outside = binary("or", outside, binary(">=", limit.value, limit.extent))
            when = inverted(outside), outside
        name = view.tensor.name
        said = (
            f"an element of this access of `{name}` is there",
            f"an element of this access of `{name}` is not there",
        )
        mark = f"access {name}"
        made = tuple(
            Facet(
                op,
                _sentence(op, words),
                f"{mark} {words}",
                scope,
                when[i] if when else None,
                view.shape,
                decides=False,
            )
            for i, words in enumerate(said)
        )
        self._views[op] = (made[0], made[1])
        self.all += made

    # --------------------------------------------------------------------- tiles

    def _tile(self, op: o.AnyOp, scope: Scope) -> None:
        """Facets of what an operation computes, element by element."""
        for mark in self._meaning.places(op):
            words = "a number that follows from a position enters what is computed"
            text = _sentence(op, words)
            facet = Facet(op, text, f"place {mark}", scope, None, drivable=False)
            self.all.append(facet)
        match op:
            case o.Cast():
                self._cast(op, scope)
            case o.Elementwise():
                self._elementwise(op, scope)
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass  # it chooses nothing
            case _:
                assert_never(op)

    def _cast(self, op: o.Cast, scope: Scope) -> None:
        if not op.src.dtype.is_float or op.result.dtype.is_float:
            return

        def probe(tiles: Mapping[o.Tile, Array], _: Env) -> tuple[bool, bool]:
            there = abs(tiles[op.src]) >= 1
            return bool(there.any()), not bool(there.all())

        said = "the cast gives some number but 0", "the cast gives 0"
        self._add(op, probe, said, self._meaning.tile(op.result), scope, None)

    def _elementwise(self, op: o.Elementwise, scope: Scope) -> None:
        mark = self._meaning.tile(op.result)
        made = element_choice(op, [self._meaning.known(a) for a in op.args])
        if made is None:
            return
        probe, said, when = made
        self._add(
            op,
            probe,
            said,
            mark,
            scope,
            when,
            op.result.shape,
            # Which turn of a loop has the largest number is no choice of the author.
            decides=not self._meaning.running(op),
            compares=op.result.dtype == boolean,
        )
        if when[0] is not None:
            self._flip(op, when[0], mark, scope, op.result.shape)


def _sentence(op: o.AnyOp, words: str) -> str:
    line = op.span.line
    source = linecache.getline(op.span.file, line).strip()
    shown = f" (`{source[:80]}`)" if source else ""
    return f"line {line}{shown}: {words}"
