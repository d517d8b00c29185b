"""Tensors that a kernel reads and writes: in place, or by blocks that race."""

from __future__ import annotations

import pytest

from argus.verify.order.sequential import sequential
from argus.verify.verdict import Obligation, Verdict
from argus.verify.verifier import verify
from verifier.order.check_order import failing, placed, told

HEAD = """import argus as ag
from argus import bf16, f32


@ag.kernel
def kernel("""

DOUBLED = (
    HEAD
    + """X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    for j in ag.range(0, N, 64):
        x = ag.load(X[i * 64 :, j:], (64, 64))
        X[i * 64 :, j:] = x * 2.0
        Y[i * 64 :, j:] = x
"""
)
ROWS = (
    HEAD
    + """X: f32["M N"], S: f32["M"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    acc = ag.zeros((64,), f32)
    for j in ag.range(0, N, 64):
        acc = acc + ag.sum(ag.load(X[i * 64 :, j:], (64, 64)), "N")
    S[i * 64 :] = acc + ag.load(S[i * 64 :], (64,))
"""
)
ADDED = (
    HEAD
    + """A: bf16["M K"], B: bf16["N K"], C: bf16["M N"]):
    M, K = A.shape
    N, _ = B.shape
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    ring = ag.ring(2, a=bf16.tile(64, 64), b=bf16.tile(64, 64))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, 64):
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, k:])
                slot.b.load(B[j * 64 :, k:])
    with ag.role("math", warpgroups=1):
        acc = ag.zeros((64, 64), f32)
        for _ in ag.range(0, K, 64):
            with ring.drain() as slot:
                acc = ag.dot(slot.a, slot.b.T, acc)
        before = ag.load(C[i * 64 :, j * 64 :], (64, 64))
        C[i * 64 :, j * 64 :] = acc.to(bf16) + before
"""
)
COPIED = (
    HEAD
    + """C: bf16["M K"]):
    M, K = C.shape
    i = ag.block(ag.cdiv(M, 64))
    ring = ag.ring(2, a=bf16.tile(64, 64))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, 64):
            with ring.fill() as slot:
                slot.a.load(C[i * 64 :, k:])
    with ag.role("math", warpgroups=1):
        for k in ag.range(0, K, 64):
            with ring.drain() as slot:
                C[i * 64 :, k:] = slot.a.load() * 2.0
"""
)


@pytest.mark.parametrize("text", [DOUBLED, ROWS, ADDED], ids=["tiles", "rows", "gemm"])
def test_in_place(text: str) -> None:
    report = verify(placed(text), only=("tags", "order"))
    assert report.verdict is Verdict.PROVED, told(list(report.obligations))
    assert "AG0424" in {o.rule for o in report.obligations}


def _found(text: str) -> list[Obligation]:
    return [o for o in failing(placed(text)) if o.rule == "AG0424"]


OTHERS = {
    "the rows of the next block": DOUBLED.replace(
        "load(X[i * 64 :,", "load(X[i * 64 + 64 :,"
    ),
    "rows from the end": DOUBLED.replace(
        "load(X[i * 64 :,", "load(X[M - 64 - i * 64 :,"
    ),
    "a part of the next tile": DOUBLED.replace(
        "load(X[i * 64 :,", "load(X[i * 64 + 1 :,"
    ),
    "sums that other blocks add to": HEAD
    + """X: f32["M N"], S: f32["M"], Y: f32["M N"]):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    x = ag.load(X[i * 64 :, j * 64 :], (64, 64))
    ag.atomic_add(S[i * 64 :], ag.sum(x, "N"))
    Y[i * 64 :, j * 64 :] = x * ag.load(S[i * 64 :], (64,))
""",
    "a copy of what others write": COPIED.replace(
        "load(C[i * 64 :", "load(C[i * 64 + 8 :"
    ),
    "an element": DOUBLED.replace("x * 2.0", "x * X[0, 0]"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_another_block_writes(name: str) -> None:
    found = _found(OTHERS[name])
    assert found, "proved"
    assert found[0].verdict is Verdict.REFUTED, told(found)
    said = found[0].counterexample
    assert said is not None
    assert said.sizes
    assert len(said.interleaving) == 2


UNKNOWN = {
    "another time": DOUBLED.replace(
        "    for j", "    first = ag.load(X[i * 64 :, 0:], (64, 64))\n    for j"
    ).replace("x * 2.0", "x * 2.0 + first"),
    "the tile before": DOUBLED.replace(
        "] = x\n", "] = ag.load(X[i * 64 :, j - 64:], (64, 64))\n"
    ),
    "another role": COPIED,
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_within_a_block_only_in_place(name: str) -> None:
    found = _found(UNKNOWN[name])
    assert found, "proved"
    assert {o.verdict for o in found} == {Verdict.UNKNOWN}, told(found)


def test_a_scalar_that_is_stored_twice_has_one_thread() -> None:
    """A tile of one element has no axis, and one owner."""
    text = (
        HEAD
        + """X: f32["N"], Y: f32["N"]):
    N = X.shape[0]
    i = ag.block(N)
    y = ag.full((), X[i], f32)
    Y[i] = y
    Y[i] = y + 1.0
"""
    )
    assert "Y" in sequential(placed(text))


TURNED = (
    HEAD
    + """X: f32["M N"], *, N: int = 128):
    M, _ = X.shape
    i = ag.block(M)
    for _ in ag.range(0, 3):
        x = ag.load(X[i, :], (N,))
        ag.sync()
        X[i, :] = ag.flip(x, "N").rename("N")
        ag.sync()
"""
)


def test_syncs_order_what_other_threads_store() -> None:
    assert not _found(TURNED)
    assert "X" in sequential(placed(TURNED))


@pytest.mark.parametrize(
    "text",
    [
        TURNED.replace('rename("N")\n        ag.sync()\n', 'rename("N")\n'),
        TURNED.replace("ag.sync()", 'ag.sync("some", threads=128)'),
    ],
    ids=["not before the next iteration", "named ones"],
)
def test_one_sync_orders_one_way(text: str) -> None:
    assert {o.verdict for o in _found(text)} == {Verdict.UNKNOWN}
    assert "X" not in sequential(placed(text))


PASSES = (
    HEAD
    + """X: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    total = ag.zeros((4, 128), f32, dims="M N")
    for n in ag.range(0, N, 128):
        total = total + ag.load(X[i * 4 :, n:], (4, 128))
    s = ag.sum(total, "N")
    for k in ag.range(0, N, 128):
        X[i * 4 :, k:] = ag.load(X[i * 4 :, k:], (4, 128)) / s
"""
)
COUNTED = (
    PASSES.replace("n in ag.range(0, N, 128)", "n in ag.range(0, ag.cdiv(N, 128))")
    .replace("k in ag.range(0, N, 128)", "k in ag.range(0, ag.cdiv(N, 128))")
    .replace(", n:]", ", n * 128 :]")
    .replace(", k:]", ", k * 128 :]")
)
PERSISTENT = PASSES.replace(
    "    i = ag.block(ag.cdiv(M, 4))\n", "    for i in ag.persistent(ag.cdiv(M, 4)):\n"
)
PERSISTENT = PERSISTENT[: PERSISTENT.index("    total =")] + PERSISTENT[
    PERSISTENT.index("    total =") :
].replace("    ", "        ")


@pytest.mark.parametrize("text", [PASSES, COUNTED, PERSISTENT])
def test_two_passes_over_the_same_tiles(text: str) -> None:
    assert not _found(text)
    assert "X" in sequential(placed(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Other tiles: an element is in another place of these, or in none.
        ("k in ag.range(0, N, 128)", "k in ag.range(128, N, 128)"),
        ("k in ag.range(0, N, 128)", "k in ag.range(0, N, 64)"),
        ("n in ag.range(0, N, 128)", "n in ag.range(0, N, 64)"),
        ("n in ag.range(0, N, 128)", "n in ag.range(0, N - 128, 128)"),
        ("load(X[i * 4 :, n:]", "load(X[i * 4 :, n + 1 :]"),
        ("load(X[i * 4 :, n:]", "load(X[i * 4 :, N - n - 128 :]"),
        ("load(X[i * 4 :, n:]", "load(X[i * 4 + 1 :, n:]"),
        ("load(X[i * 4 :, n:]", "load(X[n:, i * 4 :]"),
        # The same elements by other threads.
        (
            "load(X[i * 4 :, n:], (4, 128))",
            "load(X[i * 4 :, n:], (4, 128), "
            "layout=ag.layouts.blocked((4, 128), 128, 4, (0, 1)))",
        ),
    ],
)
def test_passes_over_other_tiles(old: str, new: str) -> None:
    assert PASSES.count(old) == 1
    assert _found(PASSES.replace(old, new))
    # Without a sync between the loops, either.
    alone = PASSES.replace(
        's = ag.sum(total, "N")', "Y[i * 4 :, 0:] = total.rename('M L')"
    )
    alone = alone.replace(" / s", " / 2.0").replace("X: f32", 'Y: f32["M L"], X: f32')
    alone = alone.replace(old, new)
    assert _found(alone)
    assert "X" not in sequential(placed(alone))


def test_two_passes_without_a_sync() -> None:
    text = PASSES.replace('ag.sum(total, "N")', "2.0")
    assert not _found(text)
    assert "X" in sequential(placed(text))


PAIRS = (
    HEAD
    + """X: bf16["M D"], C: f32["F"], Y: bf16["M D"], *, D: int = 128):
    M, _ = X.shape
    ag.require(ag.dim("F") == 64, "pairs")
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, :], (4, D)).to(f32)
    c = ag.load(C[0:], (64,))
    a, b = x[:, 0::2].rename("M F"), x[:, 1::2].rename("M F")
    X[i * 4 :, :] = ag.interleave(a * c, b * c, "F").rename("M D").to(bf16)
"""
)


def test_elements_that_move_within_their_threads() -> None:
    """Half of the threads hold copies, and what is made of these is not stored."""
    program = placed(PAIRS)
    assert not _found(PAIRS)
    assert "X" in sequential(program)


COPIES = {
    "as it is": (
        HEAD
        + """X: f32["M 64"], Y: f32["M 64 E"]):
    M = X.shape[0]
    i = ag.block(M)
    x = ag.load(X[i, 0:], (64,))
    y = ag.broadcast(x.rename("R"), ag.zeros((64, 128), f32, dims="R E"))
    X[i, 0:] = x * 2.0
    Y[i, 0:, 0:] = y
"""
    ),
    "carried by a loop": (
        HEAD
        + """X: f32["M 64"], Y: f32["M 64 E"]):
    M = X.shape[0]
    i = ag.block(M)
    total = ag.zeros((64,), f32)
    for _ in ag.range(0, 2):
        total = total + ag.load(X[i, 0:], (64,))
    X[i, 0:] = total * 2.0
    y = ag.broadcast(total.rename("R"), ag.zeros((64, 128), f32, dims="R E"))
    Y[i, 0:, 0:] = y
"""
    ),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_that_other_threads_store(name: str) -> None:
    """Threads that store no element of X store what they have read of it elsewhere."""
    program = placed(COPIES[name], facts={"E": 2})
    found = [o for o in failing(program) if o.rule == "AG0424"]
    assert {o.verdict for o in found} == {Verdict.UNKNOWN}
    assert "X" not in sequential(program)


CHOSEN = (
    HEAD
    + """X: f32["N"], P: bf16["N"], step: ag.i32):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, 128)) * 128
    x = ag.load(X[i:], (128,))
    y = ag.load(P[i:], (128,)).to(f32)
    if step > 0:
        y = x * 0.5 + y
    X[i:] = y
"""
)
TURNS = CHOSEN.replace(
    "    if step > 0:\n        y = x * 0.5 + y\n",
    "    for _ in ag.range(0, step):\n        x = x * 0.5 + y\n        y = x\n",
)


@pytest.mark.parametrize("text", [CHOSEN, TURNS], ids=["a branch", "a loop"])
def test_copies_that_branches_and_loops_hand_on(text: str) -> None:
    """Three of four warps hold copies of X, and what is made of these goes nowhere."""
    assert not _found(text)
    assert "X" in sequential(placed(text))


@pytest.mark.parametrize("text", [CHOSEN, TURNS], ids=["a branch", "a loop"])
def test_copies_that_are_stored_behind_branches_and_loops(text: str) -> None:
    stored = text.replace("X: f32", 'Y: f32["N E"], X: f32').replace("128", "64") + (
        '    z = ag.zeros((64, 128), f32, dims="N E")\n'
        "    Y[i:, 0:] = ag.broadcast(y, z)\n"
    )
    program = placed(stored, facts={"E": 2})
    found = [o for o in failing(program) if o.rule == "AG0424"]
    assert {o.verdict for o in found} == {Verdict.UNKNOWN}
    assert "X" not in sequential(program)
