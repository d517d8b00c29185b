"""Operations on register tiles: what each does to the tags of its elements.

Data move between registers by the maps that the code generator prints
(`Fragment.register_map`, `Fragment.window`), or not at all. Shown here: elements that
are combined agree on the dimensions they share (AG0303), a reduction counts each
coordinate once (AG0304), padding takes part in none except as its neutral element
(AG0310), and a reinterpreted register holds the element that its new coordinates name
(AG0316).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, binary
from argus.verify.tags.compare import Outcome, agree
from argus.verify.tags.findings import operand
from argus.verify.tags.kinds import fold, join
from argus.verify.tags.loops import close
from argus.verify.tags.reductions import reduced
from argus.verify.tags.state import State
from argus.verify.tags.sums import added
from argus.verify.tags.values import (
    Compare,
    Coord,
    Hole,
    Ints,
    Kind,
    Loaded,
    Sum,
    Tag,
    Value,
    constant,
    least_limits,
    moved,
    uniform,
)
from argus.verify.verdict import Verdict

__all__ = ["RegisterOp", "run"]

RegisterOp = (
    o.Full | o.Index | o.Elementwise | o.Cast | o.Broadcast | o.Transpose | o.Reduce
    | o.Split | o.Slice | o.Scan | o.Reinterpret | o.Convert
)  # fmt: skip

_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def run(state: State, op: RegisterOp) -> Value:
    """The value of the operation's result."""
    match op:
        case o.Full():
            return _full(state, op)
        case o.Index():
            table = state.table(op.result)
            offs = table[:, :, op.axis]
            return Value(offs.shape, number=Coord(Const(0), offs))
        case o.Elementwise():
            return _elementwise(state, op)
        case o.Cast():
            return _cast(state, op)
        case o.Broadcast() | o.Convert():
            return _repeated(state, op)
        case o.Transpose():
            return _transposed(state, op)
        case o.Reduce():
            return reduced(state, op)
        case o.Slice():
            layout = state.layout(op.src)
            window = layout.window(op.axis, op.start, op.result.shape[op.axis])
            if window is None:
                return state.vague(op.result, "a slice that splits a register digit")
            held = window[1]
            source = state.get(op.src)
            shape = (source.shape[0], len(held))
            return moved(source, shape, lambda a: a[:, held])
        case o.Split():
            return state.get(op.src)
        case o.Scan():
            value = state.get(op.src)
            return replace(value, number=None, mask=None)
        case o.Reinterpret():
            return _reinterpreted(state, op)


def _full(state: State, op: o.Full) -> Value:
    shape = state.shape(op.result)
    value = close(state.world, op.value, state.env)
    if isinstance(value, Const):
        number = None if isinstance(value.value, float) else uniform(value, shape)
        return replace(constant(float(value.value), shape), number=number)
    number = uniform(value, shape) if value.type == "int" else None
    return Value(shape, number=number)


def _cast(state: State, op: o.Cast) -> Value:
    value = state.get(op.src)
    keeps = op.result.dtype.kind == "int" and op.src.dtype.kind == "int"
    return replace(
        value,
        number=value.number if keeps else None,
        mask=value.mask if op.result.dtype.kind == "bool" else None,
    )


def _repeated(state: State, op: o.Broadcast | o.Convert) -> Value:
    source = state.get(op.src)
    axes = op.axes if isinstance(op, o.Broadcast) else tuple(range(len(op.src.shape)))
    held = state.layout(op.result).register_map(state.layout(op.src), axes)
    if held is None:
        return state.vague(op.result, "a conversion that moves data between threads")
    value = moved(source, state.shape(op.result), lambda a: a[:, held])
    return state.renamed(value, op.src, op.result, axes, op.span)


def _transposed(state: State, op: o.Transpose) -> Value:
    value = state.get(op.src)
    inverse = [op.axes.index(i) for i in range(len(op.axes))]
    return state.renamed(value, op.src, op.result, tuple(inverse), op.span)


def _reinterpreted(state: State, op: o.Reinterpret) -> Value:
    """The registers stay; each named axis must run along what it is named after."""
    value = state.get(op.src)
    table = state.table(op.result)
    for axis, name in enumerate(op.result.dims):
        if name is None or name not in value.tags:
            continue
        tag = value.tags[name]
        if not isinstance(tag, Coord):
            continue
        claimed = Coord(tag.base, table[:, :, axis])
        apart = tag.offs - claimed.offs
        same = bool((apart == apart.flat[0]).all())
        model = state.scope.some_point()
        at = np.unravel_index(int(np.argmax(apart != apart.flat[0])), apart.shape)
        element = tuple(int(i) for i in at)
        outcome = (
            Outcome(Verdict.PROVED, "enumeration")
            if same
            else Outcome(Verdict.REFUTED, "enumeration", "", model, element)
        )
        found = int(tag.offs[element]) - int(tag.offs.flat[0])
        wanted = int(claimed.offs[element]) - int(claimed.offs.flat[0])
        state.report(
            "AG0316",
            f"the registers hold the elements along {name} that the layout names",
            op.span,
            outcome,
            f"a reinterpreted register holds another element along {name}",
            f"{name} is {found} further on than in register 0, the layout says "
            f"{wanted}",
            [operand("register", value, element, model, state.scope)],
            thread=element[0],
        )
    return value


# ---------------------------------------------------------------- element-wise


def _elementwise(state: State, op: o.Elementwise) -> Value:
    shape = state.shape(op.result)
    values: list[Value] = []
    for arg in op.args:
        if isinstance(arg, o.Tile):
            values.append(state.get(arg))
        else:
            values.append(_scalar(state, arg, shape))
    _check_agreement(state, op, values)
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
    result = Value(
        shape,
        tags,
        _holes(state, op.fn, values),
        _kind(op.fn, values),
        number=_number(op, values),
        mask=_mask(op, values),
        sums=_sums(state, op, values),
        sets=next((v.sets for v in values if v.sets), {}),
        extents=extents,
        loose=loose,
        limits=least_limits(values),
        chain=chain,
    )
    return _masked(state, op, values, result)


def _scalar(state: State, arg: Expr, shape: tuple[int, ...]) -> Value:
    value = close(state.world, arg, state.env)
    if isinstance(value, Const):
        number = None if isinstance(value.value, float) else uniform(value, shape)
        return replace(constant(float(value.value), shape), number=number)
    return Value(shape, number=uniform(value, shape) if value.type == "int" else None)


def _check_agreement(state: State, op: o.Elementwise, values: list[Value]) -> None:
    for i, a in enumerate(values):
        for b in values[i + 1 :]:
            for name in a.tags:
                if name in b.tags:
                    _agreement(state, op, name, a, b)


def _agreement(state: State, op: o.Elementwise, name: str, a: Value, b: Value) -> None:
    modulo = a.loose.get(name, 0) or b.loose.get(name, 0)
    outcome = agree(a.tags[name], b.tags[name], state.scope, modulo)
    left = operand("left", a, outcome.element, outcome.model, state.scope)
    right = operand("right", b, outcome.element, outcome.model, state.scope)
    gathered = isinstance(a.tags[name], Loaded) or isinstance(b.tags[name], Loaded)
    x, y = left.tag.get(name), right.tag.get(name)
    state.report(
        "AG0315" if gathered else "AG0303",
        f"both operands agree on {name}, element by element",
        op.span,
        outcome,
        f"elements that do not share {name} are combined",
        f"{name} = {x} on the left, {name} = {y} on the right",
        [left, right],
        thread=outcome.element[0] if outcome.element else None,
    )


def _holes(state: State, fn: str, values: list[Value]) -> tuple[Hole, ...]:
    """Each hole of an operand, with what the function makes of it."""
    found: list[Hole] = []
    for v in values:
        for h in v.holes:
            if any(_same_hole(state, h, known) for known in found):
                continue
            kinds = [_kind_in(state, w, h) for w in values]
            if fn == "where" and len(values) == 3:
                kind = join(kinds[1], kinds[2])
            else:
                kind = fold(fn, kinds)
            kind = "junk" if kind == "data" else kind
            found.append(replace(h, kind=kind))
    return tuple(found)


def _same_hole(state: State, a: Hole, b: Hole) -> bool:
    if a is b or a.where is b.where:
        return True
    if a.name != b.name or a.extent != b.extent:
        return False
    return agree(a.where, b.where, state.scope).proved


def _kind_in(state: State, value: Value, hole: Hole) -> Kind:
    for h in value.holes:
        if _same_hole(state, h, hole):
            return h.kind
    return value.kind


def _kind(fn: str, values: list[Value]) -> Kind:
    kinds = [v.kind for v in values]
    if fn == "where" and len(kinds) == 3:
        return join(kinds[1], kinds[2])
    return fold(fn, kinds)


def _number(op: o.Elementwise, values: list[Value]) -> Tag | None:
    """Integer arithmetic on indices."""
    numbers = [v.number for v in values]
    if op.result.dtype.kind != "int" or None in numbers:
        return None
    match op.fn, numbers:
        case "add" | "sub", [Coord() as a, Coord() as b]:
            sign = 1 if op.fn == "add" else -1
            return Coord(binary("+" if sign > 0 else "-", a.base, b.base),
                         a.offs + sign * b.offs)  # fmt: skip
        case "add", [Loaded() as a, Coord(base=Const(value=int(c)))]:
            return replace(a, shift=a.shift + c) if _plain(numbers[1]) else None
        case "mul", [Coord() as a, Coord(base=Const(value=int(c))) as b] if _plain(b):
            return Coord(binary("*", a.base, c), a.offs * c)
        case "mul", [Coord(base=Const(value=int(c))) as b, Coord() as a] if _plain(b):
            return Coord(binary("*", a.base, c), a.offs * c)
        case "floordiv" | "mod", [Coord(base=Const(value=0)) as a, Coord() as b] if (
            _plain(b) and isinstance(b.base, Const) and int(b.base.value) > 0
        ):
            c = int(b.base.value)
            return Coord(a.base, a.offs // c if op.fn == "floordiv" else a.offs % c)
        case _:
            return None


def _plain(tag: Tag | None) -> bool:
    return isinstance(tag, Coord) and not tag.offs.any()


def _mask(op: o.Elementwise, values: list[Value]) -> tuple[Compare, ...] | None:
    if op.fn == "and" and all(v.mask is not None for v in values):
        return tuple(c for v in values for c in v.mask or ())
    if op.fn == "and":
        return next((v.mask for v in values if v.mask is not None), None)
    if op.fn in _COMPARISONS and len(values) == 2:
        a, b = values[0].number, values[1].number
        if a is not None and b is not None:
            return (Compare(_COMPARISONS[op.fn], a, b),)
    return None


def _sums(
    state: State, op: o.Elementwise, values: list[Value]
) -> dict[str, tuple[Sum, ...]]:
    """Sums are joined by additions; elsewhere all of them are kept."""
    names = {n for v in values for n in v.sums}
    result: dict[str, tuple[Sum, ...]] = {}
    for name in sorted(names):
        several = [v.sums[name] for v in values if name in v.sums]
        if op.fn in ("add", "sub") and len(several) == 2:
            result[name] = added(state.scope, *several)
            continue
        distinct: list[Sum] = []
        for s in (x for group in several for x in group):
            if s not in distinct:
                distinct.append(s)
        result[name] = tuple(distinct)
    return result


def _masked(
    state: State, op: o.Elementwise, values: list[Value], result: Value
) -> Value:
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
            kind = _kind_in(state, other, h)
            h = replace(h, kind=kind)
        holes.append(h)
    limits = _limits(state, cond.mask, then)
    return replace(
        result,
        holes=tuple(holes),
        limits=least_limits([result, Value((), limits=limits)]),
    )


def _limits(state: State, mask: tuple[Compare, ...], value: Value) -> dict[str, Expr]:
    """First coordinate that the mask keeps out of every element, by component."""
    found: dict[str, Expr] = {}
    for c in mask:
        for op, left, right in (
            (c.op, c.left, c.right),
            (_MIRRORED.get(c.op, c.op), c.right, c.left),
        ):
            if op not in ("<", "<=") or not isinstance(right, Coord):
                continue
            for name, tag in value.tags.items():
                if not isinstance(tag, Coord) or not isinstance(left, Coord):
                    continue
                if not agree(tag, left, state.scope).proved:
                    continue
                high = int(right.offs.max()) + (op == "<=")
                limit = binary("+", right.base, high)
                before = found.get(name)
                found[name] = binary("min", before, limit) if before else limit
    return found


def excludes(state: State, mask: tuple[Compare, ...], hole: Hole) -> bool:
    """Whether the mask is false wherever the hole's coordinate is past the end.

    A hole reaches below 0 only where that is not excluded by the coordinate itself.
    """
    if not isinstance(hole.where, Coord):
        return False
    low = int(hole.where.offs.min()) if hole.where.offs.size else 0
    floor = binary(">=", binary("+", hole.where.base, low), 0)
    below = not state.scope.holds(floor)
    above = True
    for c in mask:
        for op, left, right in (
            (c.op, c.left, c.right),
            (_MIRRORED.get(c.op, c.op), c.right, c.left),
        ):
            if not isinstance(left, Coord) or not isinstance(right, Coord):
                continue
            if op in ("<", "<=") and not right.offs.any():
                limit = right.base if op == "<" else binary("+", right.base, 1)
                # left < limit and left >= where  ==>  where < limit <= extent
                if _covers(state, hole.where, left) and state.scope.holds(
                    binary("<=", limit, hole.extent)
                ):
                    above = False
            if op == ">=" and _plain(right) and _covers(state, left, hole.where):
                if state.scope.holds(binary(">=", right.base, 0)):
                    below = False
    return not above and not below


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _covers(state: State, small: Coord, large: Coord) -> bool:
    """Whether small <= large for every element."""
    apart: Ints = np.asarray(large.offs - small.offs)
    least = int(apart.min()) if apart.size else 0
    return state.scope.holds(
        binary(">=", binary("+", binary("-", large.base, small.base), least), 0)
    )
