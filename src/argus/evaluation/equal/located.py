"""Two kernels near an element at which their terms differ: is there a witness?

    witness = located(request, program, given, sizes, element)

Terms say at which sizes and for which element the kernels differ, not for which inputs.
So the blocks of both that write the element are run there and at sizes beside, on
inputs of several modes.
As of every witness, the interpreter has to show the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from argus.clock import now
from argus.equivalence.deciding import Element
from argus.equivalence.references import Unusable
from argus.equivalence.sizes import (
    elements_of,
    environment,
    free_sizes,
    shapes_of,
    with_others_small,
)
from argus.evaluation.drawing import DrawingMode, specials
from argus.evaluation.equal.alike import kernel_reference
from argus.evaluation.equal.inputs import MODES, draw
from argus.evaluation.equal.trying import Trial, found_by, writing, wrong
from argus.evaluation.equal.witness import Witness, confirmed
from argus.evaluation.tiles import MANY, NotExecutable, Stuck
from argus.interpret.numbers import Array
from argus.ir.program import Program, ScalarParam
from argus.lang.kernel import literal
from argus.requests import Request

__all__ = ["SECONDS", "Element", "located"]

SECONDS = 1.0
"""CPU time after which no other inputs are tried."""
_LEAST = 0.2
"""CPU time of a run, at least."""
_ELEMENTS = 1 << 24
"""Elements of all tensors, at most."""
_SMALL = 3
"""A size that does not matter."""
_STEPS = (1, -1, 40, 160)
"""By how much sizes differ from the given ones: beside them, and in other tiles."""
_BLOCKS = 16
"""Blocks of each kernel, at most."""
_MODES = (*MODES, DrawingMode("constants", every=True))


def located(
    request: Request,
    program: Program,
    given: Program,
    sizes: Mapping[str, int],
    element: Element,
    scalars: Mapping[str, int | float],
    *,
    seconds: float = SECONDS,
    seed: int = 0,
) -> Witness | None:
    """Inputs for which a kernel differs from another one at or beside an element.

    ``program`` is what the request is typed as, ``given`` the other kernel, which says
    what is right. Sizes that are not given are small. ``scalars``: some of them, which
    else have their defaults.
    """
    until = now() + seconds
    passed = _scalars(request, program, scalars)
    whole = with_others_small(program, sizes, _SMALL)
    if passed is None or whole is None:
        return None
    for near in _near(request, program, whole):
        found = _at(request, program, given, near, element, passed, until, seed)
        if found is not None or now() > until:
            return found
    return None


def _near(
    request: Request, program: Program, sizes: Mapping[str, int]
) -> Iterator[Mapping[str, int]]:
    """The sizes, then those beside them, and some tiles away, in each dimension.

    Terms that differ in how they are written may be the same number at the very sizes
    of a sample, such as those at which no tile has an end that is filled, or at which
    there is one tile. A step is what the specialisation knows to divide a size.
    """
    yield sizes
    for steps in _STEPS:
        for dim in free_sizes(program):
            changed = sizes[dim] + steps * request.facts.get(dim, 1)
            if changed > 0:
                yield {**sizes, dim: changed}


def _at(
    request: Request,
    program: Program,
    given: Program,
    sizes: Mapping[str, int],
    element: Element,
    scalars: Mapping[str, int | float],
    until: float,
    seed: int,
) -> Witness | None:
    """A witness at these sizes, while there is time."""
    whole = with_others_small(program, sizes, _SMALL)
    if whole is None:
        return None
    shapes = shapes_of(program, whole)
    name, index = element
    inside = all(i < n for i, n in zip(index, shapes[name], strict=True))
    if not inside or elements_of(program, whole) > _ELEMENTS:
        return None
    rng = np.random.default_rng(seed)
    try:
        for arrays in _inputs(program, given, shapes, whole, scalars, rng):
            trial = Trial(program, whole, scalars, {}, arrays, MANY)
            found = _compared(request, trial, given, element, until)
            if found is not None or now() > until:
                return found
    except (Unusable, Stuck, NotExecutable, ZeroDivisionError):
        return None
    return None


def _scalars(
    request: Request, program: Program, known: Mapping[str, int | float]
) -> dict[str, int | float] | None:
    defaults = {s.name: literal(s.default) for s in request.kernel.signature.scalars}
    found: dict[str, int | float] = {}
    for param in program.params:
        if isinstance(param, ScalarParam):
            value = known.get(param.name, defaults.get(param.name))
            if not isinstance(value, int | float):
                return None
            found[param.name] = value
    return found


def _inputs(
    program: Program,
    given: Program,
    shapes: Mapping[str, tuple[int, ...]],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float],
    rng: np.random.Generator,
) -> Iterator[dict[str, Array]]:
    """What tensors hold, outputs included: neither kernel may ask for that."""
    special = specials((program, given), scalars.values())
    env = environment(program, sizes, scalars)
    for mode in _MODES:
        arrays = draw(program, shapes, env, mode, rng, special)
        if arrays is not None:
            yield arrays


def _compared(
    request: Request, trial: Trial, given: Program, element: Element, until: float
) -> Witness | None:
    """A witness among what blocks write that write the element.

    Raises Stuck for a run that takes longer than there is time.
    """
    other = Trial(given, trial.sizes, trial.scalars, {}, trial.arrays, MANY)
    mine, theirs = (writing(t, element) for t in (trial, other))
    if not (0 < len(mine) <= _BLOCKS and 0 < len(theirs) <= _BLOCKS):
        return None
    left = max(until - now(), _LEAST)
    got = found_by(trial, mine, seconds=left)
    right = found_by(other, theirs, seconds=left)
    for output, there in right.items():
        # What one of both has not written, other blocks may write.
        got[output].written &= there.written
    wanted = {n: t.values for n, t in right.items() if n in got}
    if not all(np.isfinite(w[got[n].written]).all() for n, w in wanted.items()):
        return None
    said = kernel_reference(given, theirs)
    shown = (
        confirmed(trial, said, x, request, mine)
        for x in wrong(wanted, got, whole=False)
    )
    return next((witness for witness in shown if witness is not None), None)
