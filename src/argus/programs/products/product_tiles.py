"""Tiles of products: which a program's kernel takes, and what is predicted of them.

    tile = chosen_tile(m, n, k, batch, outer, element=bf16)

Those of 16 bits are the library's, which were measured (`kernels/gemm/tiles.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, gcd, prod

from argus.ir.dtypes import DType, bf16, f32
from argus.ir.functions import FUNCTIONS
from argus.kernels.gemm.entry import REGISTERS
from argus.kernels.gemm.tiles import LINE, MeasuredTile, table
from argus.programs.lowering.expressions import ApplyNode
from argus.programs.lowering.lowering import LoweredGroup
from argus.programs.products.box_tiles import box_rows

_SWIZZLE = 128
"""Bytes of a row of shared memory that the instructions read without conflicts."""
_SHARED, _STAGED = 226 * 1024, 128
"""Bytes of shared memory for the tiles of a block, and of a staged row of results."""


@dataclass(frozen=True)
class ProductTile:
    """Sizes of a block's tile, and how it is walked; names as in `kernels/gemm`.

    ``swap``: computed transposed, for tiles with few rows. ``persistent``: as many
    blocks as the device holds, ``resident`` on a multiprocessor. ``apart``: each step
    is added up in f32 by itself. ``split``: f32 is split into parts of bf16 by a role;
    registers of a thread of it.
    """

    bm: int
    bn: int
    bk: int
    stages: int
    warpgroups: int
    cluster: int = 1
    group: int = 16
    swap: bool = False
    persistent: bool = True
    apart: bool = False
    split: int = 0
    resident: int = 1

    @property
    def registers(self) -> int:
        """Budget of a thread that multiplies; 0: what the launch gives it."""
        if self.split:
            return _BESIDE_SPLIT
        if self.resident > 1:
            return _BESIDE_OTHERS if self.warpgroups > 1 else 0
        return REGISTERS[self.warpgroups] if self.persistent else 0


_PARTS = (
    (ProductTile(128, 128, 32, 4, 2, apart=True), 1.0),
    (ProductTile(64, 128, 32, 5, 1, apart=True), 1.25),
    (ProductTile(64, 64, 64, 4, 1, apart=True), 1.5),
)
"""Tiles for products of parts, and what an element of one costs beside the first."""
_BESIDE_SPLIT = 168
"""Registers of a thread that multiplies, beside a warpgroup that splits."""
_BESIDE_OTHERS = 96
"""Registers of a thread of one of two warpgroups, beside another such block."""
_SPLIT = (
    (ProductTile(128, 128, 32, 2, 2, apart=True, split=120), 1.0),
    (ProductTile(64, 64, 64, 2, 1, apart=True, split=168), 1.7),
)
"""Tiles of products whose kernels split their factors. What the second costs is what is
predicted: the role that splits waits least where a step is long."""
_WIDE = (
    (ProductTile(128, 256, 32, 4, 2), 1.0),
    (ProductTile(128, 128, 32, 6, 2), 1.13),
    (ProductTile(64, 256, 32, 5, 1), 1.22),
    (ProductTile(64, 128, 32, 8, 1), 1.25),
    (ProductTile(128, 64, 32, 8, 2), 1.38),
    (ProductTile(32, 256, 32, 5, 2, swap=True), 2.0),
    (ProductTile(64, 64, 32, 8, 1), 2.2),
    (ProductTile(16, 256, 32, 6, 2, swap=True), 3.0),
    (ProductTile(64, 32, 32, 4, 1, persistent=False), 2.6),
    (ProductTile(64, 16, 32, 4, 1, persistent=False), 3.0),
)
"""The same for tf32. The first seven were measured on an H200; what the others cost is
an estimate.
"""
_BOXES = (
    *((tile, cost) for tile, cost in _WIDE if tile.warpgroups > 1 and not tile.swap),
    (ProductTile(128, 192, 32, 5, 2), 1.06),
    (ProductTile(128, 160, 32, 5, 2), 1.09),
    (ProductTile(128, 96, 32, 7, 2), 1.24),
    (ProductTile(256, 32, 32, 5, 2), 2.0),
)
"""The same where a step is awaited before its slot is released: one of two warpgroups
multiplies meanwhile. What widths between those that were measured cost is between. The
last one is an estimate: half of the next wider one is empty for 32 columns."""
_FOLLOWED = (
    (ProductTile(128, 128, 32, 4, 2), 1.0),
    (ProductTile(64, 128, 32, 3, 1, resident=2), 1.0),
    (ProductTile(128, 64, 32, 3, 2, resident=2), 1.1),
    (ProductTile(64, 64, 32, 3, 1, resident=4), 1.7),
)
"""The same where functions follow that take long: while some warps compute these,
others multiply. Measured with GELU and Mish behind convolutions on an H200."""
_LONG = frozenset({"tanh", "erf", "log1p"})
"""Functions of which each element takes 15 instructions and more."""
_MANY_RESULTS = 2**24
"""Results for which a further launch counts for nothing."""
_MOST_BEHIND = 64
"""Instructions for an element that tiles of `_FOLLOWED` hide: one Mish has 55."""

Rows = Callable[[int], int]
"""Rows that tiles of so many compute, where they are no neighbours; 0: no such tile."""

_EMPTY, _NARROWEST = 32, 64
"""Columns of a tile behind the last, at which a narrower one is taken for pixels: what
TMA brings from outside of a tensor takes long. Columns of the narrowest."""
_SLICE = 32
"""Columns that a box is stored at a time, where it has more than the narrowest: of a
tile that is stored as a whole there is no room beside its ring."""
_FORMS = ("persistent", "small")
"""The library's forms that load by TMA, for 16 bits."""


def chosen_tile(
    m: int,
    n: int,
    k: int,
    batch: int,
    outer: int,
    *,
    element: DType,
    factors: tuple[int, int] = (1, 1),
    turned: tuple[bool, bool] = (False, False),
    split: bool = False,
    followed: bool = False,
    straight: bool = False,
    rows: Rows | None = None,
) -> ProductTile:
    """The tile with the least predicted time.

    ``factors``: how many tensors are left and right factors. ``split``: the kernel
    splits factors of f32. ``followed``: see `followed_long`. ``straight``: none that is
    computed transposed. ``rows``: see `Rows`.
    """
    if split:
        return _of_table(m, n, batch, _SPLIT)[0]
    if element != f32 and factors == (1, 1):
        best, _ = _measured(m, n, k, batch * outer, batch, turned, straight, rows)
        return _of_library(best)
    able = [t for t in _tiles(element, followed) if not (straight and t[0].swap)]
    able = able if rows is None or followed else [*_BOXES]
    tile, _ = _of_table(m, n, batch, able, rows)
    shared = tile.bm == 128 and m > tile.bm and batch == 1 and rows is None
    each = tile.bm * factors[0] + tile.bn * factors[1]
    staged = 2 * tile.bm * _STAGED if tile.persistent and not tile.swap else 0
    fitting = (_SHARED // tile.resident - staged) // (each * tile.bk * element.bytes)
    return replace(tile, cluster=2 if shared else 1, stages=min(tile.stages, fitting))


def predicted_time(
    m: int, n: int, k: int, batch: int, outer: int, element: DType
) -> float:
    """Microseconds of such a product of TF32 or 16 bits, to be compared with others."""
    if element != f32:
        return _measured(m, n, k, batch * outer, batch, (False, False), False)[1]
    tile, cost = _of_table(m, n, batch, _tiles(element))
    return cost * ceil(k / tile.bk) * tile.bk * outer * _STEP_COST[True]


def followed_long(group: LoweredGroup) -> bool:
    """Whether functions follow a product that take longer than reading it again.

    Few warps multiply: in the largest tiles they took 4 to 8 ps for an element, storing
    and reading it 2 ps. In those of `_FOLLOWED`, 0.1 to 1.7 ps (measured on an H200).
    """
    results = prod(group.sizes[n] for n in group.rows)
    functions = {n.function for n in group.nodes if isinstance(n, ApplyNode)}
    return results >= _MANY_RESULTS and bool(functions & _LONG)


def hides_what_follows(group: LoweredGroup, element: DType, tile: ProductTile) -> bool:
    """Whether a tile is one of `_FOLLOWED`, and hides as many functions."""
    behind = (
        FUNCTIONS.get(n.function) for n in group.nodes if isinstance(n, ApplyNode)
    )
    issued = sum(f.among(f32).issue for f in behind if f is not None)
    return element == f32 and not tile.split and issued <= _MOST_BEHIND


_STEP_COST = {True: 0.69 / (128 * 256 * 32), False: 0.455 / (128 * 128 * 64)}
"""Microseconds of an element of K of an element of the first tile of `_WIDE` (True) and
of `_PARTS`, on an H200."""
_LEAST_STEP, _TILE_US = {2: 0.11, 4: 0.2}, 4.0
"""Microseconds of a step of any tile, however small, by bytes of an element (495 steps
of f32 took 101, 72 of bf16 took 8), and of a tile beside its steps."""
_MOST_BYTES = 128 * 256 * LINE / 0.56
"""Bytes of K of elements of a tile that tensor cores multiply in a microsecond."""
_MOST_PARTS, _MOST_OF_CHANNELS = 132, 64
_LEAST_PART = 256
_PART = 64
"""Into how many parts a sum is cut at most; elements of a sum below which no part is
worth a block; and what parts of K are multiples of."""


def parts_of_sum(
    m: int, n: int, k: int, batch: int, outer: int, *, element: DType, terms: int = 1,
    repeats: int = 1, split: bool = False,
) -> tuple[int, int]:  # fmt: skip
    """Into how many equal parts a sum is cut, which are results first.

    Those of ``repeats``, a divisor of ``outer`` that may be cut, and those of K: what
    is predicted to take least, by the library's table. ``element``: of the factors that
    are multiplied, ``terms`` times each. ``split``: the kernel splits them.
    """
    found, tiles = table(), _SPLIT if split else _tiles(element)

    def time(parts: tuple[int, int]) -> float:
        count, rest, inner = prod(parts), outer // parts[0], k // parts[1]
        groups = batch * count
        if element == f32 or terms > 1:
            _, waves = _of_table(m, n, groups, tiles)
            us = waves * _STEP_COST[element == f32] * inner * rest * terms
        else:
            us = _measured(m, n, inner, groups * rest, groups, (False, False), False)[1]
        return us + (found.sum(count, batch * m, n) if count > 1 else 0.0)

    able = [
        (a, b)
        for a in range(1, repeats + 1)
        for b in range(1, k // _PART + 1)
        if 1 < a * b <= min(_MOST_PARTS, k * outer // _LEAST_PART)
        and repeats % a == 0
        and (b == 1 or k % (b * _PART) == 0)
    ]
    return min([(1, 1), *able], key=time)


def parts_of_channels(
    pixels: Sequence[int], filters: int, channels: int, taps: int, element: DType
) -> int:
    """Into how many equal parts the channels of a convolution are cut.

    ``pixels``: those of the result, along each dimension. A tile of them goes through
    all taps and channels of its part, a step of `LINE` bytes of these at a time.
    """
    found, step, cost = table(), LINE // element.bytes, dict(_BOXES)
    near = (1,) * len(pixels)

    def rows(count: int) -> int:
        return box_rows(tuple(pixels), near, count)

    def time(parts: int) -> float:
        tile, area = _of_table(prod(pixels), filters, parts, _BOXES, rows)
        waves = area / (tile.bm * tile.bn * cost[tile])
        each = max(_LEAST_STEP[element.bytes], tile.bm * tile.bn * LINE / _MOST_BYTES)
        us = waves * (each * ceil(channels // parts / step) * taps + _TILE_US)
        return us + (found.sum(parts, prod(pixels), filters) if parts > 1 else 0.0)

    most = min(_MOST_OF_CHANNELS, channels * taps // _LEAST_PART)
    able = [n for n in range(2, most + 1) if channels % (n * step // 2) == 0]
    return min([1, *able], key=time)


_Costs = tuple[tuple[ProductTile, float], ...]


def _tiles(element: DType, followed: bool = False) -> _Costs:
    if element != f32:
        return _PARTS
    return _FOLLOWED if followed else _WIDE


def _of_table(
    m: int, n: int, batch: int, tiles: Sequence[tuple[ProductTile, float]],
    rows: Rows | None = None,
) -> tuple[ProductTile, float]:  # fmt: skip
    count = table().multiprocessors
    if rows is not None:
        tiles = [t for t in tiles if t[0].persistent and rows(t[0].bm)]

    def time(entry: tuple[ProductTile, float]) -> float:
        tile, cost = entry
        high = m if rows is None else rows(tile.bm)
        blocks = batch * ceil(high / tile.bm) * ceil(n / tile.bn)
        waves = ceil(blocks / (count * tile.resident))
        return waves * tile.resident * tile.bm * tile.bn * cost

    best = min(tiles, key=time)
    return best[0], time(best)


def _measured(
    m: int, n: int, k: int, repeats: int, batch: int, turned: tuple[bool, bool],
    straight: bool, rows: Rows | None = None,
) -> tuple[MeasuredTile, float]:  # fmt: skip
    """Of 16 bits, by the library's table; a batch is as many parts of a longer K."""
    found = table()
    wide = _SWIZZLE // bf16.bytes

    def able(tile: MeasuredTile) -> bool:
        sizes = tile.statics
        if tile.form not in _FORMS or not tile.fits(m, n):
            return False
        if sizes.get("ACROSS") or sizes["BK"] < wide:
            return False
        if straight and sizes.get("SWAP"):
            return False
        if (batch > 1 or rows is not None) and sizes.get("CLUSTER", 1) > 1:
            return False
        if rows is not None and (
            tile.form != _FORMS[0]  # which stores boxes by TMA
            or sizes["WARPGROUPS"] < 2  # see `_BOXES`
            or not rows(sizes["BM"])
            or sizes["BN"] >= max(_NARROWEST, n) + _EMPTY
            or (sizes["BN"] > _NARROWEST and sizes["BN"] % _SLICE)
            or sizes["BK"] > max(k, wide)
        ):
            return False
        return not (turned[0] and sizes["BM"] % wide) and not (
            turned[1] and sizes["BN"] % wide
        )

    step = LINE if any(turned) else gcd(k * bf16.bytes, LINE)

    def time(tile: MeasuredTile) -> float:
        high = m if rows is None else rows(tile.statics["BM"])
        return tile.predicted(high, n, k * repeats, step, found.multiprocessors, batch)

    best = min((t for t in found.tiles if able(t)), key=time)
    return best, time(best)


def _of_library(best: MeasuredTile) -> ProductTile:
    sizes = best.statics
    return ProductTile(
        sizes["BM"],
        sizes["BN"],
        sizes["BK"],
        sizes["STAGES"],
        sizes["WARPGROUPS"],
        sizes.get("CLUSTER", 1),
        swap=bool(sizes.get("SWAP", False)),
        persistent=best.form == "persistent",
    )
