"""Rings that are filled and drained at different rates, and in several loops.

Right ones are proved; each near miss, which waits for ever or reads another fill at
some size, is refuted. The interpreter shows both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from argus.diagnostics import ArgusError
from argus.interpret import run
from argus.ir.program import Program
from argus.verify.order import trip_count_sequences
from argus.verify.order.loop_counts import TripCount
from argus.verify.verdict import Verdict
from few import few
from verifier.order.check_order import failing, placed, told

HEAD = """
import argus as ag
from argus import f32

@ag.kernel
def k(A: f32["M K"], S: f32["M"], *, ST: int = 4):
    M, K = A.shape
"""
RING = "    ring = ag.ring(ST, a=f32.tile(16, 32))\n"
FILL = """            with ring.fill() as slot:
                slot.a.load(A[i * 16 :, {} * 32 :])
"""
TAKE = """            with ring.drain() as slot:
                s = s + ag.sum(slot.a.load(), "K")
"""
PAIR = """            a = ring.wait()
            b = ring.wait()
            s = s + ag.sum(a.a.load(), "K") + ag.sum(b.a.load(), "K")
            a.release()
            b.release()
"""
ZERO = "s = ag.zeros((16,), f32)\n"
BLOCK = "    i = ag.block(ag.cdiv(M, 16))\n"
WHOLE = '    ag.require(K % 64 == 0, "pairs")\n'


def one_tile(load: str, use: str, more: str = "") -> str:
    """A kernel of one tile a block: what its roles do."""
    return (
        HEAD + BLOCK + more + RING + '    with ag.role("load", warps=1):\n' + load
        + '    with ag.role("use", warps=4):\n        ' + ZERO + use
        + "        S[i * 16 :] = s\n"
    )  # fmt: skip


def persistent(load: str, use: str, steps: str) -> str:
    """A kernel that goes from tile to tile; ``steps`` says how many pairs one has."""

    def inside(text: str) -> str:
        return "".join("    " + line + "\n" for line in text.splitlines())

    begin = "        for i in ag.persistent(ag.cdiv(M, 16)):\n"
    begin += f"            steps = {steps}\n"
    return (
        HEAD + RING + '    with ag.role("load", warps=1):\n' + begin + inside(load)
        + '    with ag.role("use", warps=4):\n' + begin + "            " + ZERO
        + inside(use) + "            S[i * 16 :] = s\n"
    )  # fmt: skip


def loop(head: str, *body: str) -> str:
    return f"        for n in {head}:\n" + "".join(body)


def when(cond: str, body: str, *, inside: bool = False) -> str:
    """A branch beside loops, or inside of one."""
    more = "    " if inside else ""
    lines = "".join(more + line + "\n" for line in body.splitlines())
    return f"        {more}if {cond}:\n{lines}"


FILL_1 = FILL.format("n")
FILL_2 = FILL.format("2 * n") + FILL.format("(2 * n + 1)")
CAUSAL = "ag.min(ag.cdiv(K, 64), i + 1)"
STEPS, TWICE = "ag.range(0, steps)", "ag.range(0, 2 * steps)"
SINGLE = loop("ag.range(0, K // 32)", FILL_1)
RIGHT = {
    "pairs drained": one_tile(SINGLE, loop("ag.range(0, K, 64)", PAIR), WHOLE),
    "pairs filled": one_tile(
        loop("ag.range(0, ag.cdiv(K, 64))", FILL_2),
        loop("ag.range(0, 2 * ag.cdiv(K, 64))", TAKE),
    ),
    "pairs of a tile": persistent(loop(TWICE, FILL_1), loop(STEPS, PAIR), CAUSAL),
    "two loops of a tile": persistent(
        2 * loop(STEPS, FILL_2), loop(STEPS, PAIR) + loop(TWICE, TAKE), CAUSAL
    ),
}
FILLS = loop(STEPS, FILL_1)
HALF = loop("ag.range(0, steps // 2)", PAIR)
STEP = "ag.min(ag.cdiv(K, 32), i + 1)"
NEXT = when("n + 1 < steps", TAKE, inside=True)
LATER = when("n > 1", FILL_1, inside=True)
BRANCHES = {
    "a last slot": persistent(FILLS, HALF + when("steps % 2 == 1", TAKE), STEP),
    "one ahead": persistent(
        FILLS, when("steps > 0", TAKE) + loop(STEPS, NEXT), STEP
    ),
    "twice but at first": persistent(
        loop(STEPS, FILL_1, LATER),
        loop(STEPS, TAKE, when("n >= 2", TAKE, inside=True)), STEP,
    ),
    "one more where there are many": persistent(
        FILLS + when("steps > 3", FILL.format("0")),
        loop(STEPS, TAKE) + when("steps >= 4", TAKE), STEP,
    ),
    "one more in some tiles": persistent(
        FILLS + when("i % 2 == 0", FILL.format("0")),
        loop(STEPS, TAKE) + when("i % 2 == 0", TAKE), STEP,
    ),
}  # fmt: skip
OTHERWISE = {
    "a last slot": ("steps % 2 == 1", "steps % 2 == 0"),
    "one ahead": ("n + 1 < steps", "n + 2 < steps"),
    "twice but at first": ("n >= 2", "n >= 3"),
    "one more where there are many": ("steps >= 4", "steps >= 5"),
    "one more in some tiles": ("i % 2 == 0", "i % 2 == 1"),
}
WRONG = {
    "a half pair at the end": one_tile(
        loop("ag.range(0, ag.cdiv(K, 32))", FILL_1),
        loop("ag.range(0, ag.cdiv(K, 64))", PAIR),
    ),
    "one fill more": one_tile(
        SINGLE.replace("K // 32", "K // 32 + 1"),
        loop("ag.range(0, K, 64)", PAIR), WHOLE,
    ),
    "one drain more": one_tile(
        SINGLE, loop("ag.range(0, K + 64, 64)", PAIR), WHOLE
    ),
    "one of a pair is kept": one_tile(
        SINGLE,
        loop("ag.range(0, K, 64)", PAIR.replace("            b.release()\n", "")),
        WHOLE,
    ),
    "more are held than there are": one_tile(
        SINGLE, loop("ag.range(0, K, 64)", PAIR), WHOLE
    ).replace("ST: int = 4", "ST: int = 1"),
    "a pair less in some tile": persistent(
        loop(TWICE, FILL_1), loop("ag.range(0, ag.min(steps, 3))", PAIR), CAUSAL
    ),
    "a drain less in each tile": persistent(
        loop(TWICE, FILL_1), loop("ag.range(1, 2 * steps)", TAKE), CAUSAL
    ),
    "the second loop is shorter": persistent(
        2 * loop(STEPS, FILL_2), loop(STEPS, PAIR) + loop("ag.range(1, steps)", PAIR),
        CAUSAL,
    ),
    "the second loop has no pairs": persistent(
        2 * loop(STEPS, FILL_2), 2 * loop(STEPS, TAKE), CAUSAL
    ),
}  # fmt: skip
SIZES = [(16, 64), (48, 192), (96, 96), (64, 320)]


Sum = Callable[[np.ndarray, int], float]
"""What a row's output is, given how many tiles of rows there are up to its own."""


def _runs(program: Program, whole: bool, summed: Sum | None = None) -> list[str]:
    """What the interpreter says at some sizes; a right kernel's sums are looked at."""
    found: list[str] = []
    for m, k in SIZES:
        if whole and k % 64:
            continue
        a = np.random.default_rng(k).integers(-4, 5, (m, k)).astype(np.float32)
        s = np.full(m, np.nan, np.float32)
        try:
            arrays = {"A": a, "S": s}
            result = run(program, arrays, sm_count=2, collect=True, seed=m)
        except ArgusError as error:
            found.append(str(error))
            continue
        found += [str(fault) for fault in result.errors]
        if summed is not None:
            wanted = [summed(a[i], i // 16 + 1) for i in range(m)]
            np.testing.assert_array_equal(s, wanted)
    return found


@pytest.mark.parametrize("name", RIGHT)
def test_proved(name: str) -> None:
    program = placed(RIGHT[name])
    bad = failing(program)
    assert not bad, told(bad)
    times = 2 if "two" in name else 1
    part = 64 if "tile" in name else 640
    assert not _runs(
        program, WHOLE in RIGHT[name], lambda row, i: times * row[: part * i].sum()
    )


@pytest.mark.parametrize(
    "name", few(WRONG, *WRONG.keys() - {"the second loop is shorter"})
)
def test_never_proved(name: str) -> None:
    program = placed(WRONG[name])
    bad = failing(program)
    assert bad and bad[0].verdict is Verdict.REFUTED, told(bad)
    assert _runs(program, WHOLE in WRONG[name])


@pytest.mark.parametrize(
    "name", few(BRANCHES, "a last slot", "one ahead", "one more in some tiles")
)
def test_branches(name: str) -> None:
    """Roles that branch alike are right; what one of them decides otherwise is not."""
    text, (old, new) = BRANCHES[name], OTHERWISE[name]
    program = placed(text)
    bad = failing(program)
    assert not bad, told(bad)
    assert not _runs(program, whole=False)
    load, mark, use = text.partition('    with ag.role("use"')
    assert old in use
    bad = failing(placed(load + mark + use.replace(old, new)))
    assert bad and bad[0].verdict is Verdict.REFUTED, told(bad)


def test_what_has_to_be_remembered_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One loop takes what two have filled: twice a number that is only known when the
    first of them is over.
    """
    monkeypatch.setattr(trip_count_sequences, "_STATES", 150)
    four = loop("ag.range(0, 4 * steps)", TAKE)
    text = persistent(2 * loop(STEPS, FILL_2), four, CAUSAL)
    bad = failing(placed(text))
    assert {o.verdict for o in bad} == {Verdict.UNKNOWN}, told(bad)


def test_a_count_is_asked_by_its_number() -> None:
    """`last` is the inverse, also below 0 and where rounding hides a number."""
    whole, rounded = (1, 1, 0, 1), (1, 1, 1, 2)
    for terms in (
        [whole],
        [(2, 1, 0, 1)],
        [(1, 1, 31, 32)],
        [(1, 3, 2, 4)],
        [rounded, (-1, 1, 1, 4)],
        [whole, rounded],
    ):
        for constant in (-3, 0, 2):
            count = TripCount(tuple(terms), constant)
            assert count.rises
            for n in range(-80, 80):
                for m in range(-4, 9):
                    assert (count.of(n) > m) == (n > count.last(m))
    assert not TripCount(((1, 1, 0, 2), (-1, 1, 0, 3)), 0).rises
    assert not TripCount(((-1, 1, 0, 1),), 0).rises
