"""What a load fills in is told apart only where anything comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.ir import ops as o
from argus.terms import IndexSet, Value
from argus.verify.denotation import walk
from argus.verify.denotation.state import Context
from verifier.denotation.denoting import denoted

HEAD = """
@ag.kernel
def k(
    X: f32["M N"], I: i32["M"], B: f32["N"], Y: f32["M N"], Z: f32["N M"], S: f32["M"]
):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, 32), ag.cdiv(N, 32))
    x = ag.load(X[i * 32 :, j * 32 :], (32, 32))
"""
ALL_OF_IT = {
    "the same place": "Y[i * 32 :, j * 32 :] = ag.where(x > 0.0, x * x, -x)",
    "turned": "Z[j * 32 :, i * 32 :] = x.T",
    "two stores": "Y[i * 32 :, j * 32 :] = x\n    Z[j * 32 :, i * 32 :] = x.T",
    "a row for all": """
    b = ag.load(B[j * 32 :], (32,))
    Y[i * 32 :, j * 32 :] = x + b
""",
    "one further": "Y[i * 32 :, j * 32 + 1 :] = x",
    "an atomic sum": "ag.atomic_add(Y[i * 32 :, j * 32 :], x)",
}
NOT_ALL = {
    "one before": "Y[i * 32 :, j * 32 - 1 :] = x",
    "a sum": "S[i * 32 :] = ag.sum(x, 'N')",
    "an index": """
    n = ag.load(I[i * 32 :], (32,))
    Y[n, j * 32 :] = x
    w = n + 1
    ag.atomic_add(Y[w, j * 32 :], x)
""",
    "in a loop": """
    for _ in ag.range(0, 2):
        Y[i * 32 :, j * 32 :] = x
""",
}


def needed(body: str, tmp_path: Path, patch: pytest.MonkeyPatch) -> list[bool]:
    """Of each load: whether all that it fills in is known not to matter."""
    found: list[bool] = []
    loaded = walk.loaded

    def noted(context: Context, op: o.LoadGlobal, where: IndexSet) -> Value:
        value = loaded(context, op, where)
        found.append(len(value.cases) == 1)
        return value

    patch.setattr(walk, "loaded", noted)
    denoted(HEAD + "    " + body.lstrip(), tmp_path)
    return found


@pytest.mark.parametrize("name", ALL_OF_IT)
def test_loads_that_are_stored_in_place(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(needed(ALL_OF_IT[name], tmp_path, monkeypatch))


@pytest.mark.parametrize("name", NOT_ALL)
def test_loads_that_matter_elsewhere(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not all(needed(NOT_ALL[name], tmp_path, monkeypatch))
