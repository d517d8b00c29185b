"""Maxima without what is never the largest of them.

What is rounded to 8 bits is cut at their ends. A number that is divided by the largest
of its row, ``round(x * 127 / max(abs(x[k]) over k))``, is within them: the cut changes
nothing. What is used of a maximum is that it is at least each of its points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from argus.terms import (
    Base,
    Call,
    Element,
    Generator,
    IndexSet,
    Integer,
    Leaf,
    Max,
    Product,
    Term,
    Unknown,
    Variable,
    Whole,
    World,
    leaf_term,
)
from argus.terms.arithmetic import called
from argus.terms.cast import truncated
from argus.terms.ends import is_whole
from argus.terms.fractions import reduced
from argus.terms.integers import Entry, Truncated, Truth
from argus.terms.leafwise import with_leaves
from argus.terms.maxima import maximum_over, opened
from argus.terms.mentioned import inputs, inputs_of_leaf
from argus.terms.powers import is_nonnegative
from argus.terms.restrict import restrict
from argus.terms.term import Rational, whole
from argus.verify.equality.spread import without_spread
from argus.verify.equality.squares import is_square

__all__ = ["is_asked", "without_dominated"]

_STEPS = 6
"""How many leaves of a term are replaced by what they are at least, at most."""
_CUT = ("floor", "ceil", "round")


def without_dominated(world: World, here: IndexSet, term: Term) -> Term:
    """The same term, wherever a set holds, with maxima of fewer numbers."""
    if term.special is not None or not any(_is_cut(p) for p in term.parts):
        return term
    return with_leaves(term, lambda leaf: _in_leaf(world, here, leaf))


def _in_leaf(world: World, here: IndexSet, leaf: Leaf) -> Term:
    if isinstance(leaf, Max):
        return _largest(world, here, leaf)
    inside = _inside(leaf)
    made = [without_dominated(world, here, x) for x in inside]
    if made == inside:
        return leaf_term(leaf)
    if isinstance(leaf, Call):
        return called(world, leaf.function, made)
    if isinstance(leaf, Base):
        return made[0]
    return whole(truncated(world, made[0]))


def _inside(leaf: Leaf) -> list[Term]:
    """What a leaf is a function, a sum or the whole part of."""
    if isinstance(leaf, Base | Call):
        return list(leaf.terms)
    if isinstance(leaf, Whole) and isinstance(leaf.atom, Truncated):
        return [leaf.atom.term] if isinstance(leaf.atom.term, Term) else []
    return []


def _is_cut(part: Product) -> bool:
    for leaf, _ in part.factors:
        inside = _inside(leaf)
        if isinstance(leaf, Max):
            if _numbers(leaf):
                return True
            inside = [g.body for g in leaf.generators if not g.variables]
        if any(_is_cut(p) for x in inside for p in x.parts):
            return True
    return False


def _numbers(leaf: Max) -> list[Generator]:
    """Those generators that are one number."""
    return [
        g for g in leaf.generators if not g.variables and g.body.constant is not None
    ]


def _largest(world: World, here: IndexSet, leaf: Max) -> Term:
    """A maximum without numbers that another one of its terms is always at least."""
    left = list(leaf.generators)
    for one in _numbers(leaf):
        for other in left:
            if other is not one and other.variables:
                if _is_less(world, here, one, other):
                    left.remove(one)
                    break
                continue
            if other is one or not other.domain.is_universe:
                continue
            body = without_dominated(world, here, other.body)
            if never_negative(world, here, body - one.body) or (
                one.body.constant == 1 and _is_counted(world, here, body)
            ):
                left.remove(one)
                break
    found = [
        g.body if g.variables else without_dominated(world, here, g.body) for g in left
    ]
    if found == [g.body for g in leaf.generators]:
        return leaf_term(leaf)
    sources = [
        (g.variables, g.domain, body) for g, body in zip(left, found, strict=True)
    ]
    return maximum_over(world, opened(world, sources))


def _is_less(world: World, here: IndexSet, one: Generator, other: Generator) -> bool:
    """Whether a number is never more than any of some points, of which there is one.

    0, as padding has it, beside the absolute values of a row.
    """
    source = other.variables, other.domain, other.body
    ((names, domain, body),) = opened(world, [source])
    try:
        some = world.project(domain, names)
    except Unknown:
        return False
    if not world.is_subset(here & one.domain, some):
        return False
    return never_negative(world, world.close(here & domain), body - one.body)


def _is_counted(world: World, here: IndexSet, term: Term) -> bool:
    """Whether a set says of a whole number that it is above 0: then it is at least 1.

    So ``max(n, 1)`` is n where it was asked whether n is above 0.
    """
    return is_whole(term) and is_asked(world, here, term)


def is_asked(world: World, here: IndexSet, term: Term) -> bool:
    """Whether a set says of a term that it is above 0."""
    for atom in (a for monomial in here.monomials for a in monomial):
        if isinstance(atom, Truth) and atom.op == "gt":
            asked = atom.term
            assert isinstance(asked, Term)
            true = world.compare(Integer.atom(atom), "==", 1)
            if restrict(world, asked, here) == restrict(world, term, here):
                return world.is_subset(here, true)
    return False


def _is_by_type(world: World, number: Integer) -> bool:
    """Whether a number is at least 0 whatever entries of tables of their types are."""
    least = 0
    for monomial, factor in number.terms.items():
        entry = monomial[0] if len(monomial) == 1 else None
        if isinstance(entry, Entry) and entry.tensor in world.tables:
            low, high = world.tables[entry.tensor]
            least += factor * (low if factor > 0 else high)
        elif monomial:
            return False
        else:
            least += factor
    return least >= 0


def never_negative(
    world: World, here: IndexSet, term: Term, steps: int = _STEPS
) -> bool:
    """Whether a term is at least 0 wherever a set holds. False: not shown.

    That what it is divided by is not 0 is taken for granted.
    """
    if term.special is not None:
        return False
    if is_nonnegative(term) or is_square(term):
        return True
    number = term.integer
    if number is not None and (
        _is_by_type(world, number)
        or world.is_subset(here, world.compare(number, ">=", 0))
    ):
        return True
    if not steps:
        return False
    left = without_spread(world, here, term)
    if left is not None and never_negative(world, here, left, steps - 1):
        return True
    inside = _uncut(term)
    if inside is not None:
        return never_negative(world, here, inside, steps - 1)
    below = _divisor(term)
    if below is not None:
        above = reduced(term * below)
        return never_negative(world, here, below, steps - 1) and never_negative(
            world, here, above, steps - 1
        )
    for part, coefficient in term.parts.items():
        leaf = _only(part)
        if leaf is None or isinstance(leaf, Element):
            continue
        rest = term - Term({part: coefficient})
        if coefficient > 0:
            smaller = _at_least(world, here, leaf, rest)
            if any(
                never_negative(world, here, rest + x.scaled(times), steps - 1)
                for x in smaller
                for times in _times(leaf, coefficient, x, rest)
            ):
                return True
        else:
            every = _at_most(leaf)
            if every and all(
                never_negative(world, here, rest + x.scaled(coefficient), steps - 1)
                for x in every
            ):
                return True
    return False


def _only(part: Product) -> Leaf | None:
    """The leaf that a product is."""
    if part.exponent is not None or len(part.factors) != 1:
        return None
    ((leaf, power),) = part.factors
    return leaf if power == 1 else None


def _uncut(term: Term) -> Term | None:
    """``c*x + n`` of ``c*round(x) + n`` where n is a multiple of c: they have one sign.

    No whole number lies between x and what it is rounded to.
    """
    parts = [(p, c) for p, c in term.parts.items() if p.factors or p.exponent]
    if len(parts) != 1:
        return None
    ((part, coefficient),) = parts
    leaf = _only(part)
    if isinstance(leaf, Call) and leaf.function in _CUT:
        inside = leaf.args[0]
    elif isinstance(leaf, Whole) and isinstance(leaf.atom, Truncated):
        inside = leaf.atom.term
        assert isinstance(inside, Term)
    else:
        return None
    rest = term - Term({part: coefficient})
    constant = rest.constant
    if constant is None or constant % coefficient:
        return None
    return inside.scaled(coefficient) + rest


def _divisor(term: Term) -> Term | None:
    """Something that parts of a term are divided by."""
    for part in term.parts:
        for leaf, power in part.factors:
            if isinstance(power, int) and power < 0:
                return leaf.term if isinstance(leaf, Base) else leaf_term(leaf)
    return None


def _at_most(leaf: Leaf) -> list[Term]:
    """Numbers of which the largest is at least a leaf; none: not known."""
    if isinstance(leaf, Max):
        single = not any(g.variables for g in leaf.generators)
        return [g.body for g in leaf.generators] if single else []
    if isinstance(leaf, Call) and leaf.function == "abs":
        return [leaf.args[0], -leaf.args[0]]
    return []


def _at_least(world: World, here: IndexSet, leaf: Leaf, rest: Term) -> Iterator[Term]:
    """What a leaf is at least; of many points, those of which ``rest`` is made."""
    if isinstance(leaf, Call) and leaf.function == "abs":
        yield from (leaf.args[0], -leaf.args[0])
    if isinstance(leaf, Max):
        for generator in leaf.generators:
            if generator.variables:
                yield from _points(world, here, generator, leaf, rest)
            elif world.is_subset(here, generator.domain):
                yield generator.body


def _times(leaf: Leaf, most: Rational, x: Term, rest: Term) -> list[Rational]:
    """How many times a leaf is taken for x; of one that is not negative, also fewer."""
    found = [most]
    if is_nonnegative(leaf):
        for part, coefficient in x.parts.items():
            times = -Fraction(rest.parts.get(part, 0)) / Fraction(coefficient)
            if 0 < times < most:
                found.append(times)
    return found


def _points(
    world: World, here: IndexSet, generator: Generator, leaf: Leaf, rest: Term
) -> Iterator[Term]:
    """The body of a generator at points where it reads what ``rest`` reads."""
    source = generator.variables, generator.domain, generator.body
    ((names, domain, body),) = opened(world, [source])
    tried: set[tuple[Integer, ...]] = set()
    own = inputs_of_leaf(world, leaf)
    for mine in inputs(world, body):
        for theirs in sorted(inputs(world, rest), key=lambda x: x.key):
            if not isinstance(mine, Element) or not isinstance(theirs, Element):
                continue
            if mine.tensor != theirs.tensor or theirs in own:
                continue
            point = _point(names, mine, theirs)
            if point is None or tuple(point.values()) in tried:
                continue
            tried.add(tuple(point.values()))
            if world.is_subset(here, world.substitute(domain, point)):
                yield world.substitute(body, point)


def _point(
    names: Sequence[Variable], mine: Element, theirs: Element
) -> dict[Variable, Integer] | None:
    """Where variables have to be for one element to be another."""
    found: dict[Variable, Integer] = {}
    for a, b in zip(mine.indices, theirs.indices, strict=True):
        bound = [v for v in names if v in a.variables()]
        if len(bound) != 1 or bound[0] in found:
            continue
        factor = a.coefficient(bound[0])
        if factor in (1, -1):
            rest = a - Integer.atom(bound[0]) * factor
            found[bound[0]] = (b - rest) * factor
    return found if len(found) == len(names) else None
