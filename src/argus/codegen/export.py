"""A standalone .cu: the kernel, and a small host program that launches it.

    nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a gemm.cu -lcuda
    ./a.out M=4096 N=4096 K=4096

The host program makes contiguous tensors of random values of the sizes it is given,
checks what the kernel requires of its arguments, launches, and prints the time. It does
not check results: that is what the language's reference functions are for.
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.codegen.abi import SCALAR_TYPES
from argus.codegen.emit import CudaSource, emit
from argus.codegen.errors import CodegenError
from argus.codegen.expressions import text as expression
from argus.codegen.host import FRAME, HEADER
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
from argus.ir.program import Program
from argus.isa.boxes import map_type


def export(
    program: Program, defaults: Mapping[str, int | float] | None = None
) -> tuple[str, str]:
    """(the whole .cu text, its host part); ``defaults`` as for `host_program`.

    The first is a complete file for nvcc; the second, the host program alone, shows how
    to launch the kernel from C++. Raises CodegenError as :func:`emit` does.
    """
    source = emit(program)
    host = host_program(source.spec, defaults)
    return f"{_usage(source)}{HEADER}\n{source.text}\n{host}", host


def _usage(source: CudaSource) -> str:
    spec = source.spec
    sizes = " ".join(f"{sym.name}=..." for sym in _sizes(spec))
    return (
        f"// nvcc {nvcc_flags(spec.target)} {spec.entry}.cu -lcuda\n"
        f"// ./a.out {sizes}\n"
    )


def nvcc_flags(target: str) -> str:
    """Flags for one target. ``-arch=sm_90a`` alone may also compile for plain sm_90."""
    number = target.removeprefix("sm_")
    return f"-std=c++17 -gencode arch=compute_{number},code={target}"


def host_program(
    spec: LaunchSpec, defaults: Mapping[str, int | float] | None = None
) -> str:
    """The host part: ``main`` and what it needs, for one launch spec.

    ``defaults`` are the sizes and scalars it takes when run without arguments (1024
    and 1 where not given).
    """
    defaults = defaults or {}
    lines: list[str] = []
    for sym in _sizes(spec):
        size = int(defaults.get(sym.name, 1024))
        value = f'argus_host::argument(argc, argv, "{sym.name}", {size})'
        lines.append(f"const long long {_c(sym)} = {value};")
    for scalar in spec.scalars:
        kind = "real" if scalar.dtype == "f32" else "argument"
        number = defaults.get(scalar.name, 1)
        value = f'argus_host::{kind}(argc, argv, "{scalar.name}", {number})'
        lines.append(f"const {SCALAR_TYPES[scalar.dtype]} {_c(scalar.sym)} = {value};")
    lines.append("const long long v_sm_count = argus_host::multiprocessors();")
    for tensor in spec.tensors:
        lines += _tensor(tensor)
    for requirement in spec.requirements:
        why = requirement.why.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'argus_host::require({_text(requirement.cond)}, "{why}");')
    for index, entry in enumerate(spec.tensor_maps):
        lines += _tensor_map(index, entry)
    for number, arg in enumerate(spec.args):
        lines.append(_argument(spec, arg, number))
    cells = ", ".join(f"&arg{i}" for i in range(len(spec.args))) or "nullptr"
    lines.append(f"void* arguments[] = {{{cells}}};")
    lines.append(f"const long long blocks = {_text(spec.grid)};")
    lines.append(
        f"argus_host::launch((const void*){spec.entry}, blocks, {spec.threads}, "
        f"{spec.cluster}, {spec.shared_bytes}, {spec.registers or 0}, arguments);"
    )
    body = "".join(f"  {line}\n" for line in lines)
    return FRAME.replace("@BODY@", body)


def _sizes(spec: LaunchSpec) -> list[Sym]:
    """Every dim symbol of the tensors, once, in order."""
    found: dict[str, Sym] = {}
    for tensor in spec.tensors:
        for e in tensor.shape:
            for sym in symbols(e):
                found.setdefault(sym.name, sym)
    return list(found.values())


def _c(sym: Sym) -> str:
    # A prefix keeps the names apart from the host program's own, and from keywords.
    return f"v_{sym.name}"


def _text(e: Expr) -> str:
    # The device functions of rounding division have counterparts on the host.
    return expression(e, _c).replace("argus_", "argus_host::")


def _tensor(tensor: GlobalTensor) -> list[str]:
    """Contiguous strides, then memory with random values."""
    lines: list[str] = []
    size = "1ll"
    for d in range(tensor.rank - 1, -1, -1):
        stride = tensor.strides[d]
        if isinstance(stride, Sym):
            lines.append(f"const long long {_c(stride)} = {size};")
        size += f" * ({_text(tensor.shape[d])})"
    kind = _random(tensor.dtype)
    lines.append(
        f"void* t_{tensor.name} = argus_host::tensor({size}, "
        f"{tensor.dtype.bytes}, argus_host::{kind});"
    )
    return lines


def _random(dtype: DType) -> str:
    known = {"bf16": "random_bf16", "f16": "random_f16", "f32": "random_f32"}
    return known.get(dtype.name, "zeros")


def _tensor_map(index: int, entry: TensorMap) -> list[str]:
    tensor = entry.tensor
    element = map_type(tensor.dtype)
    if element is None:
        raise CodegenError(f"TMA has no element type {tensor.dtype}")
    rank = tensor.rank
    # cuTensorMapEncodeTiled takes everything innermost first, strides without it.
    dims = ", ".join(f"(cuuint64_t)({_text(e)})" for e in reversed(tensor.shape))
    strides = ", ".join(
        f"(cuuint64_t)({_text(e)}) * {tensor.dtype.bytes}"
        for e in reversed(tensor.strides[:-1])
    )
    box = ", ".join(str(n) for n in reversed(entry.box))
    swizzle = f"{entry.swizzle}B" if entry.swizzle else "NONE"
    return [
        f"const cuuint64_t dims{index}[] = {{{dims}}};",
        f"const cuuint64_t strides{index}[] = {{{strides or 0}}};",
        f"const cuuint32_t box{index}[] = {{{box}}};",
        f"const CUtensorMap map{index} = argus_host::tensor_map("
        f"CU_TENSOR_MAP_DATA_TYPE_{element}, {rank}, t_{tensor.name}, "
        f"dims{index}, strides{index}, box{index}, CU_TENSOR_MAP_SWIZZLE_{swizzle});",
    ]


def _argument(spec: LaunchSpec, arg: Arg, number: int) -> str:
    match arg:
        case TensorMapArg():
            return f"CUtensorMap arg{number} = map{arg.index};"
        case PointerArg():
            return f"void* arg{number} = t_{arg.tensor};"
        case SymArg():
            ctype = "long long" if arg.bits == 64 else "int"
            return f"{ctype} arg{number} = {_c(arg.sym)};"
        case ScalarArg():
            scalar = next(s for s in spec.scalars if s.name == arg.param)
            return f"{SCALAR_TYPES[scalar.dtype]} arg{number} = {_c(scalar.sym)};"
