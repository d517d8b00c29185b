"""Helpers to write device functions: the signature line and inline assembly.

All device functions are `__device__ __forceinline__`, use no header, and compile under
NVRTC with no include path. 16-bit floats are bit patterns in u16 or packed in u32.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["TENSOR_MAP", "TYPEDEFS", "asm", "computed", "device", "joined"]

TYPEDEFS = """\
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
"""

TENSOR_MAP = """\
// A TMA descriptor made by the host (CUtensorMap, 128 bytes).
struct alignas(64) TensorMap { u64 opaque[16]; };
"""

_WIDTH = 88


def device(signature: str, body: str, template: str = "") -> str:
    """Text of a device function: `signature` is "type argus_name(parameters)"."""
    head = f"{template}\n" if template else ""
    result, name = signature.split(" argus_", 1)
    indented = "".join(f"  {line}\n" if line else "\n" for line in body.splitlines())
    opening = f"__device__ __forceinline__ {result} argus_{name} {{"
    if len(opening) > _WIDTH:
        start, rest = opening.split("(", 1)
        parameters, end = rest.rsplit(")", 1)
        opening = f"{start}(\n    {joined(parameters.split(', '), '    ')}){end}"
    return f"{head}{opening}\n{indented}}}\n"


def computed(
    signature: str, ptx: str, made: str, *inputs: str, gives: str = "y"
) -> str:
    """Text of a device function: one instruction, from registers to a register.

    `made` is the register's type and constraint ("float f"), `inputs` are operands
    ("f"(x)); `gives` is what is returned of the register `y`.
    """
    kind, constraint = made.split()
    line = asm(f"{ptx};", [f'"={constraint}"(y)'], inputs, volatile=False, memory=False)
    return device(signature, f"{kind} y;\n{line}\nreturn {gives};")


def asm(
    lines: str | Sequence[str],
    outputs: Sequence[str] = (),
    inputs: Sequence[str] = (),
    *,
    volatile: bool = True,
    memory: bool = True,
) -> str:
    """An asm statement; several lines get a scope for their registers and labels.

    `memory` tells the compiler that it reads or writes memory unseen.
    """
    texts = [lines] if isinstance(lines, str) else ["{", *lines, "}"]
    quoted = "\n".join(f'  "{text}\\n"' for text in texts)
    if isinstance(lines, str):
        quoted = f'  "{lines}"'
    parts = [quoted, _operands(outputs), _operands(inputs)]
    if memory:
        parts.append('  : "memory"')
    while len(parts) > 1 and not parts[-1].strip(" :"):
        parts.pop()
    keyword = "asm volatile" if volatile else "asm"
    return f"{keyword}(\n" + "\n".join(parts) + ");"


def joined(items: Sequence[str], indent: str, width: int = _WIDTH - 4) -> str:
    """Items separated by commas, broken into lines of at most `width` columns."""
    rows: list[str] = []
    row = ""
    for item in items:
        piece = item if not row else f", {item}"
        if row and len(indent) + len(row) + len(piece) + 1 > width:
            rows.append(row + ",")
            row = item
        else:
            row += piece
    rows.append(row)
    return ("\n" + indent).join(rows)


def _operands(operands: Sequence[str]) -> str:
    return ("  : " + joined(operands, "    ")).rstrip()
