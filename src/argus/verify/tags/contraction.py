"""What a product sums over: one dimension, each coordinate once, padding as 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import binary
from argus.ir.memory import GlobalTensor
from argus.verify.tags.compare import (
    Agreement,
    agree,
    agree_arrays,
    unknown,
    value_of,
    within,
)
from argus.verify.tags.findings import operand
from argus.verify.tags.scope import PathScope
from argus.verify.tags.state import WalkState
from argus.verify.tags.sums import complete
from argus.verify.tags.values import (
    AbstractValue,
    Coord,
    CoordinateRange,
    Hole,
    Ints,
    Kind,
    Loaded,
    ReducedDimension,
    Tag,
    Vague,
    least_ends,
)
from argus.verify.verdict import Verdict

__all__ = ["ThreadOf", "check_padding", "contracted", "seen", "varies"]


def varies(tag: Tag | None) -> bool:
    """Whether a component of a matrix runs along k."""
    match tag:
        case Coord():
            return bool((tag.offs != tag.offs[..., :1]).any())
        case Loaded():
            return any(varies(x) for x in tag.at)
        case Vague() | None:
            return False


ThreadOf = Callable[[int, int, int], int]
"""From a group of the operands, a row of A and one of B: who multiplies them."""


def contracted(
    state: WalkState,
    op: o.Dot,
    a: AbstractValue,
    b: AbstractValue,
    thread_of: ThreadOf,
) -> list[str]:
    """Names that are summed over, after showing that the operands agree on them."""
    shared = [n for n in a.tags if n in b.tags]
    found: list[str] = []
    wanted = op.a.dims[-1]
    for name in shared:
        x, y = a.tags[name], b.tags[name]
        along = varies(x) or varies(y) or name == wanted
        if along:
            found.append(name)
        modulo = max(0, a.loose.get(name, 0) or b.loose.get(name, 0))
        outcome = _pairs(x, y, state.scope, modulo)
        what = (
            f"every pair multiplied has one {name}"
            if along
            else f"both operands have one {name}"
        )
        _report_pair(state, op, name, a, b, outcome, what, thread_of)
    if not any(varies(a.tags[n]) for n in found):
        names = [n for n in a.tags if varies(a.tags[n])]
        others = [n for n in b.tags if varies(b.tags[n])]
        apart = names and others and not set(names) & set(others)
        outcome = unknown("the operands carry no component that both run along")
        if apart and not found:
            model = state.scope.some_point()
            outcome = Agreement(Verdict.REFUTED, "enumeration", "", model, (0, 0, 0, 0))
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
    for mine, other, label in ((a, b, "left"), (b, a, "right")):
        _one_of_each(state, op, mine, other, label, found)
    return found


def _one_of_each(
    state: WalkState,
    op: o.Dot,
    mine: AbstractValue,
    other: AbstractValue,
    label: str,
    along: list[str],
) -> None:
    """What only one operand has is the same for all k, else the sum is over it, too.

    Asked of dimensions of a tensor that has the one that is contracted, too. Components
    that the author or a view added may vary.
    """
    tensors = [p for p in state.world.program.params if isinstance(p, GlobalTensor)]
    beside = {d for t in tensors if set(along) & set(t.dims) for d in t.dims}
    for name, tag in mine.tags.items():
        if name in other.tags or name not in beside or not varies(tag):
            continue
        assert isinstance(tag, Coord | Loaded)
        offs = tag.offs if isinstance(tag, Coord) else None
        k = 0
        if offs is not None:
            k = int(np.argwhere(offs != offs[..., :1])[0][-1])
        model = state.scope.some_point()
        state.report(
            "AG0301",
            f"all elements of a row have one {name}",
            op.span,
            Agreement(Verdict.REFUTED, "enumeration", "", model, (0, 0, k)),
            f"elements of different {name} are added into one sum",
            f"{name} changes along the dimension that is summed over",
            [
                operand(label, mine, (0, 0, x), model, state.scope)
                for x in dict.fromkeys((0, k))
            ],
        )


def _pairs(x: Tag, y: Tag, scope: PathScope, modulo: int) -> Agreement:
    """Whether x[g, m, k] == y[g, n, k] for all g, m, n, k.

    The element of an outcome is (g, m, n, k).
    """
    if isinstance(x, Coord) and isinstance(y, Coord):
        # Equal for all m and n exactly when both are constant along m and n.
        first = agree_arrays(
            x.base, x.offs[:, :, None, :], y.base, y.offs[:, None, :1, :],
            scope, modulo,
        )  # fmt: skip
        if not first.proved:
            return first
        return agree_arrays(
            x.base, x.offs[:, None, :1, :], y.base, y.offs[:, None, :, :],
            scope, modulo,
        )  # fmt: skip
    if isinstance(x, Loaded) and isinstance(y, Loaded) and x.table == y.table:
        for p, q in zip(x.at, y.at, strict=True):
            found = _pairs(p, q, scope, modulo)
            if not found.proved:
                return found
        return Agreement(Verdict.PROVED)
    if not isinstance(x, Vague) and not isinstance(y, Vague):
        return agree(x, y, scope)
    for known, when in ((x, y), (y, x)):
        if isinstance(known, Vague) and known.first and known.when is not None:
            pair = (known.first, when) if known is x else (when, known.first)
            if not isinstance(when, Vague):
                found = _pairs(*pair, scope.when(known.when), modulo)
                if found.verdict is Verdict.REFUTED:
                    return found
    first, second = (t.reason if isinstance(t, Vague) else "" for t in (x, y))
    return unknown(first or second)


def _report_pair(
    state: WalkState,
    op: o.Dot,
    name: str,
    a: AbstractValue,
    b: AbstractValue,
    found: Agreement,
    claim: str,
    thread_of: ThreadOf,
) -> None:
    gathered = any(isinstance(x.tags[name], Loaded) for x in (a, b))
    rule = "AG0315" if gathered else "AG0301"
    if found.proved:
        state.report(rule, claim, op.span, found)
        return
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
    state.report(
        rule,
        claim,
        op.span,
        found,
        f"elements that do not share {name} are multiplied",
        f"{name} = {x} on the left, {name} = {y} on the right",
        [left, right],
        thread=thread_of(g, m, n),
        notes=[f"operand elements ({m}, {k}) x ({k}, {n})"],
    )


def seen(
    state: WalkState,
    op: o.Dot,
    a: AbstractValue,
    b: AbstractValue,
    names: list[str],
    steps: tuple[Ints, int] | None,
) -> dict[str, tuple[ReducedDimension, ...]]:
    """Coordinates added per accumulator element: each once, without gaps."""
    result: dict[str, tuple[ReducedDimension, ...]] = {}
    for name in names:
        tag = a.tags[name]
        extent = a.extents.get(name) or b.extents.get(name)
        if not isinstance(tag, Coord) or extent is None:
            # A component of the author's is no dimension to be summed over.
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
                    Agreement(
                        Verdict.REFUTED, "enumeration", "", state.scope.some_point()
                    ),
                )
                continue
        ordered: Ints = np.sort(along, axis=1)
        low, n = int(ordered[0, 0]), ordered.shape[1]
        wanted: Ints = low + np.arange(n, dtype=ordered.dtype)
        right = bool((ordered == wanted).all())
        again = bool((ordered[:, 1:] == ordered[:, :-1]).any())
        model = state.scope.some_point()
        outcome = Agreement(Verdict.PROVED, "enumeration")
        if not right:
            outcome = Agreement(Verdict.REFUTED, "enumeration", "", model, (0, 0, 0, 0))
        state.report(
            "AG0309" if again else "AG0304",
            f"the steps of the product sum over each {name} of the tile once",
            op.span,
            outcome,
            f"a product sums over {name} {'twice' if again else 'with gaps'}",
            f"the steps see {ordered[0, :4].tolist()}...",
            [operand("left", a, (0, 0, 0), model, state.scope)],
        )
        if not right:
            continue
        for limited in (a, b):
            if name in limited.limits:
                extent = binary("min", extent, limited.limits[name])
        hi = least_ends([a, b]).get(name)
        made = ReducedDimension(
            extent, (CoordinateRange(binary("+", tag.base, low), n, (), hi),)
        )
        whole = op.acc is None or name not in state.get(op.acc).sums
        if whole and _complete_at_once(state, made):
            continue
        result[name] = (made,)
    return result


def _complete_at_once(state: WalkState, made: ReducedDimension) -> bool:
    return complete(made, state.scope).outcome.proved


def _by_accumulator(along: Ints, first: Ints, warps: int) -> Ints | None:
    """K coordinates [accumulators * warps, all k] of the steps of a plan."""
    per_step = along.reshape(len(first), warps, -1)
    groups = [np.flatnonzero(first == start) for start in np.unique(first)]
    if len({len(g) for g in groups}) != 1:
        return None
    rows = [per_step[g].transpose(1, 0, 2).reshape(warps, -1) for g in groups]
    return np.concatenate(rows)


def check_padding(
    state: WalkState, op: o.Dot, mine: AbstractValue, other: AbstractValue, h: Hole
) -> None:
    """A padded k: one operand is 0 there and the other not arbitrary bits."""
    opposite: Kind = other.kind
    for x in other.holes:
        if x.name == h.name and (varies(x.where) or isinstance(x.where, Vague)):
            opposite = x.kind
    ok = (h.kind == 0 and opposite != "junk") or (opposite == 0 and h.kind != "junk")
    if ok:
        outcome = Agreement(Verdict.PROVED, "normal form")
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
