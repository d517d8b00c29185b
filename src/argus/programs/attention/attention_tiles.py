"""Sizes of attention's tiles: the library's, and others for what it has not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, prod

from argus.kernels.attention.entry import attention_form as library_form
from argus.kernels.attention.kernel import attention_persistent
from argus.kernels.gemm.tiles import table
from argus.programs.attention.attention_form import AttentionForm
from argus.programs.lowering.lowering import NotFusedError

_STEP = 16
"""Elements that an instruction multiplies: what tiles are multiples of."""
_SHARED = 226 * 1024
"""Bytes of shared memory for the tiles of a block."""
_FEW, _MANY_STEPS = 4, 32
"""Multiprocessors for each block, and blocks of keys, beyond which keys are better cut:
products of attention then stay apart, which cut their sums.
"""
_NARROW = 64
"""Keys of a tile where each of their scores has a number of its own besides."""


@dataclass(frozen=True)
class AttentionTile:
    """Sizes of a block's tile; names as in `kernels/attention`.

    ``be`` and ``bd`` elements of a query and of a value; ``staged``: results leave
    through shared memory; ``queries``: tiles of queries in flight.
    """

    bs: int
    bt: int
    be: int
    bd: int
    stages: int
    warpgroups: int
    registers: int
    persistent: bool
    staged: bool
    queries: int

    def bytes(self, factors: tuple[int, int, int]) -> int:
        """Shared memory of a block: so many tensors of queries, keys and values."""
        queries, keys, values = factors
        once = self.queries * queries * self.bs * self.be + (
            self.bs * self.bd if self.staged else 0
        )
        each = self.bt * (keys * self.be + values * self.bd)
        return 2 * (once + self.stages * each)


def attention_tile(
    form: AttentionForm, sizes: dict[str, int], *, biased: bool, staged: bool
) -> AttentionTile:
    """The tile for a form; ``biased``: scores meet tensors of their own size.

    Raises NotFusedError where there is no room for one.
    """
    be, bd = (ceil(sizes[n] / _STEP) * _STEP for n in (form.inner, form.across))
    kernel, statics = library_form(
        max(be, bd),
        sizes[form.row],
        sizes[form.along],
        causal=form.causal is not None,
        tma_store=staged,
        heads=prod(sizes[n] for n in form.batch),
        multiprocessors=table().multiprocessors,
    )
    known = {"BQ": 128, "BT": 128, "STAGES": 2, "WARPGROUPS": 2}
    known |= {"REGISTERS": 240, "QUERIES": 1}
    found = {n: int(str(statics.get(n, v))) for n, v in known.items()}
    tile = AttentionTile(
        found["BQ"], found["BT"], be, bd, found["STAGES"], found["WARPGROUPS"],
        found["REGISTERS"], kernel is attention_persistent, bool(statics["TMA_STORE"]),
        found["QUERIES"],
    )  # fmt: skip
    if form.parts > 1 or biased:
        many = sizes[form.row] > _NARROW
        tile = replace(
            tile, bs=128 if many else 64, bt=_NARROW, warpgroups=1 + many, registers=240
        )  # fmt: skip
    factors = (
        len({q for q, _ in form.terms}),
        len({k for _, k in form.terms}),
        len({v for _, v in form.values}),
    )
    smaller = (
        {"queries": 1}, {"staged": False}, {"bt": _NARROW // 2}, {"stages": 1},
        {"bs": 64, "warpgroups": 1},
    )  # fmt: skip
    for change in smaller:
        if tile.bytes(factors) <= _SHARED:
            break
        tile = replace(tile, **change)  # type: ignore[arg-type]
    if tile.bytes(factors) > _SHARED:
        raise NotFusedError("tiles of attention that do not fit shared memory")
    blocks = ceil(sizes[form.row] / tile.bs) * prod(sizes[n] for n in form.batch)
    idle = blocks * _FEW < table().multiprocessors
    if idle and sizes[form.along] > _MANY_STEPS * tile.bt:
        raise NotFusedError("few queries of many keys, which few blocks would walk")
    return tile
