"""How arguments of a call are passed: by position, by name, as static parameters."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from argus.diagnostics import fail
from argus.lang.kernel import Kernel
from argus.lang.names.types import ElementType, as_dtype

__all__ = [
    "ArgumentForm",
    "form_of",
    "scalar_defaults",
    "static_tag",
    "static_value",
]


@dataclass(frozen=True, slots=True)
class ArgumentForm:
    """How arguments are passed.

    ``rest``: name or default of each runtime parameter that is not passed by position.
    ``statics``: names of the static parameters that are given.
    """

    rest: tuple[tuple[str | None, object], ...]
    statics: tuple[str, ...]


def form_of(kernel: Kernel, count: int, named: Mapping[str, object]) -> ArgumentForm:
    """What ``count`` arguments and these names mean. Raises ArgusError AG0801."""
    signature = kernel.signature
    params = signature.params
    if count > len(params):
        raise fail(
            "AG0801",
            None,
            f"kernel `{kernel.name}` takes {len(params)} runtime arguments; "
            f"{count} were given",
        )
    static_names = {s.name for s in signature.statics}
    rest = [p.name for p in params[count:]]
    for name in named:
        if name not in static_names and name not in rest:
            known = ", ".join([*(p.name for p in params), *static_names])
            raise fail(
                "AG0801",
                None,
                f"kernel `{kernel.name}` has no argument `{name}` left to be given",
                help=f"its parameters are {known}",
            )
    missing = any(p.name in rest and p.name not in named for p in signature.scalars)
    defaults = scalar_defaults(kernel) if missing else {}
    return ArgumentForm(
        tuple((n, None) if n in named else (None, defaults.get(n)) for n in rest),
        tuple(name for name in named if name in static_names),
    )


def static_tag(value: object) -> object:
    """What tells a static value from others that are equal to it: 1, 1.0 and True."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, tuple):
        return tuple(static_tag(item) for item in cast("tuple[object, ...]", value))
    return type(value)


def static_value(value: object) -> object:
    """A static parameter's value as requests have it: element types by their record."""
    return as_dtype(value) if isinstance(value, ElementType) else value


def scalar_defaults(kernel: Kernel) -> dict[str, int | float]:
    """Defaults of the runtime scalars that have one (literals)."""
    found: dict[str, int | float] = {}
    for scalar in kernel.signature.scalars:
        if scalar.default is not None:
            found[scalar.name] = ast.literal_eval(scalar.default)
    return found
