"""Functions of numpy that write into an array where a condition holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argus.specification.array import SymbolicArray
from argus.specification.casting import kind_of, lifted
from argus.specification.creating import eye
from argus.specification.joining import tracing_of
from argus.specification.table import refuse, traces
from argus.terms import Unknown

__all__ = ["written_where"]


def written_where(target: Any, condition: Any, value: Any, name: str) -> None:
    """The elements of an array where a condition holds; others stay what they are.

    ``name``: of the function. Raises Unknown for a plain array, and for what is no
    condition.
    """
    if not isinstance(target, SymbolicArray):
        raise Unknown(f"the reference writes by {name} into a plain array")
    test = lifted(target.tracing, condition)
    if kind_of(test.dtype) != "truth":
        raise Unknown(f"the reference calls {name} with what is no condition")
    target[...] = np.where(test, value, target)  # type: ignore[arg-type]


@traces(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Another array, where a condition holds."""
    refuse("np.copyto", casting=casting if casting != "same_kind" else None)
    written_where(dst, where, src, "np.copyto")


@traces(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """A number, or an array of the same shape, where a mask holds."""
    tracing = tracing_of(a, mask, values)
    given, target = lifted(tracing, values), lifted(tracing, a)
    if given.ndim and given.sizes != target.sizes:
        raise Unknown("the reference calls np.putmask with values that it repeats")
    written_where(a, mask, given, "np.putmask")


@traces(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """A number on the diagonal of a matrix."""
    refuse("np.fill_diagonal", wrap=wrap)
    if lifted(tracing_of(a, val), val).ndim or np.ndim(a) != 2:
        raise Unknown("the reference calls np.fill_diagonal with other than a number")
    rows, columns = a.shape
    square = eye(a.tracing, rows, columns, dtype=np.bool_)
    written_where(a, square, val, "np.fill_diagonal")


@traces(np.piecewise)
def piecewise(
    x: SymbolicArray, condlist: Sequence[Any], funclist: Sequence[Any], *args: Any
) -> Any:
    """What the last function says whose condition holds, of those that it selects."""
    if not isinstance(condlist, list | tuple) or not condlist or args:
        raise Unknown("the reference calls np.piecewise with other than a list")
    tests: list[Any] = [lifted(x.tracing, condition) for condition in condlist]
    if any(t.sizes != x.sizes or kind_of(t.dtype) != "truth" for t in tests):
        raise Unknown("the reference calls np.piecewise with conditions of other shape")
    if len(funclist) == len(tests) + 1:
        tests.append(~np.any(np.stack(tests), axis=0))
    if len(funclist) != len(tests):
        raise Unknown("the reference calls np.piecewise with lists that do not match")
    found: Any = np.zeros_like(x)  # type: ignore[arg-type]
    for test, function in zip(tests, funclist, strict=True):
        found[test] = function(x[test]) if callable(function) else function
    return found
