"""Pieces of programs made by hand: spans, tensors, views, shared buffers, tiles.

What several folders of tests build their programs from. Nothing here is placed or
checked.
"""

from __future__ import annotations

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.combine import Combination
from argus.ir.dtypes import DType, f32
from argus.ir.expr import Const, Expr, Sym, axis, lift
from argus.ir.memory import GlobalTensor, GlobalView, SharedAlloc, SharedView
from argus.ir.program import stride_symbol
from argus.layout import Fragment
from argus.layout.shared import panels

FILE = "kernel.py"


def at(line: int, file: str = FILE) -> Span:
    """The first character of a line."""
    return Span(file, line, 1, line, 2)


def tensor(name: str, dtype: DType = f32, dims: str = "M N") -> GlobalTensor:
    """A tensor with named or constant extents; strides are known at run time, but the
    last, which is 1.
    """
    names = tuple(dims.split())
    shape: list[Expr] = [Const(int(d)) if d.isdigit() else Sym(d, "dim") for d in names]
    strides: list[Expr] = [stride_symbol(name, i) for i in range(len(names) - 1)]
    return GlobalTensor(name, dtype, names, tuple(shape), (*strides, Const(1)))


def window(t: GlobalTensor, shape: tuple[int, ...], *starts: Expr | int) -> GlobalView:
    """The part of a tensor that begins at ``starts``."""
    coords = tuple(lift(start) + axis(i) for i, start in enumerate(starts))
    return GlobalView(t, shape, t.dims, coords)


def shared(
    name: str,
    dtype: DType,
    shape: tuple[int, ...],
    offset: int = 0,
    stages: int = 1,
    swizzle: int = 0,
) -> SharedAlloc:
    """A shared buffer that has its place: panels with a swizzle of so many bytes."""
    layout = panels(shape, dtype.bytes, swizzle)
    return SharedAlloc(
        name,
        dtype,
        shape,
        (None,) * len(shape),
        stages,
        at(1),
        swizzle=swizzle,
        layout=layout,
        offset=offset,
        alignment=max(layout.alignment, 128),
    )


def whole(alloc: SharedAlloc, stage: Expr | int = 0) -> SharedView:
    """All of one stage of a buffer."""
    rank = len(alloc.shape)
    zero = (Const(0),) * rank
    axes = tuple(range(rank))
    return SharedView(alloc, lift(stage), zero, axes, alloc.shape, alloc.dims)


def tile(
    name: str,
    dtype: DType,
    layout: Fragment,
    dims: str = "",
    storage: int | None = None,
) -> o.Tile:
    """A register tile that has its layout; ``dims`` names all dimensions or none."""
    names = tuple(dims.split()) if dims else (None,) * layout.rank
    return o.Tile(
        dtype, layout.shape, names, at(1), name, layout=layout, storage=storage
    )


def prefix_sum(result: o.Tile, src: o.Tile, span: Span) -> o.Scan:
    """The sums along axis 1."""
    add = Combination.of("add", src.dtype)
    return o.Scan(result, (src,), 1, add, 0, span=span)
