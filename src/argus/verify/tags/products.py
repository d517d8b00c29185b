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
from argus.ir.expr import binary
from argus.ir.memory import SharedView
from argus.ir.placement import MmaPlan, WgmmaPlan
from argus.layout import mma_accumulator, wgmma_accumulator
from argus.verify.tags.compare import (
    Outcome,
    agree,
    agree_arrays,
    unknown,
    value_of,
    within,
)
from argus.verify.tags.findings import operand
from argus.verify.tags.operands import (
    mma_matrices,
    wgmma_registers,
    wgmma_shared,
)
from argus.verify.tags.state import State
from argus.verify.tags.sums import added, complete
from argus.verify.tags.values import (
    Coord,
    Hole,
    Ints,
    Kind,
    Loaded,
    Span,
    Sum,
    Tag,
    Vague,
    Value,
    least_limits,
    move_tag,
)
from argus.verify.verdict import Verdict

__all__ = ["dot"]

Spread = Callable[[Ints], Ints]
"""From [groups, rows or columns] of a matrix to the registers of the accumulator."""


def dot(state: State, op: o.Dot) -> Value:
    """The value of a product's result."""
    match op.plan:
        case WgmmaPlan():
            return _wgmma(state, op, op.plan)
        case MmaPlan():
            return _mma(state, op, op.plan)
        case None:
            return state.vague(op.result, "a product without a plan")


def _wgmma(state: State, op: o.Dot, plan: WgmmaPlan) -> Value:
    warpgroups = state.threads // 128
    if not isinstance(op.b, SharedView) or state.threads % 128:
        return state.vague(op.result, "a wgmma with B in registers")
    b = wgmma_shared(state, op, plan.b, op.b, plan.inst_n, warpgroups)
    if isinstance(op.a, SharedView):
        if plan.a is None:
            return state.vague(op.result, "a plan for A in registers, which is not")
        a = wgmma_shared(state, op, plan.a, op.a, 64, warpgroups)
    else:
        a = wgmma_registers(state, op.a, plan.m_atoms, plan.k_steps)
    if a is None or b is None:
        return state.vague(op.result, "an operand of the product is not known")
    fragment = wgmma_accumulator(
        64 * plan.m_atoms, plan.n_atoms * plan.inst_n, 1, plan.inst_n
    )
    table = fragment.table()

    def rows(x: Ints) -> Ints:
        spread = np.broadcast_to(x, (warpgroups, x.shape[1]))
        return spread[:, table[:, :, 0]].reshape(-1, fragment.num_regs)

    def columns(x: Ints) -> Ints:
        spread = np.broadcast_to(x, (warpgroups, x.shape[1]))
        return spread[:, table[:, :, 1]].reshape(-1, fragment.num_regs)

    depth = _contracted(state, op, a, b)
    sums = _seen(state, op, a, b, depth, None)
    return _result(state, op, a, b, depth, rows, columns, sums)


def _mma(state: State, op: o.Dot, plan: MmaPlan) -> Value:
    if isinstance(op.a, SharedView) or isinstance(op.b, SharedView):
        return state.vague(op.result, "an mma.sync with operands in shared memory")
    a = mma_matrices(state, op.a, plan.steps, False)
    b = mma_matrices(state, op.b, plan.steps, True)
    fragment = mma_accumulator(16, 8)
    table = fragment.table()
    warps = state.threads // 32
    count = len(plan.steps)
    first = np.array([s.acc for s in plan.steps])
    shape = state.shape(op.result)
    clash: list[bool] = []

    def place(x: Ints, axis: int) -> Ints:
        per_step = x.reshape(count, warps, -1)[:, :, table[:, :, axis]]
        result = np.zeros((warps, 32, shape[1]), np.int64)
        for s in range(count):
            result[:, :, first[s] : first[s] + fragment.num_regs] = per_step[s]
        for s in range(count):
            held = result[:, :, first[s] : first[s] + fragment.num_regs]
            if not np.array_equal(held, per_step[s]):
                clash.append(True)
                break
        return result.reshape(shape)

    depth = _contracted(state, op, a, b)
    sums = _seen(state, op, a, b, depth, (first, warps))
    made = _result(
        state, op, a, b, depth,
        lambda x: place(x, 0), lambda x: place(x, 1), sums,
    )  # fmt: skip
    if clash:
        model = state.scope.some_point()
        state.report(
            "AG0302",
            "steps that add to one accumulator belong to one row and column",
            op.span,
            Outcome(Verdict.REFUTED, "enumeration", "", model),
        )
    return made


# ------------------------------------------------------------------ contraction


def _varies(tag: Tag | None) -> bool:
    """Whether a component of a matrix runs along k."""
    match tag:
        case Coord():
            return bool((tag.offs != tag.offs[..., :1]).any())
        case Loaded():
            return any(_varies(x) for x in tag.at)
        case _:
            return False


def _contracted(state: State, op: o.Dot, a: Value, b: Value) -> list[str]:
    """Names that are summed over, after showing that the operands agree on them."""
    shared = [n for n in a.tags if n in b.tags]
    found: list[str] = []
    wanted = op.a.dims[-1]
    for name in shared:
        x, y = a.tags[name], b.tags[name]
        along = _varies(x) or _varies(y) or name == wanted
        if along:
            found.append(name)
        modulo = a.loose.get(name, 0) or b.loose.get(name, 0)
        outcome = _pairs(x, y, state, modulo)
        what = (
            f"every pair multiplied has one {name}"
            if along
            else f"both operands have one {name}"
        )
        _report_pair(state, op, name, a, b, outcome, what)
    if not any(_varies(a.tags[n]) for n in found):
        names = [n for n in a.tags if _varies(a.tags[n])]
        others = [n for n in b.tags if _varies(b.tags[n])]
        apart = names and others and not set(names) & set(others)
        outcome = unknown("the operands carry no component that both run along")
        if apart and not found:
            model = state.scope.some_point()
            outcome = Outcome(Verdict.REFUTED, "enumeration", "", model, (0, 0, 0, 0))
        label = f"{'/'.join(names)} on the left, {'/'.join(others)} on the right"
        if a.kind == "data" and b.kind == "data":
            state.report(
                "AG0301",
                "what the product sums over is one dimension",
                op.span,
                outcome,
                "elements that share no dimension are multiplied and summed",
                label,
                [
                    operand("left", a, (0, 0, 0), outcome.model, state.scope),
                    operand("right", b, (0, 0, 0), outcome.model, state.scope),
                ],
            )
    return found


def _pairs(x: Tag, y: Tag, state: State, modulo: int) -> Outcome:
    """Whether x[g, m, k] == y[g, n, k] for all g, m, n, k.

    The element of an outcome is (g, m, n, k).
    """
    if isinstance(x, Coord) and isinstance(y, Coord):
        # Equal for all m and n exactly when both are constant along m and n.
        first = agree_arrays(
            x.base, x.offs[:, :, None, :], y.base, y.offs[:, None, :1, :],
            state.scope, modulo,
        )  # fmt: skip
        if not first.proved:
            return first
        return agree_arrays(
            x.base, x.offs[:, None, :1, :], y.base, y.offs[:, None, :, :],
            state.scope, modulo,
        )  # fmt: skip
    if isinstance(x, Loaded) and isinstance(y, Loaded) and x.table == y.table:
        for p, q in zip(x.at, y.at, strict=True):
            found = _pairs(p, q, state, modulo)
            if not found.proved:
                return found
        return Outcome(Verdict.PROVED)
    return agree(x, y, state.scope)


def _report_pair(
    state: State, op: o.Dot, name: str, a: Value, b: Value, found: Outcome, claim: str
) -> None:
    element = found.element if len(found.element) == 4 else (0, 0, 0, 0)
    g, m, n, k = element
    if found.method == "enumeration" and found.element:
        # The witness was searched with the other side's first row or column.
        m = min(m, a.shape[1] - 1)
        n = min(n, b.shape[1] - 1)
    model = found.model
    x = value_of(a.tags[name], (g, m, k), model, state.scope)
    y = value_of(b.tags[name], (min(g, b.shape[0] - 1), n, k), model, state.scope)
    left = operand("left", a, (g, m, k), model, state.scope, (m, k))
    right = operand(
        "right", b, (min(g, b.shape[0] - 1), n, k), model, state.scope, (k, n)
    )
    gathered = any(isinstance(t, Loaded) for t in (a.tags[name], b.tags[name]))
    state.report(
        "AG0315" if gathered else "AG0301",
        claim,
        op.span,
        found,
        f"elements that do not share {name} are multiplied",
        f"{name} = {x} on the left, {name} = {y} on the right",
        [left, right],
        thread=g * 128 + m % 16 % 8 * 4,
        notes=[f"operand elements ({m}, {k}) x ({k}, {n})"],
    )


def _seen(
    state: State,
    op: o.Dot,
    a: Value,
    b: Value,
    names: list[str],
    steps: tuple[Ints, int] | None,
) -> dict[str, tuple[Sum, ...]]:
    """Coordinates added per accumulator element: each once, without gaps."""
    result: dict[str, tuple[Sum, ...]] = {}
    for name in names:
        tag = a.tags[name]
        if not isinstance(tag, Coord):
            continue
        along = tag.offs[:, 0, :]
        if steps is not None:
            first, warps = steps
            along = _by_accumulator(along, first, warps)
            if along is None:
                state.report(
                    "AG0304",
                    f"each accumulator sees as many {name}",
                    op.span,
                    Outcome(
                        Verdict.REFUTED, "enumeration", "", state.scope.some_point()
                    ),
                )
                continue
        ordered = np.sort(along, axis=1)
        low, n = int(ordered[0, 0]), ordered.shape[1]
        right = bool((ordered == low + np.arange(n)).all())
        again = bool((ordered[:, 1:] == ordered[:, :-1]).any())
        model = state.scope.some_point()
        outcome = Outcome(Verdict.PROVED, "enumeration")
        if not right:
            outcome = Outcome(Verdict.REFUTED, "enumeration", "", model, (0, 0, 0, 0))
        state.report(
            "AG0309" if again else "AG0304",
            f"the steps of the product sum over each {name} of the tile once",
            op.span,
            outcome,
            f"a product sums over {name} {'twice' if again else 'with gaps'}",
            f"the steps see {ordered[0, :4].tolist()}...",
            [operand("left", a, (0, 0, 0), model, state.scope)],
        )
        extent = a.extents.get(name) or b.extents.get(name)
        if extent is None or not right:
            continue
        for limited in (a, b):
            if name in limited.limits:
                extent = binary("min", extent, limited.limits[name])
        made = Sum(extent, (Span(binary("+", tag.base, low), n),))
        whole = op.acc is None or name not in state.get(op.acc).sums
        if whole and _complete_at_once(state, made):
            continue
        result[name] = (made,)
    return result


def _complete_at_once(state: State, made: Sum) -> bool:
    return complete(made, state.scope).outcome.proved


def _by_accumulator(along: Ints, first: Ints, warps: int) -> Ints | None:
    """k coordinates [accumulators * warps, all k] of the steps of mma.sync."""
    per_step = along.reshape(len(first), warps, -1)
    groups = [np.flatnonzero(first == start) for start in np.unique(first)]
    if len({len(g) for g in groups}) != 1:
        return None
    rows = [per_step[g].transpose(1, 0, 2).reshape(warps, -1) for g in groups]
    return np.concatenate(rows)


# ----------------------------------------------------------------------- result


def _result(
    state: State,
    op: o.Dot,
    a: Value,
    b: Value,
    names: list[str],
    rows: Spread,
    columns: Spread,
    sums: dict[str, tuple[Sum, ...]],
) -> Value:
    """The tag of each accumulator register, after the accumulator was compared."""
    tags: dict[str, Tag] = {}
    for value, spread in ((a, rows), (b, columns)):
        for name, tag in value.tags.items():
            if name in names or _varies(tag):
                continue
            tags[name] = move_tag(tag, lambda x, s=spread: s(x[..., 0]))
    holes = _holes(state, op, a, b, rows, columns)
    extents = {n: e for v in (b, a) for n, e in v.extents.items() if n in tags}
    loose = {n: e for v in (b, a) for n, e in v.loose.items() if n in tags}
    shape = state.shape(op.result)
    chain = max(a.chain, b.chain, key=len)
    kind: Kind = 0.0 if 0 in (a.kind, b.kind) else "data"
    carried = {n: s for v in (a, b) for n, s in v.sums.items() if n not in names}
    made = Value(
        shape, tags, holes, kind, sums={**carried, **sums}, extents=extents,
        loose=loose, chain=chain,
        limits={n: e for n, e in least_limits([a, b]).items() if n in tags},
    ).with_step("multiplied and added", op.span)  # fmt: skip
    if op.acc is None:
        return made
    return _accumulated(state, op, state.get(op.acc), made)


def _accumulated(state: State, op: o.Dot, acc: Value, made: Value) -> Value:
    for name in made.tags:
        if name not in acc.tags:
            continue
        modulo = acc.loose.get(name, 0) or made.loose.get(name, 0)
        outcome = agree(acc.tags[name], made.tags[name], state.scope, modulo)
        element = outcome.element
        before = operand("accumulator", acc, element, outcome.model, state.scope)
        now = operand("product", made, element, outcome.model, state.scope)
        state.report(
            "AG0302",
            f"each accumulator element keeps its {name}",
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
        tags={**acc.tags, **made.tags},
        holes=tuple(holes),
        kind=kind,
        sums=sums,
        extents={**acc.extents, **made.extents},
    )


def _one(state: State, a: Hole, b: Hole) -> bool:
    if a.name != b.name or a.extent != b.extent:
        return False
    return agree(a.where, b.where, state.scope).proved


def _holes(
    state: State, op: o.Dot, a: Value, b: Value, rows: Spread, columns: object
) -> tuple[Hole, ...]:
    kept: list[Hole] = []
    for mine, other, spread in ((a, b, rows), (b, a, columns)):
        for h in mine.holes:
            if _varies(h.where) or isinstance(h.where, Vague):
                _check_padding(state, op, mine, other, h)
                continue
            where = move_tag(h.where, lambda x, s=spread: s(x[..., 0]))
            kind: Kind = 0.0 if h.kind == 0 else "junk"
            kept.append(replace(h, where=where, kind=kind))
    return tuple(kept)


def _check_padding(state: State, op: o.Dot, mine: Value, other: Value, h: Hole) -> None:
    """A padded k: one operand is 0 there and the other not arbitrary bits."""
    opposite: Kind = other.kind
    for x in other.holes:
        if x.name == h.name and (_varies(x.where) or isinstance(x.where, Vague)):
            opposite = x.kind
    ok = (h.kind == 0 and opposite != "junk") or (opposite == 0 and h.kind != "junk")
    if ok:
        outcome = Outcome(Verdict.PROVED, "normal form")
    else:
        outcome = within(h.where, h.extent, state.scope)
    element = outcome.element if outcome.element else (0, 0, 0)
    state.report(
        "AG0310",
        f"elements outside {h.what} add 0 to the product",
        op.span,
        outcome,
        f"elements outside {h.what} reach a sum",
        f"an element past the end of {h.name} is multiplied by one that is not 0",
        [operand("element", mine, element, outcome.model, state.scope)],
        help="fill with 0, or mask with `ag.where`",
    )
