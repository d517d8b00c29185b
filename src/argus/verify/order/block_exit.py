"""The end of a block: nothing asynchronous of it, or to it, may be left.

Also the ends that a walk did not take: where all groups run one outermost loop each,
the walk with fewer iterations is a prefix of the one with more, if nobody has learnt
before its own iteration a of what another does in iteration a or later. Then each
group's state at the head of iteration a is its state at the end of a walk of a
iterations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from argus.ir import ops as o
from argus.ir.expr import Expr, symbols
from argus.ir.program import Program
from argus.isa.effects import effects_of
from argus.isa.record import Awaits
from argus.verify.evidence import Event
from argus.verify.order.barrier_state import Iteration
from argus.verify.order.clock import joined
from argus.verify.order.clusters import alike_in_cluster
from argus.verify.order.finding import OrderFindings, event, report
from argus.verify.order.scalar_sources import ScalarSources
from argus.verify.order.slicing import Pruned
from argus.verify.order.state import BlockState, GroupState, Parting, storage_key
from argus.verify.order.trip_count import expanded

__all__ = ["ends_within", "leave", "over", "simple_tails"]

_TAIL = (
    o.CopyOutCommit | o.CopyOutWait | o.CpAsyncCommit | o.CpAsyncWait | o.ClusterSync
)
_WORDS: Mapping[Awaits, str] = {
    "cp_async_group": "cp.async copy",
    "bulk_read": "TMA store",
    "wgmma_group": "matrix instruction",
}


def leave(findings: OrderFindings, parting: Parting, iteration: Iteration) -> None:
    """A group ends: its own asynchronous operations are over."""
    group = parting.group
    for kind, (issued, covered, _) in parting.queues.items():
        what = _WORDS[kind]
        done = max(covered, parting.handed if kind == "cp_async_group" else 0)
        if issued <= done:
            continue
        late = [
            r
            for r in group.block.records.values()
            if r.group is group and r.kind.over == kind and r.ones and r.number > done
        ]
        at = max(late, key=lambda r: r.number) if late else None
        if at is None:
            continue
        report(
            findings,
            "AG0421",
            group,
            at.op,
            f"{group.who} ends while this {what} may still use shared memory: no wait"
            " covers it",
            "nobody waits for it",
            iteration=at.iteration,
            events=(
                event(group, at.op, f"starts a {what}", at.iteration),
                Event(group.who, "ends", group.span, dict(iteration)),
            ),
        )


def over(
    findings: OrderFindings, blocks: Sequence[BlockState], partings: Sequence[Parting]
) -> None:
    """All have ended: nothing may reach the memory of a block that is gone."""
    for block in blocks:
        seen = _seen(block, partings)
        if seen is None:
            continue
        for parting in partings:
            _outlives(findings, block, parting, seen, partings)


def _seen(block: BlockState, partings: Sequence[Parting]) -> int | None:
    """What had happened for sure when the last thread of a block ended."""
    rows = [p.cause for p in partings if p.group.block is block]
    return joined(rows) if rows else None


def _ends(block: BlockState, partings: Sequence[Parting]) -> list[Event]:
    groups = [p.group for p in partings if p.group.block is block]
    left = [e for g in groups for e in g.loops_left()]
    return [*left, *(Event(g.who, "ends", g.span) for g in groups)]


def _outlives(
    findings: OrderFindings,
    block: BlockState,
    parting: Parting,
    seen: int,
    partings: Sequence[Parting],
) -> None:
    group = parting.group
    for barrier, (op, iteration, phase) in parting.sent.items():
        if barrier.rank != block.rank or seen >> phase & 1:
            continue
        own = group.block is block
        report(
            findings,
            "AG0421" if own else "AG0410",
            group,
            op,
            "the block may end while this TMA copy still writes its shared memory:"
            " nobody waits for its completion"
            if own
            else f"this TMA copy may reach the shared memory of block {block.rank} of"
            " the cluster after that block has ended",
            "may outlive its block",
            iteration=iteration,
            events=(
                event(group, op, "starts the copy", iteration),
                *_ends(block, partings),
            ),
        )
    for barrier, (arrive, iteration, phase, now) in parting.reached.items():
        if barrier.rank != block.rank or seen >> phase & 1 or seen & now:
            continue
        report(
            findings,
            "AG0410",
            group,
            arrive,
            f"this arrival may reach block {block.rank} of the cluster after that block"
            " has ended",
            "the other block may be gone",
            iteration=iteration,
            events=(
                event(group, arrive, "arrives remotely", iteration),
                *_ends(block, partings),
            ),
            help="end the cluster together (barrier.cluster)",
        )


# ------------------------------------------------------------- ends not walked to


def simple_tails(
    program: Program, pruned: Pruned, loops: Sequence[o.For]
) -> dict[str, list[o.AnyOp]]:
    """What each group does after its one outermost loop, which is one of ``loops``.

    Empty when a group has no such loop, or goes on with more than waits for its own
    copies and the cluster's barrier, or its registers may still be in use there.
    """
    roles = [op for op in program.body.ops if isinstance(op, o.Roles)]
    before = (op for op in pruned.ops[id(program.body)] if op not in roles)
    if roles and any(isinstance(op, o.For | o.If) for op in before):
        return {}
    bodies = {role.name: role.body for op in roles for role in op.roles} or {
        "block": program.body
    }
    tails: dict[str, list[o.AnyOp]] = {}
    outermost: list[o.For] = []
    for name, body in bodies.items():
        ops = pruned.ops[id(body)]
        looping = [i for i, op in enumerate(ops) if isinstance(op, o.For)]
        if len(looping) != 1:
            return {}
        loop = ops[looping[0]]
        if not isinstance(loop, o.For) or loop not in loops or not _plain(loop):
            return {}
        after = ops[looping[0] + 1 :]
        tail: list[o.AnyOp] = []
        tail += (op for op in after if not isinstance(op, o.Let | o.LoadScalar))
        if not all(isinstance(op, _TAIL) for op in tail):
            return {}
        tails[name] = tail
        outermost.append(loop)
    sources = ScalarSources(program)
    bounds = {_bounds(sources, op) for op in outermost}
    # All groups iterate equally often, in all blocks of a cluster.
    alike = len(bounds) == 1 and None not in bounds
    return tails if alike and alike_in_cluster(program, sources) else {}


def _plain(loop: o.For) -> bool:
    """Whether no registers are copied where the loop is left."""
    return all(storage_key(c.arg) == storage_key(c.result) for c in loop.tiles)


def _bounds(sources: ScalarSources, op: o.For) -> tuple[Expr, ...] | None:
    """Bounds of a loop without named scalars, if these all have one value."""
    bounds = (op.start, op.stop, op.step)
    whole = [expanded(e, sources.lets, sources.varying) for e in bounds]
    named = (s.kind for e in whole for s in symbols(e))
    return None if {"let", "loop"} & {*named} else tuple(whole)


def ends_within(
    findings: OrderFindings,
    blocks: Sequence[BlockState],
    groups: Sequence[GroupState],
    tails: dict[str, list[o.AnyOp]],
    least: int,
) -> bool:
    """Check the ends after fewer iterations than were walked, at least up to ``least``.

    False when they are not prefixes of the walk, and have to be walked themselves.
    """
    looping = [g for g in groups if g.name in tails]
    if not looping:
        return False
    counts = [len(g.parting_at) for g in looping]
    if min(counts) <= least:
        return False
    for iteration in range(min(counts)):
        heads = [g.parting_at[iteration] for g in looping]
        for head in heads:
            for other in heads:
                if other is not head and head.cause & other.now:
                    return False
        meeting = [
            h.cause
            for h in heads
            if any(isinstance(op, o.ClusterSync) for op in tails[h.group.name])
        ]
        together = joined(meeting or [heads[0].cause])
        ended = [_after(h, tails[h.group.name], together) for h in heads]
        for parting in ended:
            leave(findings, parting, ())
        over(findings, blocks, ended)
    return True


def _after(head: Parting, tail: Sequence[o.AnyOp], together: int) -> Parting:
    """A group that leaves its loop here and does what comes after it."""
    queues: dict[Awaits, tuple[int, int, list[int]]] = {
        k: (i, c, list(done)) for k, (i, c, done) in head.queues.items()
    }
    cause = head.cause
    for op in tail:
        match op:
            case o.CpAsyncCommit() | o.CopyOutCommit():
                for kind in effects_of(op).commits:
                    if kind in queues:
                        queues[kind][2].append(queues[kind][0])
            case o.CpAsyncWait() | o.CopyOutWait():
                for kind in effects_of(op).awaits:
                    if kind in queues:
                        queues[kind] = _wait(queues[kind], op.pending)
            case o.ClusterSync():
                cause = together
            case _:
                raise AssertionError(f"{type(op).__name__} is no simple end")
    return Parting(
        head.group,
        cause,
        head.now,
        {k: (i, c, tuple(done)) for k, (i, c, done) in queues.items()},
        head.handed,
        head.sent,
        head.reached,
    )


def _wait(
    queue: tuple[int, int, list[int]], pending: int
) -> tuple[int, int, list[int]]:
    issued, covered, done = queue
    keep = max(len(done) - pending, 0)
    return (issued, done[keep - 1] if keep else covered, done[keep:])
