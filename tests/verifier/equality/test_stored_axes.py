"""What is asked of a tile is asked at the elements of it that a store reads."""

from __future__ import annotations

from argus.equivalence.references import reference_of
from argus.equivalence.traced import decided
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request

HEAD = """
import argus as ag
from argus import f32, i32

@ag.kernel
def k(X: f32["J I"], Y: f32["J I"], *, B: int = 8):
    I = ag.dim("I")
    J = ag.dim("J")
"""

COLUMNS = """
    ag.require(J > 0, "there is a maximum")
    ag.require(J <= B, "a block holds a column")
    i = ag.block(ag.cdiv(I, B))
    x = ag.load(X[0:, i * B:], (B, B), fill=-ag.inf)
    v = x - ag.max(x, "J")
    s = ag.sum(ag.where(ag.index(v, "J") < J, ag.exp(v), 0.0), "J")
    Y[0:, i * B:] = v - ag.log(s)

@ag.reference
def ref(X):
    import numpy as np

    v = X - np.max(X, axis=0)
    return v - np.log(np.sum(np.exp(v), axis=0))
"""

NOTHING_IN_THE_FIRST = """
    ag.require(J == B, "a block holds a column")
    ag.require(I == B, "and a row")
    b = ag.block(1)
    x = ag.load(X[b * B:, 0:], (B, B))
    zero = ag.full((B, B), 0, i32, dims="J I")
    above = (zero + ag.index(x, "J")) < (zero + ag.index(x, "I"))
    s = ag.sum(ag.where(above, ag.exp(x), 0.0), "J")
    ag.store(Y[b * B:, 0:], x * (s / s), mask=(zero + ag.index(x, "J")) >= 1)

@ag.reference
def ref(X, Y):
    out = Y.copy()
    out[1:] = X[1:]
    return out
"""


def is_equal(text: str) -> bool:
    (kernel,) = load_kernels("k.py", HEAD + text).kernels.values()
    reference = reference_of(kernel)
    assert reference is not None
    request = Request(kernel, default_dtypes(kernel, {}), {}, "sm_90a", {})
    return decided(request, reference).equal


def test_sums_of_columns_have_points_wherever_a_column_is_stored() -> None:
    """They are axis 0 of their own tile, and axis 1 of the one that is stored."""
    assert is_equal(COLUMNS)


def test_rows_that_are_stored_say_nothing_of_columns() -> None:
    """A sum over nothing in column 0 is no matter of row 0, which is left out."""
    assert not is_equal(NOTHING_IN_THE_FIRST)
