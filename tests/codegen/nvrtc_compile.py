"""Compile a printed kernel with NVRTC, and read what it says."""

from __future__ import annotations

from cuda.bindings import nvrtc


def compiled(text: str, target: str) -> str:
    """The compiler's log. Fails the test when the text does not compile."""
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], [])
    options = [f"--gpu-architecture={target}".encode(), b"--std=c++17"]
    options += [b"--ptxas-options=-v"]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    assert "warning" not in log.decode()
    return log.decode()
