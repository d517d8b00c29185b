"""Products of matrices that are spelled: sums of what is multiplied by elements.

``(a[:, :, None] * b[None]).sum(1)`` reads elements of both factors for many results.
As a product of matrices it is one for tensor cores, of f32 in parts
(`product_operands.py`); as a sum of maps each multiplication would read both anew.
"""

from __future__ import annotations

from math import prod
from string import ascii_letters

from argus.ir.dtypes import f32
from argus.programs.tensors.offsets import digits_through
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    MapPrimitive,
    ReducePrimitive,
    ViewedValue,
)
from argus.programs.tensors.views import sliced

_LEAST, _MANY = 16, 1 << 24
"""Rows, columns and terms below which tiles are mostly empty; multiplications from
which the launches that make parts of factors count for little."""


def spelled_product(made: ReducePrimitive) -> ContractPrimitive | None:
    """The product of matrices that a sum is; None for another one.

    A sum of f32 in full, each factor with at least 16 rows that the other lacks.
    """
    operand = made.operand
    match operand.value.made:
        case MapPrimitive("mul", (ViewedValue() as x, ViewedValue() as y)) if (
            made.function == "sum" and not operand.views
        ):
            pass
        case _:
            return None
    if {x.value.dtype, y.value.dtype, operand.value.dtype} != {f32}:
        return None
    sizes = operand.shape
    left, right = _walked(x), _walked(y)
    gone = {d for d in made.dims if sizes[d] > 1}
    if not gone <= left & right:
        return None
    pairs = (left - right, right - left, gone, left | right)
    *least, many = (prod(sizes[d] for d in dims) for dims in pairs)
    if min(least) < _LEAST or many < _MANY:
        return None
    kept = [d for d in range(len(sizes)) if d not in made.dims]
    left |= {d for d in kept if d not in right}  # what neither walks has a letter, too
    return ContractPrimitive(
        _seen(x, left),
        _seen(y, right),
        _letters(left),
        _letters(right),
        _letters(set(kept)),
    )


def _letters(dims: set[int]) -> str:
    return "".join(ascii_letters[d] for d in sorted(dims))


def _walked(operand: ViewedValue) -> set[int]:
    """Dimensions along which elements are not the same one, as far as that is known."""
    digits = digits_through(operand)
    return {
        d
        for d, n in enumerate(operand.shape)
        if n > 1 and (digits is None or any(step for _, step in digits[0][d]))
    }


def _seen(operand: ViewedValue, dims: set[int]) -> ViewedValue:
    """An operand without the dimensions along which it is repeated."""
    parts = [(0, 1, n) if d in dims else 0 for d, n in enumerate(operand.shape)]
    return operand.through(sliced(operand.shape, parts))
