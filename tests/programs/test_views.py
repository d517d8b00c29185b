"""Coordinates through views, against torch's own views of the same numbers."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")

from argus.ir.dtypes import f32  # noqa: E402
from argus.programs.lowering import offsets_through  # noqa: E402
from argus.programs.tensor_program import (  # noqa: E402
    GivenPrimitive,
    ProgramValue,
    ViewedValue,
)
from argus.programs.views import ReshapedView, permuted, repeated, sliced  # noqa: E402


def _changed(x, operand, rng):
    """A random view of a tensor, and the same of an operand."""
    match rng.choice(["permute", "slice", "repeat", "reshape"]):
        case "permute":
            dims = rng.sample(range(x.ndim), x.ndim)
            return x.permute(dims), operand.through(permuted(x.shape, dims))
        case "slice":
            parts, keys = [], []
            for n in x.shape:
                start = rng.randrange(n)
                step = rng.choice([1, 1, 2])
                keys.append(slice(start, n, step))
                parts.append((start, step, len(range(start, n, step))))
            return x[tuple(keys)], operand.through(sliced(x.shape, parts))
        case "repeat":
            wanted = [3 if n == 1 else n for n in x.shape]
            return x.expand(wanted), operand.through(repeated(x.shape, wanted))
        case _:
            total = x.numel()
            first = rng.choice([d for d in range(1, total + 1) if total % d == 0])
            shape = (first, total // first)
            return x.reshape(shape), operand.through(ReshapedView(shape))


def test_strides_through_views_are_those_of_torch() -> None:
    viewed = found = 0
    for seed in range(300):
        rng = random.Random(seed)
        shape = tuple(rng.choice([1, 2, 3, 4, 6]) for _ in range(rng.randint(1, 4)))
        value = ProgramValue("x", shape, f32, GivenPrimitive("input", 0, shape, ()))
        x = base = torch.arange(value.size).reshape(shape)
        operand = ViewedValue(value)
        for _ in range(rng.randint(1, 4)):
            x, operand = _changed(x, operand, rng)
        assert operand.shape == tuple(x.shape)
        viewed += x.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
        strides = offsets_through(operand)
        if strides is not None:
            found += 1
            assert torch.equal(base.as_strided(operand.shape, *strides), x), seed
    # A slice of a reshaped tensor that is reshaped again may have strides unnoticed.
    assert found >= 0.97 * viewed
