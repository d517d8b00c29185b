"""Admissible values of all symbols: many at once, to find counterexamples.

A kernel that is wrong is nearly always wrong for some small size. So before anything is
proved, a condition is evaluated at a few hundred points: sizes around the tile sizes,
the first, last and some other blocks and iterations. A point that breaks a condition is
a counterexample (all facts hold at every point); that none does proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from argus.ir.expr import Binary, Const, Expr, Select, Sym, evaluate, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.ops import Tile
from argus.ir.program import CLUSTER_RANK, SM_COUNT, Program, ScalarParam
from argus.ir.walk import defined, walk
from argus.verify.decide.facts import conjuncts
from argus.verify.tags.held import table_range
from argus.verify.tags.world import LoadedScalar, OpaqueScalar, TagWorld, Total

__all__ = ["POINTS", "Points", "first_points"]

POINTS = 512
_MOST_STEPS = 512
_SPAN = 50
"""Entries of tables differ by multiples of this at some points: by more than tiles."""


class Points(Mapping[str, Any]):
    """Values of symbols by name: arrays of one length. Applications are computed.

    A scalar of which nothing is known has no value: KeyError, as for other names.
    """

    def __init__(self, world: TagWorld, values: dict[str, NDArray[np.int64]]) -> None:
        self.world = world
        self.values_ = values

    def __getitem__(self, name: str) -> Any:
        found = self.values_.get(name)
        if found is None:
            meaning = self.world.meanings.get(name)
            if meaning is None:
                raise KeyError(name)
            if isinstance(meaning, OpaqueScalar):
                raise KeyError(name)
            found = self._apply(meaning)
            self.values_[name] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    @property
    def size(self) -> int:
        """Number of points."""
        return len(next(iter(self.values_.values()))) if self.values_ else 0

    def of(self, e: Expr) -> NDArray[Any]:
        """The value of an expression at every point. Raises KeyError for a symbol."""
        with np.errstate(all="ignore"):
            found = self._exactly(e) if _is_long(e) else evaluate(e, self)
            made: NDArray[Any] = np.asarray(found)
            whole = made.shape == (self.size,)
            return made if whole else np.broadcast_to(made, (self.size,))

    def _exactly(self, e: Expr) -> NDArray[Any]:
        """The values of what is computed in more bits than numpy has."""
        names = dict.fromkeys(s.name for s in symbols(e))
        columns = [np.broadcast_to(self[name], (self.size,)).tolist() for name in names]
        found: list[Any] = []
        for row in zip(*columns, strict=True):
            try:
                found.append(evaluate(e, dict(zip(names, row, strict=True))))
            except ZeroDivisionError:
                found.append(0)  # as numpy has it
        return np.array(found, np.bool_ if e.type == "bool" else np.int64)

    def where(self, keep: NDArray[np.bool_]) -> Points:
        """The points where a condition holds."""
        if keep.all():
            return Points(self.world, dict(self.values_))
        return Points(self.world, {n: v[keep] for n, v in self.values_.items()})

    def plus(self, name: str, values: NDArray[np.int64]) -> Points:
        """With one more symbol."""
        return Points(self.world, {**self.values_, name: values})

    def at(self, i: int) -> dict[str, int]:
        """One point."""
        return {n: int(v[i]) for n, v in self.values_.items() if v.dtype.kind in "iu"}

    def _as_assumed(
        self, meaning: LoadedScalar, values: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Entries between the bounds that are assumed of them, one after another.

        Of bounds by entries of other tables those of earlier parameters count.
        """
        world = self.world
        known = [p.name for p in world.program.params if isinstance(p, GlobalTensor)]
        earlier = set(known[: known.index(meaning.tensor)])
        for fact in world.assumed:
            if meaning.tensor not in fact.tables:
                continue
            of = dict(zip(fact.symbols, fact.tables, strict=True))
            for side, bound in _bounds(fact.cond, of, meaning.tensor):
                if any(
                    of.get(s.name, "") not in {"", *earlier} for s in symbols(bound)
                ):
                    continue
                env = {
                    s: world.element(t, meaning.coords, "int") for s, t in of.items()
                }
                try:
                    limit = self.of(world.replace(bound, env)).astype(np.int64)
                except KeyError:
                    continue
                values = side(values, limit)
        return values

    def _scale(self) -> NDArray[np.int64]:
        """At each point, by how much entries of tables differ: some span tiles."""
        mixed = np.zeros(self.size, np.int64)
        for p in self.world.program.params:
            for extent in p.shape if isinstance(p, GlobalTensor) else ():
                if isinstance(extent, Sym):
                    mixed = mixed * 31 + self.values_[extent.name]
        return np.where(mixed % 4 == 0, _SPAN, 1)

    def _apply(self, meaning: LoadedScalar | Total) -> NDArray[Any]:
        if isinstance(meaning, LoadedScalar):
            mixed = np.full(self.size, hash_of(meaning.tensor), dtype=np.int64)
            for c in meaning.coords:
                mixed = (mixed * 1000003 + self.of(c).astype(np.int64)) & 0xFFFFFF
            mixed = (mixed * 7919 + 12345) & 0xFFFFFF
            if meaning.type == "float":
                return mixed / 0xFFFFFF
            low, _ = table_range(self.world.program, meaning.tensor)
            values = np.maximum((mixed // 64 % 7 - 1) * self._scale(), low)
            return self._as_assumed(meaning, values)
        upto = self.of(meaning.upto).astype(np.int64)
        total = np.zeros(self.size, np.int64)
        for j in range(min(int(upto.max(initial=0)), _MOST_STEPS)):
            inner = self.plus(meaning.index.name, np.full(self.size, j, np.int64))
            # What depends on the index must be computed anew.
            for name, other in self.world.meanings.items():
                if isinstance(other, LoadedScalar) and any(
                    self.world.depends(c, meaning.index) for c in other.coords
                ):
                    inner.values_.pop(name, None)
            total = total + np.where(j < upto, inner.of(meaning.delta), 0)
        return total


def _bounds(
    cond: Expr, of: Mapping[str, str], table: str
) -> Iterator[tuple[Callable[[Any, Any], Any], Expr]]:
    """How a condition bounds entries of a table, and by what; both ends included."""
    for part in conjuncts((cond,)):
        match part:
            case Binary(op="<=" | ">=" as op, left=Sym(name=name), right=bound) if (
                of.get(name) == table
            ):
                yield (np.minimum if op == "<=" else np.maximum), bound
            case Binary(op="<=" | ">=" as op, left=bound, right=Sym(name=name)) if (
                of.get(name) == table
            ):
                yield (np.maximum if op == "<=" else np.minimum), bound
            case Binary(op="<", left=Sym(name=name), right=bound) if (
                of.get(name) == table
            ):
                yield np.minimum, bound - 1
            case Const() | Sym() | Binary() | Select():
                continue
            case _:
                assert_never(part)


def _is_long(e: Expr) -> bool:
    """Whether a literal has more bits than a number of numpy."""
    match e:
        case Const(value=v):
            return isinstance(v, int) and abs(v) >= 2**62
        case Sym():
            return False
        case Binary(left=a, right=b):
            return _is_long(a) or _is_long(b)
        case Select(cond=c, then=a, other=b):
            return any(map(_is_long, (c, a, b)))
        case _:
            assert_never(e)


def hash_of(text: str) -> int:
    """A number that depends on a name, the same in every process."""
    return sum((i + 1) * ord(c) for i, c in enumerate(text))


def first_points(world: TagWorld) -> Points:
    """Sizes, arguments and block indices of admissible launches."""
    rng = np.random.default_rng(0)
    maker = _Maker(world, rng)
    points = maker.sizes()
    for condition in world.facts[: len(world.program.requirements)]:
        points = points.where(points.of(condition).astype(np.bool_))
    if points.size == 0:
        return points
    grid = points.of(world.program.grid).astype(np.int64) // world.cluster
    points = points.plus(world.count.name, grid).where(grid > 0)
    count = points[world.count.name]
    points = points.plus(world.index.name, pick(rng, count))
    if world.cluster > 1:
        ranks = rng.integers(0, world.cluster, points.size)
        points = points.plus(CLUSTER_RANK.name, ranks)
    return points


def pick(rng: np.random.Generator, count: NDArray[np.int64]) -> NDArray[np.int64]:
    """An index below each count: the first, the second, the last, or any other."""
    mode = rng.integers(0, 5, len(count))
    anywhere = (rng.random(len(count)) * count).astype(np.int64)
    last, second = count - 1, np.minimum(1, count - 1)
    chosen = np.select([mode == 0, mode == 1, mode == 2], [last, second, 0], anywhere)
    return np.minimum(chosen, last)


class _Maker:
    def __init__(self, world: TagWorld, rng: np.random.Generator) -> None:
        self.world, self.rng = world, rng
        self.program: Program = world.program
        self.tiles = self._tile_sizes()

    def _tile_sizes(self) -> list[int]:
        found = {16, 64}
        for op in walk(self.program.body):
            tiles: tuple[Tile, ...] = defined(op)
            found |= {n for t in tiles for n in t.shape if n > 1}
        found |= {n for s in self.program.shared for n in s.shape if n > 1}
        return sorted(found)

    def sizes(self) -> Points:
        n = 8 * POINTS
        names: dict[str, NDArray[np.int64]] = {}
        for p in self.program.params:
            match p:
                case GlobalTensor():
                    for extent in p.shape:
                        if isinstance(extent, Sym) and extent.name not in names:
                            names[extent.name] = self._extents(extent.name, n)
                case ScalarParam():
                    if p.dtype.startswith("f"):
                        names[p.sym.name] = self.rng.random(n)  # type: ignore[assignment]
                    else:
                        names[p.sym.name] = self.rng.integers(0, 64, n)
        names[SM_COUNT.name] = self.rng.choice(np.array([1, 2, 3, 4, 8, 132]), n)
        points = Points(self.world, names)
        for cond in conjuncts(r.cond for r in self.program.requirements):
            points = self._define(points, cond)
        points = self._strides(points)
        keep = np.ones(points.size, np.bool_)
        for requirement in self.program.requirements:
            keep &= points.of(requirement.cond).astype(np.bool_)
        points = points.where(keep)
        few = np.arange(points.size) < POINTS
        return points.where(few)

    def _extents(self, name: str, n: int) -> NDArray[np.int64]:
        """Small ones, and those around multiples of a tile's size."""
        step = self.program.facts.get(name, 1)
        tile = self.rng.choice(np.array(self.tiles), n)
        around = tile * self.rng.integers(1, 5, n) + self.rng.integers(-1, 2, n)
        small = self.rng.integers(1, 6, n)
        any_ = self.rng.integers(1, 4 * max(self.tiles) + 2, n)
        mode = self.rng.integers(0, 4, n)
        chosen = np.select([mode == 0, mode == 1], [small * step, any_], around)
        chosen = np.minimum(chosen, 4096)
        return np.maximum(-(-chosen // step) * step, step)

    def _define(self, points: Points, cond: Expr) -> Points:
        """Make an equation or a divisibility true by choosing one of its symbols."""
        match cond:
            case Binary(op="==", left=Sym(name=name, kind="dim"), right=e):
                return points.plus(name, points.of(e).astype(np.int64))
            case Binary(op="==", left=e, right=Sym(name=name, kind="dim")):
                return points.plus(name, points.of(e).astype(np.int64))
            case Binary(
                op="==",
                left=Binary(op="%", left=Sym(name=a, kind="dim"), right=Sym() as b),
                right=Const(value=0),
            ):
                factor = self.rng.integers(1, 5, points.size)
                return points.plus(a, points[b.name] * factor)
            case Binary(op="<=" | "<", left=Sym(name=a, kind="dim"), right=Const()):
                limit = points.of(cond.right).astype(np.int64)
                step = self.program.facts.get(a, 1)
                inside = np.where(
                    self.rng.integers(0, 2, points.size) == 0,
                    limit,
                    1 + (points[a] - 1) % np.maximum(limit, 1),
                )
                if cond.op == "<":
                    inside = inside - 1
                return points.plus(a, np.maximum(inside // step * step, step))
            case Const() | Sym() | Binary() | Select():
                return points
            case _:
                assert_never(cond)

    def _strides(self, points: Points) -> Points:
        """Contiguous tensors, rows padded to what the strides must divide by."""
        for p in self.program.params:
            if not isinstance(p, GlobalTensor):
                continue
            reach = np.ones(points.size, np.int64)
            for extent, stride in zip(p.shape[::-1], p.strides[::-1], strict=True):
                if isinstance(stride, Sym):
                    step = self.program.facts.get(stride.name, 1)
                    reach = -(-reach // step) * step
                    points = points.plus(stride.name, reach)
                reach = reach * points.of(extent).astype(np.int64)
        return points
