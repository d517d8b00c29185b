"""Text of layouts, views' coordinates and plans: the leaves of `printer.py`.

Nothing here knows the names that a program's tiles are printed by.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from argus.ir import ops as o
from argus.ir import placement as p
from argus.ir.expr import Expr
from argus.layout import Fragment, Mode, SharedLayout

__all__ = [
    "bare",
    "extents",
    "fragment_text",
    "indexed",
    "listed",
    "plan_text",
    "shared_layout_text",
]


def shared_layout_text(layout: SharedLayout) -> str:
    """How a shared tile lies in bytes: digits of each axis as size*stride."""
    axes = ", ".join(
        " ".join(f"{size}*{stride}" for size, stride in digits)
        for digits in layout.digits
    )
    return f"{axes}; swizzle {layout.swizzle}"


def fragment_text(fragment: Fragment) -> str:
    """Where a register tile lies: modes as size*step@axis, `-` for copies."""

    def modes(all_modes: tuple[Mode, ...]) -> str:
        return " ".join(
            f"{x.size}*-" if x.axis is None else f"{x.size}*{x.step}@{x.axis}"
            for x in all_modes
            if x.size > 1
        )

    return (
        f"{listed(fragment.shape)} {fragment.num_threads} threads"
        f" {modes(fragment.threads) or '1'} | {fragment.num_regs} regs"
        f" {modes(fragment.regs) or '1'}"
    )


def extents(dims: Iterable[str | None], shape: Iterable[int]) -> str:
    """Extents with the names of their dimensions."""
    pairs = zip(dims, shape, strict=True)
    return "[" + " ".join(f"{d or '_'}:{n}" for d, n in pairs) + "]"


def listed(values: Iterable[object]) -> str:
    """Values in parentheses, without a comma after a single one."""
    return "(" + ", ".join(str(v) for v in values) + ")"


def indexed(coords: Iterable[Expr]) -> str:
    """Coordinates in brackets."""
    return "[" + ", ".join(bare(c) for c in coords) + "]"


def bare(e: Expr) -> str:
    """An expression without the parentheses around all of it."""
    text = str(e)
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and position < len(text) - 1:
            return text
    return text[1:-1]


def plan_text(op: o.AnyOp) -> str:
    """The plan of an operation; nothing without one."""
    match op:
        case (
            o.Dot() | o.LoadGlobal() | o.StoreGlobal() | o.LoadShared()
            | o.StoreShared() | o.CopyAsync() | o.CopyOut()
        ):  # fmt: skip
            plan = op.plan
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Synchronisation()
            | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return ""
        case _:
            assert_never(op)
    match plan:
        case None:
            return ""
        case p.VectorPlan():
            unique = " unique" if plan.unique else ""
            return f"{plan.instruction} x{plan.width} * {plan.accesses}{unique}"
        case p.TmaPlan():
            boxes = " ".join(
                f"{indexed(b.coords)}@{bare(b.offset)}" for b in plan.boxes
            )
            multicast = f" multicast {plan.multicast}" if plan.multicast > 1 else ""
            return (
                f"tma box {listed(plan.map.box)} swizzle {plan.map.swizzle}:"
                f" {boxes}, {plan.bytes} bytes{multicast}"
            )
        case p.WgmmaPlan():
            a = "registers" if plan.a is None else _operand(plan.a)
            return (
                f"{plan.instruction} {plan.m_atoms}x{plan.n_atoms}x{plan.k_steps}"
                f" a: {a}; b: {_operand(plan.b)}"
            )
        case p.MmaPlan():
            return f"{plan.instruction} * {len(plan.steps)}"
        case _:
            assert_never(plan)


def _operand(x: p.MatrixOperand) -> str:
    major = "mn" if x.mn_major else "k"
    return (
        f"{major}-major swizzle {x.swizzle} leading {x.leading} stride {x.stride}"
        f" offsets {listed(listed(row) for row in x.offsets)}"
        + (f" warpgroup {x.warpgroup_stride}" if x.warpgroup_stride else "")
    )
