"""How tensors lie in memory, by their strides."""

from __future__ import annotations

from math import prod

from argus.programs.tensors.offsets import offsets_through
from argus.programs.tensors.tensor_program import ViewedValue

__all__ = ["contiguous", "is_laid_so", "same_places", "spanned"]


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a dense tensor in row-major order, in elements."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def spanned(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements from the first to the last one, both counted; 0 for an empty tensor."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def same_places(shape: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether strides are those of the same elements in memory."""
    if 0 in shape:
        return True
    return all(n == 1 or x == y for n, x, y in zip(shape, a, b, strict=True))


def is_laid_so(operand: ViewedValue, told: tuple[int, ...]) -> bool:
    """Whether an operand's elements lie in memory by these strides."""
    found = offsets_through(operand)
    return found is not None and same_places(operand.shape, found[0], told)
