"""The time of a kernel on a GPU, predicted from its placed program and its sizes.

    predict(program, {"M": 4096, "N": 4096, "K": 4096}).microseconds

The busiest multiprocessor is simulated (`simulate.py`) with cut loops; time and load of
its units are extrapolated to the full trip counts and number of blocks. Deterministic,
no GPU. What is not modelled is in `docs/model.md`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from argus.diagnostics import fail
from argus.ir.launch import MOST_BLOCKS
from argus.ir.program import GRID_SIZE, Program
from argus.model import live
from argus.model.hardware import H200, Hardware
from argus.model.scalars import CLUSTER_SIZE, launch_scalars, tensor_bytes
from argus.model.simulate import UNITS, Multiprocessor
from argus.model.steps import Env, Trace
from argus.model.trace import Tracer
from argus.model.traffic import LaunchTraffic
from argus.verify.performance.resources import occupancy

INNER, OUTER = (8, 14), (2, 3)
"""Iterations that are simulated of the innermost loops, and of loops around loops."""
ADDRESSED = 1 << 47
"""Bytes that a pointer of CUDA's unified address space reaches on 64-bit hosts."""
BUSY = 0.6
"""Share of the time from which on a unit is what binds."""


class CodeUsage(Protocol):
    """What machine code says of itself (records of `runtime` and of `verify` do)."""

    @property
    def registers(self) -> int:
        """Per thread."""
        ...


@dataclass(frozen=True)
class Prediction:
    """What the model says of one launch.

    ``parts``: microseconds that each unit is busy ("tensor", "memory", "l2", "shared",
    "issue"), that are lost because multiprocessors idle ("waves"), and that launching
    takes ("launch").

    ``bottleneck`` is one of these names, or "latency": nothing is busy most of the
    time, so that waiting is what takes it. ``occupancy``: resident blocks of a
    multiprocessor; ``registers`` per thread, of the machine code or estimated.
    """

    microseconds: float
    bottleneck: str
    parts: dict[str, float]
    occupancy: int
    registers: int


@dataclass(frozen=True)
class TracedProgram:
    """A traced program, to be simulated with one or more sets of constants."""

    trace: Trace
    env: Env
    blocks: list[int]
    resident: int
    active: int
    grid: int
    registers: int
    balance: float
    """Average work of a multiprocessor over that of the busiest."""


def predict(
    program: Program,
    arguments: Mapping[str, int | float],
    *,
    usage: CodeUsage | None = None,
    hardware: Hardware = H200,
) -> Prediction:
    """Time of one launch with a cold L2 cache.

    ``arguments``: sizes by dimension name, and scalars. ``usage`` of the machine code
    makes the occupancy exact; without it registers are estimated. Raises ArgusError
    AG0517 for a missing size, for sizes that no launch can have and for thread groups
    that wait for ever; ValueError for a program that is not placed.
    """
    return simulate(prepare(program, arguments, usage, hardware), hardware)


def prepare(
    program: Program,
    arguments: Mapping[str, int | float],
    usage: CodeUsage | None,
    hardware: Hardware,
) -> TracedProgram:
    """Everything that does not depend on rates and latencies. Raises like `predict`."""
    if not program.placed:
        raise ValueError("the program is not placed")
    sms = hardware.multiprocessors
    try:
        env = launch_scalars(program, arguments, sms)
    except KeyError as missing:
        raise fail(
            "AG0517",
            program.span,
            f"the size `{missing.args[0]}` is not given",
            help="give every dimension of the kernel's tensors",
        ) from missing
    except ZeroDivisionError:
        raise fail(
            "AG0517", program.span, "the grid divides by zero at these sizes"
        ) from None
    _launchable(program, env)
    env[CLUSTER_SIZE] = program.cluster
    registers = usage.registers if usage else live.estimate(program)
    fits = max(1, occupancy(program, registers).blocks)
    grid = int(env[GRID_SIZE.name])
    resident = min(fits, -(-grid // sms))
    wave = min(grid, sms * resident)
    footprint = LaunchTraffic(
        tensor_bytes(program, env), wave, grid, hardware.l2_capacity
    )
    tracer = Tracer(program, env, footprint, hardware)
    trace = tracer.trace()
    blocks = _blocks(tracer.iterations, grid, sms)
    return TracedProgram(
        trace,
        env,
        blocks,
        resident,
        min(grid, sms),
        grid,
        registers,
        _balance(tracer.iterations, grid, sms),
    )


def _launchable(program: Program, env: Env) -> None:
    """Raises ArgusError AG0517 for no blocks, and more blocks or bytes than can be."""
    grid = int(env[GRID_SIZE.name])
    if grid < 1:
        text = "there is nothing to time: these sizes launch no blocks"
        raise fail("AG0517", program.span, text)
    if grid > MOST_BLOCKS:
        text = f"no launch has {grid} blocks, at most {MOST_BLOCKS}"
        raise fail("AG0517", program.span, text)
    for name, count in tensor_bytes(program, env).items():
        if count > ADDRESSED:
            text = f"`{name}` would have {count:.3g} bytes; a GPU addresses {ADDRESSED}"
            raise fail("AG0517", program.span, text)


def _blocks(iterations: NDArray[np.float64], grid: int, sms: int) -> list[int]:
    """Blocks for the simulated multiprocessor, as many as the busiest gets.

    Blocks differ where loops do. One that each multiprocessor has one of is the longest
    of all; of many, each counts as an average one.
    """
    count = -(-grid // sms)
    if count == 1:
        return [int(np.argmax(iterations))]
    average = int(np.argmin(np.abs(iterations - iterations.mean())))
    return [average] * count


def _balance(iterations: NDArray[np.float64], grid: int, sms: int) -> float:
    """Work of all multiprocessors over what it were if all had that of the busiest."""
    count = -(-grid // sms)
    even = 1.0
    if count == 1 and iterations.max() > 0:
        even = float(iterations.mean() / iterations.max())
    return even * grid / (count * sms)


def simulate(prepared: TracedProgram, hardware: Hardware) -> Prediction:
    """The second half of :func:`predict`."""
    rows = _corners(prepared, hardware)
    cycles, *busy = _extrapolated(rows)
    memory = UNITS.index("memory")
    busy[memory] *= hardware.burst
    cycles = max(
        cycles,
        busy[memory] + hardware.dram_latency,
        prepared.grid / hardware.blocks_per_cycle,
    )
    to_us = 1e-3 / hardware.clock_ghz
    to_us *= _throttled(cycles * to_us, busy[UNITS.index("tensor")] * to_us, hardware)
    time = cycles * to_us
    total = time + hardware.launch_microseconds
    units = dict(zip(UNITS, (b * to_us for b in busy), strict=True))
    units["issue"] = max(units["issue"], units.pop("special"))
    parts = {
        **units,
        "waves": time * (1 - prepared.balance),
        "launch": hardware.launch_microseconds,
    }
    return Prediction(
        total,
        _bottleneck(parts, total),
        parts,
        prepared.resident,
        prepared.registers,
    )


def _throttled(time: float, tensor: float, hardware: Hardware) -> float:
    """How much longer a cycle is, once the power limit has met busy tensor cores."""
    share = tensor / time if time > 0 else 0.0
    begun = 1 - math.exp(-time / hardware.throttle_microseconds)
    return 1 + hardware.throttle * share * begun


def _bottleneck(parts: Mapping[str, float], total: float) -> str:
    if parts["launch"] > 0.5 * total:
        return "launch"
    if parts["waves"] > 0.4 * total:
        return "waves"
    units = {k: v for k, v in parts.items() if k not in ("waves", "launch")}
    worst = max(units, key=lambda name: units[name])
    return worst if units[worst] > BUSY * total else "latency"


Row = tuple[tuple[float, ...], tuple[float, ...]]
"""What was cut, by dimension; cycles and busy cycles."""


def _corners(prepared: TracedProgram, hardware: Hardware) -> list[Row]:
    """Simulations with few and with more blocks and iterations."""
    count, resident = len(prepared.blocks), prepared.resident
    depth = prepared.trace.depth
    choices: list[tuple[int, ...]] = [_two(count, 2 * resident, 3 * resident)]
    for level in range(depth):
        choices.append(INNER if level == depth - 1 else OUTER)
    rate = memory_rate(prepared, hardware)
    rows: list[Row] = []
    for corner in itertools.product(*choices):
        blocks = prepared.blocks[: corner[0]]
        machine = Multiprocessor(
            prepared.trace, prepared.env, hardware, tuple(corner[1:]), rate
        )
        found = machine.run(blocks, resident, float(count - len(blocks)))
        rows.append((found.dropped, (found.cycles, *found.busy)))
        if not any(found.dropped):
            return [rows[-1]]
    return rows


def memory_rate(prepared: TracedProgram, hardware: Hardware) -> float:
    """Bytes per cycle that a multiprocessor gets while others pause."""
    return hardware.burst * hardware.dram_bytes / prepared.active


def _two(count: int, low: int, high: int) -> tuple[int, ...]:
    return (count,) if count <= low else (low, min(count, high))


def _extrapolated(rows: list[Row]) -> list[float]:
    """Value where nothing is cut, of the multilinear function through the rows."""
    cut = np.array([row[0] for row in rows])
    values = np.array([row[1] for row in rows])
    # Dimensions in which something is cut, and not always the same.
    moving = [d for d in range(cut.shape[1]) if np.ptp(cut[:, d]) > 0]
    terms = [
        np.prod(cut[:, list(chosen)], axis=1) if chosen else np.ones(len(rows))
        for n in range(len(moving) + 1)
        for chosen in itertools.combinations(moving, n)
    ]
    solution, *_ = np.linalg.lstsq(np.stack(terms, axis=1), values, rcond=None)
    return [float(x) for x in solution[0]]
