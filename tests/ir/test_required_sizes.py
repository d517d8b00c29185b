"""What requirements say of sizes: numbers, and divisors."""

import pytest

from argus.ir.program import Program
from argus.ir.required import required_divisors, required_sizes
from argus.lang.kernel import load_kernels
from argus.requests import Request, tile_program

KERNEL = """import argus as ag
from argus import f32

@ag.kernel
def pairs(X: f32["M D"], F: f32["P Q"], Y: f32["M D"], *, W: int = 128):
    M, D = X.shape
    P, Q = F.shape
    {requirements}
    i = ag.block(ag.cdiv(M, 4))
    Y[i * 4 :, 0:W] = ag.load(X[i * 4 :, 0:W], (4, W)) + F[0, 0]
"""
SIZES: dict[str, dict[str, int]] = {
    "D == W; P * 2 == D": {"D": 128, "P": 64},
    "(P * 2 == D) & (D == W); Q + 3 == P": {"D": 128, "P": 64, "Q": 61},
    "20 - Q == M; M == 7": {"M": 7, "Q": 13},
    "M - 5 == 2": {"M": 7},
    "M == 7; P * 2 == M": {"M": 7},
    "P * 2 == D; M >= 2": {},
}


def program_that_requires(required: str) -> Program:
    """A program with these requirements."""
    lines = (f'ag.require({one}, "so")' for one in required.split("; "))
    text = KERNEL.format(requirements="\n    ".join(lines))
    (kernel,) = load_kernels("made.py", text).kernels.values()
    return tile_program(Request(kernel, {}))


@pytest.mark.parametrize("required", SIZES)
def test_numbers_follow_from_numbers(required: str) -> None:
    assert required_sizes(program_that_requires(required)) == SIZES[required]


def test_divisors() -> None:
    program = program_that_requires("(D % P == 0) & (M > 0); M % 8 == 0; D % Q == 1")
    assert list(required_divisors(program)) == [("P", "D")]
