"""cp.async: copies of 4, 8 or 16 bytes per thread from global to shared memory.

With `valid` false the source is not read and the destination is filled with zeros.
Copies complete with their thread's group (commit, wait), or by an arrival on an
mbarrier. Nothing here is seen by other threads before a barrier follows the wait.
"""

from __future__ import annotations

from argus.isa.record import (
    ALL_TARGETS,
    Constraints,
    Effects,
    Instruction,
    InstructionCost,
)
from argus.isa.text import asm, device

__all__ = ["SIZES", "function_name", "records"]

SIZES = (4, 8, 16)
"""Bytes that one copy of one thread may have."""
_SECTION = "PTX ISA, Data Movement and Conversion Instructions: "


def function_name(size: int) -> str:
    """Device function that copies `size` bytes, one of `SIZES`."""
    return f"argus_cp_async_{size}"


def _copy(size: int) -> Instruction:
    # .cg (bypassing L1) exists for 16 bytes only.
    cache = "cg" if size == 16 else "ca"
    name = f"cp.async.{cache}.shared.global"
    function = function_name(size)
    body = asm(
        f"{name} [%0], [%1], {size}, %2;",
        inputs=[
            '"r"(smem)',
            '"l"(__cvta_generic_to_global(gmem))',
            f'"r"(valid ? {size} : 0)',
        ],
    )
    return Instruction(
        name=name,
        family="cp_async",
        targets=ALL_TARGETS,
        scope="thread",
        function=function,
        cuda=device(f"void {function}(u32 smem, void const* gmem, bool valid)", body),
        effects=Effects(("[gmem]",), ("[smem]",), "generic", "cp_async_group"),
        cost=InstructionCost(bytes=size),
        source=_SECTION + "cp.async (src-size)",
        constraints=Constraints(
            alignment=(("smem", size), ("gmem", size)),
            rules=("valid = false reads nothing and writes zeros",),
        ),
    )


def _commit() -> Instruction:
    return Instruction(
        name="cp.async.commit_group",
        family="cp_async",
        targets=ALL_TARGETS,
        scope="thread",
        function="argus_cp_async_commit",
        cuda=device("void argus_cp_async_commit()", asm("cp.async.commit_group;")),
        effects=Effects(commits=("cp_async_group",)),
        source=_SECTION + "cp.async.commit_group",
    )


def _wait() -> Instruction:
    return Instruction(
        name="cp.async.wait_group",
        family="cp_async",
        targets=ALL_TARGETS,
        scope="thread",
        function="argus_cp_async_wait",
        cuda=device(
            "void argus_cp_async_wait()",
            asm("cp.async.wait_group %0;", inputs=['"n"(pending)']),
            "template <int pending>",
        ),
        effects=Effects(awaits=("cp_async_group",)),
        source=_SECTION + "cp.async.wait_group",
        constraints=Constraints(
            rules=(
                "at most `pending` groups of this thread are still in flight after it",
                "other threads see the data only after a barrier",
            )
        ),
    )


def _arrive() -> Instruction:
    return Instruction(
        name="cp.async.mbarrier.arrive.noinc.shared::cta.b64",
        family="cp_async",
        targets=ALL_TARGETS,
        scope="thread",
        function="argus_cp_async_arrive",
        cuda=device(
            "void argus_cp_async_arrive(u32 bar)",
            asm("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];", inputs=['"r"(bar)']),
        ),
        effects=Effects(("bar",), ("[bar]",), "generic", "mbarrier"),
        source=_SECTION + "cp.async.mbarrier.arrive",
        constraints=Constraints(
            alignment=(("bar", 8),),
            rules=(
                "one arrival per executing thread, when its earlier cp.async completed",
                "noinc: the barrier's count includes these arrivals",
            ),
        ),
    )


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    return (*map(_copy, SIZES), _commit(), _wait(), _arrive())
