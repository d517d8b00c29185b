"""Which operator of ATen is traced by which function, by its name.

    @aten("aten.relu.default")
    def relu(x): ...

Names are texts, so that nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from argus.specification.array import REAL
from argus.specification.casting import element_type

Implementation = TypeVar("Implementation", bound=Callable[..., Any])

OPERATORS: dict[str, Callable[..., Any]] = {}
IN_REALS: dict[str, Callable[..., Any]] = {}
"""What operators are of real numbers alone: programs, which have NaN, ask others."""


def aten(*names: str) -> Callable[[Implementation], Implementation]:
    """Mark what operators are; ``x`` stands for `aten.x.default`, and is added."""
    return _marked(OPERATORS, names)


def in_reals(*names: str) -> Callable[[Implementation], Implementation]:
    """Mark what operators are of real numbers; names as `aten` takes them."""
    return _marked(IN_REALS, names)


def _marked(
    table: dict[str, Callable[..., Any]], names: tuple[str, ...]
) -> Callable[[Implementation], Implementation]:
    def mark(implementation: Implementation) -> Implementation:
        for name in names:
            full = name if "." in name else f"{name}.default"
            table[f"aten.{full}"] = implementation
        return implementation

    return mark


def numpy_type(dtype: Any) -> np.dtype[Any]:
    """The element type of numpy for one of torch: all floats are of 64 bits.

    Raises Unknown for types that have no numbers here.
    """
    name = str(dtype).removeprefix("torch.")
    if name.startswith(("float", "bfloat")):
        return REAL
    return element_type({"bool": "bool"}.get(name, name))


def dims_of(dim: Any) -> Any:
    """Axes as numpy takes them: torch's empty list, and None, are all."""
    if dim is None or dim == []:
        return None
    return tuple(cast(Any, dim)) if isinstance(dim, list | tuple) else dim
