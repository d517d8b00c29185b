r"""How far an output may be from the fp64 oracle: derived, not chosen.

All in the norm ``|d| / |r|`` of a difference to the exact result ``r``, which the
reference computes in fp64 from the rounded inputs.

1. A kernel must round its results to the output's type. That alone costs
   ``e_out = |fl(r) - r| / |r|``, which is computed (u / sqrt(3) for a type with unit
   roundoff u, if the digits are uniform; 1.7e-3 for bf16 in practice).
2. It may round intermediates once to the type of its inputs, as attention rounds its
   weights before the second product. How an error of that size comes out depends on the
   problem, so it is computed: the reference again, on inputs that are off by a random
   factor within ``1 +- u`` of their type, is off by ``e_in``.
3. Sums of n terms are taken in fp32. Rounding each partial sum is a relative error of
   at most ``n u32`` of the sum of magnitudes; tensor cores cut off where fp32 rounds,
   which is one bit more: ``e_sum = 2 n u32``.

Independent errors add as squares, and a kernel may do each of 1 and 2 twice (a result
kept in 16 bits between two steps): ``tolerance = 2 hypot(e_out, e_in) + e_sum``. It is
never above what the entry declares for itself, but at least ``1.5 e_out``: no kernel
can be better than 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from argus.evaluation.arrays import Arrays
from argus.evaluation.judge.subject import Subject
from argus.evaluation.oracle import Inputs, exact_inputs
from argus.ir.dtypes import DTYPES, DType, f32
from argus.kernels.library import Case

STEPS = 2.0


def sensitivity(
    subject: Subject, case: Case, inputs: Inputs, reference: Mapping[str, Any]
) -> dict[str, float]:
    """``e_in`` of each output: what one rounding of the inputs' size comes to."""
    library = inputs.library
    moved = subject.entry.reference(library.module, _perturbed(inputs), case)
    return {name: distance(moved[name], exact) for name, exact in reference.items()}


def derived(
    subject: Subject,
    inputs: Inputs,
    reference: Mapping[str, Any],
    passed: Mapping[str, float],
) -> dict[str, float]:
    """The tolerance of each output; 0 for integers, which are exact or wrong.

    ``passed`` is what :func:`sensitivity` gave, for these inputs or for normal ones.
    """
    library = inputs.library
    types = {a.name: a.dtype for a in inputs.arguments}
    length = max((max(a.shape) for a in inputs.arguments), default=1)
    found: dict[str, float] = {}
    for name, exact in reference.items():
        dtype = types[name]
        if not dtype.is_float:
            found[name] = 0.0
            continue
        own = rounding(library, exact, dtype)
        most = combined(own, passed[name], length)
        found[name] = max(min(most, subject.entry.tolerance), 1.5 * own)
    return found


def combined(
    own: float, passed: float, length: int, unit: float = f32.roundoff
) -> float:
    """The tolerance from ``e_out`` and ``e_in``, where sums have ``length`` terms.

    ``unit``: the roundoff of sums.
    """
    return STEPS * math.hypot(own, passed) + 2 * length * unit


def representable(inputs: Inputs, reference: Mapping[str, Any]) -> bool:
    """Whether the exact results are numbers of the outputs' types.

    Large inputs may have results beyond f16: such inputs say nothing of a kernel.
    """
    library = inputs.library
    types = {a.name: a.dtype for a in inputs.arguments}
    return all(
        not types[name].is_float or math.isfinite(rounding(library, exact, types[name]))
        for name, exact in reference.items()
    )


def rounding(library: Arrays, exact: Any, dtype: DType) -> float:
    """The error of the exact result rounded to ``dtype``."""
    return distance(library.exact(library.rounded(exact, dtype), dtype), exact)


def _perturbed(inputs: Inputs) -> dict[str, Any]:
    """The exact inputs, each off by a random factor within a unit roundoff."""
    library = inputs.library
    given = exact_inputs(inputs)
    for argument in inputs.arguments:
        if argument.draw == "normal" and argument.dtype.is_float:
            # A third of a normal number is within 1 all but always.
            drawn = library.normal(DTYPES["f32"], argument.shape)
            noise = library.exact(drawn, DTYPES["f32"]) / 3
            off = 1.0 + argument.dtype.roundoff * noise
            given[argument.name] = given[argument.name] * off
    return given


def distance(left: Any, right: Any) -> float:
    """The norm of the difference over that of the second, which is exact."""
    delta = left - right
    norm = math.sqrt(float((right * right).sum()))
    off = math.sqrt(float((delta * delta).sum()))
    return off / norm if norm > 0 else off
