"""What fused products change in kernels of the library, on hard inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import ml_dtypes
import numpy as np

from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.oracle import Inputs, make_inputs
from argus.evaluation.requests import request_for
from argus.evaluation.simulate import interpret
from argus.ir.codec import numbers, rounded
from argus.ir.dtypes import DType
from argus.kernels.library import Case, LibraryEntry
from argus.requests import placed_program
from contraction import contracted
from hard_inputs import hard

__all__ = ["compared_runs", "differs", "hardened"]


def compared_runs(entry: LibraryEntry, case: Case, manners: Sequence[str]) -> list[str]:
    """What fused products change in the outputs of a case, beyond rounding.

    Of inputs as they are drawn, and of those that `hard_inputs` makes of them.
    """
    request, choice = request_for(entry, case, entry.targets[0])
    fused, count = contracted(placed_program(request))
    if not count:
        return []
    found: list[str] = []
    for manner in ("", *manners):
        inputs = hardened(make_inputs(entry, case, NumpyArrays(0)), manner)
        results: list[dict[str, np.ndarray]] = []
        for program in (placed_program(request), fused):
            given = replace(
                inputs, arrays={n: a.copy() for n, a in inputs.arrays.items()}
            )
            with np.errstate(all="ignore"):
                done = interpret(program, given, choice.scalars)
            assert not done.faults, done.faults[0]
            results.append(
                {
                    a.name: np.asarray(numbers(given.arrays[a.name], a.dtype))
                    for a in inputs.arguments
                    if a.draw == "output" and a.dtype.is_float
                }
            )
        for name, exact in results[0].items():
            said = differs(exact, results[1][name])
            found += (
                [f"{entry.name} {case.name} {manner}: {name} {said}"] if said else []
            )
    return found


def hardened(inputs: Inputs, manner: str) -> Inputs:
    """The same with floats of a manner; none: as they are."""
    if not manner:
        return inputs
    arrays = dict(inputs.arrays)
    for a in inputs.arguments:
        if a.draw == "normal" and a.dtype.is_float:
            most = _most(a.dtype)
            values = hard(manner, numbers(arrays[a.name], a.dtype), most)
            arrays[a.name] = rounded(values, a.dtype)
    kept = {name: arrays[name].copy() for name in inputs.kept}
    return replace(inputs, arrays=arrays, kept=kept)


def differs(exact: np.ndarray, fused: np.ndarray) -> str | None:
    """Where two results are not the same up to rounding; None: nowhere.

    What is not finite may be another number: less overflows where products are fused.
    """
    with np.errstate(all="ignore"):
        finite = np.isfinite(exact)
        scale = np.abs(np.where(finite, exact, 0)).max(initial=0)
        near = np.abs(exact - fused) <= 2e-2 * (np.abs(exact) + 0.1 * scale)
    same = near | ~finite
    if same.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{list(at)} is {fused[at]} and not {exact[at]}"


def _most(dtype: DType) -> float:
    kind = vars(ml_dtypes).get(dtype.foreign, dtype.foreign)
    return float(ml_dtypes.finfo(kind).max)
