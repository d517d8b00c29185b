"""Several stores to one element: the last one counts where threads keep its order."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.equivalence import programs
from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.verify.verdict import Report, Verdict
from few import few


@pytest.fixture(autouse=True)
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """How a search for a difference goes is the subject of `tests/evaluation`."""
    monkeypatch.setattr("argus.evaluation.equal.refuting._TRIALS", 4)


HEAD = "import argus as ag\nfrom argus import f32\n\n\n@ag.kernel\n"
FOOT = "\n\n@ag.reference\ndef ref(X):\n    return {}\n"
IN_PLACE = 'def k(X: f32["M N"], *, N: int = 128):\n    M, _ = X.shape\n'
OTHER = 'def k(X: f32["M N"], Y: f32["M N"], *, N: int = 128):\n    M, _ = X.shape\n'
ROW = "    m = ag.block(M)\n"
X = "ag.load(X[m, :], (N,))"
BLOCKS = (
    'def k(X: f32["M L"]):\n    M, L = X.shape\n    m = ag.block(M)\n'
    "    c = ag.full((), 0.0, f32)\n    for n in ag.range(0, L, 128):\n"
)
MOVING = f"{BLOCKS}        x = ag.load(X[m, n:], (128,))\n"
SUMS = (
    'def k(X: f32["M N"], S: f32["M"], *, BM: int = 32):\n'
    "    M, N = X.shape\n    m = ag.block(ag.cdiv(M, BM)) * BM\n"
    "    S[m:] = ag.zeros((BM,), f32)\n"
)
ADDED = (
    "    for n in ag.range(0, N):\n        s = ag.load(S[m:], (BM,))\n"
    "        S[m:] = s + ag.load(X[m:, n], (BM,))\n"
)

RIGHT = {
    "in place, twice": (
        f"{IN_PLACE}{ROW}    for t in ag.range(0, 2):\n        x = {X}\n"
        "        X[m, :] = x + 1.0\n",
        "X + 2",
    ),
    "in place, scaled": (
        f"{IN_PLACE}{ROW}    for t in ag.range(0, 3):\n        x = {X}\n"
        "        X[m, :] = x * 2.0\n",
        "X * 8",
    ),
    "written over": (
        f"{OTHER}{ROW}    x = {X}\n    Y[m, :] = x\n    Y[m, :] = x + 1.0\n",
        "X + 1",
    ),
    "a number, written over": (
        'def k(X: f32["M N"], Y: f32["M"], *, N: int = 128):\n    M, _ = X.shape\n'
        f'{ROW}    x = ag.sum({X}, "N")\n    Y[m] = x\n    Y[m] = x + 1.0\n',
        "X.sum(1) + 1",
    ),
    "read after it is written": (
        f"{OTHER}{ROW}    x = {X}\n    Y[m, :] = x\n"
        "    y = ag.load(Y[m, :], (N,))\n    Y[m, :] = y * 2.0\n",
        "X * 2",
    ),
    "the last iteration": (
        f"{OTHER}{ROW}    x = {X}\n    for t in ag.range(0, 3):\n"
        "        Y[m, :] = x * t\n",
        "X * 2",
    ),
    "a sum in memory": (
        f"{OTHER}{ROW}    x = {X}\n    Y[m, :] = x\n    for t in ag.range(0, 4):\n"
        "        y = ag.load(Y[m, :], (N,))\n        Y[m, :] = y + x\n",
        "X * 5",
    ),
    "as many additions as columns": (
        'def k(X: f32["M N"], S: f32["M"], *, BM: int = 32):\n'
        "    M, N = X.shape\n    ag.require(N > 0, 'a column')\n"
        "    m = ag.block(ag.cdiv(M, BM)) * BM\n    x = ag.load(X[m:, 0], (BM,))\n"
        "    S[m:] = x\n"
        "    for n in ag.range(0, N):\n        s = ag.load(S[m:], (BM,))\n"
        "        S[m:] = s + x\n",
        "X[:, 0] * (X.shape[1] + 1)",
    ),
    "tiles that move": (
        f"{MOVING}        X[m, n:] = x + 1.0\n",
        "X + 1",
    ),
    "prefix sums in place": (
        f"{MOVING}        ag.sync()\n        X[m, n:] = ag.cumsum(x, 'L') + c\n"
        "        ag.sync()\n        c = c + ag.sum(x, 'L')\n",
        "np.cumsum(X, 1)",
    ),
    "three times each tile that moves": (
        f"{BLOCKS}        for t in ag.range(0, 3):\n"
        "            y = ag.load(X[m, n:], (128,))\n            ag.sync()\n"
        "            X[m, n:] = y + 1.0\n            ag.sync()\n",
        "X + 3",
    ),
    "other threads, after a sync": (
        f"{SUMS}    ag.sync()\n{ADDED}",
        "X.sum(1)",
    ),
}
WRONG = {
    "what threads do not order": (SUMS + ADDED, "X.sum(1)"),
    "tiles that move, as if they were one": (
        RIGHT["tiles that move"][0],
        "X + 1 + np.arange(X.shape[1]) // 128",
    ),
    "tiles that move by less than their length": (
        RIGHT["tiles that move"][0].replace("L, 128)", "L, 64)"),
        "X + 1",
    ),
    "once less each tile that moves": (
        RIGHT["three times each tile that moves"][0],
        "X + 2",
    ),
    "what moving tiles have left": (
        f"{MOVING}        ag.sync()\n        X[m, n:] = x + 1.0\n        ag.sync()\n"
        "    X[m, 0:] = ag.load(X[m, 0:], (128,)) + 1.0\n",
        "X + 1",
    ),
    "once less": (RIGHT["in place, twice"][0], "X + 1"),
    "the first store": (RIGHT["written over"][0], "X"),
    "the first iteration": (RIGHT["the last iteration"][0], "X * 0"),
    "moving tiles": (
        'def k(X: f32["M N"], Y: f32["M L"], *, N: int = 128, L: int = 129):\n'
        f"    M, _ = X.shape\n{ROW}    x = {X}\n    for t in ag.range(0, 2):\n"
        '        Y[m, t:] = ag.rename(x, "L")\n',
        "np.concatenate([X[:, :1], X], 1)",
    ),
    "moved elements": (
        f"{IN_PLACE}{ROW}    x = {X}\n    X[m, :] = x + 1.0\n"
        "    y = ag.load(X[m, 1:], (N,))\n    X[m, :] = y\n",
        "np.concatenate([X[:, 1:] + 1, 0 * X[:, :1]], 1)",
    ),
    "two blocks": (
        f"{OTHER}    m, b = ag.block(M, 2)\n    x = {X}\n    Y[m, :] = x * b\n",
        "X",
    ),
}


def checked(case: tuple[str, str]) -> Report:
    """What `argus check` says of a kernel and its reference."""
    text, reference = case
    file = HEAD + text + FOOT.format(reference)
    (kernel,) = load_kernels("made.py", file).kernels.values()
    return proved_all(kernel, {}, "sm_90a", fresh=True).report


LEFT = {
    *("three times each tile that moves", "once less each tile that moves"),
    "a sum in memory",
}
"""What takes long, and passes no code that the others do not."""


@pytest.mark.parametrize("name", few(RIGHT, *RIGHT.keys() - LEFT))
def test_the_last_store_counts(name: str) -> None:
    report = checked(RIGHT[name])
    said = None if report.equality is None else report.equality.reason
    assert report.verdict is Verdict.EQUAL, said


@pytest.mark.parametrize("name", few(WRONG, *WRONG.keys() - LEFT))
def test_what_is_wrong_or_not_ordered_is_not_equal(name: str) -> None:
    assert checked(WRONG[name]).verdict < Verdict.PROVED


def test_an_update_in_place_that_is_stored_twice_needs_the_order_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A second store of the same number may come before another thread has loaded.
    text = f"{IN_PLACE}{ROW}    x = {X}\n    X[m, :] = x + 1.0\n    X[m, :] = x + 1.0\n"
    report = checked((text, "X + 1"))
    assert report.verdict is Verdict.EQUAL
    monkeypatch.setattr(programs, "sequential", lambda placed: frozenset())  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert checked((text, "X + 1")).verdict < Verdict.PROVED


def test_halves_of_two_roles_that_overlap_are_ordered_by_nothing() -> None:
    """Each reads what it has written itself, as far as terms know."""
    text = (Path(__file__).parent / "kernels" / "handoffs.py").read_text()
    halves = "half = out[r * 64 : (r + 1) * 64, :]"
    changed = text.replace(halves, "half = out[r * 32 : r * 32 + 64, :]")
    kernel = load_kernels("handoffs.py", changed).kernels["own_halves"]
    report = proved_all(kernel, {}, "sm_90a", fresh=True).report
    found = {o.rule for o in report.obligations if o.verdict is Verdict.REFUTED}
    assert report.verdict is Verdict.REFUTED and "AG0401" in found
