"""A kernel and its reference on the same inputs, in exact arithmetic.

The kernel runs on whole tiles with floats of 64 bits that no type rounds, the reference
in numpy: what differs by more than such numbers' rounding is no rounding of the kernel.
A reference that fails, or whose result has NaN or infinities, says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argus.equivalence.deciding import Element
from argus.equivalence.references import Reference, Unusable, as_given
from argus.equivalence.sizes import environment
from argus.evaluation.equal.inputs import updated
from argus.evaluation.tiles import IndexTable, Stuck, run_blocks, writers
from argus.evaluation.tiles.watching import Watch
from argus.interpret.numbers import Array, compute, rounded, storage
from argus.ir.access import Ints
from argus.ir.dtypes import DType
from argus.ir.expr import evaluate
from argus.ir.memory import GlobalTensor
from argus.ir.program import SM_COUNT, Program

__all__ = [
    "Difference",
    "Trial",
    "Unlike",
    "WholeTensor",
    "expected",
    "found_by",
    "initial",
    "said",
    "writing",
    "wrong",
]


TINY = 1e-11
"""Results below this are nothing: log(1 + exp(-40)) is 0 in 64 bits."""
LEAST = 1e-4
"""Differences below this, of the size of an element and its row, are no witness: two
right formulas may round constants and cancel digits in different ways."""


class Unlike(Unusable):
    """The reference's result has another shape than the output."""

    def __init__(self, why: str, shapes: Mapping[str, tuple[int, ...]]) -> None:
        super().__init__(why)
        self.shapes = dict(shapes)


@dataclass
class Trial:
    """Sizes, scalars and inputs. ``arrays`` are as a call would pass them.

    ``multiprocessors``: those that persistent kernels see; as a rule few, so that a
    block does some tiles.
    """

    program: Program
    sizes: Mapping[str, int]
    scalars: Mapping[str, int | float]
    statics: Mapping[str, object]
    arrays: dict[str, Array]
    multiprocessors: int = 4

    @property
    def env(self) -> dict[str, int | float]:
        """What the program's symbols are."""
        made = environment(self.program, self.sizes, self.scalars)
        return {**made, SM_COUNT.name: self.multiprocessors}

    @property
    def elements(self) -> int:
        """The number of elements of all tensors."""
        return sum(a.size for a in self.arrays.values())

    @property
    def results(self) -> int:
        """The number of elements of the smallest output."""
        return min((self.arrays[n].size for n in self.program.outputs), default=0)

    @property
    def grid(self) -> int:
        """The number of blocks. Raises ZeroDivisionError."""
        return int(evaluate(self.program.grid, self.env))


@dataclass(frozen=True)
class Difference:
    """An element that is not what the reference says. ``written``: by some block."""

    output: str
    index: tuple[int, ...]
    got: float
    wanted: float
    wrong: int
    elements: int
    written: bool


@dataclass
class WholeTensor:
    """A tensor that is there as a whole, as numbers."""

    values: Array
    written: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """See :class:`argus.evaluation.tiles.Tensor`."""
        return self.values.shape

    def read(self, at: Ints) -> Array:
        """See :class:`argus.evaluation.tiles.Tensor`."""
        return self.values.reshape(-1)[at] if self.values.size else self._none(at)

    def _none(self, at: Ints) -> Array:
        return np.zeros(np.shape(at), self.values.dtype)

    def write(self, at: Ints, values: Array) -> None:
        """See :class:`argus.evaluation.tiles.Tensor`."""
        self.values.reshape(-1)[at] = values
        self.written.reshape(-1)[at] = True


# ------------------------------------------------------------------------- both sides


def expected(
    trial: Trial,
    reference: Reference,
    *,
    narrow: bool = False,
    values: Mapping[str, Array] | None = None,
    partly: bool = False,
) -> dict[str, Array]:
    """What the reference says. Raises Unusable, and Unlike for other shapes.

    What is not finite says nothing. ``partly``: nor does an element that is NaN, but
    others do.
    """
    found = said(trial, reference, narrow=narrow, values=values)
    for name, value in found.items():
        finite = np.isfinite(value)
        left = finite | np.isnan(value) if partly and finite.any() else finite
        if not left.all():
            raise Unusable(f"`{name}` has elements that are not finite")
    return found


def said(
    trial: Trial,
    reference: Reference,
    *,
    narrow: bool = False,
    values: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """What the reference says, NaN and infinities, too. Raises as :func:`expected`.

    ``narrow``: whole numbers are given in their own types, in which they may wrap.
    ``values``: numbers that tensors have instead of those of the trial.
    """
    given: dict[str, Any] = {**trial.statics, **trial.sizes, **trial.scalars}
    for tensor in _tensors(trial.program):
        array = trial.arrays[tensor.name]
        if values is not None and tensor.name in values:
            given[tensor.name] = values[tensor.name]
        elif narrow and not tensor.dtype.is_float:
            given[tensor.name] = array.copy()
        else:
            given[tensor.name] = as_given(compute(array, tensor.dtype), tensor.dtype)
    found = reference.called(given, trial.program.outputs, trial.sizes)
    shapes = {n: v.shape for n, v in found.items()}
    for name, value in found.items():
        own = trial.arrays[name].shape
        if value.shape != own:
            raise Unlike(f"`{name}` is {value.shape} there, and {own} here", shapes)
        if value.dtype.kind not in "fiub":
            raise Unusable(f"`{name}` has elements of type {value.dtype}")
    return found


def initial(
    program: Program, reference: Reference, arrays: dict[str, Array]
) -> dict[str, Array]:
    """The same arrays with what outputs hold before.

    What the reference takes is as it was drawn. What the kernel reads and the
    reference does not take is 0, and everything else NaN (the least number).
    """
    read = updated(program)
    found = dict(arrays)
    for tensor in _tensors(program):
        if tensor.name not in program.outputs or tensor.name in reference.parameters:
            continue
        shape = arrays[tensor.name].shape
        zero = tensor.name in read
        found[tensor.name] = _poison(tensor.dtype, shape, zero)
    return found


def _poison(dtype: DType, shape: tuple[int, ...], zero: bool) -> Array:
    kind = storage(dtype)
    if zero or dtype.kind == "bool":
        return np.zeros(shape, kind)
    if dtype.is_float:
        return rounded(np.full(shape, np.nan), dtype)
    return np.full(shape, np.iinfo(kind).min, kind)


def found_by(
    trial: Trial,
    blocks: Sequence[int],
    *,
    watch: Watch | None = None,
    seconds: float = 2.0,
) -> dict[str, WholeTensor]:
    """The outputs of the kernel. Raises Stuck and NotExecutable (`tiles`)."""
    tensors = tensors_of(trial)
    done = run_blocks(
        trial.program,
        tensors,
        trial.env,
        blocks,
        watch=watch,
        limit=seconds,
        exact=True,
    )
    if len(done.blocks) < len(blocks):
        raise Stuck("the blocks take too long")
    return {n: tensors[n] for n in trial.program.outputs}


def tensors_of(trial: Trial) -> dict[str, WholeTensor]:
    """What tensors hold before a run, floats as float64; nothing is written yet."""
    found: dict[str, WholeTensor] = {}
    for tensor in _tensors(trial.program):
        values = compute(trial.arrays[tensor.name], tensor.dtype)
        if tensor.dtype.is_float:
            values = values.astype(np.float64)
        values = np.array(values)
        found[tensor.name] = WholeTensor(values, np.zeros(values.shape, np.bool_))
    return found


def writing(trial: Trial, element: Element) -> list[int]:
    """Blocks that may write an element. Raises NotExecutable (`tiles`)."""
    name, index = element
    tensors = {
        t.name: IndexTable(trial.arrays[t.name], t.dtype)
        for t in _tensors(trial.program)
    }
    at = np.array([np.ravel_multi_index(index, trial.arrays[name].shape)])
    found = writers(trial.program, tensors, trial.env, {name: at})
    return [int(block) for block in found]


def wrong(
    wanted: Mapping[str, Array],
    outputs: Mapping[str, WholeTensor],
    *,
    whole: bool,
    missing: Element | None = None,
) -> list[Difference]:
    """The worst element of each output that differs. ``whole``: all blocks ran.

    ``missing``: an element of which is known that no block writes it, if none of these.
    """
    found: list[Difference] = []
    for name, want in wanted.items():
        got = outputs[name]
        looked = np.ones(want.shape, np.bool_) if whole else got.written.copy()
        if missing is not None and missing[0] == name:
            looked[missing[1]] = True
        if want.dtype.kind == "f":
            looked &= ~np.isnan(want)
        off = distance(got.values, want)
        bad = looked & ~(off <= LEAST)
        if not bad.any():
            continue
        # What is not written says most, then what is off most.
        rank = np.where(bad, np.where(np.isnan(off), np.inf, off), -1.0)
        rank[bad & ~got.written] = np.inf
        at = np.unravel_index(int(np.argmax(rank)), want.shape)
        one = Difference(
            name,
            tuple(int(i) for i in at),
            float(got.values[at]),
            float(want[at]),
            int(bad.sum()),
            int(looked.sum()),
            bool(got.written[at]),
        )
        found.append(one)
    return found


def distance(got: Array, want: Array) -> Array:
    """How far elements are off, in units of their size and that of their row.

    NaN where what was computed is no number. Whole numbers are exact or off by 1.
    """
    if want.dtype.kind != "f" and got.dtype.kind != "f":
        return (got != want).astype(np.float64)
    a, b = got.astype(np.float64), want.astype(np.float64)
    square = np.where(np.isnan(b), 0.0, b * b)
    row = np.sqrt(square.mean(axis=-1, keepdims=True)) if b.ndim else np.sqrt(square)
    with np.errstate(all="ignore"):
        return np.where(a == b, 0.0, np.abs(a - b) / (np.abs(b) + row + TINY))


def _tensors(program: Program) -> list[GlobalTensor]:
    return [p for p in program.params if isinstance(p, GlobalTensor)]
