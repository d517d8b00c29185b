"""Do two components agree, for every element? With a witness where they do not.

Bases are compared as expressions, arrays element by element: base_a + a[i] equals
base_b + b[i] for every i exactly when b - a is one constant and the bases differ by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from argus.ir.expr import Expr, binary
from argus.ir.quickly_made import quickly_made
from argus.verify.tags.scope import PathScope
from argus.verify.tags.values import Coord, Ints, Loaded, Tag, Vague
from argus.verify.verdict import Verdict

__all__ = ["Agreement", "agree", "agree_arrays", "value_of", "within"]


@quickly_made
@dataclass(frozen=True, slots=True)
class Agreement:
    """A verdict with what decided it; ``element`` indexes the arrays compared."""

    verdict: Verdict
    method: str = "normal form"
    reason: str = ""
    model: dict[str, int] = field(default_factory=dict[str, int])
    element: tuple[int, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether it holds."""
        return self.verdict is Verdict.PROVED


PROVED = Agreement(Verdict.PROVED)


def unknown(reason: str) -> Agreement:
    """Neither proved nor refuted."""
    return Agreement(Verdict.UNKNOWN, "", reason)


def agree(a: Tag, b: Tag, scope: PathScope, modulo: int = 0) -> Agreement:
    """Whether two components are equal element by element.

    ``modulo``: up to a constant multiple of it (renamed axes); 0 for exactly.
    """
    match a, b:
        case Vague(), _:
            return _at_first(a, b, scope)
        case _, Vague():
            return _at_first(b, a, scope)
        case Coord(), Coord():
            return agree_arrays(a.base, a.offs, b.base, b.offs, scope, modulo)
        case Loaded(), Loaded():
            if a.table != b.table:
                return unknown(f"elements of {a.table} and {b.table} are compared")
            if a.shift != b.shift:
                model = scope.some_point()
                first = _first(a)
                return Agreement(Verdict.REFUTED, "normal form", "", model, first)
            for x, y in zip(a.at, b.at, strict=True):
                found = agree(x, y, scope)
                if not found.proved:
                    return found
            return PROVED
        case Loaded(), Coord():
            return unknown(f"an element of {a.table} is compared with a coordinate")
        case Coord(), Loaded():
            return unknown(f"an element of {b.table} is compared with a coordinate")


def _at_first(a: Vague, b: Tag, scope: PathScope) -> Agreement:
    """Refuted where the one case that is known disagrees, else unknown."""
    if a.first is not None and a.when is not None and isinstance(b, Coord):
        found = agree(a.first, b, scope.when(a.when))
        if found.verdict is Verdict.REFUTED:
            return found
    return unknown(a.reason)


def _first(tag: Tag) -> tuple[int, ...]:
    match tag:
        case Coord():
            return (0,) * tag.offs.ndim
        case Loaded() if tag.at:
            return _first(tag.at[0])
        case Loaded() | Vague():
            return ()


def agree_arrays(
    base_a: Expr, a: Ints, base_b: Expr, b: Ints, scope: PathScope, modulo: int = 0
) -> Agreement:
    """`agree` for bases and arrays that broadcast to one shape."""
    if base_a == base_b and not modulo and (a is b or _same_view(a, b)):
        return PROVED
    apart = np.asarray(b - a)
    if apart.size == 0:
        return PROVED
    first = int(apart.flat[0])
    if not (apart == first).all():
        return _spread(base_a, base_b, apart, scope)
    if modulo:
        # Parts of a tile at fixed places; one that moves is where it is.
        at_a, at_b = (scope.poly(base) for base in (base_a, base_b))
        fixed = at_a is not None and at_a.is_constant()
        fixed = fixed and at_b is not None and at_b.is_constant()
        known = scope.difference(base_a, base_b) if fixed else None
        if known is not None and (known - first) % modulo == 0:
            return PROVED
    decision = scope.equal(base_a, binary("+", base_b, first))
    element = (0,) * apart.ndim
    return Agreement(
        decision.verdict, decision.method, decision.reason, decision.model, element
    )


def _same_view(a: Ints, b: Ints) -> bool:
    return (
        a.shape == b.shape
        and a.strides == b.strides
        and a.__array_interface__["data"] == b.__array_interface__["data"]
    )


def _spread(base_a: Expr, base_b: Expr, apart: Ints, scope: PathScope) -> Agreement:
    """The arrays differ by no constant: some element disagrees whatever the bases."""
    model = scope.some_point()
    if not model and scope.points is not None and scope.points.size == 0:
        return unknown("no admissible sizes were found that reach this place")
    left, right = scope.value_at(base_a, model), scope.value_at(base_b, model)
    if left is None or right is None:
        wrong = apart != apart.flat[0]
    else:
        wrong = apart != left - right
    at = np.unravel_index(int(np.argmax(wrong)), apart.shape)
    element = tuple(int(i) for i in at)
    return Agreement(Verdict.REFUTED, "enumeration", "", model, element)


def within(where: Tag, extent: Expr, scope: PathScope) -> Agreement:
    """Whether 0 <= component < extent for every element."""
    match where:
        case Coord():
            if where.offs.size == 0:
                return PROVED
            low, high = int(where.offs.min()), int(where.offs.max())
            below = scope.decide(binary(">=", binary("+", where.base, low), 0))
            if below.verdict is not Verdict.PROVED:
                at = np.unravel_index(int(where.offs.argmin()), where.offs.shape)
                element = tuple(int(i) for i in at)
                return Agreement(
                    below.verdict, below.method, below.reason, below.model, element
                )
            above = scope.decide(binary("<", binary("+", where.base, high), extent))
            if above.verdict is Verdict.PROVED:
                return Agreement(above.verdict, above.method)
            at = np.unravel_index(int(where.offs.argmax()), where.offs.shape)
            element = tuple(int(i) for i in at)
            return Agreement(
                above.verdict, above.method, above.reason, above.model, element
            )
        case Loaded(table=table):
            return unknown(f"nothing is known of the elements of {table}")
        case Vague(reason=reason):
            return unknown(reason)


def value_of(
    tag: Tag, element: tuple[int, ...], model: dict[str, int], scope: PathScope
) -> int | None:
    """The value of a component for one element at one point; None if not known."""
    if not isinstance(tag, Coord) or not tag.offs.size:
        return None
    base = scope.value_at(tag.base, model)
    if base is None:
        return None
    offs = tag.offs
    index = tuple(
        min(i, n - 1) for i, n in zip(element[-offs.ndim :], offs.shape, strict=False)
    )
    return base + int(offs[index]) if len(index) == offs.ndim else base
