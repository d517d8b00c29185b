"""What iterations hand on: through registers and shared memory, one or more
iterations."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import pytest

from argus.verify.verdict import Verdict
from verifier.tags.check_tags import failing, placed, told

HEAD = """
import argus as ag
from argus import bf16

@ag.kernel
def copy(X: bf16["M N"], Y: bf16["M N"], *, BN: int = 64):
    M, N = X.shape
    ag.launch(warps=4)
    i = ag.block(ag.cdiv(M, 64))
"""

REGISTERS = """
    a = ag.load(X[i * 64 :, 0:], (64, 64))
    b = ag.load(X[i * 64 :, 64:], (64, 64))
    for n in ag.range(0, N, BN):
        Y[i * 64 :, n:] = a
        a = b
        b = ag.load(X[i * 64 :, n + 128 :], (64, 64))
"""

SHARED = """
    p = ag.shared(bf16, (64, 64), dims="M N")
    q = ag.shared(bf16, (64, 64), dims="M N")
    p.store(ag.load(X[i * 64 :, 0:], (64, 64)))
    q.store(ag.load(X[i * 64 :, 64:], (64, 64)))
    for n in ag.range(0, N, BN):
        Y[i * 64 :, n:] = p.load()
        p.store(q.load())
        q.store(ag.load(X[i * 64 :, n + 128 :], (64, 64)))
"""

ONE = """
    p = ag.shared(bf16, (64, 64), dims="M N")
    p.store(ag.load(X[i * 64 :, 0:], (64, 64)))
    for n in ag.range(0, N, BN):
        Y[i * 64 :, n:] = p.load()
        p.store(ag.load(X[i * 64 :, n + 64 :], (64, 64)))
"""

BODIES = {"registers": REGISTERS, "shared": SHARED, "one": ONE}


@pytest.mark.parametrize("name", BODIES)
def test_right(name: str) -> None:
    bad = failing(placed(HEAD + BODIES[name]))
    assert not bad, told(bad)


WRONG = [
    # Only in the first iteration, only in the second, from the third on.
    ("registers", "0:], (64", "8:], (64"),
    ("registers", "64:], (64", "72:], (64"),
    ("registers", "n + 128 :]", "n + 192 :]"),
    ("shared", "0:], (64", "8:], (64"),
    ("shared", "64:], (64", "72:], (64"),
    ("shared", "n + 128 :]", "n + 192 :]"),
    ("one", "0:], (64", "8:], (64"),
    ("one", "n + 64 :]", "n + 72 :]"),
]


@pytest.mark.parametrize(("name", "old", "new"), WRONG)
def test_wrong(name: str, old: str, new: str) -> None:
    body = BODIES[name]
    assert body.count(old) == 1
    bad = failing(placed(HEAD + body.replace(old, new)))
    assert "AG0305" in {o.rule for o in bad if o.verdict is Verdict.REFUTED}, told(bad)


def test_a_tile_that_grows_for_ever_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Five tiles handed on in a circle: more than the passes that are made."""
    monkeypatch.setattr("argus.verify.tags.walk._PASSES", 3)
    names = "abcde"
    loads = "".join(
        f"    {x} = ag.load(X[i * 64 :, {64 * j} :], (64, 64))\n"
        for j, x in enumerate(names)
    )
    body = (
        "\n" + loads + "    for n in ag.range(0, N, BN):\n"
        "        Y[i * 64 :, n:] = a\n"
        + "".join(f"        {x} = {y}\n" for x, y in pairwise(names))
        + "        e = ag.load(X[i * 64 :, n + 320 :], (64, 64))\n"
    )
    right, wrong = failing(placed(HEAD + body)), body.replace("128 :]", "136 :]")
    assert right and all(o.verdict is Verdict.UNKNOWN for o in right), told(right)
    # An early iteration is exact, however many follow.
    bad = failing(placed(HEAD + wrong))
    assert "AG0305" in {o.rule for o in bad if o.verdict is Verdict.REFUTED}, told(bad)


SHORT = """
import argus as ag
from argus import f32

@ag.kernel
def k(X: f32["M N"], Y: f32["M"], *, BN: int = 64):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    acc = ag.zeros((4, BN), f32)
    for n in ag.range(0, N, BN):
        acc = acc + ag.load(X[i * 4 :, n : ag.min(n + 60, N)], (4, BN))
    Y[i * 4 :] = ag.sum(acc, "N")
"""
"""A loop of which no closed form is found: 4 of 64 columns are left out each time."""


def test_every_process_reports_in_the_same_order():
    """What is not known of a loop's tiles is said in the order of their dimensions."""
    code = "\n".join(
        [
            "from verifier.tags.check_tags import failing, placed, told",
            f"print(told(failing(placed({SHORT!r}))))",
        ]
    )
    said = set()
    for seed in ("1", "2"):  # which ordered them differently
        path = os.pathsep.join(sys.path)
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        run = [sys.executable, "-c", code]
        done = subprocess.run(run, env=env, capture_output=True, text=True, check=True)
        said.add(done.stdout)
    (text,) = said
    assert "agree on M" in text and "agree on N" in text
