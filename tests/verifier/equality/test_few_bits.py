"""Whole numbers in types that may not hold them: what is left is a remainder.

A conversion that may change a number is one in a kernel and in its reference, so that
they are equal where both convert alike.
"""

from __future__ import annotations

import pytest

from argus.terms import Integer, Value, World
from argus.terms.narrowing import narrowed
from verifier.equality.attacking import decided_text
from verifier.equality.test_attacks import vector

BYTE, WORD = (-128, 127), (-(2**31), 2**31 - 1)


def test_what_is_left_of_a_sum_is_of_what_is_left() -> None:
    world = World()
    x, y = (world.entry(name, (world.size("N"),)) for name in "XY")

    def left(number: Integer) -> Integer:
        return narrowed(world, Value.whole(number), BYTE).integer

    assert left(left(x) + left(y)) == left(x + y)
    assert left(left(x) * 3 - 256 * y) == left(3 * x)
    assert left(x) != x
    assert left(x) != left(x + 128)


def test_what_fits_is_itself() -> None:
    world = World()
    world.tables["X"] = BYTE
    n = world.size("N")
    x = world.entry("X", (n,))
    for value, ends in ((x, BYTE), (x * 2, WORD), (n, WORD), (n - 5 * x, WORD)):
        assert narrowed(world, Value.whole(value), ends).integer == value
    assert narrowed(world, Value.whole(x * 2), BYTE).integer != x * 2


def test_a_remainder_fits_whatever_it_is_of() -> None:
    world = World()
    x = world.entry("X", (world.size("N"),))
    byte = narrowed(world, Value.whole(x), BYTE)
    for number in (byte.integer, 1000 * byte.integer, byte.integer - 7):
        assert narrowed(world, Value.whole(number), WORD).integer == number


I64 = ("i64", "i32")
CASES = [
    (
        "x.to(i32)",
        ("x.to(i16).to(i32)", "x.to(i8).to(i32)"),
        "X.astype(np.int32)",
        *I64,
    ),
    ("x.to(i32) + z.to(i32)", ("x.to(i32)",), "(X + Z).astype(np.int32)", *I64),
    (
        "x.to(i32) + z.to(i32)",
        ("x.to(i32) - z.to(i32)",),
        "X.astype(np.int32) + Z.astype(np.int32)",
        *I64,
    ),
    ("x.to(i32).to(i64)", ("x",), "X.astype(np.int32).astype(int)", "i64", "i64"),
    ("x.to(i32).to(f32)", ("x.to(f32)",), "X.astype(np.int32) * 1.0", "i64", "f32"),
    (
        "ag.where(x.to(i32) > 0, 1, 0)",
        ("ag.where(x > 0, 1, 0)", "ag.where(x.to(i32) >= 0, 1, 0)"),
        "(X.astype(np.int32) > 0).astype(int)",
        *I64,
    ),
    # what has 8 bits wraps around, and is not cut to the ends of its type
    (
        "x.to(i8)",
        ("ag.minimum(ag.maximum(x, -128), 127).to(i8)", "x.to(u8).to(i8) + 1"),
        "X.astype(np.int8)",
        *("i32", "i8"),
    ),
    ("x.to(u8).to(i32)", ("x.to(i8).to(i32)",), "X & 255", "i32", "i32"),
    ("x + z", ("x - z",), "(X + Z).astype(np.int8)", "i8", "i8"),
    (
        "(x.to(i32) + z.to(i32)).to(i8)",
        ("(x.to(i32) - z.to(i32)).to(i8)",),
        "X.astype(np.int8) + Z.astype(np.int8)",
        *("i8", "i8"),
    ),
    ("-x", ("x",), "-X.astype(np.int16)", "i16", "i16"),
    # bits that are moved
    ("x << 3", ("x << 2",), "X * 8 % 256", "u8", "u8"),
    ("x >> 3", ("x >> 2", "(x >> 3) + (x & 1)"), "X >> 3", "i32", "i32"),
]


@pytest.mark.parametrize(
    ("right", "wrong", "wanted", "type_", "out"),
    CASES,
    ids=[f"{case[0]}: {case[3]}" for case in CASES],
)
def test_conversions(
    right: str, wrong: tuple[str, ...], wanted: str, type_: str, out: str
) -> None:
    made = decided_text(vector(right, wanted, type_, out))
    assert made.equal, made.reason
    for value in wrong:
        assert not decided_text(vector(value, wanted, type_, out)).equal


def test_a_float_is_not_wrapped() -> None:
    wanted = "np.clip(X, -128, 127).astype(int)"
    assert decided_text(vector("x.to(i8)", wanted, "f32", "i8")).equal
    wanted = "X.astype(np.int32).astype(np.int8)"
    assert not decided_text(vector("x.to(i8)", wanted, "f32", "i8")).equal


def test_a_shift_by_what_may_be_no_place_is_open() -> None:
    found = decided_text(vector("x << z", "X << Z", "i32", "i32"))
    assert not found.equal
    assert "place of a bit" in found.reason
