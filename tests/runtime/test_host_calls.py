"""Kernels called with tensors of the host: interpreted, and checked like launches."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus.diagnostics import ArgusError
from argus.lang.kernel import Kernel, load_kernels

HEAD = """
import argus as ag
from argus import bf16, f32, i32


@ag.kernel
"""
SCALE = """def scale(
    X: f32["M N"], Y: f32["M N"], by: f32 = 2.0, *, BM: int = 16, BN: int = 64
):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    Y[i * BM :, j * BN :] = ag.load(X[i * BM :, j * BN :], (BM, BN)) * by
"""
HALF = """def half(X: bf16["M N"], Y: bf16["M N"], *, BM: int = 16, BN: int = 64):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN)).to(f32)
    Y[i * BM :, j * BN :] = (x * 0.5).to(bf16)
"""
BEYOND = """def beyond(X: f32["M N"], Y: f32["M N"], *, BM: int = 16, BN: int = 64):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    s = ag.shared(f32, (BM, BN))
    Y[i * BM :, j * BN :] = s.load()
"""


def kernel(text: str) -> Kernel:
    """The only kernel of a text below the usual imports."""
    (found,) = load_kernels("host.py", HEAD + text).kernels.values()
    return found


def numbers(*shape: int) -> Any:
    """Random f32."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_arrays_of_numpy() -> None:
    scale = kernel(SCALE)
    x = numbers(37, 99)
    y = np.empty_like(x)
    scale(x, y)
    assert np.array_equal(y, 2 * x)
    scale(x, y, by=-0.5, BM=32)
    assert np.array_equal(y, np.float32(-0.5) * x)


def test_tensors_of_torch_are_looked_up_and_read_again() -> None:
    torch = pytest.importorskip("torch")
    scale = kernel(SCALE)
    x = torch.from_numpy(numbers(20, 65))
    y = torch.empty_like(x)
    scale(x, y)
    assert torch.equal(y, 2 * x)
    x += 1.0
    scale(x, y)
    assert torch.equal(y, 2 * x)


def test_strides_and_elements_that_numpy_lacks() -> None:
    half = kernel(HALF)
    x = numbers(40, 130).astype(ml_dtypes.bfloat16)[::2, :128]
    y = np.zeros((20, 256), ml_dtypes.bfloat16)[:, 64:192]
    half(x, y)
    assert np.array_equal(y, x * ml_dtypes.bfloat16(0.5))
    torch = pytest.importorskip("torch")
    given = torch.randn(20, 64).bfloat16()
    made = torch.empty_like(given)
    half(given, made)
    assert torch.equal(made, given * 0.5)


@pytest.mark.parametrize(
    ("x", "y", "code"),
    [
        (numbers(8, 16), np.zeros((8, 17), np.float32), "AG0804"),
        (numbers(8, 16), np.zeros((8, 16), np.float64), "AG0802"),
        (numbers(8, 16), np.zeros(8, np.float32), "AG0803"),
        (np.zeros((8, 0), np.float32), np.zeros((8, 16), np.float32), "AG0804"),
    ],
)
def test_arguments_are_checked_as_of_a_launch(x: Any, y: Any, code: str) -> None:
    with pytest.raises(ArgusError) as error:
        kernel(SCALE)(x, y)
    assert error.value.codes == (code,)


def test_an_output_that_cannot_be_written() -> None:
    y = np.zeros((8, 16), np.float32)
    y.flags.writeable = False
    with pytest.raises(ArgusError) as error:
        kernel(SCALE)(numbers(8, 16), y)
    assert error.value.codes == ("AG0809",)


def test_nothing_to_do() -> None:
    kernel(SCALE)(np.zeros((0, 16), np.float32), np.zeros((0, 16), np.float32))


def test_what_is_refuted_is_not_run() -> None:
    y = np.ones((16, 64), np.float32)
    beyond = kernel(BEYOND)
    with pytest.raises(ArgusError) as error:
        beyond(numbers(16, 64), y)
    assert "AG0816" not in error.value.codes
    assert (y == 1.0).all()
    with pytest.raises(ArgusError) as error:
        beyond.unchecked(numbers(16, 64), y)
    assert error.value.codes == ("AG0816",)


def _refused(call: Any, code: str, said: str) -> None:
    with pytest.raises(ArgusError, match=said) as caught:
        call()
    assert caught.value.codes == (code,)


def test_what_is_in_memory_otherwise_is_refused() -> None:
    """Not only by the first call: its kernel is not used for what only looks alike."""
    scale = kernel(SCALE)
    x, y = numbers(8, 16), np.zeros((8, 16), np.float32)
    other = x.astype(">f4")
    masked = np.ma.masked_array(x, mask=x > 0)
    field = np.zeros((8, 16), [("a", "f4"), ("b", "i2")])["a"]
    for _ in range(2):
        _refused(lambda: scale(other, y), "AG0802", "`X` has the bytes of its elements")
        _refused(lambda: scale(x, y.astype(">f4")), "AG0802", "`Y` has the bytes")
        _refused(lambda: scale(masked, y), "AG0812", "`X` takes a tensor, given a mask")
        _refused(lambda: scale(field, y), "AG0805", r"`X` are \(96, 6\) bytes.* have 4")
        scale(x, y)
        assert np.array_equal(y, 2 * x)


def test_the_help_for_strides_does_not_lose_results() -> None:
    scale = kernel(SCALE)
    wide = np.zeros((8, 32), np.float32)[:, ::2]
    with pytest.raises(ArgusError, match="AG0805") as caught:
        scale(numbers(8, 16), wide)
    assert "`numpy.ascontiguousarray(Y)`" in str(caught.value)
    assert "what is written to one stays in it" in " ".join(str(caught.value).split())


def test_tensors_of_torch_that_are_in_memory_otherwise() -> None:
    torch = pytest.importorskip("torch")
    scale = kernel(SCALE)
    y = torch.zeros(8, 1)
    signs = torch.view_as_complex(torch.ones(8, 1, 2)).conj().imag
    assert signs.is_neg()
    _refused(lambda: scale(signs, y), "AG0812", "with other signs")
    nowhere = torch.ones(8, 1, device="meta")
    _refused(lambda: scale(nowhere, y), "AG0807", "`X` is on meta")
    _refused(lambda: scale(nowhere, nowhere), "AG0807", "`X` is on meta")
