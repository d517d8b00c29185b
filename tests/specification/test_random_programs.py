"""Random references: views, assignment, loops and functions together, against numpy.

A program that numpy refuses at one of the sizes says nothing. One that is not traced
must say so; what is traced has to be right at every position that is looked at.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from agreement import Given, drawn, parts_of, variable

from argus.ir.dtypes import DTYPES
from argus.specification.array import SymbolicArray
from argus.specification.calling import called
from argus.specification.casting import lifted
from argus.specification.specification import tensor_of
from argus.specification.tracing import Tracing
from argus.terms import Unknown, World
from argus.terms.evaluate import evaluate, evaluate_value, holds_at
from few import spread

SHAPES = {"X": "M N", "Y": "M N", "I": "K:i32"}
SIZES = (
    {"M": 4, "N": 6, "K": 3}, {"M": 5, "N": 3, "K": 2}, {"M": 6, "N": 4, "K": 4},
)  # fmt: skip

BOUNDS = "|1|2|-1|-2|0|X.shape[0]|X.shape[1]|X.shape[0]//2|X.shape[0]-1|X.shape[1]-2"
ITEMS = (
    "{bound}:{bound}", "{bound}:{bound}", "{bound}:{bound}:2", "{bound}:{bound}:-1",
    ":", ":", "0", "-1", "None", "...", "np.arange(3)", "[0, 2, 1]", "I",
    "np.arange(X.shape[0])[::-1]", "np.arange(X.shape[0]) - 1",
)  # fmt: skip
AXES = ("0", "1", "-1", "None", "(0, 1)")
STATEMENTS = (
    "{new} = {a} {op} {b}", "{new} = {a} {op} 0.5", "{new} = {a} {op} X.shape[0]",
    "{new} = np.{unary}({a})", "{new} = {a}.{reduce}(axis={axis}, keepdims={keep})",
    "{new} = {a}[{key}]", "{new} = {a}[{key}]", "{new} = {a}[{key}]",
    "{a}[{key}] = 3.0", "{a}[{key}] = {b} * 2", "{a}[{key}] = {b}[..., :1]",
    "{a} += {b}", "{a} *= 1.5", "{new} = {a}.reshape({shape})", "{new} = {a}.T",
    "{new} = np.expand_dims({a}, 1)", "{new} = np.flip({a}, 0)",
    "{new} = np.ravel({a})",
    "{new} = np.moveaxis({a}, 0, -1)", "{new} = np.roll({a}, 1, 0)",
    "{new} = {a}.copy()",
    "{new} = np.concatenate([{a}, {b}], 0)", "{new} = np.stack([{a}, {b}], -1)",
    "{new} = np.concatenate([{a}[1:], {a}[:1]])", "{new} = np.cumsum({a}, -1)",
    "{new} = np.where({a} > 0.8, {a}, {b})", "{new} = np.repeat({a}, 2, 0)",
    "{new} = np.tile({a}, (1, 2))", "{new} = np.tril({a})", "{new} = np.triu({a}, 1)",
    "{new} = np.pad({a}, ((1, 0), (0, 2)))", "{new} = {a} @ {b}.T",
    "{new} = {a}.T @ {b}",
    "{new} = {a} * 0\n    for i in range({a}.shape[0]):\n        {new}[i] = {b}[i] + i",
    "{new} = {a} * 0\n    for i in range({b}.shape[0]):\n        {new}[~i] += {a}[i]",
    "{new} = 0\n    for row in {a}:\n        {new} = {new} + row * row",
    "{new} = np.stack([row * 2 + i for i, row in enumerate({a})])",
    "{new} = np.concatenate([row[::-1] for row in {a}])",
)  # fmt: skip
SHAPES_TO = ("-1", "X.shape[0], -1", "-1, X.shape[1]", "-1, 2", "2, -1", "-1, 2, 3")


def program(seed: int) -> str:
    """The text of a reference."""
    rng = random.Random(seed)
    names = ["X", "Y"]
    lines = ["X = X.copy()", "Y = Y.copy()"]

    def item() -> str:
        text = rng.choice(ITEMS)
        while "{bound}" in text:
            text = text.replace("{bound}", rng.choice(BOUNDS.split("|")), 1)
        return text

    for number in range(rng.randint(2, 6)):
        template = rng.choice(STATEMENTS)
        lines.append(
            template.format(
                new=f"v{number}",
                a=rng.choice(names),
                b=rng.choice(names),
                op=rng.choice("+-*/"),
                unary=rng.choice(("exp", "tanh", "sqrt", "square", "abs", "floor")),
                reduce=rng.choice(("sum", "mean", "max", "min", "var")),
                axis=rng.choice(AXES),
                keep=rng.random() < 0.5,
                key=", ".join(item() for _ in range(rng.randint(1, 3))),
                shape=rng.choice(SHAPES_TO),
            )
        )
        if "{new}" in template:
            names.append(f"v{number}")
    body = "".join(f"    {line}\n" for line in lines)
    return f"def f(X, Y, I):\n{body}    return ({', '.join(names[-3:])},)\n"


def arrays_at(sizes: Mapping[str, int]) -> dict[str, Any]:
    """Inputs. The entries of the table differ: it may be assigned by."""
    table = np.random.default_rng(2).permutation(sizes["K"])
    return {**drawn(SHAPES, sizes, 1), "I": table}


class Anywhere(Given):
    """Data that a condition may ask for outside of its tensor, to no effect."""

    def _at(self, name: str, indices: tuple[int, ...]) -> Any:
        array = self.arrays[name]
        inside = all(0 <= i < n for i, n in zip(indices, array.shape, strict=True))
        return array[indices] if inside else 777.25


def results_of(function: Any, sizes: Mapping[str, int]) -> list[Any] | None:
    """What numpy computes, or None where it refuses or leaves the numbers."""
    try:
        with np.errstate(all="raise"):
            found = function(**arrays_at(sizes))
    except (ValueError, IndexError, FloatingPointError, TypeError):
        return None
    return [np.asarray(r) for r in found]


def traced(function: Any, text: str) -> tuple[Tracing, list[SymbolicArray]]:
    tracing = Tracing(World())
    arguments: dict[str, Any] = {}
    for name, shape in SHAPES.items():
        parts, dtype = parts_of(shape)
        extents = tuple(tracing.world.size(s) for s in parts)
        for extent in extents:
            tracing.sizes |= extent.variables()
        arguments[name] = tensor_of(tracing, name, extents, DTYPES[dtype])
    results = called(tracing, function, (), arguments, text)
    return tracing, [lifted(tracing, r) for r in results]


def check(seed: int) -> str:
    """Whether the program of a seed was refused by numpy, not traced, or right."""
    text = program(seed)
    names: dict[str, Any] = {"np": np}
    exec(text, names)
    wanted = [results_of(names["f"], sizes) for sizes in SIZES]
    if any(w is None for w in wanted):
        return "refused"
    try:
        tracing, arrays = traced(names["f"], text)
        for sizes, results in zip(SIZES, wanted, strict=True):
            assert results is not None
            point = {variable(tracing.world.size(n)): k for n, k in sizes.items()}
            data = Anywhere(arrays_at(sizes))
            wheres = [n.where for n in tracing.needs if n.where is not None]
            if not all(holds_at(w, point, data) for w in wheres):
                continue
            for mine, theirs in zip(arrays, results, strict=True):
                compared(tracing.world, mine, theirs, point, data, text)
    except Unknown:
        return "unknown"
    return "right"


def compared(
    world: World, mine: SymbolicArray, theirs: Any, point: Any, data: Any, text: str
) -> None:
    shape = tuple(int(evaluate(n, point, data)) for n in mine.sizes)
    assert shape == theirs.shape, text
    where = tuple(world.fresh("at", 0, n) for n in mine.sizes)
    value, names = mine.at(where), [variable(w) for w in where]
    places = list(np.ndindex(shape))
    for index in random.Random(0).sample(places, min(8, len(places))):
        here = {**point, **dict(zip(names, index, strict=True))}
        got = evaluate_value(value, here, data)
        assert got is not None, (index, text)
        assert float(got) == pytest.approx(float(theirs[index]), rel=1e-8), text


@pytest.mark.parametrize("part", spread(range(2), 2))
def test_random_programs(part: int) -> None:
    found = [check(seed) for seed in range(part * 100, part * 100 + 100)]
    assert found.count("right") > 20
    assert found.count("unknown") < 10
