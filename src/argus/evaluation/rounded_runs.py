"""Runs in a kernel's own types beside exact arithmetic, at sizes that say something.

    lost = lost_at(request, program, {"N": 65536})

A sum in bf16 that does not grow any more, or a position that bf16 does not hold, is no
matter in real arithmetic. What is stored then is: an element that is infinite, or a
result that is off by half its norm, of positive inputs, of which nothing cancels. Where
a number decides by which a float is another one, so is a single element that is off by
half, or a whole number that is another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from argus.clock import now
from argus.diagnostics import ArgusError
from argus.equivalence.sizes import (
    elements_of,
    environment,
    free_sizes,
    shapes_of,
    with_others_small,
)
from argus.evaluation.equal.inputs import MODES, assumed_tables, draw
from argus.evaluation.equal.trying import Trial, found_by
from argus.evaluation.equal.witness import launched, worst
from argus.evaluation.tiles import NotExecutable, Stuck, indexing
from argus.interpret import ArgumentError, TimeOver, run
from argus.interpret.numbers import Array, compute
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.lang.kernel import literal
from argus.requests import Request

__all__ = ["Lost", "lost_at", "trial_at"]

_ELEMENTS = 1 << 22
"""Elements of all tensors of a run, at most."""
LAST = 8
"""Blocks that are run, as a rule: the last ones, which have the largest coordinates."""
_SECONDS = 4.0
"""Time of a run, in exact arithmetic and in the kernel's types each."""


@dataclass(frozen=True)
class Lost:
    """An element of which rounding left nothing, at ``sizes``."""

    sizes: Mapping[str, int]
    output: str
    index: tuple[int, ...]
    got: float
    exact: float

    @property
    def message(self) -> str:
        """What is lost, in a sentence."""
        at = ", ".join(map(str, self.index))
        return f"{self.output}[{at}] is {self.got:.6g}, and {self.exact:.6g} unrounded"


def trial_at(
    request: Request,
    program: Program,
    known: Mapping[str, int],
    small: int,
    beyond: int = 0,
) -> Trial | None:
    """Positive inputs at sizes of which some are known, and others are small.

    ``beyond``: tables that name no places hold odd numbers from there on. None where a
    launch admits none with the known ones, or they are too large.
    """
    whole = with_others_small(program, known, small)
    free = free_sizes(program)
    if whole is None or any(whole[n] != known[n] for n in free if n in known):
        return None
    if elements_of(program, whole) > _ELEMENTS:
        return None
    scalars: dict[str, int | float] = {}
    for scalar in request.kernel.signature.scalars:
        value = literal(scalar.default)
        if not isinstance(value, int | float):
            return None
        scalars[scalar.name] = value
    env = environment(program, whole, scalars)
    positive = next(m for m in MODES if m.positive)
    rng = np.random.default_rng(0)
    arrays = draw(program, shapes_of(program, whole), env, positive, rng)
    if arrays is None:
        return None
    if beyond:
        _put_odd(program, arrays, beyond)
    return Trial(program, whole, scalars, {}, arrays)


def _put_odd(program: Program, arrays: dict[str, Array], beyond: int) -> None:
    """Give tables of 32 bits and more odd numbers of which floats may be others."""
    places = indexing(program) | assumed_tables(program)
    for tensor in program.params:
        if not isinstance(tensor, GlobalTensor) or tensor.name in places:
            continue
        if tensor.dtype.kind == "int" and tensor.dtype.bits >= 32:
            array = arrays[tensor.name]
            odd = beyond + 1 + 2 * np.arange(array.size)
            array.reshape(-1)[:] = odd.astype(array.dtype)


def lost_at(
    request: Request,
    program: Program,
    known: Mapping[str, int],
    small: int,
    last: int = LAST,
    *,
    decides: bool = False,
    beyond: int = 0,
) -> Lost | None:
    """What rounding leaves nothing of at such sizes; None: a run shows nothing.

    ``last``: blocks that are run. ``decides``: a number may decide that a float does
    not hold, so that a single element says something. ``beyond``: see `trial_at`.
    """
    trial = trial_at(request, program, known, small, beyond)
    if trial is None:
        return None
    try:
        blocks = range(max(trial.grid - last, 0), trial.grid)
        with np.errstate(all="ignore"):
            exact = found_by(trial, blocks, seconds=_SECONDS)
            placed, arrays = launched(trial, request)
            done = run(
                placed,
                arrays,
                trial.scalars,
                sm_count=trial.multiprocessors,
                blocks=blocks,
                collect=True,
                until=now() + _SECONDS,
            )
    except (
        ArgusError, ArgumentError, NotExecutable, Stuck, TimeOver, ZeroDivisionError
    ):  # fmt: skip
        return None
    if done.errors:
        return None  # others tell it
    for tensor in placed.params:
        if not isinstance(tensor, GlobalTensor) or tensor.name not in exact:
            continue
        said = exact[tensor.name]
        want, there = said.values, said.written
        floats = tensor.dtype.is_float
        if not (floats or decides) or not np.isfinite(want[there]).all():
            continue
        got = compute(arrays[tensor.name], tensor.dtype).astype(np.float64)
        number = worst(got[there], want[there]) if floats else None
        if number is None and decides:
            number = _alone(got[there], want[there], 0.5 if floats else 0.0)
        if number is not None:
            at = tuple(int(i) for i in np.argwhere(there)[number[0]])
            sizes = dict(trial.sizes)
            return Lost(sizes, tensor.name, at, float(got[at]), float(want[at]))
    return None


def _alone(got: Array, want: Array, far: float) -> tuple[int, ...] | None:
    """The element that is off by most, if it is by more than a part of itself.

    And of what elements are about.
    """
    if not want.size:
        return None
    wanted = want.astype(np.float64)
    off = np.abs(got - wanted)
    size = float(np.sqrt((wanted * wanted).mean()))
    bad = off > far * np.maximum(np.abs(wanted), size)
    at = int(np.argmax(np.where(bad, off, -1.0)))
    return (at,) if bad.reshape(-1)[at] else None
