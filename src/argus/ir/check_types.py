"""Shapes and element types of operations: a part of `check.py`.

One rule for each operation, and for the views and barriers that it names. What is in
scope is not checked here; nor are layouts (`check_layouts.py`), but for those of tiles
that must lie in the same registers.
"""

from __future__ import annotations

from typing import assert_never

from argus.ir import memory as m
from argus.ir import ops as o
from argus.ir.check_layouts import Need, check_layouts, check_same_layout
from argus.ir.dtypes import boolean, i32
from argus.ir.expr import symbols
from argus.ir.functions import FUNCTIONS
from argus.ir.numerics import accumulated, arithmetic
from argus.ir.program import Program
from argus.ir.walk import used

__all__ = ["Types"]


class Types:
    """The rules of one program. ``need`` raises when its condition does not hold."""

    def __init__(self, program: Program, need: Need) -> None:
        self.program = program
        self.placed = program.placed
        self.need = need

    def rule(self, op: o.AnyOp) -> None:
        """Shapes and types of one operation; where placed, its layouts and plan."""
        match op:
            case o.Index():
                self.need(0 <= op.axis < len(op.result.shape), "no such axis")
                self.need(op.result.dtype == i32, "an index is i32")
            case o.Elementwise():
                function = FUNCTIONS.get(op.fn)
                if function is None:
                    self.need(False, f"no function {op.fn}")
                    return
                self.need(function.arity == len(op.args), f"{op.fn} has other operands")
                for arg in used(op):
                    self.need(
                        arg.shape == op.result.shape, f"{arg!r} has another shape"
                    )
                if function.result == "bool":
                    self.need(op.result.dtype == boolean, f"{op.fn} gives bool")
            case o.Cast():
                self.need(op.src.shape == op.result.shape, "a cast keeps the shape")
            case o.Moving():
                fault = op.fault()
                self.need(fault is None, f"{fault}")
                for source in op.sources:
                    self.same(op.sources[0], source)
                    self.need(source.dtype == op.result.dtype, "types differ")
            case o.Reduce():
                shape = op.src.shape
                self.need(0 <= op.axis < len(shape), "no such axis")
                rest = shape[: op.axis] + shape[op.axis + 1 :]
                self.need(rest == op.result.shape, f"reducing leaves {rest}")
                known = ("sum", "max", "min", "prod", "argmax", "argmin")
                self.need(op.fn in known, f"no reduction {op.fn}")
                given = op.src.dtype
                if op.fn.startswith("arg") or not given.is_float:
                    given = accumulated(op.fn, given)
                self.need(op.result.dtype == given, f"{op.fn} gives {given}")
            case o.Combining():
                self.combining(op)
            case o.Sort():
                shape, given = op.src.shape, op.src.dtype
                self.need(0 <= op.axis < len(shape), "no such axis")
                extent = shape[op.axis]
                self.need(extent & (extent - 1) == 0, f"{extent} is no power of two")
                wide = given == arithmetic(given) and given.kind != "bool"
                self.need(wide, "elements are sorted in the types that are computed in")
                made = (shape, i32 if op.indices else given)
                self.need(
                    made == (op.result.shape, op.result.dtype), f"it gives {made}"
                )
            case o.Reinterpret():
                self.need(op.src.dtype == op.result.dtype, "the type stays")
            case o.Dot():
                self.dot(op)
            case o.LoadGlobal():
                self.view(op.view)
                self.transfer(op.view, op.result)
                self.mask(op.mask, op.view)
            case o.StoreGlobal():
                self.view(op.view)
                self.transfer(op.view, op.src)
                self.mask(op.mask, op.view)
            case o.LoadShared():
                self.shared(op.view)
                self.transfer(op.view, op.result)
            case o.StoreShared():
                self.shared(op.view)
                self.transfer(op.view, op.src)
            case o.CopyAsync():
                self.view(op.src)
                self.shared(op.dst)
                self.pair(op.src, op.dst)
                if op.barrier is not None:
                    self.barrier(op.barrier)
            case o.CopyOut():
                self.view(op.dst)
                self.shared(op.src)
                self.pair(op.dst, op.src)
            case o.BarrierOp():
                self.barrier(op.barrier)
            case o.RingOp():
                self.need(op.ring in self.program.rings, f"no ring {op.ring.name}")
                self.need(not self.placed, "a ring operation in a placed program")
            case o.Sync():
                lanes = self.program.target.warp_threads
                if self.placed:
                    number = -1 if op.barrier is None else op.barrier
                    self.need(number >= 0, f"named barrier {op.barrier}")
                self.need(
                    op.threads > 0 and op.threads % lanes == 0,
                    f"a sync of {op.threads} threads",
                )
            case o.GroupWait():
                self.need(op.pending >= 0, "a wait for less than nothing")
            case o.LoadScalar():
                self.need(len(op.coords) == op.tensor.rank, "coordinates are missing")
                self.tensor(op.tensor)
            case o.Extract():
                self.need(op.src.shape == (), f"{op.src!r} has more than one element")
            case (
                o.Structure() | o.Let() | o.Full() | o.Commit() | o.ClusterSync()
                | o.Fence() | o.SetMaxRegisters() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)
        if self.placed:
            check_layouts(op, self.need)

    def same(self, left: o.Tile, right: o.Tile) -> None:
        """Same shape and type, and where placed the same registers."""
        self.need(
            (left.shape, left.dtype) == (right.shape, right.dtype),
            f"{left!r} and {right!r} differ in shape or type",
        )
        if self.placed:
            check_same_layout(left, right, self.need)

    def distinct(self, axes: tuple[int, ...], rank: int, count: int) -> None:
        """Different axes of a tile with ``rank`` of them."""
        self.need(
            len(axes) == count
            and len(set(axes)) == count
            and all(0 <= axis < rank for axis in axes),
            f"axes {axes} of {rank}",
        )

    def combining(self, op: o.Combining) -> None:
        """Sources, function and result of a scan or a fold."""
        self.need(0 <= op.part < len(op.srcs), f"no part {op.part}")
        source = op.srcs[op.part]
        shape = source.shape
        self.need(0 <= op.axis < len(shape), "no such axis")
        self.need(all(x.shape == shape for x in op.srcs), "sources differ in shape")
        if isinstance(op, o.ScanTotal):
            shape = shape[: op.axis] + shape[op.axis + 1 :]
        self.need(
            (shape, source.dtype) == (op.result.shape, op.result.dtype),
            f"it gives {source.dtype} {shape}",
        )
        types = [x.dtype for x in op.srcs]
        wide = all(x == arithmetic(x) and x.kind != "bool" for x in types)
        self.need(wide, "elements are combined in the types that are computed in")
        fault = op.combine.fault(types)
        self.need(fault is None, f"{op.combine}: {fault}")

    def dot(self, op: o.Dot) -> None:
        """Operands and accumulator of a matrix product."""
        for operand in (op.a, op.b):
            if isinstance(operand, m.SharedView):
                self.shared(operand)
        a, b, d = op.a.shape, op.b.shape, op.result.shape
        self.need(
            len(b) == 2 and len(a) == len(d) >= 2 and a[-1] == b[0] and b[1] == d[-1],
            f"{a} @ {b} is not {d}",
        )
        self.need(a[:-1] == d[:-1], f"{a} @ {b} is not {d}")
        self.need(op.a.dtype == op.b.dtype, f"{op.a.dtype} times {op.b.dtype}")
        if op.acc is not None:
            self.same(op.acc, op.result)

    def tensor(self, tensor: m.GlobalTensor) -> None:
        """A parameter of the program."""
        self.need(tensor in self.program.params, f"{tensor.name} is no parameter")

    def view(self, view: m.GlobalView) -> None:
        """A view of a global tensor."""
        self.tensor(view.tensor)
        rank = len(view.shape)
        self.need(len(view.coords) == view.tensor.rank, "coordinates are missing")
        self.need(len(view.dims) == rank, f"dims {view.dims} of {view.shape}")
        axes = {f"%{i}" for i in range(rank)}
        for e in (*view.coords, *(x.value for x in view.limits)):
            for sym in symbols(e):
                if sym.kind == "axis":
                    self.need(sym.name in axes, f"{sym} of a view with {rank} axes")
        for gather in view.gathers:
            fits = 0 <= gather.axis < rank
            self.need(
                fits
                and gather.tile.shape == (view.shape[gather.axis],)
                and gather.tile.dtype.kind == "int",
                f"{gather.tile!r} does not index axis {gather.axis}",
            )

    def shared(self, view: m.SharedView) -> None:
        """A view of a shared buffer."""
        alloc = view.alloc
        rank = len(alloc.shape)
        self.need(alloc in self.allocations(), f"no shared buffer {alloc.name}")
        self.need(
            len(view.origin) == rank and len(view.dims) == len(view.shape),
            f"a view of {alloc.name} with origin {view.origin}, dims {view.dims}",
        )
        self.distinct(view.axes, rank, len(view.shape))
        for axis, extent in zip(view.axes, view.shape, strict=True):
            self.need(
                1 <= extent <= alloc.shape[axis],
                f"a view {view.shape} of {alloc.name} {alloc.shape}",
            )

    def allocations(self) -> list[m.SharedAlloc]:
        """Shared buffers: those of rings belong to the ring until placed."""
        fields = [a for ring in self.program.rings for a in ring.fields.values()]
        return self.program.shared if self.placed else [*self.program.shared, *fields]

    def barrier(self, ref: m.BarrierRef) -> None:
        """A barrier of the program."""
        self.need(ref.alloc in self.program.barriers, f"no barrier {ref.alloc.name}")

    def transfer(self, view: m.GlobalView | m.SharedView, tile: o.Tile) -> None:
        """A tile that goes to or comes from a view."""
        self.need(
            (view.shape, view.dtype) == (tile.shape, tile.dtype),
            f"{tile!r} for a view of {view.dtype} {view.shape}",
        )

    def pair(self, outer: m.GlobalView, inner: m.SharedView) -> None:
        """Both ends of a copy."""
        self.need(
            (outer.shape, outer.dtype) == (inner.shape, inner.dtype),
            f"a copy between {outer.dtype} {outer.shape} and"
            f" {inner.dtype} {inner.shape}",
        )

    def mask(self, mask: o.Tile | None, view: m.GlobalView) -> None:
        """A mask fits its view."""
        if mask is not None:
            self.need(
                (mask.shape, mask.dtype) == (view.shape, boolean),
                f"{mask!r} is no mask for {view.shape}",
            )
