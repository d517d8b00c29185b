"""Terms that differ in sets only, put together.

A term that is ``p`` on one set and ``q`` on another is often one term: a sum whose set
is that of ``p`` on the one and that of ``q`` on the other. `shape` says which terms can
be; `fused` makes it.
"""

from __future__ import annotations

from fractions import Fraction

from argus.terms.leaves import (
    Base,
    Call,
    Carried,
    Element,
    Fold,
    Generated,
    Generator,
    Leaf,
    Max,
    Sum,
    Whole,
)
from argus.terms.sets import IndexSet
from argus.terms.term import Product, Rational, Term
from argus.terms.world import World


def shape(world: World, term: Term) -> str:
    """A text that is the same for terms that differ in sets only."""
    if not term.height:
        return term.key
    key = ("shape", term)
    found = world.memory.get(key)
    if found is None:
        parts = sorted(
            f"{c}*{shape_of_product(world, p)}" for p, c in term.parts.items()
        )
        found = world.memory[key] = "+".join(parts)
    assert isinstance(found, str)
    return found


def of_leaf(world: World, leaf: Leaf) -> str:
    """The shape of a leaf."""
    if not leaf.height:
        return leaf.key
    match leaf:
        case Element() | Carried() | Whole():
            return leaf.key
        case Sum():
            return f"sum{len(leaf.variables)} {shape(world, leaf.body)}"
        case Generated():
            inner = sorted(_of_generator(world, g) for g in leaf.generators)
            return f"{leaf.function}{{{','.join(inner)}}}"
        case _:
            inner = [shape(world, t) for t in leaf.terms]
            name = leaf.function if isinstance(leaf, Call) else "base"
            return f"{name}({','.join(inner)})"


def _of_generator(world: World, generator: Generator) -> str:
    return f"{len(generator.variables)} {shape(world, generator.body)}"


def shape_of_product(world: World, product: Product) -> str:
    """The shape of a product."""
    text = "*".join(sorted(f"{of_leaf(world, f)}^{y}" for f, y in product.factors))
    if product.exponent is not None:
        text += f"*exp({shape(world, product.exponent)})"
    return text


def fused(
    world: World, left: Term, here: IndexSet, right: Term, there: IndexSet
) -> Term | None:
    """One term that is one on a set and the other on another, or None.

    Where the sets overlap, both have to be the same.
    """
    if left == right:
        return left
    if shape(world, left) != shape(world, right):
        return None
    theirs = {shape_of_product(world, p): (p, c) for p, c in right.parts.items()}
    if len(theirs) != len(right.parts):
        return None
    parts: dict[Product, Rational] = {}
    for part, coefficient in left.parts.items():
        other, factor = theirs[shape_of_product(world, part)]
        if Fraction(factor) != coefficient:
            return None
        made = fused_product(world, part, here, other, there)
        if made is None or made in parts:
            return None
        parts[made] = coefficient
    return Term(parts)


def fused_product(
    world: World, left: Product, here: IndexSet, right: Product, there: IndexSet
) -> Product | None:
    """One product that is one on a set and the other on another, or None."""
    theirs = {f"{of_leaf(world, f)}^{y}": f for f, y in right.factors}
    if len(theirs) != len(right.factors):
        return None
    factors: dict[Leaf, Rational] = {}
    for leaf, power in left.factors:
        other = theirs[f"{of_leaf(world, leaf)}^{power}"]
        made = _fused_leaf(world, leaf, here, other, there)
        if made is None or made in factors:
            return None
        factors[made] = power
    exponent = None
    if left.exponent is not None and right.exponent is not None:
        exponent = fused(world, left.exponent, here, right.exponent, there)
        if exponent is None:
            return None
    return Product(factors, exponent)


def _fused_leaf(
    world: World, left: Leaf, here: IndexSet, right: Leaf, there: IndexSet
) -> Leaf | None:
    if left == right:
        return left
    match left, right:
        case Sum(), Sum():
            if left.variables != right.variables:
                return None
            domain = _fused_set(world, left.domain, here, right.domain, there)
            body = fused(
                world, left.body, left.domain & here, right.body, right.domain & there
            )
            if domain is None or body is None:
                return None
            return _same_names(left, Sum(len(left.variables), domain, body))
        case Generated(), Generated():
            made = _fused_generators(world, left, here, right, there)
            if made is None:
                return None
            return Max(made) if isinstance(left, Max) else Fold(left.function, made)
        case Base(), Base():
            body = fused(world, left.term, here, right.term, there)
            return None if body is None else Base(body)
        case Call(), Call():
            args: list[Term] = []
            for mine, other in zip(left.args, right.args, strict=True):
                arg = fused(world, mine, here, other, there)
                if arg is None:
                    return None
                args.append(arg)
            return Call(left.function, args)
        case _:
            return None


def _fused_generators(
    world: World, left: Generated, here: IndexSet, right: Generated, there: IndexSet
) -> list[Generator] | None:
    theirs = {_of_generator(world, g): g for g in right.generators}
    if len(theirs) != len(right.generators):
        return None
    generators: list[Generator] = []
    for mine in left.generators:
        other = theirs.get(_of_generator(world, mine))
        if other is None:
            return None
        if mine.variables != other.variables:
            return None
        domain = _fused_set(world, mine.domain, here, other.domain, there)
        body = fused(
            world, mine.body, mine.domain & here, other.body, other.domain & there
        )
        if domain is None or body is None:
            return None
        made = Generator(len(mine.variables), domain, body)
        if made.variables != mine.variables:
            return None
        generators.append(made)
    return generators if len(generators) == len(theirs) else None


def _fused_set(
    world: World, left: IndexSet, here: IndexSet, right: IndexSet, there: IndexSet
) -> IndexSet | None:
    left, right = left & here, right & there
    if not world.equal_sets(left & there, right & here):
        return None
    return world.canonical(left | right)


def _same_names(old: Sum, new: Sum) -> Sum | None:
    """A sum, if its variables are called what those of another are."""
    return new if new.variables == old.variables else None
