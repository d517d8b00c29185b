"""Scalar arguments of runs: as callers give them, and as no caller did so far.

Most are the defaults. Others are near to these or about 1, of the other sign, or in the
place of another scalar, so that a bound is above the one that it is below by default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from argus.equivalence.references import Reference
from argus.evaluation.equal.inputs import near
from argus.evaluation.equal.meant import has_infinities, required_numbers
from argus.ir.program import Program
from argus.lang.kernel import literal
from argus.requests import Request
from argus.terms.magnitudes import LARGEST_SCALAR

__all__ = ["DrawnScalars"]


class DrawnScalars:
    """The scalars of one run after another.

    ``special``: numbers of a program and its reference. Where a program has infinities,
    or numbers that stand for one, floats have the sign of their default: a scale that
    is negative is none of a softmax's, and what it makes of minus infinity is not said.
    """

    def __init__(
        self,
        request: Request,
        program: Program,
        reference: Reference,
        special: Sequence[float],
        rng: np.random.Generator,
    ) -> None:
        self._scalars = request.kernel.signature.scalars
        self._taken = frozenset(reference.parameters)
        self._program = program
        self._special = special
        self._rng = rng
        self._signed = not has_infinities(program)
        self._drawn = 0

    def default(self, name: str) -> int | float | None:
        """The default of a scalar, if it is a number."""
        value = next(literal(s.default) for s in self._scalars if s.name == name)
        return value if isinstance(value, int | float) else None

    def at(
        self, known: Mapping[str, int], sizes: Mapping[str, int]
    ) -> dict[str, int | float]:
        """Scalars of which some are known by name."""
        made = self.drawn(sizes)
        return {name: known.get(name, value) for name, value in made.items()}

    def drawn(self, sizes: Mapping[str, int]) -> dict[str, int | float]:
        """Defaults; of what the reference takes sometimes others."""
        found: dict[str, int | float] = {}
        others, among = divmod(self._drawn, 3)
        self._drawn += 1
        for number, scalar in enumerate(self._scalars):
            value = self.default(scalar.name)
            taken = scalar.name in self._taken and among == 2
            if scalar.dtype.is_float:
                if taken:
                    value = self._float(scalar.name, value, others)
                # The kernel gets it as f32, and so does the reference.
                found[scalar.name] = float(np.float32(0.5 if value is None else value))
                continue
            if taken:
                default = None if value is None else int(value)
                value = self._whole(default, others + number)
            elif value is None:
                value = self._rng.integers(0, 1 + max(sizes.values(), default=1))
            found[scalar.name] = int(value)
        return found

    def _float(self, name: str, default: float | None, turn: int) -> float:
        """A float; four kinds of them follow each other.

        Like its default, twice; of the other sign; like the default of another scalar.
        """
        kind = turn % 4
        if kind == 3:
            floats = [s.name for s in self._scalars if s.dtype.is_float]
            other = self.default(floats[floats.index(name) - 1])
            if other is not None and (
                self._signed or (other > 0) == ((default or 1) > 0)
            ):
                return self._like(float(other))
        sign = -1.0 if kind == 2 and self._signed else 1.0
        if default is None:
            return sign * float(self._rng.choice([s for s in self._special if s > 0]))
        return sign * self._like(float(default))

    def _like(self, default: float) -> float:
        """A number of the sign of a default, near to it or about 1.

        What a default of 0 or of 1e-5 is a factor of is not seen beside the rest.
        """
        if default and self._rng.random() < 0.5:
            return default * float(self._rng.uniform(0.5, 1.0))
        return math.copysign(float(self._rng.uniform(0.25, 2.0)), default)

    def _whole(self, default: int | None, turn: int) -> int:
        """A whole number; four kinds of them follow each other, whatever is drawn.

        Like its default, as most kernels admit it; below 0; what the kernel compares
        with; what its requirements name.
        """
        kind = turn % 4
        if kind == 0 and default is not None:
            return int(self._rng.integers(0, 2 * abs(default) + 4))
        if kind == 1:
            return int(self._rng.choice((-7, -1)))
        for some in (required_numbers(self._program), self._special)[kind != 3 :]:
            held = [n for n in near(some) if abs(n) < LARGEST_SCALAR]
            if held:
                return int(self._rng.choice(held))
        return 0
