"""A few blocks that stride over all parts: each part is that of one block and turn."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

COUNTS = """
@ag.kernel
def k(I: i32["P"], H: i32["V"], *, BP: int = 128, NB: int = 4):
    P = I.shape[0]
    i = ag.block(NB)
    for p in ag.range({first}, {last}, {step}):
        rows = ag.load(I[p:], (BP,), fill=-1)
        ag.atomic_add(H[rows], ag.full((BP,), 1, i32))


@ag.reference
def ref(I, H):
    return H + np.bincount(I, minlength=len(H))
"""
ADDED = """
@ag.kernel
def k(X: f32["M N"], I: i32["M"], Y: f32["V N"], *, BM: int = 16, NB: int = 3):
    M, N = X.shape
    i, j = ag.block(NB, ag.cdiv(N, 64))
    for m in ag.range(i * BM, M, NB * BM):
        rows = ag.load(I[m:], (BM,), fill=-1)
        x = ag.load(X[m{shift}:, j * 64 :], (BM, 64))
        ag.atomic_add(Y[rows, j * 64 :], x.rename("M N"))


@ag.reference
def ref(X, I, Y):
    y = Y.copy()
    np.add.at(y, I, X)
    return y
"""
RIGHT = {"first": "i * BP", "last": "P", "step": "NB * BP"}


def test_counts_of_strided_parts() -> None:
    found = decided_text(COUNTS.format(**RIGHT))
    assert found.equal, found.reason


def test_rows_of_strided_parts() -> None:
    found = decided_text(ADDED.format(shift=""))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"first": "(i + 1) * BP"},
        {"first": "i * BP + 1"},
        {"last": "P - 1"},
        {"last": "P - BP"},
        {"step": "(NB - 1) * BP"},
        {"step": "(NB + 1) * BP"},
    ],
    ids=str,
)
def test_parts_that_are_missed_or_met_twice(change: dict[str, str]) -> None:
    assert not decided_text(COUNTS.format(**(RIGHT | change))).equal


def test_rows_beside_those_that_a_table_names() -> None:
    assert not decided_text(ADDED.format(shift=" + 1")).equal


TILES = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]{more}):
    M, N = X.shape
    rows, columns = ag.cdiv(M, 16), ag.cdiv(N, 32)
    p = ag.block({grid}){also}
    for t in ag.range(p, {tiles}, {step}):
        {order}
        x = ag.load(X[i * 16 :, j * 32 :], (16, 32))
        Y[i * 16 :, j * 32 :] = x * 2.0


@ag.reference
def ref(X, Y):
    return X * 2.0
"""
ALL = "rows * columns"
FIXED = {"grid": "132", "tiles": ALL, "step": "132", "more": "", "also": ""}
AT_MOST = FIXED | {"grid": "ag.min(132, columns * rows)", "tiles": "columns * rows"}
BY_ROWS = "i, j = t // columns, t % columns"
GROUPED = """width = 4 * columns
        size = ag.min(rows - t // width * 4, 4)
        i, j = t // width * 4 + t % size, t % width // size"""
ORDERS = {
    "by rows": BY_ROWS,
    "by columns": "i, j = t % rows, t // rows",
    "in groups": GROUPED,
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("grid", [FIXED, AT_MOST], ids=["fixed", "at most"])
def test_tiles_of_a_fixed_grid(grid: dict[str, str], order: str) -> None:
    found = decided_text(TILES.format(**grid, order=order))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"step": "133"},
        {"grid": "131"},
        {"grid": "ag.min(rows * columns, 131)"},
        {"grid": "ag.min(rows + columns, 132)"},
        {"tiles": "rows * columns - 1"},
        {"order": "i, j = t % columns, t // columns"},
        {"order": "i, j = t // rows, t % rows"},
        {"order": "i, j = t // columns, t % columns + p // 131"},
    ],
    ids=str,
)
def test_tiles_that_no_block_takes(change: dict[str, str]) -> None:
    text = TILES.format(**(FIXED | {"order": BY_ROWS} | change))
    assert not decided_text(text).equal


FLAGGED = TILES.format(
    **(
        FIXED
        | {
            "more": ', Z: i32["P"]',
            "also": """
    ag.require(Z.shape[0] == 132, "one of each block")
    Z[p:] = ag.full((1,), 7, i32).rename("P")""",
        }
    ),
    order=BY_ROWS,
).replace("return X * 2.0", "return X * 2.0, np.full(132, 7)")


def test_blocks_that_say_which_they_are() -> None:
    """Not only tiles matter then; which tiles there are is a question about terms."""
    found = decided_text(FLAGGED)
    assert found.equal, found.reason
    assert not decided_text(FLAGGED.replace("columns, 132)", "columns, 133)")).equal


ONE_BLOCK = TILES.format(
    **(FIXED | {"grid": "1", "tiles": ALL, "step": "1"}), order=BY_ROWS
)


def test_tiles_that_one_block_takes_in_order() -> None:
    found = decided_text(ONE_BLOCK)
    assert found.equal, found.reason
    assert not decided_text(ONE_BLOCK.replace("t % columns", "t % rows")).equal


ADDED_TWICE = """
@ag.kernel
def k(X: f32["M"], Y: f32["M"]):
    M = X.shape[0]
    p = ag.block({grid})
    for t in ag.range(p, ag.cdiv(M, 32), {step}):
        ag.atomic_add(Y[t * 32 :], ag.load(X[t * 32 :], (32,)))


@ag.reference
def ref(X, Y):
    return X + Y
"""


@pytest.mark.parametrize("grid", ["132", "ag.min(132, ag.cdiv(M, 32))"])
@pytest.mark.parametrize("step", [131, 132, 133])
def test_each_tile_is_added_once(grid: str, step: int) -> None:
    found = decided_text(ADDED_TWICE.format(grid=grid, step=step))
    assert found.equal == (step == 132), found.reason


HEADS = """
@ag.kernel
def k(X: f32["B H S"], Y: f32["B H S"]):
    B, H, S = X.shape
    tiles = ag.cdiv(S, 32)
    for v in ag.persistent(B * H * tiles):
        t, h, b = v % tiles, v // tiles % H, v // tiles // H
        Y[b, h, t * 32 :] = ag.load(X[b, h, t * 32 :], (32,))


@ag.reference
def ref(X, Y):
    return X
"""


def test_a_number_of_tiles_that_has_a_name_is_no_index() -> None:
    found = decided_text(HEADS)
    assert found.equal, found.reason


BESIDE = """
@ag.kernel
def k(X: f32["M"], Y: f32["M"], Z: f32["Q"]):
    M = X.shape[0]
    ag.require(Z.shape[0] == 32, "one line")
    {loop}
        Y[t * 32 :] = ag.load(X[t * 32 :], (32,))
    ag.atomic_add(Z[0:], ag.full((32,), 1.0, f32).rename("Q"))


@ag.reference
def ref(X, Y, Z):
    return X, Z + {added}
"""
STRIDE = "p = ag.block({grid})\n    for t in ag.range(p, ag.cdiv(M, 32), 132):"


@pytest.mark.parametrize(
    "loop",
    [
        STRIDE.format(grid=132),
        STRIDE.format(grid="ag.min(132, ag.cdiv(M, 32))"),
        "for t in ag.persistent(ag.cdiv(M, 32)):",
    ],
)
def test_what_each_block_adds_beside_its_tiles(loop: str) -> None:
    """So often as there are blocks, and not once; terms say it, without a run."""
    assert not decided_text(BESIDE.format(loop=loop, added=1)).equal
    if "min" not in loop and "132" in loop:
        assert decided_text(BESIDE.format(loop=loop, added=132)).equal
