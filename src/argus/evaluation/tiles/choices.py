"""Which conditions the elements of a tile depend on, and where two of them meet.

A kernel may be wrong only where two conditions hold together, and say so without `and`:
nested choices, products of masks, a choice that a branch takes over. So the conditions
that an element was made by are followed through what keeps elements apart, and where an
operation brings two of them together their combinations are facets, too.

Sums over a dimension and matrix products mix elements: behind them nothing is followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from argus.evaluation.tiles.decisions import NOWHERE, Probe, Seen
from argus.evaluation.tiles.meaning import MeaningReader
from argus.interpret.numbers import Array
from argus.ir import ops as o
from argus.ir.dtypes import boolean
from argus.ir.expr import Expr, Sym, binary, evaluate, substitute

__all__ = ["Choice", "ChoiceReader", "both"]

Env = dict[str, Any]
Truth = Callable[[Mapping[o.Tile, Array], Env], Array]

_MOST = 6
"""Conditions that are followed for a tile: the latest."""


@dataclass(frozen=True)
class Choice:
    """A condition, element by element; ``when`` is None where it depends on data."""

    mark: str
    truth: Truth
    when: Expr | None

    def held(self, tiles: Mapping[o.Tile, Array], env: Env) -> Array | None:
        """Where it holds; None where what it compares was not computed."""
        try:
            return self.truth(tiles, env)
        except KeyError:  # a tile of another role, or of a loop without iterations
            return None


Found = dict[str, Choice]


class ChoiceReader:
    """The choices of tiles, as far as a reader has come."""

    def __init__(self, meaning: MeaningReader) -> None:
        self._meaning = meaning
        self._of: dict[o.Tile, Found] = {}

    def of(self, tile: o.Tile) -> Found:
        """The choices that a tile depends on, by their marks."""
        return self._of.get(tile, {})

    def meeting(self, op: o.Elementwise) -> Iterator[tuple[Choice, Choice]]:
        """Choices of different arguments that an operation brings together."""
        found = [self.of(a) for a in op.args if isinstance(a, o.Tile)]
        if op.fn == "where":  # an element is of one side, never of both
            found = [found[0], _joined(found[1:])] if len(found) > 1 else []
        for i, left in enumerate(found):
            for right in found[i + 1 :]:
                for a in left.values():
                    for b in right.values():
                        if a.mark not in right and b.mark not in left:
                            yield a, b

    def define(self, op: o.AnyOp) -> None:
        """An operation makes a tile of others."""
        match op:
            case o.Elementwise():
                found = _joined([self.of(a) for a in op.args if isinstance(a, o.Tile)])
                own = self._own(op)
                if own is not None:
                    found[own.mark] = own
                self._keep(op.result, found)
            case o.Cast():
                self._keep(op.result, self.of(op.src))
            case o.Broadcast():
                axes = {f"%{i}": Sym(f"%{a}", "axis") for i, a in enumerate(op.axes)}
                self._moved(op, axes)
            case o.MovingOne() | o.Reinterpret():
                self._moved(op, None)
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass  # it chooses nothing, or mixes elements
            case _:
                assert_never(op)

    def merge(self, op: o.If) -> None:
        """What a branch hands on, and which way it went."""
        mark = f"branch {self._meaning.scalar(op.cond)}"
        for m in op.tiles:
            shape = m.result.shape

            def taken(
                _: Mapping[o.Tile, Array], env: Env, shape: tuple[int, ...] = shape
            ) -> Array:
                return np.full(shape, bool(evaluate(op.cond, env)))

            found = _joined([self.of(m.then), self.of(m.other)])
            own = Choice(mark, taken, op.cond)
            self._keep(m.result, {**found, mark: own} if m.then != m.other else found)

    def leave(self, op: o.For) -> None:
        """What the last iteration of a loop hands on."""
        for c in op.tiles:
            self._keep(c.result, self.of(c.yielded))

    # --------------------------------------------------------------------- helpers

    def _keep(self, tile: o.Tile, found: Found) -> None:
        if found:
            self._of[tile] = dict(list(found.items())[-_MOST:])

    def _own(self, op: o.Elementwise) -> Choice | None:
        """What an operation decides: a comparison, or which side is less."""
        mark = self._meaning.tile(op.result)
        if op.result.dtype == boolean and op.fn not in ("where", "and", "or", "not"):
            known = self._meaning.known(op.result)
            return Choice(mark, lambda tiles, env: tiles[op.result] != 0, known)
        if op.fn in ("minimum", "maximum") and not self._meaning.running(op):

            def less(tiles: Mapping[o.Tile, Array], env: Env) -> Array:
                a, b = (
                    tiles[x] if isinstance(x, o.Tile) else np.asarray(evaluate(x, env))
                    for x in op.args
                )
                return np.broadcast_to(a < b, op.result.shape)

            first, second = (self._meaning.known(a) for a in op.args)
            known = None
            if first is not None and second is not None:
                known = binary("<", first, second)
            return Choice(mark, less, known)
        return None

    def _moved(
        self,
        op: o.MovingOne | o.Reinterpret,
        axes: Mapping[str, Expr] | None,
    ) -> None:
        """The same elements at other places; ``axes`` names them, where it is known."""
        found: Found = {}
        for choice in self.of(op.src).values():
            when = None
            if choice.when is not None and axes is not None:
                when = substitute(choice.when, axes)

            def truth(
                tiles: Mapping[o.Tile, Array], env: Env, first: Truth = choice.truth
            ) -> Array:
                held = first(tiles, env)
                return held if isinstance(op, o.Reinterpret) else op.array([held])

            mark = f"{self._meaning.tile(op.result)} of {choice.mark}"
            found[mark] = Choice(mark, truth, when)
        self._keep(op.result, found)


def both(a: Choice, b: Choice, *, same: bool) -> Probe:
    """Looks whether two choices turn out alike somewhere, or each otherwise.

    ``same``: whether both hold, whether both fail; else one of them alone.
    """

    def probe(tiles: Mapping[o.Tile, Array], env: Env) -> Seen:
        left, right = a.held(tiles, env), b.held(tiles, env)
        if left is None or right is None:
            return NOWHERE
        if same:
            return left & right, ~left & ~right
        return left & ~right, ~left & right

    return probe


def _joined(parts: list[Found]) -> Found:
    return {mark: choice for part in parts for mark, choice in part.items()}
