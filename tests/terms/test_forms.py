"""Single laws of the normal form, and that the same text comes out in every process."""

import os
import subprocess
import sys
from fractions import Fraction

import pytest

from argus.terms import (
    ONE,
    ZERO,
    Applied,
    Entry,
    Integer,
    RandomData,
    Scalar,
    Sum,
    Term,
    Truth,
    Unknown,
    Value,
    Whole,
    World,
    apply,
    element,
    evaluate,
    joined,
    leaf_term,
    literal,
    number,
    reduce,
    restrict,
    show,
)
from argus.terms.powers import exponential, logarithm, raised
from argus.terms.term import LN2

X = leaf_term(Scalar("x"))
Y = leaf_term(Scalar("y"))


def test_exponentials_are_one() -> None:
    assert exponential(X) * exponential(Y) == exponential(X + Y)
    assert exponential(X) * exponential(-X) == ONE
    assert raised(exponential(X), Fraction(1, 2)) == exponential(
        X.scaled(Fraction(1, 2))
    )
    assert logarithm(exponential(X) * exponential(Y)) == X + Y
    assert exponential(logarithm(X)) == X
    assert exponential(logarithm(X).scaled(2)) == X * X


def test_powers_of_numbers_are_powers_of_primes() -> None:
    half = Fraction(1, 2)
    root = raised(number(2), half)
    assert root * root == number(2)
    assert raised(number(128), -half) == root * number(Fraction(1, 16))
    assert raised(number(9), half) == number(3)
    assert raised(number(-1), half).undefined == "a root of a negative number"


def test_roots_of_squares_are_absolute_values() -> None:
    half = Fraction(1, 2)
    assert raised(X * X, half) != X
    assert raised(raised(X, half), 2) == X
    assert raised(X + Y, half) * raised(X + Y, half) == X + Y
    assert raised((X + Y).scaled(4), half) == raised(X + Y, half).scaled(2)
    assert raised(X * Y + X, -1) == raised(X, -1) * raised(Y + ONE, -1)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.4426950408889634, "1 / ln2"),
        (1.44269502, "1 / ln2"),
        (0.7978845608, "sqrt(2) / sqrt(pi)"),
        (0.08838834764831845, "1/16*(2)^(1/2)"),
        (0.125, "1/8"),
        (1.5, "3/2"),
        (0.70710678, "1/2*(2)^(1/2)"),
        (1 / 255, "1/255"),
        (-7 / 1023, "-7/1023"),
        (0.0039215686, "19607843/5000000000"),
    ],
)
def test_literals_stand_for_constants(value: float, shown: str) -> None:
    world = World()
    found = literal(world, value)
    assert shown in (str(found), show(found))
    assert bool(world.conventions) == (len(str(value)) > 6 and value != 0.0039215686)


def test_infinity_absorbs_and_is_no_number() -> None:
    world = World()
    minus = literal(world, -1e30)
    assert minus == literal(world, float("-inf"))
    assert exponential(minus) == ZERO
    assert minus + X == minus
    assert (minus - minus).undefined is not None
    assert (minus * ZERO).undefined is not None
    with pytest.raises(Unknown, match="the sign of x"):
        minus * X
    world = World()
    scaled = apply(world, "mul", Value.real(minus), Value.real(X))
    assert scaled.term == minus
    (found,) = world.obligations
    assert (found.kind, str(found.term)) == ("positive", "x")


def test_a_sum_over_every_fourth_element_has_one_form() -> None:
    """By blocks of 32 of them, or one after the other; and others are others."""
    world = World()
    blocks = world.size("B")
    q, j = world.variable("q", 0, blocks), world.variable("j", 0, 32)
    k = world.variable("k", 0, blocks * 32)

    def every_fourth(place: Integer, block: Integer, rest: int) -> Term:
        index = place * 4 + rest
        return element("A", [index]) * element("S", [block])

    def in_blocks(rest: int) -> Term:
        body = every_fourth(q * 32 + j, q, rest)
        return reduce(world, "sum", [q, j], Value.real(body)).term

    for rest in range(4):
        body = every_fourth(k, world.quotient(k, Integer.of(32)), rest)
        assert reduce(world, "sum", [k], Value.real(body)).term == in_blocks(rest)
    assert in_blocks(0) != in_blocks(1)
    other = every_fourth(k, world.quotient(k, Integer.of(16)), 0)
    assert reduce(world, "sum", [k], Value.real(other)).term != in_blocks(0)


def test_a_part_of_a_sum_has_one_form_beside_scales_of_groups() -> None:
    """Counted from its own begin, or from that of all: the scale says no place."""
    world = World()
    whole, begin = world.size("N"), world.size("P") * 8

    def scaled(k: Integer) -> Value:
        scale = Integer.atom(Entry("S", (world.quotient(k, Integer.of(8)),)))
        power = exponential(leaf_term(Whole(*scale.atoms())))
        return Value.real(power * element("A", [k]))

    k = world.variable("k", 0, whole)
    own = reduce(world, "sum", [k], scaled(k + begin)).term
    j = world.variable("j", begin, begin + whole)
    assert own == reduce(world, "sum", [j], scaled(j)).term
    i = world.variable("i", begin, begin + whole)
    assert own != reduce(world, "sum", [i], scaled(i + 8)).term


@pytest.mark.parametrize("mask", [0, 1, 5, 8, 12, 96, 255, -1, -8, -25])
def test_functions_of_bits_and_a_constant_are_numbers(mask: int) -> None:
    world = World()
    x = world.variable("x")
    (variable,) = x.atoms()
    for name in ("and", "or", "xor"):
        args = Value.whole(x), Value.whole(Integer.of(mask))
        ((_, number),) = apply(world, name, *args).integers
        assert not any(isinstance(atom, Applied) for atom in number.atoms())
        for n in (-300, -25, -1, 0, 1, 6, 13, 100, 255, 1000):
            made = world.substitute(number, {variable: Integer.of(n)}).constant
            assert made == {"and": n & mask, "or": n | mask, "xor": n ^ mask}[name]


def test_functions_of_bits_have_no_more_bits() -> None:
    world = World()
    for tensor, most in (("W", 2**16), ("V", 2**8)):
        world.assume_entries(
            tensor,
            lambda _, e, most=most: (
                world.compare(e, ">=", 0) & world.compare(e, "<", most)
            ),
        )
    n = world.variable("n", 0, world.size("N"))
    w, v = (Value.whole(Integer.atom(Entry(t, (n,)))) for t in "WV")
    for name in ("xor", "or"):
        for other, most in (
            (Value.whole(Integer.of(0x8888)), 2**16),
            (v, 2**16),
            (w, 2**16),
        ):
            ((_, number),) = apply(world, name, w, other).integers
            assert world.is_empty(world.compare(number, "<", 0))
            assert world.is_empty(world.compare(number, ">=", most))
        ((_, number),) = apply(world, name, v, Value.whole(Integer.of(0x88))).integers
        assert world.is_empty(world.compare(number, ">=", 2**8))
        assert not world.is_empty(world.compare(number, ">=", 2**8 - 1))
    ((_, number),) = apply(world, "xor", w, Value.whole(Integer.of(-1))).integers
    assert not world.is_empty(world.compare(number, "<", 0))


def test_a_sum_that_divides_needs_a_point() -> None:
    world = World()
    k = world.variable("k", 0, world.size("K"))
    total = reduce(world, "sum", [k], Value.real(exponential(element("A", [k]))))
    apply(world, "rcp", total)
    (found,) = world.obligations
    assert found.kind == "not empty"
    assert isinstance(total.term.single, Sum)


def test_a_maximum_that_is_subtracted_beside_infinity_needs_a_number() -> None:
    for minus, noted in ((-1e30, 0), (float("-inf"), 1)):
        world = World()
        k = world.variable("k", 0, world.size("K"))
        largest = reduce(world, "max", [k], Value.real(element("A", [k])))
        hidden = Value.real(literal(world, minus))
        difference = apply(world, "sub", hidden, largest)
        assert apply(world, "exp", difference).term == ZERO
        assert len(world.obligations) == noted


@pytest.mark.parametrize("lanes", [48, 256, 16384])
def test_counts_are_sizes(lanes: int) -> None:
    world = World()
    size = world.size("K")
    k = world.variable("k", 0, size)
    assert show(reduce(world, "sum", [k], Value.whole(1)).term) == "K"
    lane = world.variable("lane", 0, lanes)
    turn = world.fresh("turn", 0, world.quotient(size + lanes - 1, lanes))
    inside = Value.truth(world.compare(lanes * turn + lane, "<", size))
    of_lane = reduce(world, "sum", [turn], inside)
    assert show(reduce(world, "sum", [lane], of_lane).term) == "K"


def test_data_in_conditions_keeps_its_bound_variables() -> None:
    """A sum in a mask binds other variables than the sum that the mask is of."""
    world, data = World(), RandomData(3)
    size = world.size("N")
    (n,) = size.variables()

    def difference(k: Integer) -> Value:
        i = world.fresh("i", 0, size)
        a, b = element("A", [k, i]), element("A", [i, k])
        return reduce(world, "sum", [i], Value.real(a - b))

    k = world.variable("k", 0, size)
    mask = apply(world, "gt", difference(k), Value.real(ZERO))
    picked = apply(world, "where", mask, Value.real(element("B", [k])), Value.whole(0))
    total = reduce(world, "sum", [k], picked).term

    def expected(count: int) -> Fraction:
        def a(i: int, j: int) -> Fraction:
            return Fraction(data.real("A", (i, j)))

        rows = range(count)
        return sum(
            (
                Fraction(data.real("B", (r,)))
                for r in rows
                if sum(a(r, i) - a(i, r) for i in rows) > 0
            ),
            Fraction(0),
        )

    for count in (1, 4, 7):
        assert evaluate(total, {n: count}, data) == expected(count)
    atoms = [a for s in _domains(total) for m in s.monomials for a in m]
    assert any(isinstance(a, Truth) for a in atoms)


def _domains(term: Term) -> list:
    leaves = [leaf for part in term.parts for leaf, _ in part.factors]
    return [leaf.domain for leaf in leaves if isinstance(leaf, Sum)]


def test_a_quotient_is_a_number_where_its_dividend_is_small() -> None:
    world = World()
    size = world.size("T")
    blocks = world.quotient(size + 127, 128)
    term = element("A", [blocks - 1])
    small = world.compare(size, ">=", 1) & world.compare(size, "<=", 128)
    assert restrict(world, term, small) == element("A", [Integer.of(0)])
    assert restrict(world, term, world.compare(size, ">=", 1)) == term


def test_minima_leave_sets_that_say_the_same_without_them() -> None:
    world = World()
    a, b, k = world.size("A"), world.size("B"), world.variable("k", 0)
    below = world.canonical(world.compare(k, "<", world.minimum(a, b)))
    both = world.compare(k, "<", a) & world.compare(k, "<", b)
    assert below is world.canonical(both)


PROGRAM = """
from argus.terms import *
world = World()
n, k = world.size("N"), world.size("K")
total = Value.real(ZERO)
for name in ("b", "a", "c"):
    i = world.fresh("i", 0, world.quotient(k + 63, 64))
    j = world.fresh("j", 0, 64)
    inside = world.compare(64 * i + j, "<", k)
    x = Value.real(element(name, [64 * i + j, n]) * leaf_term(Scalar("s" + name)))
    y = joined(world, [(inside, x), (~inside, Value.real(ZERO))])
    m = reduce(world, "max", [i, j], y)
    e = apply(world, "exp", apply(world, "sub", y, m))
    e = apply(world, "where", Value.truth(inside), e, Value.real(ZERO))
    total = apply(world, "add", total, reduce(world, "sum", [i, j], e))
print(show(total), total, [str(o.where) for o in world.obligations])
"""


def test_every_process_writes_the_same() -> None:
    texts = set()
    for seed in ("0", "1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        texts.add(done.stdout)
    assert len(texts) == 1


def test_a_value_by_cases_is_one_where_results_are_equal() -> None:
    world = World()
    k = world.variable("k", 0, 10)
    low = world.compare(k, "<", 5)
    a = Value.real(element("A", [k]))
    assert joined(world, [(low, a), (~low, a)]).term == element("A", [k])


@pytest.mark.parametrize("size", [1, 5, 8, 19])
def test_an_index_of_an_inner_sum_does_not_become_an_outer_variable(size: int) -> None:
    """What an inner sum binds means nothing outside."""
    world = World()
    n, lanes = world.size("N"), 4
    lane = world.fresh("lane", 0, lanes)
    row = world.fresh("row", 0, world.quotient(n + lanes - 1, Integer.of(lanes)))
    x = Value.real(element("X", [row * lanes + lane]))
    sums = reduce(world, "sum", [row], x)
    squares = reduce(world, "sum", [row], apply(world, "mul", x, x))
    total = reduce(world, "sum", [lane], apply(world, "div", sums, squares))
    ((_, term),) = total.terms
    assert {str(v) for v in term.free_variables()} <= {"N"}
    data = RandomData(3)
    rows = range(-(-size // lanes))
    expected = Fraction(0)
    for j in range(lanes):
        held = [Fraction(data.real("X", (lanes * i + j,))) for i in rows]
        expected += Fraction(sum(held), 1) / sum(y * y for y in held)
    point = dict.fromkeys(term.free_variables(), size)
    assert abs(evaluate(term, point, data) - expected) < 1e-9 * (1 + abs(expected))


def test_a_number_of_many_digits_is_not_written_out() -> None:
    """A power of two stays one; of other numbers nothing is said."""
    tiny = exponential(leaf_term(LN2).scaled(-(10**9)))
    assert tiny.constant is None
    assert exponential(leaf_term(LN2).scaled(-3)) == number(Fraction(1, 8))
    with pytest.raises(Unknown, match="2048 bits"):
        raised(number(3), 10**6)
