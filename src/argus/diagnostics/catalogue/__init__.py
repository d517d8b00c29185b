"""Every code that a diagnostic can carry, once.

To add one: append a `Code` to the file of its category, with the next free number.
A code that was released keeps its meaning; one that is no longer raised is removed and
its number not used again.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from argus.diagnostics.catalogue import (
    build,
    environment,
    invariants,
    launch,
    models,
    optimizer,
    order,
    resources,
    shapes,
    source,
    target,
    tasks,
    types,
)
from argus.diagnostics.catalogue.code import Category, Code

__all__ = ["CATALOGUE", "Category", "Code", "UnknownCodeError", "lookup"]


class UnknownCodeError(LookupError):
    """A diagnostic was made with a code that is not in the catalogue: our fault."""


def _join(*groups: Iterable[Code]) -> Mapping[str, Code]:
    joined: dict[str, Code] = {}
    for entry in (entry for group in groups for entry in group):
        if entry.code in joined:
            raise ValueError(f"{entry.code} stands in the catalogue twice")
        joined[entry.code] = entry
    return MappingProxyType(joined)


CATALOGUE: Mapping[str, Code] = _join(
    source.CODES,
    types.CODES,
    shapes.CODES,
    invariants.CODES,
    order.CODES,
    resources.CODES,
    target.CODES,
    build.CODES,
    launch.CODES,
    environment.CODES,
    optimizer.CODES,
    tasks.CODES,
    models.CODES,
)
"""Code to entry, in the order of the numbers."""


def lookup(code: str) -> Code:
    """The entry of `code`.

    Raises:
        UnknownCodeError: there is none.
    """
    if code not in CATALOGUE:
        raise UnknownCodeError(f"{code} is not in the catalogue of diagnostics")
    return CATALOGUE[code]
