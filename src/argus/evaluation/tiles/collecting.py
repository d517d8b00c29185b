"""The facets of a program: a reader of its operations, in their order."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np

from argus.evaluation.tiles.choices import Choice, ChoiceReader, both
from argus.evaluation.tiles.decisions import (
    NOWHERE,
    Probe,
    Seen,
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
from argus.evaluation.tiles.facet import Facet, Pair, Scope
from argus.evaluation.tiles.meaning import MeaningReader
from argus.interpret.numbers import Array
from argus.ir import ops as o
from argus.ir.dtypes import boolean
from argus.ir.expr import Binary, Const, Expr, binary, symbols
from argus.ir.memory import GlobalTensor, GlobalView
from argus.ir.program import Program
from argus.ir.ranges import study
from argus.ir.walk import used, walk

__all__ = ["Collected", "indexing"]

Env = dict[str, Any]
_PLACE = "a number that follows from a position enters what is computed"
_BUMP = "a number may be large near some sizes or scalars alone"


class Collected:
    """All facets of a typed program, in its order.

    ``pairs`` are looked at before an operation, ``ends`` after what it contains,
    ``views`` when an access knows which of its elements exist, ``stored`` those that
    count where a store does.
    """

    def __init__(self, program: Program) -> None:
        self.pairs: dict[o.AnyOp, list[Pair]] = {}
        self.ends: dict[o.AnyOp, list[Pair]] = {}
        self.views: dict[o.AnyOp, tuple[Facet, Facet]] = {}
        self.all: list[Facet] = []
        self.flips: list[Facet] = []
        self.stored: dict[o.AnyOp, list[Pair]] = {}
        self._ranges = study(program)
        self._stores = _StoreReader(program)
        self._meaning = MeaningReader(program)
        self._choices = ChoiceReader(self._meaning)
        self._collect(program.body, ())

    def _collect(self, block: o.Block, scope: Scope) -> None:
        for op in block.ops:
            for e in first(op):
                for node in nodes(e):
                    self._scalar(op, node, scope, self.pairs)
            match op:
                case o.For():
                    self._loop(op, scope)
                    self._meaning.enter(op)
                    self._collect(op.body, (*scope, op))
                    self._last(op, scope)
                    self._meaning.leave(op)
                    self._choices.leave(op)
                case o.If():
                    if not isinstance(op.cond, Binary):
                        self._truth(op, op.cond, scope, self.pairs)
                    self._collect(op.then, (*scope, (op.cond, True)))
                    self._collect(op.other, (*scope, (op.cond, False)))
                    self._last(op, scope)
                    self._merged(op, scope)
                    self._meaning.merge(op)
                    self._choices.merge(op)
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
                    o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                    | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    self._meaning.define(op)
                case _:
                    assert_never(op)
            self._tile(op, scope)
            self._choices.define(op)

    def _last(self, op: o.For | o.If, scope: Scope) -> None:
        for e in last(op):
            for node in nodes(e):
                self._scalar(op, node, scope, self.ends)

    def _add(
        self,
        op: o.AnyOp,
        probe: Probe,
        said: tuple[str, str],
        mark: str,
        scope: Scope,
        when: Ways | None,
        shape: tuple[int, ...] = (),
        table: dict[o.AnyOp, list[Pair]] | None = None,
        decides: bool = True,
        compares: bool = False,
        places: bool = False,
        shares: bool = False,
        required: bool = True,
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
                places,
                shares=shares,
                required=required,
            )
            for i, words in enumerate(said)
        )
        table = self.pairs if table is None else table
        # Where a place is known it is looked for, and compared whole.
        stores: frozenset[o.AnyOp] | None = None
        if first.when is None and isinstance(op, o.Elementwise | o.Cast):
            stores = self._stores.of(op.result)
        pair = Pair(probe, (first, second), stores)
        table.setdefault(op, []).append(pair)
        for store in stores or ():
            self.stored.setdefault(store, []).append(pair)
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
        self, op: o.AnyOp, e: Expr, scope: Scope, table: dict[o.AnyOp, list[Pair]]
    ) -> None:
        def probe(_: Mapping[o.Tile, Array], env: Env) -> Seen:
            value = value_of(e, env)
            if value is None:
                return NOWHERE
            truth = np.asarray(value, np.bool_)
            return truth, ~truth

        mark = f"scalar {self._meaning.scalar(e)}"
        said = f"`{e}` is true", f"`{e}` is false"
        when = e, inverted(e)
        self._add(
            op, probe, said, mark, scope, when, axes_of(op, e), table, compares=True
        )
        self._flip(op, e, mark, scope, axes_of(op, e))

    def _scalar(
        self, op: o.AnyOp, e: Binary, scope: Scope, table: dict[o.AnyOp, list[Pair]]
    ) -> None:
        if any(s.kind == "gather" for s in symbols(e)):
            return
        if e.type == "bool":
            self._truth(op, e, scope, table)
            return
        when = sides(e)
        if when is None or self._has_one_way(e):
            return
        condition, names = when
        first, second = (f"`{e}` is {name}" for name in names)

        def probe(_: Mapping[o.Tile, Array], env: Env) -> Seen:
            found = [value_of(c, env) for c in condition]
            made = [np.asarray(f is not None and f, np.bool_) for f in found]
            return made[0], made[1]

        said, axes = (first, second), axes_of(op, e)
        mark = f"scalar {self._meaning.scalar(e)}"
        placing = e.type == "int"
        self._add(op, probe, said, mark, scope, condition, axes, table, places=placing)

    def _has_one_way(self, e: Binary) -> bool:
        """Whether sizes of all launches turn a quotient or an extreme out alike."""
        if e.type != "int":
            return False
        left, right = (self._ranges.of(x) for x in (e.left, e.right))
        if e.op in ("min", "max"):
            return left[1] < right[0] or right[1] < left[0]
        low, high = self._ranges.of(binary("//", e.left, e.right))
        return low > 0 or high < 0 or low == high == 0

    def _loop(self, op: o.For, scope: Scope) -> None:
        iterations = (op.stop - op.start + op.step - 1) // op.step
        name = op.var.name
        for least in (1, 2):

            def probe(_: Mapping[o.Tile, Array], env: Env, least: int = least) -> Seen:
                count = value_of(iterations, env)
                if count is None:
                    return NOWHERE
                return np.asarray(count >= least), np.asarray(count < least)

            said = (
                f"the loop over `{name}` runs {('', 'once', 'twice')[least]} or more",
                f"the loop over `{name}` runs {('', 'never', 'at most once')[least]}",
            )
            when = binary(">=", iterations, least), binary("<", iterations, least)
            mark = f"loop {self._meaning.scalar(iterations)} {least}"
            # Which tiles a block takes after its first is a choice of the author.
            shares = least > 1 and _is_from_block(op.start, scope)
            self._add(op, probe, said, mark, scope, when, decides=False, shares=shares)

    def _view(
        self, op: o.LoadGlobal | o.StoreGlobal | o.CopyAsync | o.CopyOut, scope: Scope
    ) -> None:
        view = _view_of(op)
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
        self.views[op] = (made[0], made[1])
        self.all += made

    # --------------------------------------------------------------------- tiles

    def _tile(self, op: o.AnyOp, scope: Scope) -> None:
        """Facets of what an operation computes, element by element."""
        unseen = [
            *((mark, _PLACE) for mark in self._meaning.places(op)),
            *((mark, _BUMP) for mark in self._meaning.bumps(op)),
        ]
        for mark, words in unseen:
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

        def probe(tiles: Mapping[o.Tile, Array], _: Env) -> Seen:
            there = abs(tiles[op.src]) >= 1
            return there, ~there

        said = "the cast gives some number but 0", "the cast gives 0"
        self._add(op, probe, said, self._meaning.tile(op.result), scope, None)

    def _elementwise(self, op: o.Elementwise, scope: Scope) -> None:
        mark = self._meaning.tile(op.result)
        for a, b in self._choices.meeting(op):
            self._together(op, a, b, scope)
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
            # Which iteration of a loop has the largest number is no choice of the
            # author.
            decides=not self._meaning.running(op),
            compares=op.result.dtype == boolean,
        )
        if when[0] is not None:
            self._flip(op, when[0], mark, scope, op.result.shape)

    # ------------------------------------------------------------------ combinations

    def _together(self, op: o.Elementwise, a: Choice, b: Choice, scope: Scope) -> None:
        """Two conditions meet in an operation: all four ways."""
        known = a.when is not None and b.when is not None
        mark = f"both {' and '.join(sorted((a.mark, b.mark)))}"
        for same, said in (
            (True, ("both hold", "both fail")),
            (False, ("the first alone holds", "the second alone holds")),
        ):
            when: Ways = (None, None)
            if a.when is not None and b.when is not None:
                other = b.when if same else inverted(b.when)
                when = (
                    binary("and", a.when, other),
                    binary("and", inverted(a.when), inverted(other)),
                )
            words = f"of two conditions that meet here {said[0]} somewhere"
            other_words = f"of two conditions that meet here {said[1]} somewhere"
            self._add(
                op, both(a, b, same=same), (words, other_words), f"{mark} {same}",
                scope, when, op.result.shape, compares=known, required=False,
            )  # fmt: skip

    def _merged(self, op: o.If, scope: Scope) -> None:
        """What was chosen before a branch, where the branch hands it on."""
        for m in op.tiles:
            for taken, tile in ((True, m.then), (False, m.other)):
                for choice in self._choices.of(tile).values():

                    def probe(
                        tiles: Mapping[o.Tile, Array],
                        env: Env,
                        taken: bool = taken,
                        choice: Choice = choice,
                    ) -> Seen:
                        if bool(value_of(op.cond, env)) != taken:
                            return NOWHERE
                        there = choice.held(tiles, env)
                        return NOWHERE if there is None else (there, ~there)

                    when: Ways = (None, None)
                    if choice.when is not None:
                        cond = op.cond if taken else inverted(op.cond)
                        when = (
                            binary("and", cond, choice.when),
                            binary("and", cond, inverted(choice.when)),
                        )
                    mark = f"branch {self._meaning.scalar(op.cond)} {taken} "
                    said = (
                        "the branch hands on an element for which a condition holds",
                        "the branch hands on an element for which a condition fails",
                    )
                    self._add(
                        op, probe, said, mark + choice.mark, scope, when,
                        tile.shape, table=self.ends, compares=choice.when is not None,
                        required=False,
                    )  # fmt: skip


def _sentence(op: o.AnyOp, words: str) -> str:
    line = op.span.line
    source = linecache.getline(op.span.file, line).strip()
    shown = f" (`{source[:80]}`)" if source else ""
    return f"line {line}{shown}: {words}"


_Viewing = o.LoadGlobal | o.StoreGlobal | o.CopyAsync | o.CopyOut


def _view_of(op: _Viewing) -> GlobalView:
    if isinstance(op, o.CopyAsync):
        return op.src
    return op.dst if isinstance(op, o.CopyOut) else op.view


def indexing(program: Program) -> frozenset[str]:
    """Tensors whose numbers may say where something is: tables of a program.

    Where tiles name elements, all that hold whole numbers.
    """
    found: set[str] = set()
    for op in walk(program.body):
        if isinstance(op, o.LoadScalar):
            found.add(op.tensor.name)
        if isinstance(op, _Viewing) and _view_of(op).gathers:
            params = (p for p in program.params if isinstance(p, GlobalTensor))
            found.update(p.name for p in params if p.dtype.kind == "int")
    return frozenset(found)


def _placing(op: o.StoreGlobal) -> list[o.Tile]:
    """Tiles that say where, or whether, a store writes."""
    indices = [gather.tile for gather in op.view.gathers]
    return indices if op.mask is None else [*indices, op.mask]


class _StoreReader:
    """Which stores the elements of a tile reach, each of them at its own place.

    What a kernel computes beside a tensor is not stored. A condition that held there
    alone has shown nothing of what the kernel does where it holds.
    """

    def __init__(self, program: Program) -> None:
        self._users: dict[o.Tile, list[o.AnyOp]] = {}
        for op in walk(program.body):
            for tile in used(op):
                self._users.setdefault(tile, []).append(op)

    def of(self, tile: o.Tile) -> frozenset[o.AnyOp] | None:
        """The stores that it reaches element by element; None if it is used otherwise.

        Elements beside a tensor may enter a sum, or move to where they are stored.
        """
        found: set[o.AnyOp] = set()
        left, seen = [tile], {tile}
        while left:
            here = left.pop()
            for op in self._users.get(here, ()):
                after: list[o.Tile] = []
                if isinstance(op, o.Elementwise | o.Cast):
                    after = [op.result]
                elif isinstance(op, o.If):
                    after = [m.result for m in op.tiles if here in (m.then, m.other)]
                elif isinstance(op, o.StoreGlobal) and here not in _placing(op):
                    found.add(op)
                else:
                    return None
                left += [t for t in after if t not in seen]
                seen.update(after)
        return frozenset(found) or None


def _is_from_block(start: Expr, scope: Scope) -> bool:
    """Whether a loop begins at a number that its block has."""
    lets = {op.sym.name: op.value for op in scope if isinstance(op, o.Let)}
    todo, seen = [start], set[str]()
    while todo:
        for symbol in symbols(todo.pop()):
            if symbol.kind == "block":
                return True
            if symbol.name in lets and symbol.name not in seen:
                seen.add(symbol.name)
                todo.append(lets[symbol.name])
    return False
