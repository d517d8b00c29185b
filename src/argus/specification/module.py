"""numpy as a reference sees it while it is traced, and `math` and `scipy.special`.

The names are those of the real module. What makes arrays is given the trace; what is
given a symbolic array goes to `table.py`; everything else is numpy itself. A name that
is not traced is Unknown when it is called with symbolic arrays, by this name.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from argus.specification.array import (
    INTEGER,
    REAL,
    SymbolicArray,
)
from argus.specification.cases import mapped
from argus.specification.casting import converted, lifted
from argus.specification.creating import CREATIONS
from argus.specification.joining import tracing_of
from argus.specification.of_each import vectorized
from argus.specification.sequences import Repeated
from argus.specification.stand_ins import stand_in
from argus.specification.table import call, flattened
from argus.specification.tracing import Tracing
from argus.terms import Unknown, apply


def is_symbolic(*values: Any) -> bool:
    """Whether a symbolic array stands anywhere in some arguments."""
    return any(isinstance(v, SymbolicArray | Repeated) for v in flattened(list(values)))


class _ArrayType(type):
    """Symbolic arrays are arrays for whoever asks."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, SymbolicArray):
            return instance.ndim > 0 or instance.boxed
        return isinstance(instance, np.ndarray)


class AnyArray(metaclass=_ArrayType):
    """`np.ndarray`, as a reference may ask for it."""


class TracedModule(types.ModuleType):
    """A module of numpy with the trace's own functions."""

    def __init__(self, tracing: Tracing, real: types.ModuleType) -> None:
        super().__init__(real.__name__)
        self.__dict__["_tracing"], self.__dict__["_real"] = tracing, real

    def __getattr__(self, name: str) -> Any:
        return traced(self.__dict__["_tracing"], getattr(self.__dict__["_real"], name))


def traced(tracing: Tracing, value: Any) -> Any:
    """A thing of numpy as a traced reference sees it."""
    if isinstance(value, types.ModuleType):
        if value.__name__ == "numpy.random":
            return _Refused("np.random")
        return TracedModule(tracing, value)
    if value is np.ndarray:
        return AnyArray
    stands = stand_in(tracing, value)
    if stands is not None:
        return stands
    if value is np.vectorize:
        return functools.partial(_vectorized, tracing)
    if isinstance(value, np.ufunc) and value.nin == 2 and value.nout == 1:
        return _Ufunc(value)
    if isinstance(value, np.ufunc) or not callable(value) or isinstance(value, type):
        return value
    creation = CREATIONS.get(value)
    if creation is not None:
        return functools.partial(creation, tracing)
    return _dispatched(value)


class _Ufunc:
    """A function of two numbers, which takes lists of symbolic arrays, too."""

    def __init__(self, real: np.ufunc) -> None:
        self._real = real

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._real(*args, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def reaches(self) -> tuple[Any, ...]:
        """It holds nothing that could change."""
        return ()

    def reduce(self, array: Any, *args: Any, **named: Any) -> Any:
        """Of all arrays of a list, or along an axis of one."""
        whole: Any = array
        if isinstance(array, list | tuple) and is_symbolic(array):
            whole = call(np.stack, array)
        return self._real.reduce(whole, *args, **named)


def _dispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numpy: the trace's for symbolic arrays, else the real one."""

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        if is_symbolic(args, named):
            return call(function, *args, **named)
        return function(*args, **named)

    return called


class _Refused:
    """What a reference cannot use at all."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise Unknown(f"the reference uses {self._name}.{name}: it has no fixed result")


def _vectorized(tracing: Tracing, function: Any, *args: Any, **named: Any) -> Any:
    """A function of numbers, of each element."""
    each = vectorized(tracing, function, *args, **named)

    def called(*arrays: Any) -> Any:
        if not is_symbolic(arrays):
            return np.vectorize(function, *args, **named)(*arrays)
        return each(*arrays)

    return called


def _function(name: str) -> Callable[[Any], SymbolicArray]:
    """A function of terms that numpy does not have."""

    def of(x: Any) -> SymbolicArray:
        array = lifted(tracing_of(x), x)
        real = converted(array, REAL) if array.kind != "real" else array
        world = real.tracing.world
        read = mapped(real.now(), lambda value: apply(world, name, value))
        return SymbolicArray(real.tracing, real.sizes, real.dtype, read)

    return of


erf = _function("erf")


def _erfc(x: Any) -> Any:
    return 1 - erf(x)


def _expit(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _product(values: Any, *, start: Any = 1) -> Any:
    found = start
    for value in values:
        found = found * value
    return found


def _whole(rounded: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: converted(rounded(x), INTEGER)


_SAME = (
    "exp", "exp2", "expm1", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan",
    "tanh", "sinh", "cosh", "fabs", "hypot",
)  # fmt: skip
"""Functions of `math` that numpy has by the same name."""
_MATH: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in _SAME},
    "atan": np.arctan,
    "pow": np.power,
    "log": _log,
    "erf": erf,
    "erfc": _erfc,
    "prod": _product,
    "floor": _whole(np.floor),
    "ceil": _whole(np.ceil),
    "trunc": _whole(np.trunc),
}
_SPECIAL: dict[str, Callable[..., Any]] = {
    "erf": erf,
    "erfc": _MATH["erfc"],
    "expit": _expit,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "exp2": np.exp2,
}


class Functions(types.ModuleType):
    """`math`, or `scipy.special`: functions of numbers, traced by name."""

    def __init__(
        self, name: str, known: dict[str, Callable[..., Any]], real: Any
    ) -> None:
        super().__init__(name)
        self.__dict__["_known"], self.__dict__["_module"] = known, real

    def __getattr__(self, name: str) -> Any:
        module, known = self.__dict__["_module"], self.__dict__["_known"]
        real = getattr(module, name, None)
        if real is not None and not callable(real):
            return real

        def called(*args: Any, **named: Any) -> Any:
            if real is not None and not is_symbolic(args, named):
                return real(*args, **named)
            if name not in known:
                raise Unknown(
                    f"the reference calls {self.__name__}.{name}, which is not traced"
                )
            return known[name](*args, **named)

        return called


MATH = Functions("math", _MATH, math)
SPECIAL = Functions("scipy.special", _SPECIAL, None)


def is_numpy(value: Any) -> bool:
    """Whether a thing comes from numpy."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] == "numpy"
    module: Any = getattr(value, "__module__", None)
    return (
        isinstance(module, str)
        and module.partition(".")[0] == "numpy"
        and callable(value)
        and not isinstance(value, np.generic)
    )
