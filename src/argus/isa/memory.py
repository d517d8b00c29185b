"""Global memory: loads and stores that leave L1 alone, and atomic adds.

Ordinary vector accesses are plain C++ on int, int2, int4 pointers and have no function.
"""

from __future__ import annotations

from argus.isa.record import (
    ALL_TARGETS,
    HOPPER,
    Constraints,
    Cost,
    Effects,
    Instruction,
)
from argus.isa.text import asm, device

__all__ = ["records"]

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
        cost=Cost(1, "global", 16),
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
        cost=Cost(1, "global", 16),
        source=_MOVE + "st",
        constraints=Constraints(alignment=(("p", 16),)),
    )


def _reduce(suffix: str, ptx: str, ctype: str, size: int) -> Instruction:
    name = f"red.relaxed.gpu.global.add.{ptx}"
    function = f"argus_red_add_{suffix}"
    constraint = {"float": "f", "int": "r", "u32": "r"}[ctype]
    pointer = f"{ctype}*" if ctype != "u32" else "void*"
    body = asm(
        f"{name} [%0], %1;",
        inputs=['"l"(__cvta_generic_to_global(p))', f'"{constraint}"(v)'],
    )
    return Instruction(
        name=name,
        family="memory",
        # red on bf16x2 came with sm_90.
        targets=HOPPER if suffix == "bf16x2" else ALL_TARGETS,
        scope="thread",
        function=function,
        cuda=device(f"void {function}({pointer} p, {ctype} v)", body),
        effects=Effects(("v", "[p]"), ("[p]",), "generic"),
        cost=Cost(1, "global", size),
        source="PTX ISA, Parallel Synchronization and Communication: red",
        constraints=Constraints(
            alignment=(("p", size),),
            rules=(
                "each element is added atomically and rounded to nearest even",
                "the order of the additions is not defined",
            ),
        ),
    )


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    return (
        _stream_load(),
        _stream_store(),
        _reduce("f32", "f32", "float", 4),
        _reduce("i32", "s32", "int", 4),
        _reduce("bf16x2", "noftz.bf16x2", "u32", 4),
        _reduce("f16x2", "noftz.f16x2", "u32", 4),
    )
