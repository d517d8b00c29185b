"""Exponentials of what nothing bounds from above (AG0330).

What an exponential is taken of is a term. It is evaluated with made-up data of large
size: a softmax that subtracts its maximum never has an argument above 0, whatever the
data are, and one that does not has. Only a number that was found says so, and only
where its infinity makes of a finite result none (`flow.py`).

What is relative to an element (x - lse, of a saved logarithm) is taken to be bounded by
it: the data say so, and not the terms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from argus.ir import ops as o
from argus.ir.codec import computing
from argus.ir.dtypes import DType
from argus.ir.functions import FUNCTIONS
from argus.ir.numerics import arithmetic
from argus.ir.program import Program
from argus.terms import Element, Scalar, Term, Unknown, World
from argus.terms.evaluate import evaluate, holds_at
from argus.terms.input_values import RandomData
from argus.verify.denotation import Denotation, Noticed
from argus.verify.numbers.finding import NumericalFinding
from argus.verify.numbers.flow import misused

__all__ = ["unbounded_exponents"]

RULE = "AG0330"
_SEEDS, _DRAWN = 24, 150_000
"""Data that are tried, and numbers that are drawn of all of them, about: a score of
long rows takes many, and one that nothing bounds is large for every second seed."""
_SPREAD = 4.5
"""How far data go beyond the largest argument."""


def _largest(dtype: DType) -> int:
    """The largest whole number of which exp still fits the type it is computed in."""
    return int(math.log(np.finfo(computing(dtype)).max))


class _LargeData(RandomData):
    """Data of both signs and up to a size; scalar arguments stay near to 1."""

    def __init__(self, seed: int, size: int) -> None:
        super().__init__(seed)
        self._size = size
        self.count = 0
        """How many numbers were drawn."""

    def real(self, name: str, indices: tuple[int, ...]) -> int | float:
        """Of an element, from minus the size up to it."""
        if not indices:
            return 1
        self.count += 1
        return self.drawn("real", name, indices) % (2 * self._size + 1) - self._size


def unbounded_exponents(
    program: Program, found: Denotation
) -> Iterator[NumericalFinding]:
    """Exponentials that overflow, and make what is no number of a finite result."""
    wide: dict[o.Elementwise, None] = {}
    for noticed in found.noticed:
        op = noticed.op
        if noticed.kind != "exponent" or not isinstance(op, o.Elementwise):
            continue
        if op not in wide and _unbounded(found.world, noticed, op):
            wide.setdefault(op)
    told: set[o.Elementwise] = set()
    for misuse in misused(program, wide):
        if misuse.exponential in told:
            continue
        told.add(misuse.exponential)
        dtype = misuse.exponential.result.dtype
        use = "the logarithm of it" if _is_log(misuse.use) else "a quotient with it"
        yield NumericalFinding(
            RULE,
            "an exponential may overflow, since nothing bounds its argument",
            misuse.exponential.span,
            f"an argument above {_largest(dtype)} makes it infinite in "
            f"{arithmetic(dtype)}",
            (f"{use} at line {misuse.use.span.line} is no number then",),
            "subtract the maximum of the arguments first",
        )


def _is_log(op: o.Elementwise) -> bool:
    return FUNCTIONS[op.fn].law == "log" or op.fn == "log1p"


def _unbounded(world: World, noticed: Noticed, op: o.Elementwise) -> bool:
    """Whether an argument was found for which the exponential overflows."""
    factor = FUNCTIONS[op.fn].factor
    largest = _largest(op.result.dtype)
    for where, x in noticed.value.cases:
        if not isinstance(x, Term) or x.special is not None or _relative(x):
            continue
        try:
            point = world.sample(noticed.where & where)
            if point is None:
                continue
            drawn = 0
            for seed in range(_SEEDS):
                if drawn > _DRAWN:
                    break
                data = _LargeData(seed, int(_SPREAD * largest))
                if not holds_at(noticed.where & where, point, data):
                    continue
                if float(evaluate(x, point, data)) * factor > largest:
                    return True
                drawn += data.count
        except (Unknown, KeyError, ArithmeticError, ValueError):
            continue
    return False


def _relative(term: Term) -> bool:
    """Whether an element or scalar argument alone is subtracted from others."""
    if len(term.parts) < 2:
        return False
    for part, coefficient in term.parts.items():
        if coefficient < 0 and part.exponent is None and len(part.factors) == 1:
            leaf, power = part.factors[0]
            if power == 1 and isinstance(leaf, Element | Scalar):
                return True
    return False
