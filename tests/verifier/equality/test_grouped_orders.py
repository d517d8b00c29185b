"""Tiles in groups of rows, written out by an author in one of several ways."""

from __future__ import annotations

from itertools import product

import pytest

from few import rest
from verifier.equality.attacking import decided_text

COPY = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, G: int = 4):
    M, N = X.shape
    rows, columns = ag.cdiv(M, 16), ag.cdiv(N, 32)
    {loop}
        width = G * columns
        group = {group}
        size = {size}
        i = {row}
        j = {column}
        Y[i * 16 :, j * 32 :] = ag.load(X[i * 16 :, j * 32 :], (16, 32))


@ag.reference
def ref(X, Y):
    return X
"""
PERSISTENT = "for v in ag.persistent(rows * columns):"
BLOCKS = "v = ag.block(columns * rows)"
RIGHT = {
    "group": ("v // width", "v // ag.max(width, 1)"),
    "size": (
        "ag.min(rows - group * G, G)",
        "ag.min(G, rows - G * group)",
        "ag.min(rows, group * G + G) - group * G",
    ),
    "row": (
        "group * G + v % size",
        "v % width % size + group * G",
        "group * G + (v - v // width * width) % ag.max(size, 1)",
    ),
    "column": ("v % width // size", "(v - group * width) // ag.max(size, 1)"),
}


def _text(loop: str, parts: dict[str, str]) -> str:
    text = COPY.format(loop=loop, **parts)
    return text.replace("        ", "    ") if loop == BLOCKS else text


def _cases() -> list[dict[str, str]]:
    """Each writing once, and a few together."""
    found = [dict(zip(RIGHT, x, strict=True)) for x in product(*RIGHT.values())]
    return found[::5]


@pytest.mark.parametrize("loop", [BLOCKS, PERSISTENT], ids=["blocks", "persistent"])
@pytest.mark.parametrize("number", range(len(_cases())))
def test_any_writing(loop: str, number: int) -> None:
    found = decided_text(_text(loop, _cases()[number]))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("size", "G"),
        *rest(("size", "ag.min(rows, G)")),
        *rest(("size", "ag.min(columns - group * G, G)")),
        ("row", "group * G + v % G"),
        ("row", "group + v % size"),
        ("row", "group * G + v // width % size"),
        ("column", "v // size"),
        ("column", "v % columns"),
        *rest(("group", "v // ag.max(width, 8)")),
        ("group", "v // ag.max(columns, 1)"),
    ],
)
def test_another_order(part: str, wrong: str) -> None:
    parts = {**_cases()[0], part: wrong}
    assert not decided_text(_text(BLOCKS, parts)).equal


@pytest.mark.parametrize("way", [("v", "v % width"), ("v % width", "v")])
def test_two_orders_of_rows_are_not_one(way: tuple[str, str]) -> None:
    """Of a last group of three rows they are different."""
    load, store = (f"group * G + {x} % size" for x in way)
    text = _text(BLOCKS, {**_cases()[0], "row": store})
    text = text.replace("ag.load(X[i *", f"ag.load(X[({load}) *")
    assert not decided_text(text).equal
    named = text.replace(f"({load})", "other").replace(
        "    Y[", f"    other = {load}\n    Y["
    )
    assert not decided_text(named).equal
