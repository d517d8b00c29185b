"""Reading DLPack capsules: pointer, type, shape, strides, device, nothing else.

Follows `dlpack.h` (https://dmlc.github.io/dlpack, "C API"), versions 0 and 1. A capsule
is looked into and not consumed: it keeps owning the tensor, so keep it as long as the
memory is used.
"""

import ctypes
from collections.abc import Sequence
from ctypes import (
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from argus.ir.dtypes import DTYPES

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
"""``DLDeviceType``"""

_READ_ONLY = 1
_NAMES = {(d.dlpack, d.bits): d.foreign for d in DTYPES.values()}


@runtime_checkable
class Exporter(Protocol):
    """An object with DLPack."""

    def __dlpack__(self, *, stream: int | None = None) -> object:
        """Export; ``stream`` is the consumer's."""
        ...

    def __dlpack_device__(self) -> tuple[int, int]:
        """Type and index of the device."""
        ...


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    )


@dataclass(frozen=True, slots=True)
class Exported:
    """What a capsule says. ``strides`` in elements; ``dtype`` like "float32"."""

    pointer: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: tuple[int, int]
    readonly: bool
    capsule: object


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = (ctypes.py_object, ctypes.c_char_p), c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = (ctypes.py_object, ctypes.c_char_p), c_void_p


def read(capsule: object) -> Exported:
    """Look into a capsule. Raises ValueError if it is none, or was consumed."""
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise ValueError(f"DLPack version {versioned.major} is not known")
        tensor, readonly = versioned.tensor, bool(versioned.flags & _READ_ONLY)
    elif _is_valid(capsule, b"dltensor"):
        # DLManagedTensor begins with the tensor.
        tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
        readonly = False
    else:
        raise ValueError(f"not a DLPack capsule that can be read: {capsule!r}")
    shape = tuple(int(tensor.shape[i]) for i in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(int(tensor.strides[i]) for i in range(tensor.ndim))
    else:
        strides = contiguous(shape)
    kind = tensor.code, tensor.bits
    name = _NAMES.get(kind, f"type {tensor.code} of {tensor.bits} bits")
    return Exported(
        (tensor.data or 0) + tensor.byte_offset,
        name if tensor.lanes == 1 else f"{name}x{tensor.lanes}",
        shape,
        strides,
        (tensor.device_type, tensor.device_id),
        readonly,
        capsule,
    )


def share_memory(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether several elements of a tensor may have one address.

    They do not where each dimension steps over all with smaller strides.
    """
    reach = 0
    for step, extent in sorted(zip(strides, shape, strict=True)):
        if extent > 1 and step <= reach:
            return True
        reach += step * max(extent - 1, 0)
    return False


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a row-major tensor.

    Around a dimension without elements they are 0, which every rule divides.
    """
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))
