"""What the judge gives a reference: tensors, sizes, scalars, static parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from argus.evaluation.judge.subject import subject_of
from argus.runs.records import FileProblem

TEXT = """
import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["N"], B: f32["N"] | None, Y: f32["N"], a: f32 = 2.0, *, BN: int = 64):
    i = ag.block(ag.cdiv(X.shape[0], BN))
    x = ag.load(X[i * BN :], (BN,)) * a
    if B is not None:
        x = x + ag.load(B[i * BN :], (BN,))
    Y[i * BN :] = x


@ag.reference
def reference(X, B, a, N, BN):
    IMPORT
    assert (N, BN) == (4, 64) and isinstance(X, KIND), (N, BN, type(X))
    return X * a if B is None else X * a + B
"""


@pytest.mark.parametrize(
    ("import_", "kind"), [("pass", "np.ndarray"), ("import torch", "torch.Tensor")]
)
@pytest.mark.parametrize("given", [False, True])
def test_it_gets_all_that_it_names(import_: str, kind: str, given: bool) -> None:
    if kind.startswith("torch"):
        pytest.importorskip("torch")
    dtypes = {"X": "f32", "Y": "f32"} | ({"B": "f32"} if given else {})
    text = TEXT.replace("IMPORT", import_).replace("KIND", kind)
    subject = subject_of(
        FileProblem(name="k", kernel="k", reference=text, sizes={"N": 4}, dtypes=dtypes)
    )
    arrays: dict[str, Any] = {
        n: np.full(4, 3.0) for n in ("X", "B", "Y") if n in dtypes
    }
    assert subject.absent == (frozenset() if given else {"B"})
    made = subject.entry.reference(np, arrays, subject.case)
    assert np.array_equal(made["Y"], np.full(4, 9.0 if given else 6.0))
