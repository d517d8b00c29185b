"""A placed program as one CUDA C++ kernel: its frame around the printed operations.

    // device functions that the kernel calls, from the instruction records
    extern "C" __global__ void __launch_bounds__(384, 1) gemm(...) {
      shared memory, warp index, block index       what the body mentions
      barriers                                     one thread initialises, all wait
      launches before                              all threads wait
      operations                                   structure.py
    }

The text compiles under NVRTC and nvcc without any include path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from argus.codegen import abi, scalars, storage, structure
from argus.codegen.context import INNER_LOOP, LOOP, Emission, EmissionGroup
from argus.codegen.errors import CodegenError
from argus.codegen.names import Identifiers, words
from argus.codegen.sync import map_symbol
from argus.codegen.tiles import functions_called
from argus.codegen.writer import Reserved, Writer, comment
from argus.ir.annotations import without_annotations
from argus.ir.launch import LaunchSpec
from argus.ir.ops import Roles
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, Program
from argus.ir.walk import walk
from argus.isa.registry import (
    UnknownInstructionError,
    UnsupportedInstructionError,
    cuda_prelude,
)

MOST_REGISTERS = 2**16
"""More than a thread has of a tile."""

SHARED_ALIGNMENT = 1024
"""Of dynamic shared memory: a 128-byte swizzle repeats every 1024 bytes."""


@dataclass(frozen=True)
class CudaSource:
    """The text of one kernel, its ``extern "C"`` name, and how to launch it."""

    text: str
    entry: str
    spec: LaunchSpec


def emit(program: Program, values: Mapping[str, int] | None = None) -> CudaSource:
    """Print a placed program.

    ``values``: sizes ("M") and strides ("A_s0") for which alone it is; then they are
    constants of the text, and requirements of its launches.

    Raises CodegenError when the program is not placed, or breaks what placing promises.
    """
    if not program.placed:
        raise CodegenError(f"program {program.name} is not placed")
    program = without_annotations(program)
    names = Identifiers()
    entry = names.unique(program.name.removesuffix("_kernel"), suffix="_kernel")
    out = Writer(depth=1)
    frame, tid_place = out.reserve(), out.reserve()
    group = EmissionGroup(
        "block",
        program.warps,
        program.target.warp_threads,
        out.reserve(),
        "threadIdx.x",
        tid_place,
    )
    known = _constants(program, values or {})
    cx = Emission(program, names, storage.RegisterArrays(), out, group, values=known)
    abi.bind_parameters(cx)
    _bind_hardware(cx)
    cx.scalars = scalars.infer(program, cx.types, cx.values)
    ranges = cx.scalars.ranges.known
    ranges[CLUSTER_RANK.name] = 0, program.cluster - 1
    ranges[LOOP.name] = ranges[INNER_LOOP.name] = 0, MOST_REGISTERS
    cx.storage = storage.assign(program.body, names)
    prefetch = _barriers(cx)
    _await_launches(cx)
    try:
        structure.block(cx, program.body)
    except UnknownInstructionError as error:
        raise CodegenError(str(error)) from error
    if prefetch is not None:
        for index in sorted(cx.maps):
            name = cx.spelled[map_symbol(index)]
            prefetch.line(f"argus_tma_prefetch(&{name});")
    # The frame comes first, but depends on what the body mentions.
    _frame(cx, words(out.code()), frame)
    args, declared = abi.arguments(cx)
    head = _signature(cx, entry, declared)
    called = functions_called(out.code()) + (["TensorMap"] if cx.maps else [])
    try:
        prelude = cuda_prelude(called, program.target.name)
    except UnsupportedInstructionError as error:
        raise CodegenError(str(error)) from error
    names.settle(head + out.code())
    text = f"{names.spell(head)}{out.text(names.spell)}}}\n"
    spec = abi.launch_spec(cx, names.spell(entry), args)
    return CudaSource(f"{_origin(program)}\n{prelude}\n{text}", spec.entry, spec)


def _constants(program: Program, values: Mapping[str, int]) -> dict[str, int]:
    """What of the values becomes constants: sizes and strides that the text has."""
    known = [s.name for s in abi.sizes(program) if s.kind in ("dim", "stride")]
    return {name: values[name] for name in known if name in values}


def _origin(program: Program) -> str:
    file = Path(program.file).name
    text = comment(f"{program.name}, from {file}, for {program.target.name}") + "\n"
    pairs = ", ".join(f"{name}={value}" for name, value in program.statics.items())
    return text + (f"{comment(pairs)}\n" if pairs else "")


def _bind_hardware(cx: Emission) -> None:
    for sym in (BLOCK_INDEX, GRID_SIZE, CLUSTER_RANK):
        cx.spelled[sym.name] = sym.name
        cx.types[sym.name] = "int"


def _signature(cx: Emission, entry: str, declared: list[str]) -> str:
    program = cx.program
    bounds = f"__launch_bounds__({program.threads}, {program.min_blocks})"
    if program.cluster > 1:
        bounds += f" __cluster_dims__({program.cluster}, 1, 1)"
    head = f'extern "C" __global__ void {bounds}\n{entry}('
    if not declared:
        return f"{head}) {{\n"
    return head + "\n    " + ",\n    ".join(declared) + ") {\n"


def _frame(cx: Emission, used: set[str], place: Reserved) -> None:
    """Declarations at the top, each only if the body uses it."""
    for declared in abi.constants(cx):
        place.line(declared)
    if used & {"smem", "smem_base"}:
        place.line(
            f"extern __shared__ __align__({SHARED_ALIGNMENT}) unsigned char smem[];"
        )
    if "smem_base" in used:
        place.line("const u32 smem_base = (u32)__cvta_generic_to_shared(smem);")
    if any(isinstance(op, Roles) for op in walk(cx.program.body)):
        lanes = cx.program.target.warp_threads
        place.comment("the same in all lanes of a warp, and known to be")
        place.line(f"const int warp = argus_shfl_idx((int)threadIdx.x / {lanes}, 0);")
    if BLOCK_INDEX.name in cx.symbols:
        place.line("const int block_x = blockIdx.x;")
    if GRID_SIZE.name in cx.symbols:
        place.line("const int grid_x = gridDim.x;")
    if CLUSTER_RANK.name in cx.symbols:
        place.line("const int cluster_rank = (int)argus_cluster_rank();")


def _await_launches(cx: Emission) -> None:
    """Let a launch begin before those before it have ended; see `LaunchSpec.waits`.

    Nothing before this touches global memory. The wait comes first, so that a launch
    further on, which waits for this one alone, waits for all.
    """
    if not abi.waits(cx.program):
        return
    cx.out.blank()
    cx.out.comment("what earlier launches wrote is there from here on")
    cx.out.line("argus_await_launches();")
    cx.out.line("argus_release_launches();")


def _barriers(cx: Emission) -> Reserved | None:
    """Initialise the barriers by one thread, then sync.

    Returns where to fetch tensor maps, which is known only after the body.
    """
    program = cx.program
    out = cx.out
    if not program.barriers:
        return None
    out.blank()
    out.comment("barriers: initialised by one thread before any other uses them")
    with out.block("if (threadIdx.x == 0)"):
        for barrier in program.barriers:
            if barrier.offset is None:
                raise CodegenError(f"barrier {barrier.name} is not placed")
            note = f"{barrier.name} ({barrier.role})"
            if barrier.count == 1:
                out.line(
                    f"argus_mbar_init(smem_base + {barrier.offset}, "
                    f"{barrier.arrivals});",
                    note,
                )
                continue
            out.line(f"for (int i = 0; i < {barrier.count}; ++i)", note)
            out.line(
                f"  argus_mbar_init(smem_base + {barrier.offset} + 8 * i, "
                f"{barrier.arrivals});"
            )
        out.line("argus_fence_mbarrier_init();")
        prefetch = out.reserve()
    if program.cluster > 1:
        out.line("argus_cluster_arrive();")
        out.line("argus_cluster_wait();")
    else:
        out.line("__syncthreads();")
    return prefetch
