"""What a reference keeps from one call to the next: nothing may change there.

A trace runs a reference once, for all launches. One that counts its calls in a global
list, a default argument or an attribute of itself says something else of each, so that
it says nothing of any.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from argus.specification.state import names_of

__all__ = ["kept"]

State = dict[str, object]
"""By the name of a place: the contents of what can change, else which object it is."""


def kept(function: types.FunctionType, inner: Callable[[Any], Any]) -> State:
    """What a function and those that it calls can reach by their names, as it is now.

    ``inner`` gives the function that a name of theirs stands for, or None.
    """
    found: State = {}
    todo = [function]
    seen: set[int] = set()
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        for name, value in _reached(one):
            called = inner(value)
            if isinstance(called, types.FunctionType):
                todo.append(called)
                own = cast(dict[str, Any], vars(value))
                found |= {f"{name}.{n}": _content(v) for n, v in own.items()}
            else:
                found[name] = _content(value)
    return found


def _reached(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    names = function.__globals__
    for name in sorted(names_of(function.__code__)):
        if name in names:
            yield name, names[name]
    given = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    for place, value in enumerate(given):
        yield f"default {place} of {function.__name__}", value
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        yield name, cell.cell_contents


def _content(value: Any, depth: int = 4) -> object:
    """What compares as equal as long as nothing has changed."""
    if not depth:
        return id(value)
    match value:
        case list() | tuple():
            items = cast(list[Any], value)
            return tuple(_content(x, depth - 1) for x in items)
        case dict():
            pairs = cast(dict[Any, Any], value).items()
            return tuple((id(k), _content(v, depth - 1)) for k, v in pairs)
        case set():
            return frozenset(id(x) for x in cast(set[Any], value))
        case np.ndarray():
            return cast(Any, value).tobytes()
        case bool() | int() | float() | str():
            return cast(object, value)
        case _:
            return id(value)
