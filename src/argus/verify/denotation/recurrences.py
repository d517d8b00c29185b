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
is known of a, one with products of those after it (`linear.py`). Extremes are in
`extremes.py`, sums of squares of what is rescaled in `balanced.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from argus.terms import (
    ONE,
    ZERO,
    Applied,
    Integer,
    Leaf,
    Term,
    Unknown,
    Value,
    Variable,
    Whole,
    World,
    apply,
)
from argus.terms.idle_data import without_idle_data
from argus.terms.linear import geometric, parted, weighted
from argus.terms.powers import exponential
from argus.verify.denotation.balanced import balanced
from argus.verify.denotation.cases import chosen
from argus.verify.denotation.dependence import CARRIED, carried_in
from argus.verify.denotation.extremes import extreme, place, whole_extreme
from argus.verify.denotation.following import Followed, followed, unknown_number
from argus.verify.denotation.known_forms import Cases, KnownForms
from argus.verify.denotation.peeling import after_first, begun
from argus.verify.denotation.rescaling import (
    Form,
    Recurrence,
    Scale,
    counts,
    exponentials,
)
from argus.verify.denotation.state import integers

__all__ = ["Form", "Recurrence", "close_recurrences"]


def close_recurrences(
    world: World, counter: Variable, found: Mapping[str, Recurrence | Unknown]
) -> dict[str, Form | Unknown]:
    """The form of each carried value, by name; Unknown where none applies.

    A loop that begins in another way is read without its first iteration where that
    makes something anew, and else where it is not known as it is.
    """
    found = {name: _without_idle(world, one) for name, one in found.items()}

    def solved(some: Mapping[str, Recurrence | Unknown]) -> dict[str, Form | Unknown]:
        return _Solver(world, counter, some).solve()

    rest = begun(world, counter, found, anew=True)
    if rest is not None:
        made, names = solved(rest), list(found)
        whole = solved(found) if _open(made) else dict(made)
    else:
        whole = solved(found)
        names = _open(whole)
        rest = begun(world, counter, found) if names else None
        if rest is None:
            return whole
        made = solved(rest)
    for name in names:
        one, form = found[name], made[name]
        if isinstance(one, Recurrence) and not isinstance(form, Unknown):
            whole[name] = after_first(world, one, form)
    return whole


def _without_idle(world: World, one: Recurrence | Unknown) -> Recurrence | Unknown:
    """A recurrence with cases that ask of carried values only where it matters.

    Beside a tensor nothing is larger than what is carried, whatever that is.
    """
    if isinstance(one, Unknown) or one.yielded.kind == "truth":
        return one
    if not any(carried_in(where) for where, _ in one.yielded.cases):
        return one
    cases = (
        (without_idle_data(world, world.close(where)), x)
        if carried_in(where)
        else (where, x)
        for where, x in one.yielded.cases
    )
    return replace(one, yielded=Value(one.yielded.kind, tuple(cases)))


def _open(made: Mapping[str, Form | Unknown]) -> list[str]:
    return [name for name, form in made.items() if isinstance(form, Unknown)]


class _Solver(KnownForms):
    """Finds a form for each recurrence."""

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
        number = self.form(found.me.name)
        total = self.summed(Value.real(ZERO), Value.real(found.gained))

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
                return (
                    self._counted(one)
                    or self._handed_on(one)
                    or place(self, one)
                    or whole_extreme(self, one)
                )
            return extreme(self, one) or self._linear(one)
        except Unknown as why:
            return why

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
            scaled = self._rescaled(one, factors, rest)
            return scaled or self._weighted(one, _everywhere(factors, gained), rest)
        factor = factors[0][1]
        if factor == ZERO:
            return self._handed_on(one)
        if factor == ONE:
            if not self.has(carried_in(rest)):
                return None
            return balanced(self, one, rest) or self.summed(one.init, rest)
        return (
            self._rescaled(one, factors[:1], rest)
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
        return self.summed(one.init, gained)

    def _handed_on(self, one: Recurrence) -> Form | None:
        names = carried_in(one.yielded)
        if one.name in names or not self.has(names):
            return None
        world, j = self.world, self.counter
        made = self.closed(one.yielded, Integer.atom(j))

        def form(at: Integer) -> Value:
            begun = world.compare(at, ">=", 1)
            if world.is_empty(begun):
                return one.init
            earlier = world.substitute(made, {j: at - 1})
            if world.is_empty(~begun):
                return earlier
            return chosen(world, [(~begun, one.init), (begun, earlier)])

        return form

    def _rescaled(self, one: Recurrence, factors: Cases, rest: Value) -> Form | None:
        scale = self._scale(factors)
        if scale is None:
            return None
        world = self.world
        if len(scale.following.terms) == 1:
            self.scales[one.name] = scale
        gained = apply(world, "mul", rest, scale.following)
        if not self.has(carried_in(gained)):
            return None
        at_first = scale.at(Integer.of(0))
        nothing = all(x == ZERO for _, x in one.init.terms)
        base = Value.real(ZERO)
        if not nothing:
            base = apply(world, "mul", one.init, at_first)
        form = self.summed(base, gained)

        def scaled(at: Integer) -> Value:
            total = form(at)
            inverse = scale.inverse(at)
            made = apply(world, "mul", total, inverse)
            if scale.positive and (nothing or not _vanishes(at_first)):
                return made
            begun = world.compare(at, ">=", 1)
            return chosen(world, [(~begun, one.init), (begun, made)])

        return scaled

    def _scale(self, factors: Cases) -> Scale | None:
        world, counter = self.world, self.counter
        sources: dict[str, tuple[Recurrence, Form]] = {}
        for name, one in self.found.items():
            form = self.solved.get(name)
            if form is not None and not isinstance(form, Unknown):
                sources[name] = (one, form)
        scale = exponentials(world, counter, factors, sources)
        if scale is not None or len(factors) > 1:
            return scale
        ((_, factor),) = factors
        if not self.has(carried_in(factor)):
            return None
        closed = self.closed(Value.real(factor), Integer.atom(counter))
        if len(closed.terms) != 1:
            return None
        return counts(world, counter, closed.terms[0][1])

    def _geometric(self, one: Recurrence, factor: Term, rest: Value) -> Form | None:
        """A factor that is the same in each iteration: a moving average, Horner."""
        if carried_in(factor) or self.counter in factor.free_variables():
            return None
        if not self.has(carried_in(rest)):
            return None
        world, counter = self.world, self.counter
        gained = self.closed(rest, Integer.atom(counter))
        return lambda at: geometric(world, one.init, factor, gained, counter, at)

    def _weighted(self, one: Recurrence, factors: Cases, rest: Value) -> Form | None:
        """A factor that each iteration computes without the carried value."""
        world, counter = self.world, self.counter
        factor = Value("real", tuple(factors))
        names = carried_in(factor) | carried_in(rest)
        if one.name in names or not self.has(names):
            return None
        at = Integer.atom(counter)
        factor, gained = self.closed(factor, at), self.closed(rest, at)
        return lambda at: weighted(world, one.init, factor, gained, counter, at)


def _own(one: Recurrence) -> Leaf:
    """What stands for a carried value in what is yielded: whole numbers are atoms."""
    if one.init.kind == "real":
        return one.leaf
    return Whole(Applied(CARRIED + one.name, integers(one.axes)))


def _everywhere(factors: Cases, gained: Cases) -> Cases:
    """Factors with one wherever what is added is no number: which does not matter."""
    return factors + [(where, ONE) for where, x in gained if x.undefined is not None]


def _vanishes(value: Value) -> bool:
    """Whether a value may be 0."""
    return any(x == ZERO for _, x in value.terms)


def _short(text: str, most: int = 300) -> str:
    return text if len(text) <= most else f"{text[:most]} ..."
