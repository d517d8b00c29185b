"""mma.sync: the synchronous matrix product of a warp.

    D (16 x 8) = D + A (16 x K) * B (K x 8), all in registers, with K of 8 registers,
    for each type of `argus.isa.matrix`; of f64 also with 8 rows and a K of 4

Which lane holds what: `argus.layout.mma_accumulator`, `mma_a_operand`, `mma_b_operand`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import NDArray

from argus.ir.dtypes import f64
from argus.isa.matrix import ELEMENTS, WORD, MatrixElement
from argus.isa.record import (
    ALL_TARGETS,
    HOPPER,
    Constraints,
    Effects,
    Instruction,
    InstructionCost,
)
from argus.isa.register_product import RegisterProduct
from argus.isa.text import asm, device
from argus.layout import (
    WARP_LANES,
    mma_a_operand,
    mma_accumulator,
    mma_b_operand,
)

__all__ = ["PRODUCTS", "apply", "records"]

_ROWS, _COLUMNS = 16, 8
"""M and N of one instruction, but for m8n8k4."""


@dataclass(frozen=True, slots=True)
class _Form:
    """An instruction: its element type, M, and registers of B in a step along K."""

    of: MatrixElement
    targets: tuple[str, ...]
    rows: int = _ROWS
    halves: int = 2

    @property
    def depth(self) -> int:
        """K, in elements."""
        return self.of.depth * self.halves // 2

    @property
    def shape(self) -> str:
        """M, N and K, as opcodes spell them."""
        return f"m{self.rows}n{_COLUMNS}k{self.depth}"

    @property
    def function(self) -> str:
        """Its device function."""
        return f"argus_mma_{self.shape}_{self.of.dtype.name}"

    def product(self) -> RegisterProduct:
        """What it multiplies, and how it holds that."""
        size = self.of.dtype.bytes
        return RegisterProduct(
            "mma.sync",
            self.function,
            self.of,
            self.rows,
            _COLUMNS,
            self.depth,
            partial(mma_accumulator, rows=self.rows),
            partial(mma_a_operand, itemsize=size, rows=self.rows, halves=self.halves),
            partial(mma_b_operand, itemsize=size, halves=self.halves),
        )


_WIDE = tuple(of for of in ELEMENTS if of.dtype == f64)
_FORMS = (
    *(_Form(of, of.targets) for of in ELEMENTS if of not in _WIDE),
    *(_Form(of, HOPPER) for of in _WIDE),
    *(_Form(of, ALL_TARGETS, 8, 1) for of in _WIDE),
)
"""Of an element type and a target the one that is taken where it fits comes first."""
PRODUCTS = tuple(form.product() for form in _FORMS)
"""What each instruction multiplies, and how it holds that."""


def apply(
    of: MatrixElement, a: NDArray[Any], b: NDArray[Any], acc: NDArray[Any]
) -> NDArray[Any]:
    """Acc + a @ b.T: `a` [m, K], `b` [8, K] (as n, k), `acc` [m, 8].

    Order and intermediate precision of sums of floats are not specified (PTX ISA, mma),
    so results agree to the rounding of the sum of magnitudes, not bit for bit; whole
    numbers are exact, and wrap.
    """
    return acc + of.product(a, b)


_OPERANDS = {"float": ("f32", "f"), "int": ("s32", "r"), "double": ("f64", "d")}
"""Of accumulators in C++: their type in opcodes, and how `asm` holds them."""


def _record(form: _Form) -> Instruction:
    of = form.of
    ctype = of.accumulator.register
    sums, constraint = _OPERANDS[ctype]
    wide = of.dtype.bytes > WORD
    given, held = (ctype, constraint) if wide else ("u32", "r")
    name = f"mma.sync.aligned.{form.shape}.row.col.{sums}.{of.ptx}.{of.ptx}.{sums}"
    function = form.function
    counts = [2 * form.rows // 8, form.halves * form.rows // 8, form.halves]
    d, a, b = (
        "{" + ", ".join(f"%{sum(counts[:i]) + j}" for j in range(count)) + "}"
        for i, count in enumerate(counts)
    )
    body = asm(
        [name, f"{d}, {a}, {b}, {d};"],
        outputs=[f'"+{constraint}"(d[{i}])' for i in range(counts[0])],
        inputs=[f'"{held}"(a[{i}])' for i in range(counts[1])]
        + [f'"{held}"(b[{i}])' for i in range(counts[2])],
        volatile=False,
        memory=False,
    )
    operands = f"{ctype}* d, {given} const* a, {given} const* b"
    return Instruction(
        name=name,
        family="mma",
        targets=form.targets,
        scope="warp",
        function=function,
        cuda=device(f"void {function}({operands})", body),
        effects=Effects(("d", "a", "b"), ("d",)),
        cost=InstructionCost(flops=2 * form.rows * _COLUMNS * form.depth),
        source="PTX ISA, Warp Level Matrix Multiply-Accumulate Instructions: mma",
        constraints=Constraints(
            shape=(("m", form.rows), ("n", _COLUMNS), ("k", form.depth)),
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
    return (_words(), *map(_record, _FORMS))
