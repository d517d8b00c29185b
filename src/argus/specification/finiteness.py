"""`np.isfinite` and `np.isinf`: where a maximum of nothing is infinite.

Terms are real numbers, and no NaN. So these are asked of what is a number or infinite
by its form: what divides, or is a logarithm, may be neither, and is not traced.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.terms import (
    MINUS_INFINITY,
    Call,
    IndexSet,
    Leaf,
    Term,
    Unknown,
    Value,
    World,
    apply,
)

__all__ = ["is_finite", "is_infinite"]


def is_finite(world: World, a: Value) -> Value:
    """Where a value is neither of both infinities. Raises Unknown."""
    return apply(world, "not", is_infinite(world, a))


def is_infinite(world: World, a: Value) -> Value:
    """Where a value is infinite. Raises Unknown where it may be no number at all."""
    if a.kind != "real":
        return Value.truth(IndexSet.nothing)
    for _, term in a.terms:
        if term.undefined is not None or any(_may_be_undefined(term)):
            raise Unknown("whether the reference asks if a quotient is finite")
    low, high = Value.real(MINUS_INFINITY), Value.real(-MINUS_INFINITY)
    below, above = (apply(world, "eq", a, x) for x in (low, high))
    return apply(world, "or", below, above)


def _may_be_undefined(term: Term) -> Iterator[bool]:
    """For each leaf with its power: whether it may be no number, nor infinite."""
    for part in term.parts:
        for leaf, power in part.factors:
            yield power != 1 and not (isinstance(power, int) and power > 0)
            yield from _in_leaf(leaf)
        if part.exponent is not None:
            yield from _may_be_undefined(part.exponent)


def _in_leaf(leaf: Leaf) -> Iterator[bool]:
    yield isinstance(leaf, Call) and leaf.function == "log"
    for inner in leaf.terms:
        yield from _may_be_undefined(inner)
