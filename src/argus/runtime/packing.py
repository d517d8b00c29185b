"""Kernel parameters in memory, as ``cuLaunchKernelEx`` takes them.

Each value lies naturally aligned in one buffer (a tensor map on 64 bytes), with one
pointer to each in a second one. Nothing is checked here.
"""

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import c_void_p
from struct import Struct
from typing import assert_never

from argus.ir.launch import LaunchSpec, PointerArg, ScalarArg, SymArg, TensorMapArg
from argus.runtime.binding import Number

_SCALARS = {"i32": Struct("<i"), "i64": Struct("<q"), "f32": Struct("<f")}
_POINTER = Struct("<Q")
_MAP_BYTES = 128
_ALIGNMENT = 64
"""Of a tensor map, which is what asks for the most."""


class Parameters:
    """Packed parameters; ``address`` is what the driver gets: that of ``pointers``.

    The buffer that they point into lives as long as this object does.
    """

    __slots__ = ("_buffer", "address", "pointers")

    def __init__(
        self, buffer: ctypes.Array[ctypes.c_char], pointers: ctypes.Array[c_void_p]
    ) -> None:
        self._buffer = buffer
        self.pointers = pointers
        self.address = c_void_p(ctypes.addressof(pointers))

    def raw(self, index: int, size: int) -> bytes:
        """Bytes of parameter ``index``, for tests and reports."""
        return ctypes.string_at(self.pointers[index] or 0, size)


class ParameterTemplate:
    """The parameters of calls that differ in addresses and scalars only.

    Everything else is written once. ``values`` are those of dims and strides by name.
    """

    def __init__(self, spec: LaunchSpec, values: Mapping[str, Number]) -> None:
        tensors = {t.name: i for i, t in enumerate(spec.tensors)}
        scalars = {p.name: (i, p.dtype) for i, p in enumerate(spec.scalars)}
        self._offsets: list[int] = []
        self._pointers: list[tuple[int, int]] = []
        self._scalars: list[tuple[int, Struct, int]] = []
        self._maps: list[tuple[int, int]] = []
        fixed = bytearray()

        def room(size: int) -> int:
            align = min(size, _ALIGNMENT)
            fixed.extend(bytes(-len(fixed) % align))
            self._offsets.append(len(fixed))
            fixed.extend(bytes(size))
            return self._offsets[-1]

        for arg in spec.args:
            match arg:
                case TensorMapArg():
                    self._maps.append((room(_MAP_BYTES), arg.index))
                case PointerArg():
                    self._pointers.append((room(_POINTER.size), tensors[arg.tensor]))
                case SymArg():
                    form = _SCALARS["i64" if arg.bits == 64 else "i32"]
                    form.pack_into(fixed, room(form.size), values[arg.sym.name])
                case ScalarArg():
                    index, dtype = scalars[arg.param]
                    form = _SCALARS[dtype]
                    self._scalars.append((room(form.size), form, index))
                case _:
                    assert_never(arg)
        self._fixed = bytes(fixed)
        self._pointer_array = c_void_p * max(len(self._offsets), 1)

    def fill(
        self, pointers: Sequence[int], scalars: Sequence[Number], maps: Sequence[bytes]
    ) -> Parameters:
        """A copy with these addresses, scalars and tensor maps, in the spec's order."""
        fixed = self._fixed
        buffer = ctypes.create_string_buffer(len(fixed) + _ALIGNMENT)
        begin = ctypes.addressof(buffer)
        start = -begin % _ALIGNMENT
        buffer[start : start + len(fixed)] = fixed
        for offset, index in self._pointers:
            _POINTER.pack_into(buffer, start + offset, pointers[index])
        for offset, form, index in self._scalars:
            form.pack_into(buffer, start + offset, scalars[index])
        for offset, index in self._maps:
            at = start + offset
            buffer[at : at + _MAP_BYTES] = maps[index]
        base = begin + start
        addresses = [base + offset for offset in self._offsets]
        return Parameters(buffer, self._pointer_array(*addresses))
