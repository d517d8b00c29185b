"""Where the elements of a tile lie in global and shared memory, as expressions.

Global: coordinates in the tensor, the condition that they are inside, the offset in
elements. A condition is left out only where bounds prove it.

Shared: byte offsets in the block's dynamic shared memory. A swizzle is an xor of
address bits, so where the thread's part and the register's part of an offset share no
bit, ``swizzle(thread + register) == swizzle(thread) ^ swizzle(register)``: one xor with
a constant per access. Parts that are multiples of the swizzle's period are added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from argus.codegen import expressions, registers
from argus.codegen.code import CppExpression, binary, converted, joined, name, plus
from argus.codegen.context import TID, Emission, Ints, RegisterIteration
from argus.codegen.errors import CodegenError
from argus.codegen.expressions import literal
from argus.codegen.scalars import ScalarTypes
from argus.codegen.storage import layout_of
from argus.ir.expr import (
    Binary,
    Const,
    Expr,
    Sym,
    divisor,
    evaluate,
    lift,
    substitute,
    symbols,
)
from argus.ir.memory import (
    BarrierRef,
    GlobalTensor,
    GlobalView,
    SharedAlloc,
    SharedView,
)
from argus.ir.ranges import I32, I64, Range, fits
from argus.layout import Fragment, SharedLayout, from_table
from argus.layout.shared import swizzled


def register_coordinates(layout: Fragment) -> list[Ints]:
    """The registers' part of the coordinate along each axis, each of shape [regs]."""
    zero = np.zeros(layout.num_regs, dtype=np.int64)
    return [zero + part for part in layout.reg_part(np.arange(layout.num_regs))]


# ---------------------------------------------------------------- global memory


@dataclass(frozen=True)
class ElementAddress:
    """One element of a view: ``setup`` lines, ``valid`` (None: always), its offset."""

    setup: list[str]
    valid: list[CppExpression]
    offset: CppExpression

    @property
    def condition(self) -> CppExpression | None:
        """The condition that it exists, or None when it always does."""
        return joined("&&", self.valid) if self.valid else None


def locate(
    cx: Emission,
    view: GlobalView,
    layout: Fragment,
    step: RegisterIteration,
    regs: Ints,
    suffix: str = "",
    *,
    whole: bool = False,
) -> ElementAddress:
    """The element of ``view`` that the running thread holds in registers ``regs``.

    ``whole``: it is known to exist, though bounds do not say it.
    """
    cx.pointers[view.tensor.name] = None
    env: dict[str, Expr] = {}
    parts = register_coordinates(layout)
    for axis in range(layout.rank):
        by_thread = cx.coordinate(view.dims, layout, axis)
        env[f"%{axis}"] = by_thread + step.index(parts[axis][regs])
    for gather in view.gathers:
        held = layout.register_map(layout_of(gather.tile), (gather.axis,))
        if held is None:
            raise CodegenError(f"index tile {gather.tile!r} is held by other threads")
        env[gather.symbol.name] = registers.element_symbol(
            cx, cx.array(gather.tile), step, held[regs]
        )
    more: dict[str, Range] = {TID.name: (0, cx.group.threads - 1)}
    if step.var is not None:
        more[step.var.name] = (0, len(step.values) - 1)
    scalars = cx.scalars.among(more)
    tested: dict[Expr, Expr] = {}
    setup: list[str] = []
    valid: list[CppExpression] = []
    tensor = view.tensor
    narrow = _narrow(tensor, scalars)
    found: list[Expr] = []
    where: dict[str, Range] = {}
    named = zip(view.coords, tensor.shape, tensor.strides, strict=True)
    for d, (coord, extent, _) in enumerate(named):
        exact = substitute(coord, env)
        unknown = needs_test(exact, extent, scalars)
        local = exact
        if unknown and not isinstance(exact, Const | Sym):
            ctype, value = _coordinate(cx, exact, scalars)
            local = cx.opaque(name(f"i{d}{suffix}"), ctype)
            setup.append(f"const {ctype} i{d}{suffix} = {value.bare};")
            known = scalars.ranges.of(exact)
            all_of_type = I32 if ctype == "int" else I64
            known = known if fits(known, all_of_type) else all_of_type
            cx.scalars.ranges.known[local.name] = known
            scalars.ranges.known[local.name] = known
            scalars.ranges.free.add(local.name)
            most = scalars.ranges.of(extent)[1] - 1
            where[local.name] = max(known[0], 0), max(min(known[1], most), 0)
        if unknown:
            tested[exact] = local
            valid += _conditions(cx, local, extent, scalars)
        found.append(local)
    for limit in view.limits:
        value = substitute(limit.value, env)
        extent = substitute(limit.extent, env)
        if not needs_test(value, extent, scalars):
            continue
        if not scalars.ranges.by_launch(value) and value in tested:
            # The coordinate is known not to be negative, and not to have turned over.
            end = expressions.code(extent, cx.spell, scalars)
            valid.append(binary("<", cx.code(tested[value]), end))
        else:
            valid += _conditions(cx, value, extent, scalars)
    if narrow:  # an element that is accessed exists
        for kept in (cx.scalars, scalars):
            kept.ranges.known.update(where)
    place = _offset(cx, found, tensor.strides, scalars)
    return ElementAddress(setup, [] if whole else valid, place)


def _offset(
    cx: Emission, coords: list[Expr], strides: tuple[Expr, ...], scalars: ScalarTypes
) -> CppExpression:
    """The offset of an element. Of 64 bits, what has 32 of it is added up by itself.

    nvcc 13.0 takes vectors of stores apart where it adds constants to 64 bits.
    """

    def text(e: Expr) -> CppExpression:
        return expressions.code(e, cx.spell, scalars)

    whole: Expr = Const(0)
    far: Expr = Const(0)
    near: Expr = Const(0)
    dims = 0
    for coord, stride in zip(coords, strides, strict=True):
        whole = whole + coord * stride
        outer: Expr = Const(0)
        inner: Expr = Const(0)
        for part in _addends(coord):
            if scalars.ctype(part * stride) == "int":
                inner = inner + part
            else:
                outer = outer + part
        far, near = far + outer * stride, near + inner * stride
        dims += inner != Const(0)
    if scalars.ctype(whole) == "int" or scalars.ctype(near) != "int" or dims < 2:
        return text(whole)
    return plus(text(far), CppExpression(f"({text(near).bare})"))


def _addends(e: Expr) -> list[Expr]:
    if isinstance(e, Binary) and e.op == "+":
        return [*_addends(e.left), *_addends(e.right)]
    return [e]


def _narrow(tensor: GlobalTensor, scalars: ScalarTypes) -> bool:
    """Whether the offsets of all elements are known to fit 32 bits."""
    reach = 0
    for extent, stride in zip(tensor.shape, tensor.strides, strict=True):
        reach += max(scalars.ranges.of(extent)[1] - 1, 0) * scalars.ranges.of(stride)[1]
    return reach <= I32[1]


_OUTSIDE: Range = (I32[0], 2**32 - 1)
"""Coordinates that are outside of tensors as 32-bit numbers, too, if they are so."""


def _coordinate(
    cx: Emission, exact: Expr, scalars: ScalarTypes
) -> tuple[str, CppExpression]:
    """Type and text of a coordinate that is tested to be inside of its tensor.

    So it may turn over, where it is outside before and after.
    """
    ctype = scalars.ctype(exact)
    found = scalars.ranges.of(exact)
    if ctype == "long long" and fits(found, _OUTSIDE):
        value = expressions.modular(exact, "u32", cx.spell, scalars)
        return "int", converted("int", value)
    if not fits(found, I64):
        value = expressions.modular(exact, "u64", cx.spell, scalars)
        return "long long", converted("long long", value)
    return ctype, expressions.code(exact, cx.spell, scalars)


def needs_test(value: Expr, extent: Expr, scalars: ScalarTypes) -> bool:
    """True when ``0 <= value < extent`` has to be tested."""
    low, high = scalars.ranges.of(value)
    return low < 0 or high >= scalars.ranges.of(extent)[0]


def _conditions(
    cx: Emission, value: Expr, extent: Expr, scalars: ScalarTypes
) -> list[CppExpression]:
    """``0 <= value < extent``, as far as it is not known."""
    sides = (
        expressions.code(value, cx.spell, scalars),
        expressions.code(extent, cx.spell, scalars),
    )
    natural = scalars.ranges.of(value)[0] >= 0
    if not natural and scalars.ranges.of(extent)[0] < 0:
        # The end of a slice, from a table.
        return [binary(">=", sides[0], literal(0)), binary("<", *sides)]
    if not natural:
        # A negative coordinate is a large unsigned one: one comparison for both bounds.
        unsigned = "u64" if scalars.ctype(value) == "long long" else "u32"
        sides = (converted(unsigned, sides[0]), converted(unsigned, sides[1]))
    return [binary("<", *sides)]


# ---------------------------------------------------------------- shared memory


def placed(alloc: SharedAlloc) -> tuple[SharedLayout, int]:
    """Layout and offset of a buffer. Raises CodegenError when it is not placed."""
    if alloc.layout is None or alloc.offset is None:
        raise CodegenError(f"shared buffer {alloc.name} is not placed")
    return alloc.layout, alloc.offset


def stage_offset(view: SharedView) -> Expr:
    """Byte offset of the view's stage in dynamic shared memory."""
    _, offset = placed(view.alloc)
    return view.stage * view.alloc.stage_bytes + offset


def view_offset(view: SharedView) -> Expr:
    """Byte offset of the view's first element, before the swizzle."""
    layout, _ = placed(view.alloc)
    return stage_offset(view) + lift(layout.linear(view.origin))


def barrier_address(cx: Emission, ref: BarrierRef) -> CppExpression:
    """Shared address of an mbarrier."""
    if ref.alloc.offset is None:
        raise CodegenError(f"barrier {ref.alloc.name} is not placed")
    return shared_address(cx, ref.index * 8 + ref.alloc.offset)


def shared_address(cx: Emission, offset: Expr) -> CppExpression:
    """The u32 shared address of a byte offset."""
    return plus(name("smem_base"), cx.code(offset))


def shared_pointer(cx: Emission, offset: Expr) -> CppExpression:
    """The generic pointer to a byte offset in dynamic shared memory."""
    return plus(name("smem"), cx.code(offset))


Offsets = Callable[[RegisterIteration, Ints], Expr]
"""Byte offset for accesses number ``table[i]`` of a step."""


def shared_offsets(
    cx: Emission,
    view: SharedView,
    by_thread: tuple[Expr, ...],
    by_access: list[Ints],
    wanted: str,
) -> Offsets:
    """Offsets of the elements at ``by_thread + by_access`` (per view axis) of a view.

    ``by_thread`` are expressions over TID, ``by_access`` tables over access numbers.
    """
    layout, _ = placed(view.alloc)
    tid = np.arange(cx.group.threads)
    zero_t = np.zeros(len(tid), dtype=np.int64)
    threads = [zero_t + evaluate(e, {TID.name: tid}) for e in by_thread]
    split = _split(cx, view, layout, threads, by_access)
    if split is not None:
        uniform, thread_table, low, high = split
        plain = _of_thread(cx, thread_table, wanted)
        if plain is None:
            plain = lift(layout.linear(_buffer(view, by_thread, None)))
            plain = cx.thread_value(plain + int(thread_table[0]), wanted)
        thread = plain
        if layout.swizzle:
            thread = cx.thread_value(lift(swizzled(plain, layout.swizzle)), wanted)
        return lambda step, table: (
            uniform + (thread ^ step.index(low[table])) + step.index(high[table])
        )

    known = tuple(cx.thread_value(e, wanted) for e in by_thread)

    def general(step: RegisterIteration, table: Ints) -> Expr:
        coords = tuple(
            t + step.index(a[table]) for t, a in zip(known, by_access, strict=True)
        )
        linear = lift(layout.linear(_buffer(view, coords, view.origin)))
        return stage_offset(view) + lift(swizzled(linear, layout.swizzle))

    return general


def _buffer(
    view: SharedView, coords: tuple[Any, ...] | list[Any], origin: Any
) -> list[Any]:
    """Coordinates in the buffer of coordinates in the view."""
    result: list[Any] = [0] * len(view.alloc.shape) if origin is None else list(origin)
    for axis, coord in zip(view.axes, coords, strict=True):
        result[axis] = result[axis] + coord
    return result


def _split(
    cx: Emission,
    view: SharedView,
    layout: SharedLayout,
    threads: list[Ints],
    accesses: list[Ints],
) -> tuple[Expr, Ints, Ints, Ints] | None:
    """(uniform, thread, xor, add) parts of the offsets, None if they do not split."""
    period = 8 * layout.swizzle or 1
    stage = stage_offset(view)
    if not isinstance(view.stage, Const) and view.alloc.stage_bytes % period:
        return None
    if view.alloc.offset is None or view.alloc.offset % period:
        return None
    constant = [e.value if isinstance(e, Const) else 0 for e in view.origin]
    origin_offset = int(layout.linear(constant))
    symbolic: Expr = Const(0)
    for axis, e in enumerate(view.origin):
        if isinstance(e, Const):
            continue
        digits = layout.digits[axis]
        along = [i for i, a in enumerate(view.axes) if a == axis]
        extent = view.shape[along[0]] if along else 1
        step = divisor(e, cx.program.facts)
        if any(s.kind == "thread" for s in symbols(e)) or extent > step:
            return None
        weight = 1
        for size, _ in digits[:-1]:
            weight *= size
            if step % weight and weight % step:
                return None
        coords: list[Any] = [0] * len(view.alloc.shape)
        coords[axis] = e
        part = lift(layout.linear(coords))
        if divisor(part, cx.program.facts) % period:
            return None
        symbolic = symbolic + part
    by_thread = np.asarray(layout.linear(_buffer(view, threads, None)))
    by_access = np.asarray(layout.linear(_buffer(view, accesses, None)))
    by_thread = np.broadcast_to(by_thread, (cx.group.threads,))
    both = [t[:, None] + a for t, a in zip(threads, accesses, strict=True)]
    whole = layout.linear(_buffer(view, both, constant))
    if not np.array_equal(whole, origin_offset + by_thread[:, None] + by_access):
        return None
    uniform = stage + symbolic
    if not layout.swizzle:
        return uniform + origin_offset, by_thread, by_access * 0, by_access
    uniform = uniform + origin_offset // period * period
    by_thread = by_thread + origin_offset % period
    low = by_access % period
    used_t = int(np.bitwise_or.reduce(by_thread))
    used_a = int(np.bitwise_or.reduce(low))
    if used_t & used_a:
        return None
    return uniform, by_thread, swizzled(low, layout.swizzle), by_access - low


def _of_thread(cx: Emission, table: Ints, wanted: str) -> Expr | None:
    """A table over threads as an expression of TID, if it is a layout of it."""
    layout = from_table(table - table[0])
    if layout is None:
        return None
    return cx.thread_value(lift(layout(TID)) + int(table[0]), wanted)
