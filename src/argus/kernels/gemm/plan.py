"""Which launches a matrix product is: form, tile, parts of K, copies of rows.

A plan is chosen by the model of `tiles.py` among

- one launch, of any form that the alignment of rows allows;
- for few tiles of C: `gemm_parts`, and `gemm_sum`;
- before either, copies of operands that TMA cannot address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, gcd

from argus.dispatch import (
    Buffer,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
)
from argus.kernels.gemm.entry import streamed
from argus.kernels.gemm.kernel import copy_rows, gemm_parts, gemm_sum
from argus.kernels.gemm.tiles import (
    ALIGNED,
    FORMS,
    LINE,
    SECTOR,
    MeasuredTile,
    Table,
    table,
)
from argus.lang.kernel import Kernel

_MOST_PARTS = 64
"""Into how many parts K is cut at most."""
_LEAST_PART = 128
"""Elements of K below which no part is worth a block."""
_WAVES = (0.5, 1, 1.5, 2.5)
"""Waves of blocks that K is cut for."""


@dataclass(frozen=True)
class ProductPlan:
    """A tile, the parts that K is cut into, and which of A and B are copied first."""

    tile: MeasuredTile
    parts: int = 1
    copies: tuple[bool, bool] = (False, False)

    @property
    def single(self) -> bool:
        """Whether it is one launch."""
        return self.parts == 1 and not any(self.copies)


def predicted(
    found: Table, plan: ProductPlan, m: int, n: int, k: int, aligned: tuple[int, int]
) -> float:
    """Microseconds of a plan; ``aligned`` is that of :func:`best_plan`."""
    times: list[float] = []
    if any(plan.copies):
        copied = zip(plan.copies, (m, n), strict=True)
        times.append(found.copy(k * sum(rows for made, rows in copied if made)))
    pairs = zip(plan.copies, aligned, strict=True)
    step = gcd(*(LINE if made else rows for made, rows in pairs))
    count = found.multiprocessors
    times.append(plan.tile.predicted(m, n, k, step, count, plan.parts))
    if plan.parts > 1:
        times.append(found.sum(plan.parts, m, n))
    else:
        times[-1] += found.unaligned(plan.tile, m, n)
    return sum(times) - found.overlap * (len(times) - 1)


def candidates(
    found: Table, m: int, n: int, k: int, aligned: tuple[int, int]
) -> Iterator[ProductPlan]:
    """All plans; ``aligned`` is that of :func:`best_plan`.

    Operands are copied where TMA needs it, or else both, so that no sector is split.
    """
    needed = (aligned[0] % ALIGNED != 0, aligned[1] % ALIGNED != 0)
    ways = [needed]
    if gcd(*aligned) % SECTOR and not all(needed):
        ways.append((True, True))
    for tile in found.tiles:
        if not tile.fits(m):
            continue
        if FORMS[tile.form] != ALIGNED:
            if all(a % FORMS[tile.form] == 0 for a in aligned):
                yield ProductPlan(tile)
            continue
        cuts = numbers_of_parts(found, tile, m, n, k) if tile.form == "small" else ()
        for parts in (1, *cuts):
            for copies in ways:
                yield ProductPlan(tile, parts, copies)


def numbers_of_parts(
    found: Table, tile: MeasuredTile, m: int, n: int, k: int
) -> Iterator[int]:
    """Into how many parts K may be cut: so many that blocks fill the device.

    All parts have the same number of steps, but the last.
    """
    room = found.multiprocessors * tile.resident
    steps, tiles = tile.steps(k), tile.tiles(m, n)
    most = min(_MOST_PARTS, steps * tile.statics["BK"] // _LEAST_PART)
    seen = 1
    for waves in _WAVES:
        wanted = min(most, int(waves * room) // tiles)
        parts = ceil(steps / ceil(steps / max(1, wanted)))
        if parts > seen:
            yield parts
            seen = parts


@lru_cache(maxsize=4096)
def best_plan(m: int, n: int, k: int, aligned: tuple[int, int]) -> ProductPlan:
    """The plan with the least predicted time for C of m x n, summed over k > 0.

    ``aligned``: what divides the steps of rows of A and B, in elements, up to a line
    of L2; less than TMA needs where an address is not aligned, either. At sizes that
    were measured for themselves, what was fastest there.
    """
    found = table()
    known = found.fastest.get((m, n, k))
    if known is not None and all(a % ALIGNED == 0 for a in aligned):
        return ProductPlan(known)
    return min(
        candidates(found, m, n, k, aligned),
        key=lambda plan: predicted(found, plan, m, n, k, aligned),
    )


# ------------------------------------------------------------------------ launches

_A, _B, _C, _BIAS, _RESIDUAL = (GivenTensor(i) for i in range(5))


@dataclass(frozen=True)
class Operands:
    """What is multiplied: sizes, element type of A, B and C, what there is besides."""

    m: int
    n: int
    k: int
    half: str
    bias: bool = False
    residual: bool = False


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
    a, b = _copied(plan.copies, given, steps)
    bias = _BIAS if given.bias else None
    residual = _RESIDUAL if given.residual else None
    if plan.parts == 1:
        steps.append(LaunchStep(kernel, (a, b, _C, bias, residual), statics))
        return LaunchSequence(tuple(steps))
    tile = plan.tile
    part = ceil(tile.steps(given.k) / plan.parts)
    cut = {**tile.statics, **streamed(tile, given.m, given.n, given.k)}
    sums = Buffer("f32", (plan.parts, given.m, given.n))
    steps.append(LaunchStep(gemm_parts, (a, b, sums, part), cut))
    total = {**sum_statics(plan.parts, given.n), "ACTIVATION": statics["ACTIVATION"]}
    steps.append(LaunchStep(gemm_sum, (sums, _C, bias, residual), total))
    return LaunchSequence(tuple(steps))


_SUMMED = 2048
"""Elements that a block of `gemm_sum` reads at a time: 16 of a thread."""
_DEEP = 16
"""Parts that it reads at a time at most."""
_COPIED = 2048
"""Elements that a block of `copy_rows` writes."""


def sum_statics(parts: int, columns: int) -> dict[str, int]:
    """The tile of `gemm_sum` for so many parts of C of so many columns."""
    depth = min(_DEEP, 1 << (parts - 1).bit_length())
    width = min(_SUMMED // depth, 1 << (columns - 1).bit_length())
    return {"BS": depth, "BM": _SUMMED // depth // width, "BN": width}


def copy_statics(columns: int) -> dict[str, int]:
    """The tile of `copy_rows` for rows of so many elements."""
    width = min(512, max(32, 1 << (columns - 1).bit_length()))
    return {"BM": _COPIED // width, "BK": width}


def _copied(
    copies: tuple[bool, bool], given: Operands, steps: list[LaunchStep]
) -> tuple[GivenTensor | Buffer, GivenTensor | Buffer]:
    """A and B, or the same in buffers whose rows are lines; adds the copy to steps."""
    step = -(-given.k // LINE) * LINE
    found: list[GivenTensor | Buffer] = [_A, _B]
    values: list[GivenTensor | Buffer | None] = []
    for i, rows in enumerate((given.m, given.n)):
        if copies[i]:
            buffer = Buffer(given.half, (rows, given.k), (step, 1))
            values += [found[i], buffer]
            found[i] = buffer
    if values:
        values += [None] * (4 - len(values))
        steps.append(LaunchStep(copy_rows, tuple(values), copy_statics(given.k)))
    return found[0], found[1]
