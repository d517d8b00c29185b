"""What is solved of the recurrences of one loop, and values with that put in.

Which form a recurrence has is decided in `recurrences.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.terms import (
    Carried,
    IndexSet,
    Integer,
    Leaf,
    Term,
    Unknown,
    Value,
    Variable,
    World,
    apply,
    reduce,
    reduced,
    replace,
)
from argus.terms.absorbing import absorbed
from argus.terms.integers import variable_of
from argus.terms.opening import Closing
from argus.terms.sums import tidy
from argus.verify.denotation.cases import chosen
from argus.verify.denotation.dependence import carried_in
from argus.verify.denotation.rescaling import Form, Recurrence, Scale

__all__ = ["Cases", "KnownForms"]

Cases = list[tuple[IndexSet, Term]]


class KnownForms:
    """The forms that are known, by name.

    ``found``: what one iteration makes of each carried value, by name; ``counter``: the
    iteration. ``scales``: the sequences by which values are rescaled, by name.
    """

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

    def has(self, names: frozenset[str]) -> bool:
        """Whether all of these are solved."""
        return all(n in self.solved for n in names)

    def summed(self, first: Value, gained: Value) -> Form:
        """``first + sum of gained``."""
        world, j = self.world, self.counter
        body = self.closed(gained, Integer.atom(j))
        if body.kind == "real":
            body = Value("real", tuple((s, reduced(x)) for s, x in body.terms))

        def form(at: Integer) -> Value:
            with Closing(world, Value.free_variables) as closed:
                i = world.opened("i", Integer.of(0), at)
                each = world.substitute(body, {j: i})
                total = closed(reduce(world, "sum", (variable_of(i),), each))
            return _one_sum(world, apply(world, "add", first, total))

        return form

    def form(self, name: str) -> Form:
        """The form of what is solved. Raises Unknown where it has none."""
        form = self.solved[name]
        if isinstance(form, Unknown):
            raise form
        return form

    def closed(self, value: Value, at: Integer, but: str = "") -> Value:
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
                cached[one.name] = self.form(one.name)(at)
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


def _one_sum(world: World, value: Value) -> Value:
    """A value with what a loop began with as points of the loop's own sums.

    A step that is taken before the loop is one of the sum, wherever the result is used:
    in a condition, an exponent, or several times.
    """
    if value.kind != "real":
        return value
    cases = ((held, tidy(world, x)) for held, x in value.terms)
    anywhere = IndexSet.universe
    return Value(
        "real", tuple((held, absorbed(world, anywhere, x)) for held, x in cases)
    )
