"""Comparing stores with what they should be: terms made by hand, no program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from argus.diagnostics import Span
from argus.ir.dtypes import DTYPES
from argus.ir.expr import Const, Sym
from argus.ir.memory import GlobalTensor
from argus.terms import (
    IndexSet,
    Integer,
    Term,
    Value,
    Variable,
    World,
    element,
    joined,
    leaf_term,
    number,
    reduce,
    whole,
)
from argus.verify.denotation import Denotation, Store
from argus.verify.equality import decide, stored_arrays

HERE = Span("made.py", 7, 1, 7, 2)
Y = GlobalTensor(
    "Y",
    DTYPES["f32"],
    ("M", "N"),
    (Sym("M", "dim"), Sym("N", "dim")),
    (Sym("s", "stride"), Const(1)),
)


@dataclass
class Made:
    """A kernel of 16 by 64 tiles whose block (i, j) stores Y[16 i + a, 64 j + b]."""

    world: World

    def __post_init__(self) -> None:
        world = self.world
        self.m, self.n = world.size("M"), world.size("N")
        self.i, self.j = world.fresh("i", 0), world.fresh("j", 0)
        self.a, self.b = world.fresh("a", 0, 16), world.fresh("b", 0, 64)
        self.row, self.column = 16 * self.i + self.a, 64 * self.j + self.b

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Blocks, then axes."""
        found = (v.single for v in (self.i, self.j, self.a, self.b))
        return tuple(v for v in found if isinstance(v, Variable))

    @property
    def inside(self) -> IndexSet:
        """Where a tile's element is inside, and variables within their ranges."""
        world = self.world
        found = world.compare(self.row, "<", self.m)
        found = found & world.compare(self.column, "<", self.n)
        for v, most in ((self.i, None), (self.j, None), (self.a, 16), (self.b, 64)):
            found = found & world.compare(v, ">=", 0)
            if most is not None:
                found = found & world.compare(v, "<", most)
        return found

    def store(
        self,
        value: Term | Value,
        where: IndexSet | None = None,
        atomic: str | None = None,
    ) -> Store:
        """A store of a value, where tiles are inside or only in a part of that."""
        made = value if isinstance(value, Value) else Value.real(value)
        coords = (self.row, self.column)
        there = self.inside if where is None else self.inside & where
        return Store(Y, coords, there, made, atomic, self.variables, HERE)

    def denotation(self, *stores: Store) -> Denotation:
        """What a program of these stores denotes."""
        return Denotation(stores, self.world, {}, ())

    def array(self, at: Callable[[Integer, Integer], Value]) -> Array:
        """A specification of Y."""
        return Array((self.m, self.n), at)


@dataclass
class Array:
    """An output as a function of its position."""

    sizes: tuple[Integer, ...]
    function: Callable[[Integer, Integer], Value]

    def at(self, indices: list[Integer]) -> Value:
        """See `argus.verify.equality.result.Array`."""
        return self.function(indices[0], indices[1])


@pytest.fixture
def made() -> Made:
    """A kernel in a world of its own."""
    return Made(World())


def x(m: Integer, n: Integer) -> Term:
    """An element of the input."""
    return element("X", [m, n])


def doubled(m: Integer, n: Integer) -> Value:
    """2 X[m, n]."""
    return Value.real(x(m, n) + x(m, n))


def test_the_same_element_at_each_position_is_equal(made: Made):
    value = x(made.row, made.column).scaled(2)
    found = decide(made.denotation(made.store(value)), {"Y": made.array(doubled)}, ())
    assert found.equal
    assert [o.tensor for o in found.outputs] == ["Y"]


def test_a_shifted_element_differs_at_a_sample(made: Made):
    value = x(made.row, made.column + 1).scaled(2)
    found = decide(made.denotation(made.store(value)), {"Y": made.array(doubled)}, ())
    first = found.first
    assert first is not None
    assert "differ" in first.reason
    assert first.span == HERE
    assert first.kernel != first.specification
    assert first.sample is not None
    sizes = {v.name: n for v, n in first.sample.items()}
    assert sizes["M"] > 0
    assert sizes["N"] > 0


def test_what_a_mask_leaves_out_is_not_written(made: Made):
    world = made.world
    odd = world.compare(world.remainder(made.row, 2), "==", 1)
    store = made.store(x(made.row, made.column).scaled(2), odd)
    found = decide(made.denotation(store), {"Y": made.array(doubled)}, ())
    first = found.first
    assert first is not None
    assert "not written" in first.reason
    # Two stores that together write everything do.
    rest = made.store(x(made.row, made.column).scaled(2), ~odd)
    both = made.denotation(store, rest)
    assert decide(both, {"Y": made.array(doubled)}, ()).equal


def test_what_is_not_written_may_be_what_the_output_held(made: Made):
    world = made.world

    def half(m: Integer, n: Integer) -> Value:
        odd = world.compare(world.remainder(m, 2), "==", 1)
        kept = Value.real(element("Y", [m, n]))
        return joined(world, [(odd, Value.real(x(m, n))), (~odd, kept)])

    odd = world.compare(world.remainder(made.row, 2), "==", 1)
    program = made.denotation(made.store(x(made.row, made.column), odd))
    assert decide(program, {"Y": made.array(half)}, ("Y",)).equal
    assert not decide(program, {"Y": made.array(half)}, ()).equal


def sums(world: World, upper: Integer) -> Callable[[Integer, Integer], Term]:
    """Σ over k below a bound of A[m, k] B[n, k]."""

    def term(m: Integer, n: Integer) -> Term:
        k = world.fresh("k", 0, upper)
        product = element("A", [m, k]) * element("B", [n, k])
        return reduce(world, "sum", [k], Value.real(product)).term

    return term


def test_sums_over_other_sets_differ_and_over_the_same_do_not(made: Made):
    world = made.world
    k = world.size("K")
    whole_, short = sums(world, k), sums(world, k - 1)
    wanted = {"Y": made.array(lambda m, n: Value.real(whole_(m, n)))}
    right = made.store(whole_(made.row, made.column))
    assert decide(made.denotation(right), wanted, ()).equal
    wrong = made.store(short(made.row, made.column))
    found = decide(made.denotation(wrong), wanted, ()).first
    assert found is not None
    assert "K" in found.where


def test_blocks_add_what_the_specification_sums(made: Made):
    world = made.world
    p = world.fresh("p", 0, world.size("P"))
    part = p.single
    assert isinstance(part, Variable)
    store = made.store(element("X", [p, made.row, made.column]))
    where = (
        store.where & world.compare(p, ">=", 0) & world.compare(p, "<", world.size("P"))
    )
    store = Store(
        Y, store.coords, where, store.value, "add", (part, *store.variables), HERE
    )

    def total(m: Integer, n: Integer) -> Term:
        q = world.fresh("q", 0, world.size("P"))
        return reduce(world, "sum", [q], Value.real(element("X", [q, m, n]))).term

    def added(m: Integer, n: Integer) -> Value:
        return Value.real(element("Y", [m, n]) + total(m, n))

    program = made.denotation(store)
    assert decide(program, {"Y": made.array(added)}, ("Y",)).equal
    # Without what it held, it is said that it holds 0.
    found = decide(program, {"Y": made.array(lambda m, n: Value.real(total(m, n)))}, ())
    assert found.equal
    assert "`Y` is 0 before the launch" in found.axioms
    assert not decide(program, {"Y": made.array(added)}, ()).equal


def test_a_size_that_divides_has_to_be_positive(made: Made):
    world = made.world
    k = world.size("K")

    def mean(m: Integer, n: Integer) -> Value:
        return Value.real(x(m, n) * leaf_term(_leaf(k), -1))

    wanted = {"Y": made.array(mean)}
    store = made.store(x(made.row, made.column) * leaf_term(_leaf(k), -1))
    found = decide(made.denotation(store), wanted, ()).first
    assert found is not None
    assert "divisor" in found.reason
    world.require(world.compare(k, ">", 0), "not empty")
    assert decide(made.denotation(store), wanted, ()).equal


def _leaf(size: Integer):
    found = whole(size).single
    assert found is not None
    return found


def test_what_is_lost_or_not_specified_is_not_equal(made: Made):
    from argus.terms import Unknown

    store = made.store(x(made.row, made.column))
    lost = Denotation((store,), made.world, {"Y": Unknown("a reason", HERE)}, ())
    found = decide(lost, {"Y": made.array(doubled)}, ()).first
    assert found is not None
    assert found.reason == "a reason"
    found = decide(made.denotation(store), {}, ()).first
    assert found is not None
    assert "nothing is said" in found.reason


def test_nothing_is_equal_to_an_element_of_which_nothing_is_claimed(made: Made):
    from argus.terms import undefined

    store = made.store(undefined("0 / 0"))
    wanted = {"Y": made.array(lambda m, n: Value.real(undefined("0 / 0")))}
    assert not decide(made.denotation(store), wanted, ()).equal


def test_a_kernel_is_a_specification(made: Made):
    other = Made(made.world)
    value = other.store(x(other.row, other.column).scaled(2))
    arrays = stored_arrays(other.denotation(value))
    same = made.store(x(made.row, made.column) * number(2))
    assert decide(made.denotation(same), arrays, ()).equal
    off = made.store(x(made.row, made.column) * number(3))
    assert not decide(made.denotation(off), arrays, ()).equal
