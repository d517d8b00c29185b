"""Operators of ATen that make complex numbers of pairs, and pairs of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from argus.specification.array import SymbolicArray
from argus.specification.aten import pointwise, shapes
from argus.specification.aten.table import in_reals
from argus.specification.complex_numbers import ComplexArray


@in_reals("view_as_complex")
def view_as_complex(x: Any) -> ComplexArray:
    """The last dimension has the real and the imaginary part."""
    return ComplexArray(x[..., 0], x[..., 1])


@in_reals("view_as_real")
def view_as_real(x: ComplexArray) -> Any:
    """Real and imaginary parts in a dimension of their own, the last one."""
    return np.stack([x.real, x.imag], -1)


@in_reals("complex")
def complex_(real: Any, imag: Any) -> ComplexArray:
    """A number of its parts."""
    parts: Any = np.broadcast_arrays(real, imag)
    return ComplexArray(*parts)


@in_reals("polar")
def polar(size: Any, angle: Any) -> ComplexArray:
    """A number of its absolute value and its angle."""
    return complex_(size * np.cos(angle), size * np.sin(angle))


@in_reals("real")
def real(x: ComplexArray) -> Any:
    """Real parts."""
    return x.real


@in_reals("imag")
def imag(x: ComplexArray) -> Any:
    """Imaginary parts."""
    return x.imag


@in_reals("_conj", "_conj_physical", "conj_physical")
def conj(x: ComplexArray) -> ComplexArray:
    """Complex conjugates."""
    return x.conj()


_MOVING = frozenset(
    (
        pointwise.same, shapes.view, shapes.permute, shapes.t, shapes.transpose_int,
        shapes.expand, shapes.unsqueeze, shapes.squeeze, shapes.slice_, shapes.select,
        shapes.cat, shapes.stack_, shapes.split_with_sizes, shapes.unbind,
        shapes.repeat, shapes.flip, shapes.roll, shapes.diagonal,
    )
)  # fmt: skip
"""Operators whose results have elements of their arguments, and no others."""


def by_parts(
    function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
) -> Callable[..., Any]:
    """What an operator is: of complex numbers that it moves, of each part by itself."""
    leaves = (*_leaves(args), *named.values())
    if function not in _MOVING or not any(isinstance(a, ComplexArray) for a in leaves):
        return function

    def of_both(*_: Any, **__: Any) -> Any:
        real, imag = (
            function(
                *(_part(a, part) for a in args),
                **{k: _part(a, part) for k, a in named.items()},
            )
            for part in ("real", "imag")
        )
        if isinstance(real, list):
            pairs = zip(cast(Any, real), imag, strict=True)
            return [ComplexArray(*pair) for pair in pairs]
        return ComplexArray(real, imag)

    return of_both


def _leaves(args: Sequence[Any]) -> list[Any]:
    return [
        leaf
        for a in args
        for leaf in (cast(list[Any], a) if isinstance(a, list) else [a])
    ]


def _part(value: Any, part: str) -> Any:
    """The real or imaginary part of an argument; what is no array as it is."""
    if isinstance(value, list):
        return [_part(v, part) for v in cast(list[Any], value)]
    if isinstance(value, SymbolicArray) and part == "imag" and value.kind == "real":
        return np.zeros_like(value)
    return getattr(value, part) if isinstance(value, ComplexArray) else value
