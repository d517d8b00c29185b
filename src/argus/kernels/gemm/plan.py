"""Which launches a matrix product is: form, tile, parts of K, copies of rows.

A plan is chosen by the model of `tiles.py` among

- one launch, of any form that the alignment of rows allows;
- for few tiles of C: `gemm_batch` on parts of K, a second one on what is left of K
  where it does not divide, and `gemm_sum`;
- before either, copies of operands that TMA cannot address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from argus.dispatch import (
    Buffer,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
    TensorView,
)
from argus.kernels.gemm.kernel import copy_rows, gemm_sum
from argus.kernels.gemm.tiles import ALIGNED, FORMS, MeasuredTile, Table, table
from argus.lang.kernel import Kernel

PARTS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64)
"""Into how many parts K may be cut."""
_LEAST_PART = 128
"""Elements of K below which no part is worth a block."""
_MOST_WAVES = 4
"""Waves of blocks beyond which cutting K gains nothing."""


@dataclass(frozen=True)
class ProductPlan:
    """A tile, the parts that K is cut into, and which of A and B are copied first."""

    tile: MeasuredTile
    parts: int = 1
    copies: tuple[bool, bool] = (False, False)

    @property
    def single(self) -> bool:
        """Whether it is one launch on the tensors as they are."""
        return self.tile.form != "batch" and not any(self.copies)


def cut(k: int, parts: int) -> tuple[int, int]:
    """Elements of each part of K, and those that are left, all where TMA can begin."""
    each = k // parts if parts == 1 else k // (ALIGNED * parts) * ALIGNED
    return each, k - each * parts


def predicted(found: Table, plan: ProductPlan, m: int, n: int, k: int) -> float:
    """Microseconds of a plan."""
    tile, parts = plan.tile, plan.parts
    copied = zip(plan.copies, (m, n), strict=True)
    times = [found.copy(rows, k) for wanted, rows in copied if wanted]
    each, rest = cut(k, parts)
    times.append(tile.predicted(m, n, each, found.multiprocessors, parts))
    if rest:
        times.append(tile.predicted(m, n, rest, found.multiprocessors))
    if parts > 1:
        times.append(found.sum(parts + (rest > 0), m, n))
    return sum(times) - found.overlap * (len(times) - 1)


def candidates(
    found: Table, m: int, n: int, k: int, aligned: tuple[int, int]
) -> Iterator[ProductPlan]:
    """All plans; ``aligned`` is that of :func:`best_plan`."""
    copies = (aligned[0] % ALIGNED != 0, aligned[1] % ALIGNED != 0)
    for tile in found.tiles:
        if not tile.fits(m):
            continue
        if FORMS[tile.form] != ALIGNED:
            if all(a % FORMS[tile.form] == 0 for a in aligned):
                yield ProductPlan(tile)
            continue
        yield ProductPlan(tile, 1, copies)
        if tile.form != "batch":
            continue
        room = found.multiprocessors * tile.resident * _MOST_WAVES
        for parts in PARTS:
            if k < parts * _LEAST_PART or parts * tile.tiles(m, n) > room:
                break
            yield ProductPlan(tile, parts, copies)


@lru_cache(maxsize=4096)
def best_plan(m: int, n: int, k: int, aligned: tuple[int, int]) -> ProductPlan:
    """The plan with the least predicted time for C of m x n, summed over k > 0.

    ``aligned``: what divides addresses and steps of rows of A and B, in elements. At
    sizes that were measured for themselves, what was fastest there.
    """
    found = table()
    known = found.fastest.get((m, n, k))
    if known is not None and all(a % ALIGNED == 0 for a in aligned):
        return ProductPlan(known)
    return min(
        candidates(found, m, n, k, aligned),
        key=lambda plan: predicted(found, plan, m, n, k),
    )


# ------------------------------------------------------------------------ launches

_A, _B, _C, _BIAS, _RESIDUAL = (GivenTensor(i) for i in range(5))


@dataclass(frozen=True)
class Operands:
    """What is multiplied: sizes, steps of rows in elements, what there is besides.

    ``half`` is the element type of A, B and C.
    """

    m: int
    n: int
    k: int
    rows_a: int
    rows_b: int
    rows_c: int
    half: str
    bias: bool = False
    rows_residual: int | None = None


def launches(
    plan: ProductPlan,
    given: Operands,
    kernel: Kernel,
    statics: Mapping[str, object],
) -> LaunchSequence:
    """The launches of a plan on (A, B, C, Bias, Residual).

    ``kernel`` and ``statics``: the form of its tile, with the activation.
    """
    steps: list[LaunchStep] = []
    a = _Rows(_A, given.m, given.k, given.rows_a)
    b = _Rows(_B, given.n, given.k, given.rows_b)
    if plan.copies[0]:
        a = _copied(a, given.half, steps)
    if plan.copies[1]:
        b = _copied(b, given.half, steps)
    bias = _BIAS if given.bias else None
    residual = None if given.rows_residual is None else _RESIDUAL
    if plan.tile.form != "batch":
        steps.append(LaunchStep(kernel, (a.of, b.of, _C, bias, residual), statics))
        return LaunchSequence(tuple(steps))
    if plan.parts == 1:
        c = _Rows(_C, given.m, given.n, given.rows_c).one
        if given.rows_residual is not None:
            residual = _Rows(_RESIDUAL, given.m, given.n, given.rows_residual).one
        values = (a.one, b.one, c, bias, residual)
        steps.append(LaunchStep(kernel, values, statics))
        return LaunchSequence(tuple(steps))
    each, rest = cut(given.k, plan.parts)
    size = given.m * given.n
    sums = Buffer("f32", (plan.parts + (rest > 0), given.m, given.n))
    for count, width, begin in ((plan.parts, each, 0), (1, rest, plan.parts)):
        if width:
            shape = (count, given.m, given.n)
            part = TensorView(sums, shape, sums.steps, begin * size)
            at = begin * each
            values = (a.cut(count, width, at), b.cut(count, width, at), part)
            steps.append(LaunchStep(kernel, (*values, None, None), plan.tile.statics))
    total = {**sum_statics(given.n), "ACTIVATION": statics["ACTIVATION"]}
    steps.append(LaunchStep(gemm_sum, (sums, _C, bias, residual), total))
    return LaunchSequence(tuple(steps))


_SUMMED = 512
"""Elements that a block of `gemm_sum` writes: 16 bytes a thread."""
_COPIED = 2048
"""Elements that a block of `copy_rows` writes."""


def sum_statics(columns: int) -> dict[str, int]:
    """The tile of `gemm_sum` for C of so many columns."""
    width = min(_SUMMED, 1 << (columns - 1).bit_length())
    return {"BM": _SUMMED // width, "BN": width}


def copy_statics(columns: int) -> dict[str, int]:
    """The tile of `copy_rows` for rows of so many elements."""
    width = min(512, max(32, 1 << (columns - 1).bit_length()))
    return {"BM": _COPIED // width, "BK": width}


@dataclass(frozen=True)
class _Rows:
    """A matrix: ``step`` is that of its rows, in elements."""

    of: GivenTensor | Buffer
    rows: int
    columns: int
    step: int

    @property
    def one(self) -> TensorView:
        """As a batch of one."""
        return self.cut(1, self.columns, 0)

    def cut(self, count: int, width: int, begin: int) -> TensorView:
        """As a batch of ``count`` parts of its columns, from column ``begin`` on."""
        shape = (count, self.rows, width)
        steps = (width if count > 1 else self.rows * self.step, self.step, 1)
        return TensorView(self.of, shape, steps, begin)


def _copied(given: _Rows, half: str, steps: list[LaunchStep]) -> _Rows:
    """The same in a buffer whose rows TMA can address; adds the copy to ``steps``."""
    step = -(-given.columns // ALIGNED) * ALIGNED
    buffer = Buffer(half, (given.rows, given.columns), (step, 1))
    values = (given.of, buffer)
    steps.append(LaunchStep(copy_rows, values, copy_statics(given.columns)))
    return _Rows(buffer, given.rows, given.columns, step)
