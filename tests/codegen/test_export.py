"""Exported files: complete, and accepted by nvcc where there is one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from placed_programs import PROGRAMS

from argus.codegen import emit
from argus.codegen.export import export, host_program, nvcc_flags
from argus.compiler import claimed
from argus.diagnostics import ArgusError, ErrorList
from argus.ir.launch import LaunchSpec
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.runtime.addresses import AddressChecks
from argus.runtime.arguments import TensorArg
from argus.runtime.binding import bind, grid_size
from argus.runtime.dlpack import contiguous


def test_the_host_part_is_in_the_file() -> None:
    whole, host = export(PROGRAMS["gemm"]())
    assert host in whole
    assert "cuTensorMapEncodeTiled" in host
    assert whole.count("int main(") == 1
    assert "/" not in whole.splitlines()[0].removeprefix("//"), "a path leaked"


def test_requirements_are_checked_before_the_launch() -> None:
    from argus.ir.expr import Sym, binary
    from argus.ir.program import LaunchRequirement

    program = PROGRAMS["gemm"]()
    even = binary("==", Sym("K", "dim") % 8, 0)
    program.requirements.append(
        LaunchRequirement(even, 'rows are "aligned"', program.span)
    )
    host = host_program(emit(program).spec)
    check = host.index(r'require(v_K % 8 == 0, "rows are \"aligned\"")')
    assert check < host.index("argus_host::launch((const void*)")


@pytest.mark.compiler
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("name", ["gemm", "cluster_copy"])
def test_nvcc_compiles_it(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]()
    whole, _ = export(program)
    file = tmp_path / f"{name}.cu"
    file.write_text(whole)
    flags = nvcc_flags(program.target.name).split()
    # Only compiled: linking needs the driver library, which comes with a GPU.
    done = subprocess.run(
        ["nvcc", *flags, "-c", str(file), "-o", str(tmp_path / "k.o")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


KERNEL = """
import argus as ag
from argus import bf16, f32


@ag.kernel
def scaled(
    X: bf16["M K"], Y: f32["M K"], T: f32["M 3"], n: ag.i32, w: ag.i64, r: ag.f32
):
    M, K = X.shape
    ag.require(n < M, "n is a row")
    ag.require(ag.min(K, w) >= 64, "there is enough")
    ag.require(r * 2.0 <= 1.0, "r is small")
    ag.require((M - n) // -3 < 0, "rounding down")
    i = ag.block(ag.cdiv(M, 16))
    t = T[0, 0]
    x = ag.load(X[i * 16 :, 0:64], (16, 64)).to(f32)
    Y[i * 16 :, 0:64] = x * (r + t) + n * 1.0
    if w > 0:
        Y[i * 16 :, 0:64] = x
"""

STUBS = """
#pragma once
#include <cstdlib>
#include <cstring>
#include <cstddef>
typedef int cudaError_t; enum { cudaSuccess = 0 };
enum { cudaDevAttrMultiProcessorCount, cudaMemcpyHostToDevice };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum { cudaLaunchAttributeClusterDimension };
struct dim3 { unsigned x, y, z; dim3(unsigned a = 1) : x(a), y(1), z(1) {} };
struct cudaLaunchAttribute { int id; struct { dim3 clusterDim; } val; };
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim; size_t dynamicSmemBytes; cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
struct cudaFuncAttributes { int numRegs; };
typedef int cudaEvent_t;
inline const char* cudaGetErrorString(int) { return ""; }
inline int cudaDeviceGetAttribute(int* n, int, int) { *n = 132; return 0; }
inline int cudaMalloc(void** p, size_t) { *p = (void*)4096; return 0; }
inline int cudaMemcpy(void*, const void*, size_t, int) { return 0; }
inline int cudaFree(void*) { return 0; }
inline int cudaFuncGetAttributes(cudaFuncAttributes*, const void*) { return 0; }
inline int cudaFuncSetAttribute(const void*, int, int) { return 0; }
inline int cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**) {
  return 0;
}
inline int cudaEventCreate(int*) { return 0; }
inline int cudaEventRecord(int) { return 0; }
inline int cudaEventSynchronize(int) { return 0; }
inline int cudaEventElapsedTime(float* t, int, int) { *t = 1; return 0; }
typedef unsigned long long cuuint64_t; typedef unsigned cuuint32_t;
enum CUresult { CUDA_SUCCESS }; struct CUtensorMap { cuuint64_t words[16]; };
enum CUtensorMapDataType { CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 };
enum CUtensorMapSwizzle { CU_TENSOR_MAP_SWIZZLE_128B };
enum { CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE };
template <class... T> CUresult cuTensorMapEncodeTiled(T...) { return CUDA_SUCCESS; }
inline void cuGetErrorString(CUresult, const char**) {}
"""
"""What the host program calls, as far as this test goes: everything succeeds."""

DEFAULTS: dict[str, int | float] = {"M": 64, "K": 128, "n": 3, "w": 2**40, "r": 0.5}


def request(tmp_path: Path, text: str = KERNEL) -> Request:
    file = tmp_path / "scaled.py"
    file.write_text(text)
    kernel = load_kernels(file).kernels["scaled"]
    given = {t.name: t.dtypes[0] for t in kernel.signature.tensors}
    return Request(kernel, given, facts={"M": 1, "T_s0": 1})


def accepts(spec: LaunchSpec, given: dict[str, int | float]) -> bool:
    """Whether a launch with contiguous tensors of these sizes is accepted."""
    shapes = {"X": ("M", "K"), "Y": ("M", "K"), "T": ("M", None)}
    tensors: list[TensorArg] = []
    for tensor in spec.tensors:
        shape = tuple(int(given[d]) if d else 3 for d in shapes[tensor.name])
        place = 1 << (20 + 4 * len(tensors))
        kind = tensor.dtype.name
        tensors.append(
            TensorArg(place << 30, kind, shape, contiguous(shape), ("cuda", 0))
        )
    try:
        binding = bind(spec, tensors, [given[s.name] for s in spec.scalars])
        AddressChecks(spec, tensors, binding).check([t.pointer for t in tensors])
        grid_size(spec, binding.values, 132)
    except ArgusError:
        return False
    return True


@pytest.mark.compiler
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_host_program_checks_what_a_launch_checks(tmp_path: Path) -> None:
    """Each choice of arguments is accepted by both or by none."""
    program = placed_program(request(tmp_path))
    source = emit(program)
    whole, host = export(program, DEFAULTS)
    assert source.text in whole
    for header in ("cuda.h", "cuda_runtime.h"):
        (tmp_path / header).write_text(STUBS)
    head = whole[: whole.index(source.text)]
    entry = f'extern "C" void {source.entry}() {{}}\n'
    (tmp_path / "host.cpp").write_text(f"{head}{entry}{host}")
    command = ["g++", "-std=c++17", "-w", "-O0", "-I.", "host.cpp", "-o", "host"]
    subprocess.run(command, cwd=tmp_path, check=True)

    def runs(*arguments: str) -> bool:
        found = subprocess.run(
            [str(tmp_path / "host"), *arguments], capture_output=True, check=False
        )
        return found.returncode == 0

    assert runs() and accepts(source.spec, DEFAULTS)
    for name, values in {
        "M": (48, 2, 3, 4, 1, 17),
        "K": (64, 48, 72, 144, 96, 2**31, 2**31 + 16, 2**32 + 128),
        "n": (63, 64, -(2**31), 2**31, -(2**31) - 1),
        "w": (64, 63, -(2**63), 2**63 - 1, 2**63),
        "r": (0.5, 0.50001, -3.0, 1e39, -1e39),
    }.items():
        for value in values:
            given = {**DEFAULTS, name: value, **({"M": 1} if name == "K" else {})}
            given |= {"n": -3} if given["M"] == 1 else {}
            words = [f"{key}={x}" for key, x in given.items()]
            assert runs(*words) == accepts(source.spec, given), words
    for wrong in ("M=", "M=64x", "M=1e3", "M=0", "M=-16", "r=x", "m=64", "M", "Z=1"):
        assert not runs(wrong), wrong


def test_what_is_not_proved_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = """
import argus as ag
from argus import f32


@ag.kernel
def scaled(X: f32["M 64"], Y: f32["M 64"]):
    i = ag.block(ag.cdiv(X.shape[0], 16))
    Y[i * 16 :, 0:64] = ag.load(X[i * 16 :, 0:64], (16, 64))
"""
    found = request(tmp_path, right)
    assert claimed(found).startswith("proved")
    whole, _ = export(placed_program(found), None, claimed(found))
    assert "// proved" in whole[: whole.index("#include")]
    wrong = request(tmp_path, right.replace("Y[i * 16 :", "Y[0:"))
    with pytest.raises(ErrorList):
        claimed(wrong)
    monkeypatch.setenv("ARGUS_CHECK", "0")
    assert claimed(wrong).startswith("not proved")
    assert "// not proved" in export(placed_program(wrong))[0]
