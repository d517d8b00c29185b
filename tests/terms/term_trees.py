"""Random expressions over elements, as values and, evaluated directly, as numbers."""

import math
from collections.abc import Mapping
from fractions import Fraction

from hypothesis import strategies as st

from argus.terms import (
    Integer,
    RandomData,
    Scalar,
    Value,
    Variable,
    World,
    apply,
    element,
    leaf_term,
    literal,
    reduce,
)

Tree = tuple[object, ...]

UNARY = ("neg", "abs", "exp", "tanh", "sqrt_abs", "log_abs", "rcp_exp", "exp2")
BINARY = ("add", "sub", "mul", "maximum", "minimum", "div_exp", "where_lt", "where_k")
NUMBERS = (0, 1, -1, 2, Fraction(1, 2), Fraction(3, 4), -3)


@st.composite
def trees(draw: st.DrawFn, depth: int = 4, bound: int = 0) -> Tree:
    """A tree; ``bound``: how many sums stand around it."""
    kind = draw(st.integers(0, 9)) if depth else 0
    if kind <= 2:
        leaf = draw(st.sampled_from(("A", "B", "scalar", "number", "index")))
        if leaf == "number":
            return ("number", draw(st.sampled_from(NUMBERS)))
        offset = draw(st.integers(0, 2))
        return (leaf, draw(st.integers(0, bound)), offset)
    if kind <= 4:
        return (draw(st.sampled_from(UNARY)), draw(trees(depth - 1, bound)))
    if kind == 5 and bound < 2:
        kinds = ("sum", "sum", "max", "min", "prod", "argmax", "argmin")
        reduction = draw(st.sampled_from(kinds))
        limit = draw(st.sampled_from(("all", "causal", "odd", "blocks")))
        return (reduction, limit, draw(trees(depth - 1, bound + 1)))
    op = draw(st.sampled_from(BINARY))
    return (op, draw(trees(depth - 1, bound)), draw(trees(depth - 1, bound)))


class Case:
    """One world in which trees are built, with a point at which they are evaluated."""

    def __init__(self, size: int, at: int, seed: int = 0) -> None:
        self.world = World()
        self.size = self.world.size("N")
        self.free = self.world.variable("m", 0, self.size)
        self.numbers = {"N": size, "m": at}
        self.data = RandomData(seed)

    def point(self) -> dict[Variable, int]:
        return {
            variable: self.numbers[variable.name]
            for value in (self.size, self.free)
            for variable in value.variables()
        }

    # -- as values

    def value(self, tree: Tree, bound: tuple[Integer, ...] = ()) -> Value:
        world = self.world
        match tree:
            case ("number", number):
                assert isinstance(number, int | Fraction)
                return Value.real(literal(world, float(number)))
            case (("A" | "B" | "scalar" | "index") as leaf, int(which), int(offset)):
                index = (self.free, *bound)[which]
                if leaf == "index":
                    return Value.whole(index + offset)
                if leaf == "scalar":
                    return Value.real(leaf_term(Scalar("scalar")))
                return Value.real(element(leaf, [index + offset]))
            case (str(reduction), str(limit), tuple() as body):
                return self._reduced(reduction, limit, body, bound)
            case (op, tuple() as inner):
                return self._unary(str(op), self.value(inner, bound))
            case (op, tuple() as left, tuple() as right):
                a, b = self.value(left, bound), self.value(right, bound)
                return self._binary(str(op), a, b, (self.free, *bound)[-1])
            case _:
                raise TypeError(tree)

    def _reduced(
        self, reduction: str, limit: str, body: Tree, bound: tuple[Integer, ...]
    ) -> Value:
        world = self.world
        if reduction in ("argmax", "argmin"):
            index = world.fresh("k", 0, self.size)
            inner = self.value(body, (*bound, index))
            return reduce(world, reduction, [index], inner)
        if limit == "blocks":
            block = world.fresh("b", 0, world.quotient(self.size + 3, 4))
            inner = world.fresh("i", 0, 4)
            variables, index = [block, inner], 4 * block + inner
            domain = world.compare(index, "<", self.size)
        else:
            index = world.fresh("k", 0, self.size)
            variables = [index]
            outer = (self.free, *bound)[-1]
            domain = world.compare(index, "<=", outer)
            if limit == "odd":
                domain = world.compare(world.remainder(index, 2), "==", 1)
            elif limit == "all":
                domain = world.compare(0, "==", 0)
        value = self.value(body, (*bound, index))
        if reduction == "prod":
            value = apply(world, "tanh", value)
        if reduction in ("max", "min"):  # at least one number
            zero = Value.real(literal(world, 0.0))
            found = reduce(world, reduction, variables, value, domain)
            name = "maximum" if reduction == "max" else "minimum"
            return apply(world, name, found, zero)
        return reduce(world, reduction, variables, value, domain)

    def _unary(self, op: str, value: Value) -> Value:
        world = self.world
        match op:
            case "sqrt_abs":
                return apply(world, "sqrt", apply(world, "abs", value))
            case "log_abs":
                one = Value.whole(1)
                positive = apply(world, "add", apply(world, "abs", value), one)
                return apply(world, "log", positive)
            case "rcp_exp":
                return apply(world, "rcp", self._unary("exp", value))
            case "exp" | "exp2":
                return apply(world, op, apply(world, "tanh", value))
            case _:
                return apply(world, op, value)

    def _binary(self, op: str, left: Value, right: Value, index: Integer) -> Value:
        world = self.world
        match op:
            case "div_exp":
                below = apply(world, "exp", apply(world, "tanh", right))
                return apply(world, "div", left, below)
            case "where_lt":
                less = apply(world, "lt", left, right)
                return apply(world, "where", less, left, right)
            case "where_k":
                some = Value.truth(world.compare(index, "<", 2))
                return apply(world, "where", some, left, right)
            case _:
                return apply(world, op, left, right)

    # -- as numbers

    def number(self, tree: Tree, bound: tuple[int, ...] = ()) -> float:
        at = self.numbers["m"]
        match tree:
            case ("number", number):
                assert isinstance(number, int | Fraction)
                return float(number)
            case (("A" | "B" | "scalar" | "index") as leaf, int(which), int(offset)):
                index = (at, *bound)[which]
                if leaf == "index":
                    return index + offset
                indices = () if leaf == "scalar" else (index + offset,)
                return float(self.data.real(leaf, indices))
            case (str(reduction), str(limit), tuple() as body):
                outer = (at, *bound)[-1]
                keep = {
                    "all": lambda k: True,
                    "blocks": lambda k: True,
                    "causal": lambda k: k <= outer,
                    "odd": lambda k: k % 2 == 1,
                }[limit]
                size = self.numbers["N"]
                if reduction in ("argmax", "argmin"):
                    row = [self.number(body, (*bound, k)) for k in range(size)]
                    best = max(row) if reduction == "argmax" else min(row)
                    return next(k for k in range(size) if close(row[k], best))
                every = [self.number(body, (*bound, k)) for k in range(size) if keep(k)]
                if reduction == "prod":
                    return math.prod(map(math.tanh, every))
                if reduction == "sum":
                    return math.fsum(every)
                return (max if reduction == "max" else min)([*every, 0.0])
            case (op, tuple() as inner):
                return _unary_number(str(op), self.number(inner, bound))
            case (op, tuple() as left, tuple() as right):
                a, b = self.number(left, bound), self.number(right, bound)
                return _binary_number(str(op), a, b, (at, *bound)[-1])
            case _:
                raise TypeError(tree)


def _unary_number(op: str, x: float) -> float:
    return {
        "neg": lambda: -x,
        "abs": lambda: abs(x),
        "exp": lambda: math.exp(math.tanh(x)),
        "exp2": lambda: 2 ** math.tanh(x),
        "tanh": lambda: math.tanh(x),
        "sqrt_abs": lambda: math.sqrt(abs(x)),
        "log_abs": lambda: math.log(abs(x) + 1),
        "rcp_exp": lambda: math.exp(-math.tanh(x)),
    }[op]()


def _binary_number(op: str, a: float, b: float, index: int) -> float:
    return {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "maximum": lambda: max(a, b),
        "minimum": lambda: min(a, b),
        "div_exp": lambda: a / math.exp(math.tanh(b)),
        "where_lt": lambda: min(a, b),
        "where_k": lambda: a if index < 2 else b,
    }[op]()


def close(left: object, right: object) -> bool:
    """Whether two numbers are equal up to the rounding of floats."""
    assert isinstance(left, int | float | Fraction)
    assert isinstance(right, int | float | Fraction)
    return math.isclose(float(left), float(right), rel_tol=1e-7, abs_tol=1e-7)


def fixed(point: Mapping[Variable, int]) -> dict[Variable, Integer]:
    """A point as integers."""
    return {v: Integer.of(n) for v, n in point.items()}
