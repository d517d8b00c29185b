"""Bound variables that indices take apart: quotients and remainders are variables.

A variable k of which indices are ``k // 32`` and ``k % 32`` alone is these two, and one
of a set in which 64 divides ``k + n`` is that quotient. Each step is one to one on the
points of the set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argus.terms import affine
from argus.terms.factored import divided
from argus.terms.integers import Integer, Opaque, Variable
from argus.terms.positions import masked, positions
from argus.terms.sets import IndexSet
from argus.terms.term import Term
from argus.terms.world import World

__all__ = ["PartedVariables"]


class PartedVariables:
    """The variables of a sum or maximum, its set and its body: they change together."""

    def __init__(
        self,
        world: World,
        variables: Sequence[Variable],
        domain: IndexSet,
        body: Term,
    ) -> None:
        self.world = world
        self.variables = list(variables)
        self.domain = domain
        self.body = body
        self.chosen: list[Variable] = []
        """Those that are an index by themselves."""

    def replace(self, variable: Variable, value: Integer) -> None:
        """A variable as what it is by others, in the bounds of the others, too."""
        self.release(variable)
        env = {variable: value}
        self.body = self.world.substitute(self.body, env)
        self.domain = self.world.substitute(self.domain, env)

    def release(self, variable: Variable) -> None:
        """Have the set say the bounds of others that a variable is in.

        What it becomes, or that it is gone, is a matter of the set then.
        """
        env: dict[Variable, Integer] = {}
        for other in list(self.variables):
            ends = [end for end in (other.lower, other.upper) if end is not None]
            if other != variable and any(variable in e.variables() for e in ends):
                env[other] = self._unbounded(other)
        if env:
            self.body = self.world.substitute(self.body, env)
            self.domain = self.world.substitute(self.domain, env)

    def _unbounded(self, variable: Variable) -> Integer:
        """Another variable in its place, of which the set says its bounds."""
        world, number = self.world, Integer.atom(variable)
        if variable.lower is not None:
            self.domain = self.domain & world.compare(number, ">=", variable.lower)
        if variable.upper is not None:
            self.domain = self.domain & world.compare(number, "<", variable.upper)
        made = world.opened("k")
        (new,) = made.atoms()
        assert isinstance(new, Variable)
        for names in (self.variables, self.chosen):
            if variable in names:
                names[names.index(variable)] = new
        return made

    def split(self, *, by_numbers: bool) -> bool:
        """Make quotient and remainder of a variable of which indices are only these.

        By sizes last, when no other variable is a part of it any more.
        """
        hidden = frozenset(self.variables)
        indices = [index for _, index in positions(self.body, hidden)]
        return any(
            self._split(variable, divisor)
            for variable, divisor in dict.fromkeys(_quotients(indices, hidden))
            if (divisor.constant is not None) is by_numbers
        )

    def split_counted(self, idle: Sequence[Variable]) -> bool:
        """The same of variables that are only counted, by a size, in the set.

        So tiles that a loop takes in the order of their numbers are their rows and
        columns: which of them there are, is a question about both.
        """
        hidden = frozenset(idle)
        atoms = {atom: None for monomial in self.domain.monomials for atom in monomial}
        found = dict.fromkeys(_quotients([Integer.atom(a) for a in atoms], hidden))
        by_sizes = [pair for pair in found if pair[1].constant is None]
        by_sizes.sort(key=lambda pair: (masked(pair[1], hidden), pair[0].key))
        for variable, _ in by_sizes[:1]:
            self._joined(variable)
        return any(self._split(*pair, counted=True) for pair in by_sizes)

    def _joined(self, variable: Variable) -> None:
        """Say of a variable that it is below one end, where the set says no more.

        Of ``min(T, 132)`` blocks that go on by 132, a tile t has one where it is below
        both, or where ``t % 132`` is; which is where t is below T.
        """
        world, number = self.world, Integer.atom(variable)
        around = self.domain.hull().without_divisions()
        if around is self.domain:
            return
        ends = affine.ends_of(world, self.domain, variable)
        below = (around & world.compare(number, "<", end) for end in ends)
        for whole in (around, *below):
            if world.is_subset(whole, self.domain):
                if world.is_subset(self.domain, whole):
                    self.domain = whole
                return

    def _split(
        self, variable: Variable, divisor: Integer, *, counted: bool = False
    ) -> bool:
        """Make it its quotient and remainder, if then nothing is made of both."""
        least = Integer.of(0) if divisor.constant is None else None
        quotient = self.world.opened("q", least)
        rest = self.world.opened("r", Integer.of(0), divisor)
        both = quotient.variables() | rest.variables()
        made = self.world.substitute(self.body, {variable: quotient * divisor + rest})
        if any(
            both <= index.variables()
            for _, index in positions(made, frozenset(self.variables) | both)
        ):
            return False
        domain = self._parted(variable, divisor, quotient, rest)
        if domain is None:
            return False
        if counted and any(
            len(monomial) > 1 or any(isinstance(atom, Opaque) for atom in monomial)
            for monomial in domain.monomials
            if any(atom.variables & both for atom in monomial)
        ):
            return False
        self.body, self.domain = made, domain
        at = self.variables.index(variable)
        self.variables[at : at + 1] = [*quotient.variables(), *rest.variables()]
        return True

    def divide(self) -> bool:
        """Make a quotient that leaves no rest in the set the variable it is made of."""
        hidden = frozenset(self.variables)
        indices = [index for _, index in positions(self.body, hidden)]
        for variable, dividend, divisor in dict.fromkeys(_dividends(indices, hidden)):
            rest = self.world.remainder(dividend, Integer.of(divisor))
            none = self.world.compare(rest, "==", 0)
            if not self.world.is_subset(self.domain, none):
                continue
            quotient = self.world.opened("q")
            factor = dividend.terms[variable,]
            others = dividend - Integer({(variable,): factor})
            at = self.variables.index(variable)
            self.replace(variable, (quotient * divisor - others) * factor)
            self.variables[at : at + 1] = quotient.variables()
            return True
        return False

    def _parted(
        self, variable: Variable, divisor: Integer, quotient: Integer, rest: Integer
    ) -> IndexSet | None:
        """The set, by quotient and remainder of a variable.

        Of a divisor d that is no number, ``0 <= q*d + r < n*d`` is said as ``0 <= q <
        n``, which is the same for ``0 <= r < d``. None where the set does not say it.
        """
        world, whole = self.world, quotient * divisor + rest
        said = self.domain
        if divisor.constant is None:
            turns = world.quotient(Integer.atom(variable), divisor)
            said = self._without_products(said, turns, but=turns * divisor)
        domain = world.substitute(said, {variable: whole})
        digits = world.compare(rest, "<", divisor) & world.compare(rest, ">=", 0)
        if divisor.constant is not None:
            return domain & digits
        if not world.is_subset(self.domain, world.compare(divisor, ">=", 1)):
            return None
        number = Integer.atom(variable)
        for end in affine.ends_of(world, self.domain, variable):
            times = divided(end, divisor)
            inside = world.compare(number, ">=", 0) & world.compare(number, "<", end)
            if times is None or not said.within(inside):
                continue
            digits = digits & world.compare(quotient, ">=", 0)
            digits = digits & world.compare(quotient, "<", times)
            known = world.substitute(inside, {variable: whole})
            for less in (Integer.of(0), quotient):  # for d is at least 1
                known = known & world.compare(quotient * divisor, ">=", less)
            made = (domain & digits).gist(known) & digits
            return self._without_products(made, quotient)
        return None

    def _without_products(
        self, where: IndexSet, factor: Integer, *, but: Integer | None = None
    ) -> IndexSet:
        """A set without products of a factor that are known of it anyway."""
        kept = () if but is None else but.terms
        left = [
            self.world.space.name(monomial)
            for monomial in where.monomials
            if len(monomial) > 1 and factor.single in monomial and monomial not in kept
        ]
        plain = where.without(left) if left else where
        return plain if self.world.is_subset(plain, where) else where


def _quotients(
    indices: Sequence[Integer], bound: frozenset[Variable]
) -> Iterator[tuple[Variable, Integer]]:
    """Bound variables, and what indices divide each of them by."""
    for atom in (a for index in indices for a in index.atoms()):
        if isinstance(atom, Opaque) and atom.op == "div":
            dividend, divisor = atom.args
            variable, others = dividend.single, divisor.variables() & bound
            if isinstance(variable, Variable) and variable in bound and not others:
                yield variable, divisor


def _dividends(
    indices: Sequence[Integer], bound: frozenset[Variable]
) -> Iterator[tuple[Variable, Integer, int]]:
    """Bound variables that quotients in indices have with factor 1: what is divided."""
    for atom in (a for index in indices for a in index.atoms()):
        if isinstance(atom, Opaque) and atom.op == "div":
            dividend, divisor = atom.args
            number = divisor.constant
            for variable in sorted(dividend.variables() & bound, key=lambda v: v.key):
                factor = dividend.coefficient(variable)
                if factor not in (1, -1) or not number:
                    continue
                rest = dividend - Integer({(variable,): factor})
                if variable not in rest.variables():
                    yield variable, dividend, number
