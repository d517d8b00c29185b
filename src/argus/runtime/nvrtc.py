"""NVRTC behind a typed door: source and flags in, log and cubin out.

This file knows nothing about kernels, does not read the log and does not decide what a
warning means (`log` and `build` do). `cuda.bindings` is imported on first use: it costs
a tenth of a second, which a warm start from the cache must not pay.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol, cast

from argus.diagnostics import fail

Handle = object
_Status = int  # an IntEnum of cuda.bindings


class _Nvrtc(Protocol):
    """The part of ``cuda.bindings.nvrtc`` that is used (it ships no type stubs).

    Every function returns a tuple that starts with the status.
    """

    def nvrtcVersion(self) -> tuple[_Status, int, int]: ...  # noqa: N802
    def nvrtcGetSupportedArchs(self) -> tuple[_Status, list[int]]: ...  # noqa: N802
    def nvrtcCreateProgram(  # noqa: N802
        self,
        src: bytes,
        name: bytes,
        count: int,
        headers: list[bytes],
        names: list[bytes],
    ) -> tuple[_Status, Handle]: ...
    def nvrtcDestroyProgram(self, prog: Handle) -> tuple[_Status]: ...  # noqa: N802
    def nvrtcCompileProgram(  # noqa: N802
        self, prog: Handle, count: int, options: list[bytes]
    ) -> tuple[_Status]: ...
    def nvrtcGetProgramLogSize(self, prog: Handle) -> tuple[_Status, int]: ...  # noqa: N802
    def nvrtcGetProgramLog(self, prog: Handle, log: bytes) -> tuple[_Status]: ...  # noqa: N802
    def nvrtcGetCUBINSize(self, prog: Handle) -> tuple[_Status, int]: ...  # noqa: N802
    def nvrtcGetCUBIN(self, prog: Handle, image: bytes) -> tuple[_Status]: ...  # noqa: N802
    def nvrtcGetPTXSize(self, prog: Handle) -> tuple[_Status, int]: ...  # noqa: N802
    def nvrtcGetPTX(self, prog: Handle, ptx: bytes) -> tuple[_Status]: ...  # noqa: N802


@dataclass(frozen=True, slots=True)
class Compilation:
    """What NVRTC answered. ``image`` and ``ptx`` are None unless ``succeeded``.

    ``status`` is NVRTC's own name for the outcome, such as NVRTC_ERROR_COMPILATION.
    """

    succeeded: bool
    status: str
    log: str
    image: bytes | None
    ptx: str | None


@cache
def _load() -> _Nvrtc:
    try:
        module = importlib.import_module("cuda.bindings.nvrtc")
        nvrtc = cast("_Nvrtc", module)
        nvrtc.nvrtcVersion()  # dlopen happens here
    except (ImportError, RuntimeError) as error:
        raise fail(
            "AG0705",
            None,
            "NVRTC cannot be loaded",
            notes=[f"{type(error).__name__}: {error}"],
            help="pip install 'nvidia-cuda-nvrtc>=13.0.88,<14' 'cuda-bindings>=13,<14'",
        ) from error
    return nvrtc


def loaded_version() -> tuple[int, int]:
    """Major and minor version of the NVRTC library in this process.

    Raises ArgusError AG0705 if it cannot be loaded.
    """
    _, major, minor = _load().nvrtcVersion()
    return major, minor


def supported_architectures() -> tuple[int, ...]:
    """Compute capabilities (90 for sm_90 and sm_90a) that this NVRTC compiles for.

    Raises ArgusError AG0705 if it cannot be loaded.
    """
    _, architectures = _load().nvrtcGetSupportedArchs()
    return tuple(architectures)


@cache
def installed_version() -> str | None:
    """Version of the wheel ``nvidia-cuda-nvrtc`` ("13.5.37"), without loading it.

    None where there is no such wheel. Reads folder names on ``sys.path``: importing
    ``importlib.metadata`` alone would take longer than a whole warm start.
    """
    prefix, suffix = "nvidia_cuda_nvrtc-", ".dist-info"
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.startswith(prefix) and name.endswith(suffix):
                return name[len(prefix) : -len(suffix)]
    return None


def compiler_version() -> str:
    """What cache keys call this compiler.

    The wheel's full version where there is one, else what the library says of itself.
    Raises ArgusError AG0705 if there is neither.
    """
    wheel = installed_version()
    return wheel if wheel is not None else ".".join(map(str, loaded_version()))


def compile_source(source: str, name: str, options: Sequence[str]) -> Compilation:
    """Compile CUDA C++ to a cubin; safe to call from several threads at once.

    ``name`` is what the log calls the source. A source that does not compile is an
    answer, not an exception. Raises ArgusError AG0705 if NVRTC cannot be loaded.
    """
    nvrtc = _load()
    status, program = nvrtc.nvrtcCreateProgram(
        source.encode(), name.encode(), 0, [], []
    )
    if status != 0:
        return Compilation(False, _name(status), "", None, None)
    try:
        flags = [option.encode() for option in options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), flags)
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = _buffer(size)
        nvrtc.nvrtcGetProgramLog(program, log)
        text = log.decode(errors="replace").replace("\0", "").strip()
        if status != 0:
            return Compilation(False, _name(status), text, None, None)
        _, size = nvrtc.nvrtcGetCUBINSize(program)
        image = _buffer(size)
        (status,) = nvrtc.nvrtcGetCUBIN(program, image)
        if status != 0 or not size:
            return Compilation(False, _name(status), text, None, None)
        _, size = nvrtc.nvrtcGetPTXSize(program)
        ptx = _buffer(size)
        nvrtc.nvrtcGetPTX(program, ptx)
        listing = ptx.decode(errors="replace").replace("\0", "")
        return Compilation(True, _name(status), text, image, listing)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _buffer(size: int) -> bytes:
    """Zeros that NVRTC overwrites in place: an object that nobody else has.

    Python shares the bytes objects of length 0 and 1 (``b" " * 1 is b" "``), so that
    a write into one changes a constant of the whole process.
    """
    return bytes(bytearray(max(size, 2)))


def _name(status: int) -> str:
    return str(getattr(status, "name", status))
