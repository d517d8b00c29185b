"""Bank conflicts: how many wavefronts each access to shared memory takes, exactly.

Shared memory has 32 banks of one 4-byte word; a wavefront reads or writes one word of
each bank. Words that several threads share count once (broadcast; several stores to one
word merge). So

    wavefronts = most different words in one bank        for each phase of a warp

where a phase is the threads that hardware serves together: the warp for accesses of up
to 4 bytes, a half of it for 8, a quarter for 16; for ldmatrix and stmatrix the 8 rows
of one matrix. Sources: CUDA C++ Programming Guide, compute capability 5.x and later,
"Shared Memory"; the phases of wide accesses are as profilers show them, and
tests/gpu/test_bank_conflicts.py holds all of this against the hardware's counters.

    ideal = number of phases,  conflicts = wavefronts - ideal

Two phases of 8- or 16-byte accesses whose threads read the same places can share a
wavefront, which is not counted here: it makes neither a conflict.

TMA and wgmma are not counted: hardware lays out what they touch, by the swizzle that
the descriptor names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from argus.ir import ops as o
from argus.ir.access import Ints, matrix_rows, vector_shared
from argus.ir.expr import Const, Expr, divisor
from argus.ir.memory import SharedView
from argus.ir.placement import VectorPlan
from argus.layout import WARP_LANES
from argus.targets import Target
from argus.verify.performance.findings import PerformanceFinding
from argus.verify.performance.sites import Site

__all__ = [
    "Conflict",
    "conflict_at",
    "conflicts_of",
    "count_rows",
    "count_vectors",
    "shared_access",
]

ROW = 16
"""Bytes of a row of an 8x8 matrix."""
PLACES = 64
"""Most places of a view that are tried, from the beginning of the buffer."""


@dataclass(frozen=True)
class Conflict:
    """The worst access: wavefronts, its phases, and two threads that collide.

    ``bank`` and ``words`` are where they do; -1 and nothing where none collide.
    ``all_wavefronts`` and ``all_conflicts`` are sums over all accesses of all warps.
    """

    wavefronts: int
    ideal: int
    all_wavefronts: int
    all_conflicts: int
    threads: tuple[int, int] = (-1, -1)
    bank: int = -1
    words: tuple[int, int] = (0, 0)

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the ideal, of the worst access."""
        return self.wavefronts - self.ideal


def count_vectors(
    addresses: Ints, size: int, active: NDArray[np.bool_], target: Target
) -> Conflict:
    """Count for vector accesses.

    ``addresses`` [threads, accesses] of the first byte of each; ``size`` bytes of one
    access (1, 2, 4, 8, 16); ``active`` [threads, accesses]. The number of threads is a
    multiple of a warp's.
    """
    lanes, word = target.warp_threads, target.bank_bytes
    per_phase = min(lanes, target.banks * word // max(size, word))
    threads, accesses = addresses.shape
    words = -(-size // word)
    # [warps, phases, lanes of a phase, accesses]
    shape = (threads // lanes, lanes // per_phase, per_phase, accesses, words)
    touched = (addresses // word).reshape(*shape[:4], 1) + np.arange(words)
    who = np.arange(threads, dtype=np.int64).reshape(*shape[:3], 1, 1)
    used = active.reshape(*shape[:4], 1)
    return _count(
        _by_phase(np.broadcast_to(touched, shape)),
        _by_phase(np.broadcast_to(who, shape)),
        _by_phase(np.broadcast_to(used, shape)),
        target.banks,
    )


def count_rows(rows: Ints, target: Target) -> Conflict:
    """Count for ldmatrix and stmatrix: ``rows`` [warps, accesses, matrices, 8] bytes.

    The threads are those that supply the addresses.
    """
    warps, accesses, matrices, _ = rows.shape
    word = target.bank_bytes
    shape = (*rows.shape, ROW // word)
    touched = (rows // word)[..., None] + np.arange(ROW // word)
    warp = np.arange(warps, dtype=np.int64).reshape(warps, 1, 1, 1, 1)
    lane = np.arange(8 * matrices, dtype=np.int64).reshape(1, 1, matrices, 8, 1)
    who = np.broadcast_to(WARP_LANES * warp + lane, shape)
    flat = (warps * accesses, matrices, -1)
    used = np.ones(touched.shape, np.bool_)
    return _count(
        touched.reshape(flat), who.reshape(flat), used.reshape(flat), target.banks
    )


S = TypeVar("S", bound=np.generic)


def _by_phase(x: NDArray[S]) -> NDArray[S]:
    """[warp, phase, lane, access, word] as [access of a warp, phase, word touched]."""
    moved = x.transpose(0, 3, 1, 2, 4)
    return moved.reshape(moved.shape[0] * moved.shape[1], moved.shape[2], -1)


def _count(words: Ints, who: Ints, used: NDArray[np.bool_], banks: int) -> Conflict:
    """Count over [instruction, phase, word touched]."""
    instructions, phases = words.shape[:2]
    if not used.any():
        return Conflict(0, 0, 0, 0)
    number = np.arange(instructions * phases, dtype=np.int64)
    group = np.broadcast_to(number.reshape(instructions, phases, 1), words.shape)
    # Different words of each bank in each phase.
    least = int(words[used].min())
    span = int(words[used].max()) - least + 1
    keys = np.unique(group[used] * span + (words[used] - least))
    bins = np.bincount(
        keys // span * banks + (keys % span + least) % banks,
        minlength=instructions * phases * banks,
    ).reshape(instructions, phases, banks)
    per_phase = bins.max(axis=2)
    wavefronts = per_phase.sum(axis=1)
    ideal = (per_phase > 0).sum(axis=1)
    excess = wavefronts - ideal
    worst = int(np.argmax(excess))
    found = Conflict(
        int(wavefronts[worst]),
        int(ideal[worst]),
        int(wavefronts.sum()),
        int(excess.sum()),
    )
    if found.conflicts == 0:
        return found
    phase = int(np.argmax(per_phase[worst]))
    bank = int(np.argmax(bins[worst, phase]))
    here = used[worst, phase] & (words[worst, phase] % banks == bank)
    at, by = words[worst, phase][here], who[worst, phase][here]
    other = int(np.argmax(at != at[0]))
    return replace(
        found,
        threads=(int(by[0]), int(by[other])),
        bank=bank,
        words=(int(at[0]), int(at[other])),
    )


# ------------------------------------------------------------------------ accesses


def shared_access(site: Site) -> tuple[SharedView, VectorPlan] | None:
    """The shared view that an access touches by vectors, or None."""
    view = site.op.dst if isinstance(site.op, o.CopyAsync) else site.op.view
    plan = site.op.plan
    if isinstance(view, SharedView) and isinstance(plan, VectorPlan):
        return view, plan
    return None


def conflicts_of(
    site: Site, facts: Mapping[str, int], target: Target
) -> PerformanceFinding | None:
    """The worst place of a shared access; None for an access elsewhere.

    ``facts`` are powers of two that divide symbols: a view that begins at a computed
    row is tried at every row that they allow.
    """
    access = shared_access(site)
    if access is None:
        return None
    view, plan = access
    worst: Conflict | None = None
    for place in _places(view, facts):
        found = conflict_at(plan, place, site.env, target)
        if worst is None or found.conflicts > worst.conflicts:
            worst = found
    if worst is None:
        return None
    why = ""
    if worst.conflicts:
        a, b = worst.threads
        v, w = (word * target.bank_bytes for word in worst.words)
        why = (
            f"threads {a} and {b} use different words of bank {worst.bank}"
            f" (bytes {v} and {w})"
        )
    return PerformanceFinding(
        worst.wavefronts,
        worst.ideal,
        site.op.span,
        site.role,
        f"{plan.instruction} of {view.alloc.name}",
        why,
        worst.threads[0] if worst.conflicts else None,
    )


def conflict_at(
    plan: VectorPlan, view: SharedView, env: Mapping[str, Any], target: Target
) -> Conflict:
    """Count for one access at one place; ``env`` has the values of its scalars."""
    if "matrix" in plan.instruction:
        return count_rows(matrix_rows(plan, view, env), target)
    addresses = vector_shared(plan, view, env)[:, :, 0]
    active = np.ones(addresses.shape, np.bool_)
    if plan.unique:
        active = plan.layout.owner_mask()[:, :: plan.width]
    return count_vectors(addresses, plan.width * view.dtype.bytes, active, target)


def _places(view: SharedView, facts: Mapping[str, int]) -> Iterator[SharedView]:
    """The view at the origins that its expressions can have, in stage 0.

    Stages are whole multiples of 16 bytes apart (swizzled ones of their period), which
    turns the banks and changes no count.
    """
    choices = [
        _origins(e, view.alloc.shape[axis] - _extent(view, axis), facts)
        for axis, e in enumerate(view.origin)
    ]
    for origin in itertools.islice(itertools.product(*choices), PLACES):
        yield SharedView(
            view.alloc,
            Const(0),
            tuple(Const(x) for x in origin),
            view.axes,
            view.shape,
            view.dims,
        )


def _extent(view: SharedView, axis: int) -> int:
    """Elements of a buffer's axis that a view runs over."""
    return view.shape[view.axes.index(axis)] if axis in view.axes else 1


def _origins(e: Expr, last: int, facts: Mapping[str, int]) -> list[int]:
    if isinstance(e, Const):
        return [int(e.value)]
    return list(range(0, last + 1, divisor(e, facts))) or [0]
