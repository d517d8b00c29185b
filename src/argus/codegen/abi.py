"""The kernel's parameters: which it takes, in which order, and the launch spec.

Order: tensor maps, data pointers, problem sizes, strides, scalars; within each kind
that of the program. Only what the printed body mentions is passed.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.codegen.context import Emission
from argus.codegen.errors import CodegenError
from argus.codegen.overflow import guards
from argus.codegen.sync import map_symbol
from argus.ir import ops as o
from argus.ir.expr import Const, Expr, Sym, binary, symbols
from argus.ir.launch import (
    Arg,
    LaunchSpec,
    PointerArg,
    ScalarArg,
    SymArg,
    TensorMapArg,
)
from argus.ir.memory import GlobalTensor
from argus.ir.program import LaunchRequirement, Program, ScalarParam
from argus.ir.ranges import I32, fits
from argus.ir.walk import walk
from argus.isa.registers import at_launch
from argus.isa.registry import supports

SCALAR_TYPES = {"i32": "int", "i64": "long long", "f32": "float"}


def tensors(program: Program) -> list[GlobalTensor]:
    """Tensor parameters, in order."""
    return [p for p in program.params if isinstance(p, GlobalTensor)]


def scalars(program: Program) -> list[ScalarParam]:
    """Scalar parameters, in order."""
    return [p for p in program.params if isinstance(p, ScalarParam)]


def bind_parameters(cx: Emission) -> None:
    """Name every parameter before anything else takes its name.

    Raises CodegenError for a scalar type that kernels cannot take.
    """
    for tensor in tensors(cx.program):
        cx.tensors[tensor.name] = cx.names.unique(tensor.name)
    for sym in sizes(cx.program):
        known = cx.values.get(sym.name, I32[1] + 1)
        wide = sym.kind == "stride" and not fits((known, known), I32)
        cx.bind(sym, "long long" if wide else "int")
    for param in scalars(cx.program):
        if param.dtype not in SCALAR_TYPES:
            raise CodegenError(f"a kernel takes no {param.dtype} scalar")
        cx.bind(param.sym, SCALAR_TYPES[param.dtype], param.name)
    for index, entry in enumerate(cx.program.tensor_maps):
        name = cx.names.unique(f"{entry.tensor.name}_map")
        cx.spelled[map_symbol(index)] = name


def sizes(program: Program) -> list[Sym]:
    """Dim symbols, then stride symbols, of all tensors, each once."""
    found: dict[str, Sym] = {}
    for kind in ("shape", "strides"):
        for tensor in tensors(program):
            exprs: tuple[Expr, ...] = getattr(tensor, kind)
            for e in exprs:
                for sym in symbols(e):
                    found.setdefault(sym.name, sym)
    return list(found.values())


def constants(cx: Emission) -> list[str]:
    """Declarations of sizes and strides that are known, and that the body mentions."""
    return [
        f"constexpr {cx.types[sym.name]} {cx.spelled[sym.name]} = "
        f"{cx.values[sym.name]};"
        for sym in sizes(cx.program)
        if sym.name in cx.symbols and sym.name in cx.values
    ]


def arguments(cx: Emission) -> tuple[list[Arg], list[str]]:
    """The arguments that the printed body needs, and their C++ declarations."""
    args: list[Arg] = []
    declared: list[str] = []
    program = cx.program
    for index in range(len(program.tensor_maps)):
        if index in cx.maps:
            args.append(TensorMapArg(index))
            name = cx.spelled[map_symbol(index)]
            declared.append(f"const __grid_constant__ TensorMap {name}")
    for tensor in tensors(program):
        if tensor.name in cx.pointers:
            args.append(PointerArg(tensor.name))
            # An output may be read back, and may not be promised to be constant.
            const = "" if tensor.name in program.outputs else "const "
            ctype = tensor.dtype.memory
            name = cx.tensors[tensor.name]
            declared.append(f"{const}{ctype}* __restrict__ {name}")
    for sym in sizes(program):
        if sym.name in cx.symbols and sym.name not in cx.values:
            args.append(SymArg(sym))
            declared.append(f"{cx.types[sym.name]} {cx.spelled[sym.name]}")
    for param in scalars(program):
        if param.sym.name in cx.symbols:
            args.append(ScalarArg(param.name))
            declared.append(f"{SCALAR_TYPES[param.dtype]} {cx.spelled[param.sym.name]}")
    return args, declared


def launch_spec(cx: Emission, entry: str, args: list[Arg]) -> LaunchSpec:
    """Everything the host needs beside the cubin."""
    program = cx.program
    return LaunchSpec(
        entry=entry,
        target=program.target.name,
        tensors=tuple(tensors(program)),
        scalars=tuple(scalars(program)),
        args=tuple(args),
        grid=program.grid,
        threads=program.threads,
        cluster=program.cluster,
        min_blocks=program.min_blocks,
        shared_bytes=program.shared_bytes,
        tensor_maps=tuple(program.tensor_maps),
        requirements=(
            *_known(cx),
            *program.requirements,
            *guards(program, cx.scalars),
        ),
        alignments=tuple(program.alignments),
        outputs=tuple(program.outputs),
        registers=_registers(program),
        waits=waits(program),
    )


def _known(cx: Emission) -> Iterator[LaunchRequirement]:
    """That sizes and strides which the text has as constants are these."""
    why = "the machine code is for these sizes alone"
    for sym in sizes(cx.program):
        if sym.name in cx.values:
            equal = binary("==", sym, Const(cx.values[sym.name]))
            yield LaunchRequirement(equal, why, cx.program.span)


def waits(program: Program) -> bool:
    """Whether its threads wait for earlier launches; see `LaunchSpec.waits`."""
    return supports("argus_await_launches", program.target.name)


def _registers(program: Program) -> int | None:
    """What threads are launched with, if budgets share it out."""
    if not any(isinstance(op, o.SetMaxRegisters) for op in walk(program.body)):
        return None
    return at_launch(program.warps, program.min_blocks, program.target)
