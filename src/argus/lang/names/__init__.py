"""What an author can write in a kernel: stubs with signatures, for people and tools.

A stub never runs: kernels are parsed, not executed. Its signature is what the frontend
binds the arguments of a call with, and what an editor shows. `FUNCTIONS` and `METHODS`
name every one of them; the frontend has one handler for each (a test compares them).
"""

from collections.abc import Callable

from argus.lang.names import (
    annotate,
    compute,
    debug,
    grid,
    layouts,
    memory,
    sync,
    types,
    values,
)
from argus.lang.names.types import (
    ElementType,
    Inline,
    any_type,
    eight_type,
    float_type,
    half_type,
)

inf = float("inf")
"""Positive infinity; `-ag.inf` starts a running maximum."""


def _public(module: object) -> dict[str, Callable[..., object]]:
    return {
        name: value
        for name, value in vars(module).items()
        if callable(value)
        and not isinstance(value, type)
        and not name.startswith("_")
        and getattr(value, "__module__", None) == getattr(module, "__name__", "")
    }


FUNCTIONS: dict[str, Callable[..., object]] = {
    **_public(annotate),
    **_public(compute),
    **_public(debug),
    **_public(grid),
    **_public(memory),
    **_public(sync),
    "any": any_type,
}
"""Functions of the language by the name that follows `ag.`."""

LAYOUTS: dict[str, Callable[..., object]] = _public(layouts)
"""Functions of `ag.layouts`."""

METHODS: dict[str, Callable[..., object]] = {
    f"{cls.__name__}.{name}": member
    for cls in (
        types.ElementType,
        values.Tensor,
        values.Tile,
        values.SharedTile,
        values.Ring,
        values.Slot,
        values.Barrier,
        values.Turns,
    )
    for name, member in vars(cls).items()
    if callable(member) and not name.startswith("_")
}
"""Methods of values by `Class.method`."""

DTYPES = {
    name: value for name, value in vars(types).items() if isinstance(value, ElementType)
}
"""Element types by the name that authors use."""

GROUPS = {group.name: group for group in (half_type, float_type, eight_type, any_type)}
"""Annotations that admit several element types, by the name that follows `ag.`."""

__all__ = ["DTYPES", "FUNCTIONS", "GROUPS", "LAYOUTS", "METHODS", "Inline", "inf"]
