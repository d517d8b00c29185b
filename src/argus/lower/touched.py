"""What a group has touched in shared memory since its last sync.

Views are told apart where constants show that they are different stages or parts of a
buffer; everything else is taken to meet. Which order follows from it, and what has to
be inserted, is in :mod:`argus.lower.hazards`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from argus.ir.expr import Const
from argus.ir.memory import SharedView
from argus.isa.effects import Touch

Views = frozenset[SharedView]
NONE: Views = frozenset()
_MOST = 8
"""Most store groups told apart."""


@dataclass(frozen=True)
class SyncState:
    """What was touched since the last sync.

    ``unfenced``: ordinary accesses that the asynchronous proxy may follow, and that no
    fence has covered yet; ``copied``: writes of cp.async that belong there as soon as a
    wait covers them. ``stores``: groups of TMA stores in flight, oldest first;
    ``open``: stores that no CopyOutCommit has closed yet.
    """

    written: Views = NONE
    read: Views = NONE
    unfenced: frozenset[Touch] = frozenset()
    copied: frozenset[Touch] = frozenset()
    stores: tuple[Views, ...] = ()
    open: Views = NONE

    def join(self, other: SyncState) -> SyncState:
        """Either may hold. A wait counts stores from the newest: align them there."""
        a, b = self.stores, other.stores
        if len(a) < len(b):
            a, b = b, a
        extra = len(a) - len(b)
        both = (x | y for x, y in zip(a[extra:], b, strict=True))
        return SyncState(
            self.written | other.written,
            self.read | other.read,
            self.unfenced | other.unfenced,
            self.copied | other.copied,
            (*a[:extra], *both),
            self.open | other.open,
        )


def _meet(a: SharedView, b: SharedView) -> bool:
    """False only where constants show that two views have no element in common."""
    if a.alloc is not b.alloc:
        return False
    if isinstance(a.stage, Const) and isinstance(b.stage, Const) and a.stage != b.stage:
        return False
    for axis, (x, y) in enumerate(zip(a.origin, b.origin, strict=True)):
        if not (isinstance(x, Const) and isinstance(y, Const)):
            continue
        if (
            x.value + _extent(a, axis) <= y.value
            or y.value + _extent(b, axis) <= x.value
        ):
            return False
    return True


def _extent(view: SharedView, axis: int) -> int:
    return view.shape[view.axes.index(axis)] if axis in view.axes else 1


def any_meets(view: SharedView, others: Views) -> bool:
    """True unless the view is shown to be apart from all others."""
    return any(_meet(view, x) for x in others)


def committed(state: SyncState) -> SyncState:
    """The open stores become a group; the oldest two are one from then on.

    Taking a group for newer than it is makes a wait for it wait for more.
    """
    stores = (*state.stores, state.open)
    if len(stores) > _MOST:
        stores = (stores[0] | stores[1], *stores[2:])
    return replace(state, stores=stores, open=NONE)


def copies_done(state: SyncState, pending: int) -> SyncState:
    """All but ``pending`` groups of cp.async are there, of which a fence may be due."""
    left = state.copied if pending else frozenset[Touch]()
    return replace(state, unfenced=state.unfenced | state.copied, copied=left)


def stores_done(state: SyncState, pending: int) -> SyncState:
    """Only ``pending`` store groups remain; the issuing thread knows, others do not."""
    keep = max(len(state.stores) - pending, 0)
    done = frozenset(b for s in state.stores[:keep] for b in s)
    return replace(state, stores=state.stores[keep:], read=state.read | done)
