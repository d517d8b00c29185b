"""No input may keep the frontend busy: each of these ends soon, with a diagnostic."""

import time

import pytest
from support import program

from argus.diagnostics import ArgusError
from argus.lang.kernel import load_kernels

HEAD = "import argus as ag\nfrom argus import f32, i32\n\n\n"
KERNEL = '@ag.kernel\ndef k(A: f32["M"], n: i32):\n'
STORE = "    A[0:4] = 1.0\n"


def nested(loop: str, depth: int, body: str) -> str:
    lines = [" " * (4 + i) + loop.format(i) for i in range(depth)]
    return "\n".join([*lines, " " * (4 + depth) + body]) + "\n"


def doubling(depth: int) -> str:
    first = "@ag.inline\ndef g0(x):\n    return x + x\n\n\n"
    rest = (
        f"@ag.inline\ndef g{i}(x):\n    return g{i - 1}(x) + g{i - 1}(x)\n\n\n"
        for i in range(1, depth)
    )
    return first + "".join(rest)


LOOPS = nested("for j{} in ag.range(0, n):", 40, "m = m - n")
UNROLLED = nested("for j{} in range(4000):", 3, "y = j0")
CASES = {
    "run-time loops": (KERNEL + "    m = 0\n" + LOOPS, "accepted"),
    "unrolled loops": (KERNEL + UNROLLED, "AG0515"),
    "one long loop": (KERNEL + "    for i in range(10**9):\n        pass\n", "AG0515"),
    "inline functions": (doubling(20) + KERNEL + "    y = g19(n)\n", "AG0515"),
    "deep inline functions": (doubling(60) + KERNEL + "    y = g59(n)\n", "AG0015"),
    "a huge tile": (KERNEL + "    x = ag.zeros((2**40,), f32)\n", "AG0208"),
    "a huge product": (KERNEL + "    x = ag.zeros((2**15, 2**15), f32)\n", "AG0208"),
    "powers of powers": (KERNEL + "    x = 2**2**2**2**2\n", "AG0119"),
    "a long text": (KERNEL + "    x = 'a' * 10**9\n", "AG0105"),
    "nested tuples": (KERNEL + "    x = " + "(" * 90 + ")" * 90 + "\n", "accepted"),
}


@pytest.mark.parametrize("name", CASES)
def test_ends_soon(name: str) -> None:
    text, code = CASES[name]
    begin = time.process_time()
    try:
        kernels = load_kernels("<limits>", HEAD + text + STORE).kernels
        program(kernels["k"])
        found = "accepted"
    except ArgusError as error:
        found = error.code
    assert found == code
    assert time.process_time() - begin < 20


def test_a_doubled_scalar_stays_small() -> None:
    text = (
        HEAD
        + KERNEL
        + "    m = n\n    for i in range(200):\n        m = m + m\n"
        + "    A[m : m + 4] = 1.0\n"
    )
    p = program(load_kernels("<limits>", text).kernels["k"])
    assert len(p.body.ops) == 202


def test_nested_calls_of_scalars_stay_small() -> None:
    calls = "g0(" * 40 + "n" + ")" * 40
    text = HEAD + doubling(1) + KERNEL + f"    A[{calls} :] = ag.zeros(4, f32)\n"
    begin = time.process_time()
    program(load_kernels("<limits>", text).kernels["k"])
    assert time.process_time() - begin < 5
