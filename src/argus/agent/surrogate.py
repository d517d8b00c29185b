"""What a run expects of designs that it has not tried: a Gaussian process over knobs.

The logarithm of a kernel's time is taken for a constant, plus a function of each knob,
plus a function of each two knobs together (an additive kernel, Duvenaud et al. 2011):

    k(d, e) = S0 + S1 sum_i c_i + S2 sum_{i<j} c_i c_j,   c_i = likeness of d_i and e_i

Two numbers are the more alike the fewer doublings lie between them; other values are
alike or not. The prior mean is what the policy says, so that without any trial this is
the policy's belief, and with many trials the policy hardly counts. One form at a time:
forms have different knobs. Which design to try is not decided here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from argus.agent.policy import Policy, feature
from argus.agent.space import FORM, Design
from argus.runs.records import Value

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_CONSTANT = 4.0
_SINGLE = 0.10**2
_PAIR = 0.05**2
NOISE = 0.01**2
"""Variances, of log times: a knob moves a time by some 10 %, two together by 5 % more,
and a measurement repeats within 1 %."""
_SCALES = ((1.0, 1.0), (0.25, 0.25), (4.0, 4.0), (1.0, 4.0), (4.0, 1.0), (1.0, 0.1))
"""Factors of the two variances that are weighed against each other by likelihood, once
there are _ENOUGH observations; the first is what is taken before."""
_ENOUGH = 6
_SOFT = 0.5
"""Log time over the fastest beyond which it hardly counts how slow a design is."""
_RATHER_NOT = 0.3
"""Accepted designs that the belief "a design is accepted" is worth."""
_ALIKE = 1.0
"""Doublings at which two values are as like as 0.6."""


def softened(values: Sequence[float]) -> list[float]:
    """Log times in which slow ones lie nearer to the fastest.

    How much slower than twice as slow a design is says nothing about where the best
    one is, and would bend all effects.
    """
    if not values:
        return []
    best = min(values)
    return [best + _SOFT * math.tanh((y - best) / _SOFT) for y in values]


class DesignGrid:
    """Designs of one form, as indices of values: rows are designs, columns knobs."""

    def __init__(self, designs: Sequence[Design]) -> None:
        self.designs = list(designs)
        names = {k for d in designs for k in d if k != FORM}
        self.knobs = sorted(names)
        self.values: list[list[Value | None]] = []
        columns: list[list[int]] = []
        for knob in self.knobs:
            # 1 and True are equal, and are different values of a knob.
            tagged = [(d.get(knob), d.get(knob).__class__) for d in designs]
            numbers = {value: i for i, value in enumerate(dict.fromkeys(tagged))}
            self.values.append([value for value, _ in numbers])
            columns.append([numbers[value] for value in tagged])
        self.rows: Indices = np.array(columns, dtype=np.intp).reshape(
            len(self.knobs), len(self.designs)
        )

    def likeness(self, knob: int) -> Array:
        """How alike the values of a knob are, as a table."""
        values = self.values[knob]
        return np.array([[_alike(v, w) for w in values] for v in values])

    def share(self, no: Sequence[int], yes: Sequence[int]) -> Array:
        """How sure it is that a design is of the kind ``yes``, by likeness to both.

        Likeness in all knobs counts, where no single knob makes two designs strangers:
        most knobs have nothing to do with why a design was refused. Unlike anything:
        rather not.
        """
        weights = np.full((2, len(self.designs)), 0.0)
        for kind, rows in enumerate((no, yes)):
            alike = np.ones((len(self.designs), len(rows)))
            for i in range(len(self.knobs)):
                table = 0.3 + 0.7 * self.likeness(i)
                alike *= table[self.rows[i][:, None], self.rows[i, list(rows)][None, :]]
            weights[kind] = alike.sum(axis=1)
        return weights[1] / (weights.sum(axis=0) + _RATHER_NOT)


def _alike(one: Value | None, other: Value | None) -> float:
    if one == other and type(one) is type(other):
        return 1.0
    if isinstance(one, bool) or isinstance(other, bool):
        return 0.0
    if isinstance(one, int | float) and isinstance(other, int | float):
        if min(one, other) < 0:
            return 0.0
        apart = math.log2(max(one, 0.5)) - math.log2(max(other, 0.5))
        return math.exp(-0.5 * (apart / _ALIKE) ** 2)
    return 0.0


def prior(
    grid: DesignGrid, policy: Policy, family: str, form: str, place: str
) -> Array:
    """Log time that the policy expects of each design, up to a constant."""
    mean = np.zeros(len(grid.designs))
    for i, knob in enumerate(grid.knobs):
        table = [
            0.0
            if v is None
            else -policy.effect(family, form, place, feature({knob: v}))
            for v in grid.values[i]
        ]
        mean += np.array(table)[grid.rows[i]]
    for i, j in combinations(range(len(grid.knobs)), 2):
        one, two = grid.knobs[i], grid.knobs[j]
        pairs = np.array(
            [
                [
                    0.0
                    if v is None or w is None
                    else -policy.effect(family, form, place, feature({one: v, two: w}))
                    for w in grid.values[j]
                ]
                for v in grid.values[i]
            ]
        )
        mean += pairs[grid.rows[i], grid.rows[j]]
    return mean


@dataclass(frozen=True)
class TimedDesign:
    """A design by its row in the grid, its log time, and the variance of that."""

    row: int
    value: float
    noise: float = NOISE


class Surrogate:
    """The process over a grid, given observations and a prior mean of each design."""

    def __init__(
        self, grid: DesignGrid, mean: Array, observations: Sequence[TimedDesign]
    ) -> None:
        self._grid = grid
        self._mean = mean
        self._seen = [o.row for o in observations]
        self._likeness = [grid.likeness(i) for i in range(len(grid.knobs))]
        self._single, self._pair = _SINGLE, _PAIR
        self._weights: Array = np.zeros(0)
        self._factor: Array = np.zeros((0, 0))
        if not observations:
            return
        residual = np.array([o.value for o in observations]) - mean[self._seen]
        noise = np.diag([o.noise for o in observations])
        single, pairs = self._likenesses(self._seen, self._seen)
        best = -math.inf
        scales = _SCALES if len(observations) >= _ENOUGH else _SCALES[:1]
        for one, two in scales:
            covariance = _CONSTANT + _SINGLE * one * single + _PAIR * two * pairs
            lower = np.linalg.cholesky(covariance + noise)
            factor = np.linalg.inv(lower)
            white = factor @ residual
            fit = -0.5 * float(white @ white) - float(np.log(np.diag(lower)).sum())
            if fit > best:
                best = fit
                self._single, self._pair = _SINGLE * one, _PAIR * two
                self._factor = np.asarray(factor, dtype=np.float64)
                self._weights = factor.T @ white

    def _likenesses(
        self, rows: Sequence[int] | None, seen: Sequence[int]
    ) -> tuple[Array, Array]:
        """Sums over knobs, and over two knobs, for designs and observed ones."""
        indices = self._grid.rows if rows is None else self._grid.rows[:, list(rows)]
        shape = (indices.shape[1], len(seen))
        single, squares = np.zeros(shape), np.zeros(shape)
        for i, table in enumerate(self._likeness):
            alike = table[indices[i][:, None], self._grid.rows[i, list(seen)][None, :]]
            single += alike
            squares += alike * alike
        return single, (single * single - squares) / 2

    def predict(self, rows: Sequence[int] | None = None) -> tuple[Array, Array]:
        """Mean and standard deviation of the log time of designs (None: all)."""
        mean = self._mean if rows is None else self._mean[list(rows)]
        knobs = len(self._grid.knobs)
        own = _CONSTANT + self._single * knobs + self._pair * knobs * (knobs - 1) / 2
        if not self._seen:
            return mean, np.full(len(mean), math.sqrt(own))
        single, pairs = self._likenesses(rows, self._seen)
        cross = _CONSTANT + self._single * single + self._pair * pairs
        mean = mean + cross @ self._weights
        explained = np.square(cross @ self._factor.T).sum(axis=1)
        return mean, np.sqrt(np.maximum(own - explained, 1e-12))

    @cached_property
    def effects(self) -> dict[str, float]:
        """Log speed-up of each value, and each two, that was observed.

        Relative to the other observed values of the same knobs. The prior is not in it.
        """
        found: dict[str, float] = {}
        seen = self._grid.rows[:, self._seen]
        ratios = [self._likeness[i][:, seen[i]] for i in range(len(self._grid.knobs))]
        for i, knob in enumerate(self._grid.knobs):
            tried: list[int] = sorted({int(v) for v in seen[i]})
            worth = -self._single * (ratios[i][tried] @ self._weights)
            for v, e in zip(tried, worth - worth.mean(), strict=True):
                self._add(found, {knob: self._grid.values[i][v]}, float(e))
        for i, j in combinations(range(len(self._grid.knobs)), 2):
            pairs = zip(seen[i], seen[j], strict=True)
            met: list[tuple[int, int]] = sorted({(int(v), int(w)) for v, w in pairs})
            both = [ratios[i][v] * ratios[j][w] for v, w in met]
            worth = -self._pair * (np.array(both) @ self._weights)
            one, two = self._grid.knobs[i], self._grid.knobs[j]
            for (v, w), e in zip(met, worth - worth.mean(), strict=True):
                pair = {one: self._grid.values[i][v], two: self._grid.values[j][w]}
                self._add(found, pair, float(e))
        return found

    @staticmethod
    def _add(
        found: dict[str, float], pairs: Mapping[str, Value | None], effect: float
    ) -> None:
        known = {k: v for k, v in pairs.items() if v is not None}
        if len(known) == len(pairs):
            found[feature(known)] = effect
