"""What a reference needs to be a number it needs where it takes that, nowhere else.

A kernel that divides by 0 is no reference that chooses another number there; and it is
one that does so, too.
"""

from __future__ import annotations

import pytest

from argus.equivalence.references import reference_of
from argus.equivalence.traced import decided
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request

ELEMENTS = """
import argus as ag
from argus import f32

@ag.kernel
def k(X: f32["M"], S: f32["M"], Y: f32["M"], *, B: int = 128):
    M = ag.dim("M")
    i = ag.block(ag.cdiv(M, B))
    x = ag.load(X[i * B:], (B,))
    s = ag.load(S[i * B:], (B,))
    Y[i * B:] = (x * s) / s

@ag.reference
def ref(X, S):
"""

ROWS = """
import argus as ag
from argus import f32

@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, B: int = 128):
    M = ag.dim("M")
    N = ag.dim("N")
    ag.require(N <= B, "a row is a tile")
    i = ag.block(M)
    x = ag.load(X[i, 0:], (B,), fill=-ag.inf)
    v = ag.where(x > 0.0, x, -ag.inf)
    e = ag.exp(v - ag.max(v, "N"))
    Y[i, 0:] = e / ag.sum(e, "N")

@ag.reference
def ref(X):
    import numpy as np

    v = np.where(X > 0, X, -np.inf)
    e = np.exp(v - np.max(v, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    kept = np.sum(X > 0, axis=1)
"""

OTHERWISE = {
    "where": "np.where(S != 0, X * S / S, X)",
    "the other way": "np.where(S == 0, X, X * S / S)",
    "select": "np.select([S != 0], [X * S / S], X)",
    "stacked": "np.stack([X, X * S / S])[(S != 0).astype(int), np.arange(len(X))]",
    "taken": "np.take_along_axis(np.stack([X, X * S / S]), (S != 0).astype(int)[None],"
    " 0)[0]",
    "joined": "np.concatenate([X, X * S / S])[np.arange(len(X)) + len(X) * (S != 0)]",
    "fmax": "np.fmax(X * S / S, X)",
    "fmin": "np.fmin.reduce(np.stack([X * S / S, X]))",
    "nanmax": "np.nanmax(np.stack([X * S / S, X], 1), 1)",
    "nanmean": "np.nanmean(np.stack([X * S / S, X], 1), 1)",
    "torch": "torch.where(S != 0, X * S / S, X)",
    "filled": "(X * S / S).masked_fill(S == 0, 0.0) + X.masked_fill(S != 0, 0.0)",
    "never": "X + 0 * np.where(S > S, X * S / S, 1.0)",
}

ZEROS = {
    "any": "np.where(np.any(X > 0, axis=1, keepdims=True), p, 0.0)",
    "counted": "np.where(kept[:, None] > 0, p, 0.0)",
    "stacked": "np.stack([np.zeros_like(p), p])[(kept > 0).astype(int), "
    "np.arange(len(X))]",
}


def is_equal(text: str) -> bool:
    (kernel,) = load_kernels("k.py", text).kernels.values()
    reference = reference_of(kernel)
    assert reference is not None
    request = Request(kernel, default_dtypes(kernel, {}), {}, "sm_90a", {})
    return decided(request, reference).equal


@pytest.mark.parametrize("value", OTHERWISE.values(), ids=OTHERWISE)
def test_a_reference_that_takes_another_number_at_0_needs_none(value: str) -> None:
    library = "import torch" if "torch" in value or "fill" in value else ""
    body = f"    import numpy as np\n    {library or 'pass'}\n    return {value}\n"
    assert not is_equal(ELEMENTS + body)


def test_a_reference_that_divides_says_nothing_at_0() -> None:
    body = "    import numpy as np\n    return {}\n"
    for value in ("X * S / S", "np.where(X > 0, X * S / S, X * S * (1 / S))"):
        assert is_equal(ELEMENTS + body.format(value))


def test_rows_of_which_data_leave_nothing_are_no_numbers_in_both() -> None:
    assert is_equal(ROWS + "    return p\n")


@pytest.mark.parametrize("value", ZEROS.values(), ids=ZEROS)
def test_a_reference_with_numbers_there_is_another_one(value: str) -> None:
    assert not is_equal(ROWS + f"    return {value}\n")
