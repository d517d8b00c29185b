"""How far a result may be off, for a kernel of which only types are known.

The rule is the judge's (`judge/tolerance.py`): one rounding of the result to its type,
one of intermediates to the coarsest type that is multiplied or read, and sums in fp32,
or in fp64 where all floats are. What one rounding comes to is computed by the reference
itself, on inputs that are off by so much; several times, and the largest counts, since
outputs are small here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.judge.tolerance import combined, distance, rounding
from argus.interpret.numbers import compute, rounded
from argus.ir import ops as o
from argus.ir.dtypes import DType, f32
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.ir.roundoff import computing_roundoff
from argus.ir.walk import walk

__all__ = ["coarsest", "moved", "representable", "tolerances"]

TIMES = 4
"""How often inputs are moved."""
FUNCTIONS = 168.0
"""What functions such as exp and division are accurate to, in units of roundoff, with
much to spare: 1e-5 in f32."""
TF32 = 2.0**-10
"""How far the 11 bits of an f32 that are multiplied may be off: others are left out,
which errs twice as much as rounding."""


def coarsest(program: Program) -> float:
    """The unit roundoff of the coarsest type of floats that is read or multiplied."""
    found = computing_roundoff(program)
    for param in program.params:
        if isinstance(param, GlobalTensor) and param.name not in program.outputs:
            found = max(found, _roundoff(param.dtype))
    for op in walk(program.body):
        if isinstance(op, o.Dot):
            found = max(found, _multiplied(op.a.dtype), _multiplied(op.b.dtype))
    return found


def _multiplied(dtype: DType) -> float:
    """How far off operands are that tensor cores multiply: of f32, they read tf32."""
    return max(dtype.roundoff, TF32) if dtype is f32 else _roundoff(dtype)


def _roundoff(dtype: DType) -> float:
    return dtype.roundoff if dtype.is_float else 0.0


def moved(
    arrays: Mapping[str, Any], program: Program, rng: np.random.Generator
) -> dict[str, Any]:
    """The inputs of floats, each off by a random factor within the roundoff.

    Whole numbers stay those that the reference was given.
    """
    off = coarsest(program)
    found: dict[str, Any] = {}
    for param in program.params:
        if isinstance(param, GlobalTensor) and param.dtype.is_float:
            array = arrays[param.name]
            values = compute(array, param.dtype).astype(np.float64)
            found[param.name] = values * (1 + off * rng.uniform(-1, 1, values.shape))
    return found


def tolerances(
    exact: Mapping[str, Any],
    again: Callable[[], Mapping[str, Any]],
    program: Program,
    length: int,
) -> dict[str, float]:
    """The tolerance of each output, in the norm; 0 for whole numbers.

    ``again``: the reference on inputs that are moved. ``length``: terms of a sum.
    """
    library = NumpyArrays(0)
    types = {p.name: p.dtype for p in program.params if isinstance(p, GlobalTensor)}
    passed = dict.fromkeys(exact, 0.0)
    for _ in range(TIMES):
        for name, value in again().items():
            passed[name] = max(
                passed[name],
                distance(value.astype(np.float64), exact[name].astype(np.float64)),
            )
    unit = computing_roundoff(program)
    found: dict[str, float] = {}
    for name, value in exact.items():
        dtype = types[name]
        if not dtype.is_float:
            found[name] = 0.0
            continue
        own = rounding(library, value.astype(np.float64), dtype)
        # No element that is rounded to nearest is off by more than a roundoff.
        least = max(dtype.roundoff, FUNCTIONS * unit)
        found[name] = max(combined(own, passed[name], length, unit), least)
    return found


def representable(exact: Mapping[str, Any], program: Program) -> bool:
    """Whether the exact results are numbers of the outputs' types."""
    for param in program.params:
        if not isinstance(param, GlobalTensor) or param.name not in exact:
            continue
        value = exact[param.name]
        if not param.dtype.is_float:
            low, high = param.dtype.integers
            if value.size and not (low <= value.min() and value.max() <= high):
                return False
        else:
            with np.errstate(over="ignore"):
                bits = rounded(value, param.dtype)
            if not np.isfinite(compute(bits, param.dtype)).all():
                return False
    return True
