"""What a launch fixes, and what hardware counts: a program keeps within it.

Threads, shared memory and where things lie in it, numbers of barriers and what they can
count, boxes of TMA, blocks of a cluster. Placing keeps to all of this; here nothing
relies on that. Only what does not hold is told.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.placement import TmaPlan
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.isa import registry
from argus.isa.boxes import violations
from argus.isa.mbarrier import MAX_COUNT
from argus.isa.sync import CLUSTER_SIZES, NAMED_BARRIERS
from argus.verify.evidence import Counterexample, ThreadPlace
from argus.verify.verdict import Obligation, Verdict

__all__ = ["beyond"]

_BARRIER_BYTES = 8
"""Of an mbarrier, and what it is aligned to (PTX ISA, "Size and alignment of mbarrier
object")."""
_CLAIMS = {
    "AG0320": "TMA has such boxes",
    "AG0409": "the barrier can count its arrivals",
    "AG0501": "buffers and barriers lie within the block's shared memory, apart",
    "AG0504": "a block has as many threads as the target runs",
    "AG0505": "each role has warps of its own",
    "AG0507": "the block has such a barrier",
    "AG0508": "blocks form such clusters",
    "AG0510": "a multiprocessor has threads for the declared blocks",
}


def beyond(program: Program) -> Iterator[Obligation]:
    """Each limit that a placed program exceeds."""
    yield from _threads(program)
    yield from _shared(program)
    for alloc in program.barriers:
        if not 1 <= alloc.arrivals <= MAX_COUNT:
            message = f"{alloc.name} counts {alloc.arrivals} arrivals"
            why = f"an mbarrier counts from 1 to {MAX_COUNT}"
            yield _refuted("AG0409", alloc.span, message, why)
    for op in walk(program.body):
        number = op.barrier if isinstance(op, o.Sync) else None
        if number is not None and not 0 <= number < NAMED_BARRIERS:
            message = f"this is barrier {number} of the block"
            why = f"a block has {NAMED_BARRIERS}, from 0 on"
            yield _refuted("AG0507", op.span, message, why)
        if isinstance(op, o.CopyAsync | o.CopyOut) and isinstance(op.plan, TmaPlan):
            yield from _copy(program, op, op.plan)
    clusters = registry.has_family("cluster", program.target.name)
    sizes = CLUSTER_SIZES if clusters else CLUSTER_SIZES[:1]
    if program.cluster not in sizes:
        message = f"a cluster of {program.cluster} blocks"
        why = f"{program.target.name} has clusters of {', '.join(map(str, sizes))}"
        yield _refuted("AG0508", program.span, message, why)


def _copy(
    program: Program, op: o.CopyAsync | o.CopyOut, plan: TmaPlan
) -> Iterator[Obligation]:
    """What of a copy by TMA is so for all sizes: its map, and who receives it."""
    of = plan.map.tensor
    steps, size = plan.map.steps, of.dtype.bytes
    for text in violations(plan.map.box, size, plan.map.swizzle, steps=steps):
        message = f"TMA copies boxes {plan.map.box} of {of.name}"
        yield _refuted("AG0320", op.span, message, text)
    if len(plan.map.box) != of.rank or plan.map not in program.tensor_maps:
        message = f"TMA copies boxes {plan.map.box} of {of.name}"
        yield _refuted("AG0320", op.span, message, "the kernel has no such tensor map")
    if not 1 <= plan.multicast <= program.cluster:
        message = f"TMA copies to {plan.multicast} blocks"
        why = f"a cluster has {program.cluster}"
        yield _refuted("AG0508", op.span, message, why)


def _threads(program: Program) -> Iterator[Obligation]:
    target, threads = program.target, program.threads
    if not 0 < threads <= target.max_threads:
        message = f"a block of {threads} threads"
        why = f"{target.name} runs 1 to {target.max_threads}"
        yield _refuted("AG0504", program.span, message, why)
    elif threads * program.min_blocks > target.resident_threads:
        message = f"{program.min_blocks} blocks of {threads} threads are declared"
        why = f"a multiprocessor runs {target.resident_threads} threads"
        yield _refuted("AG0510", program.span, message, why)
    taken: dict[int, str] = {}
    for op in program.body.ops:
        for role in op.roles if isinstance(op, o.Roles) else ():
            first = role.first_warp
            if first is None:
                continue  # not placed: the walk says so
            mine = range(first, first + role.warps)
            both = sorted({taken[w] for w in mine if w in taken})
            taken |= dict.fromkeys(mine, role.name)
            if not mine or first < 0 or mine[-1] >= program.warps:
                message = f"role {role.name} has {role.warps} warps from {first} on"
                why = f"the block has warps 0 to {program.warps - 1}"
                yield _refuted("AG0505", role.span, message, why)
            elif both:
                message = f"role {role.name} has warps of role {both[0]}"
                why = "a warp runs one role"
                yield _refuted("AG0505", role.span, message, why)


def _shared(program: Program) -> Iterator[Obligation]:
    limit, size = program.target.shared_bytes, program.shared_bytes
    if size > limit:
        message = f"the block has {size} bytes of shared memory"
        why = f"{program.target.name} gives a block at most {limit}"
        yield _refuted("AG0501", program.span, message, why)
    places: list[tuple[int, int, str, Span]] = []
    for alloc in program.shared:
        if alloc.offset is not None and alloc.layout is not None:
            end = alloc.offset + alloc.stages * alloc.stage_bytes
            places.append((alloc.offset, end, alloc.name, alloc.span))
    buffers = len(places)
    for alloc in program.barriers:
        if alloc.offset is not None:
            end = alloc.offset + _BARRIER_BYTES * alloc.count
            places.append((alloc.offset, end, alloc.name, alloc.span))
    for number, (first, end, name, span) in enumerate(places):
        message = f"{name} has the bytes {first} to {end - 1}"
        if first < 0 or end > size:
            why = f"the block has {size} bytes of shared memory"
            yield _refuted("AG0501", span, message, why)
        # What is copied to a buffer has rules of its own (AG0313, AG0320).
        if number >= buffers and first % _BARRIER_BYTES:
            why = f"a barrier is aligned to {_BARRIER_BYTES} bytes"
            yield _refuted("AG0501", span, message, why)
        # Buffers may share bytes (AG0402 says when); a barrier with nobody.
        for other, until, beside, _ in places[:number] if number >= buffers else ():
            if first < until and other < end:
                why = f"{beside} has some of them, too"
                yield _refuted("AG0501", span, message, why)


def _refuted(rule: str, span: Span, message: str, why: str) -> Obligation:
    return Obligation(
        rule,
        _CLAIMS[rule],
        span,
        Verdict.REFUTED,
        "counting",
        counterexample=Counterexample(f"{message}; {why}", why, ThreadPlace("block")),
    )
