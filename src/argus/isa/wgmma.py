"""wgmma: the asynchronous matrix product of a warpgroup (Hopper).

    D (64 x N, registers) = A (64 x K) * B (K x N) + (scale_d ? D : 0)

for N = 8, 16, ..., 256, with K of 32 bytes, for each type of `argus.isa.matrix`. B is
in shared memory, A there ("ss") or in registers ("rs"). This file has the device
functions and what they mean on arrays; which bytes a matrix descriptor names is in
`descriptor.py`; which thread holds which element of D and of A in registers is
`argus.layout.wgmma_accumulator` and `wgmma_a_operand`.

The accumulator of several wgmma in a row needs no wait between them; any other access
to D, or to A in registers, needs `fence` before and commit + wait after (PTX ISA,
"Asynchronous Warpgroup Level Matrix Operation", memory consistency).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from argus.isa.descriptor import operand_addresses
from argus.isa.matrix import ELEMENTS, MatrixElement
from argus.isa.record import HOPPER, Constraints, Effects, Instruction, InstructionCost
from argus.isa.registers import WARPGROUP
from argus.isa.text import asm, device, joined
from argus.layout import WARP_LANES, WGMMA_MAX_N

__all__ = [
    "COLUMNS",
    "DTYPES",
    "ROWS",
    "THREADS",
    "apply",
    "columns",
    "forms",
    "function_name",
    "operand_addresses",
    "record",
    "records",
    "violations",
]

ROWS = 64
"""M of one instruction."""
COLUMNS = range(8, WGMMA_MAX_N + 1, 8)
"""Every N of one instruction (PTX ISA, wgmma.mma_async, "Matrix Shape")."""
_WIDE = 32
"""From here on N of whole numbers is a multiple of 16 (the same table)."""
THREADS = WARPGROUP * WARP_LANES
"""Threads of the warpgroup that executes it together."""
_ELEMENTS = tuple(e for e in ELEMENTS if e.asynchronous)
DTYPES = tuple(e.dtype.name for e in _ELEMENTS)
"""Names of the element types of A and B; their K is in `argus.isa.matrix`."""
_BY_NAME = {e.dtype.name: e for e in _ELEMENTS}
_SECTION = "PTX ISA, Asynchronous Warpgroup Level Matrix: "
_NAME = re.compile(
    r"argus_wgmma_m64n(?P<n>\d+)k(?P<k>\d+)_(?P<dtype>[a-z0-9]+)"
    r"_(?:ss_(?P<ta>[01])|rs_)(?P<tb>[01])"
)


def function_name(n: int, dtype: str, a_in_registers: bool, ta: int, tb: int) -> str:
    """Device function of one form; `ta`, `tb` are 0 for K-major, 1 for MN-major.

    Raises KeyError for an element type that is not one of `DTYPES`.
    """
    operands = f"rs_{tb}" if a_in_registers else f"ss_{ta}{tb}"
    depth = _BY_NAME[dtype].depth
    return f"argus_wgmma_m{ROWS}n{n}k{depth}_{dtype}_{operands}"


def columns(of: MatrixElement) -> tuple[int, ...]:
    """Every N of one instruction with this element type."""
    whole = of.dtype.kind == "int"
    return tuple(n for n in COLUMNS if not whole or n < _WIDE or n % 16 == 0)


def violations(
    m: int, n: int, k: int, of: MatrixElement, warpgroups: int = 1
) -> list[str]:
    """What keeps an (m, k) by (k, n) product of warpgroups from these instructions.

    In words, empty where nothing does. The warpgroups share the rows.
    """
    broken: list[str] = []
    if not of.asynchronous:
        broken.append(f"it does not multiply {of.dtype}")
    if m % (ROWS * warpgroups):
        broken.append(f"{m} rows are not {ROWS} for each of {warpgroups} warpgroups")
    if n % COLUMNS.step:
        broken.append(f"{n} columns are not a multiple of {COLUMNS.step}")
    if k % of.depth:
        broken.append(f"a depth of {k} is not a multiple of {of.depth}")
    return broken


def forms() -> Iterator[str]:
    """Device functions of all matrix products."""
    for of in _ELEMENTS:
        dtype, majors = of.dtype.name, (0, 1) if of.mn_major else (0,)
        for n in columns(of):
            for tb in majors:
                yield function_name(n, dtype, True, 0, tb)
                for ta in majors:
                    yield function_name(n, dtype, False, ta, tb)


def record(function: str) -> Instruction | None:
    """Record of the matrix product with this device function; None if it is none."""
    match = _NAME.fullmatch(function)
    if match is None:
        return None
    n, of = int(match["n"]), _BY_NAME.get(match["dtype"])
    if of is None or n not in columns(of) or int(match["k"]) != of.depth:
        return None
    ta, tb = match["ta"], match["tb"]
    if "1" in (ta, tb) and not of.mn_major:
        return None
    shape = f"m{ROWS}n{n}k{of.depth}"
    sums = _SUMS[of.accumulator.name]
    name = f"wgmma.mma_async.sync.aligned.{shape}.{sums.ptx}.{of.ptx}.{of.ptx}"
    k_bytes = of.depth * of.dtype.bytes
    b_bytes = n * k_bytes
    a_bytes = 0 if ta is None else ROWS * k_bytes
    reads = ("d", "a", "[desc_b]") if ta is None else ("d", "[desc_a]", "[desc_b]")
    rules = [
        f"all {THREADS} threads of a warpgroup execute it together",
        "argus_wgmma_fence comes between ordinary access to d (or a) and it",
        "d is not touched before a wait covers its group",
        "scale_d = 0 ignores the old value of d, 1 adds to it",
    ]
    return Instruction(
        name=name,
        family="wgmma",
        targets=HOPPER,
        scope="warpgroup",
        function=function,
        cuda=_text(function, name, n, of, ta, tb),
        effects=Effects(reads, ("d",), "async", "wgmma_group"),
        constraints=Constraints(
            alignment=(("desc_b", 16),) + ((("desc_a", 16),) if ta else ()),
            shape=(("m", ROWS), ("n", n), ("k", of.depth)),
            rules=tuple(rules),
        ),
        cost=InstructionCost(a_bytes + b_bytes, 2 * ROWS * n * of.depth),
        source=_SECTION + "wgmma.mma_async",
    )


@dataclass(frozen=True, slots=True)
class _Sums:
    """How the accumulator is spelled in opcodes, C++ and constraints of operands."""

    ptx: str
    ctype: str
    constraint: str


_SUMS = {"f32": _Sums("f32", "float", "f"), "i32": _Sums("s32", "int", "r")}


def _text(
    function: str, name: str, n: int, of: MatrixElement, ta: str | None, tb: str
) -> str:
    sums = _SUMS[of.accumulator.name]
    # Signs of floats, and the majors of types that have both.
    signs = ", 1, 1" if of.dtype.is_float else ""
    left, right = (f", {ta}" if of.mn_major else "", f", {tb}" if of.mn_major else "")
    count = n // 2
    registers = joined([f"%{i}" for i in range(count)], "@", 72).split("\n@")
    registers[0] = "{" + registers[0]
    registers[-1] += "},"
    if ta is None:
        a_registers = ", ".join(f"%{count + i}" for i in range(4))
        b, predicate = count + 4, count + 5
        operands = f"{{{a_registers}}}, %{b}, p{signs}{right};"
        a_inputs = [f'"r"(a[{i}])' for i in range(4)]
        a_parameter = "u32 const* a"
    else:
        b, predicate = count + 1, count + 2
        operands = f"%{count}, %{b}, p{signs}{left}{right};"
        a_inputs = ['"l"(desc_a)']
        a_parameter = "u64 desc_a"
    signature = (
        f"void {function}({sums.ctype}* d, {a_parameter}, u64 desc_b, int scale_d)"
    )
    body = asm(
        [
            ".reg .pred p;",
            f"setp.ne.b32 p, %{predicate}, 0;",
            name,
            *registers,
            operands,
        ],
        outputs=[f'"+{sums.constraint}"(d[{i}])' for i in range(count)],
        inputs=[*a_inputs, '"l"(desc_b)', '"r"(scale_d)'],
        # Registers only: the shared operands are ordered by fences and barriers.
        memory=False,
    )
    return device(signature, body)


def apply(
    of: MatrixElement, a: NDArray[Any], b: NDArray[Any], acc: NDArray[Any] | None
) -> NDArray[Any]:
    """What one instruction computes: acc + a @ b.T, shape [64, N].

    `a` [64, K] and `b` [N, K] hold the numbers of the elements; `acc` None is
    scale_d = 0. The hardware sums the products of floats in an order and precision that
    is not specified (PTX ISA, wgmma.mma_async), so results agree to the rounding of the
    sum of magnitudes, not bit for bit; whole numbers are exact, and wrap.
    """
    product = of.product(a, b)
    return product if acc is None else acc + product


def _fence() -> Instruction:
    return Instruction(
        name="wgmma.fence.sync.aligned",
        family="wgmma",
        targets=HOPPER,
        scope="warpgroup",
        function="argus_wgmma_fence",
        cuda=device("void argus_wgmma_fence()", asm("wgmma.fence.sync.aligned;"), ""),
        effects=Effects(),
        source=_SECTION + "wgmma.fence",
        constraints=Constraints(rules=("all threads of the warpgroup execute it",)),
    )


def _commit() -> Instruction:
    return Instruction(
        name="wgmma.commit_group.sync.aligned",
        family="wgmma",
        targets=HOPPER,
        scope="warpgroup",
        function="argus_wgmma_commit",
        cuda=device(
            "void argus_wgmma_commit()", asm("wgmma.commit_group.sync.aligned;")
        ),
        effects=Effects(commits=("wgmma_group",)),
        source=_SECTION + "wgmma.commit_group",
        constraints=Constraints(rules=("all threads of the warpgroup execute it",)),
    )


def _wait() -> Instruction:
    return Instruction(
        name="wgmma.wait_group.sync.aligned",
        family="wgmma",
        targets=HOPPER,
        scope="warpgroup",
        function="argus_wgmma_wait",
        cuda=device(
            "void argus_wgmma_wait()",
            asm("wgmma.wait_group.sync.aligned %0;", inputs=['"n"(pending)']),
            "template <int pending>",
        ),
        effects=Effects(awaits=("wgmma_group",)),
        source=_SECTION + "wgmma.wait_group",
        constraints=Constraints(
            rules=(
                "at most `pending` groups of the warpgroup are still in flight after",
                "argus_wgmma_tie on each accumulator follows before it is read",
            )
        ),
    )


def _tie_text(kind: str, constraint: str) -> str:
    loop = (
        "#pragma unroll\nfor (int i = 0; i < count; ++i)\n"
        f'  asm volatile("" : "+{constraint}"(d[i]) :: "memory");'
    )
    return device(f"void argus_wgmma_tie({kind}* d)", loop, "template <int count>")


def _tie() -> Instruction:
    return Instruction(
        name="(none: orders the compiler)",
        family="wgmma",
        targets=HOPPER,
        scope="thread",
        function="argus_wgmma_tie",
        cuda="".join(
            _tie_text(kind, constraint)
            for kind, constraint in (("float", "f"), ("u32", "r"), ("int", "r"))
        ),
        effects=Effects(("d",), ("d",)),
        source=_SECTION + "wgmma.wait_group",
        constraints=Constraints(
            rules=("without it the compiler may read d before the wait",)
        ),
    )


def _desc() -> Instruction:
    body = """\
// Bits 0-13 start, 16-29 leading, 32-45 stride, all without their 4 low bits;
// bits 62-63 swizzle: 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes.
u64 mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
return (u64)((smem & 0x3ffff) >> 4) | (u64)((leading & 0x3ffff) >> 4) << 16 |
       (u64)((stride & 0x3ffff) >> 4) << 32 | mode << 62;"""
    return Instruction(
        name="(none: matrix descriptor)",
        family="wgmma",
        targets=HOPPER,
        scope="thread",
        function="argus_desc",
        cuda=device(
            "u64 argus_desc(u32 smem, u32 leading, u32 stride, u32 swizzle)", body
        ),
        effects=Effects(("smem", "leading", "stride", "swizzle")),
        source=_SECTION + "Matrix Descriptor Format",
        constraints=Constraints(
            alignment=(("smem", 16),),
            rules=(
                "bits 49-51 (base offset) are 0: swizzle patterns begin at multiples "
                "of 256, 512, 1024 bytes for 32, 64, 128; smem may lie inside one",
            ),
        ),
    )


def records() -> tuple[Instruction, ...]:
    """The records that are not matrix products."""
    return (_desc(), _fence(), _commit(), _wait(), _tie())
