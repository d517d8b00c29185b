"""Tiles and fractions that a loop carries: their value in each iteration.

The body is read once with carried values as unknown leaves; what it yields for each is
a recurrence. Let c(j) be the value at the beginning of iteration j (c(0): before the
loop), J the iteration that is asked for, g and a what the body computes in iteration j
without c. Each form is a theorem by induction over J:

    handed on   c' = g           c(J) = g(J-1) for J >= 1
    sum         c' = c + g       c(J) = c(0) + sum of g(i) over 0 <= i < J
    maximum     c' = max(c, g)   c(J) = max(c(0), g(i) over 0 <= i < J); minimum alike
    rescaled    c' = a*c + g     c(J) = (q(0)*c(0) + sum of q(i+1)*g(i)) / q(J), for a
                                 sequence q with a(j)*q(j+1) = q(j), where q(J) is not 0

For "rescaled": q(j+1)*c(j+1) = q(j)*c(j) + q(j+1)*g(j), which adds up. Sequences q are
found in two ways:

    exponentials  a = exp(u*m - u*m') where m' is what the loop yields for m:
                  q(j) = exp(u*m(j)). In q(j+1)*g(j) the maxima cancel before anything
                  is put in their place. This is all that online softmax needs.
    counts        a = n(j)/d(j) with d(j) = n(j+1), such as count/(count + 128):
                  q = n

Where a is the same in each iteration, c(J) is a sum with its powers, and where nothing
is known of a, one with products of those after it (`linear.py`).
Where g depends on the square of another carried value m, which is rescaled by a
sequence q (the sums of squares of Welford and Chan), a multiple of q*m*m is added to c
that leaves no m in what is added to both in an iteration:

    balanced    c' = c + g       c(J) + t*q(J)*m(J)^2 = c(0) + t*q(0)*m(0)^2 + sum of
                                 g(i) + t*(q(i+1)*m(i+1)^2 - q(i)*m(i)^2)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import product

from argus.terms import (
    MINUS_INFINITY,
    ONE,
    ZERO,
    Applied,
    Carried,
    IndexSet,
    Integer,
    Leaf,
    Max,
    Term,
    Unknown,
    Value,
    Variable,
    Whole,
    World,
    apply,
    leaf_term,
    number,
    reduce,
    reduced,
    replace,
    union,
)
from argus.terms.linear import coefficients, geometric, parted, weighted
from argus.terms.maxima import maximum_of_generators
from argus.terms.powers import exponential
from argus.verify.denotation.cases import chosen
from argus.verify.denotation.dependence import CARRIED, carried_in
from argus.verify.denotation.following import Followed, followed, unknown_number
from argus.verify.denotation.places import Gained, place_of_extreme
from argus.verify.denotation.rescaling import (
    Form,
    Recurrence,
    Scale,
    counts,
    exponentials,
)
from argus.verify.denotation.state import integers, variable_of

__all__ = ["Form", "Recurrence", "close_recurrences"]

Cases = list[tuple[IndexSet, Term]]


def close_recurrences(
    world: World, counter: Variable, found: Mapping[str, Recurrence | Unknown]
) -> dict[str, Form | Unknown]:
    """The form of each carried value, by name; Unknown where none applies."""
    solver = _Solver(world, counter, found)
    return solver.solve()


class _Solver:
    def __init__(
        self,
        world: World,
        counter: Variable,
        found: Mapping[str, Recurrence | Unknown],
    ) -> None:
        self.world, self.counter = world, counter
        self.found = {n: r for n, r in found.items() if isinstance(r, Recurrence)}
        self.scales: dict[str, Scale] = {}
        self.solved: dict[str, Form | Unknown] = {
            n: r for n, r in found.items() if isinstance(r, Unknown)
        }

    def solve(self) -> dict[str, Form | Unknown]:
        """Solve what depends on what is solved, until nothing more is."""
        left = list(self.found.values())
        while left:
            still: list[Recurrence] = []
            for one in left:
                form = self._solved(one)
                if form is None:
                    still.append(one)
                else:
                    self.solved[one.name] = form
            if len(still) == len(left):
                if self._follow(still):
                    left = [one for one in still if one.name not in self.solved]
                    continue
                for one in still:
                    why = f"a loop carries {one.leaf} on as {one.yielded}"
                    self.solved[one.name] = Unknown(_short(why))
                break
            left = still
        return self.solved

    def _follow(self, left: list[Recurrence]) -> bool:
        """Solve one that is relative to an unknown number: see `following.py`."""
        world, others = self.world, {one.name: one for one in left}
        for one in left:
            rest = {n: r for n, r in others.items() if n != one.name}
            found = followed(world, self.counter, one, rest)
            if found is None:
                continue
            name, every = found.me.name, tuple(self.found.values())
            number = unknown_number(world, every, self.counter, name)
            self.solved[name] = number
            for each in left:
                relative = followed(world, self.counter, each, {name: others[name]})
                if each.name != name and relative is not None:
                    self.solved[each.name] = self._relative(relative)
            return True
        return False

    def _relative(self, found: Followed) -> Form:
        """``exp(-u*m) * (sum of h)``."""
        world = self.world
        axes = self.found[found.me.name].axes
        env = dict(zip(axes, found.me.indices, strict=True))
        number = self._form(found.me.name)
        total = self._summed(Value.real(ZERO), Value.real(found.gained), None)

        def form(at: Integer) -> Value:
            there = world.substitute(number(at), env).term
            shift = Value.real(exponential(-found.unit * there))
            return apply(world, "mul", total(at), shift)

        return form

    def _solved(self, one: Recurrence) -> Form | Unknown | None:
        """None: it depends on what is not solved yet, or no form applies."""
        for name in carried_in(one.yielded) - {one.name}:
            form = self.solved.get(name)
            if isinstance(form, Unknown):
                return form
        try:
            if one.yielded.kind != "real":
                return self._counted(one) or self._handed_on(one) or self._place(one)
            return self._extreme(one) or self._linear(one)
        except Unknown as why:
            return why

    def _known(self, names: frozenset[str]) -> bool:
        return all(n in self.solved for n in names)

    # ------------------------------------------------------------------- maxima

    def _extreme(self, one: Recurrence) -> Form | None:
        """A maximum, or a minimum: the negative of a maximum of negatives."""
        for sign in (1, -1):
            gained = self._gained(one, sign)
            if gained is not None:
                return self._largest(one, gained, sign)
        return None

    def _largest(self, one: Recurrence, gained: Cases, sign: int) -> Form:
        world, j = self.world, self.counter
        body = self._closed(Value("real", tuple(gained)), Integer.atom(j))

        def form(at: Integer) -> Value:
            i = world.fresh("i", 0, at)
            each = world.substitute(body, {j: i})
            most = reduce(world, "max", (variable_of(i),), each)
            if sign > 0:
                return apply(world, "maximum", one.init, most)
            return apply(world, "minimum", one.init, apply(world, "neg", most))

        return form

    def _place(self, one: Recurrence) -> Form | None:
        """The place of an extreme that is carried, too: see `places.py`."""
        if one.yielded.kind != "integer":
            return None
        others: dict[str, tuple[Recurrence, Gained]] = {}
        for name in carried_in(one.yielded) - {one.name}:
            best = self.found.get(name)
            if best is None or best.yielded.kind != "real":
                return None
            if len(best.axes) == len(one.axes):
                others[name] = best, partial(self._gained, best)
        return place_of_extreme(self.world, self.counter, one, others)

    def _gained(self, one: Recurrence, sign: int) -> Cases | None:
        """What is compared with the carried value in an iteration."""
        me = leaf_term(one.leaf).scaled(sign)
        cases: Cases = []
        some = False
        for where, term in one.yielded.terms:
            if one.name in carried_in(where):
                return None
            if term.scaled(sign) == me:
                cases.append((where, MINUS_INFINITY))
                continue
            leaf = term.scaled(sign).single
            if not isinstance(leaf, Max):
                return None
            rest = [g for g in leaf.generators if g.body != me or g.variables]
            mine = [g for g in leaf.generators if g not in rest]
            if len(mine) != 1 or not mine[0].domain.is_universe or not rest:
                return None
            other = maximum_of_generators(self.world, rest)
            names = carried_in(other)
            if one.name in names or not self._known(names):
                return None
            cases.append((where, other))
            some = True
        return cases if some else None

    # ------------------------------------------------------------------- linear

    def _linear(self, one: Recurrence) -> Form | Unknown | None:
        factors: Cases = []
        gained: Cases = []
        for where, term in one.yielded.terms:
            if term.undefined is not None:  # whatever it is multiplied with before
                gained.append((where, term))
                continue
            parts = parted(term, _own(one))
            if parts is None or one.name in carried_in(where):
                return None
            factor, rest = parts
            if one.name in carried_in(factor) | carried_in(rest):
                return None
            factors.append((where, factor))
            gained.append((where, rest))
        rest = Value("real", tuple(gained))
        if not factors:
            return None
        if len({x for _, x in factors}) != 1:
            return self._weighted(one, _everywhere(factors, gained), rest)
        factor = factors[0][1]
        if factor == ZERO:
            return self._handed_on(one)
        if factor == ONE:
            if not self._known(carried_in(rest)):
                return None
            return self._balanced(one, rest) or self._summed(one.init, rest, None)
        return (
            self._rescaled(one, factor, rest)
            or self._geometric(one, factor, rest)
            or self._weighted(one, _everywhere(factors, gained), rest)
        )

    def _counted(self, one: Recurrence) -> Form | None:
        """A sum of integers."""
        if one.yielded.kind != "integer" or one.init.kind != "integer":
            return None
        me = Integer.atom(Applied(CARRIED + one.name, integers(one.axes)))
        steps = [(s, x - me) for s, x in one.yielded.integers]
        gained = Value("integer", tuple(steps))
        if carried_in(gained):
            return None
        return self._summed(one.init, gained, None)

    def _handed_on(self, one: Recurrence) -> Form | None:
        names = carried_in(one.yielded)
        if one.name in names or not self._known(names):
            return None
        world, j = self.world, self.counter
        made = self._closed(one.yielded, Integer.atom(j))

        def form(at: Integer) -> Value:
            begun = world.compare(at, ">=", 1)
            if world.is_empty(begun):
                return one.init
            earlier = world.substitute(made, {j: at - 1})
            if world.is_empty(~begun):
                return earlier
            return chosen(world, [(~begun, one.init), (begun, earlier)])

        return form

    def _summed(self, first: Value, gained: Value, over: Form | None) -> Form:
        """``(first + sum of gained) / over``."""
        world, j = self.world, self.counter
        body = self._closed(gained, Integer.atom(j))
        if body.kind == "real":
            body = Value("real", tuple((s, reduced(x)) for s, x in body.terms))

        def form(at: Integer) -> Value:
            i = world.fresh("i", 0, at)
            each = world.substitute(body, {j: i})
            total = reduce(world, "sum", (variable_of(i),), each)
            total = apply(world, "add", first, total)
            return total if over is None else apply(world, "div", total, over(at))

        return form

    def _rescaled(self, one: Recurrence, factor: Term, rest: Value) -> Form | None:
        scale = self._scale(factor)
        if scale is None:
            return None
        world = self.world
        self.scales[one.name] = scale
        following = Value.real(scale.following)
        gained = apply(world, "mul", rest, following)
        if not self._known(carried_in(gained)):
            return None
        at_first = scale.at(Integer.of(0))
        nothing = all(x == ZERO for _, x in one.init.terms)
        base = Value.real(ZERO)
        if not nothing:
            base = apply(world, "mul", one.init, at_first)
        form = self._summed(base, gained, None)

        def scaled(at: Integer) -> Value:
            total = form(at)
            inverse = scale.inverse(at)
            made = apply(world, "mul", total, inverse)
            if scale.positive and (nothing or not _vanishes(at_first)):
                return made
            begun = world.compare(at, ">=", 1)
            return chosen(world, [(~begun, one.init), (begun, made)])

        return scaled

    def _scale(self, factor: Term) -> Scale | None:
        world, counter = self.world, self.counter
        sources: dict[str, tuple[Recurrence, Form]] = {}
        for name, one in self.found.items():
            form = self.solved.get(name)
            if form is not None and not isinstance(form, Unknown):
                sources[name] = (one, form)
        scale = exponentials(world, counter, factor, sources)
        if scale is not None or not self._known(carried_in(factor)):
            return scale
        closed = self._closed(Value.real(factor), Integer.atom(counter))
        if len(closed.terms) != 1:
            return None
        return counts(world, counter, closed.terms[0][1])

    def _geometric(self, one: Recurrence, factor: Term, rest: Value) -> Form | None:
        """A factor that is the same in each iteration: a moving average, Horner."""
        if carried_in(factor) or self.counter in factor.free_variables():
            return None
        if not self._known(carried_in(rest)):
            return None
        world, counter = self.world, self.counter
        gained = self._closed(rest, Integer.atom(counter))
        return lambda at: geometric(world, one.init, factor, gained, counter, at)

    def _weighted(self, one: Recurrence, factors: Cases, rest: Value) -> Form | None:
        """A factor that each iteration computes without the carried value."""
        world, counter = self.world, self.counter
        factor = Value("real", tuple(factors))
        names = carried_in(factor) | carried_in(rest)
        if one.name in names or not self._known(names):
            return None
        at = Integer.atom(counter)
        factor, gained = self._closed(factor, at), self._closed(rest, at)
        return lambda at: weighted(world, one.init, factor, gained, counter, at)

    # ----------------------------------------------------------------- balanced

    def _balanced(self, one: Recurrence, gained: Value) -> Form | None:
        """A sum of what is quadratic in another carried value."""
        leaves = [leaf for _, x in gained.terms for leaf in _carried_leaves(x)]
        for me in dict.fromkeys(leaves):
            found = self._without_square(one, gained.terms, me)
            if found is not None:
                return found
        return None

    def _beside(self, term: Term, me: Carried) -> Term | None:
        """A term of which one carried value is left, if it has no cases."""
        at = Integer.atom(self.counter)
        found = self._closed(Value.real(term), at, me.name).terms
        return found[0][1] if len(found) == 1 else None

    def _without_square(
        self, one: Recurrence, gained: Sequence[tuple[IndexSet, Term]], me: Carried
    ) -> Form | None:
        """The form of ``c + t*q*m*m``, without that; None where m is left in it.

        ``gained``: what is added, by elements for which both recurrences say it.
        """
        world, counter = self.world, self.counter
        scale, other = self.scales.get(me.name), self.found.get(me.name)
        if scale is None or other is None:
            return None
        axes = dict(zip(other.axes, me.indices, strict=True))
        yielded = [
            (world.substitute(s, axes), world.substitute(x, axes))
            for s, x in other.yielded.terms
        ]
        if not all(world.is_subset(s, union(r for r, _ in yielded)) for s, _ in gained):
            return None
        q = scale.at(Integer.atom(counter))
        if len(q.terms) != 1:
            return None
        following = world.substitute(scale.following, axes)
        ratios: set[Fraction] = set()
        left: Cases = []
        for (s, x), (r, y) in product(gained, yielded):
            if world.is_empty(s & r):
                continue
            found = self._balance(x, y, me, (q.terms[0][1], following))
            if found is None:
                return None
            ratios.add(found[0])
            left.append((s & r, found[1]))
        if len(ratios) != 1:
            return None
        (times,) = ratios

        def square(at: Integer) -> Value:
            there = world.substitute(self._form(me.name)(at), axes)
            weighted = apply(world, "mul", scale.at(at), Value.real(number(times)))
            return apply(world, "mul", apply(world, "mul", weighted, there), there)

        first = apply(world, "add", one.init, square(Integer.of(0)))
        total = self._summed(first, Value("real", tuple(left)), None)
        return lambda at: apply(world, "sub", total(at), square(at))

    def _balance(
        self, summand: Term, yielded: Term, me: Carried, scale: tuple[Term, Term]
    ) -> tuple[Fraction, Term] | None:
        """(t, what is added to ``c + t*q*m*m``): without m; None where there is none.

        ``scale``: q, and what it is in the next iteration.
        """
        after, gained = self._beside(yielded, me), self._beside(summand, me)
        if gained is None or after is None:
            return None
        old, own = scale[0], leaf_term(me)
        grown = reduced(scale[1] * after * after - old * own * own)
        times = _ratio(coefficients(reduced(gained), me), coefficients(grown, me))
        if times is None:
            return None
        left = reduced(gained + grown.scaled(times))
        names = carried_in(left)
        return None if me.name in names or not self._known(names) else (times, left)

    # ------------------------------------------------------------------ closing

    def _form(self, name: str) -> Form:
        """The form of what is solved. Raises Unknown where it has none."""
        form = self.solved[name]
        if isinstance(form, Unknown):
            raise form
        return form

    def _closed(self, value: Value, at: Integer, but: str = "") -> Value:
        """Carried values but one replaced by their forms at an iteration."""
        world = self.world
        names = carried_in(value) - {but}
        if not names:
            return value
        cached: dict[str, Value] = {}

        def leaf(one: Leaf) -> Value | None:
            if not isinstance(one, Carried) or one.name not in names:
                return None
            if one.name not in cached:
                cached[one.name] = self._form(one.name)(at)
            axes = self.found[one.name].axes
            return world.substitute(
                cached[one.name], dict(zip(axes, one.indices, strict=True))
            )

        if value.kind != "real":
            raise Unknown("an integer that depends on what a loop carries")
        cases: list[tuple[IndexSet, Value]] = []
        for where, term in value.terms:
            if carried_in(where):
                raise Unknown("a condition on what a loop carries")
            closed = replace(world, term, leaf, {}) if carried_in(term) else None
            cases.append((where, Value.real(term) if closed is None else closed))
        return chosen(world, cases)


def _own(one: Recurrence) -> Leaf:
    """What stands for a carried value in what is yielded: whole numbers are atoms."""
    if one.init.kind == "real":
        return one.leaf
    return Whole(Applied(CARRIED + one.name, integers(one.axes)))


def _everywhere(factors: Cases, gained: Cases) -> Cases:
    """Factors with one wherever what is added is no number: which does not matter."""
    return factors + [(where, ONE) for where, x in gained if x.undefined is not None]


def _carried_leaves(term: Term) -> list[Carried]:
    """Carried values that are factors of products, each once."""
    found = [f for p in term.parts for f, _ in p.factors if isinstance(f, Carried)]
    return list(dict.fromkeys(found))


def _ratio(
    wanted: dict[int, Term] | None, given: dict[int, Term] | None
) -> Fraction | None:
    """The number t by which ``wanted + t*given`` has no square; None: there is none."""
    if wanted is None or given is None:
        return None
    square, grown = wanted.get(2, ZERO), given.get(2, ZERO)
    if not square.parts or square.parts.keys() != grown.parts.keys():
        return None
    first = next(iter(square.parts))
    return -Fraction(square.parts[first]) / Fraction(grown.parts[first])


def _vanishes(value: Value) -> bool:
    """Whether a value may be 0."""
    return any(x == ZERO for _, x in value.terms)


def _short(text: str, most: int = 300) -> str:
    return text if len(text) <= most else f"{text[:most]} ..."
