"""Inputs of several distributions, drawn into arrays that stay where they are.

Normal numbers alone would let through a kernel that is right for them only: whose
result is the same for every shift, or that skips what is small. Sizes and addresses
stay, values change.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

from argus.evaluation.arrays import Arrays
from argus.evaluation.judge.subject import Subject
from argus.evaluation.oracle import Inputs, reads
from argus.ir.dtypes import DTYPES
from argus.kernels.library import Argument, Case

Distribution = Literal["normal", "scaled", "shifted", "sparse", "steps", "constant"]
"""normal: N(0, 1). scaled: N(0, 1) times 32 or 1/32, by column. shifted: N(1, 1/4).
sparse: one number per row, at a place that changes. steps: small numbers that follow
from the coordinates, so that neighbours differ. constant: one number everywhere."""

DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)


def allocated(arguments: tuple[Argument, ...], library: Arrays) -> dict[str, Any]:
    """Poisoned arrays of the right shapes, by name, in order."""
    return {a.name: library.poisoned(a.dtype, a.shape) for a in arguments}


def fill(
    subject: Subject,
    case: Case,
    library: Arrays,
    arrays: dict[str, Any],
    distribution: Distribution,
    *,
    finite: bool = False,
) -> Inputs:
    """Draw new inputs into the arrays, and poison the outputs.

    With NaN, or ``finite`` numbers that are others each time: a kernel that reads what
    an output held could tell NaN from a result.
    """
    arguments = subject.entry.arguments(case)
    for argument in arguments:
        drawn = _drawn(argument, library, distribution)
        if finite and argument.draw == "output":
            drawn = library.littered(argument.dtype, argument.shape)
        arrays[argument.name][...] = drawn
    if subject.entry.tables is not None:
        subject.entry.tables(library.module, arrays, case)
    kept = {a.name: library.copy(arrays[a.name]) for a in arguments if reads(a)}
    return Inputs(library, arguments, arrays, kept)


def _drawn(argument: Argument, library: Arrays, distribution: Distribution) -> Any:
    if argument.draw == "output":
        return library.poisoned(argument.dtype, argument.shape)
    if argument.draw == "index" or not argument.dtype.is_float:
        return library.integers(argument.dtype, argument.shape, argument.high)
    if distribution == "normal":
        return library.normal(argument.dtype, argument.shape)
    x = library.normal(DTYPES["f32"], argument.shape)
    return library.rounded(_shaped(x, library, distribution), argument.dtype)


def _shaped(x: Any, library: Arrays, distribution: Distribution) -> Any:
    xp = library.module
    last = x.shape[-1]
    match distribution:
        case "normal":
            return x
        case "scaled":
            columns = _counted(x, xp, last)
            return x * xp.where(columns % 2 == 0, 32.0 + 0 * columns, 1 / 32)
        case "shifted":
            return x * 0.25 + 1.0
        case "sparse":
            rows = math.prod(x.shape[:-1])
            place = library.integers(DTYPES["i64"], (rows,), last)
            chosen = _counted(x, xp, last)[None, :] == place[:, None]
            flat = x.reshape(rows, last)
            return xp.where(chosen, flat + 2.0, 0 * flat).reshape(x.shape)
        case "steps":
            count = math.prod(x.shape)
            numbers = _counted(x, xp, count).reshape(x.shape)
            return (numbers * 7 // 3 % 31 - 13) / 8.0
        case "constant":
            return 0 * x + 0.5


def _counted(x: Any, xp: Any, count: int) -> Any:
    """0, 1, ... on the device of ``x``."""
    where = {"device": x.device} if xp.__name__ == "torch" else {}
    return xp.arange(count, **where)
