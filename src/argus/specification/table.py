"""Which function of numpy is traced by which function here.

    @traces(np.repeat)
    def repeat(array, repeats, axis=None): ...

`FUNCTIONS` is read by numpy's own dispatch (`array.py`) and by the wrapped module
(`module.py`). A function that is not in it is Unknown, by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from argus.terms import Unknown

Implementation = TypeVar("Implementation", bound=Callable[..., Any])

FUNCTIONS: dict[Any, Callable[..., Any]] = {}


def traces(*functions: Any) -> Callable[[Implementation], Implementation]:
    """Mark a function as what these functions of numpy do to symbolic arrays."""

    def mark(implementation: Implementation) -> Implementation:
        for function in functions:
            FUNCTIONS[function] = implementation
        return implementation

    return mark


def call(function: Any, /, *args: Any, **named: Any) -> Any:
    """What a function of numpy makes of symbolic arrays.

    Raises Unknown where it is not traced, or not with these arguments.
    """
    found = FUNCTIONS.get(function)
    if found is None:
        raise Unknown(f"the reference calls {name_of(function)}, which is not traced")
    return found(*args, **named)


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
