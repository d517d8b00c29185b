"""Registers of matrix instructions in flight: nobody may touch them before a wait.

An accumulator may be read once a wait that covers its wgmma names the tile (the name
makes the compiler see the change), and be overwritten by another wgmma only, of which
those on one accumulator are in order. A register operand may be read, not written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from argus.ir import ops as o
from argus.ir.walk import defined, used
from argus.isa.effects import EffectsTable, OpEffects
from argus.verify.order.finding import OrderFindings, event, report
from argus.verify.order.state import AccumulatorState, GroupState, storage_key

__all__ = ["issue", "move", "touch", "waited"]


def touch(
    findings: OrderFindings, group: GroupState, op: o.AnyOp, effects: EffectsTable
) -> None:
    """An operation reads and writes registers; loops and branches do so by `move`."""
    match op:
        case o.For() | o.If() | o.Roles() | o.WgmmaWait():
            return
        case o.Dot() if effects.of(op).later:
            return
        case (
            o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
            | o.Commit() | o.CopyOutWait() | o.CpAsyncWait() | o.BarrierOp()
            | o.Sync() | o.ClusterSync() | o.Fence() | o.SetMaxRegisters()
            | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            for tile in used(op):
                _read(findings, group, op, tile)
            for tile in defined(op):
                _write(findings, group, op, tile)
        case _:
            assert_never(op)


def move(
    findings: OrderFindings,
    group: GroupState,
    op: o.AnyOp,
    pairs: Iterable[tuple[o.Tile, o.Tile]],
) -> None:
    """Copies where control flow meets; none where both names are the same registers."""
    if not group.hot:
        return
    for source, target in pairs:
        if storage_key(source) != storage_key(target):
            _read(findings, group, op, source)
            _write(findings, group, op, target)


def issue(
    findings: OrderFindings, group: GroupState, op: o.Dot, does: OpEffects, number: int
) -> None:
    """A wgmma begins to use its registers."""
    result = storage_key(op.result)
    if op.acc is not None and storage_key(op.acc) != result:
        _read(findings, group, op, op.acc)
        _write(findings, group, op, op.result)
    elif result in group.operands:
        _clash(findings, group, op, op.result, group.operands[result][1])
    for tile in does.sources:
        _read(findings, group, op, tile)
        group.operands[storage_key(tile)] = (number, op)
    group.accumulators[result] = AccumulatorState(number, op)
    group.hot = True


def waited(findings: OrderFindings, group: GroupState, op: o.WgmmaWait) -> None:
    """A wait covers products, and names the tiles that become readable."""
    covered = group.products.covered
    for tile in op.tiles:
        held = group.accumulators.get(storage_key(tile))
        if held is None:
            continue
        if held.number > covered:
            report(
                findings,
                "AG0407",
                group,
                op,
                "this wait is for a result of the matrix instruction of line"
                f" {held.op.span.line}, but leaves it in flight",
                f"leaves {op.pending} groups in flight",
                events=(event(group, held.op, "starts", group.iteration),),
            )
        held.readable = True
    for key in [k for k, (n, _) in group.operands.items() if n <= covered]:
        del group.operands[key]
    done = [k for k, a in group.accumulators.items() if a.readable]
    for key in done:
        del group.accumulators[key]
    group.hot = bool(group.operands or group.accumulators)


def _read(
    findings: OrderFindings, group: GroupState, op: o.AnyOp, tile: o.Tile
) -> None:
    held = group.accumulators.get(storage_key(tile))
    if held is None:
        return
    covered = held.number <= group.products.covered
    why = (
        "no wait has named this tile, so that the compiler may read it early"
        if covered
        else "no wait covers that instruction"
    )
    report(
        findings,
        "AG0407",
        group,
        op,
        f"the result of the matrix instruction of line {held.op.span.line} is used"
        f" here, but {why}",
        "registers of a running instruction",
        events=(
            event(group, held.op, "starts, writing these registers", group.iteration),
            event(group, op, "reads them", group.iteration),
        ),
        help="wait for it (ag.wgmma_wait) first",
    )


def _write(
    findings: OrderFindings, group: GroupState, op: o.AnyOp, tile: o.Tile
) -> None:
    key = storage_key(tile)
    if key in group.operands:
        _clash(findings, group, op, tile, group.operands[key][1])
    held = group.accumulators.get(key)
    if held is None:
        return
    if held.number > group.products.covered:
        _clash(findings, group, op, tile, held.op)
    del group.accumulators[key]


def _clash(
    findings: OrderFindings,
    group: GroupState,
    op: o.AnyOp,
    tile: o.Tile,
    running: o.AnyOp,
) -> None:
    report(
        findings,
        "AG0407",
        group,
        op,
        f"the registers of `{tile.name}` are written while the matrix instruction of"
        f" line {running.span.line} still uses them",
        "registers of a running instruction",
        events=(
            event(group, running, "starts, using these registers", group.iteration),
            event(group, op, "writes them", group.iteration),
        ),
        help="wait for it (ag.wgmma_wait) first",
    )
