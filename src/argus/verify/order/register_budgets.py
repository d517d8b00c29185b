"""Register budgets: setmaxnreg takes registers of its block, or gives them back.

A block is launched with registers for its warps, and with none beside. Who asks for
more waits until others have given up as many. Where each role sets its budget once, as
its first operation, nobody who gives waits for anything before; then it is the sum that
decides, and one walk stands for all schedules. Elsewhere who is served first may
decide: a walk can show that nobody goes on, and nothing else (`gaps`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import budgets, walk
from argus.isa.registers import BUDGETS, BUDGETS_TEXT, WARPGROUP, at_launch, held
from argus.verify.evidence import Event
from argus.verify.order.finding import OrderFindings, report
from argus.verify.order.state import GroupState, Steps, Wanting

__all__ = ["change", "gaps", "launched", "refused"]


def launched(program: Program) -> int:
    """Registers that each thread holds when the block begins."""
    return held(at_launch(program.warps, program.min_blocks, program.target))


def gaps(program: Program) -> Iterator[str]:
    """Budgets that are set where the schedule may decide who gets registers."""
    first = set(budgets(program.body).values())
    for op in walk(program.body):
        if isinstance(op, o.SetMaxRegisters) and op not in first:
            yield (
                f"line {op.span.line}: a register budget that is not the first"
                " operation of a role; who asks first may decide who waits"
            )


def change(
    findings: OrderFindings, program: Program, group: GroupState, op: o.SetMaxRegisters
) -> Steps:
    """All warps of a group's warpgroups hold ``op.count`` registers from here on."""
    warps = _executing(program, group, op)
    if warps is None:
        report(
            findings,
            "AG0419",
            group,
            op,
            f"setmaxnreg is executed by {_warps(group)}, which are not all of the warps"
            " of their warpgroups",
            "not by whole warpgroups",
        )
        return
    now = group.registers
    if op.count not in BUDGETS or (op.count < now if op.grow else op.count > now):
        way = "raises to" if op.grow else "lowers to"
        report(
            findings,
            "AG0425",
            group,
            op,
            f"setmaxnreg {way} {op.count} registers here, where each thread of"
            f" {group.who} holds {now}; a budget is {BUDGETS_TEXT}",
            f"{op.count} registers after {now}",
        )
        return
    if op.count == now:
        findings.gaps.append(
            f"line {op.span.line}: what setmaxnreg does with the {now} registers that a"
            " thread holds already is not known"
        )
        return
    more = (op.count - now) * group.lanes * warps
    wanting = Wanting(op, group.block, more)
    while not wanting.ready():
        yield wanting
    group.block.free -= more
    group.registers = op.count


def _executing(
    program: Program, group: GroupState, op: o.SetMaxRegisters
) -> int | None:
    """How many warps execute it; None if they are not whole warpgroups."""
    if group.first % WARPGROUP:
        return None
    if group.warps % WARPGROUP == 0:
        return group.warps
    heads = budgets(program.body)
    role = next((r for r, head in heads.items() if head is op), None)
    if role is None:
        return None
    last = group.first + -(-group.warps // WARPGROUP) * WARPGROUP
    others = (
        other.first_warp
        for one in program.body.ops
        if isinstance(one, o.Roles)
        for other in one.roles
        if other is not role and other.first_warp is not None
    )
    if any(group.first <= first < last for first in others):
        return None
    return last - group.first if last <= program.warps else None


def refused(
    findings: OrderFindings,
    program: Program,
    wanting: Sequence[tuple[GroupState, Wanting]],
    everyone: Sequence[GroupState],
    events: Sequence[Event],
    notes: Sequence[str],
) -> None:
    """Nobody goes on, and these wait for registers: a deadlock."""
    entry = launched(program)
    for group, wait in wanting:
        here = [g for g in everyone if g.block is group.block]
        # The block as a whole comes first, and hands on to its roles.
        holders = [
            f"{g.who} holds {g.registers} per thread of {_warps(g)}"
            for g in here[1:] or here
        ]
        report(
            findings,
            "AG0403",
            group,
            wait.op,
            f"{group.who} waits here for {wait.registers} registers, from"
            f" {group.registers} to {wait.op.count} per thread, and {group.block.free}"
            f" are free: the block was launched with {entry} per thread of"
            f" {program.warps} warps, and nobody gives back more",
            "waits for ever",
            events=events,
            notes=(*holders, *notes),
            help="lower the budgets until they add up to what the block is launched"
            " with",
        )


def _warps(group: GroupState) -> str:
    last = group.first + group.warps - 1
    if group.warps == 1:
        return f"warp {last}"
    return f"warps {group.first} to {last}"
