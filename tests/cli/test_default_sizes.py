"""`argus run FILE` where sizes are not given: such that a launch admits, and small."""

from math import prod
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("no_gpu")

FOUR = """import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["A B C D"], Y: f32["A B C D"]):
    A, B, C, D = X.shape
    ag.require(D % 24 == 0, "whole groups")
    a, b, c, d = ag.block(A, B, ag.cdiv(C, 8), ag.cdiv(D, 64))
    x = ag.load(X[a, b, c * 8 :, d * 64 :], (8, 64))
    Y[a, b, c * 8 :, d * 64 :] = x + 1.0


@ag.reference
def k_reference(X):
    return X + 1
"""

TOGETHER = """import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["A B"], Y: f32["A B"]):
    A, B = X.shape
    ag.require(A * B <= 8, "few elements")
    a = ag.block(A)
    Y[a, 0:] = ag.load(X[a, 0:], (8,)) + 1.0
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    where = tmp_path / "four.py"
    where.write_text(FOUR)
    return str(where)


def test_requirements_hold_and_tensors_are_small(argus, file: str) -> None:
    ran = argus("run", file, "--json")
    assert ran.code == 0
    [kernel] = ran.json["kernels"]
    assert kernel["sizes"]["D"] % 24 == 0
    assert 2 * prod(kernel["sizes"].values()) <= 1 << 20
    # Inputs, copies and outputs, and what statistics take.
    assert kernel["bytes"] >= 12 * prod(kernel["sizes"].values())


def test_a_size_that_is_given_stays(argus, file: str) -> None:
    [kernel] = argus("run", file, "--size", "A=100", "--json").json["kernels"]
    assert kernel["sizes"]["A"] == 100
    assert 2 * prod(kernel["sizes"].values()) <= 1 << 20


def test_a_given_size_that_is_not_admitted(argus, file: str) -> None:
    ran = argus("run", file, "--size", "D=25")
    assert ran.code == 2
    assert "error[AG0808]: `k`: ((D % 24) == 0) does not hold: D = 25" in ran.err
    assert "required because whole groups" in ran.err
    # At the line that says so, not along the whole kernel.
    assert "ag.require(D % 24 == 0" in ran.err and "def k(" not in ran.err


def test_sizes_that_no_requirement_refuses_alone(argus, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(TOGETHER)
    ran = argus("run", str(path), "--size", "A=9", width=200)
    assert ran.code == 2
    assert "`k` does not admit A=9, whatever the other sizes are" in ran.err
    assert "it requires ((A * B) <= 8): few elements" in ran.err


@pytest.mark.parametrize("size", ["K=33", "K=7", "M=1", "N=24"])
def test_other_sizes_of_a_case_may_need_another_kernel(argus, size: str) -> None:
    """Static parameters of a case are not those of a kernel for other sizes."""
    ran = argus("run", "gemm", "--interpret", "--no-proof", "--size", size)
    assert (ran.code, ran.err) == (0, "")


def test_static_parameters_that_sizes_refuse(argus) -> None:
    words = ["--set", "BN=256", "--size", "N=300"]
    ran = argus("run", "softmax", "--interpret", "--no-proof", *words, width=200)
    assert ran.code == 2
    assert "error[AG0808]: (N <= 256) does not hold: N = 300" in ran.err
    assert "def softmax(" not in ran.err


def test_more_than_the_memory_names_sizes_and_bytes(argus, file: str) -> None:
    sizes = [x for d in "ABC" for x in ("--size", f"{d}=10000")]
    ran = argus("run", file, *sizes, width=200)
    assert ran.code == 2
    assert "error[AG0908]: at A=10000, B=10000, C=10000, D=24" in ran.err
    assert f"{10**12 * 24 * 76} bytes" in ran.err
    assert "choose smaller sizes: --size DIM=N" in ran.err


def test_it_says_which_command_compares(argus, file: str) -> None:
    ran = argus("run", file, width=200)
    assert f"`argus test {file}` does that" in ran.out
    assert "has no `@ag.reference`" in argus("run", "scale.py", width=200).out


def test_sizes_that_follow_from_others(argus) -> None:
    example = Path(__file__).parents[2] / "examples" / "convolution.py"
    ran = argus("run", str(example), "--no-proof", "--json")
    assert ran.code == 0
    [kernel] = ran.json["kernels"]
    sizes = kernel["sizes"]
    assert sizes["M"] == sizes["B"] * sizes["H"] * sizes["W"]
    assert sizes["K"] == 9 * sizes["C"]
