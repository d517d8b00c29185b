"""Products of factors that do not lie along K, and batches: tiles and launches."""

from __future__ import annotations

from math import ceil, gcd
from typing import TYPE_CHECKING

from argus.dispatch import Buffer, GivenTensor, LaunchSequence, LaunchStep, StepValue
from argus.ir.dtypes import DType
from argus.kernels.gemm.entry import form_of, tile_statics
from argus.kernels.gemm.orders import batched_orders, gemm_orders, turned_rows
from argus.kernels.gemm.plan import Operands, best_plan, launches, predicted
from argus.kernels.gemm.tiles import LINE, MeasuredTile, table
from argus.kernels.tensors import row_bytes, tma_rows, tma_store

if TYPE_CHECKING:
    from torch import Tensor

_PANEL = 64
"""Elements of 16 bits in a line of shared memory: what turned tiles are wide."""


def turned(t: Tensor) -> bool:
    """Whether the last dimension but one is contiguous, and the last one is not."""
    return t.shape[-1] > 1 and t.stride(-1) != 1 and t.stride(-2) == 1


def _tiles(turned_b: bool) -> list[MeasuredTile]:
    """Those of `gemm_sm90` that `gemm_orders` has, too."""
    return [
        t
        for t in table().tiles
        if t.form == "persistent"
        and not t.statics.get("ACROSS")
        and t.statics["BK"] % _PANEL == 0
        and (not turned_b or t.statics["BN"] % _PANEL == 0)
    ]


def _statics(
    tile: MeasuredTile, *, tma_store: bool, epilogue: bool
) -> dict[str, object]:
    found = tile_statics(tile, tma_store=tma_store, epilogue=epilogue)
    del found["STAGED"]  # they always leave through shared memory
    return found


def _places(
    turned_a: bool, turned_b: bool, a: StepValue, b: StepValue
) -> dict[str, StepValue]:
    return {"TurnedA" if turned_a else "A": a, "TurnedB" if turned_b else "B": b}


def turned_product(
    values: tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None],
    turns: tuple[bool, bool],
    dtype: DType,
    activation: object,
) -> LaunchSequence:
    """The launches for A or its transpose, B or its, C, bias and residual.

    ``turns``: which of A (K, M) and B (K, N) are given so. They are multiplied as they
    lie, or turned first, whichever is predicted to take less time.
    """
    a, b, out, bias, residual = values
    (m, n), k = out.shape, a.shape[0 if turns[0] else 1]
    found, lines = table(), (row_bytes(a), row_bytes(b))
    rest = {
        name: GivenTensor(i)
        for i, name in ((2, "C"), (3, "Bias"), (4, "Residual"))
        if values[i] is not None
    }
    plain = bias is None and residual is None
    stored = tma_store(out)

    aligned = tuple(LINE if t else line for t, line in zip(turns, lines, strict=True))
    plan = best_plan(m, n, k, (aligned[0], aligned[1]))
    sizes = [2 * k * r for r, t in zip((m, n), turns, strict=True) if t]
    whole = sum(found.copy(size) - found.overlap for size in sizes)
    whole += predicted(found, plan, m, n, k, (aligned[0], aligned[1]))
    if tma_rows(a) and tma_rows(b):
        step, count = gcd(*lines), found.multiprocessors

        def time(tile: MeasuredTile) -> float:
            us = tile.predicted(m, n, k, step, count)
            return us + found.written(tile, m, n)

        tile = min((t for t in _tiles(turns[1]) if t.fits(m, n)), key=time)
        if time(tile) <= whole:
            statics = _statics(tile, tma_store=stored, epilogue=not plain)
            given = {**_places(*turns, GivenTensor(0), GivenTensor(1)), **rest}
            tensors = tuple(given.get(p.name) for p in gemm_orders.signature.params)
            statics["ACTIVATION"] = activation
            return LaunchSequence((LaunchStep(gemm_orders, tensors, statics),))

    steps: list[LaunchStep] = []
    places: dict[str, StepValue] = {**rest}
    row = -(-k // _PANEL) * _PANEL
    for i, (name, rows) in enumerate((("A", m), ("B", n))):
        places[name] = GivenTensor(i)
        if turns[i]:
            places[name] = Buffer(dtype.name, (rows, k), (row, 1))
            steps.append(LaunchStep(turned_rows, (GivenTensor(i), places[name]), {}))
    kernel, statics = form_of(plan.tile, m, n, k, tma_store=stored, epilogue=not plain)
    product = launches(
        plan,
        Operands(m, n, k, dtype, places),
        kernel,
        statics,
        {"ACTIVATION": activation},
    )
    return LaunchSequence((*steps, *product.steps))


def batched_product(
    a: Tensor, b: Tensor, out: Tensor, turns: tuple[bool, bool]
) -> LaunchSequence:
    """The launch for a batch of products; ``turns`` as of :func:`turned_product`."""
    (p, m, n), k = out.shape, a.shape[1 if turns[0] else 2]
    step = gcd(row_bytes(a), row_bytes(b))
    single = [t for t in _tiles(turns[1]) if t.rows == t.statics["BM"]]

    def time(tile: MeasuredTile) -> float:
        """As of one product with as many tiles."""
        rows = p * ceil(m / tile.rows) * tile.rows
        us = tile.predicted(rows, n, k, step, table().multiprocessors)
        return us + table().written(tile, p * m, n)

    tile = min(single, key=time)
    statics = _statics(tile, tma_store=tma_store(out), epilogue=False)
    del statics["CLUSTER"]
    given = {**_places(*turns, GivenTensor(0), GivenTensor(1)), "C": GivenTensor(2)}
    values = tuple(given.get(q.name) for q in batched_orders.signature.params)
    return LaunchSequence((LaunchStep(batched_orders, values, statics),))
