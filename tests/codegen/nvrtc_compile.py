"""Compile a printed kernel with NVRTC, and read what it says."""

from __future__ import annotations

from argus.runtime.nvrtc import compile_source


def compiled(text: str, target: str) -> str:
    """The compiler's log. Fails the test when the text does not compile."""
    options = [f"--gpu-architecture={target}", "--std=c++17", "--ptxas-options=-v"]
    done = compile_source(text, "kernel.cu", options)
    assert done.succeeded, done.log
    assert "warning" not in done.log
    return done.log
