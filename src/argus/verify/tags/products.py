"""Matrix products: every pair that is multiplied agrees on what is summed over.

For operands A [groups, m, k] and B [groups or 1, n, k] as the instruction reads them:
a component that both have is the same for all m and n at each k (AG0301); one that runs
along k is contracted, and its coordinates are added to those that the accumulator has
seen, each once (AG0304, AG0309); the others become the tag of element (m, n), which is
that of the accumulator (AG0302). A padded k must be 0 in one operand (AG0310).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from argus.ir import ops as o
from argus.ir.memory import SharedView
from argus.ir.placement import MmaPlan, WgmmaPlan
from argus.isa import registry, wgmma
from argus.isa.matrix import element
from argus.layout import Fragment, wgmma_accumulator
from argus.verify.tags.accumulation import EXTRA, extra, is_partial, is_zero
from argus.verify.tags.compare import (
    Agreement,
    agree,
)
from argus.verify.tags.contraction import (
    ThreadOf,
    check_padding,
    contracted,
    seen,
    varies,
)
from argus.verify.tags.findings import operand
from argus.verify.tags.moving import move_tag
from argus.verify.tags.operands import (
    register_matrices,
    wgmma_registers,
    wgmma_shared,
)
from argus.verify.tags.shifting import met, product_shift
from argus.verify.tags.shifts import shift_of
from argus.verify.tags.state import WalkState
from argus.verify.tags.sums import added
from argus.verify.tags.values import (
    AbstractValue,
    Coord,
    CoordinateRange,
    Flaw,
    Hole,
    Ints,
    Kind,
    Lane,
    ReducedDimension,
    Tag,
    Vague,
    least_ends,
    least_limits,
)
from argus.verify.verdict import Verdict

__all__ = ["dot"]

Spread = Callable[[Ints], Ints]
"""From [groups, rows or columns] of a matrix to the registers of the accumulator."""


def dot(state: WalkState, op: o.Dot) -> AbstractValue:
    """The value of a product's result."""
    match op.plan:
        case WgmmaPlan():
            return _wgmma(state, op, op.plan)
        case MmaPlan():
            return _mma(state, op, op.plan)
        case None:
            return state.vague(op.result, "a product without a plan")


def _wgmma(state: WalkState, op: o.Dot, plan: WgmmaPlan) -> AbstractValue:
    warpgroups = state.threads // wgmma.THREADS
    if not isinstance(op.b, SharedView) or state.threads % wgmma.THREADS:
        return state.vague(op.result, "a wgmma with B in registers")
    of = element(op.b.dtype)
    if of is None:
        return state.vague(op.result, f"a product of {op.b.dtype}")
    depth = of.depth
    b = wgmma_shared(state, op, plan.b, op.b, plan.inst_n, depth, warpgroups)
    if isinstance(op.a, SharedView):
        if plan.a is None:
            return state.vague(op.result, "a plan for A in registers, which is not")
        a = wgmma_shared(state, op, plan.a, op.a, wgmma.ROWS, depth, warpgroups)
    else:
        a = wgmma_registers(state, op.a, plan.m_atoms, depth * plan.k_steps)
    if a is None or b is None:
        return state.vague(op.result, "an operand of the product is not known")
    fragment = wgmma_accumulator(
        wgmma.ROWS * plan.m_atoms, plan.n_atoms * plan.inst_n, 1, plan.inst_n
    )
    table = fragment.table()

    def rows(x: Ints) -> Ints:
        spread = np.broadcast_to(x, (warpgroups, x.shape[1]))
        return spread[:, table[:, :, 0]].reshape(-1, fragment.num_regs)

    def columns(x: Ints) -> Ints:
        spread = np.broadcast_to(x, (warpgroups, x.shape[1]))
        return spread[:, table[:, :, 1]].reshape(-1, fragment.num_regs)

    thread_of = _threads(fragment, warpgroups)
    names = contracted(state, op, a, b, thread_of)
    sums = seen(state, op, a, b, names, None)
    return _result(state, op, a, b, names, rows, columns, sums, thread_of)


def _mma(state: WalkState, op: o.Dot, plan: MmaPlan) -> AbstractValue:
    if isinstance(op.a, SharedView) or isinstance(op.b, SharedView):
        return state.vague(op.result, f"{plan.instruction} with shared operands")
    does = registry.register_product(plan.instruction)
    if does.element != element(op.b.dtype):
        return state.vague(op.result, f"{plan.instruction} of {op.b.dtype}")
    steps = np.array([(s.acc, s.a, s.b) for s in plan.steps])
    a = register_matrices(state, op.a, steps[:, 1], does.a)
    b = register_matrices(state, op.b, steps[:, 2], does.b)
    fragment, lanes = does.d, does.lanes
    table = fragment.table()
    warps = state.threads // lanes
    count, first = len(steps), steps[:, 0]
    shape = state.shape(op.result)
    clash: list[bool] = []

    def place(x: Ints, axis: int) -> Ints:
        per_step = x.reshape(count, warps, -1)[:, :, table[:, :, axis]]
        result = np.zeros((warps, lanes, shape[1]), np.int64)
        for s in range(count):
            result[:, :, first[s] : first[s] + fragment.num_regs] = per_step[s]
        for s in range(count):
            held = result[:, :, first[s] : first[s] + fragment.num_regs]
            if not np.array_equal(held, per_step[s]):
                clash.append(True)
                break
        return result.reshape(shape)

    thread_of = _threads(fragment, warps)
    names = contracted(state, op, a, b, thread_of)
    sums = seen(state, op, a, b, names, (first, warps))
    made = _result(
        state, op, a, b, names,
        lambda x: place(x, 0), lambda x: place(x, 1), sums, thread_of,
    )  # fmt: skip
    if clash:
        model = state.scope.some_point()
        state.report(
            "AG0302",
            "steps that add to one accumulator belong to one row and column",
            op.span,
            Agreement(Verdict.REFUTED, "enumeration", "", model),
        )
    return made


def _threads(fragment: Fragment, groups: int) -> ThreadOf:
    """Who holds the result of a row and a column; groups repeat with each step."""
    table = fragment.table()

    def thread_of(group: int, row: int, column: int) -> int:
        held = (table[..., 0] == row) & (table[..., 1] == column)
        own = int(np.argmax(held.any(axis=1)))
        return group % groups * fragment.num_threads + own

    return thread_of


# ----------------------------------------------------------------------- result


def _result(
    state: WalkState,
    op: o.Dot,
    a: AbstractValue,
    b: AbstractValue,
    names: list[str],
    rows: Spread,
    columns: Spread,
    sums: dict[str, tuple[ReducedDimension, ...]],
    thread_of: ThreadOf,
) -> AbstractValue:
    """The tag of each accumulator register, after the accumulator was compared."""
    tags: dict[str, Tag] = {}
    sides = ((a, rows, op.a.dims[:-1]), (b, columns, op.b.dims[1:]))
    for value, spread, own in sides:
        for name, tag in value.tags.items():
            if name in names:
                continue
            if varies(tag):
                # A sum over several has none of it; a row must not be such a sum.
                if name in own:
                    _mixed(state, op, name, value, thread_of)
                    tags[name] = Vague("rows that are put together from several")
                continue
            tags[name] = move_tag(tag, lambda x, s=spread: s(x[..., 0]))
    holes = _holes(state, op, a, b, rows, columns)
    extents = {n: e for v in (b, a) for n, e in v.extents.items() if n in tags}
    loose = {n: e for v in (b, a) for n, e in v.loose.items() if n in tags}
    shape = state.shape(op.result)
    chain = max(a.chain, b.chain, key=len)
    kind: Kind = 0.0 if 0 in (a.kind, b.kind) else "data"
    carried = {n: s for v in (a, b) for n, s in v.sums.items() if n not in names}
    made = AbstractValue(
        shape, tags, holes, kind, sums={**carried, **sums}, extents=extents,
        loose=loose, chain=chain,
        limits={n: e for n, e in least_limits([a, b]).items() if n in tags},
        ends={n: e for n, e in least_ends([a, b]).items() if n in tags},
        shift=product_shift(state.scope, a, b, names),
    ).with_step("multiplied and added", op.span)  # fmt: skip
    if op.acc is None:
        return made
    return _accumulated(state, op, state.get(op.acc), made)


def _mixed(
    state: WalkState,
    op: o.Dot,
    name: str,
    value: AbstractValue,
    thread_of: ThreadOf,
) -> None:
    """A row (or column) of the product is put together from several."""
    model = state.scope.some_point()
    tag = value.tags[name]
    element = (0, 0, 0)
    if isinstance(tag, Coord):
        other = tag.offs != tag.offs[..., :1]
        element = tuple(
            int(i) for i in np.unravel_index(int(np.argmax(other)), other.shape)
        )
    first = operand("first", value, (*element[:-1], 0), model, state.scope)
    later = operand("later", value, element, model, state.scope)
    state.report(
        "AG0302",
        f"each element of the product belongs to one {name}",
        op.span,
        Agreement(Verdict.REFUTED, "enumeration", "", model, element),
        f"elements of different {name} are summed into one",
        f"{name} = {first.tag.get(name)} and {name} = {later.tag.get(name)}",
        [first, later],
        thread=thread_of(element[0], 0, 0),
    )


def _along(lane: Lane, tag: Tag) -> Lane:
    """A factor of the product that changes along with what is summed: `lanes.py`."""
    if isinstance(tag, Coord) and not (tag.offs != lane.offs).any():
        return replace(
            lane, terms=(*lane.terms, CoordinateRange(tag.base, 1)), once=False
        )
    flaw = Flaw("a factor of the product is at another place than before", False)
    return replace(lane, flaw=lane.flaw or flaw)


def _accumulated(
    state: WalkState, op: o.Dot, acc: AbstractValue, made: AbstractValue
) -> AbstractValue:
    tags = {**acc.tags, **made.tags}
    lanes = dict(acc.lanes)
    for name in made.tags:
        if name in lanes:
            tags.pop(name, None)
            lanes[name] = _along(lanes[name], made.tags[name])
        if name not in acc.tags:
            continue
        modulo = max(0, acc.loose.get(name, 0) or made.loose.get(name, 0))
        outcome = agree(acc.tags[name], made.tags[name], state.scope, modulo)
        claim = f"each accumulator element keeps its {name}"
        if outcome.proved:
            state.report("AG0302", claim, op.span, outcome)
            continue
        element = outcome.element
        before = operand("accumulator", acc, element, outcome.model, state.scope)
        now = operand("product", made, element, outcome.model, state.scope)
        state.report(
            "AG0302",
            claim,
            op.span,
            outcome,
            f"an accumulator element changes its {name}",
            f"{name} = {before.tag.get(name)} before, {now.tag.get(name)} now",
            [before, now],
            thread=element[0] if element else None,
        )
    sums = dict(made.sums)
    for name, several in acc.sums.items():
        mine = sums.get(name)
        sums[name] = several if mine is None else added(state.scope, several, mine)
    if is_partial(state.scope, acc) != is_partial(state.scope, made):
        whole_ = made if is_partial(state.scope, acc) else acc
        if not is_zero(whole_):
            sums[f"{EXTRA}{op.span.line}:{op.span.column}"] = extra()
    shifts = shift_of(state.scope, acc), made.shift
    shift = None
    if shifts != (None, None):
        shift = met(state, op, acc, made, shifts)
    holes = list(made.holes)
    for h in acc.holes:
        at = next((i for i, x in enumerate(holes) if _one(state, x, h)), None)
        if at is None:
            holes.append(replace(h, kind="junk" if h.kind != 0 else 0.0))
        elif h.kind != 0:
            holes[at] = replace(holes[at], kind="junk")
    kind: Kind = 0.0 if acc.kind == 0 and made.kind == 0 else "data"
    return replace(
        made,
        tags=tags,
        holes=tuple(holes),
        kind=kind,
        sums=sums,
        lanes=lanes,
        shift=shift,
        extents={**acc.extents, **made.extents},
    )


def _one(state: WalkState, a: Hole, b: Hole) -> bool:
    if a.name != b.name or a.extent != b.extent:
        return False
    return agree(a.where, b.where, state.scope).proved


def _holes(
    state: WalkState,
    op: o.Dot,
    a: AbstractValue,
    b: AbstractValue,
    rows: Spread,
    columns: Spread,
) -> tuple[Hole, ...]:
    kept: list[Hole] = []
    for mine, other, spread in ((a, b, rows), (b, a, columns)):
        for h in mine.holes:
            if varies(h.where) or isinstance(h.where, Vague):
                check_padding(state, op, mine, other, h)
                continue
            where = move_tag(h.where, lambda x, s=spread: s(x[..., 0]))
            kind: Kind = 0.0 if h.kind == 0 else "junk"
            kept.append(replace(h, where=where, kind=kind))
    return tuple(kept)
