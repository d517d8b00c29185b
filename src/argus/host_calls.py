"""Calls with arrays in the memory of the host: the interpreter runs the kernel.

    host = interpreted(request, checking)
    HostPlan(host, tensors, scalars).prepare(addresses, scalars)()

A kernel that gets CPU tensors or numpy arrays is specialised and proved as for a
launch, for the default target; its arguments are checked by the same rules. Then the
placed program is interpreted, which takes no GPU, and is slow: it is for small tensors.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from argus.compiler import require_right
from argus.diagnostics import fail
from argus.interpret import ArgumentError, InterpreterError, run
from argus.ir.codec import storage
from argus.ir.dtypes import DTYPES
from argus.ir.launch import LaunchSpec
from argus.ir.program import Program
from argus.requests import Request, placed_program
from argus.runtime.addresses import AddressChecks
from argus.runtime.arguments import HOST, TensorArg
from argus.runtime.binding import CallBinding, bind, scalar_value

__all__ = ["HostCall", "HostKernel", "HostPlan", "interpreted"]


@dataclass(frozen=True)
class HostKernel:
    """A kernel for the interpreter: its placed program, and what a call binds."""

    program: Program
    spec: LaunchSpec


class HostCall:
    """A call with everything resolved: it is run on what the addresses hold then."""

    def __init__(
        self,
        program: Program,
        arrays: Mapping[str, np.ndarray[Any, Any]],
        scalars: Mapping[str, int | float],
    ) -> None:
        self._program = program
        self._arrays = arrays
        self._scalars = scalars

    def current_stream(self) -> None:
        """There are no streams; what a sequence of calls asks the first of them."""

    def __call__(self, stream: object = None) -> None:
        """Interpret all blocks; ``stream`` is what launches take, and has no meaning.

        Raises ArgusError AG0808 for arguments that break the kernel's contract, and
        AG0816 for a fault, which a kernel that is proved has not.
        """
        if not self._arrays:
            return
        try:
            arrays = dict(self._arrays)
            run(self._program, arrays, self._scalars, printed=print)
        except ArgumentError as error:
            raise error.told() from error
        except InterpreterError as error:
            first, *others = error.faults
            raise fail(
                "AG0816", self._program.span, str(first), notes=[str(f) for f in others]
            ) from error


class HostPlan:
    """Calls with tensors like these, in the order of the kernel's spec.

    Raises ArgusError AG0802 to AG0814 like a launch (`argus.runtime.binding`).
    """

    def __init__(
        self,
        kernel: HostKernel,
        tensors: Sequence[TensorArg],
        scalars: Sequence[object],
    ) -> None:
        spec = kernel.spec
        self._program = kernel.program
        self._spec = spec
        self._tensors = tuple(tensors)
        self._binding: CallBinding = bind(spec, tensors, scalars, HOST)
        self._addresses = AddressChecks(spec, tensors, self._binding)

    def prepare(self, pointers: Sequence[int], scalars: Sequence[object]) -> HostCall:
        """The call with these addresses and scalars. Raises AG0806 and AG0808."""
        numbers = {
            p.name: scalar_value(p, value)
            for p, value in zip(self._spec.scalars, scalars, strict=True)
        }
        if self._binding.empty:
            return HostCall(self._program, {}, numbers)
        self._addresses.check(pointers)
        each = zip(
            self._spec.tensors,
            self._tensors,
            self._binding.strides,
            pointers,
            strict=True,
        )
        arrays = {
            declared.name: _array(given, strides, pointer)
            for declared, given, strides, pointer in each
        }
        return HostCall(self._program, arrays, numbers)

    def following(self) -> HostPlan:
        """The same: what is interpreted has ended when the next begins."""
        return self


def interpreted(request: Request, checking: bool) -> HostKernel:
    """What is interpreted for a request: proved, unless not ``checking``.

    Raises ArgusError for what parsing, placing and proving find.
    """
    from argus.codegen import emit

    if checking:
        require_right(request)
    program = placed_program(request)
    return HostKernel(program, emit(program).spec)


def _array(
    given: TensorArg, strides: Sequence[int], pointer: int
) -> np.ndarray[Any, Any]:
    """The elements at an address, in the numpy type that holds them; no copy.

    ``strides`` are in elements.
    """
    kind = storage(DTYPES[given.dtype])
    last = sum(s * (e - 1) for s, e in zip(strides, given.shape, strict=True))
    length = (last + 1) * kind.itemsize if prod(given.shape) else 0
    memory = memoryview((ctypes.c_char * length).from_address(pointer))
    steps = tuple(s * kind.itemsize for s in strides)
    return np.ndarray(given.shape, kind, memory, strides=steps)
