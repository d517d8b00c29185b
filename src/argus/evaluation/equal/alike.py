"""A kernel as a reference: what it computes, run on whole tiles in exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from argus.equivalence.references import Reference, Unusable
from argus.equivalence.sizes import environment
from argus.evaluation.equal.inputs import admits, are_assumed
from argus.evaluation.equal.trying import Trial, found_by
from argus.evaluation.tiles import MANY, NotExecutable, Stuck
from argus.interpret.numbers import rounded, storage
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam

__all__ = ["kernel_reference"]

_BLOCKS = 1024
"""Blocks that are run for one result, at most."""


def kernel_reference(
    program: Program, blocks: Sequence[int] | None = None
) -> Reference:
    """The reference that a kernel is: its outputs from all that it is passed.

    ``program`` is a typed one. ``blocks``: those that are run, if not all, each for one
    tile; elements that others write are as they were before.
    """
    tensors = [p for p in program.params if isinstance(p, GlobalTensor)]
    scalars = [p.name for p in program.params if isinstance(p, ScalarParam)]

    def computed(**given: Any) -> dict[str, Any]:
        arrays: dict[str, Any] = {}
        sizes: dict[str, int] = {}
        for tensor in tensors:
            array = np.asarray(given[tensor.name])
            sizes.update(zip(tensor.dims, array.shape, strict=True))
            if tensor.dtype.is_float:
                arrays[tensor.name] = rounded(array, tensor.dtype)
            else:
                arrays[tensor.name] = array.astype(storage(tensor.dtype))
        passed = {name: given[name] for name in scalars}
        env = environment(program, sizes, passed)
        if not (admits(program, sizes, passed) and are_assumed(program, arrays, env)):
            raise Unusable(f"{program.name} admits no such launch")
        trial = Trial(program, sizes, passed, {}, arrays)
        if blocks is not None:
            trial = replace(trial, multiprocessors=MANY)
        elif trial.grid > _BLOCKS:
            raise Unusable(f"{program.name} has {trial.grid} blocks")
        try:
            found = found_by(trial, range(trial.grid) if blocks is None else blocks)
        except (Stuck, NotExecutable) as why:
            raise Unusable(f"{program.name} cannot be run: {why}") from why
        return {name: found[name].values for name in program.outputs}

    names = (*(t.name for t in tensors), *scalars)
    return Reference(program.name, program.span, computed, names)
