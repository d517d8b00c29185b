"""The algebra of what elements are: integers, sets of points, terms, values by cases.

    world = World()
    n, k = world.size("N"), world.size("K")
    i = world.fresh("i", 0, k)
    dot = reduce(world, "sum", [i], Value.real(element("A", [i]) * element("B", [i])))

A kernel and what it should compute are turned into terms of one world; two terms that
are equal are equal real numbers wherever both are defined, up to the conventions and
obligations that the world lists. What has no term raises `Unknown`.

    integers.py, division.py        polynomials over atoms; quotients in one form
    sets.py, space.py, isl_sets.py  sets over isl, and its limits
    facts.py, products.py, comparisons.py, implied.py, counted.py, entries.py, world.py
                                    what is known of atoms, of entries of tables
    substitution.py, sampling.py    variables replaced; a point of a set
    leaves.py, term.py, powers.py,
    rationals.py, ends.py           terms in normal form; between which numbers one lies
    magnitudes.py, bounds.py,
    remainders.py                   how large a whole number of data may become
    narrowing.py, shifts.py         what is left in a type; bits that are moved
    factored.py, required.py        sizes that are products; what is above 0
    extreme_places.py               where the largest of some numbers may stand
    sums.py, extents.py, maxima.py, folds.py,
    binding.py, parting.py,
    opening.py                      terms over sets of points; bound variables
    absorbing.py                    single points as parts of a sum or maximum
    fuse.py, restrict.py,
    cut_data.py                     terms that differ in sets only; where a set holds
    unrolled.py                     sums and maxima over a few numbers, written out
    fractions.py, linear.py         what divides sums; what is linear in a leaf
    value.py, cast.py, apply.py,
    choosing.py, reduce.py          values by cases, and functions of them
    rebuild.py, replace.py          terms with variables, with leaves replaced
    literals.py, obligations.py,
    domains.py                      conventions, and what has to be checked
    mentioned.py, evaluate.py,
    input_values.py, show.py        what a term mentions, is at a point, looks like
"""

from argus.terms.apply import apply
from argus.terms.cast import cast
from argus.terms.choosing import selected
from argus.terms.entries import PairFact
from argus.terms.evaluate import evaluate, evaluate_value, holds_at
from argus.terms.fractions import reduced, vanishes
from argus.terms.input_values import RandomData
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
    Fold,
    Generated,
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
from argus.terms.mentioned import inputs
from argus.terms.obligations import AxisNames, Obligations, TermObligation
from argus.terms.reduce import reduce
from argus.terms.replace import replace
from argus.terms.restrict import restrict
from argus.terms.sets import IndexSet, intersection, union
from argus.terms.show import show
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
from argus.terms.unknown import (
    Changing,
    Exhausted,
    Failing,
    Unknown,
    Untraced,
    tracing_specification,
)
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
    "AxisNames",
    "Base",
    "Call",
    "Carried",
    "Changing",
    "Constant",
    "Element",
    "Entry",
    "Exhausted",
    "Failing",
    "Fold",
    "Generated",
    "Generator",
    "IndexSet",
    "Infinity",
    "Integer",
    "Kind",
    "Leaf",
    "Max",
    "Obligations",
    "Opaque",
    "PairFact",
    "Product",
    "RandomData",
    "Scalar",
    "Sum",
    "Term",
    "TermObligation",
    "Truncated",
    "Truth",
    "Undefined",
    "Unknown",
    "Untraced",
    "Value",
    "Variable",
    "Whole",
    "World",
    "apply",
    "cast",
    "element",
    "evaluate",
    "evaluate_value",
    "holds_at",
    "inputs",
    "intersection",
    "joined",
    "leaf_term",
    "literal",
    "merged",
    "number",
    "reduce",
    "reduced",
    "replace",
    "restrict",
    "selected",
    "show",
    "tracing_specification",
    "undefined",
    "union",
    "vanishes",
    "whole",
]
