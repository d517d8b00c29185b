"""Which function of numpy is traced by which function here.

    @traces(np.repeat)
    def repeat(array, repeats, axis=None): ...

`FUNCTIONS` is read by numpy's own dispatch (`array.py`) and by the wrapped module
(`module.py`). One that is not in it is what numpy's own text says (`own_sources.py`);
without such a text it is Unknown, by its name. Where the first parameter is a
`SymbolicArray`, a number or list in its place becomes one (a symbolic size beside it is
enough for the function to be traced).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from argus.terms import Unknown

Implementation = TypeVar("Implementation", bound=Callable[..., Any])

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
_OWN = "called"
"""A method of what has functions of its own: what a mask selects (`selecting.py`)."""
_OF_AN_ARRAY: set[Callable[..., Any]] = set()
"""Those of `FUNCTIONS` whose first argument is a symbolic array."""


def traces(*functions: Any) -> Callable[[Implementation], Implementation]:
    """Mark a function as what these functions of numpy do to symbolic arrays."""

    def mark(implementation: Implementation) -> Implementation:
        for function in functions:
            FUNCTIONS[function] = implementation
        first = next(iter(inspect.signature(implementation).parameters.values()))
        if first.kind is first.POSITIONAL_OR_KEYWORD and (
            first.annotation == "SymbolicArray"
        ):
            _OF_AN_ARRAY.add(implementation)
        return implementation

    return mark


def call(function: Any, /, *args: Any, **named: Any) -> Any:
    """What a function of numpy makes of symbolic arrays.

    Raises Unknown where it is not traced, or not with these arguments.
    """
    of_own = getattr(args[0], _OWN, None) if args else None
    if of_own is not None:
        return of_own(function, args[1:], named)
    found = FUNCTIONS.get(function)
    if found is None:
        return _by_own_source(function, args, named)
    if args and found in _OF_AN_ARRAY:
        args = (_as_array(args, named), *args[1:])
    return found(*args, **named)


def _by_own_source(function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """By the text that numpy has of a function, where it has one."""
    from argus.specification.joining import tracing_of
    from argus.specification.own_sources import by_own_source, own_source

    source = own_source(function)
    if source is None:
        raise Unknown(f"the reference calls {name_of(function)}, which is not traced")
    tracing = tracing_of(args, named)
    return by_own_source(tracing, source, name_of(function), args, named)


def _as_array(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The first argument, as an array of the trace that the others have."""
    from argus.specification.casting import lifted
    from argus.specification.joining import tracing_of

    if hasattr(args[0], "tracing"):
        return args[0]
    return lifted(tracing_of(args, named), args[0])


def name_of(function: Any) -> str:
    """What a function of numpy is called."""
    name = str(getattr(function, "__name__", function))
    module = str(getattr(function, "__module__", "numpy")) or "numpy"
    return f"{module.replace('numpy', 'np', 1)}.{name}"


def refuse(function: str, **options: Any) -> None:
    """Raises Unknown for options that are given and not traced."""
    for option, value in options.items():
        if value is not None and value is not False:
            raise Unknown(f"the reference calls {function} with {option}=")


def flattened(value: Any) -> Iterable[Any]:
    """All that stands in nested lists, tuples and mappings."""
    if isinstance(value, dict):
        for part in cast(dict[Any, Any], value).values():
            yield from flattened(part)
    elif isinstance(value, list | tuple):
        for part in cast(list[Any], value):
            yield from flattened(part)
    else:
        yield value
