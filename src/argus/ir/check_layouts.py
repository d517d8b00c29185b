"""Layouts and plans of placed operations: the last part of `check.py`.

The rule of an operation that moves no registers is an equation between layouts; that of
an access is that its plan is for the layout of its tile. Fragments are compared as
functions, not as expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from argus.ir import ops as o
from argus.ir import placement as p
from argus.ir.memory import SharedView
from argus.layout import Fragment

__all__ = ["Need", "check_layouts", "check_same_layout"]

Need = Callable[[bool, str], None]
"""Raises when its condition does not hold."""

_GLOBAL_LOAD = ("ld.global",)
_GLOBAL_STORE = ("st.global", "red.global", "atom.global")
_SHARED_LOAD = ("ld.shared", "ldmatrix", "ldmatrix.trans")
_SHARED_STORE = ("st.shared", "stmatrix", "stmatrix.trans")


def check_layouts(op: o.AnyOp, need: Need) -> None:
    """Layouts and plan of one placed operation."""
    _Rules(need).rule(op)


def check_same_layout(left: o.Tile, right: o.Tile, need: Need) -> None:
    """Both tiles hold each element in the same thread and register."""
    _Rules(need).same(left, right)


class _Rules:
    def __init__(self, need: Need) -> None:
        self.need = need

    def layout(self, tile: o.Tile) -> Fragment:
        if tile.layout is None:
            self.need(False, f"{tile!r} has no layout")
            raise AssertionError("unreachable: need(False) raises")
        return tile.layout

    def same(self, left: o.Tile, right: o.Tile) -> None:
        self.need(
            self.layout(left).same_as(self.layout(right)),
            f"{left!r} and {right!r} differ in layout",
        )

    def rule(self, op: o.AnyOp) -> None:
        match op:
            case o.Elementwise():
                for arg in op.args:
                    if isinstance(arg, o.Tile):
                        self.same(arg, op.result)
            case o.Cast():
                self.same(op.src, op.result)
            case o.Sort():
                self.same(op.src, op.result)
            case o.Combining():
                for source in op.srcs:
                    self.same(source, op.srcs[0])
                layout = self.layout(op.srcs[0])
                if isinstance(op, o.ScanTotal):
                    layout = layout.slice(op.axis)
                self.equal(op.result, layout, "combining leaves another layout")
            case o.Reduce():
                sliced = self.layout(op.src).slice(op.axis)
                self.equal(op.result, sliced, "a reduction leaves another layout")
            case o.Moving():
                held = op.held(self.layout(op.result), self.layout(op.sources[0]))
                self.need(held is not None, f"{op.words}: {op.result!r} is elsewhere")
            case o.Reinterpret():
                before, after = self.layout(op.src), self.layout(op.result)
                self.need(
                    before.num_regs == after.num_regs,
                    f"{before.num_regs} registers are read as {after.num_regs}",
                )
            case o.Dot():
                self.dot(op)
            case o.LoadGlobal():
                self.vector(op.plan, op.result, _GLOBAL_LOAD)
                self.threads(op.result, op.mask)
            case o.StoreGlobal():
                self.vector(op.plan, op.src, _GLOBAL_STORE)
                self.threads(op.src, op.mask)
                self.threads(op.src, op.expected if isinstance(op, o.Atomic) else None)
                given = None if op.plan is None else op.plan.instruction
                wanted = "st.global" if op.atomic is None else "red.global"
                if isinstance(op, o.Atomic):
                    self.same(op.src, op.result)
                    wanted = "atom.global"
                self.need(given == wanted, f"{given} for a store by {op.atomic}")
            case o.LoadShared():
                self.vector(op.plan, op.result, _SHARED_LOAD)
            case o.StoreShared():
                self.vector(op.plan, op.src, _SHARED_STORE)
            case o.CopyAsync():
                self.copy(op)
            case o.CopyOut():
                self.tma(op.plan, op.src)
            case (
                o.Structure() | o.Binding() | o.Full() | o.Index()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                return
            case _:
                assert_never(op)

    def equal(self, tile: o.Tile, wanted: Fragment, message: str) -> None:
        self.need(self.layout(tile).same_as(wanted), f"{message}: {tile!r}")

    def threads(self, tile: o.Tile, mask: o.Tile | None) -> None:
        if mask is not None:
            self.same(tile, mask)

    def dot(self, op: o.Dot) -> None:
        layout = self.layout(op.result)
        match op.plan:
            case None:
                self.need(False, "a dot has no plan")
            case p.WgmmaPlan() as plan:
                self.need(isinstance(op.b, SharedView), "wgmma takes B from memory")
                self.need(
                    isinstance(op.a, SharedView) == (plan.a is not None),
                    "the plan and the operand A disagree",
                )
                registers = plan.m_atoms * plan.n_atoms * plan.inst_n // 2
                self.need(
                    layout.num_regs == registers,
                    f"{layout.num_regs} accumulators; the plan has {registers}",
                )
                for operand, atoms in ((plan.a, plan.m_atoms), (plan.b, plan.n_atoms)):
                    if operand is not None:
                        shape = [len(steps) for steps in operand.offsets]
                        self.need(
                            shape == [plan.k_steps] * atoms,
                            f"offsets {shape} for {atoms} atoms, {plan.k_steps} steps",
                        )
            case p.MmaPlan() as plan:
                if not isinstance(op.a, o.Tile) or not isinstance(op.b, o.Tile):
                    self.need(False, f"{plan.instruction} takes registers")
                    return
                a, b = self.layout(op.a), self.layout(op.b)
                for step in plan.steps:
                    self.need(
                        0 <= step.acc < layout.num_regs
                        and 0 <= step.a < a.num_regs
                        and 0 <= step.b < b.num_regs,
                        f"{step} is outside the registers",
                    )
            case _:
                assert_never(op.plan)

    def vector(
        self, plan: p.VectorPlan | None, tile: o.Tile, instructions: tuple[str, ...]
    ) -> None:
        if plan is None:
            self.need(False, "an access has no plan")
            return
        self.need(plan.instruction in instructions, f"{plan.instruction} here")
        self.equal(tile, plan.layout, "the plan is for another layout")
        self.width(plan, tile.dtype.bytes)

    def width(self, plan: p.VectorPlan, itemsize: int) -> None:
        self.need(
            plan.width >= 1 and plan.layout.num_regs % plan.width == 0,
            f"{plan.layout.num_regs} registers in vectors of {plan.width}",
        )
        if "matrix" in plan.instruction:
            self.need(
                itemsize == 2 and plan.width in (2, 4, 8),
                f"{plan.instruction} of {plan.width} elements of {itemsize} bytes",
            )
        else:
            self.need(
                plan.width * itemsize in (1, 2, 4, 8, 16),
                f"one access of {plan.width * itemsize} bytes",
            )

    def copy(self, op: o.CopyAsync) -> None:
        match op.plan:
            case None:
                self.need(False, "a copy has no plan")
            case p.TmaPlan() as plan:
                self.need(op.barrier is not None, "a TMA copy completes on a barrier")
                self.need(
                    plan.multicast == op.multicast,
                    f"multicast {op.multicast}; the plan has {plan.multicast}",
                )
                self.need(not op.src.gathers, "TMA does not gather")
                self.tma(plan, op.dst)
            case p.VectorPlan() as plan:
                self.need(plan.instruction == "cp.async", f"{plan.instruction} here")
                self.need(plan.layout.shape == op.dst.shape, "a plan for another tile")
                self.width(plan, op.dst.dtype.bytes)
            case _:
                assert_never(op.plan)

    def tma(self, plan: p.TmaPlan | None, view: SharedView) -> None:
        if plan is None:
            self.need(False, "a TMA copy has no plan")
            return
        tensor = plan.map.tensor
        self.need(len(plan.map.box) == tensor.rank, "a box of another rank")
        for box in plan.boxes:
            self.need(len(box.coords) == tensor.rank, "a box of another rank")
        layout = view.alloc.layout
        if layout is not None:
            self.need(
                plan.map.swizzle == layout.swizzle,
                f"swizzle {plan.map.swizzle} into {layout.swizzle}",
            )
