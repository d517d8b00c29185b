"""Witnesses: inputs on which a kernel, as it is placed, gives another result.

    witness = confirmed(trial, reference, difference, request)

The difference was found in exact arithmetic. Here the placed program runs in the
interpreter on the same inputs, and shows the same element: nearer to what exact
arithmetic gave than to what the reference says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from argus.diagnostics import ArgusError
from argus.equivalence.references import Reference, Unusable
from argus.evaluation.equal.trying import (
    Difference,
    Trial,
    distance,
    expected,
    found_by,
)
from argus.evaluation.requests import contiguous_facts
from argus.evaluation.tiles import NotExecutable, Stuck
from argus.interpret import ArgumentError, run
from argus.interpret.numbers import compute
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.requests import Request, placed_program

__all__ = ["Witness", "confirmed"]

_BLOCKS = 256
"""Blocks that are run in the interpreter, at most."""


@dataclass(frozen=True)
class Witness:
    """Sizes, scalars and an element of an output, with both values.

    The difference is the one that the placed program shows in the kernel's own types,
    NaN where the element is not written.
    """

    sizes: Mapping[str, int]
    scalars: Mapping[str, int | float]
    difference: Difference
    reference: str

    @property
    def element(self) -> str:
        """The element, as it is written in source."""
        found = self.difference
        return f"{found.output}[{', '.join(map(str, found.index))}]"

    @property
    def message(self) -> str:
        """What differs, in a sentence."""
        found = self.difference
        says = f"`{self.reference}` says {found.wanted:.6g}"
        if not found.written:
            return f"{self.element} is not written; {says}"
        return f"{self.element} is {found.got:.6g}, and {says}"


def confirmed(
    trial: Trial,
    reference: Reference,
    found: Difference,
    request: Request,
    blocks: Sequence[int] | None = None,
) -> Witness | None:
    """The witness, if the interpreter shows the same and the reference is sure of it.

    ``blocks``: those that are run, if not all. None also where these inputs are no
    call: the kernel cannot be placed for them, or its launch refuses them.
    """
    if blocks is None:
        blocks = range(trial.grid)
    if len(blocks) > _BLOCKS or not _sure(trial, reference, found):
        return None
    try:
        program = _placed(trial, request)
        arrays = {n: a.copy() for n, a in trial.arrays.items()}
        done = run(
            program,
            arrays,
            trial.scalars,
            sm_count=trial.multiprocessors,
            blocks=blocks,
            collect=True,
        )
        exact = found_by(trial, blocks, seconds=20.0)
    except (ArgusError, ArgumentError, Stuck, NotExecutable):
        return None
    if done.errors:
        return None  # an order that is wrong, or an assumption: others tell it
    dtype = next(t.dtype for t in _tensors(program) if t.name == found.output)
    got = compute(arrays[found.output], dtype)[found.index]
    real = exact[found.output]
    ideal, wanted = float(real.values[found.index]), found.wanted
    if np.isfinite(ideal):
        if not abs(float(got) - ideal) <= abs(ideal - wanted) / 4:
            return None
    elif not np.array_equal(ideal, got, equal_nan=True):
        return None
    written = bool(real.written[found.index])
    shown = replace(found, got=float(got), written=written)
    return Witness(dict(trial.sizes), dict(trial.scalars), shown, reference.name)


def _sure(trial: Trial, reference: Reference, found: Difference) -> bool:
    """Whether the reference says the same again, and in narrow whole numbers."""
    try:
        again = expected(trial, reference)[found.output]
        narrow = expected(trial, reference, narrow=True)[found.output]
    except Unusable:
        return False
    here = found.index
    want = np.full(1, found.wanted)
    return bool(
        distance(again[here].reshape(1), want)[0] < 1e-9
        and distance(narrow[here].reshape(1), want)[0] < 1e-6
    )


def _placed(trial: Trial, request: Request) -> Program:
    """What a call with these arrays is placed to. Raises ArgusError."""
    shapes = {n: a.shape for n, a in trial.arrays.items()}
    facts = contiguous_facts(request.kernel, shapes)
    return placed_program(replace(request, facts=facts))


def _tensors(program: Program) -> list[GlobalTensor]:
    return [p for p in program.params if isinstance(p, GlobalTensor)]
