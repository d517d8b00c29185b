"""Runs a printed kernel on the CPU: the text itself, compiled by the host's compiler.

Device functions that are plain C++ are those of the text; those that are an instruction
are replaced by C++ of the same meaning, as the PTX ISA has it. The threads of a block
take turns on one of the host: each runs until it comes to what a warp or a block does
together (shuffles, ldmatrix, mma.sync, barriers) and waits for the others there. One
that would wait for ever ends the process. No TMA, no mbarrier, no wgmma: the
interpreter and the GPU tests cover those.
"""

from __future__ import annotations

import atexit
import ctypes
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from argus.codegen import CudaSource
from argus.ir.expr import evaluate
from argus.ir.launch import PointerArg, ScalarArg, SymArg, TensorMapArg

COMPILER = (
    "g++",
    *("-std=c++20", "-O0", "-w", "-fPIC", "-pthread", "-fno-strict-aliasing"),
)
_TEXTS = Path(__file__).parent / "emulated"
"""What is in C++: `shim.h`, which kernels include, `threads.cpp`, and `driver.cpp`."""
FUSED = ("-mfma", "-O2", "-ffp-contract=fast")
"""As nvcc compiles: a product and the sum that it goes into are rounded once.

Of products that others read, too, the host's compiler makes no such instruction, and
NVRTC does: `contraction.contracted` has these.
"""


def available() -> bool:
    """Whether there is a host C++ compiler."""
    return shutil.which("g++") is not None


@cache
def fuses() -> bool:
    """Whether there is one, and a processor that rounds a product and a sum once."""
    if not available():
        return False
    asked = ["g++", "-march=native", "-dM", "-E", "-x", "c++", "/dev/null"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    return "__x86_64__" in said and "__FMA__" in said


@cache
def _shim(*options: str) -> Path:
    """The header that every kernel includes, compiled once in a process for options.

    Beside it are the threads, `threads.o`.
    """
    folder = Path(tempfile.mkdtemp(prefix="emulator-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    header = Path(shutil.copy(_TEXTS / "shim.h", folder))
    made = ["-x", "c++-header", str(header), "-o", f"{header}.gch"]
    subprocess.run([*COMPILER, *options, *made], check=True)
    made = ["-c", str(_TEXTS / "threads.cpp"), "-o", str(folder / "threads.o")]
    subprocess.run([*COMPILER, *made], check=True)
    return header


@dataclass(frozen=True)
class Launch:
    """A launch of a printed kernel: blocks, and arguments ordered as ``spec.args``."""

    source: CudaSource
    blocks: int
    arguments: list[np.ndarray | int | float]


def plain_functions(text: str) -> str:
    """The device functions of a text that are not instructions."""
    function = r"^(?:template <[^\n]*>\n)?__device__ __forceinline__ .*?^}\n"
    found = re.findall(function, text, re.M | re.S)
    return "".join(f for f in found if "asm" not in f)


TRAPPING = (
    "-fsanitize=signed-integer-overflow,integer-divide-by-zero,float-cast-overflow",
    "-fsanitize-undefined-trap-on-error",
)
"""Options with which what C++ leaves undefined of whole numbers ends the process."""


def compiled(body: str, folder: Path, *options: str) -> ctypes.CDLL:
    """C++ after the shim, as a library."""
    path, library = folder / "kernel.cpp", folder / "kernel.so"
    path.write_text(body)
    header = _shim(*options)
    threads = header.with_name("threads.o")
    given = ["-include", header, "-shared", path, threads, "-o", library]
    subprocess.run([*COMPILER, *options, *map(str, given)], check=True)
    return ctypes.CDLL(str(library))


def run_all(launches: list[Launch], *options: str) -> None:
    """Run kernels, all compiled together, each once; arrays among arguments change.

    ``options`` of the compiler, such as those of ``TRAPPING``.
    """
    texts: list[tuple[str, str]] = [(x.source.text, x.source.entry) for x in launches]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    bodies: dict[int, tuple[str, list[str]]] = {}
    for text, launch in zip(texts, launches, strict=True):
        if numbers[text] not in bodies:
            bodies[numbers[text]] = _body(launch.source, numbers[text])
    with tempfile.TemporaryDirectory() as folder:
        whole = "".join(body for body, _ in bodies.values())
        library = compiled(whole, Path(folder), *options)
        for text, launch in zip(texts, launches, strict=True):
            number = numbers[text]
            cells = _cells(launch.arguments, bodies[number][1])
            pointers = (ctypes.c_void_p * len(cells))(
                *(ctypes.cast(ctypes.byref(c), ctypes.c_void_p) for c in cells)
            )
            start = getattr(library, f"run{number}")
            start(launch.blocks, launch.source.spec.threads, pointers)


def _body(source: CudaSource, number: int) -> tuple[str, list[str]]:
    """A kernel in a namespace of its own, and the C++ types of its arguments."""
    # A comment above may say anything.
    start = source.text.index('\nextern "C"') + 1
    kernel = source.text[start:].replace('extern "C" ', "", 1)
    # Every kernel has the same shared memory: that of the shim.
    kernel = re.sub(r"^ *extern __shared__ .*smem\[\];\n", "", kernel, flags=re.M)
    kernel = kernel.replace("#pragma unroll\n", "#pragma GCC unroll 256\n")
    head = kernel[kernel.index("(", kernel.index(source.entry)) + 1 :]
    declared = head[: head.index(") {")].strip()
    types = [re.sub(r"\w+$", "", d.strip()) for d in declared.split(",\n") if d]
    types = [t.replace("__restrict__", "") for t in types]
    values = ", ".join(f"*({t}*)p[{i}]" for i, t in enumerate(types))
    call = f"k{number}::{source.entry}({values})"
    text = (_TEXTS / "driver.cpp").read_text(encoding="utf-8")
    driver = text.replace("CALL", call).replace("run", f"run{number}", 1)
    plain = plain_functions(source.text[:start])
    # Overloads that are instructions are in the shim.
    given = "using ::argus_max; using ::argus_min;\n"
    return f"namespace k{number} {{\n{given}{plain}{kernel}}}\n{driver}", types


def _cells(
    arguments: list[np.ndarray | int | float], types: list[str]
) -> list[ctypes._SimpleCData]:
    cells: list[ctypes._SimpleCData] = []
    for value, ctype in zip(arguments, types, strict=True):
        if isinstance(value, np.ndarray):
            cells.append(ctypes.c_void_p(value.ctypes.data))
        elif "float" in ctype:
            cells.append(ctypes.c_float(value))
        else:
            long = "long long" in ctype
            cells.append((ctypes.c_longlong if long else ctypes.c_int)(value))
    return cells


def to_bf16(x: np.ndarray) -> np.ndarray:
    """f32 to bf16 bits, to nearest even (no NaN)."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(x: np.ndarray) -> np.ndarray:
    """Bf16 bits to f32."""
    return (x.astype(np.uint32) << 16).view(np.float32)


def launch(
    source: CudaSource, sizes: dict[str, int | float], arrays: dict[str, np.ndarray]
) -> None:
    """Run one kernel; `bound` says with what."""
    run_all([bound(source, sizes, arrays)])


def bound(
    source: CudaSource, sizes: dict[str, int | float], arrays: dict[str, np.ndarray]
) -> Launch:
    """Bind by name: dims and scalars from ``sizes``, strides from the arrays."""
    values: list[np.ndarray | int | float] = []
    for arg in source.spec.args:
        match arg:
            case PointerArg():
                values.append(arrays[arg.tensor])
            case SymArg() if arg.sym.kind == "stride":
                tensor, dim = arg.sym.name.rsplit("_s", 1)
                array = arrays[tensor]
                values.append(array.strides[int(dim)] // array.itemsize)
            case SymArg():
                values.append(sizes[arg.sym.name])
            case ScalarArg():
                values.append(sizes[arg.param])
            case TensorMapArg():
                raise AssertionError("the emulation has no TMA")
    blocks = int(evaluate(source.spec.grid, {"sm_count": 3, **sizes}))
    return Launch(source, blocks, values)
