"""The algebra of what elements are: integers, sets of points, terms, values by cases.

    world = World()
    n, k = world.size("N"), world.size("K")
    i = world.fresh("i", 0, k)
    dot = reduce(world, "sum", [i], Value.real(element("A", [i]) * element("B", [i])))

A kernel and what it should compute are turned into terms of one world; two terms that
are equal are equal real numbers wherever both are defined, up to the conventions and
obligations that the world lists. What has no term raises `Unknown`.

    integers.py, division.py        polynomials over atoms; quotients in one form
    sets.py, facts.py, world.py     sets over isl, and what is known of atoms
    substitution.py, sampling.py    variables replaced; a point of a set
    leaves.py, term.py, powers.py   terms in normal form
    sums.py, maxima.py              terms over sets of points
    value.py, cast.py, apply.py     values by cases, and functions of them
    literals.py, obligations.py     conventions, and what has to be checked
"""

from argus.terms.apply import apply
from argus.terms.cast import cast
from argus.terms.integers import (
    Applied,
    Atom,
    Entry,
    Integer,
    Opaque,
    Truncated,
    Truth,
    Variable,
)
from argus.terms.leaves import (
    Base,
    Call,
    Carried,
    Constant,
    Element,
    Generator,
    Infinity,
    Leaf,
    Max,
    Scalar,
    Sum,
    Undefined,
    Whole,
)
from argus.terms.literals import literal
from argus.terms.obligations import Obligation, Obligations
from argus.terms.reduce import reduce
from argus.terms.replace import replace
from argus.terms.restrict import restrict
from argus.terms.sets import IndexSet, intersection, union
from argus.terms.term import (
    LN2,
    MINUS_INFINITY,
    ONE,
    PI,
    ZERO,
    Product,
    Term,
    element,
    leaf_term,
    number,
    undefined,
    whole,
)
from argus.terms.unknown import Unknown
from argus.terms.value import Kind, Value, joined, merged
from argus.terms.world import World

__all__ = [
    "LN2",
    "MINUS_INFINITY",
    "ONE",
    "PI",
    "ZERO",
    "Applied",
    "Atom",
    "Base",
    "Call",
    "Carried",
    "Constant",
    "Element",
    "Entry",
    "Generator",
    "IndexSet",
    "Infinity",
    "Integer",
    "Kind",
    "Leaf",
    "Max",
    "Obligation",
    "Obligations",
    "Opaque",
    "Product",
    "Scalar",
    "Sum",
    "Term",
    "Truncated",
    "Truth",
    "Undefined",
    "Unknown",
    "Value",
    "Variable",
    "Whole",
    "World",
    "apply",
    "cast",
    "element",
    "intersection",
    "joined",
    "leaf_term",
    "literal",
    "merged",
    "number",
    "reduce",
    "replace",
    "restrict",
    "undefined",
    "union",
    "whole",
]
