"""Runs of a kernel beside its reference, one set of sizes and inputs at a time.

Only a difference that the interpreter confirms is a witness. Which sizes are tried is
decided in `refuting.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from argus.clock import now
from argus.equivalence.deciding import TrialPlace
from argus.equivalence.references import Failed, Reference, Unusable
from argus.equivalence.sizes import (
    elements_of,
    environment,
    free_sizes,
    mended,
    shapes_of,
)
from argus.evaluation.drawing import DrawingMode
from argus.evaluation.equal.drawn_scalars import DrawnScalars
from argus.evaluation.equal.inputs import admits, draw, is_apart, updated
from argus.evaluation.equal.meant import meant, of_scalars
from argus.evaluation.equal.sizes import of_divisors
from argus.evaluation.equal.trying import (
    Difference,
    Trial,
    Unlike,
    expected,
    found_by,
    initial,
    writing,
    wrong,
)
from argus.evaluation.equal.witness import (
    ALL_BLOCKS,
    Witness,
    confirmed,
    is_sure,
)
from argus.evaluation.tiles import (
    MANY,
    Facets,
    NotExecutable,
    Stuck,
)
from argus.ir import ops as o
from argus.ir.memory import GlobalTensor
from argus.ir.program import SM_COUNT, Program, ScalarParam
from argus.ir.tensor_reads import read
from argus.ir.walk import walk
from argus.lang.kernel import literal
from argus.requests import Request

__all__ = ["SearchOver", "TrialRuns", "Tried", "WitnessFound"]

_ELEMENTS = 1 << 21
"""Elements of all tensors of a trial, at most."""
_BLOCKS = 96
"""Blocks of a small trial, all of which are run."""
_BACKWARDS = 3
"""One in so many runs is repeated with the last block first; those in place all are."""
_DRAWS = 12
"""Scalars that are drawn for a run until the kernel admits them, at most."""
_FEW_SMS = (4, 1)
"""Multiprocessors that persistent kernels see in turn: one block may do all tiles."""
_MOST = 1e37
"""Of wider floats a result below is held; a masked score is -1e30, and less."""
_HELD = {"f16": 6e4, "e4m3": 449.0, "e5m2": 57400.0}
"""The same of narrower floats. Those of eight bits are what rows are scaled to."""
_TYPED, _TYPED_BLOCKS = 1 << 15, 24
"""Elements and blocks of a trial that runs in the kernel's own types, at most."""
_RESULTS = 64
"""Elements of a result of which a norm says enough."""
_USUAL = 1024.0
"""The largest scalar of floats in such a trial."""

Scalars = Mapping[str, int | float]


@dataclass
class Tried:
    """What a search found, and how much it looked at.

    ``differed``: how many of the ``runs`` differ in real arithmetic by what the placed
    program does not show: where the order of threads decides, or rounding hides it.
    ``failed``: trials at which the reference ended in an error.
    ``why``: the last reason for which a trial said nothing. ``missed``: conditions of
    the kernel that no compared run has shown, as sentences; ``unshown``: those that
    compare something, and may turn out so for all that is known. ``beyond``:
    one of them that is shown at sizes that are too large for a run, and these.
    """

    witness: Witness | None = None
    runs: int = 0
    failed: int = 0
    differed: int = 0
    seconds: float = 0.0
    why: str = ""
    missed: tuple[str, ...] = ()
    unshown: tuple[str, ...] = ()
    beyond: str = ""
    sizes: list[dict[str, int]] = field(default_factory=list[dict[str, int]])


class WitnessFound(Exception):  # noqa: N818 - ends the search
    """There is a witness."""


class SearchOver(Exception):  # noqa: N818 - ends the search
    """The time is over, or nothing can be compared."""


class TrialRuns:
    """Runs trials until there is a witness or no time, and counts them in ``made``."""

    def __init__(
        self,
        request: Request,
        program: Program,
        reference: Reference,
        seconds: float,
        seed: int,
    ) -> None:
        self.request = request
        self.program = program
        self.reference = reference
        self.begin = now()
        self.until = self.begin + seconds
        self.rng = np.random.default_rng(seed)
        self.facets = Facets(program)
        self.special = meant(program, reference)
        self.adds = {
            op.view.tensor.name
            for op in walk(program.body)
            if isinstance(op, o.StoreGlobal) and op.atomic is not None
        }
        self.in_place = not self.adds >= updated(program)
        self.apart = is_apart(program)
        self.most = _ELEMENTS
        self.place = TrialPlace({})
        self.divisors: Mapping[str, int] = {}
        """What divides sizes of calls that count; see `of_divisors`."""
        self.made = Tried()
        self.scalars = DrawnScalars(request, program, reference, self.special, self.rng)
        self.ordinary: dict[str, Trial] = {}
        """A small trial that was compared, for each manner of inputs.

        Of scalars as callers give them: those of a kernel's own constants may be such
        that a product leaves the range of its type.
        """

    def not_taken(self) -> str:
        """Why the reference says nothing of the kernel's results, if so.

        A table that it does not take says how work is split. Which tables split it
        rightly is known to the caller.
        """
        takes = set(self.reference.parameters)
        used = read(self.program)
        for param in self.program.params:
            if isinstance(param, ScalarParam):
                if param.name not in takes and self.scalars.default(param.name) is None:
                    return f"the reference does not take the scalar `{param.name}`"
            elif (
                param.name in used
                and param.name not in (*takes, *self.program.outputs)
                and not param.dtype.is_float
            ):
                return f"the reference does not take the table `{param.name}`"
        return ""

    def in_time(self) -> None:
        """Raises SearchOver where the time is over."""
        if now() > self.until:
            raise SearchOver

    def one(
        self,
        sizes: Mapping[str, int],
        mode: DrawingMode,
        *,
        block: int | None = None,
        scalars: Scalars | None = None,
    ) -> None:
        """A trial at these sizes. Raises WitnessFound; SearchOver without time."""
        self.in_time()
        sizes = of_divisors(self.program, sizes, self.divisors)
        given = self._drawn(sizes) if scalars is None else scalars
        for _ in range(2):
            try:
                trial = self._trial(sizes, given, mode)
                if trial is not None and self._compare(trial, block):
                    self._keep(trial, mode)
                return
            except Unlike as why:
                self.made.why = str(why)
                # Sizes that only outputs have may follow from the others.
                other = self._following(sizes, why)
                if other is None or other == sizes:
                    return
                sizes = other
            except (Unusable, Stuck, NotExecutable, ZeroDivisionError) as why:
                self.facets.keep(False)
                self.made.why = str(why)
                self.made.failed += isinstance(why, Failed)
                return

    def _drawn(self, sizes: Mapping[str, int]) -> Scalars:
        """Scalars that the kernel admits, if some of a few are."""
        for _ in range(_DRAWS - 1):
            found = self.scalars.drawn(sizes)
            if admits(self.program, sizes, found):
                return found
        return self.scalars.drawn(sizes)

    def _keep(self, trial: Trial, mode: DrawingMode) -> None:
        """Remember a small trial of ordinary inputs, if it has most results so far."""
        scales = [abs(x) for x in trial.scalars.values() if isinstance(x, float)]
        small = trial.elements <= _TYPED and trial.grid <= _TYPED_BLOCKS
        if not small or max(scales, default=0.0) > _USUAL:
            return
        old = self.ordinary.get(mode.name)
        if old is None or trial.results >= min(old.results, _RESULTS):
            self.ordinary[mode.name] = trial

    def _trial(
        self,
        sizes: Mapping[str, int],
        scalars: Scalars,
        mode: DrawingMode,
    ) -> Trial | None:
        if any(n < 0 for n in sizes.values()):
            self.made.why = "no tensor has such sizes"
            return None
        shapes = shapes_of(self.program, sizes)
        elements = elements_of(self.program, sizes)
        if elements > self.most:
            self.made.why = f"{elements} elements are too many for a run"
            return None
        if not admits(self.program, sizes, scalars):
            self.made.why = "the kernel admits no such scalars"
            return None
        env = environment(self.program, sizes, scalars)
        special = (*of_scalars(scalars), *self.special)
        arrays = draw(self.program, shapes, env, mode, self.rng, special)
        if arrays is None:
            self.made.why = "no tables were found for what the kernel assumes of them"
            return None
        statics = {
            s.name: self.request.statics.get(s.name, literal(s.default))
            for s in self.request.kernel.signature.statics
        }
        arrays = initial(self.program, self.reference, arrays)
        few = _FEW_SMS[self.made.runs % len(_FEW_SMS)]
        seen = self.place.sizes.get(SM_COUNT.name, few)
        cluster = self.program.cluster  # a device has room for one
        seen = -(-seen // cluster) * cluster
        return Trial(self.program, sizes, scalars, statics, arrays, seen)

    def _compare(self, trial: Trial, block: int | None) -> bool:
        """Whether a run shows no difference. Raises WitnessFound with a witness."""
        wanted = expected(trial, self.reference, partly=True)
        if any(self._overflows(trial, n, v) for n, v in wanted.items()):
            self.made.why = "results are beyond what the output's type holds"
            return False
        grid = trial.grid
        blocks: Sequence[int] = range(grid)
        if grid > (ALL_BLOCKS if self.adds or self.facets.shares else _BLOCKS):
            # What some blocks have added is no result.
            wanted = {n: v for n, v in wanted.items() if n not in self.adds}
            if not wanted:
                self.made.why = f"{grid} blocks are too many for a run"
                return False
            some = self.rng.integers(0, grid, 6)
            near = () if block is None else (max(block - 1, 0), block, block + 1)
            if self.place.element is not None:
                near = writing(trial, self.place.element)[:_BLOCKS]
                trial = replace(trial, multiprocessors=MANY)
            chosen = (0, grid - 1, *near, *(int(b) for b in some))
            blocks = sorted({b for b in chosen if b < grid})
        whole = len(blocks) == grid
        left = max(self.until - now(), 0.2)
        outputs = found_by(trial, blocks, watch=self.facets, seconds=min(left, 10.0))
        self.made.runs += 1
        self.made.sizes.append(dict(trial.sizes))
        missing = self.place.element if self.place.missing else None
        differences = wrong(wanted, outputs, whole=whole, missing=missing)
        if not differences:
            self.facets.keep(True)
            often = self.in_place or self.made.runs % _BACKWARDS == 1
            if whole and often and self.apart:
                self._backwards(trial, wanted)
            return True
        self._confirm(trial, differences, blocks if grid > ALL_BLOCKS else None)
        if not whole and not self.apart:
            self.made.why = "tables may name for other blocks what these have written"
            self.made.runs -= 1
        elif not any(is_sure(trial, self.reference, x) for x in differences):
            self.made.why = "the reference hangs on how its own numbers are rounded"
            self.made.runs -= 1
        else:
            self.made.differed += 1
        self.facets.keep(False)
        return False

    def _backwards(self, trial: Trial, wanted: Mapping[str, np.ndarray]) -> None:
        """The same with the last block first: nothing orders the blocks of a grid."""
        blocks = range(trial.grid)[::-1]
        if not 1 < len(blocks) <= ALL_BLOCKS:
            return
        try:
            outputs = found_by(trial, blocks, seconds=2.0)
        except Stuck:
            return
        self._confirm(trial, wrong(wanted, outputs, whole=True), blocks)

    def _confirm(
        self,
        trial: Trial,
        differences: Iterable[Difference],
        blocks: Sequence[int] | None,
    ) -> None:
        """Raises WitnessFound if the interpreter shows one of several differences."""
        for difference in differences:
            witness = confirmed(trial, self.reference, difference, self.request, blocks)
            if witness is not None:
                self.made.witness = witness
                raise WitnessFound

    def _overflows(self, trial: Trial, name: str, wanted: np.ndarray) -> bool:
        dtype = next(t.dtype for t in _tensors(trial.program) if t.name == name)
        if not wanted.size or dtype.kind == "bool":
            return False
        if not dtype.is_float:
            low, high = dtype.integers
            return bool(wanted.min() < low or wanted.max() > high)
        numbers = np.abs(wanted.astype(np.float64))
        most = float(numbers.max(where=~np.isnan(numbers), initial=0.0))
        return most >= _HELD.get(dtype.name, _MOST)

    def _following(
        self, sizes: Mapping[str, int], why: Unlike
    ) -> dict[str, int] | None:
        """Sizes of which those that no input has are as the reference makes them."""
        inputs = {
            d
            for t in _tensors(self.program)
            for d in t.dims
            if t.name not in self.program.outputs or t.name in self.reference.parameters
        }
        made = dict(sizes)
        for tensor in _tensors(self.program):
            shape = why.shapes.get(tensor.name)
            if shape is None or len(shape) != tensor.rank:
                continue
            for dim, extent in zip(tensor.dims, shape, strict=True):
                if dim not in inputs and dim in free_sizes(self.program):
                    made[dim] = extent
        return mended(self.program, made)


def _tensors(program: Program) -> list[GlobalTensor]:
    return [p for p in program.params if isinstance(p, GlobalTensor)]
