"""Which launches a matrix product is: form, tile, parts of K, copies of rows.

A plan is chosen by the model of `tiles.py` among

- one launch, of any form that the alignment of rows allows;
- for few tiles of C: `gemm_parts`, and `gemm_sum`;
- before either, copies of operands that TMA cannot address.

It is the same choice for factors of all types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, gcd

from argus.dispatch import (
    Buffer,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
    StepValue,
)
from argus.ir.dtypes import DType, f32, i32
from argus.kernels.gemm.entry import small_statics
from argus.kernels.gemm.kernel import copy_rows, gemm_parts, gemm_sum
from argus.kernels.gemm.tiles import (
    ALIGNED,
    FORMS,
    HALVES,
    LINE,
    SECTOR,
    Elements,
    MeasuredTile,
    Table,
    table,
)
from argus.lang.kernel import Kernel

_MOST_PARTS = 64
"""Into how many parts K is cut at most."""
_LEAST_PART = 256
"""Bytes of K below which no part is worth a block."""
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
        return not self.summed and not any(self.copies)

    @property
    def summed(self) -> bool:
        """Whether it writes sums of parts, of which one may be all."""
        return self.parts > 1 or self.tile.form == "split"


def predicted(
    found: Table,
    plan: ProductPlan,
    m: int,
    n: int,
    k: int,
    aligned: tuple[int, int],
    of: Elements = HALVES,
) -> float:
    """Microseconds of a plan; ``aligned`` is that of :func:`best_plan`."""
    times: list[float] = []
    if any(plan.copies):
        copied = zip(plan.copies, (m, n), strict=True)
        rows = sum(rows for made, rows in copied if made)
        times.append(found.copy(of.factor * k * rows))
    pairs = zip(plan.copies, aligned, strict=True)
    step = gcd(*(LINE if made else rows for made, rows in pairs))
    count = found.multiprocessors
    times.append(plan.tile.predicted(m, n, k, step, count, plan.parts, of))
    if plan.summed:
        times.append(found.sum(plan.parts, m, n, of))
    else:
        times[-1] += found.written(plan.tile, m, n, of)
    hidden = 0.0
    if any(plan.copies):
        late = plan.tile.form in ("persistent", "split")
        hidden += found.overlap if late else found.early
    if plan.summed:
        hidden += found.early
    return sum(times) - hidden


def candidates(
    found: Table,
    m: int,
    n: int,
    k: int,
    aligned: tuple[int, int],
    of: Elements = HALVES,
) -> Iterator[ProductPlan]:
    """All plans; ``aligned`` is that of :func:`best_plan`.

    Operands are copied where TMA needs it, or else both, so that no sector is split.
    """
    needed = (aligned[0] % ALIGNED != 0, aligned[1] % ALIGNED != 0)
    ways = [needed]
    if gcd(*aligned) % SECTOR and not all(needed):
        ways.append((True, True))
    for tile in found.tiles:
        if not tile.fits(m, n, of) or not has_form(tile, of):
            continue
        if FORMS[tile.form] != ALIGNED:
            # Such copies do not end within a row, either.
            if all(a % FORMS[tile.form] == 0 for a in (*aligned, k * of.factor)):
                yield ProductPlan(tile)
            continue
        cuts = (
            numbers_of_parts(found, tile, m, n, k, of) if tile.form == "small" else ()
        )
        for parts in (1, *cuts):
            for copies in ways:
                yield ProductPlan(tile, parts, copies)


def has_form(tile: MeasuredTile, of: Elements) -> bool:
    """Whether there is a kernel for a tile's form and such elements.

    Without TMA, other types than 16 bits have copies of 4 bytes, and what tensor cores
    multiply there they add up.
    """
    match tile.form:
        case "elements":
            return of.factor == HALVES.factor and not of.stepwise
        case "pairs":
            plain = of.factor == HALVES.factor or not tile.statics["MMA"]
            return plain and not of.stepwise
        case _:
            return True


def numbers_of_parts(
    found: Table, tile: MeasuredTile, m: int, n: int, k: int, of: Elements = HALVES
) -> Iterator[int]:
    """Into how many parts K may be cut: so many that blocks fill the device.

    All parts have the same number of steps, but the last.
    """
    room = found.multiprocessors * tile.resident
    steps, tiles = tile.steps(k, of), tile.tiles(m, n)
    most = min(_MOST_PARTS, steps * tile.depth(of) * of.factor // _LEAST_PART)
    seen = 1
    for waves in _WAVES:
        wanted = min(most, int(waves * room) // tiles)
        parts = ceil(steps / ceil(steps / max(1, wanted)))
        if parts > seen:
            yield parts
            seen = parts


@lru_cache(maxsize=4096)
def best_plan(
    m: int, n: int, k: int, aligned: tuple[int, int], of: Elements = HALVES
) -> ProductPlan:
    """The plan with the least predicted time for C of m x n, summed over k > 0.

    ``aligned``: what divides the steps of rows of A and B, in bytes, up to a line of
    L2; less than TMA needs where an address is not aligned, either. At sizes that were
    measured for themselves, what was fastest there.
    """
    found = table()
    known = found.measured(m, n, k, of)
    if known is not None and all(a % ALIGNED == 0 for a in aligned):
        return ProductPlan(known)
    return min(
        candidates(found, m, n, k, aligned, of),
        key=lambda plan: predicted(found, plan, m, n, k, aligned, of),
    )


# ------------------------------------------------------------------------ launches


@dataclass(frozen=True)
class Helpers:
    """Kernels of a family beside those of tiles: parts, their sums, copies of rows."""

    parts: Kernel = gemm_parts
    sum: Kernel = gemm_sum
    copy: Kernel = copy_rows


@dataclass(frozen=True)
class Operands:
    """What is multiplied: sizes, types, and where the tensors are.

    ``tensors``: "A", "B", "C", and what the epilogue reads, by parameters of kernels.
    """

    m: int
    n: int
    k: int
    dtype: DType
    tensors: Mapping[str, StepValue]
    of: Elements = HALVES
    helpers: Helpers = Helpers()

    @property
    def sums(self) -> DType:
        """The type that products are added up in."""
        return f32 if self.dtype.is_float else i32


def tensor_places(*names: str) -> dict[str, StepValue]:
    """Tensors of a call by name, in the order of its values; "" is left out."""
    return {name: GivenTensor(i) for i, name in enumerate(names) if name}


def launches(
    plan: ProductPlan,
    given: Operands,
    kernel: Kernel,
    statics: Mapping[str, object],
    epilogue: Mapping[str, object],
) -> LaunchSequence:
    """The launches of a plan.

    ``kernel`` and ``statics``: the form of its tile. ``epilogue``: static parameters of
    what follows the sum.
    """
    steps: list[LaunchStep] = []
    tensors = {**given.tensors, **_copied(plan.copies, given, steps)}
    if not plan.summed:
        last = one_launch(replace(given, tensors=tensors), kernel, statics, epilogue)
        return LaunchSequence((*steps, *last.steps))
    tile, of = plan.tile, given.of
    part = ceil(tile.steps(given.k, of) / plan.parts)
    cutting, cut = given.helpers.parts, statics
    if tile.form == "split":
        cutting = kernel
    else:
        cut = small_statics(tile, given.m, given.n, given.k, of)
    sums = Buffer(given.sums.name, (plan.parts, given.m, given.n))
    factors = (tensors["A"], tensors["B"])
    steps.append(LaunchStep(cutting, (*factors, sums, part), cut))
    total = {**sum_statics(plan.parts, given.n), **epilogue}
    added = given.helpers.sum
    values = _values(added, {**tensors, "W": sums})
    return LaunchSequence((*steps, LaunchStep(added, values, total)))


def one_launch(
    given: Operands,
    kernel: Kernel,
    statics: Mapping[str, object],
    epilogue: Mapping[str, object],
) -> LaunchSequence:
    """The launch of a kernel that is the whole product."""
    values = _values(kernel, given.tensors)
    return LaunchSequence((LaunchStep(kernel, values, {**statics, **epilogue}),))


def _values(kernel: Kernel, tensors: Mapping[str, StepValue]) -> tuple[StepValue, ...]:
    """Tensors by a kernel's parameters; those that are not there are absent."""
    return tuple(tensors.get(p.name) for p in kernel.signature.params)


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


def sum_step(parts: int, sums: Buffer, c: StepValue, bias: StepValue) -> LaunchStep:
    """The launch that adds up sums (parts, M, N) and a bias, if any."""
    statics = sum_statics(parts, sums.shape[2])
    return LaunchStep(gemm_sum, (sums, c, bias, None), statics)


def copy_statics(columns: int) -> dict[str, int]:
    """The tile of `copy_rows` for rows of so many elements."""
    width = min(512, max(32, 1 << (columns - 1).bit_length()))
    return {"BM": _COPIED // width, "BK": width}


def _copied(
    copies: tuple[bool, bool], given: Operands, steps: list[LaunchStep]
) -> dict[str, StepValue]:
    """A and B in buffers whose rows are lines, as far as copied; adds the copy."""
    line = LINE // given.of.factor
    step = -(-given.k // line) * line
    found: dict[str, StepValue] = {}
    values: list[StepValue] = []
    for name, made, rows in zip("AB", copies, (given.m, given.n), strict=True):
        if made:
            found[name] = Buffer(given.dtype.name, (rows, given.k), (step, 1))
            values += [given.tensors[name], found[name]]
    if values:
        values += [None] * (4 - len(values))
        steps.append(
            LaunchStep(given.helpers.copy, tuple(values), copy_statics(given.k))
        )
    return found
