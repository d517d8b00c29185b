"""Global memory: loads and stores that leave L1 alone, and atomic operations.

Ordinary vector accesses are plain C++ on int, int2, int4 pointers and have no function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from argus.ir.dtypes import DType, bf16, f16, f32, f64, i32
from argus.isa.record import (
    ALL_TARGETS,
    HOPPER,
    Constraints,
    Effects,
    Instruction,
    InstructionCost,
    Ordinary,
)
from argus.isa.text import asm, device

__all__ = [
    "ATOMS",
    "ORDINARY",
    "REDUCTIONS",
    "VECTOR_SIZES",
    "Reduction",
    "records",
    "reduction",
]

VECTOR_SIZES = (1, 2, 4, 8, 16)
"""Bytes of one ordinary access of a thread, aligned to as many (PTX ISA, ld, st)."""

ORDINARY: Mapping[str, Ordinary] = {
    "ld.global": Ordinary(Effects(("[p]",), ("v",), "generic")),
    "st.global": Ordinary(Effects(("v",), ("[p]",), "generic")),
    "ld.shared": Ordinary(Effects(("[p]",), ("v",), "generic")),
    "st.shared": Ordinary(Effects(("v",), ("[p]",), "generic")),
}
"""Accesses of `v` at the address `p` that are expressions of C++, as plans name them
(PTX ISA, ld, st)."""

_MOVE = "PTX ISA, Data Movement and Conversion Instructions: "


def _stream_load() -> Instruction:
    body = "int4 v;\n" + asm(
        "ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];",
        ['"=r"(v.x)', '"=r"(v.y)', '"=r"(v.z)', '"=r"(v.w)'],
        ['"l"(__cvta_generic_to_global(p))'],
    )
    return Instruction(
        name="ld.global.L1::no_allocate.v4.b32",
        family="memory",
        targets=ALL_TARGETS,
        scope="thread",
        function="argus_ldg_stream_16",
        cuda=device("int4 argus_ldg_stream_16(void const* p)", body + "\nreturn v;"),
        effects=Effects(("[p]",), (), "generic"),
        cost=InstructionCost(bytes=16),
        source=_MOVE + "ld",
        constraints=Constraints(alignment=(("p", 16),)),
    )


def _stream_store() -> Instruction:
    body = asm(
        "st.global.L1::no_allocate.v4.b32 [%0], {%1, %2, %3, %4};",
        inputs=[
            '"l"(__cvta_generic_to_global(p))',
            '"r"(v.x)',
            '"r"(v.y)',
            '"r"(v.z)',
            '"r"(v.w)',
        ],
    )
    return Instruction(
        name="st.global.L1::no_allocate.v4.b32",
        family="memory",
        targets=ALL_TARGETS,
        scope="thread",
        function="argus_stg_stream_16",
        cuda=device("void argus_stg_stream_16(void* p, int4 v)", body),
        effects=Effects(("v",), ("[p]",), "generic"),
        cost=InstructionCost(bytes=16),
        source=_MOVE + "st",
        constraints=Constraints(alignment=(("p", 16),)),
    )


@dataclass(frozen=True, slots=True)
class Reduction:
    """One form of an atomic operation: `width` elements of `dtype` at a time.

    `fn` is "add", "max" or "min"; with `old` it returns what was there before, and may
    be "exchange" or "cas", too. Without `ptx` it is a loop of compare-and-swap.
    """

    fn: str
    dtype: DType
    width: int
    ptx: str
    ctype: str
    targets: tuple[str, ...] = ALL_TARGETS
    old: bool = False

    @property
    def function(self) -> str:
        """Its device function."""
        pair = f"x{self.width}" if self.width > 1 else ""
        kind = "atom" if self.old else "red"
        return f"argus_{kind}_{self.fn}_{self.dtype.name}{pair}"


REDUCTIONS = (
    Reduction("add", f32, 1, "f32", "float"),
    Reduction("add", f64, 1, "f64", "double"),
    Reduction("add", i32, 1, "s32", "int"),
    # red on bf16x2 came with sm_90.
    Reduction("add", bf16, 2, "noftz.bf16x2", "u32", HOPPER),
    Reduction("add", f16, 2, "noftz.f16x2", "u32"),
    *(Reduction(fn, i32, 1, "s32", "int") for fn in ("max", "min")),
    # There is no red.max.f32: and of integers the bits do not know NaN.
    *(Reduction(fn, f32, 1, "", "float") for fn in ("max", "min")),
)


ATOMS = (
    *(replace(r, old=True) for r in REDUCTIONS if r.width == 1),
    Reduction("exchange", f32, 1, "b32", "float", old=True),
    Reduction("exchange", i32, 1, "b32", "int", old=True),
    # Of floats it would compare bits: -0 is not +0, and a NaN may be itself.
    Reduction("cas", i32, 1, "b32", "int", old=True),
)
"""Those that return what was there before."""
_PTX_NAMES = {"exchange": "exch"}
_CONSTRAINTS = {"float": "f", "double": "d", "int": "r", "u32": "r"}
"""How `asm` holds an operand of a C++ type."""


def reduction(dtype: DType, fn: str = "add", *, old: bool = False) -> Reduction | None:
    """The atomic operation on an element type; None where there is none."""
    forms = ATOMS if old else REDUCTIONS
    return next((r for r in forms if (r.dtype, r.fn) == (dtype, fn)), None)


def _atom(form: Reduction) -> Instruction:
    """One that returns what was there before."""
    ctype = form.ctype
    held = _CONSTRAINTS[ctype]
    compared = form.fn == "cas"
    given = f"{ctype} c, {ctype} v" if compared else f"{ctype} v"
    if form.ptx:
        name = f"atom.relaxed.gpu.global.{_PTX_NAMES.get(form.fn, form.fn)}.{form.ptx}"
        places = "%2, %3" if compared else "%2"
        values = [f'"{held}"(c)'] if compared else []
        body = f"{ctype} old;\n" + asm(
            f"{name} %0, [%1], {places};",
            [f'"={held}"(old)'],
            ['"l"(__cvta_generic_to_global(p))', *values, f'"{held}"(v)'],
        )
        body += "\nreturn old;"
    else:
        name = f"atom.relaxed.gpu.global.cas.b32 ({form.fn}, old)"
        body = _swapping(f"argus_{form.fn}", "return __uint_as_float(held)")
    return Instruction(
        name=name,
        family="memory",
        targets=form.targets,
        scope="thread",
        function=form.function,
        cuda=device(f"{ctype} {form.function}({ctype}* p, {given})", body),
        effects=Effects(
            ("v", *(("c",) if compared else ()), "[p]"), ("[p]",), "generic"
        ),
        cost=InstructionCost(bytes=form.dtype.bytes),
        source="PTX ISA, Parallel Synchronization and Communication: atom",
        constraints=Constraints(
            alignment=(("p", form.dtype.bytes),),
            rules=(
                "nobody changes the element between its old value and its new one",
                "the order of the operations is not defined",
            ),
        ),
        needs=() if form.ptx else (f"argus_{form.fn}",),
    )


def _reduce(form: Reduction) -> Instruction:
    function, ctype = form.function, form.ctype
    size = form.width * form.dtype.bytes
    constraint = _CONSTRAINTS[ctype]
    pointer = f"{ctype}*" if ctype != "u32" else "void*"
    if form.ptx:
        name = f"red.relaxed.gpu.global.{form.fn}.{form.ptx}"
        body = asm(
            f"{name} [%0], %1;",
            inputs=['"l"(__cvta_generic_to_global(p))', f'"{constraint}"(v)'],
        )
    else:
        name = f"atom.relaxed.gpu.global.cas.b32 ({form.fn})"
        body = _swapping(f"argus_{form.fn}")
    rounded = "each element is added atomically and rounded to nearest even"
    return Instruction(
        name=name,
        family="memory",
        targets=form.targets,
        scope="thread",
        function=function,
        cuda=device(f"void {function}({pointer} p, {ctype} v)", body),
        effects=Effects(("v", "[p]"), ("[p]",), "generic"),
        cost=InstructionCost(bytes=size),
        source="PTX ISA, Parallel Synchronization and Communication: "
        + ("red" if form.ptx else "atom"),
        constraints=Constraints(
            alignment=(("p", size),),
            rules=(
                rounded
                if form.fn == "add"
                else f"the {form.fn} of each element is taken atomically",
                "the order of the operations is not defined",
            ),
        ),
        needs=() if form.ptx else (f"argus_{form.fn}",),
    )


def _swapping(combined: str, leave: str = "return") -> str:
    """A loop that ends as soon as memory holds what it should.

    Most values change no extreme: they cost a load.
    """
    load = asm(
        "ld.relaxed.gpu.global.b32 %0, [%1];",
        ['"=r"(held)'],
        ['"l"(__cvta_generic_to_global(p))'],
    )
    swap = asm(
        "atom.relaxed.gpu.global.cas.b32 %0, [%1], %2, %3;",
        ['"=r"(seen)'],
        ['"l"(__cvta_generic_to_global(p))', '"r"(held)', '"r"(made)'],
    )
    inner = "".join(f"  {line}\n" for line in swap.splitlines())
    return (
        f"u32 held, seen;\n{load}\nwhile (true) {{\n"
        f"  const u32 made = __float_as_uint({combined}(__uint_as_float(held), v));\n"
        f"  if (made == held) {leave};\n{inner}"
        f"  if (seen == held) {leave};\n  held = seen;\n}}"
    )


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    return (
        _stream_load(),
        _stream_store(),
        *map(_reduce, REDUCTIONS),
        *map(_atom, ATOMS),
    )
