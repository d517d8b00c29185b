"""Which values lie between two products, as the first step to attention.

    for chain in chains_to(value, free): ...

Between are maps and reductions of what the first product gives. Whether a kernel can
compute them is for `attention_form.py` to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import permutations

from argus.programs.tensor_program import (
    ContractPrimitive,
    MapPrimitive,
    ProgramValue,
    ReducePrimitive,
    operands_of,
)

_MOST_VALUES = 64
"""Values between two products, at most."""


def chains_to(
    value: ProgramValue, free: Collection[ProgramValue]
) -> Iterator[frozenset[ProgramValue]]:
    """For each product from which one operand comes, all that is computed between.

    That product is among them, and so are the values of ``free`` (made of positions)
    that are read there.
    """
    if not isinstance(value.made, ContractPrimitive) or value.made.alone:
        return
    for operand in operands_of(value):
        if isinstance(operand.value.made, ContractPrimitive):
            continue  # products of products: nothing between them is saved
        found = _above(operand.value, free)
        for first in [v for v in found if isinstance(v.made, ContractPrimitive)]:
            between = _depending(found, first)
            if operand.value in between:
                yield between | {v for v in found if v in free}


def softmax_before(value: ProgramValue) -> bool:
    """Whether exponentials lie between a product and one before."""
    return any(
        isinstance(v.made, MapPrimitive) and v.made.function == "exp"
        for between in chains_to(value, ())
        for v in between
    )


def _above(
    value: ProgramValue, free: Collection[ProgramValue]
) -> dict[ProgramValue, None]:
    """What a value is made of up to products, each before what reads it."""
    found: dict[ProgramValue, None] = {}
    stack = [(value, False)]
    while stack and len(found) <= _MOST_VALUES:
        one, ready = stack.pop()
        if one in found:
            continue
        if ready or isinstance(one.made, ContractPrimitive):
            found[one] = None
        elif isinstance(one.made, MapPrimitive | ReducePrimitive) or one in free:
            stack.append((one, True))
            stack += [(o.value, False) for o in operands_of(one)]
    return found


def _depending(
    found: Mapping[ProgramValue, None], first: ProgramValue
) -> frozenset[ProgramValue]:
    """Those of the values that depend on the first."""
    between = {first}
    for value in found:
        if isinstance(value.made, MapPrimitive | ReducePrimitive) and any(
            o.value in between for o in operands_of(value)
        ):
            between.add(value)
    return frozenset(between)


def places_among(
    shape: Sequence[int], whole: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """Ways in which dimensions are among others, in any order; -1: one of size 1."""
    long = [n for n in shape if n != 1]
    for dims in permutations(range(len(whole)), len(long)):
        if all(whole[d] == n for d, n in zip(dims, long, strict=True)):
            each = iter(dims)
            yield tuple(next(each) if n != 1 else -1 for n in shape)
