"""Does the interpreter show what a counterexample says?

The ways, by what the rule is about:

    faults   order, initialisation, bounds: the placed program is run at the sizes of
             the counterexample under several schedules; it must report a fault
    probe    products of elements that do not belong together: one element of each
             input is set, everything else of these inputs is 0; the output must depend
             on both together
    holes    an output element that nobody writes: outputs begin poisoned, but for
             those that the kernel reads (it adds to them), which begin as 0
    value dependence   elements that end up elsewhere, sums that miss coordinates,
             padding that reaches an output, elements written twice: `dependence.py`

A rule without such a way, a counterexample without sizes for every dimension, one that
is too large to run and one whose grid cannot be had are left alone (``replayed`` stays
None). A probe that shows
nothing is no disagreement where later operations may hide the product; nor is an
experiment of `dependence.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from argus.clock import now
from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.dependence import (
    forgotten,
    misplaced,
    padded,
    twice,
)
from argus.evaluation.loose import arguments_of
from argus.evaluation.oracle import draw
from argus.evaluation.tiles.collecting import indexing
from argus.interpret import ArgumentError, Fault, Result, TimeOver, role_names, run
from argus.interpret.machine import Schedule
from argus.interpret.numbers import compute, rounded, storage
from argus.ir import ops as o
from argus.ir.expr import Sym, evaluate
from argus.ir.memory import GlobalTensor
from argus.ir.program import GRID_SIZE, Program, ScalarParam
from argus.ir.tensor_reads import read
from argus.ir.walk import walk
from argus.lang.kernel import literal
from argus.requests import Request
from argus.verify.evidence import Counterexample, OperandElement
from argus.verify.verdict import Obligation, Report, Verdict

MOST_ELEMENTS = 1 << 24
"""Elements of all tensors together; larger counterexamples are not run."""
MOST_BLOCKS = 512
"""Blocks of a grid that is run as a whole."""
SECONDS = 1.5
"""CPU time that the runs for a counterexample take, at most."""
SEEDS = (0, 1, 2)
SM_COUNT = 4
"""Multiprocessors, where the counterexample says neither how many nor how many blocks.
"""
GRID = GRID_SIZE.name

_FAULTS = {
    "AG0311", "AG0312", "AG0313", "AG0401", "AG0402", "AG0403", "AG0404", "AG0405",
    "AG0406", "AG0407", "AG0408", "AG0409", "AG0410", "AG0418", "AG0419", "AG0420",
    "AG0421", "AG0423",
}  # fmt: skip
_PROBES = {"AG0301"}
_HOLES = {"AG0306"}
_MISPLACED = {"AG0302", "AG0303", "AG0305"}
_FORGOTTEN = {"AG0304", "AG0308"}


def replayed(program: Program, request: Request, report: Report) -> Report:
    """The report with ``replayed`` set where a counterexample could be run."""
    shown: _Shown = {}
    made = tuple(_one(program, request, x, shown) for x in report.obligations)
    return replace(report, obligations=made)


_Shown = dict[tuple[bool, frozenset[tuple[str, int]], int | None], bool | None]
"""What runs for faults showed: by whether data may be of another fill, by sizes, and by
block.
"""


def _one(
    program: Program, request: Request, x: Obligation, shown: _Shown
) -> Obligation:
    found = x.counterexample
    if x.verdict is not Verdict.REFUTED or found is None or x.slow:
        return x
    if found.replayed is not None:
        return x
    if x.rule not in _FAULTS:
        said = confirm(program, request, x.rule, found)
    else:
        # Several of these at one block and the same sizes are seen in the same runs.
        at = (x.rule == "AG0402", frozenset(found.sizes.items()), found.place.block)
        if at not in shown:
            shown[at] = confirm(program, request, x.rule, found)
        said = shown[at]
    return replace(x, counterexample=replace(found, replayed=said))


def confirm(
    program: Program, request: Request, rule: str, found: Counterexample
) -> bool | None:
    """True or False as the interpreter shows it or not; None where it cannot tell.

    None, too, where it takes too long.
    """
    inputs = RunInputs.at(program, request, found.sizes)
    if inputs is None:
        return None
    try:
        return _confirmed(program, inputs, rule, found)
    except TimeOver:
        return None


def _confirmed(
    program: Program, inputs: RunInputs, rule: str, found: Counterexample
) -> bool | None:
    if rule in _FAULTS:
        shown = _faults(program, inputs, found)
        # Data of another fill, read in order, is no fault: nothing can be said. Nor
        # where tables say what is accessed: those of the run are others. That warps of
        # a role wait at different times is not interpreted: they take steps together.
        open_ = rule in {"AG0402", "AG0404"} or (rule == "AG0312" and indexing(program))
        return None if open_ and shown is False else shown
    if rule in _HOLES:
        return _holes(program, inputs)
    if rule in _PROBES:
        return _probe(program, inputs, found)
    return _depends(program, inputs, rule, found)


def _depends(
    program: Program, inputs: RunInputs, rule: str, found: Counterexample
) -> bool | None:
    """An experiment of `dependence.py`, for the rules that have one."""

    def execute(
        what: Program, arrays: dict[str, Any], blocks: list[int] | None
    ) -> dict[str, Any] | None:
        try:
            result = run(
                what,
                arrays,
                inputs.scalars,
                sm_count=inputs.sm_count,
                until=inputs.until,
                blocks=blocks,
                collect=True,
            )
        except ArgumentError:
            return None
        return None if result.errors else {n: arrays[n] for n in what.outputs}

    if rule in _MISPLACED:
        return misplaced(program, inputs.arrays, found, execute)
    if rule in _FORGOTTEN:
        return forgotten(program, inputs.arrays, found, execute)
    if rule == "AG0310":
        return padded(program, inputs.arrays, found, execute)
    if rule == "AG0307":
        return twice(program, inputs.arrays, inputs.grid(), execute)
    return None


class RunInputs:
    """Arrays and scalars of a run at given sizes."""

    def __init__(
        self,
        program: Program,
        arrays: dict[str, Any],
        scalars: dict[str, int | float],
        sm_count: int,
        until: float,
    ) -> None:
        self.program = program
        self.arrays = arrays
        self.scalars = scalars
        self.sm_count = sm_count
        self.until = until
        """When runs end, of `argus.clock`."""

    @staticmethod
    def at(
        program: Program, request: Request, sizes: Mapping[str, int]
    ) -> RunInputs | None:
        """None where a dimension has no size, or the tensors are too large."""
        dims = request.kernel.signature.dims
        defaults = {s.name: s.default for s in request.kernel.signature.statics}
        whole: dict[str, int] = {}
        for dim in dims:
            fixed = request.statics.get(dim, literal(defaults.get(dim)))
            size = sizes.get(dim, fixed)
            if not isinstance(size, int) or size < 1:
                return None
            whole[dim] = size
        arguments = arguments_of(request, whole, program.outputs)
        if sum(int(np.prod(a.shape)) for a in arguments) > MOST_ELEMENTS:
            return None
        library = NumpyArrays(0)
        arrays = {a.name: draw(a, library) for a in arguments}
        seen = read(program)
        for a in arguments:
            if a.name in program.outputs and a.name in seen:
                # Of NaN nothing changes, whatever is added.
                arrays[a.name] = np.zeros(a.shape, storage(a.dtype))
            if a.name not in program.outputs and not a.dtype.is_float:
                # Different where they can be: what most assumptions on tables say.
                count = int(np.prod(a.shape))
                table = np.arange(count) % max(a.high, 1)
                arrays[a.name] = table.reshape(a.shape).astype(storage(a.dtype))
        scalars: dict[str, int | float] = {}
        for param in program.params:
            if isinstance(param, ScalarParam):
                scalars[param.name] = sizes.get(param.sym.name, 1)
        sm_count = sizes.get("sm_count", SM_COUNT)
        until = now() + SECONDS
        made = RunInputs(program, arrays, scalars, sm_count, until)
        return made.on_grid(sizes[GRID]) if GRID in sizes else made

    def on_grid(self, blocks: int) -> RunInputs | None:
        """The same with as many multiprocessors as give the grid that many blocks."""
        for sm_count in (self.sm_count, blocks, *range(1, MOST_BLOCKS + 1)):
            made = self._with(self.arrays, sm_count)
            try:
                if made.grid() == blocks:
                    return made
            except ZeroDivisionError:
                return None
        return None

    def copy(self) -> RunInputs:
        """Arrays of their own."""
        arrays = {k: v.copy() for k, v in self.arrays.items()}
        return self._with(arrays, self.sm_count)

    def _with(self, arrays: dict[str, Any], sm_count: int) -> RunInputs:
        return RunInputs(self.program, arrays, self.scalars, sm_count, self.until)

    def run(
        self,
        blocks: list[int] | None = None,
        seed: int = 0,
        schedule: Schedule = "random",
    ) -> Result:
        """Run the program, which changes the arrays; faults are collected.

        Raises ArgumentError where the launch refuses the sizes, and TimeOver.
        """
        return run(
            self.program,
            self.arrays,
            self.scalars,
            sm_count=self.sm_count,
            blocks=blocks,
            seed=seed,
            schedule=schedule,
            collect=True,
            until=self.until,
        )

    def grid(self) -> int:
        """The number of blocks."""
        env: dict[str, int | float] = {"sm_count": self.sm_count}
        for t in self.program.params:
            if isinstance(t, ScalarParam):
                env[t.sym.name] = self.scalars[t.name]
            else:
                for extent, n in zip(t.shape, self.arrays[t.name].shape, strict=True):
                    if isinstance(extent, Sym):
                        env[extent.name] = n
        return int(evaluate(self.program.grid, env))

    def outputs(self) -> dict[str, Any]:
        """The output arrays."""
        return {n: self.arrays[n] for n in self.program.outputs}


def _faults(program: Program, inputs: RunInputs, found: Counterexample) -> bool | None:
    """Whether some schedule of the block shows a fault."""
    blocks = None if found.place.block is None else [found.place.block]
    try:
        faults = faults_of(program, inputs, blocks)
    except ArgumentError:
        return None  # the launch refuses these sizes: nothing can be said
    return any(f.kind != "assumption" for f in faults)


def faults_of(
    program: Program, inputs: RunInputs, blocks: list[int] | None = None
) -> list[Fault]:
    """Faults of the first schedule that has one that is no false assumption, or none.

    Raises ArgumentError where the launch refuses the sizes, and TimeOver.
    """
    late: list[tuple[Schedule, int]]
    late = [("late", n) for n, _ in enumerate(role_names(program))]
    random: list[tuple[Schedule, int]] = [("random", seed) for seed in SEEDS]
    usual: tuple[Schedule, int] = ("in_order", 0)
    for schedule, seed in (usual, *random, *late):
        result = inputs.copy().run(blocks, seed, schedule)
        if any(f.kind != "assumption" for f in result.errors):
            return result.errors
    return []


def _holes(program: Program, inputs: RunInputs) -> bool | None:
    """Whether an output keeps its poison."""
    if inputs.grid() > MOST_BLOCKS:
        return None
    try:
        result = inputs.run()
    except ArgumentError:
        return None
    if result.errors:
        return None
    seen = read(program)
    outputs = [p for p in program.params if p.name in program.outputs]
    for tensor in outputs:
        if isinstance(tensor, GlobalTensor) and not tensor.dtype.is_float:
            return None  # an integer's poison is a value like others
    if any(_unwritten(tensor, inputs.arrays[tensor.name]) for tensor in outputs):
        return True
    return None if any(t.name in seen for t in outputs) else False


def _unwritten(tensor: GlobalTensor | ScalarParam, array: Any) -> bool:
    numbers = (
        compute(array, tensor.dtype) if isinstance(tensor, GlobalTensor) else array
    )
    return bool(np.isnan(numbers).any())


def _probe(program: Program, inputs: RunInputs, found: Counterexample) -> bool | None:
    """Whether an output depends on both elements of a product together."""
    if len(found.operands) != 2:
        return None
    left, right = (_origin(program, x) for x in found.operands)
    if left is None or right is None or left[0] is right[0]:
        return None
    if not (_exists(inputs, left) and _exists(inputs, right)):
        return None  # an element outside its tensor is 0, and so is every product of it
    blocks = None if found.place.block is None else [found.place.block]
    seen: list[dict[str, Any]] = []
    for both in (False, True):
        held = inputs.copy()
        _only(held, left, 1.0)
        _only(held, right, 1.0 if both else 0.0)
        try:
            result = held.run(blocks)
        except ArgumentError:
            return None
        if result.errors:
            return None
        seen.append(held.outputs())
    first, second = seen
    if any(first[n].tobytes() != second[n].tobytes() for n in first):
        return True
    dots = sum(isinstance(op, o.Dot) for op in walk(program.body))
    return False if dots == 1 else None


def _origin(
    program: Program, operand: OperandElement
) -> tuple[GlobalTensor, tuple[int, ...]] | None:
    """The one input tensor whose dimensions the tag gives, and the element's place.

    None where several have them, of whichever type, or the one has no floats.
    """
    inputs = [
        t
        for t in program.params
        if isinstance(t, GlobalTensor)
        and t.name not in program.outputs
        and set(t.dims) <= operand.tag.keys()
    ]
    if len(inputs) != 1 or not inputs[0].dtype.is_float:
        return None
    return inputs[0], tuple(operand.tag[d] for d in inputs[0].dims)


def _only(
    held: RunInputs, place: tuple[GlobalTensor, tuple[int, ...]], x: float
) -> None:
    """Make a tensor 0 but for one element."""
    tensor, at = place
    array = held.arrays[tensor.name]
    array[...] = 0
    one = np.asarray([x], dtype=np.float32)
    array[at] = rounded(one, tensor.dtype)[0]


def _exists(inputs: RunInputs, place: tuple[GlobalTensor, tuple[int, ...]]) -> bool:
    tensor, at = place
    shape = inputs.arrays[tensor.name].shape
    return all(0 <= c < n for c, n in zip(at, shape, strict=True))
