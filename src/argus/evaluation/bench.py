"""A case timed beside what a torch user has today, after its result was checked.

A time is worth nothing without a right result, so a wrong one is an error here. The
ratio to a baseline is what counts; absolute rates are given with the share of the
device's speed of light.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from argus.diagnostics import fail
from argus.evaluation.device import launch_and_wait, prepare
from argus.evaluation.oracle import judge
from argus.evaluation.requests import shown
from argus.evaluation.timing import ROUNDS, Timing, time_interleaved, working
from argus.kernels.library import Case, LibraryEntry
from argus.model.peaks import peak_of

OURS = "argus"


@dataclass(frozen=True)
class BenchRecord:
    """One measured case.

    ``unit`` is "TFLOP/s", or "TB/s" for an entry that is bound by memory; ``rates`` are
    in it. ``ratios`` is a baseline's median time over ours: above 1 ours is faster.
    ``share`` is ours as a part of the speed of light, None where the device's is not
    known. ``error`` is the largest error of an output against fp64.
    """

    entry: str
    case: str
    sizes: Mapping[str, int]
    kernel: str
    statics: Mapping[str, str]
    error: float
    tolerance: float
    unit: str
    timings: Mapping[str, Timing]
    rates: Mapping[str, float]
    ratios: Mapping[str, float]
    share: float | None
    notes: tuple[str, ...] = field(default=())


def bench(
    entry: LibraryEntry,
    case: Case,
    device: str,
    *,
    seed: int = 0,
    rounds: int = ROUNDS,
    statics: Mapping[str, object] | None = None,
) -> BenchRecord:
    """Check a case, and time it beside its baselines. ``device`` is the device's name.

    Raises ArgusError: AG0815 for a wrong result, and see `device.prepare`.
    """
    call = prepare(entry, case, seed=seed, statics=statics)
    launch_and_wait(call.prepared)
    verdict = judge(entry, case, call.inputs)
    if not verdict.ok:
        raise fail(
            "AG0815",
            None,
            f"{entry.name}, {case.name}: the result is wrong, so it is not timed",
            notes=verdict.why(),
        )
    baselines = working(entry.baselines(call.inputs.arrays, case))
    calls: dict[str, Callable[[], object]] = {OURS: call.prepared, **baselines}
    timings = time_interleaved(calls, rounds=rounds)
    chosen = {**call.choice.statics, **(statics or {})}
    return record(
        entry,
        case,
        kernel=call.choice.kernel.name,
        statics={k: shown(v) for k, v in chosen.items()},
        error=verdict.error,
        timings=timings,
        device=device,
    )


def record(
    entry: LibraryEntry,
    case: Case,
    *,
    kernel: str,
    statics: Mapping[str, str],
    error: float,
    timings: Mapping[str, Timing],
    device: str,
) -> BenchRecord:
    """Rates, ratios and the share of the speed of light, from times."""
    work = entry.work(case)
    amount = work.bytes if entry.memory_bound else work.flops
    rates = {name: amount / t.median * 1e-6 for name, t in timings.items()}
    ours = timings[OURS].median
    peak = peak_of(device)
    share = None
    if peak is not None:
        # The larger of the two bounds: what the case cannot be faster than.
        least = max(work.flops / peak.flops, work.bytes / peak.bytes) * 1e6
        if entry.memory_bound:
            least = work.bytes / peak.bytes * 1e6
        share = least / ours
    return BenchRecord(
        entry.name,
        case.name,
        dict(case.sizes),
        kernel,
        dict(statics),
        error,
        entry.tolerance,
        "TB/s" if entry.memory_bound else "TFLOP/s",
        dict(timings),
        rates,
        {n: t.median / ours for n, t in timings.items() if n != OURS},
        share,
    )
