"""A bounded `while` is a `for` with an `if` around its body."""

from __future__ import annotations

from support import program

from argus.ir.printer import print_program
from argus.lang.kernel import load_kernels

HEAD = """
import argus as ag
from argus import f32, i32

@ag.inline
def halves(n, most):
    count = 0
    {inline}
            n, count = n // 2, count + 1
    return count

@ag.kernel
def k(T: i32["N"], X: f32["M N"], n: i32):
    low, high = 0, ag.dim("N")
    x = ag.load(X[0:16, 0:64])
    {kernel}
            middle = (low + high) // 2
            x = x + 1.0
            if T[middle] < n:
                low = middle + 1
            else:
                high = middle
    X[0:16, 0:64] = x + halves(low, 9)
"""


def text(inline: str, kernel: str) -> str:
    source = HEAD.format(inline=inline, kernel=kernel)
    (made,) = load_kernels("bounded.py", source).kernels.values()
    lines = (
        line.lstrip(" 0123456789") for line in print_program(program(made)).split("\n")
    )
    # The conditions stand in other lines.
    return "\n".join(line for line in lines if not line.startswith("from line"))


def test_it_is_the_loop_that_it_says() -> None:
    loops = text(
        "for _ in ag.range(most):\n        if n > 1:",
        "for _ in ag.range(n):\n        if low < high:",
    )
    bounded = text(
        "while ag.at_most(most, n > 1):\n        if True:",
        "while ag.at_most(n, low < high):\n        if True:",
    )
    assert bounded == loops
    assert "if " in loops


def test_a_reference_keeps_its_loops() -> None:
    source = """
import argus as ag
from argus import f32

@ag.kernel
def k(X: f32["N"]):
    X[0:4] = ag.load(X[0:4])

@ag.reference
def ref(X):
    n = 3
    while n > 0:
        n = n - 1
    return X
"""
    (made,) = load_kernels("loops.py", source).kernels.values()
    assert program(made).outputs == ["X"]
