"""Rows stored where a table says, into an output that keeps its other rows."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

APPEND = """
@ag.kernel
def k(New: f16["P D"], Slot: i32["P"], Cache: f16["L D"]):
    P, D = New.shape
    ag.assume(lambda a, b: a != b, Slot, pairs=True)
    i, j = ag.block(ag.cdiv({rows}, 16), ag.cdiv({columns}, 64))
    rows = ag.load(Slot[i * 16 :], (16,), fill={fill})
    new = ag.load(New[i * 16 {shift}:, j * 64 :], (16, 64)).rename("P D")
    {more}
    Cache[{at}, j * 64 :] = new


@ag.reference
def ref(New, Slot, Cache):
    c = {held}
    c[Slot] = New
    return c
"""
RIGHT = {
    "rows": "P",
    "columns": "D",
    "fill": "-1",
    "shift": "",
    "more": "pass",
    "at": "rows",
    "held": "Cache.copy()",
}


def test_other_rows_are_kept() -> None:
    found = decided_text(APPEND.format(**RIGHT))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"rows": "(P - 1)"},
        {"rows": "(P - 16)"},
        {"columns": "(D - 64)"},
        {"fill": "0"},
        {"shift": "+ 1"},
        {"at": "rows + 1"},
        {"at": "ag.where(rows > 3, rows, -1)"},
        {"more": "new = new + 1.0"},
        {"more": "if i > 0:\n        Cache[rows, j * 64 :] = new + 1.0"},
        {"held": "Cache + 1"},
        {"held": "0 * Cache"},
    ],
)
def test_rows_that_are_not_stored_or_kept(change: dict[str, str]) -> None:
    found = decided_text(APPEND.format(**RIGHT | change))
    assert not found.equal
    assert found.reason


ASSUMED = "    ag.assume(lambda a, b: a != b, Slot, pairs=True)\n"


@pytest.mark.parametrize(
    "assigns",
    ["c[Slot] = New", "for p in range(len(Slot)):\n        c[Slot[p]] = New[p]"],
)
def test_that_places_differ_is_for_the_kernel_to_say(assigns: str) -> None:
    """The last of several rows counts in a reference, and any of them on a GPU."""
    text = APPEND.format(**RIGHT).replace("c[Slot] = New", assigns)
    stated = decided_text(text)
    assert stated.equal, stated.reason
    assert not any("are different" in axiom for axiom in stated.axioms)  # it is shown
    assert ASSUMED in text
    for said in (
        "",
        ASSUMED.replace("a != b", "(a != b) | (a > 5)"),
        ASSUMED.replace("a != b", "a + b >= 0"),
        ASSUMED.replace("a != b, Slot", "a != b, Other"),
    ):
        found = decided_text(
            text.replace(ASSUMED, said).replace(
                'Slot: i32["', 'Other: i32["O"], Slot: i32["'
            )
        )
        assert not found.equal, said
        assert "ag.assume" in found.reason


GRADIENT = """
@ag.kernel
def k(X: f32["M V"], T: i32["M"], Y: f32["M V"]):
    M, V = X.shape
    i, j = ag.block(ag.cdiv(M, 4), ag.cdiv(V, 64))
    x = ag.load(X[i * 4 :, j * 64 :], (4, 64))
    hit = ag.broadcast(ag.index(x, "V") + j * 64, x) == ag.load(T[i * 4 :], (4,))
    Y[i * 4 :, j * 64 :] = x - ag.where(hit, {value}, 0.0)


@ag.reference
def ref(X, T):
    p = X.copy()
    {assigns}
    return p
"""


@pytest.mark.parametrize(
    "assigns",
    [
        "p[np.arange(len(X)), T] -= 1",
        "row = np.arange(len(X))\n    "
        "np.put_along_axis(p, T[:, None], X[row, T][:, None] - 1, 1)",
    ],
)
def test_places_in_rows_of_their_own_differ(assigns: str) -> None:
    """Whatever a table says: nobody has to assume it of its entries."""
    found = decided_text(GRADIENT.format(value="1.0", assigns=assigns))
    assert found.equal, found.reason
    assert not any("are different" in axiom for axiom in found.axioms)
    assert not decided_text(GRADIENT.format(value="2.0", assigns=assigns)).equal


def test_places_in_rows_that_several_have_may_be_the_same() -> None:
    assigns = "p[np.arange(len(X)) // 2, T] -= 1"
    found = decided_text(GRADIENT.format(value="1.0", assigns=assigns))
    assert not found.equal


SELECTED = """
@ag.kernel
def k(X: f32["P D"], T: i32["P"], Y: f32["V D"]):
    P, D = X.shape
    ag.assume(lambda t: t < Y.shape[0], T)
    p, j = ag.block(ag.cdiv(P, 16), ag.cdiv(D, 64))
    t = ag.load(T[p * 16 :], (16,), fill=-1)
    ag.atomic_add(Y[{at}, j * 64 :], ag.load(X[p * 16 :, j * 64 :], (16, 64)))


@ag.reference
def ref(X, T, Y):
    out, kept = Y.copy(), {kept}
    np.add.at(out, T[kept], X[kept])
    return out
""".replace("Y.shape[0], T", "ag.dim('V'), T")


def test_rows_that_a_mask_selects_are_added() -> None:
    found = decided_text(SELECTED.format(at="t", kept="T >= 0"))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("at", "kept"),
    [
        # Of entries that are not selected nothing is known.
        ("ag.maximum(t, 0)", "T >= 0"),
        ("ag.where(t == -7, 0, t)", "T >= 0"),
        ("t", "T > 0"),
        ("ag.where(t == 3, -1, t)", "T >= 0"),
    ],
)
def test_rows_that_a_mask_does_not_select(at: str, kept: str) -> None:
    assert not decided_text(SELECTED.format(at=at, kept=kept)).equal
