"""Which values lie between two products, as the first step to attention.

    for chain in chains_to(value, free): ...
    for chains in product_chains(values, free, readers, needed): ...

Between are maps and reductions of what the first product gives; in gradients of
attention maps alone, which several products read. Whether a kernel can compute them is
for `attention_form.py` and `chained_form.py` to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from argus.programs.tensors.tensor_program import (
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


@dataclass(frozen=True)
class ProductChains:
    """Products of which one factor is made of the same products before, with ``exp``.

    ``between`` has for each what it is made of from these on, which nobody else reads.
    """

    between: Mapping[ProgramValue, frozenset[ProgramValue]]


def product_chains(
    values: Sequence[ProgramValue],
    free: Collection[ProgramValue],
    readers: Mapping[ProgramValue, Sequence[ProgramValue]],
    needed: Collection[ProgramValue],
) -> list[ProductChains]:
    """Such products of a program; none has a part that is a result or read elsewhere.

    ``free`` are made of positions, ``needed`` are results.
    """
    found: list[dict[ProgramValue, frozenset[ProgramValue]]] = []
    for value in values:
        between = _exponentials_before(value, free)
        if between is None:
            continue
        together = {value: between}
        for other in list(found):
            if any(between & b - set(free) for b in other.values()):
                together |= other
                found.remove(other)
        found.append(together)
    chains: list[ProductChains] = []
    for each in found:
        inside = frozenset[ProgramValue]().union(*each.values())
        parts = inside - set(free)
        known = {*inside, *each}
        if parts & set(needed) or parts & each.keys():
            continue
        if all(set(readers.get(v, ())) <= known for v in parts):
            chains.append(ProductChains(each))
    return chains


def _exponentials_before(
    value: ProgramValue, free: Collection[ProgramValue]
) -> frozenset[ProgramValue] | None:
    """What one factor of a product is made of by maps, from products on."""
    made = value.made
    if not isinstance(made, ContractPrimitive) or made.alone or made.terms:
        return None
    found: list[frozenset[ProgramValue]] = []
    for operand in operands_of(value):
        if not isinstance(operand.value.made, MapPrimitive) or operand.value in free:
            continue
        above = _above(operand.value, free, reductions=False)
        made = {v: v.made for v in above if isinstance(v.made, ContractPrimitive)}
        if len(above) > _MOST_VALUES or any(m.alone or m.terms for m in made.values()):
            continue
        between = frozenset[ProgramValue]().union(
            *(_depending(above, one) for one in made)
        )
        if any(
            isinstance(v.made, MapPrimitive) and v.made.function == "exp"
            for v in between
        ):
            found.append(between | {v for v in above if v in free})
    return found[0] if len(found) == 1 else None


def softmax_before(value: ProgramValue) -> bool:
    """Whether exponentials lie between a product and one before."""
    return any(
        isinstance(v.made, MapPrimitive) and v.made.function == "exp"
        for between in chains_to(value, ())
        for v in between
    )


def _above(
    value: ProgramValue, free: Collection[ProgramValue], *, reductions: bool = True
) -> dict[ProgramValue, None]:
    """What a value is made of up to products, each before what reads it.

    By maps, and by reductions if they are wanted.
    """
    kinds = MapPrimitive | ReducePrimitive if reductions else MapPrimitive
    found: dict[ProgramValue, None] = {}
    stack = [(value, False)]
    while stack and len(found) <= _MOST_VALUES:
        one, ready = stack.pop()
        if one in found:
            continue
        if ready or isinstance(one.made, ContractPrimitive):
            found[one] = None
        elif isinstance(one.made, kinds) or one in free:
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
