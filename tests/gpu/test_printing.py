"""What a kernel prints on a device are the lines that the interpreter prints."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

TEXT = """
import argus as ag
from argus import bf16, f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], a: f32 = 2.5):
    M, N = X.shape
    ag.require(N <= 64, "a row is a tile")
    i = ag.block(ag.cdiv(M, 16))
    x = ag.load(X[i * 16 :, 0:64], (16, 64), fill=-ag.inf)
    ag.print("it's 100% \\\\ // of", i, a, 7)
    ag.print("part", i, x[0:2, 0:2].to(bf16))
    if ag.any(x > 40.0):
        ag.print("large", x[0:4, 0:2])
    Y[i * 16 :, 0:64] = x
"""
RUN = """
import sys

import torch

from argus.lang.kernel import load_kernels

kernel = load_kernels(sys.argv[1]).kernels["k"]
x = torch.arange(100 * 60, dtype=torch.float32).reshape(100, 60) % 97 / 2
x = x.to(sys.argv[2])
kernel(x, torch.zeros_like(x))
if sys.argv[2] == "cuda":
    torch.cuda.synchronize()
"""


def _lines(file: Path, device: str) -> list[str]:
    words = [sys.executable, "-c", RUN, str(file), device]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


def test_the_lines_of_the_interpreter(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text(TEXT)
    lines = _lines(file, "cuda")
    assert lines == _lines(file, "cpu")
    assert sum("part" in x for x in lines) == 28
    assert sum("large" in x for x in lines) > 16
