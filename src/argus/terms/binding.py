"""Bound variables in one form: named by the indices that use them.

A sum over blocks and over what is in a block, ``A[64 b + i]`` with ``b < K // 64`` and
``i < 64``, is the sum of ``A[k]`` over ``k < K``. So a bound variable becomes the index
in which it stands with factor 1, what then follows from others is not bound at all, and
the rest is named by its place. Each step is one to one on the points of the set, which
is what a sum needs; a maximum may also forget which points give the same number.
Before that indices take variables apart (`parting.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import gcd

from argus.terms import affine
from argus.terms.integers import Entry, Integer, Opaque, Truth, Variable
from argus.terms.leaves import Whole
from argus.terms.naming import Bound, named
from argus.terms.parting import PartedVariables
from argus.terms.positions import masked, positions
from argus.terms.term import Term
from argus.terms.unknown import Unknown

_PACKED = (32, 64, 128, 256, 512)
"""Sizes by which two variables that are only counted are packed into one, beside those
that their set multiplies one of them by."""


class BoundVariables(PartedVariables):
    """The variables of a sum or maximum while they are brought into one form."""

    def canonical(self, *, counted: bool) -> Bound:
        """The form; ``counted``: how often a number occurs matters."""
        self._eliminate_equal()
        while self.split(by_numbers=True) or self.divide():
            pass
        self._settle(counted)
        while self.split(by_numbers=False) or self.split_counted(self._idle()):
            self._settle(counted)
        return self._named()

    def _settle(self, counted: bool) -> None:
        while self._choose():
            pass
        self._eliminate_equal()
        self._restrict()
        self._forget_idle(counted)
        self._eliminate_determined()

    def positional(self) -> Bound:
        """The form in which variables keep what they count."""
        self._restrict()
        return self._named()

    def _restrict(self) -> None:
        """Say in the body only what it is within the set."""
        if self.body.height:
            from argus.terms.restrict import restrict  # which binds inner variables

            hidden = frozenset(self.variables)
            self.body = restrict(self.world, self.body, self.domain, hidden)

    def _drop(self, variable: Variable) -> None:
        self.variables.remove(variable)
        if variable in self.chosen:
            self.chosen.remove(variable)

    def _eliminate_equal(self) -> None:
        """Variables that equal something throughout are no variables."""
        for variable in list(self.variables):
            if variable not in self.variables:
                continue
            inner = frozenset(self.variables)
            value = affine.equal_to(self.world, self.domain, variable, inner)
            if value is not None:
                self.replace(variable, value)
                self._drop(variable)

    def _choose(self) -> bool:
        """Make an index that uses a variable the variable."""
        hidden = frozenset(self.variables)
        number = _number(self.body)
        if number is not None and self._choose_in(number):
            return True
        places = positions(self.body, hidden)
        # Where one variable stands beside what is not bound, the place alone decides:
        # which of k and k + n is the variable must not depend on what it is at first.
        # What is divided comes last: n is not seen in it where the divisor divides n.
        # Before it come numbers in exponents: of a sum that runs from the last element
        # on, that is the distance to it, and elements say which is k.
        places.sort(
            key=lambda item: (
                Opaque.__name__ in item[0],
                "pow" in item[0] or ("exp" in item[0] and "whole" in item[0]),
                len(item[1].variables() & hidden) < 2,
            )
        )
        outside = self.body.free_variables() | self.domain.variables()
        # An index inside of another sum may use what that sum binds: it means nothing
        # out here, and no variable of this one can become it.
        meant = (index for _, index in places if index.variables() <= outside)
        if any(self._choose_in(index) for index in meant):
            return True
        return any(self._choose_in(index) for index in self._in_tables(hidden))

    def _in_tables(self, hidden: frozenset[Variable]) -> list[Integer]:
        """Positions of what the set compares, in an order without names.

        Of entries of tables first, then of elements.
        """
        found: list[tuple[str, str, Integer]] = []
        elements: list[tuple[str, str, Integer]] = []
        for monomial in self.domain.monomials:
            for atom in monomial:
                if isinstance(atom, Entry):
                    text = masked(Integer.atom(atom), hidden)
                    found += [(text, masked(i, hidden), i) for i in atom.indices]
                elif isinstance(atom, Truth) and isinstance(atom.term, Term):
                    places = positions(atom.term, hidden)
                    elements += [(" ".join(p), masked(i, hidden), i) for p, i in places]
        outside = self.body.free_variables() | self.domain.variables()
        ordered = (sorted(x, key=lambda item: item[:2]) for x in (found, elements))
        return [i for some in ordered for _, _, i in some if i.variables() <= outside]

    def _choose_in(self, index: Integer) -> bool:
        index = self._without_factor(index)
        free = [
            v for v in self.variables if v not in self.chosen and (v,) in index.terms
        ]
        if not free:
            return False
        if len(index.terms) == 1 and abs(index.terms[free[0],]) == 1:
            self.chosen.append(free[0])
            return True
        for variable in reversed(free):
            factor = index.terms[variable,]
            rest = index - Integer({(variable,): factor})
            if abs(factor) == 1 and variable not in rest.variables():
                made = self.world.opened("k")
                (new,) = made.atoms()
                assert isinstance(new, Variable)
                self.variables[self.variables.index(variable)] = new
                self.chosen.append(new)
                self.replace(variable, (made - rest) * factor)
                return True
        return False

    def _without_factor(self, index: Integer) -> Integer:
        """``32 q + j`` of ``128 q + 4 j + 1``: what every fourth element counts.

        What is left of others stays as near to 0 as it is: a lane beside ``8 l`` keeps
        its factor, so that it may become the index where it is bound, too.
        """
        hidden = frozenset(self.variables)
        inner = [m for m in index.terms if any(a.variables & hidden for a in m)]
        factor = gcd(*(index.terms[m] for m in inner))
        if factor < 2:
            return index
        return Integer(
            {
                m: -((factor // 2 - c) // factor) if m else c // factor
                for m, c in index.terms.items()
            }
        )

    def _forget_idle(self, counted: bool) -> None:
        """Project out variables that the body does not use, where that is right."""
        tried: set[Variable] = set()
        while left := [v for v in self._idle() if v not in tried]:
            tried.add(left[0])
            if not counted or self._is_single(left[0]):
                self._project(left[0])
        if counted and len(self._idle()) > 1:
            for variable in self._idle():
                self.release(variable)
            self._pack(self._idle())

    def _idle(self) -> list[Variable]:
        """Variables that the body does not use."""
        used = self.body.free_variables()
        return [v for v in self.variables if v not in used]

    def _project(self, variable: Variable) -> None:
        self.release(variable)
        try:
            self.domain = self.world.project(self.domain, [variable])
        except Unknown:
            return  # an opaque atom depends on it: it stays bound
        self._drop(variable)

    def _is_single(self, variable: Variable) -> bool:
        """Whether it has at most one value for each value of the others."""
        other = self.world.opened("o")
        (renamed,) = other.atoms()
        assert isinstance(renamed, Variable)
        larger = self.world.compare(Integer.atom(variable), "<", other)
        # Of many pieces each meets each of the copy: most often one of them tells.
        for part in dict.fromkeys((self.domain.piece(), self.domain)):
            again = self.world.substitute(part, {variable: other})
            if not self.world.is_empty(part & again & larger):
                return False
        return True

    def _pack(self, idle: Sequence[Variable]) -> None:
        """Two variables that are only counted, as one where that is one to one."""
        # What the set says of two comes first: a tile and what it counts are one index.
        pairs = [*permutations(idle, 2)]
        said = [affine.factors(self.world, self.domain, *pair) for pair in pairs]
        every = [*zip(pairs, said, strict=True), *((pair, _PACKED) for pair in pairs)]
        for (left, right), sizes in every:
            for size in dict.fromkeys(sizes):
                if left not in self.variables or right not in self.variables:
                    break
                if self._packs(left, right, size):
                    packed = self.world.opened("k")
                    (new,) = packed.atoms()
                    assert isinstance(new, Variable)
                    value = packed - Integer.atom(left) * size
                    changed = self.world.substitute(self.domain, {right: value})
                    try:
                        self.domain = self.world.project(changed, [left])
                    except Unknown:
                        break
                    self.variables[self.variables.index(right)] = new
                    self._drop(left)

    def _packs(self, left: Variable, right: Variable, size: int) -> bool:
        """Whether ``size * left + right`` determines both."""
        world = self.world
        a, b = Integer.atom(left), Integer.atom(right)
        c, d = world.opened("o"), world.opened("o")
        again = world.substitute(self.domain, {left: c, right: d})
        same = world.compare(a * size + b, "==", c * size + d)
        both = self.domain & again & same & world.compare(a, "<", c)
        return world.is_empty(both)

    def _eliminate_determined(self) -> None:
        """Variables that are quotients of others are no variables."""
        for variable in list(self.variables):
            if len(self.variables) < 2:
                return
            if variable not in self.variables:
                continue
            value = affine.determined(self.world, self.domain, variable)
            if value is not None:
                self.replace(variable, self._plain(variable, value))
                self._drop(variable)

    def _plain(self, variable: Variable, value: Integer) -> Integer:
        """``k // c`` for what is the same in the set: ``(k + 64) // 128 - 1``."""
        for atom in value.atoms():
            if not isinstance(atom, Opaque) or atom.op != "div":
                continue
            dividend, divisor = atom.args
            for other in self.variables:
                if other == variable or dividend.coefficient(other) != 1:
                    continue
                plain = self.world.quotient(Integer.atom(other), divisor)
                there = self.world.compare(Integer.atom(variable), "==", plain)
                if plain != value and self.world.is_subset(self.domain, there):
                    return plain
        return value

    def _named(self) -> Bound:
        """Variables under their canonical names, in the order of what they became.

        What an index was at first, a lane beside a tile, says no more which is first.
        """
        chosen = [v for v in self.chosen if v in self.variables]
        rest = [v for v in self.variables if v not in chosen]
        order = self._by_place(chosen) if len(chosen) > 1 else chosen
        return named(self.world, order + rest, self.domain, self.body)

    def _by_place(self, chosen: Sequence[Variable]) -> list[Variable]:
        """Variables by where they stand alone first."""
        places = positions(self.body, frozenset(self.variables))
        alone = [self._without_factor(index).single for _, index in places]
        found = [v for v in dict.fromkeys(alone) if isinstance(v, Variable)]
        first = [v for v in found if v in chosen]
        return first + [v for v in chosen if v not in first]


def _number(body: Term) -> Integer | None:
    """The integer that a term is, of several atoms; each by itself is no index."""
    found = Integer.of(0)
    for part, coefficient in body.parts.items():
        if coefficient.denominator != 1 or part.exponent is not None:
            return None
        made = Integer.of(coefficient.numerator)
        for leaf, power in part.factors:
            if not isinstance(leaf, Whole) or power != 1:
                return None
            made = made * Integer.atom(leaf.atom)
        found = found + made
    return found if len(found.terms) > 1 else None
