"""Values near wanted ones for which conditions hold: sizes that a launch admits.

    nearest(conditions, wanted, free) -> NearestValues

What is wanted stays where it may. Then ranges, divisors and equations that give one
symbol its value are followed, which is enough for most; the rest is solved by Z3, in
parts that share no symbol. It keeps wanted values one after the other, and brings each
that cannot stay as near as it can be by bisection. Where products of symbols are too
much for it, it is asked again with some of them at fixed values.

Values that are found were evaluated. That there are none is what Z3 shows; else the
question is open, with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice
from math import inf, isqrt
from typing import Any

from argus.extents import MOST_EXTENT
from argus.ir.expr import (
    Binary,
    Const,
    Expr,
    evaluate,
    holds,
    subexpressions,
    substitute,
    symbols,
    whole_constants,
)
from argus.verify.decide.evaluation import Unmodelled
from argus.verify.decide.facts import Skimmed, conjuncts, skim
from argus.verify.decide.polynomial import Interval
from argus.verify.decide.solver import Translation, z3_module

__all__ = ["NearestValues", "nearest"]

Number = int | float
_EFFORT = 1_000_000
"""Of Z3's own units, for the first question about a part: about a second."""
_LESS = 200_000
"""For each question about values that are nearer."""
_HELD = range(1, 65)
"""At which symbols are held in turn, after what is wanted, where products are hard."""
_HOLD = 20_000
"""For each question with one of them."""
_HOLDS = 384
"""Such questions."""
_DIVISORS = 1 << 12
"""Of constants, up to which divisors are looked for."""


@dataclass(frozen=True)
class NearestValues:
    """All values, the wanted ones changed; None where there are none, or none found.

    ``open``: why it is not known whether there are any.
    """

    values: dict[str, Number] | None
    open: str = ""


def nearest(
    conditions: Iterable[Expr],
    wanted: Mapping[str, Number],
    free: Sequence[str],
    *,
    first: int = 0,
) -> NearestValues:
    """Values for which all conditions hold, of which only the ``free`` ones change.

    The ``first`` so many of them stay if they can, whatever others do; the rest gives
    way where equations say what it is, and else to what stands before it. Sizes of
    tensors are those that a launch admits. Raises KeyError with the name of a symbol
    that is not wanted.
    """
    conditions = tuple(conditions)
    failing = {c for c in conditions if not holds(c, wanted)}
    if not failing:
        return NearestValues(dict(wanted))
    # What shares no free symbol with one that fails stays as it is.
    named = frozenset(free)
    parts = _parts(conditions, named)
    moved = {c for part in parts if not failing.isdisjoint(part) for c in part}
    fixed = {n: _literal(v) for n, v in wanted.items() if n not in named}
    try:
        left = conjuncts(substitute(c, fixed) for c in conditions if c in moved)
    except ZeroDivisionError:
        return NearestValues(None)
    found = dict(wanted)
    for part in _parts(left, named):
        own = {s.name for c in part for s in symbols(c)}
        if all(holds(c, wanted) for c in part):
            continue
        if not own:
            return NearestValues(None)
        mine = tuple((n, wanted[n]) for n in free if n in own)
        near = _solved(part, mine, sum(n in own for n in free[:first]))
        if near.values is None:
            return near
        found |= near.values
    return NearestValues(found)


def _literal(value: Number) -> Const:
    return Const(int(value) if value == int(value) else value)


@lru_cache(maxsize=256)
def _parts(
    conditions: tuple[Expr, ...], free: frozenset[str]
) -> tuple[tuple[Expr, ...], ...]:
    """Conditions that share symbols that are free, together."""
    groups: list[tuple[set[str], list[Expr]]] = []
    for cond in conditions:
        names = {s.name for s in symbols(cond)} & free
        mine = [g for g in groups if g[0] & names]
        groups = [g for g in groups if not g[0] & names]
        groups.append(
            (
                names.union(*(g[0] for g in mine)),
                [*(c for g in mine for c in g[1]), cond],
            )
        )
    return tuple(tuple(conditions) for _, conditions in groups)


@lru_cache(maxsize=1 << 12)
def _solved(
    conditions: tuple[Expr, ...], wanted: tuple[tuple[str, Number], ...], first: int
) -> NearestValues:
    known = skim(Const(False), conditions)
    for c in conditions:
        for sym in symbols(c):
            if sym.kind == "dim":
                where = known.ranges[sym.name]
                known.ranges[sym.name] = where.meet(Interval(-inf, MOST_EXTENT))
    followed = _followed(dict(wanted), known, conditions)
    if followed is not None and all(followed[n] == v for n, v in wanted[:first]):
        return NearestValues(followed)
    # What equations say of a symbol follows from the others: those are to stay.
    later = known.definitions.keys()
    order = sorted(wanted[first:], key=lambda x: x[0] in later)
    return _Search(conditions, dict((*wanted[:first], *order)), known).run()


def _followed(
    values: dict[str, Number], known: Skimmed, conditions: Sequence[Expr]
) -> dict[str, Number] | None:
    """Values moved into ranges, to multiples, and to what equations say."""
    for name in known.free:
        value, step, where = values[name], known.steps.get(name, 1), known.ranges[name]
        value = max(where.lo, min(where.hi, value))
        if not isinstance(value, int):
            continue  # as wanted, or of no range
        up, down = -(-value // step) * step, value // step * step
        values[name] = up if up <= where.hi else down
    try:
        for name, e in known.definitions.items():
            values[name] = evaluate(e, values)
    except ZeroDivisionError:
        return None
    inside = all(x.lo <= values[n] <= x.hi for n, x in known.ranges.items())
    return values if inside and all(holds(c, values) for c in conditions) else None


class _Search:
    """One question to Z3, and others about values that are nearer."""

    def __init__(
        self, conditions: Sequence[Expr], wanted: Mapping[str, Number], known: Skimmed
    ) -> None:
        self.conditions = conditions
        self.wanted = wanted
        self.kinds = {s.name: s for c in conditions for s in symbols(c)}
        self.z3 = z3_module()
        self.translation = Translation(known.ranges, floats=True)
        self.solver = self.z3.Solver()
        self.solver.set("ctrl_c", False)
        self.known = known

    def run(self) -> NearestValues:
        """The values of all symbols of the conditions."""
        z3 = self.z3
        said = " and ".join(map(str, self.conditions))
        try:
            for cond in self.conditions:
                truth, defined = self.translation.condition(cond)
                self.solver.add(z3.And(truth, defined))
        except Unmodelled as why:
            return NearestValues(None, f"whether {said} has a solution is open: {why}")
        for name, where in self.known.ranges.items():
            x = self.translation.symbol(self.kinds[name])
            if isinstance(where.lo, int):
                self.solver.add(x >= where.lo)
            if isinstance(where.hi, int):
                self.solver.add(x <= where.hi)
        found, answer = self._asked(_EFFORT)
        if answer == z3.unsat:
            if any(sym.type == "float" for sym in self.kinds.values()):
                return NearestValues(None, f"no real numbers satisfy {said}")
            return NearestValues(None)
        if found is None:
            found = self._held()
        if found is None:
            why = f"Z3 gave up: {self.solver.reason_unknown()}"
            return NearestValues(None, f"whether {said} has a solution is open: {why}")
        return NearestValues(self._nearer(found))

    def _held(self) -> dict[str, Number] | None:
        """Values with a symbol at a fixed one, or two."""
        for held in islice(self._holds(), _HOLDS):
            found, _ = self._asked(_HOLD, *(self._symbol(n) == v for n, v in held))
            if found is not None:
                return found
        return None

    def _holds(self) -> Iterator[tuple[tuple[str, Number], ...]]:
        yield from (((name, value),) for name, value in self.wanted.items())
        yield from combinations(self.wanted.items(), 2)
        names = list(dict.fromkeys(self._factors()))
        for value in dict.fromkeys((*self._divisors(), *_HELD)):
            yield from (((name, value),) for name in names)

    def _factors(self) -> Iterator[str]:
        """Symbols that are multiplied by others, or divide them."""
        for cond in self.conditions:
            for part in subexpressions(cond):
                if isinstance(part, Binary) and part.op in ("*", "//", "%"):
                    sides = [
                        {s.name for s in symbols(e)} for e in (part.left, part.right)
                    ]
                    if sides[1] and (sides[0] or part.op != "*"):
                        yield from sorted(sides[0] | sides[1])

    def _divisors(self) -> Iterator[int]:
        """Divisors of constants: what is in a product that is one of them."""
        for cond in self.conditions:
            for n in map(abs, whole_constants(cond)):
                small = range(1, min(isqrt(n), _DIVISORS) + 1)
                for d in small:
                    if n % d == 0:
                        yield d
                        yield n // d

    def _nearer(self, found: dict[str, Number]) -> dict[str, Number]:
        """Each value as near as it can be, beside those before it."""
        for name, value in self.wanted.items():
            x = self._symbol(name)
            near = found if found[name] == value else self._try(x == value)
            low, far = 0, abs(found[name] - value)
            while near is None and isinstance(far, int) and far - low > 1:
                most = (low + far) // 2
                nearer = self._try(x >= value - most, x <= value + most)
                if nearer is None:
                    low = most
                else:
                    found, far = nearer, abs(nearer[name] - value)
            found = near or found
            self.solver.add(x == found[name])
        return found

    def _try(self, *more: Any) -> dict[str, Number] | None:
        return self._asked(_LESS, *more)[0]

    def _symbol(self, name: str) -> Any:
        return self.translation.symbol(self.kinds[name])

    def _asked(self, effort: int, *more: Any) -> tuple[dict[str, Number] | None, Any]:
        """Values, and what Z3 says."""
        self.solver.set("rlimit", effort)
        answer = self.solver.check(*more)
        if answer != self.z3.sat:
            return None, answer
        model = self.solver.model()
        found: dict[str, Number] = {}
        for name in self.wanted:
            value = model.eval(self._symbol(name), model_completion=True)
            found[name] = _number(value)
        if all(holds(c, found) for c in self.conditions):
            return found, answer
        return None, self.z3.unknown


def _number(value: Any) -> Number:
    if hasattr(value, "as_long") and value.is_int():
        return int(value.as_long())
    if not hasattr(value, "as_fraction"):
        value = value.approx(20)
    return float(value.as_fraction())
