"""Which blocks have the same course, without walking each.

What decides how often loops iterate and which branches are taken depends on the index
of the block through some expressions, such as the row of a tile. Blocks for which all
of these have the same values have the same course.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_never, cast

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, evaluate, symbols
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, Program
from argus.ir.walk import walk
from argus.verify.order.events import has_events
from argus.verify.order.scalar_sources import ScalarSources

__all__ = ["BlockClasses"]

_OF_BLOCK = frozenset((BLOCK_INDEX.name, CLUSTER_RANK.name))


class BlockClasses:
    """The expressions of a program by which the courses of its blocks differ."""

    def __init__(self, program: Program) -> None:
        self.cluster = program.cluster
        self.sources = ScalarSources(program)
        self.lets = self.sources.lets
        """Scalars that are the same in all iterations, where loops give none of it."""
        self.deciding = tuple(self._deciding([*_asked(program)]))

    def firsts(self, env: Mapping[str, int | float], grid: int) -> list[int]:
        """The first block of a cluster of each class, in order."""
        firsts = np.arange(0, grid, self.cluster).astype(object)
        columns: list[Any] = []
        for rank in range(self.cluster):
            values: dict[str, Any] = {
                **env,
                BLOCK_INDEX.name: firsts + rank,
                CLUSTER_RANK.name: rank,
            }
            try:
                columns += [self._value(e, values) for e in self.deciding]
            except ZeroDivisionError:
                # Where a value is not used, it need not exist.
                return cast("list[int]", firsts.tolist())
        found: dict[tuple[object, ...], int] = {}
        rows = [np.broadcast_to(c, firsts.shape).tolist() for c in columns]
        keys = zip(*rows, strict=True) if rows else [()]
        for first, key in zip(firsts.tolist(), keys, strict=bool(rows)):
            found.setdefault(key, first)
        return list(found.values())

    def _value(self, e: Expr, values: dict[str, Any]) -> Any:
        """An expression for all blocks; adds the scalars that it uses to values."""
        for sym in symbols(e):
            if sym.name not in values:
                values[sym.name] = self._value(self.lets[sym.name], values)
        return evaluate(e, values)

    def _deciding(self, roots: list[Expr]) -> Iterator[Expr]:
        """The largest expressions of the block's index alone that roots depend on."""
        seen: set[Expr] = set()
        while roots:
            e = roots.pop()
            if e in seen:
                continue
            seen.add(e)
            if self._plain(e):
                if self._by_block(e):
                    yield e
                continue
            match e:
                case Binary():
                    roots += [e.left, e.right]
                case Select():
                    roots += [e.cond, e.then, e.other]
                case Sym():
                    roots += self.sources.of(e.name, places=True)
                case Const():
                    pass
                case _:
                    raise TypeError(f"not a scalar expression: {e!r}")

    def _plain(self, e: Expr) -> bool:
        """Whether nothing that loops, branches or tables make is in an expression."""
        return all(
            self._plain(self.lets[s.name])
            if s.name in self.lets
            else s.name not in self.sources
            for s in symbols(e)
        )

    def _by_block(self, e: Expr) -> bool:
        return any(
            s.name in _OF_BLOCK
            or (s.name in self.lets and self._by_block(self.lets[s.name]))
            for s in symbols(e)
        )


def _asked(program: Program) -> Iterator[Expr]:
    """What loops with events and branches ask."""
    for op in walk(program.body):
        match op:
            case o.For():
                if has_events(op.body):
                    yield from (op.start, op.stop, op.step)
            case o.If():
                yield op.cond
            case (
                o.Roles() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)
