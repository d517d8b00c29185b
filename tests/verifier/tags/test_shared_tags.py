"""`ag.tag` and `ag.check` of shared tiles: slots of rings, views, buffers."""

from __future__ import annotations

import pytest

from argus.verify.verdict import Verdict
from verifier.tags.check_tags import failing, placed, told

HEAD = """
import argus as ag
from argus import bf16, f32
"""

RING = """
@ag.kernel
def matmul(A: bf16["M K"], B: bf16["N K"], C: bf16["M N"], *, BM=128, BN=128, BK=64):
    M, K = A.shape
    N, _ = B.shape
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN))
    ring = ag.ring(3, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:])
                slot.b.load(B[bn * BN :, k:])
                FILLED
    with ag.role("math", warpgroups=2):
        acc = ag.zeros((BM, BN), f32)
        for k in ag.range(0, K, BK):
            with ring.drain() as slot:
                DRAINED
                acc = ag.dot(slot.a, slot.b.T, acc)
        C[bm * BM :, bn * BN :] = acc.to(bf16)
"""

BUFFER = """
@ag.kernel
def turn(X: bf16["M N"], Y: bf16["M N"], *, BN: int = 64):
    M, N = X.shape
    ag.launch(warps=4)
    i = ag.block(ag.cdiv(M, 64))
    buf = ag.shared(bf16, (64, 64), dims="M N")
    BEFORE
    for n in ag.range(0, N, BN):
        INSIDE
"""


def put(source: str, **places: str) -> str:
    """The source with statements for words that stand on lines of their own."""
    lines: list[str] = []
    for line in source.splitlines():
        word = line.strip()
        if word in places:
            indent = line[: len(line) - len(word)]
            lines += [indent + x for x in places[word].splitlines()]
        else:
            lines.append(line)
    return HEAD + "\n".join(lines) + "\n"


TAG_A = "ag.tag(slot.a, lambda i, j: {'w': k + j})"
TAG_B = "ag.tag(slot.b, lambda i, j: {'w': k + j})"
IS_K = "ag.check(lambda x: x.w == x.K, slot.a)"
MEET = "ag.check(lambda x, y: x.w == y.w, slot.a, slot.b)"
LEFT = "ag.tag(slot.a[0:64, 0:64], lambda i, j: {'w': k + j})"
LOW = "ag.tag(slot.a[64:128, 0:64], lambda i, j: {'w': bm * BM + 64 + i})"

RIGHT = {
    "what is filled": (f"{TAG_A}\n{TAG_B}", f"{IS_K}\n{MEET}"),
    "what is drained": ("pass", f"{TAG_A}\n{TAG_B}\n{IS_K}\n{MEET}"),
    "part of a view": (
        "pass",
        f"{LEFT}\n{IS_K.replace('slot.a', 'slot.a[0:64, :32]')}",
    ),
    "another part": ("pass", f"{LOW}\nag.check(lambda x: x.w == x.M, slot.a[64:, :])"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_slots_of_a_ring(name: str) -> None:
    filled, drained = RIGHT[name]
    bad = failing(placed(put(RING, FILLED=filled, DRAINED=drained)))
    assert not bad, told(bad)


OFF = TAG_A.replace("k + j", "k + j + 1")
WRONG = {
    "filled, another k": (f"{OFF}\n{TAG_B}", "pass", "AG0301"),
    "drained, another k": ("pass", f"{OFF}\n{IS_K}", "AG0314"),
    "drained, other rows": (
        "pass",
        f"{TAG_A.replace('k + j', 'k + i')}\n{IS_K}",
        "AG0314",
    ),
    "part of a view": (
        "pass",
        f"{LOW.replace('64 + i', 'i')}\nag.check(lambda x: x.w == x.M, slot.a[64:, :])",
        "AG0314",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tags_of_slots(name: str) -> None:
    filled, drained, rule = WRONG[name]
    bad = failing(placed(put(RING, FILLED=filled, DRAINED=drained)))
    assert rule in {o.rule for o in bad if o.verdict is Verdict.REFUTED}, told(bad)


def test_what_has_no_tag_is_unknown() -> None:
    """Slots outside a tagged view, and elements of the fill before."""
    for drained in (f"{LEFT}\n{IS_K}", f"{IS_K}\n{TAG_A}"):
        filled = TAG_A.replace("slot.a", "slot.b")  # so that there is a `w`
        bad = failing(placed(put(RING, FILLED=filled, DRAINED=drained)))
        assert [(o.rule, o.verdict) for o in bad] == [("AG0314", Verdict.UNKNOWN)]


STORE = "buf.store(ag.load(X[i * 64 :, n:], (64, 64)))"
WRITTEN = "ag.tag(buf, lambda r, c: {'w': n + c})"
READ = "y = buf.load()\nag.check(lambda y: y.w == y.N, y)\nY[i * 64 :, n:] = y"


def test_a_buffer_of_one_role() -> None:
    def found(*inside: str) -> list[tuple[str, Verdict]]:
        source = put(BUFFER, BEFORE="pass", INSIDE="\n".join(inside))
        return [(o.rule, o.verdict) for o in failing(placed(source))]

    off = WRITTEN.replace("n + c", "n + c + 1")
    # The data that the tag speaks of is overwritten before it is read.
    gone = [("AG0314", Verdict.UNKNOWN)]
    wrong = [("AG0314", Verdict.REFUTED)]
    source = put(BUFFER, BEFORE="pass", INSIDE="\n".join((STORE, WRITTEN, READ)))
    assert not (bad := failing(placed(source))), told(bad)
    assert found(STORE, off, READ) == wrong
    assert found(WRITTEN, STORE, READ) == gone
