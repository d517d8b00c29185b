"""What the instruction tests share: forms, compiling, and a thin layer over the driver.

A form is a kernel built around one or more device functions of the registry, and a
check that launches it with random data and compares with the meaning. Kernels of many
forms are compiled together. Buffers that a kernel writes start out poisoned.

This uses the driver directly, so that it tests nothing but the instructions.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from cuda.bindings import driver

from argus.isa.registry import cuda_prelude
from argus.runtime.nvrtc import compile_source

POISON = 0x7FFF_7FFF
"""A NaN as f32 and in both halves as bf16 and f16."""
BAD_LOGS = ("instructions are serialized", "'setmaxnreg' ignored")
U32, I32, U64 = ctypes.c_uint32, ctypes.c_int32, ctypes.c_uint64

SMEM = """\
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 base = (u32)__cvta_generic_to_shared(smem);
  const int tid = threadIdx.x;
"""
"""First lines of kernels that use dynamic shared memory."""


class DeviceError(Exception):
    """A call of the driver or NVRTC failed."""


class TensorMapBytes(ctypes.Structure):
    """CUtensorMap: 128 opaque bytes."""

    _fields_ = (("opaque", ctypes.c_uint64 * 16),)


@dataclass(frozen=True)
class Form:
    """One thing to test. `check(device, kernel)` returns what is wrong, in words."""

    name: str
    functions: tuple[str, ...]
    kernel: str
    text: str
    check: Callable[[Device, Any], list[str]]


def called(result: tuple[Any, ...]) -> Any:
    """The value of a driver call; raises DeviceError."""
    status, *values = result
    if int(status) != 0:
        raise DeviceError(status.name)
    return values[0] if len(values) == 1 else None


def build(forms: Sequence[Form], target: str, cache: Path) -> bytes:
    """Cubin of the kernels of these forms; raises DeviceError with the log."""
    texts = {form.kernel: form.text for form in forms}
    functions = {name for form in forms for name in form.functions}
    source = cuda_prelude(["TensorMap", *functions]) + "\n" + "\n".join(texts.values())
    path = cache / hashlib.sha256((target + source).encode()).hexdigest()
    if path.exists():
        return path.read_bytes()
    built = compile_source(source, "isa.cu", [f"--gpu-architecture={target}"])
    if built.image is None or any(bad in built.log for bad in BAD_LOGS):
        raise DeviceError(f"{built.status}: {built.log}")
    path.write_bytes(built.image)
    return built.image


def build_all(
    forms: Sequence[Form], batch: int, workers: int, cache: Path, target: str = "sm_90a"
) -> list[tuple[Sequence[Form], bytes | DeviceError]]:
    """Cubins of all forms, `batch` to a program, in parallel."""
    parts = [forms[i : i + batch] for i in range(0, len(forms), batch)]

    def one(part: Sequence[Form]) -> tuple[Sequence[Form], bytes | DeviceError]:
        try:
            return part, build(part, target, cache)
        except DeviceError as error:
            return part, error

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, parts))


@dataclass
class Device:
    """The first CUDA device, with its primary context made current."""

    buffers: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        called(driver.cuInit(0))
        self.handle = called(driver.cuDeviceGet(0))
        context = called(driver.cuDevicePrimaryCtxRetain(self.handle))
        called(driver.cuCtxSetCurrent(context))

    def name(self) -> str:
        raw: bytes = called(driver.cuDeviceGetName(128, self.handle))
        return raw.split(b"\0")[0].decode()

    def driver_version(self) -> int:
        return int(called(driver.cuDriverGetVersion()))

    def load(self, cubin: bytes, kernel: str) -> Any:
        module = called(driver.cuModuleLoadData(cubin))
        function = called(driver.cuModuleGetFunction(module, kernel.encode()))
        attribute = driver.CUfunction_attribute
        static = called(
            driver.cuFuncGetAttribute(
                attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function
            )
        )
        called(
            driver.cuFuncSetAttribute(
                function,
                attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                227 * 1024 - static,
            )
        )
        return function

    def upload(self, array: np.ndarray) -> U64:
        """Copy of the array on the device, as a kernel argument."""
        data = np.ascontiguousarray(array)
        pointer = int(called(driver.cuMemAlloc(max(data.nbytes, 16))))
        self.buffers.append(pointer)
        called(driver.cuMemcpyHtoD(pointer, data.ctypes.data, data.nbytes))
        return U64(pointer)

    def poisoned(self, words: int) -> U64:
        """A buffer of `words` poisoned 32-bit words."""
        return self.upload(np.full(words, POISON, dtype=np.uint32))

    def download(self, pointer: U64, shape: Any, dtype: Any) -> np.ndarray:
        data = np.empty(shape, dtype=dtype)
        called(driver.cuMemcpyDtoH(data.ctypes.data, pointer.value, data.nbytes))
        return data

    def launch(
        self,
        function: Any,
        args: Iterable[Any],
        *,
        grid: int = 1,
        block: int = 128,
        shared: int = 0,
    ) -> None:
        """Run a kernel and wait for it."""
        kept = list(args)
        places = [
            int(a.getPtr()) if hasattr(a, "getPtr") else ctypes.addressof(a)
            for a in kept
        ]
        table = (ctypes.c_void_p * len(places))(*places)
        called(
            driver.cuLaunchKernel(
                function, grid, 1, 1, block, 1, 1, shared, 0, ctypes.addressof(table), 0
            )
        )
        called(driver.cuCtxSynchronize())

    def tensor_map(
        self,
        pointer: U64,
        dims: Sequence[int],
        strides: Sequence[int],
        box: Sequence[int],
        itemsize: int,
        swizzle: int,
    ) -> Any:
        """Tensor map; `dims`, `strides` (bytes) and `box` are outermost first.

        Called through ctypes: the 128 bytes must outlive the call in one place.
        """
        rank = len(dims)
        u32s, u64s = ctypes.c_uint32 * rank, ctypes.c_uint64 * rank
        # CUtensorMapDataType: UINT16 is 1, UINT32 is 2; swizzles count from none = 0.
        kind = {2: 1, 4: 2}[itemsize]
        mode = {0: 0, 32: 1, 64: 2, 128: 3}[swizzle]
        room = ctypes.create_string_buffer(128 + 64)
        skip = -ctypes.addressof(room) % 64  # the driver wants 64-byte alignment
        made = TensorMapBytes.from_buffer(room, skip)
        status = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
            ctypes.byref(made),
            kind,
            rank,
            ctypes.c_void_p(pointer.value),
            u64s(*reversed(dims)),
            u64s(*reversed(strides[:-1]), 0),
            u32s(*reversed(box)),
            u32s(*[1] * rank),
            0,  # no interleave
            mode,
            0,  # no L2 promotion
            0,  # zeros outside
        )
        if status:
            raise DeviceError(f"cuTensorMapEncodeTiled: {status}")
        return made

    def free(self) -> None:
        """Release the buffers of the form just checked."""
        for pointer in self.buffers:
            called(driver.cuMemFree(pointer))
        self.buffers.clear()


def generator(name: str) -> np.random.Generator:
    """Random numbers that depend on the form's name only."""
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


def differences(what: str, got: np.ndarray, want: np.ndarray) -> list[str]:
    """One line about the elements that differ bit for bit (as unsigned integers)."""
    kind = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[got.itemsize]
    left = np.ascontiguousarray(got).view(kind)
    right = np.ascontiguousarray(want.astype(got.dtype)).view(kind)
    where = np.argwhere(left != right)
    if where.size == 0:
        return []
    first = tuple(int(i) for i in where[0])
    return [
        f"{what}: {len(where)} of {got.size} elements differ, first at {first}: "
        f"{got[first]!r}, not {want[first]!r}"
    ]


def bits16(values: np.ndarray, dtype: str) -> np.ndarray:
    """Bit patterns of f32 values that are exact in bf16 or f16."""
    if dtype == "f16":
        return values.astype(np.float16).view(np.uint16)
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return (bits >> 16).astype(np.uint16)
