"""How good predictions are: rank correlation and error, by kernel and by problem.

What a search needs is the order of configurations of one problem, so Spearman's rank
correlation is given within each problem, too, and what the measured time of the
configuration that the model ranks first is over the best measured one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST = 8
"""Configurations that a problem must have for a rank correlation of its own."""


@dataclass(frozen=True)
class TimedConfiguration:
    """One configuration: its kernel family, problem, and both times (microseconds)."""

    family: str
    problem: str
    measured: float
    predicted: float


@dataclass(frozen=True)
class Accuracy:
    """Of some points.

    ``error``: median of |predicted / measured - 1|; ``high``: its 90th percentile.
    ``within``: rank correlations of problems with enough points.
    """

    points: int
    spearman: float
    error: float
    high: float
    within: tuple[float, ...]
    loss: tuple[float, ...]
    """Time of what the model ranks first over the best measured, by problem."""

    @property
    def worst_within(self) -> float:
        """The lowest rank correlation of a problem; NaN without one."""
        return min(self.within, default=float("nan"))

    @property
    def median_within(self) -> float:
        """Median over problems; NaN without one."""
        return float(np.median(self.within)) if self.within else float("nan")


def ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 0; equal values share the mean of theirs."""
    array = np.asarray(values, np.float64)
    _, inverse, counts = np.unique(array, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((2 * last - counts - 1) / 2)[inverse]


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Rank correlation. Raises ValueError for fewer than two, or equal values only."""
    a, b = ranks(x), ranks(y)
    if a.size < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        raise ValueError("a rank correlation needs two different values")
    return float(np.corrcoef(a, b)[0, 1])


def accuracy(points: Sequence[TimedConfiguration]) -> Accuracy:
    """Of all points together. Raises ValueError for fewer than two."""
    measured = np.array([p.measured for p in points])
    predicted = np.array([p.predicted for p in points])
    off = np.abs(predicted / measured - 1)
    within: list[float] = []
    loss: list[float] = []
    for _, group in grouped(points, lambda p: f"{p.family} {p.problem}"):
        times = [p.measured for p in group]
        first = min(group, key=lambda p: p.predicted)
        loss.append(first.measured / min(times))
        if len(group) >= LEAST and max(times) > min(times):
            within.append(spearman(times, [p.predicted for p in group]))
    return Accuracy(
        len(points),
        spearman(measured.tolist(), predicted.tolist()),
        float(np.median(off)),
        float(np.quantile(off, 0.9)),
        tuple(within),
        tuple(loss),
    )


def grouped(
    points: Iterable[TimedConfiguration], key: Callable[[TimedConfiguration], str]
) -> list[tuple[str, list[TimedConfiguration]]]:
    """Points by a key, in the order of first appearance."""
    found: dict[str, list[TimedConfiguration]] = {}
    for point in points:
        found.setdefault(key(point), []).append(point)
    return list(found.items())
