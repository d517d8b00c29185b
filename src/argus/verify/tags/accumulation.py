"""What element-wise functions make of sums of which only a part is there.

The parts of a sum are added up later: by a loop, or by several blocks. So only what is
linear may happen to a part. A function that is not (relu, a square) gives the sum a
flaw; what is added to a part (a bias) is counted like a coordinate of a dimension of
its own, so that it is seen when every iteration or block adds it again. A part that a
loop multiplies in each iteration counts earlier ones less, unless the factor moves them
to another maximum (`shifts.py`). Maxima are joined by maxima; what else is computed of
a part of one depends on a number of its row, and is no longer a maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from argus.ir import ops as o
from argus.ir.expr import Const
from argus.ir.functions import FUNCTIONS, law
from argus.verify.tags.scope import PathScope
from argus.verify.tags.sums import added, whole
from argus.verify.tags.values import (
    AbstractValue,
    CoordinateRange,
    Flaw,
    Prior,
    ReducedDimension,
)

if TYPE_CHECKING:
    from argus.verify.tags.state import WalkState

__all__ = ["EXTRA", "RUNNING", "bent", "extra", "harm", "is_partial", "is_zero",
           "joined", "one_of", "partly"]  # fmt: skip

RUNNING = "+running "
"""Begins the name of a running sum's dimension, where it is only a part of one."""
EXTRA = "+"
"""First character of the name under which something added to a part is counted."""

_JOINS = {"maximum": "max", "minimum": "min"}
_CONTINUING = frozenset({"add", "sub", "mul", *_JOINS})

Sums = tuple[ReducedDimension, ...]


def joined(
    state: WalkState, op: o.Elementwise, values: Sequence[AbstractValue]
) -> dict[str, Sums]:
    """The sums of an element-wise operation's result."""
    result: dict[str, Sums] = {}
    for name in sorted({n for v in values for n in v.sums}):
        groups = {i: v.sums[name] for i, v in enumerate(values) if name in v.sums}
        first = next(iter(groups.values()))
        if first[0].fn in ("sum", "prod"):
            result[name] = _sum(state.scope, op.fn, values, groups)
        elif (extreme := _extreme(state.scope, op.fn, groups)) is not None:
            result[name] = extreme
    _continued(op, result)
    return _extras(state, op, values, result)


def _continued(op: o.Elementwise, sums: dict[str, Sums]) -> None:
    """A running sum, product or extreme after what came before it: not followed."""
    for name, several in list(sums.items()):
        along = name.removeprefix(RUNNING)
        if along != name and along in sums and op.fn in _CONTINUING:
            del sums[along]
            text = f"a running sum over {along} that is continued from another part"
            flaw = Flaw(text, False)
            sums[name] = tuple(replace(s, flaw=flaw) for s in several)


def one_of(several: Sequence[Sums]) -> Sums:
    """Either of several sums: each must be right."""
    return tuple(dict.fromkeys(s for group in several for s in group))


def _extreme(scope: PathScope, fn: str, groups: dict[int, Sums]) -> Sums | None:
    if any(s.fn != _JOINS.get(fn) for group in groups.values() for s in group):
        return None
    if len(groups) == 2:
        return added(scope, *groups.values())
    return next(iter(groups.values()))


def _sum(
    scope: PathScope, fn: str, values: Sequence[AbstractValue], groups: dict[int, Sums]
) -> Sums:
    several = list(groups.values())
    either = one_of(several)
    product = any(s.fn == "prod" for s in either)
    if product and law(fn) in ("add", "sub", "mul", "div", "fma"):
        if fn == "mul" and len(several) == 2:
            return added(scope, *several)
        if fn == "mul" and any(v.kind == 1 for v in values):
            return either
        return bent(scope, either, Flaw(f"a part of a product is used in {fn}", False))
    if len(several) == 1:
        (at,) = groups
        begun = any(isinstance(t, Prior) for s in either for t in s.terms)
        return bent(scope, either, harm(fn, at, values, begun))
    match law(fn):
        case "add" | "sub":
            return added(scope, *several)
        case "fma" if 2 in groups and len(groups) == 2:
            (at,) = (i for i in groups if i < 2)
            begun = any(isinstance(t, Prior) for s in groups[at] for t in s.terms)
            made = bent(scope, groups[at], harm(fn, at, values, begun))
            return added(scope, made, groups[2])
        case "where" if 0 not in groups:
            return either
        case (
            "mul" | "div" | "fma" | "neg" | "maximum" | "minimum" | "floordiv"
            | "mod" | "exp" | "log" | "power" | "where" | "none"
        ):  # fmt: skip
            text = f"two parts of sums are combined by {fn}"
            return bent(scope, either, Flaw(text, False))


def harm(fn: str, at: int, values: Sequence[AbstractValue], begun: bool) -> Flaw | None:
    """What a function does to a part of a sum that is operand ``at``; None: nothing.

    ``begun``: the part is what earlier iterations of a loop have added.
    """
    match law(fn):
        case "add" | "sub" | "neg":
            return None
        case "where" if at > 0:
            return None
        case "fma" if at == 2:
            return None
        case "div" if at == 1:
            return Flaw("a part of a sum is a divisor", False)
        case "mul" | "div" | "fma":
            other = values[1 - at]
            moves = other.shift is not None and other.shift.exp and other.shift.pure
            if not begun or moves or other.kind == 1:
                return None
            return Flaw(
                "what earlier iterations have added is multiplied in each iteration",
                False,
            )
        case (
            "maximum" | "minimum" | "floordiv" | "mod" | "exp" | "log" | "power"
            | "where" | "none"
        ):  # fmt: skip
            text = f"{fn} is applied to a part of the sum, and the results are added"
            return Flaw(text, FUNCTIONS[fn].bends)


def bent(scope: PathScope, several: Sums, flaw: Flaw | None) -> Sums:
    """Sums after something that only a whole sum may undergo."""
    if flaw is None or whole(scope, several):
        return several
    return tuple(replace(s, flaw=s.flaw or flaw) for s in several)


# ----------------------------------------------------------------------- extras


def is_zero(value: AbstractValue) -> bool:
    """Whether every element that exists is 0."""
    return value.kind == 0


def is_partial(scope: PathScope, value: AbstractValue) -> bool:
    """Whether a value is a part of a sum over anything."""
    if any(x.fn == "sum" for x in value.lanes.values()):
        return True
    return any(
        several[0].fn == "sum" and not whole(scope, several)
        for name, several in value.sums.items()
        if not name.startswith(EXTRA)
    )


def extra() -> Sums:
    """Something that is to be added once."""
    return (ReducedDimension(Const(1), (CoordinateRange(Const(0), 1),)),)


def _again(several: Sums) -> Sums:
    """What was added before, and once more."""
    (once,) = extra()
    return tuple(replace(s, terms=(*s.terms, *once.terms)) for s in several)


def partly(name: str) -> str:
    """The text for a name under which an extra is counted."""
    line = name.removeprefix(EXTRA).partition(":")[0]
    return f"what is added to a part of the sum at line {line}"


def _extras(
    state: WalkState,
    op: o.Elementwise,
    values: Sequence[AbstractValue],
    sums: dict[str, Sums],
) -> dict[str, Sums]:
    match law(op.fn):
        case "add" | "sub":
            sides = (values[0], values[1])
        case "fma":
            product = values[0] if is_partial(state.scope, values[0]) else values[1]
            sides = (product, values[2])
        case (
            "mul" | "div" | "neg" | "maximum" | "minimum" | "floordiv" | "mod"
            | "exp" | "log" | "power" | "where" | "none"
        ):  # fmt: skip
            return sums
    for mine, other in (sides, sides[::-1]):
        if is_zero(other) or is_partial(state.scope, other):
            continue
        if any(s.flaw is not None for several in mine.sums.values() for s in several):
            continue  # it is no part of a sum any more, and said to be none
        # The next tile of an accumulation by elements is no extra.
        if is_partial(state.scope, mine) and not mine.lanes.keys() & other.tags.keys():
            name = f"{EXTRA}{op.span.line}:{op.span.column}"
            before = sums.get(name)
            sums[name] = extra() if before is None else _again(before)
    return sums
