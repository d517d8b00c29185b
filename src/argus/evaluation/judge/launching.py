"""A candidate on the device: its arrays, what lies around them, and what is launched.

It is launched on new inputs, each time with poisoned outputs and between guards, and
compared with the fp64 oracle, which is computed after it ran.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from argus.evaluation.arrays import TorchArrays
from argus.evaluation.device import launch_and_wait
from argus.evaluation.judge import findings as say
from argus.evaluation.judge.checking import Clock
from argus.evaluation.judge.inputs import fill
from argus.evaluation.judge.plans import PlannedTrial
from argus.evaluation.judge.results import wrong
from argus.evaluation.judge.subject import Subject
from argus.evaluation.judge.tolerance import derived, representable, sensitivity
from argus.evaluation.oracle import compared, expected
from argus.ir.dtypes import DType
from argus.kernels.library import Argument, Case
from argus.runs.records import JudgeVerdict

__all__ = [
    "GUARD",
    "DeviceCandidate",
    "PreparableKernel",
    "correct",
    "guarded",
    "outside",
    "placed_at",
]

GUARD = 1 << 20
"""Bytes before and after each tensor that nobody may write."""
_PATTERN = 0x5A


class PreparableKernel(Protocol):
    """A candidate that is loaded; `runtime.launch.LoadedKernel` is one."""

    def prepare(self, *args: Any, **named: Any) -> Callable[[], object]:
        """Its launch on arguments. Raises ArgusError where it refuses them."""
        ...


@dataclass(frozen=True)
class DeviceCandidate:
    """A candidate on the device: its arrays, what surrounds them, and its launch."""

    subject: Subject
    case: Case
    library: TorchArrays
    arrays: dict[str, Any]
    guards: tuple[Any, ...]
    prepared: Callable[[], object]
    """Launches and does not wait."""
    launch: Callable[[], object]
    """Launches, and waits for the end. Raises ArgusError AG0811 for a fault."""
    seed: int

    def intact(self) -> bool:
        """Whether nobody wrote around the arrays."""
        return all(bool((guard == _PATTERN).all()) for guard in self.guards)


def placed_at(
    subject: Subject,
    case: Case,
    kernel: PreparableKernel,
    library: TorchArrays,
    seed: int,
    scalars: Mapping[str, int | float] | None = None,
) -> DeviceCandidate:
    """New arrays for a case, and the candidate's launch on them.

    ``scalars``: others than the problem's. Raises ArgusError where it refuses these
    arguments.
    """
    arrays, guards = guarded(subject.entry.arguments(case), library)
    values = subject.scalars if scalars is None else scalars
    prepared = kernel.prepare(**arrays, **values)
    return DeviceCandidate(
        subject, case, library, arrays, guards,
        prepared, lambda: launch_and_wait(prepared), seed,
    )  # fmt: skip


def outside() -> JudgeVerdict:
    """The verdict of a candidate that wrote where nothing is its own."""
    why = "memory outside the candidate's tensors was written"
    return say.verdict("wrong", "compare", (say.said("AG1020", why),))


def correct(
    placed: DeviceCandidate, clock: Clock, trials: Sequence[PlannedTrial]
) -> tuple[JudgeVerdict | None, float]:
    """What is wrong, or None; and the largest error.

    Raises ArgusError AG0811 for a fault of the device, AG1018 for one of the reference.
    """
    subject, case = placed.subject, placed.case
    error = 0.0
    passed: dict[str, float] | None = None
    for trial in trials:
        inputs = fill(
            subject,
            case,
            placed.library,
            placed.arrays,
            trial.distribution,
            finite=trial.finite,
        )
        clock.begin("run", "launch")
        placed.launch()
        clock.begin("compare", "run")
        sizes = "" if case is subject.case else f"at {case.name}, "
        where = f"{sizes}{trial.distribution} inputs of seed {placed.seed}"
        if not placed.intact():
            return outside(), error
        reference = expected(subject.entry, case, inputs)
        if not representable(inputs, reference):
            continue
        if passed is None:
            passed = sensitivity(subject, case, inputs, reference)
        tolerances = derived(subject, inputs, reference, passed)
        found = compared(inputs, reference, tolerances)
        bad = wrong(found, inputs, where)
        if bad is not None:
            return bad, error
        error = max(error, found.error)
    return None, error


def guarded(
    arguments: tuple[Argument, ...], library: TorchArrays
) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """Arrays for the arguments, by name in order, and the bytes around them."""
    torch = library.module
    arrays: dict[str, Any] = {}
    guards: list[Any] = []
    for argument in arguments:
        length = math.prod(argument.shape) * argument.dtype.bytes
        # The guard behind begins at the first byte after the tensor.
        whole = torch.full(
            (2 * GUARD + length,), _PATTERN, dtype=torch.uint8, device=library.device
        )
        inner = whole[GUARD : GUARD + length]
        arrays[argument.name] = _typed(library, inner, argument.dtype).view(
            argument.shape
        )
        guards += [whole[:GUARD], whole[GUARD + length :]]
    return arrays, tuple(guards)


def _typed(library: TorchArrays, raw: Any, dtype: DType) -> Any:
    return raw.view(library.poisoned(dtype, (1,)).dtype)
