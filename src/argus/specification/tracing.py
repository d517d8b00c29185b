"""One trace: its world, and what the claims about a reference rest on.

A reference is not defined at every size: `A + B` of `A (M,)` and `B (N,)` needs
`M == N`. Such a condition on sizes is a *need*: the world is told, and the
specification lists it, so that nobody claims more. What is said about entries of index
tables ("not counted from the end") is an *assumption*; it is listed, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from argus.terms import (
    Entry,
    Failing,
    IndexSet,
    Integer,
    Opaque,
    Truncated,
    Truth,
    Unknown,
    Variable,
    World,
)
from argus.terms.affine import equal_to


@dataclass(frozen=True)
class Need:
    """A condition without which the reference is not defined.

    ``where``: the sizes at which it holds, which the world has been told. None where
    sets of sizes cannot say it (`h // (H // G) < G` for every `h`): then the world does
    not know it, and whatever is claimed is claimed where the reference does not fail.
    ``shape``: that an index is one of a dimension, or that shapes fit, which may fail
    where a tensor is empty.
    """

    where: IndexSet | None
    why: str
    shape: bool = False


_BRANCHES = 3
"""Branches of a reference that are taken both ways, one in the other."""


@dataclass(eq=False)
class Tracing:
    """What arrays of one trace share.

    ``sizes``: variables that a launch fixes (sizes, scalars); a need may only speak of
    these, because it holds for a whole launch.
    """

    world: World
    needs: list[Need] = field(default_factory=list[Need])
    assumptions: dict[str, bool] = field(default_factory=dict[str, bool])
    sizes: set[Variable] = field(default_factory=set[Variable])
    folds: dict[Integer, tuple[Integer, ...]] = field(
        default_factory=dict[Integer, tuple[Integer, ...]]
    )
    """Sizes that reshapes made of others, the outermost first: a sum over as many
    positions is taken over those of each."""
    slices: dict[tuple[Integer, Integer], None] = field(
        default_factory=dict[tuple[Integer, Integer], None]
    )
    """Ends of slices between entries of tables that the reference assigns to."""
    way: list[bool] | None = None
    """How the reference's branches turn out of which launches decide; it is continued
    with True. None: nobody takes the other ways, so that none is taken."""
    here: IndexSet = IndexSet.universe
    """The launches that go this way, as far as the reference has run."""
    turns: list[bool] | None = None
    """How branches turn out that a round of a loop decides (`turning.py`), likewise.
    None: no round is being run."""
    turned: int = 0
    """How many of these the round has met."""
    local: IndexSet = IndexSet.universe
    """Where the round goes this way."""
    calling: Any = field(default=None, init=False)
    """The copies of numpy's own functions (`own_sources.py`)."""
    _branches: int = field(default=0, init=False)

    def positions(
        self, name: str, size: Integer, *, whole: bool = False
    ) -> tuple[Integer, list[Variable]]:
        """A position below a size, and the variables that go through all of them.

        ``whole``: one variable, which is the position. They are taken until a
        `Closing` gives them back.
        """
        found, variables = Integer.of(0), list[Variable]()
        for part in (size,) if whole else self.folds.get(size, (size,)):
            one = self.world.opened(name, Integer.of(0), part)
            atom = one.single
            assert isinstance(atom, Variable)
            found = found * part + one
            variables.append(atom)
        return found, variables

    def holds(self, where: IndexSet) -> bool:
        """Whether a condition is known to be true."""
        known = self.here & self.local
        return where.is_universe or self.world.is_empty(known & ~where)

    def never(self, where: IndexSet) -> bool:
        """Whether a condition is known to be false."""
        return self.world.is_empty(self.here & self.local & where)

    def branched(self, where: IndexSet) -> bool:
        """Which way a branch of the reference takes.

        Both, one trace after the other, where it is the same in a whole launch, and
        one run of the round after the other where a round of a loop decides. Raises
        Unknown where a position decides.
        """
        if self.holds(where):
            return True
        if self.never(where):
            return False
        fixed = where.variables() <= self.sizes
        if self.way is not None and fixed and self._branches < _BRANCHES:
            if self._branches == len(self.way):
                self.way.append(True)
            taken = self.way[self._branches]
            self._branches += 1
            self.here = self.here & (where if taken else ~where)
            return taken
        if self.turns is not None and self.turned < _BRANCHES:
            if self.turned == len(self.turns):
                self.turns.append(True)
            taken = self.turns[self.turned]
            self.turned += 1
            self.local = self.local & (where if taken else ~where)
            return taken
        raise Unknown(f"the reference branches on {where}, which not all sizes decide")

    def is_one(self, size: Integer) -> bool:
        """Whether a size is 1 in every launch: numpy repeats such an array.

        One that is 1 or 0 (`X[:, :1]`) is 1, as an index is one of a dimension.
        """
        if size.constant is not None:
            return size.constant == 1
        if not self.never(self.world.compare(size, ">", 1)):
            return False
        there = self.world.compare(size, ">=", 1)
        self.need(there, f"{size} >= 1 (an axis of at most one)", shape=True)
        return True

    def need(self, where: IndexSet, why: str, *, shape: bool = False) -> None:
        """The reference is defined only where this holds, for every loop variable.

        Raises Unknown where it never does.
        """
        if self.holds(where):
            return
        every: IndexSet | None = where | ~(self.here & self.local)
        others = every.variables() - self.sizes
        if others:
            try:
                every = ~self.world.project(~every, sorted(others, key=lambda v: v.key))
            except Unknown:
                every = None
            named = ", ".join(sorted(v.name.partition(".")[0] for v in others))
            why = f"{why}, for every {named}"
        if every is not None:
            if self.world.is_empty(every):
                raise Failing(f"the reference fails at every size: it needs that {why}")
            self.world.require(every, f"the reference needs that {why}")
        need = Need(every, why, shape)
        if need.why not in {n.why for n in self.needs}:
            self.needs.append(need)

    def need_divides(self, divisor: Integer, dividend: Integer) -> None:
        """One size divides another. Raises Failing where it is 0."""
        world = self.world
        if divisor.constant == 0:
            raise Failing(f"the reference takes {dividend} apart into 0 parts")
        if world.divides(divisor, dividend):
            return
        where = world.compare(world.remainder(dividend, divisor), "==", 0)
        if not (self.here & self.local).is_universe:
            where = where & world.compare(divisor, ">=", 1)
            self.need(where, f"{divisor} divides {dividend}")
            return
        why = f"{divisor} divides {dividend}"
        world.require_divides(divisor, dividend)
        self.needs.append(Need(where & world.compare(divisor, ">=", 1), why))

    def by_others(self, size: Integer) -> Integer:
        """A size as launches require it to be: ``64 * B`` of M where they are equal."""
        env: dict[Variable, Integer] = {}
        for variable in sorted(size.variables() & self.sizes, key=lambda v: v.key):
            known = self.world.facts(((variable,),))
            found = equal_to(self.world, known, variable, frozenset({variable, *env}))
            if found is not None:
                env[variable] = found
        return self.world.substitute(size, env) if env else size

    def need_equal(self, left: Integer, right: Integer, of: str) -> None:
        """Two sizes are the same. Raises Unknown where they never are."""
        if left == right or self.by_others(left) == self.by_others(right):
            return
        for whole, product in ((left, right), (right, left)):
            divisor = factor_of(whole, product)
            if divisor is not None:
                self.need_divides(divisor, whole)
                return
        where = self.world.compare(left, "==", right)
        self.need(where, f"{left} == {right} ({of})")

    def assume(self, text: str, *, signed: bool = False) -> None:
        """Note what is taken for granted about data.

        ``signed``: entries of tables that are below 0 do not break it.
        """
        self.assumptions[text] = signed and self.assumptions.get(text, True)

    def product(self, factors: Iterable[Integer]) -> Integer:
        """The product of some sizes."""
        total = Integer.of(1)
        for factor in factors:
            total = total * factor
        return total


def next_way(way: list[bool]) -> list[bool] | None:
    """The way that turns off at the last branch that was taken; None after the last."""
    left = list(way)
    while left and not left[-1]:
        left.pop()
    return [*left[:-1], False] if left else None


def divisor_of(whole: Integer, part: Integer) -> Integer | None:
    """``d`` where a size is ``whole // d``, else None."""
    atom = part.single
    if not isinstance(atom, Opaque) or atom.op != "div":
        return None
    dividend, divisor = atom.args
    return divisor if dividend == whole else None


def factor_of(whole: Integer, product: Integer) -> Integer | None:
    """``d`` where a product is ``d * (whole // d)``, else None."""
    if len(product.terms) != 1:
        return None
    (atoms,) = product.terms
    for atom in atoms:
        divisor = divisor_of(whole, Integer.atom(atom))
        if divisor is not None and product == divisor * Integer.atom(atom):
            return divisor
    return None


def depends_on_data(value: Integer) -> bool:
    """Whether an integer depends on entries of tensors, not only on sizes and loops."""
    return any(isinstance(a, Entry | Truth | Truncated) for a in value.all_atoms())


def of_data(where: IndexSet) -> bool:
    """Whether a set depends on entries of tensors."""
    return any(isinstance(a, Entry | Truth | Truncated) for a in where.all_atoms())
