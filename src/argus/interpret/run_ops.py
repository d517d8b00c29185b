"""Running a sequence of operations: control flow, and which module does which op."""

from __future__ import annotations

from typing import assert_never

from argus.interpret import ops_assume as assume
from argus.interpret import ops_compute as compute
from argus.interpret import ops_copy as copy
from argus.interpret import ops_matrix as matrix
from argus.interpret import ops_memory as memory
from argus.interpret import ops_print as printing
from argus.interpret import ops_sync as sync
from argus.interpret.machine import Steps, ThreadGroup
from argus.ir import ops as o

__all__ = ["run_block"]


def run_block(group: ThreadGroup, block: o.Block) -> Steps:
    """Run a block's operations in order, yielding where others may go first."""
    for op in block.ops:
        group.op = op
        match op:
            case o.For():
                yield from _for(group, op)
            case o.If():
                yield from _if(group, op)
            case o.Roles():
                _roles(group, op)
            case o.Let() | o.Extract() | o.RegisterOp():
                compute.run(group, op)
            case (
                o.LoadScalar() | o.LoadGlobal() | o.StoreGlobal() | o.LoadShared()
                | o.StoreShared()
            ):  # fmt: skip
                yield None
                memory.run(group, op)
            case (
                o.CopyAsync() | o.CopyOut() | o.CopyOutCommit() | o.CopyOutWait()
                | o.CpAsyncCommit() | o.CpAsyncWait() | o.CpAsyncArrive()
            ):  # fmt: skip
                yield None
                copy.run(group, op)
            case o.Dot() | o.WgmmaCommit() | o.WgmmaWait():
                yield None
                matrix.run(group, op)
            case (
                o.BarrierExpect() | o.BarrierArrive() | o.BarrierWait() | o.Sync()
                | o.ClusterSync() | o.Fence() | o.SetMaxRegisters()
            ):  # fmt: skip
                yield None
                yield from sync.run(group, op)
            case o.Assume():
                assume.run(group, op)
            case o.Print():
                printing.run(group, op)
            case o.Tag() | o.Check() | o.Expect() | o.Trust():
                pass  # about elements and cost, of which data show nothing
            case o.RingOp():
                raise ValueError(f"a placed program has no ring operations: {op}")
            case _:
                assert_never(op)


def _for(group: ThreadGroup, op: o.For) -> Steps:
    tiles = [group.held(carry.init) for carry in op.tiles]
    scalars = [group.scalar(carry.init) for carry in op.scalars]
    start, stop = group.integer(op.start), group.integer(op.stop)
    step = group.integer(op.step)
    if step < 1:
        raise ValueError(f"line {op.span.line}: a loop's step is positive, not {step}")
    for value in range(start, stop, step):
        group.env[op.var.name] = value
        for carry, tile in zip(op.tiles, tiles, strict=True):
            group.put(carry.arg, tile)
        for scalar, number in zip(op.scalars, scalars, strict=True):
            group.env[scalar.arg.name] = number
        yield from run_block(group, op.body)
        group.op = op
        tiles = [group.held(carry.yielded) for carry in op.tiles]
        scalars = [group.scalar(carry.yielded) for carry in op.scalars]
    for carry, tile in zip(op.tiles, tiles, strict=True):
        group.put(carry.result, tile)
    for scalar, number in zip(op.scalars, scalars, strict=True):
        group.env[scalar.result.name] = number


def _if(group: ThreadGroup, op: o.If) -> Steps:
    taken = bool(group.scalar(op.cond))
    yield from run_block(group, op.then if taken else op.other)
    group.op = op
    tiles = [group.held(m.then if taken else m.other) for m in op.tiles]
    scalars = [group.scalar(m.then if taken else m.other) for m in op.scalars]
    for merge, tile in zip(op.tiles, tiles, strict=True):
        group.put(merge.result, tile)
    for merge, number in zip(op.scalars, scalars, strict=True):
        group.env[merge.result.name] = number


def _roles(group: ThreadGroup, op: o.Roles) -> None:
    """Roles start; they know what all warps of the block knew."""
    for role in op.roles:
        seen = group.known.internal.copy()
        group.cluster.start(
            group.block, role.name, role.warps, dict(group.env), role.body, seen,
            group.registers, role.first_warp or 0,
        )  # fmt: skip
