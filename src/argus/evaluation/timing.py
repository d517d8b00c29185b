"""Times of several callables on the GPU, side by side.

They take turns in one process, so that clocks, temperature and power limits meet them
alike; before each call a buffer larger than the L2 cache is written. Times are those of
the device between two CUDA events. Results are not looked at here.

    time_interleaved   statistics of a fixed number of rounds
    sample_interleaved the samples, as many as a time allows, with new inputs each round
    median_interval    how sure a median is
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, sqrt
from statistics import median, quantiles
from typing import Any

from argus.evaluation.device import torch_module

FLUSH_BYTES = 256 << 20
"""Written before each call: five times the 50 MB of L2 of an H100 or H200. It takes the
device about 80 µs, in which the host gets ahead by a launch or two."""
ROUNDS = 50


@dataclass(frozen=True)
class Timing:
    """Microseconds of one callable; ``iqr`` is the interquartile range."""

    name: str
    median: float
    minimum: float
    iqr: float
    samples: int


def summary(name: str, microseconds: list[float]) -> Timing:
    """Statistics of at least one sample. Raises ValueError for none."""
    if not microseconds:
        raise ValueError(f"no sample of {name}")
    if len(microseconds) == 1:
        return Timing(name, microseconds[0], microseconds[0], 0.0, 1)
    first, _, third = quantiles(microseconds, n=4, method="inclusive")
    return Timing(
        name,
        median(microseconds),
        min(microseconds),
        third - first,
        len(microseconds),
    )


def time_interleaved(
    calls: Mapping[str, Callable[[], object]],
    *,
    rounds: int = ROUNDS,
    warmup: int = 5,
) -> dict[str, Timing]:
    """Time each callable ``rounds`` times; every round starts with another one.

    Raises ArgusError AG0903 or AG0906 without a GPU or torch, ValueError for fewer than
    one round.
    """
    if rounds < 1:
        raise ValueError(f"{rounds} rounds")
    torch = torch_module()
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    for _ in range(warmup):
        for call in calls.values():
            flush.zero_()
            call()
    torch.cuda.synchronize()
    samples = _rounds(torch, flush, calls, rounds, None)
    return {name: summary(name, found) for name, found in samples.items()}


def working(
    calls: Mapping[str, Callable[[], object]],
) -> dict[str, Callable[[], object]]:
    """Baselines without those for which this torch has no kernel; calls each once."""
    found: dict[str, Callable[[], object]] = {}
    for name, call in calls.items():
        try:
            call()
        except RuntimeError:
            continue
        found[name] = call
    return found


def sample_interleaved(
    calls: Mapping[str, Callable[[], object]],
    *,
    seconds: float,
    rounds: int = ROUNDS,
    fewest: int = 5,
    refresh: Callable[[], object] | None = None,
    inspect: Callable[[], object] | None = None,
) -> dict[str, list[float]]:
    """Microseconds of each callable, in as many rounds as fit ``seconds``.

    At least ``fewest`` and at most ``rounds``. ``refresh`` is called before each round:
    it puts new values where the callables read; ``inspect`` after each timed round,
    when the device has done everything. One untimed and one timed round, which
    is thrown away, come first. Raises like :func:`time_interleaved`.
    """
    torch = torch_module()
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    _rounds(torch, flush, calls, 1, refresh)
    begin = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    begin.record()
    _rounds(torch, flush, calls, 1, refresh)
    end.record()
    torch.cuda.synchronize()
    each = 1e-3 * begin.elapsed_time(end)
    fitting = int(seconds / max(each, 1e-6))
    number = min(rounds, max(fewest, fitting))
    return _rounds(torch, flush, calls, number, refresh, inspect)


def _rounds(
    torch: Any,
    flush: Any,
    calls: Mapping[str, Callable[[], object]],
    rounds: int,
    refresh: Callable[[], object] | None,
    inspect: Callable[[], object] | None = None,
) -> dict[str, list[float]]:
    """Every callable once in each round; every round starts with another one."""
    names = list(calls)
    events: dict[str, list[tuple[Any, Any]]] = {name: [] for name in names}
    for number in range(rounds):
        if refresh is not None:
            refresh()
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            begin = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            flush.zero_()
            begin.record()
            calls[name]()
            end.record()
            events[name].append((begin, end))
        # A bounded queue: the host must not run into the driver's launch limit.
        torch.cuda.synchronize()
        if inspect is not None:
            inspect()
    return {
        name: [1e3 * b.elapsed_time(e) for b, e in pairs]
        for name, pairs in events.items()
    }


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """A 95 % confidence interval of the median, by order statistics.

    The number of samples below the median is binomial with p = 1/2, whatever their
    distribution: samples number (n - 1.96 sqrt(n)) / 2 and 1 + (n + 1.96 sqrt(n)) / 2
    enclose it (Conover, Practical Nonparametric Statistics, 3.2). The extremes for
    fewer than 6 samples. Raises ValueError for none.
    """
    if not samples:
        raise ValueError("no sample")
    ordered, n = sorted(samples), len(samples)
    low = floor((n - 1.96 * sqrt(n)) / 2)
    high = ceil(1 + (n + 1.96 * sqrt(n)) / 2)
    return ordered[max(low, 1) - 1], ordered[min(high, n) - 1]
