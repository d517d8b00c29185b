"""Operators of ATen that programs translate themselves, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from argus.ir.dtypes import DTYPES, DType
from argus.programs.tensors.tensor_program import UntranslatedError, stored_type

Implementation = TypeVar("Implementation", bound=Callable[..., Any])

OWN: dict[str, Callable[..., Any]] = {}
CREATING: dict[str, Callable[..., Any]] = {}
"""Operators without a tensor among their arguments: the recorder comes first."""


def _into(
    table: dict[str, Callable[..., Any]], names: tuple[str, ...]
) -> Callable[[Implementation], Implementation]:
    def mark(implementation: Implementation) -> Implementation:
        for name in names:
            full = name if "." in name else f"{name}.default"
            table[f"aten.{full}"] = implementation
        return implementation

    return mark


def own(*names: str) -> Callable[[Implementation], Implementation]:
    """Mark the translation of operators; a name without an overload is the default."""
    return _into(OWN, names)


def of_library(name: str) -> Callable[[Implementation], Implementation]:
    """Mark the translation of an operator of another library, by its full name."""

    def mark(implementation: Implementation) -> Implementation:
        OWN[f"{name}.default"] = implementation
        return implementation

    return mark


def creating(*names: str) -> Callable[[Implementation], Implementation]:
    """Mark the translation of operators that make a tensor of numbers."""
    return _into(CREATING, names)


def each(value: Any, count: int) -> list[int]:
    """One number for each of some dimensions."""
    found = [value] * count if isinstance(value, int) else list(value)
    return found * count if len(found) == 1 else found


def element_type(dtype: Any) -> DType:
    """The element type that torch names. Raises UntranslatedError for others."""
    found = stored_type(str(dtype))
    if found.name not in DTYPES:
        raise UntranslatedError(f"kernels have no elements of type {found.foreign}")
    return found
