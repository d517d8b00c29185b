"""Tensors that a kernel both reads and writes.

Blocks run in any order, and nothing orders the accesses of two of them to global
memory. Inside a block the walk follows shared memory only. So there is one form in
which a tensor may be read and written, *in place*: one role loads a tile into registers
and stores the same tile (the same coordinates, in the same iteration of the same
loops), and each element is stored by the warp that loaded it, or syncs lie between, on
the way to the next iteration, too. Loops may differ where they move over the same tiles
and one thread alone loads and stores each place of these (`steady_tiles.py`).
That the grid writes each element once (AG0306, AG0307) makes it that tile's alone.

What another block writes is refuted, with the element; whatever else is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Expr, substitute
from argus.ir.memory import GlobalTensor, GlobalView
from argus.ir.placement import VectorPlan
from argus.ir.program import Program
from argus.ir.walk import bodies, defined, lets, used, walk
from argus.isa.effects import effects_of
from argus.verify.evidence import Counterexample, Event, ThreadPlace
from argus.verify.order.cross_block import Clash, clash
from argus.verify.order.steady_tiles import closed, steady
from argus.verify.verdict import Obligation, Verdict

__all__ = [
    "CLAIM", "RULE", "GlobalAccess", "RoleSync", "accesses", "between", "holders",
    "in_place", "owned", "same_tile", "syncs_of",
]  # fmt: skip

RULE = "AG0424"
CLAIM = "nobody writes what is read here, unless it is read and written in place"


@dataclass(frozen=True)
class GlobalAccess:
    """An operation on global memory: whose, in which loops, after how many others."""

    op: o.AnyOp
    tensor: GlobalTensor
    view: GlobalView | None
    write: bool
    atomic: bool
    role: str
    loops: tuple[o.For, ...]
    place: int
    lets: dict[str, Expr]
    ends: tuple[o.StoreGlobal, ...] | None = None
    """Stores of all that is made of what is loaded, each thread of its own; or None."""


def in_place(program: Program) -> Iterator[Obligation]:
    """An obligation for each read of a tensor that is written, too."""
    found = list(accesses(program))
    written = {a.tensor.name for a in found if a.write}
    reads = [a for a in found if not a.write and a.tensor.name in written]
    if not reads:
        return
    syncs = syncs_of(program)
    clashes = clash(program, {a.tensor.name for a in reads})
    for read in reads:
        writes = [a for a in found if a.write and a.tensor is read.tensor]
        wrong = next((c for c in clashes if c.read is read.op), None)
        if wrong is not None:
            yield _refuted(read, wrong)
            continue
        why = [_apart(read, w, syncs) for w in writes]
        if "" in why and not any(w.atomic for w in writes):
            yield Obligation(RULE, CLAIM, read.op.span, Verdict.PROVED, "in place")
        else:
            reason = next(w for w in why if w) if any(why) else "atomics change it"
            yield Obligation(
                RULE, CLAIM, read.op.span, Verdict.UNKNOWN, "in place", reason
            )


def _refuted(read: GlobalAccess, wrong: Clash) -> Obligation:
    name, line = read.tensor.name, wrong.write.span.line
    at = ", ".join(map(str, wrong.element))
    places = [f"block {wrong.reader}", f"block {wrong.writer}"]
    return Obligation(
        RULE,
        CLAIM,
        read.op.span,
        Verdict.REFUTED,
        "admissible sizes",
        counterexample=Counterexample(
            f"{places[0]} reads {name}[{at}], which {places[1]} writes in line {line}:"
            " nothing orders two blocks",
            "another block writes it",
            ThreadPlace(read.role, None, wrong.reader, {}),
            wrong.sizes,
            interleaving=(
                Event(places[1], f"writes {name}[{at}]", wrong.write.span),
                Event(places[0], f"reads {name}[{at}]", read.op.span),
            ),
            help="write to another tensor, or do the two in two launches",
        ),
    )


# ---------------------------------------------------------------------- in place


def _apart(
    read: GlobalAccess, write: GlobalAccess, syncs: dict[str, list[RoleSync]]
) -> str:
    """Why a write is not the same tile in place; "" if it is."""
    line = write.op.span.line
    if read.view is None or write.view is None or not isinstance(read.op, o.LoadGlobal):
        return f"line {line} writes to {read.tensor.name}, too"
    if read.role == write.role and read.loops != write.loops:
        form = steady(read)
        if form is not None and form == steady(write):
            own = owned(read.op, write.op, exactly=True, ends=read.ends)
            return "" if own else f"line {line} writes what another thread may read"
    if read.role != write.role or read.loops != write.loops:
        return f"line {line} writes to {read.tensor.name} at another time"
    if not same_tile(read, write):
        return f"line {line} writes other elements of {read.tensor.name}, or the same"
    if effects_of(write.op).later and write.place < read.place:
        return f"line {line} stores by TMA, and nothing waits for its completion"
    if between(read, write, syncs):
        return ""
    own = owned(read.op, write.op, exactly=write.place < read.place, ends=read.ends)
    return "" if own else f"line {line} writes what another thread may still read"


def same_tile(read: GlobalAccess, write: GlobalAccess) -> bool:
    """Whether two accesses are plainly of one tile, in one iteration."""
    a, b = read.view, write.view
    assert a is not None
    assert b is not None
    if a.shape != b.shape or len(a.gathers) != len(b.gathers):
        return False
    names = {y.symbol.name: x.symbol for x, y in zip(a.gathers, b.gathers, strict=True)}
    if any(
        x.tile is not y.tile or x.axis != y.axis
        for x, y in zip(a.gathers, b.gathers, strict=True)
    ):
        return False
    mine = [*a.coords, *(e for x in a.limits for e in (x.value, x.extent))]
    theirs = [*b.coords, *(e for x in b.limits for e in (x.value, x.extent))]
    return [closed(e, read.lets) for e in mine] == [
        closed(substitute(e, names), write.lets) for e in theirs
    ]


def owned(
    read: o.AnyOp,
    write: o.AnyOp,
    *,
    exactly: bool,
    ends: tuple[o.StoreGlobal, ...] | None,
) -> bool:
    """Whether each element is stored by the warp (the thread) that loads it."""
    if not isinstance(read, o.LoadGlobal) or not isinstance(write, o.StoreGlobal):
        return False
    if not isinstance(read.plan, VectorPlan) or not isinstance(write.plan, VectorPlan):
        return False
    size = 1 if exactly else 32
    stores = holders(write.plan, write.view.shape, size)
    loads = holders(read.plan, read.view.shape, 1)
    if ends is not None:
        # What a thread loads that stores nothing goes nowhere: as if it did not load.
        loads[~_storing(ends, len(loads))] = False
    if size > 1:
        loads = np.logical_or.reduceat(loads, range(0, len(loads), size), axis=0)
    # Nobody but the one that stores an element loads it, or the other way round.
    alone = stores.sum(axis=0) == 1
    return bool(alone.all() and not (loads & ~stores).any())


def _storing(ends: tuple[o.StoreGlobal, ...], threads: int) -> Any:
    """[threads]: who stores an element in any of these."""
    found = np.zeros(threads, np.bool_)
    for op in ends:
        assert isinstance(op.plan, VectorPlan)
        found |= holders(op.plan, op.view.shape, 1).any(axis=1)
    return found


def holders(plan: VectorPlan, shape: tuple[int, ...], size: int) -> Any:
    """[threads or warps, elements]: who accesses which element."""
    table: Any = plan.layout.table().astype(np.int64)
    flat: Any = np.zeros(table.shape[:-1], np.int64)  # of a tile of one element
    if shape:
        flat = np.ravel_multi_index(tuple(np.moveaxis(table, -1, 0)), shape)
    threads = int(flat.shape[0])
    who: Any = np.broadcast_to(np.arange(threads)[:, None] // size, flat.shape)
    found = np.zeros((-(-threads // size), int(np.prod(shape))), np.bool_)
    if plan.unique:
        owner = plan.layout.owner_mask()
        flat, who = flat[owner], who[owner]
    found[who, flat] = True
    return found


def between(a: GlobalAccess, b: GlobalAccess, syncs: dict[str, list[RoleSync]]) -> bool:
    """Whether a sync of their role lies on each way from one access to the other.

    Also from the later one to the earlier one of the next iteration.
    """
    loops: tuple[o.For, ...] = ()
    for mine, theirs in zip(a.loops, b.loops, strict=False):
        if mine is not theirs:
            break
        loops = (*loops, mine)
    first, second = sorted((a.place, b.place))
    places = [s.place for s in syncs.get(a.role, []) if s.loops == loops]
    straight = first == second or any(first < p < second for p in places)
    again = not loops or any(p > second or p < first for p in places)
    return straight and again


# --------------------------------------------------------------------- what there is


@dataclass(frozen=True)
class RoleSync:
    """A sync of all threads of a role, its loops, and after how many operations."""

    place: int
    loops: tuple[o.For, ...]


def _ordered(
    block: o.Block, loops: tuple[o.For, ...] = (), sure: bool = True
) -> Iterator[tuple[o.AnyOp, tuple[o.For, ...], bool]]:
    """Operations in program order, their loops, and whether each iteration has them."""
    for op in block.ops:
        yield op, loops, sure
        match op:
            case o.For():
                yield from _ordered(op.body, (*loops, op), sure=True)
            case o.If():
                yield from _ordered(op.then, loops, sure=False)
                yield from _ordered(op.other, loops, sure=False)
            case (
                o.Roles() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)


def syncs_of(program: Program) -> dict[str, list[RoleSync]]:
    """Where all threads of a role (or block) meet."""
    found: dict[str, list[RoleSync]] = {}
    for role, body in bodies(program.body):
        for place, (op, loops, sure) in enumerate(_ordered(body)):
            # Named ones are of several roles, or of some of the threads.
            own = isinstance(op, o.Sync) and op.name is None and not op.arrive_only
            if own and sure:
                found.setdefault(role, []).append(RoleSync(place, loops))
    return found


def accesses(program: Program) -> Iterator[GlobalAccess]:
    """What a placed program reads and writes of global tensors, role by role."""
    (_, common), *_ = bodies(program.body)
    outside = lets(common)
    for role, body in bodies(program.body):
        named = {**outside, **lets(body)}
        for place, (op, loops, _) in enumerate(_ordered(body)):
            does = effects_of(op)
            # What an atomic reads is for itself alone.
            found = [t for t in does.elsewhere if t.write] or does.elsewhere
            if not found:
                continue
            (touch,) = found
            atomic = isinstance(op, o.StoreGlobal) and op.atomic is not None
            what = (touch.tensor, touch.view, touch.write, atomic)
            ends = _ends(op, body) if isinstance(op, o.LoadGlobal) else None
            yield GlobalAccess(op, *what, role, loops, place, named, ends)


def _ends(load: o.LoadGlobal, body: o.Block) -> tuple[o.StoreGlobal, ...] | None:
    """Where all that is made of a tile is stored, if it stays in its thread until then.

    Operations that move elements, loops and branches keep registers in their threads
    (`check_layouts.py`).
    """
    reached: set[o.Tile] = {load.result}
    before = 0
    while len(reached) > before:
        before = len(reached)
        for op in walk(body):
            _follow(op, reached)
    found: list[o.StoreGlobal] = []
    for op in walk(body):
        if not reached.intersection(used(op)):
            continue
        match op:
            case o.Elementwise() | o.Cast() | o.Moving() | o.For() | o.If():
                pass  # what it makes of the tile is reached, too
            case o.StoreGlobal(plan=VectorPlan(unique=True)):
                found.append(op)
            case (
                o.Roles() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                return None
            case _:
                assert_never(op)
    return tuple(found)


def _follow(op: o.AnyOp, reached: set[o.Tile]) -> None:
    """Add what an operation makes, in the same threads, of tiles that are reached."""
    match op:
        case o.Elementwise() | o.Cast() | o.Moving():
            if reached.intersection(used(op)):
                reached.update(defined(op))
        case o.For():
            for carry in op.tiles:
                if carry.init in reached or carry.yielded in reached:
                    reached.update((carry.arg, carry.result))
        case o.If():
            for merge in op.tiles:
                if merge.then in reached or merge.other in reached:
                    reached.add(merge.result)
        case (
            o.Roles() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
            | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            pass  # what another use of a tile is, `_ends` asks
        case _:
            assert_never(op)
