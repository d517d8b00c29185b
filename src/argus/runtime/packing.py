"""Kernel parameters in memory, as ``cuLaunchKernelEx`` takes them.

Each value lies naturally aligned in one buffer (a tensor map on 64 bytes), with one
pointer to each in a second one. Nothing is checked here.
"""

from __future__ import annotations

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
PARAMETER_ALIGNMENT = 64
"""Of a tensor map, which is what asks for the most."""


class Parameters:
    """Packed parameters; ``address`` is what the driver gets: that of ``pointers``.

    ``size``: the bytes that they take. The buffer that they point into lives as long as
    this object does, where it has one.
    """

    __slots__ = ("_begin", "_buffer", "address", "pointers", "size")

    def __init__(
        self,
        buffer: ctypes.Array[ctypes.c_char] | None,
        begin: int,
        size: int,
        pointers: ctypes.Array[c_void_p],
    ) -> None:
        self._buffer = buffer
        self._begin = begin
        self.size = size
        self.pointers = pointers
        self.address = c_void_p(ctypes.addressof(pointers))

    def moved_to(self, begin: int) -> Parameters:
        """A copy at an aligned address, in memory that the caller keeps."""
        ctypes.memmove(begin, self._begin, self.size)
        moved = [(p or 0) - self._begin + begin for p in self.pointers]
        return Parameters(None, begin, self.size, type(self.pointers)(*moved))

    def raw(self, index: int, size: int) -> bytes:
        """Bytes of parameter ``index``, for tests and reports."""
        return ctypes.string_at(self.pointers[index] or 0, size)


class ParameterTemplate:
    """The parameters of calls that differ in addresses and scalars only.

    Everything else is written once. ``values`` are those of dims and strides by name.
    ``pointer_slots`` and ``map_slots`` tell where addresses and tensor maps lie, in
    bytes from the first parameter, and the number of each tensor or map in the spec.
    """

    def __init__(self, spec: LaunchSpec, values: Mapping[str, Number]) -> None:
        tensors = {t.name: i for i, t in enumerate(spec.tensors)}
        scalars = {p.name: (i, p.dtype) for i, p in enumerate(spec.scalars)}
        self._offsets: list[int] = []
        self.pointer_slots: list[tuple[int, int]] = []
        self._scalars: list[tuple[int, Struct, int]] = []
        self.map_slots: list[tuple[int, int]] = []
        fixed = bytearray()

        def room(size: int) -> int:
            align = min(size, PARAMETER_ALIGNMENT)
            fixed.extend(bytes(-len(fixed) % align))
            self._offsets.append(len(fixed))
            fixed.extend(bytes(size))
            return self._offsets[-1]

        for arg in spec.args:
            match arg:
                case TensorMapArg():
                    self.map_slots.append((room(_MAP_BYTES), arg.index))
                case PointerArg():
                    self.pointer_slots.append(
                        (room(_POINTER.size), tensors[arg.tensor])
                    )
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
        # In a bytearray, since ctypes assigns slices element by element.
        filled = bytearray(self._fixed)
        for offset, index in self.pointer_slots:
            _POINTER.pack_into(filled, offset, pointers[index])
        for offset, form, index in self._scalars:
            form.pack_into(filled, offset, scalars[index])
        for offset, index in self.map_slots:
            filled[offset : offset + _MAP_BYTES] = maps[index]
        size = len(filled)
        buffer = ctypes.create_string_buffer(size + PARAMETER_ALIGNMENT)
        begin = ctypes.addressof(buffer)
        base = begin + -begin % PARAMETER_ALIGNMENT
        ctypes.memmove(base, bytes(filled), size)
        addresses = [base + offset for offset in self._offsets]
        return Parameters(buffer, base, size, self._pointer_array(*addresses))
