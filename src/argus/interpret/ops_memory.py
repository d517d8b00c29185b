"""Ordinary loads and stores, global and shared, as their vector plans say.

Hardware reads a vector from the address of its first element, so a plan whose other
elements are elsewhere is a fault, as is a vector of which only a part exists.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from argus.interpret.machine import ThreadGroup
from argus.interpret.memory import GlobalArray, SharedAccess
from argus.interpret.numbers import (
    Array,
    compute,
    extreme_at,
    from_bits,
    rounded,
    storage,
    to_bits,
)
from argus.interpret.ops_compute import layout_of
from argus.ir import ops as o
from argus.ir.access import (
    Ints,
    matrix_elements,
    matrix_rows,
    vector_global,
    vector_shared,
)
from argus.ir.codec import computing
from argus.ir.memory import GlobalView, SharedView
from argus.ir.placement import VectorPlan
from argus.isa.effects import effects_of
from argus.layout import Fragment

__all__ = ["MemoryOp", "check_vectors", "gathered", "global_access", "run"]

MemoryOp = o.LoadScalar | o.LoadGlobal | o.StoreGlobal | o.LoadShared | o.StoreShared
_UNTOLD = 0x5EADBEEF
MAX_VECTOR = 16
"""Most bytes of one access by one thread (PTX ISA, "Vectors": .v4.b32)."""


def run(group: ThreadGroup, op: MemoryOp) -> None:
    """Execute one operation."""
    match op:
        case o.LoadScalar():
            _load_scalar(group, op)
        case o.LoadGlobal():
            _load_global(group, op)
        case o.StoreGlobal():
            _store_global(group, op)
        case o.LoadShared():
            _load_shared(group, op)
        case o.StoreShared():
            _store_shared(group, op)
        case _:
            assert_never(op)


# -------------------------------------------------------------------- global


def gathered(
    group: ThreadGroup, view: GlobalView, layout: Fragment
) -> dict[str, Array]:
    """Values of a view's gather symbols for each (thread, register) of a layout."""
    found: dict[str, Array] = {}
    for gather in view.gathers:
        held = layout_of(group, gather.tile)
        registers = layout.register_map(held, (gather.axis,))
        if registers is None:
            group.fault("layout", f"{gather.tile!r} is in other threads than its use")
            registers = np.zeros(layout.num_regs, np.int32)
        found[gather.symbol.name] = group.get(gather.tile)[:, registers].astype(
            np.int64
        )
    return found


def global_access(
    group: ThreadGroup, plan: VectorPlan, view: GlobalView
) -> tuple[GlobalArray, tuple[Array, ...], Array]:
    """The tensor, coordinates and existence of elements [threads, accesses, width].

    Coordinates of elements that do not exist are as computed, not clipped.
    """
    values = gathered(group, view, plan.layout)
    place = vector_global(plan, view, group.env, values)
    return group.cluster.arrays[view.tensor.name], place.coords, place.exists


def check_vectors(
    group: ThreadGroup,
    addresses: Ints,
    active: Array,
    itemsize: int,
    *,
    masked: bool = False,
) -> None:
    """Check vectors [threads, accesses, width]: whole, contiguous and aligned.

    With a mask per element, vectors that are not wholly active are taken apart.
    """
    width = addresses.shape[2]
    if width == 1:
        return
    if width * itemsize > MAX_VECTOR:
        group.fault("vector", f"one access of {width * itemsize} bytes")
    whole = active.all(axis=2)
    partly = active.any(axis=2) & ~whole
    if partly.any() and not masked:
        thread, step = (int(x) for x in np.argwhere(partly)[0])
        group.fault(
            "vector",
            f"only a part of a vector of {width} elements exists (access {step})",
            thread=thread,
        )
    first = addresses[:, :, :1]
    expected: Ints = first + np.arange(width, dtype=np.int64) * itemsize
    apart: Array = whole & np.any(addresses != expected, axis=2)
    if apart.any():
        thread, step = (int(x) for x in np.argwhere(apart)[0])
        group.fault(
            "vector",
            f"the {width} elements of a vector are not contiguous (access {step})",
            thread=thread,
        )
    crooked = whole & (first[:, :, 0] % (width * itemsize) != 0)
    if crooked.any():
        thread, step = (int(x) for x in np.argwhere(crooked)[0])
        group.fault(
            "alignment",
            f"a vector of {width * itemsize} bytes at address"
            f" {int(first[thread, step, 0])} (access {step})",
            thread=thread,
        )


def _load_scalar(group: ThreadGroup, op: o.LoadScalar) -> None:
    held = group.cluster.arrays[op.tensor.name]
    coords = tuple(group.integer(c) for c in op.coords)
    shape = held.array.shape
    if any(not 0 <= c < extent for c, extent in zip(coords, shape, strict=True)):
        group.fault("bounds", f"{op.tensor.name}{list(coords)} of a tensor {shape}")
        coords = tuple(
            min(max(c, 0), e - 1) for c, e in zip(coords, shape, strict=True)
        )
    if not held.array.size:
        group.env[op.sym.name] = 0  # reported above: there is no element to read
        return
    value = compute(held.array[coords].reshape(1), op.tensor.dtype)
    group.env[op.sym.name] = value[0].item()


def _active(group: ThreadGroup, exists: Array, mask: o.Tile | None) -> Array:
    if mask is None:
        return exists
    return exists & group.get(mask).reshape(exists.shape)


def _load_global(group: ThreadGroup, op: o.LoadGlobal) -> None:
    plan = _vector(op.plan, op)
    held, coords, exists = global_access(group, plan, op.view)
    active = _active(group, exists, op.mask)
    dtype = op.view.dtype
    masked = op.mask is not None
    check_vectors(group, held.address(coords), active, dtype.bytes, masked=masked)
    fill = np.asarray(group.operand(op.fill))
    wide = computing(dtype) if dtype.is_float else storage(dtype)
    other = rounded(fill.astype(wide), dtype)
    values = np.where(active, held.read(coords, active), other)
    group.put(op.result, values.reshape(group.threads, -1))


def _store_global(group: ThreadGroup, op: o.StoreGlobal) -> None:
    plan = _vector(op.plan, op)
    held, coords, exists = global_access(group, plan, op.view)
    active = _active(group, exists, op.mask)
    masked = op.mask is not None
    itemsize = op.view.dtype.bytes
    check_vectors(group, held.address(coords), active, itemsize, masked=masked)
    if plan.unique:
        active = active & plan.layout.owner_mask().reshape(active.shape)
    places = tuple(c[active] for c in coords)
    values = group.get(op.src).reshape(active.shape)[active]
    if isinstance(op, o.Atomic):
        _atomic(group, op, held, places, values, active)
        return
    if op.atomic is None:
        held.array[places] = values
        lost = to_bits(held.array[places], op.src.dtype) != to_bits(
            values, op.src.dtype
        )
        if lost.any():
            group.fault(
                "unordered",
                f"two threads write different values to the same element of"
                f" {op.view.tensor.name}",
                elements=int(lost.sum()),
            )
        return
    dtype = op.view.dtype
    if op.atomic != "add":
        extreme_at(op.atomic, held.array, places, values)
        return
    if dtype.bits_of is not None:
        total = compute(held.array, dtype)
        np.add.at(total, places, compute(values, dtype))
        held.array[...] = rounded(total, dtype)
        return
    np.add.at(held.array, places, values)


def _atomic(
    group: ThreadGroup,
    op: o.Atomic,
    held: GlobalArray,
    places: tuple[Array, ...],
    values: Array,
    active: Array,
) -> None:
    """One element after the other, in the order of the threads, which is one of many.

    Where nothing is changed the old value is 0. A thread that holds a copy of what
    another one changed has not been told: it gets a number that gives it away.
    """
    dtype = op.view.dtype
    old = np.zeros(active.shape, held.array.dtype)
    if op.plan is not None and op.plan.unique:
        owned = op.plan.layout.owner_mask().reshape(active.shape)
        old[~owned] = np.nan if dtype.is_float else _UNTOLD
    before = np.zeros(len(values), held.array.dtype)
    expected = values
    if op.expected is not None:
        expected = group.get(op.expected).reshape(active.shape)[active]
    for i, value in enumerate(values):
        at = tuple(c[i : i + 1] for c in places)
        before[i] = held.array[at][0]
        match op.atomic:
            case "add":
                held.array[at] += value
            case "exchange":
                held.array[at] = value
            case "cas":
                if before[i] == expected[i]:
                    held.array[at] = value
            case "max" | "min" as fn:
                extreme_at(fn, held.array, at, values[i : i + 1])
            case _:
                raise ValueError(f"no atomic {op.atomic}")
    old[active] = before
    group.put(op.result, old.reshape(group.threads, -1))


# -------------------------------------------------------------------- shared


def _matrix(group: ThreadGroup, plan: VectorPlan, view: SharedView) -> Ints:
    """Addresses that ldmatrix or stmatrix touches, and the rows' alignment."""
    rows = matrix_rows(plan, view, group.env)
    if (rows % 16).any():
        group.fault("alignment", f"{plan.instruction}: a row is not 16-byte aligned")
    return matrix_elements(plan, view, group.env)


def _shared(group: ThreadGroup, plan: VectorPlan, view: SharedView) -> tuple[Ints, int]:
    itemsize = view.dtype.bytes
    if "matrix" in plan.instruction:
        return _matrix(group, plan, view), itemsize
    addresses = vector_shared(plan, view, group.env)
    active = np.ones(addresses.shape, np.bool_)
    check_vectors(group, addresses, active, itemsize)
    return addresses[:, :, :1] + np.arange(plan.width) * itemsize, itemsize


def _load_shared(group: ThreadGroup, op: o.LoadShared) -> None:
    addresses, itemsize = _shared(group, _vector(op.plan, op), op.view)
    proxy = effects_of(op).reads[0].proxy
    bits = group.block.shared.load(group, SharedAccess(addresses, itemsize), proxy)
    values = from_bits(bits, op.view.dtype)
    group.put(op.result, values.reshape(group.threads, -1))


def _store_shared(group: ThreadGroup, op: o.StoreShared) -> None:
    plan = _vector(op.plan, op)
    addresses, itemsize = _shared(group, plan, op.view)
    bits = to_bits(group.get(op.src), op.src.dtype).reshape(addresses.shape)
    threads = np.arange(group.threads)
    if plan.unique:
        # Whole threads hold copies: what owns one element owns all of its own.
        threads = np.flatnonzero(plan.layout.owner_mask()[:, 0])
    access = SharedAccess(addresses[threads], itemsize, threads)
    proxy = effects_of(op).writes[0].proxy
    group.block.shared.store(group, access, bits[threads], proxy)


def _vector(plan: VectorPlan | None, op: o.AnyOp) -> VectorPlan:
    if plan is None:
        raise ValueError(f"line {op.span.line}: {type(op).__name__} has no plan")
    return plan
