"""What an element is after a loop, from what one round makes of it.

See `repeating.py` for the forms and why they hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from argus.specification.array import Kind, SymbolicArray
from argus.specification.cases import chosen
from argus.specification.ragged import Ragged
from argus.specification.storage import Indices, Read
from argus.specification.tracing import Tracing
from argus.terms import (
    ONE,
    ZERO,
    Atom,
    Carried,
    Entry,
    IndexSet,
    Integer,
    Leaf,
    Max,
    Term,
    Unknown,
    Value,
    Variable,
    apply,
    leaf_term,
    merged,
    reduce,
    replace,
    union,
)
from argus.terms.affine import determined
from argus.terms.linear import geometric, parted, weighted
from argus.terms.maxima import maximum_of_generators

Case = tuple[IndexSet, Term | Integer]


class Round:
    """One round of a loop: its variable, and what is not known of it.

    Opaque values have one more index, ``before``, a variable that stands for nothing:
    whatever depends on an opaque value depends on this variable. ``own`` is that of the
    loop itself, where the round is one of fewer.
    """

    def __init__(self, tracing: Tracing, variable: Variable, length: Integer) -> None:
        self.tracing, self.variable, self.length = tracing, variable, length
        self.before = tracing.world.fresh("before")
        self._numbers = itertools.count()
        self._names: dict[int, tuple[Read, str]] = {}
        self._forms: dict[str, tuple[Read, Read, Read]] = {}
        self._open: list[str] = []
        """Names of what is being derived, each of which the one before depends on."""
        self.own = variable

    def opaque(self, kind: Kind) -> Read:
        """Elements of which nothing is known but their position."""
        world = self.tracing.world
        name = f"{self.before}.{next(self._numbers)}"

        def read(indices: Indices) -> Value:
            place = (*indices, self.before)
            if kind == "real":
                return Value.real(leaf_term(Carried(name, place)))
            entry = world.entry(name, place)
            if kind == "integer":
                return Value.whole(entry)
            return Value.truth(world.compare(entry, "!=", 0))

        self._names[id(read)] = read, name
        return read

    def handed_on(self, begin: Read, old: Read, new: Read) -> None:
        """What rounds hand on, and make of it: ``old`` is what `opaque` gave."""
        if (found := self._names.get(id(old))) is not None:
            self._forms[found[1]] = begin, old, new

    def _kept(self, where: IndexSet, term: Term, point: Integer) -> list[Case]:
        """What a round at ``point`` keeps of what rounds hand on (``out[h] = c``).

        It is the value after that round, if it is what the round hands on itself, or
        else something computed of those before it. Raises Unknown for what is not
        derived.
        """
        world = self.tracing.world
        for part in term.parts:
            for one, _ in part.factors:
                if not isinstance(one, Carried) or one.name not in self._forms:
                    continue
                new = self._forms[one.name][2](one.indices[:-1])
                handed = world.substitute(new, {self.own: point})
                if [x for _, x in handed.cases] == [term]:
                    made = self._until(one, point + 1)
                    return [(where & held, x) for held, x in made.cases]

        def leaf(one: Leaf) -> Value | None:
            if not isinstance(one, Carried) or one.name not in self._forms:
                return None
            return self._until(one, point)

        made = replace(world, term, leaf, {})
        if any(self.mentions(part) for case in made.cases for part in case):
            raise Unknown("a round of a loop keeps what is not derived")
        return [(where & held, x) for held, x in made.cases]

    def _until(self, one: Carried, length: Integer) -> Value:
        """What is handed on after so many rounds. Raises Unknown."""
        if one.name in self._open:
            raise Unknown("values that a loop hands on depend on each other")
        world = self.tracing.world
        begin, old, new = (read(one.indices[:-1]) for read in self._forms[one.name])
        i = world.fresh("h", 0, length)
        variable = i.single
        assert isinstance(variable, Variable)
        until = Round(self.tracing, variable, length)
        until.before, until.own = self.before, self.own
        until._forms, until._open = self._forms, [*self._open, one.name]
        return until.closed(begin, old, world.substitute(new, {self.own: i}))

    def _resolved(self, carried: Term | Integer, new: Value) -> Value:
        """What a round makes, with others that rounds hand on as what they are before.

        ``c = c + p * x`` where ``p = p * y``: all of p is known without c.
        """
        me = carried.single if isinstance(carried, Term) else None
        if not isinstance(me, Carried) or new.kind != "real":
            return new

        def leaf(one: Leaf) -> Value | None:
            if not isinstance(one, Carried) or one.name not in self._forms:
                return None
            if one.name == me.name:
                return None
            self._open.append(me.name)
            try:
                return self._until(one, Integer.atom(self.variable))
            finally:
                self._open.pop()

        cases: list[Case] = []
        for where, term in new.terms:
            made = replace(self.tracing.world, term, leaf, {})
            cases += [(where & held, x) for held, x in made.cases]
        return merged(self.tracing.world, "real", cases)

    def mentions(self, x: Term | Integer | IndexSet) -> bool:
        """Whether something depends on what is not known of a round."""
        found = x.free_variables() if isinstance(x, Term) else x.variables()
        return not found.isdisjoint(self.before.variables())

    def free(self, value: Value) -> Value:
        """The value, which must not depend on what is not known of a round."""
        for part in (value.where, *(x for case in value.cases for x in case)):
            if self.mentions(part):
                raise Unknown(
                    "the reference hands on a value from round to round in a way that "
                    "is not derived"
                )
        return value

    def listed(self, value: Value) -> Value:
        """What each round appends to a list, of what rounds hand on, too."""
        if value.kind != "real":
            return self.free(value)
        cases: list[Case] = []
        for where, term in value.terms:
            if self.mentions(where):
                raise Unknown("a round of a loop depends on what rounds before did")
            if self.mentions(term):
                cases += self._kept(where, term, Integer.atom(self.variable))
            else:
                cases.append((where, term))
        return merged(self.tracing.world, "real", cases)

    def fixed_sizes(self, array: SymbolicArray) -> None:
        """Raises Unknown for an array whose shape differs between rounds."""
        for size in array.sizes:
            if self.variable in size.variables() or self.mentions(size):
                raise Unknown("an array has another shape in each round of a loop")

    def closed(self, begin: Value, old: Value, new: Value, at: Indices = ()) -> Value:
        """An element after the last round. ``at``: which one, of an array.

        Raises Unknown where no form fits.
        """
        if new.kind == "truth" or old.kind == "truth":
            if new.kind == old.kind and new.where is old.where:
                return begin
            raise Unknown("a loop over a symbolic size hands on truth values")
        world = self.tracing.world
        (_, carried), *_ = old.cases
        new = self._resolved(carried, new)
        same: list[Case] = []
        added: list[Case] = []
        put: list[Case] = []
        extremes: dict[str, list[Case]] = {"max": [], "min": []}
        scaled = self._scaled(begin, carried, new)
        if scaled is not None:
            return scaled
        for where, x in new.cases:
            if self.mentions(where):
                raise Unknown("a round of a loop depends on what rounds before did")
            point = determined(world, world.close(where), self.variable)
            if point is not None:  # `out[h]` is the element itself in this case
                x = world.substitute(x, {self.variable: point})
            x = self._in_place(where, x, carried)
            rest = _difference(x, carried)
            if rest is not None and not self.mentions(rest):
                (added if x != carried else same).append((where, rest))
            elif not self.mentions(x):
                put.append((where, x))
            elif (once := self._once(begin, carried, new, at)) is not None:
                return once
            elif point is not None and isinstance(x, Term):
                put += self._kept(where, x, point)
            elif (found := self._extreme(x, carried)) is not None:
                extremes[found[0]].append((where, found[1]))
            else:
                raise Unknown(
                    "a loop over a symbolic size has a recurrence that is not derived"
                )
        if sum(map(bool, (added, put, *extremes.values()))) > 1:
            raise Unknown("a loop over a symbolic size changes elements in two ways")
        for function, kept in extremes.items():
            if kept:
                largest = merged(world, "real", kept)
                total = reduce(world, function, [self.variable], largest)
                return apply(world, f"{function}imum", begin, total)
        if added:
            step = merged(world, new.kind, [*added, *same])
            total = reduce(world, "sum", [self.variable], step)
            return apply(world, "add", begin, total)
        return self._assigned(begin, put, new.kind, at) if put else begin

    def _once(
        self, begin: Value, carried: Term | Integer, new: Value, at: Indices
    ) -> Value | None:
        """An element that one round alone changes: what it makes of what was there.

        ``out[h] = out[h] * f(h)``. None: it is another element.
        """
        world, me = self.tracing.world, carried.single
        changed = [(where, x) for where, x in new.cases if x != carried]
        held = union(where for where, _ in changed)
        point = determined(world, world.close(held), self.variable)
        if point is None or not isinstance(me, Carried) or begin.kind != "real":
            return None
        made: list[Case] = []
        for where, x in changed:
            x = world.substitute(x, {self.variable: point})
            x = self._in_place(where, x, carried)
            if not isinstance(x, Term):
                return None
            value = replace(world, x, lambda one: begin if one == me else None, {})
            made += [(where & there, term) for there, term in value.terms]
        if any(self.mentions(part) for case in made for part in case):
            return None
        return self._assigned(begin, made, new.kind, at)

    def _in_place(
        self, where: IndexSet, x: Term | Integer, carried: Term | Integer
    ) -> Term | Integer:
        """What a round makes, with the element under the index that it is asked for.

        ``out[I[p]] += 1`` adds to the element of which the index is the entry.
        """
        world, me = self.tracing.world, carried.single

        def is_here(indices: Indices, mine: Indices) -> bool:
            there = zip(indices, mine, strict=True)
            same = (world.compare(i, "==", j) for i, j in there)
            return all(world.is_subset(where, held) for held in same)

        if isinstance(x, Integer) and isinstance(me, Entry):
            atoms: dict[Atom, Integer] = {
                atom: Integer.atom(me)
                for atom in x.atoms()
                if isinstance(atom, Entry)
                and atom.tensor == me.tensor
                and is_here(atom.indices, me.indices)
            }
            return replace(world, Value.whole(x), lambda _: None, {}, atoms).integer
        if not isinstance(x, Term) or not isinstance(me, Carried):
            return x

        def leaf(one: Leaf) -> Value | None:
            if not isinstance(one, Carried) or one.name != me.name:
                return None
            here = is_here(one.indices, me.indices)
            return Value.real(leaf_term(me)) if here else None

        return replace(world, x, leaf, {}).term

    def _scaled(
        self, begin: Value, carried: Term | Integer, new: Value
    ) -> Value | None:
        """An element that each round multiplies by the same before it adds to it."""
        me = carried.single if isinstance(carried, Term) else None
        if me is None or new.kind != "real":
            return None
        factors: list[Case] = []
        gained: list[Case] = []
        for where, made in new.terms:
            term = self._in_place(where, made, carried)
            parts = parted(term, me) if isinstance(term, Term) else None
            if parts is None or any(map(self.mentions, (where, *parts))):
                return None
            factors.append((where, parts[0]))
            gained.append((where, parts[1]))
        if all(x in (ZERO, ONE) for _, x in factors):
            return None
        (factor, *others) = {x for _, x in factors if isinstance(x, Term)}
        world = self.tracing.world
        step = merged(world, "real", gained)
        if others or self.variable in factor.free_variables():
            each = merged(world, "real", factors)
            return weighted(world, begin, each, step, self.variable, self.length)
        return geometric(world, begin, factor, step, self.variable, self.length)

    def _extreme(
        self, x: Term | Integer, carried: Term | Integer
    ) -> tuple[str, Term] | None:
        """("max" or "min", ``g``) where ``x`` is that of ``carried`` and ``g``."""
        if not isinstance(x, Term) or not isinstance(carried, Term):
            return None
        for function, term, old in (("max", x, carried), ("min", -x, -carried)):
            leaf = term.single
            if not isinstance(leaf, Max):
                continue
            rest = [
                g
                for g in leaf.generators
                if g.variables or not g.domain.is_universe or g.body != old
            ]
            found = maximum_of_generators(self.tracing.world, rest)
            if len(rest) < len(leaf.generators) and not self.mentions(found):
                return function, found if function == "max" else -found
        return None

    def _assigned(
        self, begin: Value, cases: Sequence[Case], kind: Kind, place: Indices
    ) -> Value:
        """An element that a round sets, if it sets it at all."""
        world = self.tracing.world
        where = IndexSet.nothing
        for held, _ in cases:
            where = where | held
        value = merged(world, kind, cases)  # type: ignore[arg-type]
        if self.tracing.holds(where):
            at, some = self.length - 1, world.compare(self.length, ">", 0)
        else:
            point = determined(world, world.close(where), self.variable)
            if point is None:
                round_ = Ragged(self.tracing, self.variable, self.length, where)
                return round_.assigned(begin, value, place)
            at = point
            some = world.compare(at, ">=", 0) & world.compare(at, "<", self.length)
            some = some & world.substitute(where, {self.variable: at})
        last = world.substitute(value, {self.variable: at})
        return chosen(world, some, lambda: last, lambda: begin)


def _difference(x: Term | Integer, carried: Term | Integer) -> Term | Integer | None:
    """``x - carried``, of one kind."""
    if isinstance(x, Term) and isinstance(carried, Term):
        return x - carried
    if isinstance(x, Integer) and isinstance(carried, Integer):
        return x - carried
    return None
