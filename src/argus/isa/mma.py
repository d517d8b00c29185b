"""mma.sync m16n8: the synchronous matrix product of a warp.

    D (16 x 8) = D + A (16 x K) * B (K x 8), all in registers, with K of 32 bytes, for
    each type of `argus.isa.matrix`

Which lane holds what: `argus.layout.mma_accumulator`, `mma_a_operand`, `mma_b_operand`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from numpy.typing import NDArray

from argus.isa.matrix import ELEMENTS, MatrixElement
from argus.isa.record import (
    ALL_TARGETS,
    Constraints,
    Effects,
    Instruction,
    InstructionCost,
)
from argus.isa.register_product import WORD, RegisterProduct
from argus.isa.text import asm, device
from argus.layout import (
    WARP_LANES,
    mma_a_operand,
    mma_accumulator,
    mma_b_operand,
)

__all__ = [
    "COLUMNS",
    "PRODUCTS",
    "ROWS",
    "apply",
    "function_name",
    "records",
]

ROWS = 16
"""M of one instruction."""
COLUMNS = 8
"""N of one instruction."""


def function_name(of: MatrixElement) -> str:
    """Device function that multiplies this element type."""
    return f"argus_mma_m{ROWS}n{COLUMNS}k{of.depth}_{of.dtype.name}"


def _product(of: MatrixElement) -> RegisterProduct:
    size = of.dtype.bytes
    return RegisterProduct(
        "mma.sync",
        function_name(of),
        of,
        ROWS,
        COLUMNS,
        of.depth,
        mma_accumulator,
        partial(mma_a_operand, itemsize=size),
        partial(mma_b_operand, itemsize=size),
    )


PRODUCTS = tuple(map(_product, ELEMENTS))
"""What each instruction multiplies, and how it holds that."""


def apply(
    of: MatrixElement, a: NDArray[Any], b: NDArray[Any], acc: NDArray[Any]
) -> NDArray[Any]:
    """Acc + a @ b.T: `a` [16, K], `b` [8, K] (as n, k), `acc` [16, 8].

    Order and intermediate precision of sums of floats are not specified (PTX ISA, mma),
    so results agree to the rounding of the sum of magnitudes, not bit for bit; whole
    numbers are exact, and wrap.
    """
    return acc + of.product(a, b)


def _record(of: MatrixElement) -> Instruction:
    shape = f"m{ROWS}n{COLUMNS}k{of.depth}"
    real = of.accumulator.is_float
    sums, ctype, constraint = ("f32", "float", "f") if real else ("s32", "int", "r")
    name = f"mma.sync.aligned.{shape}.row.col.{sums}.{of.ptx}.{of.ptx}.{sums}"
    function = function_name(of)
    body = asm(
        [
            name,
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};",
        ],
        outputs=[f'"+{constraint}"(d[{i}])' for i in range(4)],
        inputs=[f'"r"(a[{i}])' for i in range(4)] + ['"r"(b[0])', '"r"(b[1])'],
        volatile=False,
        memory=False,
    )
    return Instruction(
        name=name,
        family="mma",
        targets=of.targets,
        scope="warp",
        function=function,
        cuda=device(f"void {function}({ctype}* d, u32 const* a, u32 const* b)", body),
        effects=Effects(("d", "a", "b"), ("d",)),
        cost=InstructionCost(flops=2 * ROWS * COLUMNS * of.depth),
        source="PTX ISA, Warp Level Matrix Multiply-Accumulate Instructions: mma",
        constraints=Constraints(
            shape=(("m", ROWS), ("n", COLUMNS), ("k", of.depth)),
            rules=(f"all {WARP_LANES} lanes execute it together",),
        ),
    )


def _words() -> Instruction:
    """Elements that are held one in a register, as the words of an operand."""
    byte = " |\n         ".join(
        f"(u32)(unsigned char)v[4 * i + {j}]" + (f" << {8 * j}" if j else "")
        for j in range(WORD)
    )
    word = "__float_as_uint(v[i])"
    forms = (("unsigned char", byte), ("signed char", byte), ("float", word))
    return Instruction(
        name="(none: bytes of a register)",
        family="mma",
        targets=ALL_TARGETS,
        scope="thread",
        function="argus_words",
        cuda="".join(
            device(
                f"void argus_words(u32* w, {kind} const* v)",
                f"#pragma unroll\nfor (int i = 0; i < count; ++i)\n  w[i] = {value};",
                "template <int count>",
            )
            for kind, value in forms
        ),
        effects=Effects(("v",), ("w",)),
        source="PTX ISA, Warp Level Matrix Multiply-Accumulate Instructions: mma",
        constraints=Constraints(rules=("the first element in the lowest bits",)),
    )


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    return (_words(), *map(_record, ELEMENTS))
