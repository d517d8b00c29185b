"""`ag.layouts`: register layouts as static values."""

from __future__ import annotations

from collections.abc import Callable

from argus import layout
from argus.lang.frontend.calls import BoundCall, builtin
from argus.lang.frontend.values import StaticValue, Value
from argus.layout import Fragment


def _make(call: BoundCall, make: Callable[[], Fragment]) -> Value:
    try:
        return StaticValue(make())
    except ValueError as error:
        raise call.e.fail("AG0604", call.span, str(error)) from None


@builtin("layouts.wgmma_accumulator")
def wgmma_accumulator(call: BoundCall) -> Value:
    """Accumulator of wgmma."""
    inst_n = call.positive("inst_n") if call.given("inst_n") else None
    m, n, groups = (
        call.positive("m"),
        call.positive("n"),
        call.positive("warpgroups", 1),
    )
    return _make(call, lambda: layout.wgmma_accumulator(m, n, groups, inst_n))


@builtin("layouts.wgmma_a_operand")
def wgmma_a_operand(call: BoundCall) -> Value:
    """A operand of wgmma in registers."""
    m, k, groups = (
        call.positive("m"),
        call.positive("k"),
        call.positive("warpgroups", 1),
    )
    return _make(call, lambda: layout.wgmma_a_operand(m, k, groups))


def _warps(call: BoundCall) -> tuple[int, int]:
    return call.positive("warps_m", 1), call.positive("warps_n", 1)


@builtin("layouts.mma_accumulator")
def mma_accumulator(call: BoundCall) -> Value:
    """Accumulator of mma.sync."""
    m, n, warps = call.positive("m"), call.positive("n"), _warps(call)
    return _make(call, lambda: layout.mma_accumulator(m, n, *warps))


@builtin("layouts.mma_a_operand")
def mma_a_operand(call: BoundCall) -> Value:
    """A operand of mma.sync."""
    m, k, warps = call.positive("m"), call.positive("k"), _warps(call)
    return _make(call, lambda: layout.mma_a_operand(m, k, *warps))


@builtin("layouts.mma_b_operand")
def mma_b_operand(call: BoundCall) -> Value:
    """B operand of mma.sync."""
    n, k, warps = call.positive("n"), call.positive("k"), _warps(call)
    return _make(call, lambda: layout.mma_b_operand(n, k, *warps))


@builtin("layouts.blocked")
def blocked(call: BoundCall) -> Value:
    """Neighbouring threads hold neighbouring vectors."""
    shape, threads = call.shape("shape", "the layout"), call.positive("threads")
    vector = call.positive("vector", 1)
    order: tuple[int, ...] | None = None
    rank = len(shape)
    if call.given("order"):
        items = call.items("order")
        if not all(isinstance(i, StaticValue) and type(i.value) is int for i in items):
            raise call.wrong("order", "`order` is a tuple of axis numbers")
        order = tuple(
            i.value
            for i in items
            if isinstance(i, StaticValue) and type(i.value) is int
        )
    try:
        return StaticValue(layout.blocked(shape, threads, vector, order))
    except ValueError as error:
        code = "AG0216" if order and sorted(order) != list(range(rank)) else "AG0209"
        raise call.e.fail(code, call.span, str(error)) from None
