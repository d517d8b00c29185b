"""A reference as terms, and as numpy computes it: the same numbers at small sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argus.ir.dtypes import DTYPES
from argus.specification import SymbolicArray
from argus.specification.array import size_of
from argus.specification.calling import called
from argus.specification.casting import lifted
from argus.specification.specification import tensor_of
from argus.specification.tracing import Tracing
from argus.terms import Integer, Value, Variable, World
from argus.terms.evaluate import evaluate, evaluate_value

Shapes = Mapping[str, str]
"""By tensor: sizes, names or numbers, and after a colon the element type."""


@dataclass
class Traced:
    """A traced function: its results, and the world that they are in."""

    tracing: Tracing
    arguments: dict[str, Any]
    results: list[SymbolicArray]

    @property
    def needs(self) -> list[str]:
        return [n.why for n in self.tracing.needs]


class Given:
    """The arrays that numpy gets, as data of terms."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays = arrays

    def real(self, name: str, indices: tuple[int, ...]) -> float:
        return float(self._at(name, indices))

    def whole(self, name: str, indices: tuple[int, ...]) -> int:
        return int(self._at(name, indices))

    def _at(self, name: str, indices: tuple[int, ...]) -> Any:
        array = self.arrays[name]
        assert all(0 <= i < n for i, n in zip(indices, array.shape, strict=True)), (
            f"{name}{indices} is outside of {array.shape}"
        )
        return array[indices]


def parts_of(shape: str) -> tuple[list[str], str]:
    sizes, _, dtype = shape.partition(":")
    return sizes.split(), dtype or "f32"


def traced(
    function: Callable[..., Any], shapes: Shapes, scalars: Sequence[str] = ()
) -> Traced:
    """A function called on symbolic tensors and integer scalars."""
    tracing = Tracing(World())
    arguments: dict[str, Any] = {}
    for name, shape in shapes.items():
        sizes, dtype = parts_of(shape)
        extents = tuple(
            Integer.of(int(s)) if s.isdigit() else tracing.world.size(s) for s in sizes
        )
        for extent in extents:
            tracing.sizes |= extent.variables()
        arguments[name] = tensor_of(tracing, name, extents, DTYPES[dtype])
    for name in scalars:
        size = tracing.world.size(name)
        tracing.sizes |= size.variables()
        arguments[name] = size_of(tracing, size)
    result = called(tracing, function, (), arguments)
    several = result if isinstance(result, tuple) else (result,)
    return Traced(tracing, arguments, [lifted(tracing, r) for r in several])


def drawn(shapes: Shapes, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Any]:
    """Random arrays. Integers are positions of the smallest size."""
    rng = np.random.default_rng(seed)
    least = min([n for n in sizes.values() if n], default=1)
    found: dict[str, Any] = {}
    for name, shape in shapes.items():
        parts, dtype = parts_of(shape)
        extent = [int(s) if s.isdigit() else sizes[s] for s in parts]
        if dtype == "bool":
            found[name] = rng.integers(0, 2, extent).astype(bool)
        elif dtype.startswith("f"):
            found[name] = rng.uniform(0.5, 1.5, extent)
        else:
            found[name] = rng.integers(0, least, extent)
    return found


def agree(
    function: Callable[..., Any],
    shapes: Shapes,
    *sizes: Mapping[str, int],
    scalars: Sequence[str] = (),
    arrays: Mapping[str, Any] | None = None,
) -> Traced:
    """Check every element of every result, at all these sizes."""
    made = traced(function, shapes, scalars)
    for number, env in enumerate(sizes):
        data = {**drawn(shapes, env, number), **(arrays or {})}
        named = {n: env[n] for n in scalars}
        copies = {n: a.copy() for n, a in data.items()}
        wanted = function(**copies, **named)
        several = wanted if isinstance(wanted, tuple) else (wanted,)
        assert len(several) == len(made.results)
        for mine, theirs in zip(made.results, several, strict=True):
            compare(made.tracing.world, mine, np.asarray(theirs), env, data)
    return made


def compare(
    world: World,
    mine: SymbolicArray,
    theirs: Any,
    sizes: Mapping[str, int],
    arrays: Mapping[str, Any],
) -> None:
    """A symbolic array at some sizes against one of numpy."""
    data = Given(arrays)
    point: dict[Variable, int] = {variable(world.size(n)): k for n, k in sizes.items()}
    shape = tuple(int(evaluate(n, point, data)) for n in mine.sizes)
    assert shape == theirs.shape, f"shape {shape}, numpy's is {theirs.shape}"
    where = tuple(world.fresh("at", 0, n) for n in mine.sizes)
    value: Value = mine.at(where)
    names = [variable(w) for w in where]
    assert mine.dtype.kind == theirs.dtype.kind, f"{mine.dtype}, {theirs.dtype}"
    for index in itertools.product(*map(range, shape)):
        here = {**point, **dict(zip(names, index, strict=True))}
        got = evaluate_value(value, here, data)
        assert got is not None, f"nothing is specified at {index}"
        np.testing.assert_allclose(
            float(got), float(theirs[index]), rtol=1e-9, atol=1e-12, err_msg=str(index)
        )


def variable(integer: Integer) -> Variable:
    found = integer.single
    assert isinstance(found, Variable)
    return found
