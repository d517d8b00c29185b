"""Two kernels on the same blocks of a problem: do they write the same?

The kernel that a problem starts from says what is right. One of the two is run on a
block; of the other those blocks are run that write the same elements. What both wrote
is compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from argus.evaluation.judge.plans import Drive
from argus.evaluation.judge.settings import Setting
from argus.evaluation.judge.subject import Subject
from argus.evaluation.oracle import OUTLIER
from argus.evaluation.tiles import (
    MANY,
    Facets,
    NotExecutable,
    Stuck,
    Written,
    now,
    run_blocks,
    writers,
)
from argus.interpret.numbers import Array
from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import walk

__all__ = [
    "Compared",
    "Disagreement",
    "ObservedProgram",
    "agree",
    "declared_tolerance",
    "differs",
    "least_tolerance",
    "usable_tolerance",
    "written",
]

_OUTSIDE, _FLOOR = 64.0, 1e-4
"""An element is wrong whose difference is so many times that of nine in ten others, if
it is more than the floor, too."""
_BLOCKS = 256
"""Blocks of the other kernel for one of this, at most."""


@dataclass(frozen=True)
class ObservedProgram:
    """A typed program, and the facets that its runs have shown."""

    program: Program
    facets: Facets


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
    drive: Drive
    """The run, by the blocks of the problem's own kernel."""


def agree(
    candidate: ObservedProgram,
    own: ObservedProgram,
    setting: Setting,
    blocks: Sequence[int],
    *,
    of_own: bool,
    tolerances: Mapping[str, float],
    seconds: float,
) -> Compared:
    """Run blocks of one kernel, and of the other those that write the same.

    ``of_own``: the blocks are those of the problem's own kernel. Raises NotExecutable
    and Stuck of `evaluation.tiles`.
    """
    first, second = (own, candidate) if of_own else (candidate, own)
    # Of the other kernel each block does one tile, however many this one does.
    beside = replace(setting, multiprocessors=MANY)
    before = len(first.facets.seen) + len(second.facets.seen)
    begin = now()
    made = written(first.program, setting, blocks, begin + seconds, first.facets)
    ran: Sequence[int] = blocks
    wanted = {name: made[name].written()[0] for name in setting.subject.outputs}
    tensors = setting.tensors()
    if _adds(first.program):
        ran = _few(writers(first.program, tensors, setting.env(first.program), wanted))
        made = written(first.program, setting, ran, math.inf, first.facets)
    others = writers(second.program, tensors, beside.env(second.program), wanted)
    spent = now() - begin
    deadline = now() + max(4 * seconds, 8 * spent)
    if _adds(second.program):
        deadline, others = math.inf, np.array(_few(others), np.int64)
    elif len(others) > _BLOCKS:
        rng = np.random.default_rng(setting.seed)
        some = rng.choice(others, _BLOCKS - 2)
        others = np.unique([others[0], others[-1], *some])
    also = [int(b) for b in others]
    theirs = written(second.program, beside, also, deadline, second.facets)
    right, given = (made, theirs) if of_own else (theirs, made)
    exactly, by_own = (setting, ran) if of_own else (beside, also)
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
        found = differs(
            name, right[name], common, values[mine], exact[correct], setting,
            tolerances[name],
        )  # fmt: skip
        if found is not None:
            return Compared(found, total, left, exactly.drive(by_own, 0))
    # Beside infinite numbers a wrong one is not seen.
    finite = setting.mode.finite
    first.facets.keep(finite and left <= 0)
    second.facets.keep(finite and more <= 0)
    shown = len(first.facets.seen) + len(second.facets.seen) - before
    return Compared(None, total, left, exactly.drive(by_own, shown))


def _adds(program: Program) -> bool:
    """Whether elements are what several blocks add up."""
    return any(isinstance(op, o.StoreGlobal) and op.atomic for op in walk(program.body))


def _few(blocks: Array) -> list[int]:
    """All blocks that add to the same elements. Raises NotExecutable if too many."""
    if len(blocks) > _BLOCKS:
        raise NotExecutable(f"more than {_BLOCKS} blocks add to the same elements")
    return [int(b) for b in blocks]


def least_tolerance(subject: Subject) -> dict[str, float]:
    """Tolerances where none was derived: two roundings of each output's type."""
    return {
        a.name: 4 * a.dtype.roundoff if a.dtype.is_float else 0.0
        for a in subject.arguments()
        if a.draw == "output"
    }


def usable_tolerance(
    subject: Subject, derived: Mapping[str, float]
) -> dict[str, float]:
    """Twice what was derived of the oracle, since both kernels may be off.

    ``derived`` lacks outputs of which nothing was.
    """
    least = least_tolerance(subject)
    return {n: max(2 * derived.get(n, 0.0), t) for n, t in least.items()}


def declared_tolerance(subject: Subject) -> dict[str, float]:
    """Tolerances that the problem declares, where the reference is not executed."""
    tolerance = subject.entry.tolerance
    return {
        a.name: tolerance if a.dtype.is_float else 0.0
        for a in subject.arguments()
        if a.draw == "output"
    }


def written(
    program: Program,
    setting: Setting,
    blocks: Sequence[int],
    deadline: float,
    watch: Facets | None = None,
) -> dict[str, Written]:
    """What blocks of a kernel write, by output. Raises NotExecutable and Stuck."""
    tensors = setting.tensors()
    try:
        run_blocks(
            program,
            tensors,
            setting.env(program),
            blocks,
            watch=watch,
            deadline=deadline,
        )
    except Stuck:
        if watch is not None:
            watch.keep(False)
        raise
    return {n: t for n, t in tensors.items() if isinstance(t, Written)}


def differs(
    name: str,
    like: Written,
    at: Array,
    got: Array,
    expected: Array,
    setting: Setting,
    tolerance: float,
) -> Disagreement | None:
    """The first element of an output that is wrong; None if none is.

    ``at``: flat indices of the elements, ``got`` and ``expected`` their values;
    ``like``: the output, of which shape and type are asked.
    """
    shape, roundoff, slack = like.shape, 0.0, setting.slack
    tolerance = tolerance * slack if like.dtype.is_float else 0.0
    if like.dtype.is_float:
        roundoff = like.dtype.roundoff
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
