"""What is proved of whole numbers holds of those that wrap, too.

Each kernel reads an element that exists if a condition on numbers is true, or copies
where it is. If that is proved, the condition has to be true at the ends of the types.
"""

from __future__ import annotations

import numpy as np
import pytest

from argus.interpret import InterpreterError, run
from argus.ir.program import Program
from argus.verify.verdict import Verdict
from verifier.tags.check_tags import failing, placed, told

HEAD = """
import argus as ag
from argus import f32, i32, i64, u8

@ag.kernel
def k(T: i32["A"], U: i64["B"], V: u8["C"], X: f32["M"], Y: f32["M"], q: i64, p: i32):
    M = X.shape[0]
    ag.require(M <= 64, "one block")
    t, u, v = T[0], U[0], V[0]
    x = ag.load(X[0:], (64,))
"""
BRANCH = "    w = V[ag.where(COND, 0, -1)]\n    Y[w * 0 :] = x\n"
MASK = "    ag.store(Y[0:], x, mask=COND)\n"
POWER = """
    power = p * 0 + 1
    for i in ag.range(0, 40):
        power = power * 3
"""
SUM = """
    total = t
    for i in ag.range(0, U.shape[0]):
        total = total + VALUE
"""
I32 = (0, 1, -1, 60000, 2**31 - 1, -(2**31), 46341, 2**16, 2**30 - 1)
I64 = (0, 1, -1, 2**62, 2**63 - 1, -(2**63), 3037000500, 2**32, 5)

PROVED = {
    "square": BRANCH.replace("COND", "t * t >= 0"),
    "successor": BRANCH.replace("COND", "t < t + 1"),
    "twice": BRANCH.replace("COND", "t + t == 2 * t"),
    "quotient": BRANCH.replace("COND", "t // -1 == -t"),
    "absolute": BRANCH.replace("COND", "ag.abs(t) >= 0"),
    "byte": BRANCH.replace("COND", "v * v * v < 2**24"),
    "wide": BRANCH.replace("COND", "t + 2**33 > 0"),
    "remainder": BRANCH.replace("COND", "t % 8 * 2 < 16"),
    "byte mask": MASK.replace("COND", 'ag.index(x, "M") <= v * v + 64'),
    "sum": SUM.replace("VALUE", "V[i] * 0").replace("U.shape", "V.shape")
    + BRANCH.replace("COND", "total - t <= 0"),
}  # fmt: skip
NOT = {
    "fourth power": BRANCH.replace("COND", "t * t * t * t >= 0"),
    "wide square": BRANCH.replace("COND", "u * u >= 0"),
    "wide successor": BRANCH.replace("COND", "u < u + 1"),
    "argument": BRANCH.replace("COND", "q < q + 1"),
    "wide absolute": BRANCH.replace("COND", "ag.abs(u) >= 0"),
    "wide quotient": BRANCH.replace("COND", "(u // -1) * u <= 0"),
    "by zero": BRANCH.replace("COND", "t // t == 1"),
    "power": POWER + BRANCH.replace("COND", "power > 0"),
    "wide sum": SUM.replace("VALUE", "ag.abs(U[i] // 2)")
    + BRANCH.replace("COND", "total >= t"),
    "narrow mask": MASK.replace("COND", 'ag.index(x, "M") < t * t + 64'),
    "mask": MASK.replace("COND", 'ag.index(x, "M") + t >= t'),
    "tile": MASK.replace("COND", '(ag.index(x, "M") + t) * 2 >= 2 * t'),
    "wide mask": MASK.replace("COND", 'ag.index(x, "M") < u // 2 + 2**62 + 64'),
}  # fmt: skip


def copies(program: Program, t: int, u: int, v: int, q: int) -> bool:
    """Whether everything is read and copied, as the interpreter runs it."""
    arrays = {
        "T": np.full(16, t, np.int32), "U": np.full(16, u, np.int64),
        "V": np.full(16, v, np.uint8), "X": np.ones(64, np.float32),
        "Y": np.zeros(64, np.float32),
    }  # fmt: skip
    try:
        run(program, arrays, {"q": q, "p": 5})
    except InterpreterError:
        return False
    return bool(arrays["Y"].all())


def cases() -> list[tuple[int, int, int, int]]:
    """Values of t, u, v, q: the ends of their types among them."""
    return [(t, u, t % 256, u) for t, u in zip(I32, I64, strict=True)]


@pytest.mark.parametrize("name", PROVED)
def test_what_holds_of_all_numbers_is_proved(name: str) -> None:
    program = placed(HEAD + PROVED[name])
    bad = failing(program)
    assert not bad, told(bad)
    assert all(copies(program, *case) for case in cases())


@pytest.mark.parametrize("name", NOT)
def test_what_wraps_is_not_proved(name: str) -> None:
    program = placed(HEAD + NOT[name])
    assert any(o.verdict is not Verdict.PROVED for o in failing(program))
    assert not all(copies(program, *case) for case in cases())
