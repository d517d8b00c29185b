"""Pieces of placed programs: tiles, views, shared buffers, and a builder."""

from __future__ import annotations

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.dtypes import DType, i32
from argus.ir.expr import Const, Expr, Sym
from argus.ir.memory import (
    GlobalTensor,
    GlobalView,
    SharedAlloc,
)
from argus.ir.placement import (
    VectorPlan,
)
from argus.ir.program import Program, ScalarParam
from argus.layout import (
    Fragment,
)
from argus.targets import TARGETS
from pieces import FILE, at, tile


class Build:
    """Appends operations on tiles; each on a source line of its own."""

    def __init__(self, name: str, warps: int = 4, target: str = "sm_90a") -> None:
        self.name = name
        self.warps = warps
        self.target = TARGETS[target]
        self.ops: list[o.AnyOp] = []
        self.line = 1
        self.shared: list[SharedAlloc] = []

    def add(self, op: o.AnyOp) -> None:
        self.ops.append(op)

    def here(self) -> Span:
        self.line += 1
        return at(self.line)

    def full(self, name: str, dtype: DType, layout: Fragment, value: float) -> o.Tile:
        t = tile(name, dtype, layout, "")
        self.add(o.Full(result=t, value=Const(value), span=self.here()))
        return t

    def load(
        self,
        name: str,
        view: GlobalView,
        layout: Fragment,
        width: int,
        fill: Expr | None = None,
        mask: o.Tile | None = None,
    ) -> o.Tile:
        t = o.Tile(view.dtype, view.shape, view.dims, self.here(), name, layout=layout)
        plan = VectorPlan(layout, width, "ld.global")
        op = o.LoadGlobal(result=t, view=view, mask=mask, plan=plan, span=t.span)
        if fill is not None:
            op.fill = fill
        self.add(op)
        return t

    def store(
        self,
        view: GlobalView,
        src: o.Tile,
        width: int,
        mask: o.Tile | None = None,
        atomic: str | None = None,
    ) -> None:
        assert src.layout is not None
        plan = VectorPlan(src.layout, width, "st.global", src.layout.replication > 1)
        self.add(
            o.StoreGlobal(
                view=view,
                src=src,
                mask=mask,
                atomic=atomic,
                plan=plan,
                span=self.here(),
            )
        )

    def apply(
        self, name: str, fn: str, *args: o.Tile | Expr, dtype: DType | None = None
    ) -> o.Tile:
        like = next(a for a in args if isinstance(a, o.Tile))
        assert like.layout is not None
        t = o.Tile(
            dtype or like.dtype,
            like.shape,
            like.dims,
            self.here(),
            name,
            layout=like.layout,
        )
        self.add(o.Elementwise(result=t, fn=fn, args=args, span=t.span))
        return t

    def cast(self, name: str, src: o.Tile, dtype: DType) -> o.Tile:
        t = o.Tile(dtype, src.shape, src.dims, self.here(), name, layout=src.layout)
        self.add(o.Cast(result=t, src=src, span=t.span))
        return t

    def index(self, name: str, like: o.Tile, along: int) -> o.Tile:
        t = o.Tile(i32, like.shape, like.dims, self.here(), name, layout=like.layout)
        self.add(o.Index(result=t, axis=along, span=t.span))
        return t

    def reduce(
        self, name: str, fn: str, src: o.Tile, along: int, dtype: DType | None = None
    ) -> o.Tile:
        assert src.layout is not None
        layout = src.layout.slice(along)
        dims = src.dims[:along] + src.dims[along + 1 :]
        t = o.Tile(
            dtype or src.dtype, layout.shape, dims, self.here(), name, layout=layout
        )
        self.add(o.Reduce(result=t, src=src, axis=along, fn=fn, span=t.span))
        return t

    def broadcast(
        self, name: str, src: o.Tile, like: o.Tile, axes: tuple[int, ...]
    ) -> o.Tile:
        t = o.Tile(
            src.dtype, like.shape, like.dims, self.here(), name, layout=like.layout
        )
        self.add(o.Broadcast(result=t, src=src, axes=axes, span=t.span))
        return t

    def program(
        self,
        params: list[GlobalTensor | ScalarParam],
        outputs: list[str],
        grid: Expr,
        shared_bytes: int = 0,
    ) -> Program:
        return Program(
            name=self.name,
            file=FILE,
            target=self.target,
            params=params,
            statics={},
            body=o.Block(self.ops),
            span=at(1),
            grid=grid,
            warps=self.warps,
            shared=self.shared,
            outputs=outputs,
            placed=True,
            shared_bytes=shared_bytes,
        )


BLOCK = Sym("block_x", "block")
