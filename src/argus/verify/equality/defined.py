"""What has to hold for terms to be the numbers that they claim to be.

Terms note it on the way (`argus.terms.obligations`). That a factor of minus infinity is
positive is asked of the launch where the factor is made of scalar arguments, and shown
to nobody otherwise. A divisor that is a sum has points wherever a store is reached, and
one that is a whole number (a size that a mean divides by) is not 0 there.
What only a reference divides by needs nothing: it says nothing where it is not defined.
A maximum that is stored is one of some number where a number stands for minus infinity:
over no points it would be that number.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.terms import (
    Base,
    Constant,
    Entry,
    Fold,
    IndexSet,
    Integer,
    Leaf,
    Max,
    Product,
    Scalar,
    Sum,
    Term,
    TermObligation,
    Unknown,
    Whole,
    World,
    leaf_term,
    union,
)
from argus.terms.affine import places
from argus.terms.counted import twins
from argus.terms.factored import factors
from argus.terms.powers import is_positive, raised
from argus.terms.required import is_required_above_zero
from argus.terms.show import show
from argus.terms.some_points import has_points, points, some_points
from argus.terms.term import ONE_PRODUCT
from argus.verify.denotation import Store
from argus.verify.equality.cancelled import is_also_needed
from argus.verify.equality.dominated import is_asked
from argus.verify.equality.mentioned import leaves
from argus.verify.equality.stored_axes import by_stores

__all__ = ["ABOVE_ZERO", "SOME", "asked", "empty_maximum", "unmet", "zero_divisor"]

ABOVE_ZERO = "is above 0"
"""What is not known of a factor of infinity."""
SOME = "is one of some number"
"""What is not known of a maximum beside a number that stands for infinity."""


def asked(world: World) -> tuple[str, ...]:
    """What is taken for granted of scalar arguments, in words."""
    found = (o.term for o in world.obligations if o.kind == "positive")
    terms = (t for t in found if isinstance(t, Term) and _of_scalars(t))
    return tuple(dict.fromkeys(f"{show(t)} is greater than 0" for t in terms))


def unmet(
    world: World,
    stores: Sequence[Store],
    noted: int,
) -> str:
    """An obligation that is not shown; "" where all are.

    ``noted``: how many are the kernel's. Later ones are those of its specification.
    """
    for number, obligation in enumerate(world.obligations):
        read = by_stores(world, obligation, stores)
        match obligation.kind:
            case "positive":
                term = obligation.term
                if not (isinstance(term, Term) and _is_positive(world, term)):
                    return (
                        f"whether {_text(obligation)}, a factor of infinity, "
                        f"{ABOVE_ZERO}"
                    )
            case "not empty":
                if number < noted and not all(
                    _has_points(world, one, of)
                    or _is_guarded(world, one, of)
                    or is_also_needed(world, one, of, noted)
                    for one, of in read
                ):
                    return f"whether {_text(obligation)}, a divisor, has no terms"
            case "finite":
                if number < noted and not all(
                    _met(world, one, of) or is_also_needed(world, one, of, noted)
                    for one, of in read
                ):
                    return f"whether {_text(obligation)} is finite: {obligation.why}"
            case "some":
                if not all(_some(world, one, of) for one, of in read):
                    return f"whether {_text(obligation)} {SOME}"
            case "divisor" | "root" | "logarithm":
                pass  # see `cancelled.py`
    return ""


def _some(world: World, found: TermObligation, stores: Sequence[Store]) -> bool:
    leaf = found.term.single if isinstance(found.term, Term) else None
    some = points(world, leaf) if isinstance(leaf, Max) else None
    return some is not None and _within(world, found.where, some, stores)


def _text(obligation: TermObligation) -> str:
    term = obligation.term
    return show(term) if isinstance(term, Term) else str(term)


def zero_divisor(world: World, where: IndexSet, term: Term) -> str:
    """A whole number that a term divides by and that may be 0 there; "" if none is.

    Not an entry of a table: what is equal to the term divides by that, too, and data
    for which a reference has no number are none of its inputs.
    """
    if not _divides(world, term):
        return ""
    for part in term.parts:
        for leaf, power in part.factors:
            divisor = _integer(leaf) if power < 0 else None
            if (
                divisor is not None
                and not _of_entries(divisor)
                and _may_vanish(world, where, divisor)
            ):
                return f"whether {show(divisor)}, a divisor, is 0"
            found = _inside(world, where, leaf)
            if found:
                return found
        if part.exponent is not None:
            found = zero_divisor(world, where, part.exponent)
            if found:
                return found
    return ""


def _may_vanish(world: World, where: IndexSet, divisor: Integer) -> bool:
    """Whether a whole number may be 0 in a set; a product, where a factor is."""
    if world.is_empty(where & world.compare(divisor, "==", 0)):
        return False
    parts = factors(divisor)
    return len(parts) == 1 or not all(
        world.is_empty(where & world.compare(x, "==", 0)) for x in parts
    )


def _of_entries(x: Integer) -> bool:
    return any(isinstance(atom, Entry) for atom in x.atoms())


def _divides(world: World, term: Term) -> bool:
    """Whether a term divides by a whole number anywhere."""
    key = ("divides", term)
    found = world.memory.get(key)
    if found is None:
        found = world.memory[key] = any(
            (power < 0 and _integer(leaf) is not None)
            or any(_divides(world, inner) for inner in leaf.terms)
            for part in term.parts
            for leaf, power in part.factors
        ) or any(
            _divides(world, part.exponent)
            for part in term.parts
            if part.exponent is not None
        )
    assert isinstance(found, bool)
    return found


def _inside(world: World, where: IndexSet, leaf: Leaf) -> str:
    parts = [(over.domain, over.body) for over in leaf.overs]
    if isinstance(leaf, Fold) or not parts:
        parts = [(IndexSet.universe, term) for term in leaf.terms]
    return next((x for s, t in parts if (x := zero_divisor(world, where & s, t))), "")


def empty_maximum(world: World, where: IndexSet, term: Term) -> str:
    """A maximum that may be over no points there; "" if none is.

    In an exponent it does not matter: that of a stand-in is 0, too.
    """
    if not world.finite_infinity:
        return ""
    for leaf in (leaf for part in term.parts for leaf, _ in part.factors):
        if isinstance(leaf, Max):
            some = points(world, leaf)
            if some is None or not world.is_subset(where, some):
                return f"whether {show(leaf_term(leaf))} {SOME}"
        domain = leaf.domain if isinstance(leaf, Sum) else IndexSet.universe
        for inner in leaf.terms:
            found = empty_maximum(world, where & domain, inner)
            if found:
                return found
    return ""


def _integer(leaf: Leaf) -> Integer | None:
    """The integer that a leaf is, if it is one."""
    if isinstance(leaf, Whole):
        return Integer.atom(leaf.atom)
    return leaf.term.integer if isinstance(leaf, Base) else None


def _is_positive(world: World, term: Term) -> bool:
    """Whether a factor of infinity is a scalar, or is required to be above 0."""
    return _of_scalars(term) or any(
        is_required_above_zero(world, one) for one in (term, raised(term, -1))
    )


def _of_scalars(term: Term) -> bool:
    return all(isinstance(leaf, Scalar | Constant) for leaf in leaves(term))


def _has_points(world: World, found: TermObligation, stores: Sequence[Store]) -> bool:
    if not isinstance(found.term, Term):
        return _met(world, found, stores)
    try:
        some = union(
            _supported(world, part)
            for part in found.term.parts
            if is_positive(Term({part: 1})) and not _has_base(part)
        )
    except Unknown:
        return False
    return _within(world, found.where, some, stores)


def _is_guarded(world: World, found: TermObligation, stores: Sequence[Store]) -> bool:
    """Whether it was asked, wherever it matters, if the divisor is above 0."""
    term = found.term
    return isinstance(term, Term) and all(
        is_asked(world, world.close(found.where & store.where), term)
        for store in stores
    )


def _has_base(part: Product) -> bool:
    """Whether it has a factor that is a sum of several terms and may be 0.

    One of numbers of one sign of which one is a constant (``1 + exp(x)``) is not 0.
    """
    bases = (leaf.term for leaf, _ in part.factors if isinstance(leaf, Base))
    return not all(is_positive(t) and ONE_PRODUCT in t.parts for t in bases)


def _supported(world: World, part: Product) -> IndexSet:
    """Where the sums of a product are over at least one point."""
    some = IndexSet.universe
    for leaf, _ in part.factors:
        if isinstance(leaf, Sum):
            known = some_points(world, [(leaf.variables, leaf.domain)])
            own = _at_twins(world, leaf) | _at_places(world, leaf)
            some = some & (known | own | _at_first(world, leaf))
    return some


def _at_first(world: World, leaf: Sum) -> IndexSet:
    """Where its first point is one: of several sums by data one has it, whichever."""
    return world.substitute(leaf.domain, dict.fromkeys(leaf.variables, Integer.of(0)))


def _at_twins(world: World, leaf: Sum) -> IndexSet:
    """Where a sum has a point at which entries of a table that it compares are one.

    Of keys that a query may see (`D[k] == D[q]`) it sees its own. Nowhere, of a sum
    over several variables.
    """
    if len(leaf.variables) != 1:
        return IndexSet.nothing
    (variable,) = leaf.variables
    domain = world.close(leaf.domain)
    return union(
        world.substitute(domain, {variable: place}) for place in twins(domain, variable)
    )


def _met(world: World, found: TermObligation, stores: Sequence[Store]) -> bool:
    if found.needs is None:
        return False
    if _within(world, found.where, found.needs, stores):
        return True
    leaf = found.term.single if isinstance(found.term, Term) else None
    own = IndexSet.nothing if leaf is None else _at_places(world, leaf)
    if not own.is_nothing and _within(world, found.where, found.needs | own, stores):
        return True
    return leaf is not None and _has_some_number(world, leaf, found.where, stores)


def _has_some_number(
    world: World, leaf: Leaf, where: IndexSet, stores: Sequence[Store]
) -> bool:
    """Whether an extreme is one of some number, whichever data chooses."""
    if not isinstance(leaf, Max) or len(leaf.generators) < 2:
        return False
    return all(has_points(world, where & store.where, leaf) for store in stores)


def _at_places(world: World, leaf: Leaf) -> IndexSet:
    """Where a sum or maximum has a point that a part of its set says itself: `k = q`.

    Whatever data decides, of `seen[q, k]` or `k = q`, a query sees its own key.
    """
    found = IndexSet.nothing
    for over in leaf.overs:
        if len(over.variables) == 1:
            (variable,) = over.variables
            domain = world.close(over.domain)
            for place in places(world, domain, variable, frozenset(over.variables)):
                found = found | world.substitute(domain, {variable: place})
    return found


def _within(
    world: World, where: IndexSet, needs: IndexSet, stores: Sequence[Store]
) -> bool:
    """Whether a set holds wherever a store is reached."""
    return all(world.is_subset(where & store.where, needs) for store in stores)
