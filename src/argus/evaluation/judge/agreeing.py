"""Two kernels on the same blocks of a problem: do they write the same?

The kernel that a problem starts from says what is right. One of the two is run on a
block; of the other those blocks are run that write the same elements. What both wrote
is compared.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from argus.evaluation.judge.candidate import environment
from argus.evaluation.judge.drawing import Mode, drawn
from argus.evaluation.judge.subject import Subject
from argus.evaluation.oracle import OUTLIER
from argus.evaluation.tiles import (
    Facets,
    Stuck,
    Tensor,
    Unmodelled,
    Written,
    run_blocks,
    writers,
)
from argus.interpret.numbers import Array
from argus.ir import ops as o
from argus.ir.expr import holds
from argus.ir.program import SM_COUNT, Program, ScalarParam
from argus.ir.walk import walk
from argus.kernels.library import Case

__all__ = [
    "MANY",
    "Compared",
    "Disagreement",
    "Setting",
    "Side",
    "agree",
    "least_tolerance",
]

MANY = 1 << 20
"""Multiprocessors: as many as tiles, so that a persistent block does one."""
_OUTSIDE, _FLOOR = 64.0, 1e-4
"""An element is wrong whose difference is so many times that of nine in ten others, if
it is more than the floor, too."""
_BLOCKS = 256
"""Blocks of the other kernel for one of this, at most."""


@dataclass(frozen=True)
class Side:
    """A typed program, and the facets that its runs have shown."""

    program: Program
    facets: Facets


@dataclass(frozen=True)
class Setting:
    """Sizes, scalars and inputs that both kernels are run with."""

    subject: Subject
    case: Case
    scalars: Mapping[str, int | float]
    mode: Mode
    seed: int
    special: tuple[float, ...]
    slack: float = 1.0
    """Factor of the tolerance."""
    multiprocessors: int = MANY

    def env(self, program: Program) -> dict[str, int | float]:
        """What symbols of a program are here."""
        arguments = self.subject.entry.arguments(self.case)
        made = environment(program, arguments, self.subject)
        for param in program.params:
            if isinstance(param, ScalarParam):
                made[param.sym.name] = self.scalars[param.name]
        made[SM_COUNT.name] = self.multiprocessors
        return made

    def tensors(self) -> dict[str, Tensor]:
        """Inputs, and outputs that nobody has written yet."""
        return {
            n: Written(t.shape, t.dtype, t.table, t.seed)
            if isinstance(t, Written)
            else t
            for n, t in self._drawn.items()
        }

    @cached_property
    def _drawn(self) -> dict[str, Tensor]:
        entry = self.subject.entry
        return drawn(entry, self.case, self.mode, self.seed, self.special)

    def admits(self, program: Program) -> bool:
        """Whether a program takes these sizes."""
        env = self.env(program)
        held = all(
            int(env.get(name, 0)) % divisor == 0
            for name, divisor in program.facts.items()
            if name in env
        )
        return held and all(holds(r.cond, env) for r in program.requirements)

    def where(self) -> str:
        """For messages."""
        sizes = ", ".join(f"{k}={v}" for k, v in self.case.sizes.items())
        return f"at {sizes}, {self.mode.name} inputs of seed {self.seed}"


@dataclass(frozen=True)
class Disagreement:
    """An element that the candidate wrote, and the value that it should have."""

    output: str
    index: tuple[int, ...]
    got: float
    expected: float
    wrong: int
    compared: int

    def why(self) -> str:
        """A sentence."""
        at = ", ".join(map(str, self.index))
        return (
            f"{self.wrong} of {self.compared} elements of {self.output} differ from "
            f"what the problem's own kernel computes; {self.output}[{at}] is "
            f"{self.got:.6g}, there {self.expected:.6g}"
        )


@dataclass(frozen=True)
class Compared:
    """What came of a pair of runs: ``elements`` that both wrote."""

    found: Disagreement | None
    elements: int
    left: int
    """Elements of the block that was asked for that the other did not write."""


def agree(
    candidate: Side,
    own: Side,
    setting: Setting,
    blocks: Sequence[int],
    *,
    of_own: bool,
    tolerances: Mapping[str, float],
    seconds: float,
) -> Compared:
    """Run blocks of one kernel, and of the other those that write the same.

    ``of_own``: the blocks are those of the problem's own kernel. Raises Unmodelled and
    Stuck of `evaluation.tiles`.
    """
    first, second = (own, candidate) if of_own else (candidate, own)
    # Of the other kernel each block does one tile, however many this one does.
    beside = replace(setting, multiprocessors=MANY)
    begin = time.monotonic()
    made = _run(first, setting, blocks, begin + seconds)
    wanted = {name: made[name].written()[0] for name in setting.subject.outputs}
    tensors = setting.tensors()
    if _adds(first.program):
        all_of = writers(first.program, tensors, setting.env(first.program), wanted)
        made = _run(first, setting, _few(all_of), math.inf)
    others = writers(second.program, tensors, beside.env(second.program), wanted)
    spent = time.monotonic() - begin
    deadline = time.monotonic() + max(4 * seconds, 8 * spent)
    if _adds(second.program):
        theirs = _run(second, beside, _few(others), math.inf)
    else:
        if len(others) > _BLOCKS:
            rng = np.random.default_rng(setting.seed)
            some = rng.choice(others, _BLOCKS - 2)
            others = np.unique([others[0], others[-1], *some])
        theirs = _run(second, beside, [int(b) for b in others], deadline)
    right, given = (made, theirs) if of_own else (theirs, made)
    total, left, more = 0, 0, 0
    for name in setting.subject.outputs:
        places, values = given[name].written()
        exact_at, exact = right[name].written()
        common, mine, correct = np.intersect1d(
            places, exact_at, assume_unique=True, return_indices=True
        )
        total += common.size
        left += wanted[name].size - common.size
        more += theirs[name].written()[0].size - common.size
        dtype = given[name].dtype
        tolerance = tolerances[name] * setting.slack if dtype.is_float else 0.0
        found = _differs(
            name,
            common,
            values[mine],
            exact[correct],
            given[name].shape,
            tolerance,
            dtype.roundoff if dtype.is_float else 0.0,
            setting.slack,
        )
        if found is not None:
            return Compared(found, total, left)
    # Beside infinite numbers a wrong one is not seen.
    finite = setting.mode.finite
    first.facets.keep(finite and left <= 0)
    second.facets.keep(finite and more <= 0)
    return Compared(None, total, left)


def _adds(program: Program) -> bool:
    """Whether elements are what several blocks add up."""
    return any(isinstance(op, o.StoreGlobal) and op.atomic for op in walk(program.body))


def _few(blocks: Array) -> list[int]:
    """All blocks that add to the same elements. Raises Unmodelled if there are many."""
    if len(blocks) > _BLOCKS:
        raise Unmodelled(f"more than {_BLOCKS} blocks add to the same elements")
    return [int(b) for b in blocks]


def least_tolerance(subject: Subject) -> dict[str, float]:
    """Tolerances where none was derived: two roundings of each output's type."""
    return {
        a.name: 4 * a.dtype.roundoff if a.dtype.is_float else 0.0
        for a in subject.arguments()
        if a.draw == "output"
    }


def _run(
    side: Side, setting: Setting, blocks: Sequence[int], deadline: float
) -> dict[str, Written]:
    tensors = setting.tensors()
    try:
        run_blocks(
            side.program,
            tensors,
            setting.env(side.program),
            blocks,
            watch=side.facets,
            deadline=deadline,
        )
    except Stuck:
        side.facets.keep(False)
        raise
    return {n: t for n, t in tensors.items() if isinstance(t, Written)}


def _differs(
    name: str,
    at: Array,
    got: Array,
    expected: Array,
    shape: tuple[int, ...],
    tolerance: float,
    roundoff: float,
    slack: float,
) -> Disagreement | None:
    if not at.size:
        return None
    a, b = got.astype(np.float64), expected.astype(np.float64)
    if tolerance:
        finite = np.isfinite(b)
        square = np.where(finite, b, 0.0) ** 2
        _, row = np.unique(at // shape[-1], return_inverse=True)
        size = np.sqrt(np.bincount(row, square) / np.bincount(row))[row]
        whole = float(np.sqrt(square.mean()))
        scale = size + np.abs(b) + 1e-3 * whole
        with np.errstate(invalid="ignore", divide="ignore"):
            off = np.abs(a - b) / scale
            off[a == b] = 0.0
            # Two right kernels differ about alike everywhere: by rounding.
            usual = float(np.quantile(off[finite], 0.9)) if finite.any() else 0.0
            least = max(_OUTSIDE * usual, _OUTSIDE * roundoff + _FLOOR)
            bad = ~(off <= min(OUTLIER * tolerance, least * slack)) & finite
            if finite.any():
                apart = np.where(finite, a - b, 0.0)
                norm = float(np.sqrt(np.square(apart).mean()))
                bad |= finite & (norm > 2 * tolerance * whole) & (a != b)
        # Where right is NaN or infinite, so must be what was computed.
        bad |= ~finite & np.isfinite(a)
    else:
        bad = a != b
    if not bad.any():
        return None
    worst = int(np.argmax(bad))
    index = np.unravel_index(int(at[worst]), shape)
    return Disagreement(
        name,
        tuple(int(i) for i in index),
        float(a[worst]),
        float(b[worst]),
        int(bad.sum()),
        at.size,
    )
