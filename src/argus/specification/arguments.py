"""Which arguments a reference gets: those it names, and sizes for a ``**``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

__all__ = ["named_arguments"]


def named_arguments(
    function: Callable[..., Any],
    given: Mapping[str, Any],
    sizes: Collection[str],
    optional: Collection[str] = (),
) -> dict[str, Any]:
    """The arguments of a call of ``function``, of those that are ``given``.

    ``sizes``: names of dimensions. Parameters that are not given have their defaults;
    without one, those that may be left out (``optional``) are None, as in the kernel.
    Raises ValueError where Python does not know the parameters.
    """
    parameters = inspect.signature(function).parameters
    named = {n: given[n] for n in parameters if n in given}
    named |= {
        name: None
        for name, p in parameters.items()
        if name in optional and name not in named and p.default is p.empty
    }
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        named |= {n: given[n] for n in sizes if n in given}
    return named
