"""A standalone .cu: the kernel, and a small host program that launches it.

    nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a gemm.cu -lcuda
    ./a.out M=4096 N=4096 K=4096

The host program makes contiguous tensors of random values of the sizes it is given,
checks what the kernel requires of its arguments, launches, and prints the time. It does
not check results: that is what the language's reference functions are for.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping

from argus.codegen.abi import SCALAR_TYPES
from argus.codegen.code import CppExpression
from argus.codegen.emit import emit
from argus.codegen.errors import CodegenError
from argus.codegen.expressions import code as expression
from argus.codegen.host import FRAME, HEADER
from argus.codegen.names import Identifiers
from argus.codegen.scalars import ScalarTypes
from argus.codegen.writer import comment, literal
from argus.extents import LEAST_EXTENT, MOST_EXTENT
from argus.ir.dtypes import DType
from argus.ir.expr import Expr, Sym, symbols
from argus.ir.launch import (
    Arg,
    LaunchSpec,
    PointerArg,
    ScalarArg,
    SymArg,
    TensorMapArg,
)
from argus.ir.memory import GlobalTensor
from argus.ir.placement import TensorMap
from argus.ir.program import SM_COUNT, Program, ScalarParam
from argus.isa.boxes import traversed
from argus.targets import TARGETS


def export(
    program: Program,
    defaults: Mapping[str, int | float] | None = None,
    claim: str = "not proved",
) -> tuple[str, str]:
    """(the whole .cu text, its host part); ``defaults`` as for `host_program`.

    The first is a complete file for nvcc, with the text of :func:`emit` as it is; the
    second, the host program alone, shows how to launch the kernel from C++. ``claim``
    is what the verifier said of the program, for its readers. Raises CodegenError as
    :func:`emit` does.
    """
    source = emit(program)
    host = host_program(source.spec, defaults)
    head = f"{_usage(program, source.spec)}{comment(claim)}\n"
    return f"{head}{HEADER}\n{source.text}\n{host}", host


def _usage(program: Program, spec: LaunchSpec) -> str:
    # Commands that may be copied: what an author called something stays one word.
    file = shlex.quote(f"{program.name}.cu")
    sizes = " ".join(f"{shlex.quote(sym.name)}=..." for sym in _sizes(spec))
    build = comment(f"nvcc {nvcc_flags(spec.target)} {file} -lcuda")
    return f"{build}\n{comment(f'./a.out {sizes}')}\n"


def nvcc_flags(target: str) -> str:
    """Flags for one target. ``-arch=sm_90a`` alone may also compile for plain sm_90."""
    virtual = TARGETS[target].virtual
    return f"-std=c++17 -gencode arch={virtual},code={target}"


def host_program(
    spec: LaunchSpec, defaults: Mapping[str, int | float] | None = None
) -> str:
    """The host part: ``main`` and what it needs, for one launch spec.

    ``defaults`` are the sizes and scalars it takes when run without arguments (1024
    and 1 where not given).
    """
    host = _Host(spec, defaults or {})
    body = "".join(f"  {line}\n" for line in host.lines())
    return FRAME.replace("@BODY@", body)


def _sizes(spec: LaunchSpec) -> list[Sym]:
    """Every dim symbol of the tensors, once, in order."""
    found: dict[str, Sym] = {}
    for tensor in spec.tensors:
        for e in tensor.shape:
            for sym in symbols(e):
                found.setdefault(sym.name, sym)
    return list(found.values())


_RANGES = {
    "i32": "-2147483647ll - 1, 2147483647ll",
    "i64": "-9223372036854775807ll - 1, 9223372036854775807ll",
}
"""Least and largest value of a scalar argument."""


class _Host:
    """Statements of ``main`` for one launch spec."""

    def __init__(self, spec: LaunchSpec, defaults: Mapping[str, int | float]) -> None:
        self.spec = spec
        self.defaults = defaults
        self._names = Identifiers()
        self._values: dict[str, str] = {}
        self._tensors: dict[str, str] = {}

    def lines(self) -> list[str]:
        """The statements, in order."""
        spec = self.spec
        names = [literal(s.name) for s in (*_sizes(spec), *spec.scalars)]
        lines = [f"argus_host::known(argc, argv, {{{', '.join(names)}}});"]
        lines += [self._size(sym) for sym in _sizes(spec)]
        lines += [self._scalar(scalar) for scalar in spec.scalars]
        count = self._value(SM_COUNT)
        lines.append(f"const long long {count} = argus_host::multiprocessors();")
        for tensor in spec.tensors:
            lines += self._strides(tensor)
        for requirement in spec.requirements:
            why = literal(requirement.why)
            lines.append(f"argus_host::require({self._text(requirement.cond)}, {why});")
        lines += [self._tensor(tensor) for tensor in spec.tensors]
        for alignment in spec.alignments:
            where, label = self._tensors[alignment.tensor], literal(alignment.tensor)
            lines.append(f"argus_host::aligned({where}, {alignment.bytes}, {label});")
        for index, entry in enumerate(spec.tensor_maps):
            lines += self._tensor_map(index, entry)
        lines += [self._argument(arg, number) for number, arg in enumerate(spec.args)]
        cells = ", ".join(f"&arg{i}" for i in range(len(spec.args))) or "nullptr"
        lines.append(f"void* arguments[] = {{{cells}}};")
        lines.append(f"const long long blocks = {self._text(spec.grid)};")
        lines.append(
            f"argus_host::launch((const void*){spec.entry}, blocks, {spec.threads}, "
            f"{spec.cluster}, {spec.shared_bytes}, {spec.registers or 0}, arguments);"
        )
        self._names.settle(f"{FRAME}\n" + "\n".join(lines))
        return [self._names.spell(line) for line in lines]

    def _value(self, sym: Sym) -> str:
        """The variable that holds a symbol's value."""
        if sym.name not in self._values:
            self._values[sym.name] = self._names.unique(sym.name, prefix="v_")
        return self._values[sym.name]

    def _text(self, e: Expr) -> str:
        # What the device has of its own has a counterpart on the host, which computes
        # whole numbers in 64 bits.
        types = {
            sym.name: "float" if sym.type == "float" else "long long"
            for sym in symbols(e)
        }
        scalars = ScalarTypes(types)
        text = expression(e, lambda sym: CppExpression(self._value(sym)), scalars).bare
        text = text.replace("argus_", "argus_host::")
        text = text.replace("__int_as_float(", "argus_host::bits(")
        return re.sub(r"(?<![\w:])(min|max)\(", r"argus_host::\1(", text)

    def _size(self, sym: Sym) -> str:
        size = int(self.defaults.get(sym.name, 1024))
        ends = f"{LEAST_EXTENT}, {MOST_EXTENT}"
        value = f"whole(argc, argv, {literal(sym.name)}, {size}ll, {ends})"
        return f"const long long {self._value(sym)} = argus_host::{value};"

    def _scalar(self, scalar: ScalarParam) -> str:
        number = self.defaults.get(scalar.name, 1)
        if scalar.dtype == "f32":
            value = f"real(argc, argv, {literal(scalar.name)}, {_float(float(number))})"
        else:
            whole = f"{int(number)}ll"
            ends = _RANGES[scalar.dtype]
            value = f"whole(argc, argv, {literal(scalar.name)}, {whole}, {ends})"
        ctype = SCALAR_TYPES[scalar.dtype]
        return f"const {ctype} {self._value(scalar.sym)} = argus_host::{value};"

    def _strides(self, tensor: GlobalTensor) -> list[str]:
        """Those of a contiguous tensor, which have to be what is compiled for."""
        lines: list[str] = []
        size = "1ll"
        for d in range(tensor.rank - 1, -1, -1):
            stride = tensor.strides[d]
            if isinstance(stride, Sym):
                lines.append(f"const long long {self._value(stride)} = {size};")
            elif d < tensor.rank - 1:
                why = literal(f"{tensor.name} has stride {stride} along axis {d}")
                same = f"({self._text(stride)}) == {size}"
                lines.append(f"argus_host::require({same}, {why});")
            size += f" * ({self._text(tensor.shape[d])})"
        return lines

    def _tensor(self, tensor: GlobalTensor) -> str:
        """Memory with random values."""
        name = self._names.unique(f"t_{tensor.name}")
        self._tensors[tensor.name] = name
        size = " * ".join(["1ll", *(f"({self._text(e)})" for e in tensor.shape)])
        return (
            f"void* {name} = argus_host::tensor({size}, "
            f"{tensor.dtype.bytes}, argus_host::{_random(tensor.dtype)});"
        )

    def _tensor_map(self, index: int, entry: TensorMap) -> list[str]:
        tensor = entry.tensor
        element = tensor.dtype.tensor_map
        if element is None:
            raise CodegenError(f"TMA has no element type {tensor.dtype}")
        rank = tensor.rank
        # cuTensorMapEncodeTiled takes everything innermost first, strides without it.
        dims = ", ".join(
            f"(cuuint64_t)({self._text(e)})" for e in reversed(tensor.shape)
        )
        strides = ", ".join(
            f"(cuuint64_t)({self._text(e)}) * {tensor.dtype.bytes}"
            for e in reversed(tensor.strides[:-1])
        )
        steps = entry.all_steps
        box = ", ".join(str(n) for n in reversed(traversed(entry.box, steps)))
        every = ", ".join(str(n) for n in reversed(steps))
        swizzle = f"{entry.swizzle}B" if entry.swizzle else "NONE"
        return [
            f"const cuuint64_t dims{index}[] = {{{dims}}};",
            f"const cuuint64_t strides{index}[] = {{{strides or 0}}};",
            f"const cuuint32_t box{index}[] = {{{box}}};",
            f"const cuuint32_t steps{index}[] = {{{every}}};",
            f"const CUtensorMap map{index} = argus_host::tensor_map("
            f"CU_TENSOR_MAP_DATA_TYPE_{element}, {rank}, "
            f"{self._tensors[tensor.name]}, dims{index}, strides{index}, box{index}, "
            f"steps{index}, CU_TENSOR_MAP_SWIZZLE_{swizzle});",
        ]

    def _argument(self, arg: Arg, number: int) -> str:
        match arg:
            case TensorMapArg():
                return f"CUtensorMap arg{number} = map{arg.index};"
            case PointerArg():
                return f"void* arg{number} = {self._tensors[arg.tensor]};"
            case SymArg():
                ctype = "long long" if arg.bits == 64 else "int"
                return f"{ctype} arg{number} = {self._value(arg.sym)};"
            case ScalarArg():
                scalar = next(s for s in self.spec.scalars if s.name == arg.param)
                ctype = SCALAR_TYPES[scalar.dtype]
                return f"{ctype} arg{number} = {self._value(scalar.sym)};"


def _float(number: float) -> str:
    if math.isnan(number) or math.isinf(number):
        return (
            "NAN" if math.isnan(number) else "INFINITY" if number > 0 else "-INFINITY"
        )
    return repr(number)


def _random(dtype: DType) -> str:
    known = {"bf16": "random_bf16", "f16": "random_f16", "f32": "random_f32"}
    return known.get(dtype.name, "zeros")
