"""Element-wise operations: operands agree on what they share; holes and masks."""

from __future__ import annotations

from dataclasses import replace

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.expr import Const, Expr, binary
from argus.ir.functions import law
from argus.verify.tags.accumulation import joined
from argus.verify.tags.compare import agree, unknown
from argus.verify.tags.findings import operand
from argus.verify.tags.held import held
from argus.verify.tags.kinds import fold, join
from argus.verify.tags.lanes import accumulated, pairing
from argus.verify.tags.loops import close
from argus.verify.tags.masks import check_mask, excludes, is_plain, limits_of
from argus.verify.tags.scalars import scalar_of_tensors
from argus.verify.tags.shifting import shifted_by
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import (
    UNNAMED,
    AbstractValue,
    Compare,
    Coord,
    Hole,
    Kind,
    Loaded,
    Sets,
    Tag,
    constant,
    known_number,
    least_ends,
    least_limits,
    uniform,
)

__all__ = ["check_agreement", "elementwise", "kind_in"]

_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def elementwise(state: WalkState, op: o.Elementwise) -> AbstractValue:
    """The value of an element-wise operation's result."""
    shape = state.shape(op.result)
    values: list[AbstractValue] = []
    for arg in op.args:
        if isinstance(arg, o.Tile):
            values.append(state.get(arg))
        else:
            values.append(_scalar(state, arg, shape))
    chosen = check_agreement(state, op.result, op.span, values)
    tags: dict[str, Tag] = {}
    extents: dict[str, Expr] = {}
    loose: dict[str, int] = {}
    for v in reversed(values):
        tags.update(v.tags)
        extents.update(v.extents)
    for v in values:
        for name, size in v.loose.items():
            exact = any(name in w.tags and name not in w.loose for w in values)
            if not exact:
                loose[name] = size
    for v in values:
        # An exact coordinate is better than one known up to a multiple.
        tags.update({n: t for n, t in v.tags.items() if n not in v.loose})
    chain = max((v.chain for v in values), key=len, default=())
    result = AbstractValue(
        shape,
        {n: t for n, t in tags.items() if n not in chosen},
        _holes(state, op.fn, values),
        _kind(op.fn, values),
        number=held(state.world, _number(op, values), op.result.dtype),
        mask=_mask(op, values),
        sums=joined(state, op, values),
        sets=_sets(values),
        extents=extents,
        loose=loose,
        limits=least_limits(values),
        ends=least_ends(values),
        chain=chain,
    )
    result = accumulated(state, op, values, result)
    result = shifted_by(state, op, values, result)
    return _masked(state, op, values, result)


def _scalar(state: WalkState, arg: Expr, shape: tuple[int, ...]) -> AbstractValue:
    value = close(state.world, arg, state.env)
    if isinstance(value, Const):
        number = None if isinstance(value.value, float) else uniform(value, shape)
        return replace(constant(known_number(value.value), shape), number=number)
    if value.type == "int":
        # Where the tile has fewer bits, the program says that it wraps.
        return AbstractValue(shape, number=uniform(value, shape))
    return scalar_of_tensors(state, value, shape)


def check_agreement(
    state: WalkState, tile: o.Tile, span: Span, values: list[AbstractValue]
) -> set[str]:
    """Compare the operands' components; those that were chosen apart are returned."""
    chosen: set[str] = set()
    for i, a in enumerate(values):
        for b in values[i + 1 :]:
            for name in a.tags:
                if name not in b.tags or pairing([a, b], name) is not None:
                    continue
                if _chosen_apart(state, name, a.tags[name], b.tags[name]):
                    chosen.add(name)
                else:
                    _agreement(state, (tile, span), name, a, b)
    return chosen


def _chosen_apart(state: WalkState, name: str, a: Tag, b: Tag) -> bool:
    """Whether a dimension without a name was indexed by two different numbers.

    `X[i, 0]` and `X[i, 1]` of ``X: f32["M 2"]`` are two parts of an element that the
    author takes apart; only a tile that runs along the dimension could be off by one.
    """
    if not (name[:1] == "_" and name[1:].isdigit()):
        return False
    if not isinstance(a, Coord) or not isinstance(b, Coord):
        return False
    uniform_ = all(bool((x.offs == x.offs.flat[0]).all()) for x in (a, b))
    return uniform_ and not agree(a, b, state.scope).proved


def _agreement(
    state: WalkState,
    at_tile: tuple[o.Tile, Span],
    name: str,
    a: AbstractValue,
    b: AbstractValue,
) -> None:
    tile, span = at_tile
    modulo = a.loose.get(name, 0) or b.loose.get(name, 0)
    outcome = agree(a.tags[name], b.tags[name], state.scope, max(modulo, 0))
    if modulo == UNNAMED and not outcome.proved:
        outcome = unknown(
            f"the axes that ran along {name} have no name, and begin at different "
            f"{name}; a view gives them coordinates that can be compared: "
            f"`X.view(..., at=lambda ...: ...)`"
        )
    gathered = isinstance(a.tags[name], Loaded) or isinstance(b.tags[name], Loaded)
    rule = "AG0315" if gathered else "AG0303"
    claim = f"both operands agree on {name}, element by element"
    if outcome.proved:
        state.report(rule, claim, span, outcome)
        return
    at = state.coordinate(tile, outcome.element)
    left = operand("left", a, outcome.element, outcome.model, state.scope, at)
    right = operand("right", b, outcome.element, outcome.model, state.scope, at)
    x, y = left.tag.get(name), right.tag.get(name)
    state.report(
        rule,
        claim,
        span,
        outcome,
        f"elements that do not share {name} are combined",
        f"{name} = {x} on the left, {name} = {y} on the right",
        [left, right],
        thread=outcome.element[0] if outcome.element else None,
    )


def _holes(state: WalkState, fn: str, values: list[AbstractValue]) -> tuple[Hole, ...]:
    """Each hole of an operand, with what the function makes of it."""
    found: list[Hole] = []
    for v in values:
        for h in v.holes:
            if any(_same_hole(state, h, known) for known in found):
                continue
            kinds: list[Kind] = [kind_in(state, w, h) for w in values]
            if fn == "where" and len(values) == 3:
                kind = join(kinds[1], kinds[2])
            else:
                kind = fold(fn, kinds)
            kind = "junk" if kind == "data" else kind
            found.append(replace(h, kind=kind))
    return tuple(found)


def _same_hole(state: WalkState, a: Hole, b: Hole) -> bool:
    if a is b or a.where is b.where:
        return True
    if a.name != b.name or a.extent != b.extent:
        return False
    return agree(a.where, b.where, state.scope).proved


def kind_in(state: WalkState, value: AbstractValue, hole: Hole) -> Kind:
    """What a value's elements in a hole hold."""
    for h in value.holes:
        if _same_hole(state, h, hole):
            return h.kind
    return value.kind


def _kind(fn: str, values: list[AbstractValue]) -> Kind:
    kinds: list[Kind] = [v.kind for v in values]
    if fn == "where" and len(kinds) == 3:
        return join(kinds[1], kinds[2])
    return fold(fn, kinds)


def _number(op: o.Elementwise, values: list[AbstractValue]) -> Tag | None:
    """Integer arithmetic on indices."""
    numbers = [v.number for v in values]
    if op.result.dtype.kind != "int" or None in numbers:
        return None
    match law(op.fn), numbers:
        case "add" | "sub", [Coord() as a, Coord() as b]:
            sign = 1 if op.fn == "add" else -1
            return Coord(binary("+" if sign > 0 else "-", a.base, b.base),
                         a.offs + sign * b.offs)  # fmt: skip
        case "add", [Loaded() as a, Coord(base=Const(value=int(c)))]:
            return replace(a, shift=a.shift + c) if is_plain(numbers[1]) else None
        case "mul", [Coord() as a, Coord(base=Const(value=int(c))) as b] if is_plain(b):
            return Coord(binary("*", a.base, c), a.offs * c)
        case "mul", [Coord(base=Const(value=int(c))) as b, Coord() as a] if is_plain(b):
            return Coord(binary("*", a.base, c), a.offs * c)
        case "floordiv" | "mod", [Coord(base=Const(value=0)) as a, Coord() as b] if (
            is_plain(b) and isinstance(b.base, Const) and int(b.base.value) > 0
        ):
            c = int(b.base.value)
            return Coord(a.base, a.offs // c if op.fn == "floordiv" else a.offs % c)
        case (
            (
                "add" | "sub" | "mul" | "div" | "fma" | "neg" | "maximum" | "minimum"
                | "floordiv" | "mod" | "exp" | "log" | "power" | "where" | "none"
            ),
            _,
        ):  # fmt: skip
            return None


def _mask(op: o.Elementwise, values: list[AbstractValue]) -> tuple[Compare, ...] | None:
    if op.fn == "and" and all(v.mask is not None for v in values):
        return tuple(c for v in values for c in v.mask or ())
    if op.fn == "and":
        return next((v.mask for v in values if v.mask is not None), None)
    if op.fn in _COMPARISONS and len(values) == 2:
        a, b = values[0].number, values[1].number
        if a is not None and b is not None:
            return (Compare(_COMPARISONS[op.fn], a, b),)
    return None


def _sets(values: list[AbstractValue]) -> dict[str, Sets]:
    for v in values:
        if v.sets:
            return v.sets
    return {}


def _masked(
    state: WalkState,
    op: o.Elementwise,
    values: list[AbstractValue],
    result: AbstractValue,
) -> AbstractValue:
    """``where(cond, x, c)``: holes that the condition excludes hold c."""
    if op.fn != "where" or len(values) != 3:
        return result
    cond, then, other = values
    result = replace(result, kind=join(then.kind, other.kind), mask=None)
    if cond.mask is None:
        return result
    holes: list[Hole] = []
    for h in result.holes:
        if excludes(state, cond.mask, h):
            kind = kind_in(state, other, h)
            h = replace(h, kind=kind)
        holes.append(h)
    check_mask(state, op, cond.mask, then)
    limits = limits_of(state, cond.mask, then)
    return replace(
        result,
        holes=tuple(holes),
        limits=least_limits([result, AbstractValue((), limits=limits)]),
    )
