"""Blocks, loops, branches and roles; dispatch to the other printers."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from argus.codegen import (
    matrix,
    memory,
    printing,
    reduce,
    scan,
    shared,
    sort,
    stores,
    sync,
    tiles,
)
from argus.codegen.code import binary, call, converted, item, name
from argus.codegen.context import Emission, EmissionGroup, in_group
from argus.codegen.errors import CodegenError
from argus.codegen.registers import copy, decoded, parallel_copy
from argus.diagnostics import source_text
from argus.ir import ops as o
from argus.ir.expr import Const, Expr, Sym, symbols
from argus.ir.ranges import I32, I64
from argus.isa.registers import WARPGROUP


def block(cx: Emission, body: o.Block) -> None:
    """Every operation in order; runs of one-thread operations share one branch."""
    index = 0
    while index < len(body.ops):
        op = body.ops[index]
        end = index + 1
        both = tiles.together(cx, op, body.ops[end]) if end < len(body.ops) else None
        _declare(cx, body, index, None if both is None else tiles.between(op))
        if sync.is_elected(op):
            while end < len(body.ops) and sync.is_elected(body.ops[end]):
                end += 1
            _marker(cx, op)
            with cx.out.block(f"if ({sync.elected(cx)})"):
                for one in body.ops[index:end]:
                    _marker(cx, one)
                    _one(cx, one)
        elif isinstance(op, o.Sort):
            while end < len(body.ops) and sort.alike(op, body.ops[end]):
                _declare(cx, body, end)
                end += 1
            _marker(cx, op)
            sort.sort(cx, [x for x in body.ops[index:end] if isinstance(x, o.Sort)])
        elif isinstance(op, o.Combining):
            while end < len(body.ops) and scan.alike(op, body.ops[end]):
                _declare(cx, body, end)
                end += 1
            _marker(cx, op)
            parts = body.ops[index:end]
            scan.combine(cx, [x for x in parts if isinstance(x, o.Combining)])
        elif both is not None:
            _declare(cx, body, end)
            _marker(cx, op)
            both()
            end += 1
        else:
            _marker(cx, op)
            _one(cx, op)
        index = end


def _declare(
    cx: Emission, body: o.Block, index: int, never: o.Tile | None = None
) -> None:
    """Arrays that begin here, but that of a tile that is never made."""
    arrays = cx.storage.declared.get((id(body), index), [])
    if never is not None and cx.storage.alone(never):
        arrays = [array for array in arrays if array is not cx.array(never)]
    if arrays:
        _marker(cx, body.ops[index])
    for array in arrays:
        cx.out.line(array.declaration)


def _marker(cx: Emission, op: o.AnyOp) -> None:
    """A comment with the source line, where it changes."""
    span = op.span
    if span.file.startswith("<") or (span.file, span.line) == cx.last_line:
        return
    cx.last_line = (span.file, span.line)
    source = source_text(span.file)
    line = source.line(span.line) if source is not None else None
    where = f"{Path(span.file).name}:{span.line}"
    cx.out.blank()
    cx.out.comment(f"{where}: {line}" if line else where)


def _one(cx: Emission, op: o.AnyOp) -> None:
    if op.note is not None:
        cx.out.comment(op.note)
    match op:
        case o.For():
            _for(cx, op)
        case o.If():
            _if(cx, op)
        case o.Roles():
            roles(cx, op)
        case o.Let():
            value = cx.value_of(op.sym, op.value)
            cx.out.line(f"const {cx.bind_scalar(op.sym)} = {value.bare};")
        case o.LoadScalar():
            _load_scalar(cx, op)
        case o.Extract():
            tiles.extract(cx, op)
        case o.Full():
            tiles.full(cx, op)
        case o.Index():
            tiles.index(cx, op)
        case o.Elementwise():
            tiles.elementwise(cx, op)
        case o.Cast():
            tiles.cast(cx, op)
        case o.Moving():
            tiles.move(cx, op)
        case o.Reinterpret():
            tiles.reinterpret(cx, op)
        case o.Reduce():
            reduce.reduce(cx, op)
        case o.Scan() | o.ScanTotal():
            scan.combine(cx, [op])
        case o.Sort():
            sort.sort(cx, [op])
        case o.Dot():
            matrix.dot(cx, op)
        case o.LoadGlobal():
            memory.load_global(cx, op)
        case o.StoreGlobal():
            stores.store_global(cx, op)
        case o.LoadShared():
            shared.load_shared(cx, op)
        case o.StoreShared():
            shared.store_shared(cx, op)
        case o.CopyAsync():
            sync.copy_async(cx, op)
        case o.CopyOut():
            sync.copy_out(cx, op)
        case o.CopyOutCommit():
            cx.out.line("argus_tma_store_commit();")
        case o.CopyOutWait():
            sync.copy_out_wait(cx, op)
        case o.CpAsyncCommit():
            cx.out.line("argus_cp_async_commit();")
        case o.CpAsyncWait():
            cx.out.line(f"argus_cp_async_wait<{op.pending}>();")
        case o.CpAsyncArrive():
            address = sync.barrier_address(cx, op.barrier)
            cx.out.line(f"argus_cp_async_arrive({address.bare});")
        case o.BarrierExpect():
            sync.barrier_expect(cx, op)
        case o.BarrierArrive():
            sync.barrier_arrive(cx, op)
        case o.BarrierWait():
            sync.barrier_wait(cx, op)
        case o.Sync():
            sync.sync(cx, op)
        case o.ClusterSync():
            cx.out.line("argus_cluster_arrive();")
            cx.out.line("argus_cluster_wait();")
        case o.Fence():
            sync.fence(cx, op)
        case o.WgmmaCommit():
            cx.out.line("argus_wgmma_commit();")
        case o.WgmmaWait():
            matrix.wgmma_wait(cx, op)
        case o.SetMaxRegisters():
            sync.set_max_registers(cx, op)
        case o.RingOp():
            raise CodegenError(f"{type(op).__name__} is left in a placed program")
        case o.Print():
            printing.print_values(cx, op)
        case o.Annotation():
            raise CodegenError("annotations are dropped before anything is printed")
        case _:
            assert_never(op)


# ---------------------------------------------------------------------- scalars


def _load_scalar(cx: Emission, op: o.LoadScalar) -> None:
    tensor = op.tensor
    cx.pointers[tensor.name] = None
    offset: Expr = Const(0)
    for coord, stride in zip(op.coords, tensor.strides, strict=True):
        wide = coord
        if stride != Const(1) and cx.ctype(coord) == cx.ctype(stride) == "int":
            wide = cx.opaque(converted("long long", cx.code(coord)), "long long")
        offset = offset + wide * stride
    value = item(cx.tensors[tensor.name], cx.code(offset))
    if tensor.dtype.encoded:
        value = decoded(tensor.dtype, value)
    cx.out.line(f"const {cx.bind_scalar(op.sym)} = {value.bare};")


# ---------------------------------------------------------------- loops, branches


def _for(cx: Emission, op: o.For) -> None:
    """A C++ loop; carried values are variables that live before, in and after it."""
    for carry in op.scalars:
        init = cx.value_of(carry.arg, carry.init)
        cx.out.line(f"{cx.bind_scalar(carry.arg)} = {init.bare};")
    parallel_copy(cx, [(cx.array(c.arg), cx.array(c.init)) for c in op.tiles])
    start, stop, step = (cx.code(e) for e in (op.start, op.stop, op.step))
    declared = cx.bind_scalar(op.var)
    var = cx.spelled[op.var.name]
    if op.unroll == 1:
        cx.out.line("#pragma unroll 1")
    elif op.unroll > 1:
        cx.out.line(f"#pragma unroll {op.unroll}")
    increment = f"++{var}" if step.bare == "1" else f"{var} += {step.bare}"
    if _turns_over(cx, op):
        kind = cx.types[op.var.name]
        parts = (
            part if cx.ctype(e) == kind else converted(kind, part)
            for e, part in ((op.step, step), (op.stop, stop))
        )
        increment = f"{var} = {call('argus_next', name(var), *parts).bare}"
    inside = binary("<", name(var), stop)
    head = f"for ({declared} = {start.bare}; {inside.bare}; {increment})"
    with cx.out.block(head):
        block(cx, op.body)
        _next_iteration(cx, op)
    for carry in op.scalars:
        cx.spelled[carry.result.name] = cx.spelled[carry.arg.name]
        cx.types[carry.result.name] = cx.types[carry.arg.name]
    parallel_copy(cx, [(cx.array(c.result), cx.array(c.arg)) for c in op.tiles])
    cx.last_line = None


def _turns_over(cx: Emission, op: o.For) -> bool:
    """Whether the sum of the last iteration and the step may not fit its type.

    Where sizes alone decide, the launch checks it.
    """
    ranges = cx.scalars.ranges
    if op.step == Const(1) or all(map(ranges.by_launch, (op.start, op.stop, op.step))):
        return False
    after = ranges.of(op.stop)[1] - 1 + ranges.of(op.step)[1]
    return after > (I32 if cx.ctype(op.var) == "int" else I64)[1]


def _next_iteration(cx: Emission, op: o.For) -> None:
    """Give carried values those of the next iteration, all at once."""
    parallel_copy(cx, [(cx.array(c.arg), cx.array(c.yielded)) for c in op.tiles])
    _parallel_assign(cx, [(c.arg, c.yielded) for c in op.scalars])


def _parallel_assign(cx: Emission, pairs: list[tuple[Sym, Expr]]) -> None:
    waiting = [(sym, value) for sym, value in pairs if sym != value]
    while waiting:
        ready = next(
            (
                (sym, value)
                for sym, value in waiting
                if not any(
                    sym in symbols(other) for s, other in waiting if s is not sym
                )
            ),
            None,
        )
        if ready is not None:
            sym, value = ready
            cx.out.line(f"{cx.spelled[sym.name]} = {cx.value_of(sym, value).bare};")
            waiting.remove(ready)
            continue
        # A cycle: compute all new values first.
        fresh: list[tuple[Sym, str]] = []
        for sym, value in waiting:
            (new,) = cx.fresh_arrays(f"{cx.spelled[sym.name]}_next")
            ctype = cx.types[sym.name]
            cx.out.line(f"const {ctype} {new} = {cx.value_of(sym, value).bare};")
            fresh.append((sym, new))
        for sym, new in fresh:
            cx.out.line(f"{cx.spelled[sym.name]} = {new};")
        return


def _if(cx: Emission, op: o.If) -> None:
    for merge in op.scalars:
        cx.out.line(f"{cx.bind_scalar(merge.result)};")
    with cx.out.block(
        f"if ({cx.code(op.cond).bare})", tail="} else {" if _other(op) else "}"
    ):
        block(cx, op.then)
        _merge(cx, [(m.result, m.then) for m in op.tiles])
        for merge in op.scalars:
            value = cx.value_of(merge.result, merge.then)
            cx.out.line(f"{cx.spelled[merge.result.name]} = {value.bare};")
    if _other(op):
        with cx.out.block(None):
            cx.last_line = None
            block(cx, op.other)
            _merge(cx, [(m.result, m.other) for m in op.tiles])
            for merge in op.scalars:
                value = cx.value_of(merge.result, merge.other)
                cx.out.line(f"{cx.spelled[merge.result.name]} = {value.bare};")
    cx.last_line = None


def _other(op: o.If) -> bool:
    return bool(op.other.ops or op.scalars or op.tiles)


def _merge(cx: Emission, pairs: list[tuple[o.Tile, o.Tile]]) -> None:
    for result, branch in pairs:
        copy(cx, cx.array(result), cx.array(branch))


# ------------------------------------------------------------------------- roles


def roles(cx: Emission, op: o.Roles) -> None:
    """One chain of branches on the warp index.

    setmaxnreg acts on whole warpgroups: a role that does not fill its own gets a branch
    for the warpgroup, which sets the registers, and one inside for the role's warps.
    """
    for number, role in enumerate(op.roles):
        if role.first_warp is None:
            raise CodegenError(f"role {role.name} has no first warp")
        first, last = role.first_warp, role.first_warp + role.warps
        head = [x for x in role.body.ops[:1] if isinstance(x, o.SetMaxRegisters)]
        partial = bool(head) and role.warps % WARPGROUP != 0
        outer_first = first // WARPGROUP * WARPGROUP if partial else first
        outer_last = -(-last // WARPGROUP) * WARPGROUP if partial else last
        if partial and any(
            r is not role and r.first_warp is not None
            and r.first_warp < outer_last and r.first_warp + r.warps > outer_first
            for r in op.roles
        ):  # fmt: skip
            raise CodegenError(
                f"role {role.name} shares the warpgroup whose budget it sets"
            )
        condition = _warps(outer_first, outer_last)
        opening = f"if ({condition})" if number == 0 else f"else if ({condition})"
        cx.out.blank()
        cx.out.comment(f"role {role.name}: {_count(role.warps)} from warp {first}")
        with cx.out.block(opening):
            body = role.body
            if partial:
                for one in head:
                    _marker(cx, one)
                    _one(cx, one)
                with cx.out.block(f"if ({_warps(first, last)})"):
                    _role(cx, role, body, skip=len(head))
            else:
                _role(cx, role, body, skip=0)


def _count(warps: int) -> str:
    return "1 warp" if warps == 1 else f"{warps} warps"


def _warps(first: int, last: int) -> str:
    if last == first + 1:
        return f"warp == {first}"
    return f"warp < {last}" if first == 0 else f"warp >= {first} && warp < {last}"


def _role(cx: Emission, role: o.Role, body: o.Block, skip: int) -> None:
    assert role.first_warp is not None
    start = role.first_warp * cx.program.target.warp_threads
    tid = f"threadIdx.x - {start}" if start else "threadIdx.x"
    tid_place = cx.out.reserve()
    group = EmissionGroup(
        role.name,
        role.warps,
        cx.program.target.warp_threads,
        cx.out.reserve(),
        tid,
        tid_place,
    )
    with in_group(cx, group):
        if skip:
            rest = o.Block(body.ops[skip:])
            _renumber(cx, body, rest, skip)
            body = rest
        block(cx, body)


def _renumber(cx: Emission, whole: o.Block, rest: o.Block, skip: int) -> None:
    for index in range(skip, len(whole.ops)):
        arrays = cx.storage.declared.get((id(whole), index))
        if arrays is not None:
            cx.storage.declared[id(rest), index - skip] = arrays
