"""Places of extremes of whole numbers, in rows that end within a tile.

Whole numbers have no infinity. What pads a row is the last number of their type, or
less than what is assumed of a table, and comes after all elements.
"""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

ROWS = """
@ag.kernel
def k(X: {dtype}["M N"], I: i32["M"]):
    M, N = X.shape
    {more}
    ag.require(N <= 256, "a row is a tile")
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, 0:], (4, 256), fill={fill})
    I[i * 4 :] = ag.{place}(x, "N")


@ag.reference
def ref(X):
    return X.{place}(1)
"""
NOT_EMPTY = 'ag.require(N > 0, "a row has elements")'
ASSUMED = f"{NOT_EMPTY}\n    ag.assume(lambda x: (x >= 0) & (x < 100), X)"


def decided(dtype: str, place: str, fill: int, more: str = NOT_EMPTY) -> bool:
    return decided_text(
        ROWS.format(dtype=dtype, place=place, fill=fill, more=more)
    ).equal


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("i8", -128, 127), ("u8", 0, 255), ("i32", -(2**31), 2**31 - 1)],
)
def test_padding_by_the_end_of_a_type_is_in_no_place(dtype: str, low: int, high: int):
    assert decided(dtype, "argmax", low)
    assert decided(dtype, "argmin", high)
    assert not decided(dtype, "argmax", low + 1)
    assert not decided(dtype, "argmin", high - 1)


def test_padding_below_what_is_assumed_of_a_table_is_in_no_place():
    assert decided("i32", "argmax", -1, ASSUMED)
    assert decided("i32", "argmax", 0, ASSUMED)
    assert not decided("i32", "argmax", 1, ASSUMED)
    assert decided("i32", "argmin", 99, ASSUMED)
    assert not decided("i32", "argmin", 98, ASSUMED)


def test_a_row_without_elements_has_padding_alone():
    assert not decided("i8", "argmax", -128, "")


SHIFTED = """
@ag.kernel
def k(X: i8["M N"], I: i32["M"]):
    M, N = X.shape
    ag.require((N > 0) & (N <= 255), "a row is a tile")
    i = ag.block(ag.cdiv(M, 4))
    late = X.view("M P", shape=(M, N + 1), at=lambda m, p: (m, p - 1))
    x = ag.load(late[i * 4 :, 0:], (4, 256), fill=-128)
    I[i * 4 :] = ag.argmax(x, "P") - 1


@ag.reference
def ref(X):
    return X.argmax(1)
"""


def test_padding_that_comes_first_is_in_the_place_of_elements_like_it():
    assert not decided_text(SHIFTED).equal
