"""Kernel parameters in memory, as ``cuLaunchKernelEx`` takes them.

Each value lies naturally aligned in one buffer (a tensor map on 64 bytes), with one
pointer to each in a second one. Nothing is checked here.
"""

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from ctypes import c_void_p
from typing import assert_never

from argus.ir.launch import LaunchSpec, PointerArg, ScalarArg, SymArg, TensorMapArg
from argus.runtime.arguments import TensorArg
from argus.runtime.binding import Number

_SCALARS = {"i32": "<i", "i64": "<q", "f32": "<f"}


class Parameters:
    """Packed parameters; ``pointers`` is what the driver gets.

    The buffer that they point into lives as long as this object does.
    """

    def __init__(self, values: Sequence[bytes]) -> None:
        offsets: list[int] = []
        end = 0
        for value in values:
            align = min(len(value), 64)
            end = -(-end // align) * align
            offsets.append(end)
            end += len(value)
        self._buffer = ctypes.create_string_buffer(end + 64)
        base = -(-ctypes.addressof(self._buffer) // 64) * 64
        for offset, value in zip(offsets, values, strict=True):
            ctypes.memmove(base + offset, value, len(value))
        addresses = [base + offset for offset in offsets]
        self.pointers = (c_void_p * max(len(values), 1))(*addresses)

    def raw(self, index: int, size: int) -> bytes:
        """Bytes of parameter ``index``, for tests and reports."""
        return ctypes.string_at(self.pointers[index] or 0, size)


def pack(
    spec: LaunchSpec,
    tensors: Sequence[TensorArg],
    values: Mapping[str, Number],
    tensor_map: Callable[[int], bytes],
) -> Parameters:
    """Lay out the arguments of ``spec`` in order.

    ``values`` are those of symbols by name; ``tensor_map(i)`` encodes map number i.
    """
    pointers = {
        t.name: given.pointer for t, given in zip(spec.tensors, tensors, strict=True)
    }
    params = {p.name: p for p in spec.scalars}
    packed: list[bytes] = []
    for arg in spec.args:
        match arg:
            case TensorMapArg():
                packed.append(tensor_map(arg.index))
            case PointerArg():
                packed.append(struct.pack("<Q", pointers[arg.tensor]))
            case SymArg():
                code = "<q" if arg.bits == 64 else "<i"
                packed.append(struct.pack(code, values[arg.sym.name]))
            case ScalarArg():
                param = params[arg.param]
                packed.append(
                    struct.pack(_SCALARS[param.dtype], values[param.sym.name])
                )
            case _:
                assert_never(arg)
    return Parameters(packed)
