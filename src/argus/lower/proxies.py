"""Which ordinary accesses to shared memory the asynchronous proxy follows.

TMA and wgmma reach shared memory by another way than the loads and stores of threads.
A barrier orders two accesses of one proxy; between an ordinary access and a later
asynchronous one to the same bytes it does so only if the threads of the ordinary one
have executed ``fence.proxy.async`` before they arrive, unless both only read. This
holds for reads, too: loads that are still queued may find what TMA writes next.

Only accesses that may really come later count: of a tile that TMA loads once, before
its reads, nothing has to be fenced. Roles run beside each other, so that everything
that another role does may come later.
"""

from __future__ import annotations

from collections.abc import Iterable

from argus.ir import ops as o
from argus.ir.walk import blocks
from argus.isa.effects import Touch, effects_of
from argus.lower.groups import Group, walk_group
from argus.lower.touched import any_meets

__all__ = ["AsyncAccesses"]

_Touches = frozenset[Touch]


class AsyncAccesses:
    """What may come by the asynchronous proxy after each operation of a program."""

    def __init__(self, found: list[Group]) -> None:
        self._after: dict[int, _Touches] = {}
        """By id of an operation that touches shared memory."""
        of = [_asynchronous(group.block) for group in found]
        for group in found:
            others: _Touches = frozenset(
                touch
                for other, touches in zip(found, of, strict=True)
                if other is not group and other.role is not None
                for touch in touches
            )
            self._walk(group.block, others)

    def follow(self, op: o.AnyOp, touch: Touch) -> bool:
        """Whether one may follow an access of ``op`` that it must not be mixed with."""
        if touch.proxy != "generic":
            return False
        later = (x.view for x in self._after[id(op)] if touch.write or x.write)
        return any_meets(touch.view, frozenset(later))

    def _walk(self, block: o.Block, after: _Touches) -> None:
        for op in reversed(block.ops):
            if isinstance(op, o.Roles):
                continue  # groups of their own
            inner = list(blocks(op))
            if not inner:
                touches = effects_of(op).touches
                if touches:
                    self._after[id(op)] = after
                    after |= _by_async(touches)
                continue
            here: _Touches = frozenset(t for one in inner for t in _asynchronous(one))
            for one in inner:
                # The next iteration of a loop comes after this one.
                self._walk(one, after | here if isinstance(op, o.For) else after)
            after |= here


def _asynchronous(block: o.Block) -> _Touches:
    """All asynchronous accesses of a group's operations."""
    touches = (t for op in walk_group(block) for t in effects_of(op).touches)
    return _by_async(touches)


def _by_async(touches: Iterable[Touch]) -> _Touches:
    return frozenset(t for t in touches if t.proxy == "async")
