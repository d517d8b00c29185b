"""One run of a kernel on drawn inputs, and how far it is from its reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from argus.calls import prepare_call
from argus.equivalence.references import Reference, Unusable
from argus.equivalence.sizes import environment, shapes_of
from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.device import launch_and_wait, torch_module
from argus.evaluation.equal.inputs import MODES, draw
from argus.evaluation.equal.trying import Trial, expected, initial
from argus.evaluation.oracle import Inputs, OracleVerdict, compared
from argus.evaluation.simulate import interpret
from argus.evaluation.testing.rounding import moved, representable, tolerances
from argus.ir.dtypes import DType
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.kernels.library import Argument
from argus.lang.kernel import literal
from argus.requests import Request

__all__ = ["TrialOutcome", "Word", "arguments_at", "tried_once"]

Word = Literal["right", "wrong", "refused", "unclear"]
_ORDER: tuple[Word, ...] = ("right", "unclear", "refused", "wrong")
DEVICE = "cuda"
"""What torch calls the GPU that kernels are launched on."""
UNCLEAR = 0.25
"""A tolerance above this says nothing: the result is mostly rounding."""
_DRAWS = 64
"""Inputs that are drawn, where the reference says nothing of the first: tables of
indices may lead outside of tensors."""


@dataclass(frozen=True)
class TrialOutcome:
    """What came of a run.

    ``error`` is the largest of an output, in the norm; ``tolerance`` that of the same
    output; ``relative`` is their quotient. ``why``: what is wrong, or unclear.
    """

    word: Word
    error: float = 0.0
    tolerance: float = 0.0
    why: tuple[str, ...] = ()

    @property
    def relative(self) -> float:
        """The error as a multiple of the tolerance."""
        if self.error == 0.0:
            return 0.0
        return self.error / self.tolerance if self.tolerance else math.inf

    @property
    def rank(self) -> tuple[int, float]:
        """What is worse has a larger one."""
        nan = math.isnan(self.relative)
        return _ORDER.index(self.word), math.inf if nan else self.relative


def arguments_at(program: Program, sizes: Mapping[str, int]) -> tuple[Argument, ...]:
    """The tensors of a program at these sizes."""
    shapes = shapes_of(program, sizes)
    return tuple(
        Argument(
            p.name,
            p.dtype,
            shapes[p.name],
            "output" if p.name in program.outputs else "normal",
        )
        for p in program.params
        if isinstance(p, GlobalTensor)
    )


def tried_once(
    request: Request,
    program: Program,
    reference: Reference,
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float],
    *,
    seed: int,
    on_device: bool,
) -> TrialOutcome:
    """Draw inputs from a seed, run, compare. ``program``: the placed one.

    Raises ArgusError for what compiling, binding, launching and the device find.
    """
    rng = np.random.default_rng(seed)
    wanted: _Wanted | str = ""
    for _ in range(_DRAWS):
        wanted = _wanted(request, program, reference, sizes, scalars, seed, rng)
        if isinstance(wanted, _Wanted):
            break
    else:
        return _unclear(wanted)
    exact, allowed, arrays = wanted.exact, wanted.allowed, wanted.arrays
    if (most := max(allowed.values(), default=0.0)) > UNCLEAR:
        return _unclear(f"rounding alone may change the result by {most:.0%}")
    inputs = _inputs(program, sizes, arrays)
    if on_device:
        faults = _launched(request, program, inputs, scalars)
    else:
        done = interpret(program, inputs, scalars, seed=seed)
        faults = tuple(str(fault) for fault in done.faults)
    wide = {n: v.astype(np.float64) for n, v in exact.items()}
    return _judged(compared(inputs, wide, allowed), faults)


@dataclass(frozen=True)
class _Wanted:
    """Inputs, what the reference makes of them, and how far that may be off."""

    arrays: dict[str, Any]
    exact: dict[str, Any]
    allowed: dict[str, float]


def _wanted(
    request: Request,
    program: Program,
    reference: Reference,
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float],
    seed: int,
    rng: np.random.Generator,
) -> _Wanted | str:
    """Draw inputs and call the reference; why these inputs say nothing, if so."""
    env = environment(program, sizes, scalars)
    modes = [m for m in MODES if not m.large]
    mode = modes[seed % len(modes)]
    drawn = draw(program, shapes_of(program, sizes), env, mode, rng)
    if drawn is None:
        return "no tables were found for what the kernel assumes of them"
    statics = {
        s.name: request.statics.get(s.name, literal(s.default))
        for s in request.kernel.signature.statics
    }
    arrays = initial(program, reference, drawn)
    trial = Trial(program, sizes, scalars, statics, arrays)
    try:
        exact = expected(trial, reference)
        if not representable(exact, program):
            return "results are beyond what the output's type holds"
        allowed = tolerances(
            exact,
            lambda: expected(trial, reference, values=moved(arrays, program, rng)),
            program,
            max(sizes.values(), default=1),
        )
    except Unusable as why:
        return str(why)
    return _Wanted(arrays, exact, allowed)


def _unclear(why: str) -> TrialOutcome:
    return TrialOutcome("unclear", why=(why,))


def _inputs(
    program: Program, sizes: Mapping[str, int], arrays: Mapping[str, Any]
) -> Inputs:
    arguments = arguments_at(program, sizes)
    own = {a.name: arrays[a.name].copy() for a in arguments}
    kept = {a.name: arrays[a.name] for a in arguments if a.draw != "output"}
    return Inputs(NumpyArrays(0), arguments, own, kept)


def _judged(verdict: OracleVerdict, faults: tuple[str, ...]) -> TrialOutcome:
    def share(found: Any) -> float:
        return found.error / found.tolerance if found.tolerance else found.error

    why = (*faults, *verdict.why())
    worst = max(verdict.outputs, key=share)
    error = math.nan if math.isnan(verdict.error) else worst.error
    return TrialOutcome("wrong" if why else "right", error, worst.tolerance, why)


def _launched(
    request: Request,
    program: Program,
    inputs: Inputs,
    scalars: Mapping[str, int | float],
) -> tuple[str, ...]:
    """Run on the GPU, and bring the tensors back. Nothing is reported there."""
    torch = torch_module()
    types = {a.name: a.dtype for a in inputs.arguments}
    there = {n: _there(torch, a, types[n]) for n, a in inputs.arrays.items()}
    named = {**there, **scalars, **request.statics}
    loaded, values = prepare_call(request.kernel, (), named, checking=False)
    launch_and_wait(loaded.prepare(*values))
    for name, tensor in there.items():
        flat = tensor.cpu().reshape(-1).view(torch.uint8).numpy()
        array = inputs.arrays[name]
        array[...] = flat.view(array.dtype).reshape(array.shape)
    return ()


def _there(torch: Any, array: Any, dtype: DType) -> Any:
    """A tensor on the GPU with the elements that an array holds, bit for bit."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    flat = torch.from_numpy(raw.copy()).to(DEVICE)
    return flat.view(getattr(torch, dtype.foreign)).reshape(array.shape)
