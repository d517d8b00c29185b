"""Machine code of a cubin as text, by NVIDIA's disassembler where it is installed."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

from argus.diagnostics import fail

_TIMEOUT = 120


def disassembler() -> Path | None:
    """nvdisasm: on PATH, or of the package nvidia-cuda-nvdisasm; None if neither."""
    found = shutil.which("nvdisasm")
    if found is not None:
        return Path(found)
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*/bin/nvdisasm")):
            return path
    return None


def sass(image: bytes) -> str:
    """SASS of a cubin.

    Raises ArgusError: AG0906 (no disassembler), AG0902 (it failed; with its words).
    """
    tool = disassembler()
    if tool is None:
        raise fail(
            "AG0906",
            None,
            "nvdisasm is not installed",
            help="pip install nvidia-cuda-nvdisasm",
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(image)
        try:
            done = subprocess.run(
                [str(tool), "--print-code", str(path)],
                capture_output=True,
                text=True,
                timeout=_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise fail(
                "AG0902", None, f"`{tool}` cannot be run", notes=[str(error)]
            ) from error
    if done.returncode != 0:
        words = done.stderr.strip() or f"exit status {done.returncode}"
        raise fail("AG0902", None, "nvdisasm cannot read the cubin", notes=[words])
    return done.stdout
