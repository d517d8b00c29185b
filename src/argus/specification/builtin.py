"""Python's own functions, as a traced reference sees them.

A symbolic size is no `int`, so what takes or makes one is replaced: `len`, `range`,
`int`, `min`, ... All others are Python's, except those that could hide what they do
from the trace (`map`, `iter`, `exec`, ...): these are refused by name.
"""

from __future__ import annotations

import builtins
import functools
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, cast

import ml_dtypes
import numpy as np

from argus.specification.array import INTEGER, REAL, TRUTH, SymbolicArray, size_of
from argus.specification.casting import converted
from argus.specification.iterating import (
    Lockstep,
    Symbolic,
    as_symbolic,
    is_repeating,
    symbolic_range,
)
from argus.specification.module import (
    MATH,
    SPECIAL,
    AnyArray,
    TracedModule,
    is_symbolic,
)
from argus.specification.repeating import listed
from argus.specification.sequences import Repeated, folded, unwrapped
from argus.specification.tracing import Tracing
from argus.terms import Unknown

_SAME = (
    "ArithmeticError", "AssertionError", "AttributeError", "BaseException",
    "Ellipsis", "Exception", "False", "IndexError", "KeyError", "NameError", "None",
    "NotImplemented", "NotImplementedError", "RuntimeError", "StopIteration",
    "True", "TypeError", "ValueError", "ZeroDivisionError", "__build_class__",
    "__debug__", "__name__", "abs", "bool", "bytes", "callable", "chr", "complex",
    "dict", "divmod", "frozenset", "getattr", "hasattr", "isinstance",
    "issubclass", "list", "object", "ord", "pow", "print", "property", "range",
    "repr", "reversed", "round", "set", "setattr", "slice", "sorted",
    "staticmethod", "str", "super", "tuple", "type",
)  # fmt: skip
"""Names that stay what they are."""


def builtins_of(tracing: Tracing) -> dict[str, Any]:
    """The built-in names of a traced reference."""
    known: dict[str, Any] = {
        name: _refused(name)
        for name in dir(builtins)
        if callable(getattr(builtins, name))
    }
    known |= {n: getattr(builtins, n) for n in _SAME if hasattr(builtins, n)}
    known |= {
        "__import__": _Import(tracing),
        "len": _Len(tracing),
        "range": _Range(tracing),
        "int": _Converting(int, INTEGER),
        "float": _Converting(float, REAL),
        "bool": _Converting(bool, TRUTH),
        "isinstance": _isinstance,
        "type": _type,
        "sum": _sum,
        "min": _extreme(builtins.min, np.minimum, "min"),
        "max": _extreme(builtins.max, np.maximum, "max"),
        "zip": _zip,
        "map": _map,
        "enumerate": _enumerate,
        "list": _Listing(list),
        "tuple": _Listing(tuple),
        "any": _each(builtins.any),
        "all": _each(builtins.all),
        "sorted": _each(builtins.sorted),
        "reversed": _reversed,
    }
    return known


def _isinstance(value: Any, classes: Any) -> bool:
    """What Python says of the number or array that a symbolic one stands for."""
    if not isinstance(value, SymbolicArray):
        return isinstance(value, classes)
    if isinstance(classes, tuple):
        return any(_isinstance(value, c) for c in cast(tuple[Any, ...], classes))
    number = not value.ndim and not value.boxed
    if classes is AnyArray:
        return not number
    real: Any = getattr(classes, "stands_for", classes)
    if not isinstance(real, type):
        raise Unknown(f"the reference asks whether a value is a {real!r}")
    if not number:
        return issubclass(np.ndarray, real)
    plain = {"i": int, "f": float}
    return issubclass(plain[value.dtype.kind] if value.weak else value.dtype.type, real)


def _type(value: Any, *rest: Any) -> Any:
    if isinstance(value, SymbolicArray):
        raise Unknown("the reference asks for the type of a value")
    return type(value, *rest)


def _refused(name: str) -> Callable[..., Any]:
    def called(*_: Any, **__: Any) -> Any:
        raise Unknown(f"the reference calls {name}(), which is not traced")

    return called


class _Import:
    """`import`: numpy and mathematics as the trace has them."""

    def __init__(self, tracing: Tracing) -> None:
        self.tracing = tracing

    def __call__(
        self, name: str, globals: Any = None, locals: Any = None,
        fromlist: Any = (), level: int = 0,
    ) -> Any:  # fmt: skip
        first = name.partition(".")[0]
        if level == 0 and first == "numpy":
            path = name.split(".")[1:] if fromlist else []
            module = functools.reduce(getattr, path, np)
            return TracedModule(self.tracing, module)
        if name == "math":
            return MATH
        if name == "scipy.special" and fromlist:
            return SPECIAL
        if name == "scipy" or name == "scipy.special":
            return types.SimpleNamespace(special=SPECIAL)
        if level == 0 and name == "typing":
            return typing
        if level == 0 and name == "ml_dtypes":
            return ml_dtypes  # of which only types are used
        raise Unknown(f"the reference imports {name}, which is not traced")


class _Len:
    def __init__(self, tracing: Tracing) -> None:
        self.tracing = tracing

    def __call__(self, value: Any) -> Any:
        if isinstance(value, SymbolicArray) and value.ndim:
            return value.shape[0]
        value = unwrapped(value)
        if isinstance(value, Repeated):
            return size_of(self.tracing, value.length)
        return len(value)


class _Asking(type):
    """`isinstance(x, int)` asks the type that stands behind a replaced one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.stands_for)  # type: ignore[attr-defined]


class _Range:
    def __init__(self, tracing: Tracing) -> None:
        self.tracing = tracing

    def __call__(self, *bounds: Any) -> Any:
        if any(isinstance(b, SymbolicArray) for b in bounds):
            return symbolic_range(self.tracing, bounds)
        return range(*bounds)


def _converting(real: type, dtype: np.dtype[Any]) -> Any:
    def make(_: Any, value: Any = 0, *rest: Any) -> Any:
        if isinstance(value, SymbolicArray):
            made = converted(value, dtype)
            return SymbolicArray(
                made.tracing, made.sizes, made.dtype, made.storage,
                view=made.view_of, weak=dtype.kind != "b",
            )  # fmt: skip
        return real(value, *rest)

    return _Asking(
        real.__name__, (), {"stands_for": real, "__new__": make, "dtype": dtype}
    )


_Converting = _converting


def _no_repeated(value: Any, name: str) -> None:
    """Raises Unknown for a list of symbolic length within a list of Python's."""
    if is_repeating(value):
        raise Unknown(f"the reference calls {name}() of a list of symbolic length")


def _sum(values: Any, /, start: Any = 0) -> Any:
    values = unwrapped(values)
    if isinstance(values, Repeated):
        found = folded(values, "sum")
        return found if isinstance(start, int) and start == 0 else found + start
    if isinstance(values, SymbolicArray) and values.ndim:
        found = np.sum(values, axis=0)  # pyright: ignore[reportUnknownVariableType]
        return found + start
    total = start
    for value in values:
        total = total + value
    return total


def _extreme(real: Any, ufunc: np.ufunc, name: str) -> Callable[..., Any]:
    def called(*values: Any, **named: Any) -> Any:
        if len(values) == 1 and isinstance(unwrapped(values[0]), Repeated):
            return folded(unwrapped(values[0]), name)
        given: list[Any] = list(values[0]) if len(values) == 1 else list(values)
        if not is_symbolic(given):
            return real(*values, **named)
        if named:
            raise Unknown(f"the reference calls {name}() with options")
        _no_repeated(given, name)
        found = given[0]
        for value in given[1:]:
            found = ufunc(found, value)
        return found

    return called


def _zip(*values: Any, strict: bool = False) -> Any:
    if any(isinstance(v, Symbolic) or is_repeating(v) for v in values) or any(
        isinstance(v, SymbolicArray) and v.ndim and v.sizes[0].constant is None
        for v in values
    ):
        return Lockstep.of(values)
    return zip(*values, strict=strict)


def _map(function: Any, first: Any, *others: Any) -> Any:
    several = bool(others)
    items = _zip(first, *others) if several else as_symbolic(first)
    if not isinstance(items, Symbolic):
        return builtins.map(function, first, *others)
    return listed(items, (lambda item: function(*item)) if several else function)


def _enumerate(values: Any, start: int = 0) -> Any:
    if (
        isinstance(values, Symbolic)
        or is_repeating(values)
        or (isinstance(values, SymbolicArray) and values.sizes[0].constant is None)
    ):
        return Lockstep.counted(values, start)
    return enumerate(values, start)


def _reversed(values: Any) -> Any:
    items = as_symbolic(values)
    return builtins.reversed(values) if items is None else items.backwards()


def _listing(real: Any) -> Any:
    def make(_: Any, values: Any = ()) -> Any:
        if isinstance(values, Repeated):
            return values
        items = as_symbolic(values)
        if items is not None:
            return listed(items)
        return real(values)

    return _Asking(real.__name__, (), {"stands_for": real, "__new__": make})


_Listing = _listing


def _each(real: Any) -> Callable[..., Any]:
    def called(values: Iterable[Any], *args: Any, **named: Any) -> Any:
        if isinstance(values, Repeated | Symbolic) or is_repeating(values):
            raise Unknown(
                f"the reference calls {real.__name__}() of a list of symbolic length"
            )
        return real(cast(Any, values), *args, **named)

    return called
