"""Runs of a kernel beside its reference on a device, which is torch's CPU here."""

from types import SimpleNamespace
from typing import Any

import pytest

from argus.equivalence.references import load, reference_of
from argus.equivalence.sizes import named_sizes
from argus.evaluation.requests import contiguous_facts
from argus.evaluation.testing import trial
from argus.evaluation.testing.trial import TrialOutcome, tried_once
from argus.ir.dtypes import DTYPES
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program

torch = pytest.importorskip("torch")

TEXT = """import argus as ag


@ag.kernel
def k(X: ag.float["M N"], Y: ag.float["M N"]):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, 64))
    Y[m, j * 64 :] = ag.load(X[m, j * 64 :], (64,))


@ag.reference
def k_reference(X):
    return X
"""
SIZES = {"M": 3, "N": 70}


def _launched(monkeypatch: pytest.MonkeyPatch, dtype: str, kernel: Any) -> TrialOutcome:
    """The outcome of a launch that is a function on tensors, X and Y."""
    own = load_kernels("k.py", TEXT).kernels["k"]
    types = {"X": DTYPES[dtype], "Y": DTYPES[dtype]}
    facts = contiguous_facts(own, {"X": (3, 70), "Y": (3, 70)})
    request = Request(own, types, {}, "sm_90a", facts)
    declared = reference_of(own)
    assert declared is not None

    def prepare_call(_kernel: Any, _args: Any, named: Any, *, checking: bool) -> Any:
        assert not checking
        return SimpleNamespace(
            prepare=lambda: lambda: kernel(named["X"], named["Y"])
        ), ()

    monkeypatch.setattr(trial, "DEVICE", "cpu")
    monkeypatch.setattr(trial, "torch_module", lambda: torch)
    monkeypatch.setattr(trial, "prepare_call", prepare_call)
    monkeypatch.setattr(trial, "launch_and_wait", lambda launch: launch())
    program = placed_program(request)
    return tried_once(
        request, program, load(declared), SIZES, {}, seed=0, on_device=True
    )


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
def test_what_a_launch_writes_is_compared(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    def right(x: Any, y: Any) -> None:
        assert str(x.dtype) == f"torch.{DTYPES[dtype].foreign}"
        assert torch.isnan(y).all()  # poisoned
        y.copy_(x)

    def wrong(x: Any, y: Any) -> None:
        y.copy_(x)
        y[2, 69] += 3

    def partly(x: Any, y: Any) -> None:
        y[:, :64] = x[:, :64]

    def changed(x: Any, y: Any) -> None:
        y.copy_(x)
        x[0, 0] = 7

    made = _launched(monkeypatch, dtype, right)
    assert (made.word, made.error, made.why) == ("right", 0.0, ())
    for kernel, why in (
        (wrong, "1 of 210 elements of Y are wrong; Y[2, 69] is"),
        (partly, "18 of 210 elements of Y are not written"),
        (changed, "the input X was overwritten"),
    ):
        made = _launched(monkeypatch, dtype, kernel)
        assert made.word == "wrong"
        assert why in made.why[0]


PRODUCT = """import argus as ag


@ag.kernel
def k(A: ag.f32["M K"], B: ag.f32["K N"], C: ag.f32["M N"]):
    M, K = A.shape
    N = B.shape[1]
    i, j = ag.block(ag.cdiv(M, 32), ag.cdiv(N, 32))
    acc = ag.zeros((32, 32), ag.f32)
    for q in ag.range(0, K, 32):
        a, b = ag.load(A[i * 32 :, q:], (32, 32)), ag.load(B[q:, j * 32 :], (32, 32))
        acc = ag.dot(a, b, acc, precision="tf32")
    C[i * 32 :, j * 32 :] = acc


@ag.reference
def k_reference(A, B, C):
    return A @ B
"""
FIXED = """import argus as ag


@ag.kernel
def k(X: ag.f32["M 32"], C: ag.f32["M 16"], Y: ag.f32["M"]):
    i = ag.block(ag.cdiv(ag.dim("M"), 16))
    x, c = ag.load(X[i * 16 :, :], (16, 32)), ag.load(C[i * 16 :, :], (16, 16))
    Y[i * 16 :] = ag.sum(x, 1) + ag.sum(c, 1)


@ag.reference
def k_reference(X, C, Y):
    assert X.shape[1] == 32 and C.shape[1] == 16
    return X.sum(1) + C.sum(1)
"""


def _interpreted(text: str, sizes: dict[str, int]) -> TrialOutcome:
    kernel = load_kernels("k.py", text).kernels["k"]
    types = {t.name: DTYPES["f32"] for t in kernel.signature.tensors}
    request = Request(kernel, types, {}, "sm_90a", {})
    declared = reference_of(kernel)
    assert declared is not None
    program = placed_program(request)
    return tried_once(
        request, program, load(declared), sizes, {}, seed=0, on_device=False
    )


@pytest.mark.parametrize("k", [32, 256])
def test_products_of_tf32_may_be_off_by_their_bits(k: int) -> None:
    sizes = {"M": 32, "K": k, "N": 32}
    found = _interpreted(PRODUCT, sizes)
    assert found.word == "right" and found.relative > 0.1, found
    wrong = PRODUCT.replace("return A @ B", "return A @ B * 1.01")
    assert _interpreted(wrong, sizes).word == "wrong"


def test_each_tensor_has_the_fixed_sizes_of_its_own() -> None:
    found = _interpreted(FIXED, {"M": 16})
    assert found.word == "right", found


def test_a_number_in_an_annotation_is_no_size_that_is_named() -> None:
    assert named_sizes({"M": 16, "_1": 32, "_0": 4, "_a1": 2}) == {"M": 16, "_a1": 2}


WRAPPING = """import argus as ag
from argus import i32


@ag.kernel
def k(X: i32["N"], Y: i32["N"]):
    i = ag.block(ag.cdiv(X.shape[0], 64))
    Y[i * 64 :] = (ag.load(X[i * 64 :], (64,)) * 1103515245) & 2147483647


@ag.reference
def k_reference(X):
    return X * 1103515245 % 2**31
"""


def test_references_get_whole_numbers_of_64_bits_whenever_they_are_called() -> None:
    own = load_kernels("k.py", WRAPPING).kernels["k"]
    declared = reference_of(own)
    assert declared is not None
    facts = contiguous_facts(own, {"X": (70,), "Y": (70,)})
    request = Request(own, dict.fromkeys("XY", DTYPES["i32"]), {}, "sm_90a", facts)
    program = placed_program(request)
    found = tried_once(
        request, program, load(declared), {"N": 70}, {}, seed=0, on_device=False
    )
    assert (found.word, found.tolerance) == ("right", 0)
