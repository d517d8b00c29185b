"""Where elements lie at each memory level: pictures of a placed program's tiles.

    for way in ways(program, sizes):          "A", "B", "C", ...
        for stop in way.stops: ...            global memory, shared memory, registers

A way follows one tensor: the tile in its tensor, the tile in shared memory with the
bank of each element, the tile in registers with the thread of each. One element is
marked all the way. What it draws are the maps of the program's plans, which is what the
printed code computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from argus.ir import ops as o
from argus.ir.expr import Expr, evaluate
from argus.ir.memory import GlobalView, SharedAlloc, SharedView
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, Program
from argus.ir.walk import walk
from argus.model.hardware import H200
from argus.model.scalars import launch_scalars
from argus.targets import Target
from argus.verify.render import svg
from argus.verify.render.picture import ElementGrid, Region, grid_of

MARKED = (5, 19)
"""The element of each tile that is followed; less in tiles that are smaller."""
_MOST_WAYS, _MOST_STOPS = 8, 6
_CELL = 19, 17
"""Two pictures stand side by side on a page of common width."""


@dataclass(frozen=True)
class TilePicture:
    """One picture. ``how``: what brings the tile here, in a few words."""

    level: str
    title: str
    caption: str
    how: str
    drawing: str
    key: object = None


@dataclass
class Way:
    """The pictures of one tensor, or of an accumulator, in the order of the data."""

    name: str
    stops: list[TilePicture] = field(default_factory=list[TilePicture])
    multiplied: bool = False
    """Whether matrix instructions read it from shared memory."""

    @property
    def levels(self) -> str:
        """Where it goes: "global memory → shared memory → tensor cores"."""
        found = [*dict.fromkeys(s.level for s in self.stops)]
        return " → ".join([*found, *(["tensor cores"] if self.multiplied else [])])

    def add(self, stop: TilePicture | None) -> None:
        """A further stop, unless the same picture is there already."""
        if stop is None or len(self.stops) >= _MOST_STOPS:
            return
        if stop.key not in [s.key for s in self.stops]:
            self.stops.append(stop)


def ways(program: Program, arguments: Mapping[str, int | float]) -> list[Way]:
    """The ways of a placed program's tensors and accumulators, in program order.

    ``arguments``: sizes by dimension name, and scalars.
    """
    env = _values(program, arguments)
    found: dict[str, Way] = {}
    holders = _tensors_of(program)

    def way(name: str) -> Way:
        return found.setdefault(name, Way(name))

    def tile(value: o.Tile | SharedView, how: str) -> TilePicture | None:
        return _tile(value, how, program.target)

    for op in walk(program.body):
        match op:
            case o.CopyAsync(src=src, dst=dst):
                how = "TMA" if op.via == "tma" else "cp.async"
                way(src.tensor.name).add(_global(src, env, "read"))
                way(src.tensor.name).add(tile(dst, how))
            case o.LoadGlobal(view=view, result=result):
                way(view.tensor.name).add(_global(view, env, "read"))
                how = op.plan.instruction if op.plan else "ld.global"
                way(view.tensor.name).add(tile(result, how))
            case o.LoadShared(view=view, result=result):
                how = op.plan.instruction if op.plan else "ld.shared"
                name = holders.get(id(view.alloc))
                if name is not None:
                    way(name).add(tile(result, how))
            case o.StoreShared(view=view, src=stored):
                how = op.plan.instruction if op.plan else "st.shared"
                name = holders.get(id(view.alloc))
                if name is not None:
                    way(name).add(tile(stored, "as computed"))
                    way(name).add(tile(view, how))
            case o.Dot():
                for operand in (op.a, op.b):
                    if isinstance(operand, SharedView) and id(operand.alloc) in holders:
                        way(holders[id(operand.alloc)]).multiplied = True
                way("accumulators").add(tile(op.result, _instruction(op)))
            case o.CopyOut(src=src, dst=dst):
                way(dst.tensor.name).add(tile(src, "stored before"))
                way(dst.tensor.name).add(_global(dst, env, "TMA writes"))
            case o.StoreGlobal(view=view, src=stored):
                how = op.plan.instruction if op.plan else "st.global"
                way(view.tensor.name).add(tile(stored, "as computed"))
                way(view.tensor.name).add(_global(view, env, how))
            case _:
                pass
    return [w for w in found.values() if w.stops][:_MOST_WAYS]


def _instruction(op: o.Dot) -> str:
    return op.plan.instruction.removeprefix("argus_") if op.plan else "product"


def _tensors_of(program: Program) -> dict[int, str]:
    """Tensors whose tiles a shared buffer holds, by the buffer."""
    found: dict[int, str] = {}
    for op in walk(program.body):
        match op:
            case o.CopyAsync(src=src, dst=dst):
                found.setdefault(id(dst.alloc), src.tensor.name)
            case o.CopyOut(src=src, dst=dst):
                found.setdefault(id(src.alloc), dst.tensor.name)
            case _:
                pass
    return found


# ------------------------------------------------------------------------- pictures


def _element(shape: tuple[int, ...]) -> tuple[int, ...]:
    wanted = (0,) * len(shape) + MARKED
    return tuple(
        min(w, n - 1) for w, n in zip(wanted[-len(shape) :], shape, strict=True)
    )


def _tile(value: o.Tile | SharedView, how: str, target: Target) -> TilePicture | None:
    """A tile in shared memory or in registers; None where it has no shape to draw."""
    if not value.shape:
        return None
    grid = grid_of(value, _element(value.shape), target)
    if grid is None:
        return None
    shown = "×".join(map(str, value.shape))
    if isinstance(value, SharedView):
        layout = value.alloc.layout
        swizzle = layout.swizzle if layout else 0
        turned = f"swizzle {swizzle}" if swizzle else "no swizzle"
        caption = f"{shown} {value.dtype}, {turned}; {_said(grid)}"
        return TilePicture(
            "shared memory", _holder(value.alloc), caption, how, svg.grid(grid, _CELL),
            (id(value.alloc), value.shape),
        )  # fmt: skip
    count = value.layout.num_threads if value.layout else 0
    each = value.layout.num_regs if value.layout else 0
    name = "a tile" if value.name == "t" else value.name
    title = f"{name} in registers"
    caption = (
        f"{shown} {value.dtype} over {count} threads, {each} elements each; "
        f"{_said(grid)}"
    )
    return TilePicture(
        "registers", title, caption, how, svg.grid(grid, _CELL), value.layout
    )


def _holder(alloc: SharedAlloc) -> str:
    slots = f", {alloc.stages} slots" if alloc.stages > 1 else ""
    return f"{alloc.name} in shared memory{slots}"


def _said(grid: ElementGrid) -> str:
    """Of the marked element, and what colours mean."""
    r, c = grid.marked[0] - grid.row, grid.marked[1] - grid.column
    value, place = int(grid.cells[r, c]), int(grid.places[r, c])
    if grid.kind == "bank":
        return (
            "coloured and numbered by bank. The marked element is byte "
            f"{place}, in bank {value}."
        )
    warp, lane = divmod(value, grid.lanes)
    return (
        "coloured and numbered by thread. The marked element is in thread "
        f"{value} (warp {warp}, lane {lane}), register {place}."
    )


def _global(view: GlobalView, env: Mapping[str, Any], how: str) -> TilePicture | None:
    """The tile in its tensor, at the block and the iteration of ``env``."""
    tensor = view.tensor
    at, extents = _origin(view, env)
    if at is None or not view.shape:
        return None
    # The last two dimensions that the tile moves along; tiles may have fewer.
    axes = list(range(tensor.rank))[-2:]
    size = [_extent_along(view, d) for d in axes]
    marked = [
        min(a + min(m, n - 1), e - 1)
        for a, m, n, e in zip(
            (at[d] for d in axes), MARKED[-len(axes) :], size,
            (extents[d] for d in axes), strict=True,
        )
    ]  # fmt: skip
    two = len(axes) == 2
    names = [tensor.dims[d] for d in axes]
    where = ", ".join(
        f"{name} {at[d]} to {at[d] + n - 1}"
        for name, d, n in zip(names, axes, size, strict=True)
    )
    region = Region(
        f"{tensor.name} in global memory",
        f"a tile of one block: {where}",
        (extents[axes[0]], extents[axes[1]]) if two else (1, extents[axes[0]]),
        (at[axes[0]], at[axes[1]]) if two else (0, at[axes[0]]),
        (size[0], size[1]) if two else (1, size[0]),
        (marked[0], marked[1]) if two else (0, marked[0]),
        (names[0], names[1]) if two else ("", names[0]),
    )
    return TilePicture(
        "global memory", region.title, f"{region.caption}.", how, svg.region(region),
        ("global", tensor.name),
    )  # fmt: skip


def _extent_along(view: GlobalView, dimension: int) -> int:
    """Elements of a tile along a dimension of its tensor; 1 where it does not move."""
    name = view.tensor.dims[dimension]
    return view.shape[view.dims.index(name)] if name in view.dims else 1


def _origin(
    view: GlobalView, env: Mapping[str, Any]
) -> tuple[list[int] | None, list[int]]:
    """First coordinates of a tile, and extents of its tensor; None if not known."""
    zeros: dict[str, Any] = {f"%{i}": 0 for i in range(len(view.shape))}
    zeros |= {g.symbol.name: 0 for g in view.gathers}
    values = {**env, **zeros}
    extents = [_value(e, values) for e in view.tensor.shape]
    at = [_value(e, values) for e in view.coords]
    known = all(x is not None for x in (*extents, *at))
    return ([x or 0 for x in at] if known else None), [x or 1 for x in extents]


def _value(e: Expr, env: Mapping[str, Any]) -> int | None:
    try:
        return int(evaluate(e, env))
    except KeyError:  # depends on something that only a launch knows
        return None


def _values(
    program: Program, arguments: Mapping[str, int | float]
) -> dict[str, int | float]:
    """Scalars of a block in the middle of the grid, at its first iterations."""
    env = launch_scalars(program, arguments, H200.multiprocessors)
    env[BLOCK_INDEX.name] = int(env[GRID_SIZE.name]) // 3
    env[CLUSTER_RANK.name] = env[BLOCK_INDEX.name] % program.cluster
    _fill(program.body.ops, env)
    return env


def _fill(ops: Iterable[o.AnyOp], env: dict[str, Any]) -> None:
    for op in ops:
        match op:
            case o.For():
                _set(env, op.var.name, op.start)
                for c in op.scalars:
                    _set(env, c.arg.name, c.init)
                _fill(op.body.ops, env)
                for c in op.scalars:
                    _set(env, c.result.name, c.yielded)
            case o.If():
                _fill(op.then.ops, env)
                _fill(op.other.ops, env)
                for m in op.scalars:
                    _set(env, m.result.name, m.then)
            case o.Roles():
                for role in op.roles:
                    _fill(role.body.ops, env)
            case o.Let():
                _set(env, op.sym.name, op.value)
            case o.LoadScalar():
                env[op.sym.name] = 0  # what a table holds is not known
            case _:
                pass


def _set(env: dict[str, Any], name: str, value: Expr) -> None:
    found = _value(value, env)
    if found is not None:
        env[name] = found
