"""The CUDA driver's C interface: structures, constants, entry points, by ctypes.

ctypes and not `cuda.bindings`, for three reasons: importing the latter takes a tenth of
a second, which is most of a warm start; it has no types; and a launch from a prebuilt
configuration costs 0.4 µs here. Functions release the interpreter lock, since a launch
blocks when the device's queue is full.

Layouts and numbers are those of `cuda.h` (CUDA Driver API, "Data types used by CUDA
driver"); they are part of the driver's stable ABI. What the calls are for is said in
`driver`.
"""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache

from argus.diagnostics import ArgusError, fail

CLUSTER_DIMENSION = 4
"""``CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION``"""
OVERLAPPING = 6
"""``CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION``"""

# CUdevice_attribute
MULTIPROCESSOR_COUNT = 16
CAPABILITY_MAJOR = 75
CAPABILITY_MINOR = 76

POINTER_DEVICE = 9
"""``CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL``"""

# CUfunction_attribute
MAX_DYNAMIC_SHARED = 8
NON_PORTABLE_CLUSTER = 14

CAPTURE_MODE_RELAXED = 2
"""``CU_STREAM_CAPTURE_MODE_RELAXED``"""

# CUresult
OUT_OF_MEMORY = 2
NO_DEVICE = 100
INVALID_IMAGE = 200
NO_BINARY = 209
UNSUPPORTED_PTX = 222
STICKY = frozenset({700, 702, 710, 714, 715, 716, 717, 718, 719, 721})
"""Errors after which a context is lost: a fault of a kernel that ran before."""


class LaunchAttribute(ctypes.Structure):
    """``CUlaunchAttribute`` with the numbers of its 64-byte value.

    Of a cluster these are x, y and z, of an overlapping launch one that is 1.
    """

    _fields_ = (
        ("id", c_uint),
        ("pad", c_uint),
        ("x", c_uint),
        ("y", c_uint),
        ("z", c_uint),
        ("rest", c_uint * 13),
    )


class LaunchConfig(ctypes.Structure):
    """``CUlaunchConfig``."""

    _fields_ = (
        ("grid_x", c_uint),
        ("grid_y", c_uint),
        ("grid_z", c_uint),
        ("block_x", c_uint),
        ("block_y", c_uint),
        ("block_z", c_uint),
        ("shared_bytes", c_uint),
        ("stream", c_void_p),
        ("attributes", POINTER(LaunchAttribute)),
        ("attribute_count", c_uint),
    )


# Every entry point that is used, with the types of its arguments.
_SIGNATURES: dict[str, tuple[object, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceTotalMem_v2": (POINTER(c_size_t), c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(c_void_p), c_int),
    "cuCtxGetCurrent": (POINTER(c_void_p),),
    "cuCtxSetCurrent": (c_void_p,),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (POINTER(c_void_p),),
    "cuModuleLoadData": (POINTER(c_void_p), c_char_p),
    "cuModuleGetFunction": (POINTER(c_void_p), c_void_p, c_char_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuThreadExchangeStreamCaptureMode": (POINTER(c_int),),
    "cuTensorMapEncodeTiled": (
        c_void_p,
        c_int,
        c_uint,
        c_void_p,
        POINTER(c_uint64),
        POINTER(c_uint64),
        POINTER(c_uint),
        POINTER(c_uint),
        c_int,
        c_int,
        c_int,
        c_int,
    ),
    "cuLaunchKernelEx": (c_void_p, c_void_p, c_void_p, c_void_p),
    "cuPointerGetAttribute": (c_void_p, c_int, c_uint64),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
}


@cache
def library() -> ctypes.CDLL:
    """The driver library, initialised, its functions typed.

    Raises ArgusError AG0911 (no driver library), AG0903 (no device), AG0904 (a driver
    that lacks a function), AG0810 (any other refusal).
    """
    try:
        loaded = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise fail(
            "AG0911",
            None,
            "the CUDA driver library libcuda.so.1 cannot be loaded",
            notes=[str(error), "compiling and verifying need no driver; running does"],
        ) from error
    for name, types in _SIGNATURES.items():
        try:
            function = getattr(loaded, name)
        except AttributeError as error:
            raise fail(
                "AG0904", None, f"the CUDA driver is too old: it has no {name}"
            ) from error
        function.argtypes = types
        function.restype = c_int
    check(loaded.cuInit(0), "initialising the driver", loaded)
    return loaded


def error_name(status: int, loaded: ctypes.CDLL | None = None) -> str:
    """The driver's name of a status, "CUDA_ERROR_INVALID_VALUE"."""
    return _text("cuGetErrorName", status, loaded) or f"CUDA error {status}"


def _text(function: str, status: int, loaded: ctypes.CDLL | None) -> str:
    text = c_char_p()
    getattr(loaded or library(), function)(status, byref(text))
    return (text.value or b"").decode(errors="replace")


def check(status: int, what: str, loaded: ctypes.CDLL | None = None) -> None:
    """Raise what a driver call answered, unless it is success.

    ``what`` completes "... failed". Raises ArgusError AG0811 (the context is lost),
    AG0903, AG0904, AG0905, AG0912 or AG0810, with the driver's name of the error.
    """
    if status == 0:
        return
    raise refusal(status, what, loaded=loaded)


def refusal(
    status: int,
    what: str,
    notes: Sequence[str] = (),
    loaded: ctypes.CDLL | None = None,
) -> ArgusError:
    """The exception for a driver call that failed; see :func:`check`."""
    codes = {
        OUT_OF_MEMORY: "AG0912",
        NO_DEVICE: "AG0903",
        INVALID_IMAGE: "AG0904",
        NO_BINARY: "AG0905",
        UNSUPPORTED_PTX: "AG0904",
    }
    name = error_name(status, loaded)
    if status in STICKY:
        lost = "the fault is that of a kernel that ran before; its context is lost"
        return fail("AG0811", None, f"{what} failed: {name}", notes=[lost, *notes])
    words = _text("cuGetErrorString", status, loaded)
    code = codes.get(status, "AG0810")
    return fail(code, None, f"{what} failed: {name}", notes=[words, *notes])
