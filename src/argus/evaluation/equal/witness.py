"""Witnesses: inputs on which a kernel, as it is placed, gives another result.

    witness = confirmed(trial, reference, difference, request)

The difference was found in exact arithmetic. Here the placed program runs in the
interpreter on the same inputs, and shows the same element: nearer to what exact
arithmetic gave than to what the reference says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from argus.diagnostics import ArgusError, Span
from argus.equivalence.references import Failed, Reference, Unusable
from argus.evaluation.equal.inputs import is_apart
from argus.evaluation.equal.noise import Rounding, with_noise
from argus.evaluation.equal.stored import stored_at, stores_of
from argus.evaluation.equal.trying import (
    Difference,
    Trial,
    distance,
    expected,
    found_by,
)
from argus.evaluation.requests import call_facts
from argus.evaluation.tiles import NotExecutable, Stuck
from argus.interpret import ArgumentError, Fault, run
from argus.interpret.numbers import Array, compute
from argus.ir.expr import symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import SM_COUNT, Program
from argus.ir.roundoff import computing_roundoff, is_narrow
from argus.requests import Request, placed_program

__all__ = [
    "ALL_BLOCKS",
    "Witness",
    "confirmed",
    "far_off",
    "is_sure",
    "launched",
    "worst",
]

_FAR, _WIDE_FAR, _PLAIN = 0.5, 0.05, 0.01
"""Differences in the norm of the result that are no rounding, where some floats are
narrower than f32 and where none is; and how large a result of ordinary inputs is, at
least, so that the difference is not one of canceled digits."""
_FEW = 16
"""Elements of which a norm says something, at least, where floats are narrow."""
_WIDE = 16
"""Elements by which strides are divisible where a kernel asks for the most."""
_ROUNDED = 1e-14
"""Differences below this, of the largest number given, are the rounding of 64 bits: the
sine of pi is not 0 there."""
_DRAWS = 12
"""Ways in which a reference is rounded."""
ALL_BLOCKS = 256
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
    strides: Mapping[str, tuple[int, ...]]
    """Of each tensor of the call, in elements."""
    span: Span | None = None
    """Where the element is written, if there are several places."""
    backwards: bool = False
    """Whether the last block ran first."""

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
    if len(blocks) > ALL_BLOCKS or not is_sure(trial, reference, found):
        return None
    try:
        program, arrays = launched(trial, request)
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
    raced = bool(done.errors) and _raced(trial.program, found.output, done.errors)
    if done.errors and not raced:
        return None  # an order that is wrong, or an assumption: others tell it
    dtype = next(t.dtype for t in _tensors(program) if t.name == found.output)
    got = compute(arrays[found.output], dtype)[found.index]
    real = exact[found.output]
    ideal, wanted = float(real.values[found.index]), found.wanted
    if not np.isclose(ideal, found.got, rtol=1e-6, atol=0.0, equal_nan=True):
        return None  # blocks that had not run have changed it
    if raced:
        got = ideal  # which of several numbers is left is chance
    elif np.isfinite(ideal):
        if not abs(float(got) - ideal) <= abs(ideal - wanted) / 4:
            return None
    elif not np.array_equal(ideal, got, equal_nan=True):
        return None
    written = bool(real.written[found.index])
    shown = replace(found, got=float(got), written=written)
    witness = _witness(trial, reference, shown, arrays)
    return replace(witness, backwards=len(blocks) > 1 and blocks[0] > blocks[-1])


def _raced(program: Program, output: str, faults: Sequence[Fault]) -> bool:
    """Whether threads write different numbers to an element, and nothing else is wrong.

    Where a table may name one place twice, whoever calls knows that it does not.
    """
    stores = set(stores_of(program, output))
    return is_apart(program) and all(
        fault.kind == "unordered" and fault.span in stores for fault in faults
    )


def far_off(trial: Trial, reference: Reference, request: Request) -> Witness | None:
    """A witness that only the kernel's own types show: of ordinary inputs.

    An element that is infinite or NaN where the reference has a number, or a result
    that is off by half its norm, or by a part of it where all floats are wide. In exact
    arithmetic there is no difference: numbers have left the range of their type, or
    were rounded before they decided something.
    """
    norm = (_FAR, _FEW) if is_narrow(trial.program) else (_WIDE_FAR, 1)
    try:
        wanted = expected(trial, reference)
        program, arrays = launched(trial, request)
        with np.errstate(all="ignore"):
            done = run(
                program,
                arrays,
                trial.scalars,
                sm_count=trial.multiprocessors,
                collect=True,
            )
    except (ArgusError, ArgumentError, Unusable):
        return None
    if done.errors:
        return None  # others tell it
    for tensor in _tensors(program):
        want = wanted.get(tensor.name)
        if want is None or not tensor.dtype.is_float or not np.isfinite(want).all():
            continue
        got = compute(arrays[tensor.name], tensor.dtype).astype(np.float64)
        at = worst(got, want.astype(np.float64), *norm)
        if at is None:
            continue
        wrong = int((~np.isfinite(got)).sum()) or 1
        found = Difference(
            *(tensor.name, at, float(got[at]), float(want[at])),
            *(wrong, want.size, True),
        )
        if is_sure(trial, reference, found, own_types=True):
            return _witness(trial, reference, found, arrays)
    return None


def _witness(
    trial: Trial, reference: Reference, found: Difference, arrays: Mapping[str, Array]
) -> Witness:
    sizes = dict(trial.sizes)
    if SM_COUNT in symbols(trial.program.grid):
        sizes[SM_COUNT.name] = trial.multiprocessors
    return Witness(
        sizes,
        dict(trial.scalars),
        found,
        reference.name,
        {n: strides_of(a) for n, a in arrays.items()},
        stored_at(trial, found.output, found.index) if found.written else None,
    )


def strides_of(array: Array) -> tuple[int, ...]:
    """The strides of an array, in elements."""
    return tuple(s // array.itemsize for s in array.strides)


def worst(
    got: Array, want: Array, far: float = _FAR, few: int = _FEW
) -> tuple[int, ...] | None:
    """The worst element of a result that is off by so much; None: it is not.

    ``few``: elements of which a norm says something, at least.
    """
    if not want.size:
        return None
    off = np.where(np.isfinite(got), np.abs(got - want), np.inf)
    if np.isfinite(off).all():
        size = float(np.sqrt((want * want).mean()))
        error = float(np.sqrt((off * off).mean()))
        if want.size < few or size < _PLAIN or error <= far * size:
            return None
    at = np.unravel_index(int(np.argmax(off)), want.shape)
    return tuple(int(i) for i in at)


def is_sure(
    trial: Trial, reference: Reference, found: Difference, *, own_types: bool = False
) -> bool:
    """Whether the reference says the same again, whatever its own rounding is.

    A number may stand before a step of a function. Whole numbers in their own types may
    wrap in a reference that was written for them: then the kernel has to differ from
    what it says of those, too. ``own_types``: the kernel differs in its own types
    alone, which says nothing where the reference leaves the range of f32 itself.
    """
    here, want = found.index, np.full(1, found.wanted)
    gap = abs(found.got - found.wanted)
    try:
        again = expected(trial, reference, partly=True)[found.output]
        if not distance(again[here].reshape(1), want)[0] < 1e-9:
            return False
        with suppress(Failed):  # it is not written for whole numbers of these types
            whole = expected(trial, reference, narrow=True, partly=True)
            narrow = whole[found.output]
            if not distance(narrow[here].reshape(1), want)[0] < 1e-6:
                apart = abs(float(narrow[here]) - found.got)
                if not (np.isfinite(gap) and apart > gap / 4):
                    return False
    except Unusable:
        return False
    if not found.written:
        return True  # whatever number is said
    floats = {t.name for t in _tensors(trial.program) if t.dtype.is_float}
    if found.output in floats and gap <= _ROUNDED * _largest(trial):
        return False
    for seed in range(_DRAWS):
        way = Rounding(seed, computing_roundoff(trial.program))
        noisy = {
            # A zero has no sign: what hangs on it is said of no real number.
            t.name: with_noise(compute(trial.arrays[t.name], t.dtype) + 0.0, way)
            for t in _tensors(trial.program)
            if t.dtype.is_float
        }
        try:
            noised = expected(trial, reference, values=noisy, partly=True)
            said = noised[found.output]
        except Unusable:
            return True  # it takes no such arrays
        if own_types and way.beyond:
            return False
        if np.isnan(found.got) and way.decided:
            return False  # both have no number there, and the reference compares it
        if way.placed:
            return False  # numpy says where the first is that is no number
        off = abs(float(said[here]) - found.wanted)
        if not off <= (gap / 4 if np.isfinite(gap) else np.inf):
            return False
    return True


def _largest(trial: Trial) -> float:
    """The largest finite number that tensors hold, or 1."""
    found = 1.0
    for tensor in _tensors(trial.program):
        if tensor.dtype.is_float:
            values = compute(trial.arrays[tensor.name], tensor.dtype)
            finite = np.abs(values[np.isfinite(values)].astype(np.float64))
            found = max(found, float(finite.max(initial=0.0)))
    return found


def launched(trial: Trial, request: Request) -> tuple[Program, dict[str, Array]]:
    """What a call with these arrays is placed to, and copies of them for a run.

    Where that is refused for rows that begin anywhere (TMA), they begin at multiples of
    16 elements: that is a call of the same sizes. Raises ArgusError.
    """
    arrays = {n: a.copy() for n, a in trial.arrays.items()}
    try:
        return _placed(arrays, request), arrays
    except ArgusError:
        arrays = {n: _with_wide_rows(a) for n, a in arrays.items()}
        return _placed(arrays, request), arrays


def _placed(arrays: Mapping[str, Array], request: Request) -> Program:
    shapes = {n: a.shape for n, a in arrays.items()}
    strides = {n: strides_of(a) for n, a in arrays.items()}
    facts = call_facts(request.kernel, shapes, strides)
    return placed_program(replace(request, facts=facts))


def _with_wide_rows(array: Array) -> Array:
    """The same array with rows that begin at multiples of 16 elements."""
    if array.ndim < 2:
        return array
    columns = array.shape[-1]
    wide = np.zeros((*array.shape[:-1], -(-columns // _WIDE) * _WIDE), array.dtype)
    wide[..., :columns] = array
    return wide[..., :columns]


def _tensors(program: Program) -> list[GlobalTensor]:
    return [p for p in program.params if isinstance(p, GlobalTensor)]
