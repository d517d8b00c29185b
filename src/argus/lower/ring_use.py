"""What the groups of a program do with a ring: who fills, who drains, and by what.

:mod:`argus.lower.rings` turns this into barriers, or groups and syncs.
"""

from dataclasses import dataclass, field
from typing import assert_never

from argus.diagnostics import fail
from argus.ir import ops as o
from argus.ir.memory import Ring
from argus.ir.placement import TmaPlan
from argus.ir.walk import blocks
from argus.isa.effects import OpEffects, effects_of
from argus.lower.affine import Linear, add, constant
from argus.lower.counters import operations, pending_fills
from argus.lower.groups import Group, walk_group


@dataclass(eq=False)
class RingUse:
    """What the groups of a program do with one ring."""

    producers: list[Group] = field(default_factory=list[Group])
    consumers: list[Group] = field(default_factory=list[Group])
    bytes: dict[int, int] = field(default_factory=dict[int, int])
    """Bytes that TMA brings in each fill, by RingAcquire."""
    cp_async: bool = False
    stores: bool = False
    by_async: bool = False
    """Somebody reads a slot through the asynchronous proxy (wgmma, TMA store)."""
    by_stores: set[int] = field(default_factory=set[int])
    """Groups that read slots by TMA stores."""
    by_loads: set[int] = field(default_factory=set[int])
    """Groups that read slots by ordinary loads."""
    unread: set[int] = field(default_factory=set[int])
    """Groups of which a drain may end without a wgmma that has read the slot: nothing
    holds its warps together, and one may release what another still waits for."""
    pending: dict[int, int] = field(default_factory=dict[int, int])
    """Fills that may still be in flight after each RingWait."""
    filled: Linear | None = None
    """Fills that common code makes in all; ``in_flight``: those it does not drain."""
    in_flight: int | None = 0

    @property
    def tma(self) -> bool:
        """True when TMA brings part of a fill."""
        return any(self.bytes.values())

    def releases(self, group: Group) -> int:
        """Arrivals with which a consumer releases a slot."""
        apart = self.by_loads | self.by_stores | self.unread
        by_warp = id(group) in apart or not group.aligned
        return group.warps if by_warp else group.warpgroups


def survey(ring: Ring, found: list[Group]) -> RingUse:
    """Find out who uses a ring. Raises ArgusError AG0416, see `expand_rings`."""
    use = RingUse()
    fields = set(map(id, ring.fields.values()))
    for group in found:
        for op in walk_group(group.block):
            match op:
                case o.RingAcquire() if op.ring is ring:
                    if group not in use.producers:
                        use.producers.append(group)
                case o.RingWait() if op.ring is ring:
                    if group not in use.consumers:
                        use.consumers.append(group)
                case o.CopyAsync() if op.ring is ring:
                    ring.cluster = ring.cluster or op.multicast > 1
                    if effects_of(op).completes == "cp_async_group":
                        use.cp_async = True
                case (
                    o.Structure() | o.Binding() | o.RegisterOp() | o.Dot()
                    | o.Access() | o.Copy() | o.Synchronisation() | o.RingOp()
                    | o.Annotation()
                ):  # fmt: skip
                    _note(use, fields, group, effects_of(op))
                case _:
                    assert_never(op)
        _count_bytes(ring, group.block, use)
        if group.role is not None and _may_pass(ring, fields, group.block):
            use.unread.add(id(group))
        use.pending.update(pending_fills(group.block, ring))
        if group.role is None and group in use.producers:
            use.filled = operations(group.block, ring, o.RingPublish)
            drained = operations(group.block, ring, o.RingWait)
            use.in_flight = constant(add(use.filled, drained, -1))
    return use


def _note(use: RingUse, fields: set[int], group: Group, does: OpEffects) -> None:
    """What an operation other than a fill's copies does with the slots of a ring."""
    for touch in does.touches:
        if id(touch.view.alloc) not in fields:
            continue
        if touch.write:
            use.stores = True
            continue
        use.by_async = use.by_async or touch.proxy == "async"
        if touch.over == "bulk_read":
            use.by_stores.add(id(group))
        elif does.scope != "warpgroup":
            use.by_loads.add(id(group))


def _may_pass(ring: Ring, fields: set[int], block: o.Block) -> bool:
    """Whether a loop of a role (or the role) waits for slots and may multiply none.

    A product that only one way of a branch makes is one for what that way waits for.
    Loops inside are taken to run: where one may not, AG0404 says so.
    """
    loops = [op.body for op in walk_group(block) if isinstance(op, o.For)]
    return any(_waits(ring, fields, body) for body in (block, *loops))


def _waits(ring: Ring, fields: set[int], block: o.Block) -> bool:
    """Whether a way through a block waits for a slot and multiplies none.

    What loops in it do is theirs.
    """
    if _multiplies(fields, block):
        return False
    return any(
        (isinstance(op, o.RingWait) and op.ring is ring)
        or (
            isinstance(op, o.If)
            and any(_waits(ring, fields, side) for side in (op.then, op.other))
        )
        for op in block.ops
    )


def _multiplies(fields: set[int], block: o.Block) -> bool:
    """Whether a wgmma reads a slot on each way through a block."""
    return any(_multiplied(fields, op) for op in block.ops)


def _multiplied(fields: set[int], op: o.AnyOp) -> bool:
    match op:
        case o.If():
            return all(_multiplies(fields, inner) for inner in (op.then, op.other))
        case o.For():
            return _multiplies(fields, op.body)
        case o.Dot():
            does = effects_of(op)
            touched = {id(touch.view.alloc) for touch in does.touches}
            return does.scope == "warpgroup" and bool(touched & fields)
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Access() | o.Copy()
            | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return False
        case _:
            assert_never(op)


def _count_bytes(ring: Ring, block: o.Block, use: RingUse) -> None:
    """Sum the TMA bytes between each acquire and publish, in their own block."""
    current: o.RingAcquire | None = None
    for op in block.ops:
        match op:
            case o.RingAcquire() if op.ring is ring:
                current = op
                use.bytes[id(op)] = 0
            case o.RingPublish() if op.ring is ring:
                current = None
            case o.CopyAsync() if op.ring is ring and isinstance(op.plan, TmaPlan):
                if current is None:
                    raise fail(
                        "AG0416",
                        op.span,
                        f"a copy into ring `{ring.name}` that not every fill makes",
                        help="load each field of the slot directly in the fill, not "
                        "under a loop or branch inside it",
                    )
                use.bytes[id(current)] += op.plan.bytes
            case o.Roles():
                pass
            case (
                o.For() | o.If() | o.Binding() | o.RegisterOp() | o.Dot()
                | o.Access() | o.Copy() | o.Synchronisation() | o.RingOp()
                | o.Annotation()
            ):  # fmt: skip
                for inner in blocks(op):
                    _count_bytes(ring, inner, use)
            case _:
                assert_never(op)


def check(ring: Ring, use: RingUse) -> None:
    """Raise ArgusError for a ring nobody fills or drains (AG0413), or one role does.

    AG0413 also for several roles that fill, AG0417 for one that fills and drains.
    """
    if not use.producers or not use.consumers:
        missing = "fills" if not use.producers else "drains"
        raise fail(
            "AG0413",
            ring.span,
            f"nobody {missing} ring `{ring.name}`",
            help=f"write `with {ring.name}.{missing[:-1]}() as slot:`",
        )
    if len(use.producers) > 1:
        names = " and ".join(f"`{g.name}`" for g in use.producers)
        message = f"ring `{ring.name}` is filled by {names}; only one role may"
        raise fail("AG0413", ring.span, message)
    producer = use.producers[0]
    if producer.role is not None and producer in use.consumers:
        raise fail(
            "AG0417",
            ring.span,
            f"role `{producer.name}` both fills and drains ring `{ring.name}`",
            help="split it into two roles, or write the kernel without roles",
        )
