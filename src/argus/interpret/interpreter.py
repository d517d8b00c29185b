"""Run a placed program in numpy, exactly as its plans say, with no GPU.

    result = run(program, {"A": a, "B": b, "C": c}, {})      # C is written in place

Arrays have the program's shapes; bf16 arrays are uint16 bit patterns (`numbers.py`).
The result is that of one interleaving, chosen by `seed`, with asynchronous operations
completing late and in any order; a missing wait, sync or fence is a fault whatever the
interleaving (`order.py`). Not modelled: time, caches, register pressure, and floating
point in the hardware's order of summation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from argus.diagnostics import ArgusError, Span, fail
from argus.interpret.errors import Fault, Faults, InterpreterError
from argus.interpret.machine import Cluster, Schedule, role_names
from argus.interpret.memory import GlobalArray
from argus.interpret.numbers import Array, storage
from argus.interpret.run_ops import run_block
from argus.ir.expr import Binary, Const, Expr, Select, Sym, evaluate, holds
from argus.ir.launch import MOST_BLOCKS
from argus.ir.memory import GlobalTensor
from argus.ir.program import (
    BLOCK_INDEX,
    CLUSTER_RANK,
    GRID_SIZE,
    SM_COUNT,
    Program,
)

__all__ = ["ArgumentError", "Result", "run"]


class ArgumentError(ValueError):
    """Arguments that the program cannot be launched with.

    ``span`` and ``why``: the requirement that refuses them, and its reason.
    """

    def __init__(self, said: str, span: Span | None = None, why: str = "") -> None:
        super().__init__(f"{said}; {why}" if why else said)
        self.said, self.span, self.why = said, span, why

    def told(self) -> ArgusError:
        """The same as an ArgusError AG0808, for people."""
        notes = [self.why] if self.why else []
        return fail("AG0808", self.span, self.said, notes=notes)


@dataclass(frozen=True)
class Result:
    """What a run found. The outputs are in the arrays that were passed."""

    errors: list[Fault]
    grid: int
    """Number of blocks of the whole grid."""
    blocks: tuple[int, ...]
    """The blocks that were run."""

    def check(self) -> None:
        """Raise InterpreterError if there was any fault."""
        if self.errors:
            raise InterpreterError(self.errors)


def run(
    program: Program,
    arrays: Mapping[str, Array],
    scalars: Mapping[str, int | float] | None = None,
    *,
    sm_count: int = 4,
    blocks: Iterable[int] | None = None,
    seed: int = 0,
    schedule: Schedule = "random",
    collect: bool = False,
    printed: Callable[[str], None] | None = None,
    until: float | None = None,
) -> Result:
    """Run every block of the grid, or those in `blocks` (with their whole clusters).

    They run one after another, in the order in which they are given.

    `arrays` by parameter name are modified in place, `scalars` are the scalar
    arguments. `schedule`: "random" interleaves roles and completions by `seed`,
    "in_order" runs a role until it waits and completes everything as late as possible,
    and "late" lets the role of number `seed` go on only where no other one can, and
    nothing is in flight.

    `printed` takes each line that `ag.print` prints; without it nobody asks for them.
    `until`: when the run ends with TimeOver, in seconds of `argus.clock`.

    Raises InterpreterError at the first fault, unless `collect`: then the faults are in
    `Result.errors`. Raises ArgumentError for arguments that a launch would refuse, and
    ValueError for a program that is not placed.
    """
    if not program.placed:
        raise ValueError(f"program {program.name} is not placed")
    held, env = _bind(program, arrays, scalars or {})
    env[SM_COUNT.name] = sm_count
    _require(program, env)
    try:
        grid = int(evaluate(program.grid, env))
    except ZeroDivisionError:
        raise ArgumentError(f"the grid {program.grid} divides by zero") from None
    env[GRID_SIZE.name] = grid
    if grid > MOST_BLOCKS:
        raise ArgumentError(f"the grid would have {grid} blocks, at most {MOST_BLOCKS}")
    if grid % program.cluster:
        raise ArgumentError(f"{grid} blocks are not clusters of {program.cluster}")
    clusters: Sequence[int] = range(grid // program.cluster)
    if blocks is not None:
        wanted = list(blocks)
        if wanted and not 0 <= min(wanted) <= max(wanted) < grid:
            raise ArgumentError(f"blocks {wanted} of a grid of {grid}")
        clusters = list(dict.fromkeys(block // program.cluster for block in wanted))
    faults = Faults(collect)
    rng = np.random.default_rng(seed)
    roles = role_names(program)
    done: list[int] = []
    for number in clusters:
        first = number * program.cluster
        members = range(first, first + program.cluster)
        envs = [
            (i, {**env, BLOCK_INDEX.name: i, CLUSTER_RANK.name: i - first})
            for i in members
        ]
        with np.errstate(all="ignore"):  # the device does not warn either
            cluster = Cluster(program, held, envs, faults, rng, schedule, run_block)
            cluster.printed, cluster.until = printed, until
            cluster.late = roles[seed % len(roles)] if roles else ""
            cluster.run()
        done.extend(members)
    return Result(faults.found, grid, tuple(done))


def _bind(
    program: Program, arrays: Mapping[str, Array], scalars: Mapping[str, int | float]
) -> tuple[dict[str, GlobalArray], dict[str, Any]]:
    """Tensors by name, and the values of dims, strides and scalar arguments."""
    env: dict[str, Any] = {}
    held: dict[str, GlobalArray] = {}
    aligned: dict[str, int] = {}
    for x in program.alignments:
        aligned[x.tensor] = max(x.bytes, aligned.get(x.tensor, 1))

    def bind(expected: Expr, actual: int, what: str) -> None:
        match expected:
            case Const(value=value):
                wanted = value
            case Sym(name=name):
                wanted = env.setdefault(name, actual)
            case Binary() | Select():
                wanted = evaluate(expected, env)
            case _:
                assert_never(expected)
        if wanted != actual:
            raise ArgumentError(f"{what} is {actual}, not {wanted}")

    for param in program.params:
        if not isinstance(param, GlobalTensor):
            if param.name not in scalars:
                raise ArgumentError(f"the scalar argument {param.name} is missing")
            value = scalars[param.name]
            env[param.sym.name] = np.float32(value) if param.dtype == "f32" else value
            continue
        array = arrays.get(param.name)
        if array is None:
            raise ArgumentError(f"the array {param.name} is missing")
        if not array.size:
            array = _without_elements(array)
        if array.dtype != storage(param.dtype):
            raise ArgumentError(
                f"{param.name} holds {array.dtype}, not {storage(param.dtype)}"
                f" for {param.dtype}"
            )
        if array.ndim != param.rank:
            raise ArgumentError(f"{param.name} has {array.ndim} axes, not {param.rank}")
        for axis in range(param.rank):
            extent = f"the extent of axis {axis} of {param.name}"
            bind(param.shape[axis], array.shape[axis], extent)
            if array.shape[axis] > 1:
                stride = f"the stride of axis {axis} of {param.name}"
                elements = array.strides[axis] // array.itemsize
                bind(param.strides[axis], elements, stride)
        for stride, nbytes in zip(param.strides, array.strides, strict=True):
            if isinstance(stride, Sym):
                env.setdefault(stride.name, nbytes // array.itemsize)
        alignment = aligned.get(param.name, array.itemsize)
        # An odd multiple: aligned as promised and not more.
        base = alignment * ((1 << 20) + 1)
        held[param.name] = GlobalArray(param, array, base)
    return held, env


def _without_elements(array: Array) -> Array:
    """An empty array with the strides of a contiguous one; numpy's mean nothing.

    Around a dimension without elements they are 0, as in a launch.
    """
    strides = [array.itemsize]
    for extent in array.shape[:0:-1]:
        strides.append(strides[-1] * extent)
    return np.lib.stride_tricks.as_strided(array, array.shape, strides[::-1])


def _require(program: Program, env: Mapping[str, Any]) -> None:
    for requirement in program.requirements:
        if not holds(requirement.cond, env):
            said, why = requirement.refused(env)
            raise ArgumentError(said, requirement.span, why)
