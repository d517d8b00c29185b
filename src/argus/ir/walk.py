"""Generic questions about operations: what they read, define and contain."""

from collections.abc import Iterator

from argus.ir import ops as o
from argus.ir.expr import Expr


def blocks(op: o.AnyOp) -> tuple[o.Block, ...]:
    """Nested blocks of a structural operation, in order."""
    match op:
        case o.For():
            return (op.body,)
        case o.If():
            return (op.then, op.other)
        case o.Roles():
            return tuple(r.body for r in op.roles)
        case _:
            return ()


def walk(block: o.Block) -> Iterator[o.AnyOp]:
    """Every operation, outer before inner, in program order."""
    for op in block.ops:
        yield op
        for inner in blocks(op):
            yield from walk(inner)


def defined(op: o.AnyOp) -> tuple[o.Tile, ...]:
    """Tiles that ``op`` defines in its own block (loop results, not loop arguments)."""
    match op:
        case o.For() | o.If():
            return tuple(c.result for c in op.tiles)
        case (
            o.Full() | o.Index() | o.Elementwise() | o.Cast() | o.Broadcast()
            | o.Transpose() | o.Reduce() | o.Split() | o.Slice() | o.Scan()
            | o.Reinterpret() | o.Convert() | o.Dot() | o.LoadGlobal() | o.LoadShared()
        ):  # fmt: skip
            return (op.result,)
        case _:
            return ()


def used(op: o.AnyOp) -> tuple[o.Tile, ...]:
    """Tiles that ``op`` itself reads (not those its nested blocks read).

    For loops and branches: initial values, yielded values and branch results.
    """
    match op:
        case o.For():
            return tuple(t for c in op.tiles for t in (c.init, c.yielded))
        case o.If():
            return tuple(t for m in op.tiles for t in (m.then, m.other))
        case o.Elementwise():
            return tuple(a for a in op.args if isinstance(a, o.Tile))
        case (
            o.Cast() | o.Broadcast() | o.Transpose() | o.Reduce() | o.Split()
            | o.Slice() | o.Scan() | o.Reinterpret() | o.Convert() | o.StoreShared()
        ):  # fmt: skip
            return (op.src,)
        case o.Dot():
            return tuple(x for x in (op.a, op.b, op.acc) if isinstance(x, o.Tile))
        case o.LoadGlobal():
            gathers = tuple(g.tile for g in op.view.gathers)
            return gathers + ((op.mask,) if op.mask else ())
        case o.StoreGlobal():
            gathers = tuple(g.tile for g in op.view.gathers)
            return (op.src, *gathers) + ((op.mask,) if op.mask else ())
        case o.CopyAsync():
            return tuple(g.tile for g in op.src.gathers)
        case o.CopyOut():
            return tuple(g.tile for g in op.dst.gathers)
        case _:
            return ()


def expressions(op: o.AnyOp) -> tuple[Expr, ...]:
    """Scalar expressions of ``op`` itself (plans excluded)."""

    def shared(v: o.SharedView) -> tuple[Expr, ...]:
        return (v.stage, *v.origin)

    def view(v: o.GlobalView) -> tuple[Expr, ...]:
        return (*v.coords, *(e for li in v.limits for e in (li.value, li.extent)))

    match op:
        case o.For():
            carried = tuple(e for c in op.scalars for e in (c.init, c.yielded))
            return (op.start, op.stop, op.step, *carried)
        case o.If():
            return (op.cond, *(e for m in op.scalars for e in (m.then, m.other)))
        case o.Let():
            return (op.value,)
        case o.LoadScalar():
            return op.coords
        case o.Full():
            return (op.value,)
        case o.Elementwise():
            return tuple(a for a in op.args if isinstance(a, Expr))
        case o.Dot():
            views = (x for x in (op.a, op.b) if isinstance(x, o.SharedView))
            return tuple(e for v in views for e in shared(v))
        case o.LoadGlobal():
            return (*view(op.view), op.fill)
        case o.StoreGlobal():
            return view(op.view)
        case o.LoadShared() | o.StoreShared():
            return shared(op.view)
        case o.CopyAsync():
            ref = (op.barrier.index,) if op.barrier else ()
            return (*shared(op.dst), *view(op.src), *ref)
        case o.CopyOut():
            return (*shared(op.src), *view(op.dst))
        case o.CpAsyncArrive() | o.BarrierArrive():
            return (op.barrier.index,)
        case o.BarrierExpect():
            return (op.barrier.index, op.bytes)
        case o.BarrierWait():
            return (op.barrier.index, op.n)
        case o.RingAcquire() | o.RingPublish() | o.RingWait() | o.RingRelease():
            return (op.n,)
        case _:
            return ()
