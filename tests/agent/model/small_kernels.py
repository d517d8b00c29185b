"""Small kernels that scripted answers give, and the task that they are for."""

from __future__ import annotations

from pathlib import Path

START = '''\
import argus as ag
from argus import f32


@ag.kernel
def double(X: f32["M N"], Y: f32["M N"], *, BM: int = 1, BN: int = 64):
    """Y = 2 X."""
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN))
    Y[i * BM :, j * BN :] = x + x


@ag.reference
def double_reference(X):
    return X + X
'''

BETTER = START.replace("BM: int = 1, BN: int = 64", "BM: int = 4, BN: int = 256")
"""Larger tiles: fewer blocks, wider loads."""

REFUTED = START.replace(
    "ag.load(X[i * BM :, j * BN :], (BM, BN))",
    "ag.load(X[i * BM :, j * BN + 1 :], (BM, BN))",
)
"""Every element is its neighbour's."""

SAME = "# Twice as fast, honestly.\n" + START.replace("Y = 2 X", "Twice X")
"""Another text for the same program."""

EXPECTING = BETTER.replace(
    "    Y[i * BM", "    ag.expect(bank_conflicts=0)\n    Y[i * BM"
)
"""With an invariant in it."""


def written(folder: Path) -> Path:
    """The file of the task."""
    path = folder / "double.py"
    path.write_text(START)
    return path
