"""Sets are what their conditions say, opaque atoms included."""

from itertools import product
from typing import Literal

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.terms import (
    IndexSet,
    Integer,
    RandomData,
    Unknown,
    Variable,
    World,
    element,
    facts,
    holds_at,
    intersection,
)
from argus.terms.choices import nothing_left
from argus.terms.division import extreme
from argus.terms.integers import Comparison, Monomial
from argus.terms.space import Space

RANGE = range(-2, 7)
DATA = RandomData(7)
OPS: tuple[Comparison, ...] = ("==", "!=", "<", "<=", ">", ">=")
Condition = tuple[object, ...]
Choice = tuple[IndexSet, IndexSet]


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Condition:
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        pair = st.sampled_from(("x", "y", "xy", "div", "mod", "min", "entry", "truth"))
        number = draw(st.integers(-2, 5))
        return ("compare", draw(pair), draw(st.sampled_from(OPS)), number)
    op = draw(st.sampled_from(("and", "or", "minus", "not")))
    return (op, draw(conditions(depth - 1)), draw(conditions(depth - 1)))


class Plane:
    """Two variables, and what is made of them."""

    def __init__(self) -> None:
        self.world = World()
        self.x = self.world.variable("x", RANGE.start, RANGE.stop)
        self.y = self.world.variable("y", RANGE.start, RANGE.stop)
        self.variables = [v for n in (self.x, self.y) for v in n.variables()]

    def integer(self, name: str) -> Integer:
        x, y, world = self.x, self.y, self.world
        match name:
            case "x":
                return x
            case "y":
                return y
            case "xy":
                return x * y
            case "div":
                return world.quotient(x + 2 * y, 3)
            case "mod":
                return world.remainder(x - y, 4)
            case "min":
                return world.minimum(x, 2 * y)
            case "entry":
                return world.entry("table", [x + y])
            case _:
                return world.truth_of("gt", element("A", [x]) - element("A", [y]))

    def set(self, condition: Condition) -> IndexSet:
        match condition:
            case ("compare", str(name), op, int(number)):
                assert op in OPS
                return self.world.compare(self.integer(name), op, number)
            case ("not", tuple() as inner, _):
                return ~self.set(inner)
            case (op, tuple() as left, tuple() as right):
                a, b = self.set(left), self.set(right)
                return a & b if op == "and" else a | b if op == "or" else a - b
            case _:
                raise TypeError(condition)

    def points(self) -> list[dict[Variable, int]]:
        return [
            dict(zip(self.variables, p, strict=True)) for p in product(RANGE, RANGE)
        ]


def holds(plane: Plane, condition: Condition, point: dict[Variable, int]) -> bool:
    """A condition by comparing numbers."""
    match condition:
        case ("compare", str(name), op, int(number)):
            fixed = {v: Integer.of(n) for v, n in point.items()}
            value = plane.world.substitute(plane.integer(name), fixed)
            assert op in OPS
            return holds_at(plane.world.compare(value, op, number), {}, DATA)
        case ("not", tuple() as inner, _):
            return not holds(plane, inner, point)
        case (op, tuple() as left, tuple() as right):
            a, b = holds(plane, left, point), holds(plane, right, point)
            return (a and b) if op == "and" else (a or b) if op == "or" else a and not b
        case _:
            raise TypeError(condition)


@settings(max_examples=40)
@given(conditions(), st.tuples(st.sampled_from(RANGE), st.sampled_from(RANGE)))
def test_a_set_holds_where_its_condition_does(
    condition: Condition, at: tuple[int, int]
) -> None:
    plane = Plane()
    point = dict(zip(plane.variables, at, strict=True))
    expected = holds(plane, condition, point)
    made = plane.set(condition)
    assert holds_at(made, point, DATA) == expected
    assert holds_at(plane.world.close(made), point, DATA) == expected
    assert holds_at(plane.world.canonical(made), point, DATA) == expected
    fixed = {v: Integer.of(n) for v, n in point.items()}
    assert holds_at(plane.world.substitute(made, fixed), {}, DATA) == expected


@settings(max_examples=25)
@given(conditions(), conditions())
def test_what_is_proved_of_sets_is_true_of_points(
    left: Condition, right: Condition
) -> None:
    plane = Plane()
    world, a, b = plane.world, plane.set(left), plane.set(right)
    inside = [p for p in plane.points() if holds_at(a, p, DATA)]
    if world.is_empty(a):
        assert not inside
    if world.is_subset(a, b):
        assert all(holds_at(b, p, DATA) for p in inside)
    if world.canonical(a) is world.canonical(b):
        assert all(holds_at(b, p, DATA) for p in inside)
    point = world.sample(a)
    if point is not None and not any(
        "entry" in str(c) or "truth" in str(c) for c in left
    ):
        assert holds_at(a, {**dict.fromkeys(plane.variables, 0), **point}, DATA)


@settings(max_examples=40)
@given(conditions(), st.sampled_from(RANGE))
def test_a_projection_says_whether_there_is_a_point(
    condition: Condition, y: int
) -> None:
    plane = Plane()
    made = plane.set(condition)
    try:
        shadow = plane.world.project(made, [plane.variables[0]])
    except Unknown:
        return
    line = [p for p in plane.points() if p[plane.variables[1]] == y]
    expected = any(holds_at(made, p, DATA) for p in line)
    assert holds_at(shadow, {plane.variables[1]: y}, DATA) == expected


def test_what_an_opaque_atom_depends_on_is_not_projected() -> None:
    plane = Plane()
    where = plane.world.compare(plane.world.entry("table", [plane.x]), "==", 3)
    with pytest.raises(Unknown, match=r"table\[x\]"):
        plane.world.project(where, plane.variables[:1])


@pytest.mark.parametrize("op", ["min", "max"])
def test_an_extreme_of_two_numbers_is_each_of_them_in_a_projection(
    op: Literal["min", "max"],
) -> None:
    world = World()
    n, x = world.size("N"), world.variable("x")
    k = world.variable("k", 0, 3)
    (variable,) = k.variables()
    found = extreme(world, op, 4 * k, n - 4)
    tile = world.compare(x, ">=", found) & world.compare(x, "<", found + 4)
    there = world.project(tile, [variable])
    (size,), (at,) = n.variables(), x.variables()
    function = {"min": min, "max": max}[op]
    for length, place in product(range(14), range(-6, 14)):
        starts = (function(4 * i, length - 4) for i in range(3))
        wanted = any(start <= place < start + 4 for start in starts)
        assert holds_at(there, {size: length, at: place}, DATA) == wanted


def test_a_variable_of_a_few_values_is_projected_out_of_products() -> None:
    """Equal parts: n lies in one of four, of as many elements as a size says."""
    world = World()
    size, n = world.size("S"), world.variable("n", 0)
    few, many = world.variable("p", 0, 4), world.variable("q", 0, size)
    for part, found in ((few, True), (many, False)):
        begin = part * size
        inside = world.compare(begin, "<=", n) & world.compare(n, "<", begin + size)
        if not found:
            with pytest.raises(Unknown, match=r"S\*q|q\*S"):
                world.project(inside, list(part.variables()))
            continue
        there = world.project(inside, list(part.variables()))
        assert world.equal_sets(there, world.compare(n, "<", size * 4))


def test_facts_of_a_launch_decide() -> None:
    world = World()
    n = world.size("N")
    k = world.variable("k", 0, n)
    assert not world.is_empty(world.compare(k, "==", 5))
    world.require(world.compare(n, "<=", 5), "the kernel requires it")
    assert world.is_empty(world.compare(k, "==", 5))


def test_assumed_entries_are_facts_of_every_entry() -> None:
    world = World()
    pages, used = world.size("P"), world.size("U")

    def within(at: tuple[Integer, ...], entry: Integer) -> IndexSet:
        outside = world.compare(at[0], "<", 0) | world.compare(at[0], ">=", used)
        return outside | (
            world.compare(entry, ">=", 0) & world.compare(entry, "<", pages)
        )

    world.assume_entries("table", within)
    i = world.variable("i", 0, used)
    entry = world.entry("table", [i])
    assert world.is_empty(world.compare(entry, ">=", pages))
    beyond = world.entry("table", [i + 1])
    assert not world.is_empty(world.compare(beyond, ">=", pages))


def test_renaming_may_swap_variables() -> None:
    plane = Plane()
    x, y = plane.variables
    where = plane.world.compare(plane.x, "<", 2 * plane.y)
    swapped = plane.world.substitute(where, {x: plane.y, y: plane.x})
    assert swapped.same(plane.world.compare(plane.y, "<", 2 * plane.x))


def test_everything_and_nothing() -> None:
    plane = Plane()
    where = plane.world.compare(plane.x, "<", 2)
    assert (where | ~where).is_universe
    assert (where & ~where).is_nothing
    assert intersection([where, IndexSet.universe]) is where
    assert (where - where).is_nothing


def test_conditions_that_contradict_each_other_and_a_union() -> None:
    world = World()
    n, m = world.size("N"), world.size("M")
    nothing = world.compare(n, "<", 3) & world.compare(n, ">", 5)
    either = world.compare(m, "<", 3) | world.compare(m, ">", 5)
    assert (nothing & either).is_nothing and (either & nothing).is_nothing


def test_a_set_is_looked_for_among_those_of_its_own_parameters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """isl's hash is one of coefficients: all bounds of variables have the same."""
    asked: list[IndexSet] = []
    has_form = IndexSet.has_form

    def counted(known: IndexSet, value: object) -> bool:
        asked.append(known)
        return has_form(known, value)

    monkeypatch.setattr(IndexSet, "has_form", counted)
    world = World()
    every = [world.variable(f"v{n}") for n in range(200)]
    made = [world.compare(v, ">=", 0) & world.compare(v, "<", 9) for v in every]
    assert len({id(one) for one in made}) == len(every)
    again = [world.compare(v, "<", 9) & world.compare(v, ">=", 0) for v in every]
    assert all(a is b for a, b in zip(made, again, strict=True))
    assert len(asked) <= 3 * len(every)


def test_isl_is_asked_once_of_two_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    n, m = world.size("N"), world.size("M")
    inside = world.compare(m, ">=", n) & world.compare(m, "<", 64)
    either = world.compare(n, "<", 3) | world.compare(n, ">", 5)

    def combined() -> list[IndexSet]:
        return [
            inside & either,
            either & inside,
            inside | either,
            either - inside,
            inside - either,
            either.gist(inside),
            either.coalesced(),
        ]

    made = combined()
    assert len({id(one) for one in made[2:6]}) == 4
    monkeypatch.setattr(IndexSet, "of", lambda *_: pytest.fail("isl is asked again"))
    assert all(a is b for a, b in zip(made, combined(), strict=True))


@settings(max_examples=60)
@given(st.lists(conditions(), max_size=5))
def test_several_sets_are_intersected_at_once(several: list[Condition]) -> None:
    plane = Plane()
    sets, found = [plane.set(one) for one in several], IndexSet.universe
    for one in sets:
        found = found & one
    assert intersection(sets).same(found)


def test_conditions_of_several_sets_are_written_into_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What lies between two of many conditions is nobody's set."""
    world = World()
    names = [world.variable(name) for name in "abcdefgh"]
    conditions = [world.compare(name, ">=", 0) for name in names]
    made: list[object] = []
    one = Space.one
    monkeypatch.setattr(Space, "one", lambda s, x: (made.append(x), one(s, x))[1])
    found = intersection(conditions)
    assert len(made) == 1
    assert set(found.monomials) == {m for name in names for m in name.terms}


@settings(max_examples=40)
@given(conditions(), st.lists(st.tuples(conditions(1), conditions(1)), max_size=4))
def test_a_set_is_empty_where_each_way_through_choices_is(
    where: Condition, pairs: list[tuple[Condition, Condition]]
) -> None:
    plane = Plane()
    choices = [(plane.set(one), plane.set(other)) for one, other in pairs]
    ways = (intersection((plane.set(where), *way)) for way in product(*choices))
    assert nothing_left(plane.set(where), choices) == all(w.is_nothing for w in ways)


@settings(max_examples=200)
@given(
    st.dictionaries(
        st.integers(0, 11), st.integers(-64, 64).filter(bool), min_size=1, max_size=4
    ),
    st.integers(-9, 9) | st.sampled_from([2**63, -(2**70)]),
    st.sampled_from(OPS),
    st.none() | st.just("t0"),
)
def test_a_condition_without_quotients_has_the_form_that_isl_reads(
    factors: dict[int, int], constant: int, op: Comparison, less: str | None
) -> None:
    world = World()
    sizes = [world.size(f"S{n}") for n in range(12)]
    value = sum((sizes[n] * c for n, c in factors.items()), Integer.of(constant))
    made = world.space.condition(value, op, less)
    factors_of = {world.space.name(m): c for m, c in value.terms.items() if m}
    names = sorted(factors_of) if less is None else sorted([*factors_of, less])
    text = " + ".join(f"{c}*{name}" for name, c in factors_of.items())
    text += f" + {constant}" + (f" - {less}" if less else "")
    said = f"{text} {'=' if op == '==' else op} 0"
    said = f"{text} < 0 or {text} > 0" if op == "!=" else said
    text = f"[{', '.join(names)}] -> {{ : {said} }}"
    read = isl.Set.read_from_str(world.space.context, text)
    assert made.plain_is_equal(read)
    assert hash(made) == hash(read)
    assert str(made) == str(read)
    assert list(map(str, made.get_basic_sets())) == list(
        map(str, read.get_basic_sets())
    )


def test_isl_reads_no_text_of_what_has_no_quotients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    n, k = world.size("N"), world.variable("k", 0, world.size("N"))
    with_quotient = world.compare(world.quotient(k, 4), "<", 3)
    monkeypatch.setattr(Space, "_read", lambda *_: pytest.fail("isl reads a text"))
    for op in OPS:
        world.compare(2 * n - 6 * k * n + 1, op, k)
    where = world.compare(k, "<", 5)
    (variable,) = k.atoms()
    assert isinstance(variable, Variable)
    world.substitute(where, {variable: 2 * n + 1})
    assert not with_quotient.is_nothing


def test_what_has_alternatives_is_worked_out_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    n = world.size("N")
    where = world.compare(world.minimum(n, world.size("M")), "<", 5)
    asked: list[object] = []
    known = facts.alternatives

    def counted(world: World, monomials: tuple[Monomial, ...]) -> list[Choice]:
        asked.append(monomials)
        return known(world, monomials)

    monkeypatch.setattr(facts, "alternatives", counted)
    closed = world.close(where)
    assert not any(facts.is_refuted(world, closed) for _ in range(2))
    assert asked.count(closed.monomials) == 1
    world.require(world.compare(n, ">=", 7), "a launch requires it")
    assert not facts.is_refuted(world, closed)
    assert asked.count(closed.monomials) == 2
