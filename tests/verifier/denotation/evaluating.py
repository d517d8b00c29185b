"""A denotation at numbers, element by element, for tests against the interpreter.

Written without the algebra that it is to check: sums are added up, maxima searched.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import islpy as isl
import numpy as np

from argus.terms import (
    Applied,
    Atom,
    Base,
    Call,
    Constant,
    Element,
    Entry,
    IndexSet,
    Infinity,
    Integer,
    Leaf,
    Max,
    Opaque,
    Scalar,
    Sum,
    Term,
    Truncated,
    Truth,
    Value,
    Variable,
    Whole,
)
from argus.verify.denotation import Denotation, Store

PARAMETER = isl.dim_type.param
CALLS = {
    "abs": abs,
    "log": math.log,
    "tanh": math.tanh,
    "erf": math.erf,
    "sin": math.sin,
    "cos": math.cos,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
}
CONSTANTS = {"ln2": math.log(2.0), "pi": math.pi}


class Outside(Exception):  # noqa: N818 - a result, not a fault
    """An element of a tensor that does not exist."""


@dataclass
class Evaluation:
    """Numbers for everything that terms mention."""

    sizes: Mapping[str, int]
    arrays: Mapping[str, np.ndarray[Any, Any]]
    scalars: Mapping[str, float]

    def variable(self, v: Variable, env: Mapping[Variable, int]) -> int:
        if v in env:
            return env[v]
        return int({**self.sizes, **self.scalars}[v.name])

    def integer(self, x: Integer, env: Mapping[Variable, int]) -> int:
        return sum(
            c * math.prod(self.atom(a, env) for a in m) for m, c in x.terms.items()
        )

    def atom(self, a: Atom, env: Mapping[Variable, int]) -> int:
        match a:
            case Variable():
                return self.variable(a, env)
            case Opaque():
                x, y = (self.integer(i, env) for i in a.args)
                match a.op:
                    case "div":
                        return x // y
                    case "mod":
                        return x % y
                    case "min":
                        return min(x, y)
                    case "max":
                        return max(x, y)
            case Entry():
                return int(self.element(a.tensor, a.indices, env))
            case Truth():
                assert isinstance(a.term, Term)
                value = self.term(a.term, env)
                return int(value > 0 if a.op == "gt" else value == 0)
            case Truncated():
                assert isinstance(a.term, Term)
                return int(self.term(a.term, env))
            case Applied():
                raise AssertionError(f"nothing is known of {a}")
            case _:
                raise AssertionError(a)

    def element(
        self, tensor: str, indices: Sequence[Integer], env: Mapping[Variable, int]
    ) -> float:
        array = self.arrays[tensor]
        at = tuple(self.integer(i, env) for i in indices)
        if any(not 0 <= i < n for i, n in zip(at, array.shape, strict=True)):
            raise Outside(f"{tensor}{list(at)} of {array.shape}")
        return float(array[at])

    # ------------------------------------------------------------------- terms

    def term(self, t: Term, env: Mapping[Variable, int]) -> float:
        total = 0.0
        for part, coefficient in t.parts.items():
            value = float(coefficient)
            for leaf, power in part.factors:
                one = self.leaf(leaf, env)
                value *= one**power if isinstance(power, int) else one ** float(power)
            if part.exponent is not None:
                value *= math.exp(self.term(part.exponent, env))
            total += value
        return total

    def leaf(self, leaf: Leaf, env: Mapping[Variable, int]) -> float:
        match leaf:
            case Element():
                return self.element(leaf.tensor, leaf.indices, env)
            case Scalar():
                return self.scalars[leaf.name]
            case Whole():
                return self.atom(leaf.atom, env)
            case Constant():
                return CONSTANTS[leaf.name]
            case Infinity():
                return -math.inf
            case Call():
                return CALLS[leaf.function](*(self.term(a, env) for a in leaf.args))
            case Base():
                return self.term(leaf.term, env)
            case Sum():
                points = self.points(leaf.variables, leaf.domain, env)
                return sum(self.term(leaf.body, p) for p in points)
            case Max():
                found = [-math.inf]
                for g in leaf.generators:
                    points = self.points(g.variables, g.domain, env)
                    found += [self.term(g.body, p) for p in points]
                return max(found)
            case _:
                raise AssertionError(leaf)

    # -------------------------------------------------------------------- sets

    def holds(self, where: IndexSet, env: Mapping[Variable, int]) -> bool:
        if isinstance(where.isl, bool):
            return where.isl
        return not self._fixed(where, env, frozenset()).is_empty()

    def points(
        self,
        variables: Sequence[Variable],
        where: IndexSet,
        env: Mapping[Variable, int],
    ) -> Iterator[dict[Variable, int]]:
        """All values of variables for which a set holds."""
        if not variables:
            if self.holds(where, env):
                yield dict(env)
            return
        bound = frozenset(variables)
        assert where.space is not None
        assert not isinstance(where.isl, bool)
        left = self._fixed(where, env, bound)
        names = [where.space.name((v,)) for v in variables]
        for i in reversed(range(left.dim(PARAMETER))):
            if left.get_dim_name(PARAMETER, i) not in names:
                left = left.project_out(PARAMETER, i, 1)
        ranges: list[range] = []
        for name in names:
            at = left.find_dim_by_name(PARAMETER, name)
            one = left
            for i in reversed(range(one.dim(PARAMETER))):
                if i != at:
                    one = one.project_out(PARAMETER, i, 1)
            one = one.move_dims(isl.dim_type.set, 0, PARAMETER, 0, 1)
            if one.is_empty():
                return
            low = one.dim_min_val(0).to_python()
            ranges.append(range(low, one.dim_max_val(0).to_python() + 1))
        for values in itertools.product(*ranges):
            point = {**env, **dict(zip(variables, values, strict=True))}
            if self.holds(where, point):
                yield point

    def _fixed(
        self, where: IndexSet, env: Mapping[Variable, int], bound: frozenset[Variable]
    ) -> isl.Set:
        """The set with all numbers put in that do not depend on bound variables."""
        assert where.space is not None
        assert not isinstance(where.isl, bool)
        found = where.isl
        for monomial in where.monomials:
            if any(a.variables & bound for a in monomial):
                continue
            try:
                value = math.prod(self.atom(a, env) for a in monomial)
            except Outside:
                continue  # other conditions say that this entry is not asked for
            at = found.find_dim_by_name(PARAMETER, where.space.name(monomial))
            found = found.fix_val(PARAMETER, at, isl.Val(value))
        return found

    # ------------------------------------------------------------------ values

    def value(self, v: Value, env: Mapping[Variable, int]) -> float:
        if v.kind == "truth":
            return float(self.holds(v.where, env))
        for where, x in v.cases:
            if self.holds(where, env):
                if isinstance(x, Term):
                    return self.term(x, env)
                return self.integer(x, env)
        raise AssertionError(f"no case of {v} holds")


@dataclass
class Checked:
    """Elements that a denotation says are stored, at some of its points."""

    found: Denotation
    numbers: Evaluation
    seed: int = 0

    @cached_property
    def random(self) -> random.Random:
        return random.Random(self.seed)

    def elements(
        self, store: Store, count: int
    ) -> Iterator[tuple[tuple[int, ...], float]]:
        """Coordinates and values at random points of a store."""
        made = 0
        for _ in range(200 * count):
            env: dict[Variable, int] = {}
            for v in store.variables:
                low = self.numbers.integer(v.lower or Integer.of(0), env)
                assert v.upper is not None
                high = self.numbers.integer(v.upper, env)
                if high <= low:
                    break
                env[v] = self.random.randrange(low, high)
            else:
                if not self.numbers.holds(store.where, env):
                    continue
                at = tuple(self.numbers.integer(c, env) for c in store.coords)
                yield at, self.numbers.value(store.value, env)
                made += 1
                if made == count:
                    return
