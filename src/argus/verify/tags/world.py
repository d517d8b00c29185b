"""Symbols that stand for applications: table elements and sums over iterations.

Everything is written over a few free symbols: sizes, strides, arguments, the index of
the block, and one iteration symbol per loop. A number that the kernel loads is a symbol
named after its table and coordinates, so that two loads of one element are equal:

    Expert[t]                the element of an index table
    sum<#3>(it)              delta(0) + ... + delta(it - 1), a counter whose increment
                             depends on the iteration
    last(it)                 a scalar that a loop hands on, of which nothing is known

:class:`TagWorld` keeps what those symbols mean, and can therefore substitute into them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from argus.ir.expr import (
    Binary,
    Const,
    Expr,
    Operand,
    Select,
    Sym,
    binary,
    lift,
    select,
    symbols,
)
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, Program
from argus.verify.decide.conditions import context_of, proved
from argus.verify.decide.evaluation import Unmodelled
from argus.verify.decide.facts import conjuncts
from argus.verify.decide.polynomial import Poly
from argus.verify.tags.signs import never_negative
from argus.verify.tags.values import ReducedDimension, RowStatistic
from argus.verify.tile_bounds import definitions_of

__all__ = [
    "CLUSTERS",
    "CLUSTER_INDEX",
    "Assumed",
    "LoadedScalar",
    "Meaning",
    "OpaqueScalar",
    "Paired",
    "TagWorld",
    "Total",
]

# No name of the source has a dot in it.
CLUSTER_INDEX = Sym("cluster.id", "block")
CLUSTERS = Sym("cluster.count", "block")


@dataclass(frozen=True)
class LoadedScalar:
    """An element of a global tensor, read as a uniform scalar."""

    tensor: str
    coords: tuple[Expr, ...]
    type: str


@dataclass(frozen=True)
class Total:
    """``delta`` summed over ``index`` = 0 .. ``upto`` - 1."""

    delta: Expr
    index: Sym
    upto: Expr


@dataclass(frozen=True)
class OpaqueScalar:
    """A scalar without a closed form, in one iteration of the loops around it.

    It is equal to itself and nothing else is known, so it has no value at a point: what
    depends on it can be proved, not refuted.
    """

    name: str
    coords: tuple[Expr, ...]


Meaning = LoadedScalar | Total | OpaqueScalar


@dataclass(frozen=True)
class Assumed:
    """A fact about each element of tables; ``symbols`` stand for the elements."""

    cond: Expr
    tables: tuple[str, ...]
    symbols: tuple[str, ...]


@dataclass(frozen=True)
class Paired:
    """A fact about every two elements of tables, at different positions."""

    cond: Expr
    tables: tuple[str, ...]
    symbols: tuple[str, ...]
    others: tuple[str, ...]
    """Symbols of the second element."""


class TagWorld:
    """The meanings of application symbols, and facts that hold everywhere."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.definitions = definitions_of(program)
        self.cluster = program.cluster
        self.meanings: dict[str, Meaning] = {}
        self._interned: dict[object, Sym] = {}
        self._names: dict[Expr, frozenset[str]] = {}
        self._count = 0
        self.asked = 0.0
        """Seconds for which questions have been decided that are no normal forms."""
        self.assumed: list[Assumed] = []
        self.paired: list[Paired] = []
        self.rows: list[
            tuple[RowStatistic, tuple[tuple[str, tuple[ReducedDimension, ...]], ...]]
        ] = []
        """What maxima that a loop hands on have seen in the end."""
        self.base = self._base()
        self.facts = self._facts()
        self.normal = context_of(conjuncts(self.facts))

    # ------------------------------------------------------------------- basis

    def _base(self) -> dict[str, Expr]:
        if self.cluster == 1:
            return {CLUSTER_RANK.name: Const(0)}
        return {
            BLOCK_INDEX.name: CLUSTER_INDEX * self.cluster + CLUSTER_RANK,
            GRID_SIZE.name: CLUSTERS * self.cluster,
        }

    @property
    def index(self) -> Sym:
        """The index of the cluster (of the block without clusters)."""
        return BLOCK_INDEX if self.cluster == 1 else CLUSTER_INDEX

    @property
    def count(self) -> Sym:
        """The number of clusters (of blocks without clusters)."""
        return GRID_SIZE if self.cluster == 1 else CLUSTERS

    @property
    def block(self) -> tuple[Expr, ...]:
        """What tells blocks apart: the index of the cluster, and the rank in it."""
        return (self.index,) if self.cluster == 1 else (self.index, CLUSTER_RANK)

    def _facts(self) -> tuple[Expr, ...]:
        found = [r.cond for r in self.program.requirements]
        found.append(binary("<", self.index, self.count))
        grid = self.program.grid
        match grid:
            case Binary(op="*", left=x, right=Const(value=c)) if c == self.cluster:
                grid = x
            case Const() | Sym() | Binary() | Select() if self.cluster > 1:
                grid = binary("//", grid, self.cluster)
            case Const() | Sym() | Binary() | Select():
                pass
            case _:
                assert_never(grid)
        found.append(binary("==", self.count, grid))
        if self.cluster > 1:
            found.append(binary("<", CLUSTER_RANK, self.cluster))
        return tuple(found)

    # ------------------------------------------------------------ applications

    def element(self, tensor: str, coords: tuple[Expr, ...], type_: str) -> Sym:
        """The symbol of a table's element."""
        key = (tensor, tuple(self.key(c) for c in coords))
        kind = "float" if type_ == "float" else "int"
        text = ", ".join(str(c) for c in coords)
        name = f"{tensor}[{text}]"
        meaning = LoadedScalar(tensor, coords, kind)
        return self._intern(key, name, meaning, kind == "float")

    def opaque(self, name: str, coords: tuple[Expr, ...], type_: str) -> Sym:
        """The symbol of a scalar of which nothing is known, in these iterations."""
        key = ("opaque", name, tuple(self.key(c) for c in coords))
        text = ", ".join(str(c) for c in coords)
        meaning = OpaqueScalar(name, coords)
        return self._intern(key, f"{name}({text})", meaning, type_ == "float")

    def computed(self, e: Expr) -> bool:
        """Whether an expression depends on a scalar that takes values of its own.

        A model that gives it any value is no counterexample.
        """
        return any(
            isinstance(self.meanings.get(s.name), OpaqueScalar | Total)
            for s in self.all_symbols(e)
        )

    def total(self, delta: Expr, index: Sym, upto: Expr) -> Expr:
        """delta(0) + ... + delta(upto - 1); a product where delta does not vary."""
        if not self.depends(delta, index):
            return delta * upto
        # The same name for the same sum, whatever its index was called.
        others = self.names(delta) - {index.name}
        inner = sum(1 for name in others if name.startswith("%j"))
        bound = Sym(f"%j{inner}", "loop")
        delta = self.replace(delta, {index.name: bound})
        key = ("sum", self.key(delta), self.key(upto))
        self._count += 1
        name = f"sum<#{self._count}>"
        is_float = delta.type == "float"
        return self._intern(key, name, Total(delta, bound, upto), is_float)

    def _intern(self, key: object, name: str, meaning: Meaning, is_float: bool) -> Sym:
        if key not in self._interned:
            kind = "float" if is_float else "int"
            nonneg = isinstance(meaning, Total) and self._never_negative(meaning.delta)
            if name in self.meanings:
                name = f"{name}'{len(self._interned)}"
            made = Sym(name, "let", kind, nonneg=nonneg)
            self._interned[key] = made
            self.meanings[name] = meaning
        return self._interned[key]

    def _never_negative(self, e: Expr) -> bool:
        facts = conjuncts(self.facts)
        return never_negative(e, lambda goal: proved(goal, facts))

    def key(self, e: Expr) -> object:
        """Equal for expressions that are equal by normal form."""
        found = self.poly(e)
        return e if found is None else found

    def poly(self, e: Expr) -> Poly | None:
        """Normal form, where there is one."""
        try:
            return self.normal.of(e)
        except Unmodelled:
            return None

    def instances(self, names: Iterable[str]) -> list[Expr]:
        """What is assumed of the table elements among these symbols."""
        found: dict[Expr, None] = {}
        for name in names:
            meaning = self.meanings.get(name)
            if not isinstance(meaning, LoadedScalar):
                continue
            for a in self.assumed:
                if meaning.tensor in a.tables:
                    env = {
                        s: self.element(t, meaning.coords, "int")
                        for s, t in zip(a.symbols, a.tables, strict=True)
                    }
                    found[self.replace(a.cond, env)] = None
        return list(found)

    # ------------------------------------------------------------ substitution

    def replace(self, e: Expr, env: Mapping[str, Operand]) -> Expr:
        """Symbols replaced by name, inside applications too."""
        if not env:
            return e
        match e:
            case Sym():
                if e.name in env:
                    return lift(env[e.name])
                return self._replace_inside(e, env)
            case Binary():
                left, right = self.replace(e.left, env), self.replace(e.right, env)
                if left is e.left and right is e.right:
                    return e
                return (
                    self._quotient(left, right)
                    if e.op == "//"
                    else binary(e.op, left, right)
                )
            case Select():
                parts = [self.replace(x, env) for x in (e.cond, e.then, e.other)]
                return select(*parts)
            case Const():
                return e
            case _:
                assert_never(e)

    def _quotient(self, left: Expr, right: Expr) -> Expr:
        """Left // right, with the index of a cluster recognised."""
        match left:
            case Binary(op="*", left=x, right=c) if c == right and c == Const(
                self.cluster
            ):
                return x
            case Binary(op="+", left=Binary(op="*", left=x, right=c), right=r) if (
                c == right and c == Const(self.cluster) and r == CLUSTER_RANK
            ):
                return x
            case Const() | Sym() | Binary() | Select():
                return binary("//", left, right)
            case _:
                assert_never(left)

    def _replace_inside(self, sym: Sym, env: Mapping[str, Operand]) -> Expr:
        match self.meanings.get(sym.name):
            case LoadedScalar() as m:
                coords = tuple(self.replace(c, env) for c in m.coords)
                same = coords == m.coords
                return sym if same else self.element(m.tensor, coords, m.type)
            case Total() as m:
                delta, upto = self.replace(m.delta, env), self.replace(m.upto, env)
                if delta == m.delta and upto == m.upto:
                    return sym
                return self.total(delta, m.index, upto)
            case OpaqueScalar() as m:
                coords = tuple(self.replace(c, env) for c in m.coords)
                same = coords == m.coords
                return sym if same else self.opaque(m.name, coords, sym.type)
            case None:
                return sym

    def depends(self, e: Expr, sym: Sym) -> bool:
        """Whether a symbol occurs in an expression, inside applications too."""
        return sym.name in self.names(e)

    def names(self, e: Expr) -> frozenset[str]:
        """Names of every symbol, of those in applications, too."""
        found = self._names.get(e)
        if found is None:
            found = frozenset(s.name for s in self.all_symbols(e))
            self._names[e] = found
        return found

    def all_symbols(self, e: Expr) -> Iterator[Sym]:
        """Every symbol, those of applications before the application itself."""
        for s in symbols(e):
            match self.meanings.get(s.name):
                case LoadedScalar(coords=coords) | OpaqueScalar(coords=coords):
                    for c in coords:
                        yield from self.all_symbols(c)
                case Total() as m:
                    yield from self.all_symbols(m.delta)
                    yield from self.all_symbols(m.upto)
                case None:
                    pass
            yield s
