"""Register budgets (setmaxnreg) and movement between lanes (shfl)."""

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

__all__ = ["records", "shuffle_source"]


def _setmaxnreg(kind: str) -> Instruction:
    rules = (
        "count is a multiple of 8 from 24 to 256",
        "all warps of a warpgroup execute it; inc blocks until registers are free",
        "the kernel's register count is fixed (launch bounds), or it is ignored",
    )
    return Instruction(
        name=f"setmaxnreg.{kind}.sync.aligned.u32",
        family="registers",
        targets=HOPPER,
        scope="warpgroup",
        function=f"argus_setmaxnreg_{kind}",
        cuda=device(
            f"void argus_setmaxnreg_{kind}()",
            asm(
                f"setmaxnreg.{kind}.sync.aligned.u32 %0;",
                inputs=['"n"(count)'],
                memory=False,
            ),
            "template <int count>",
        ),
        effects=Effects(completes="wait" if kind == "inc" else "issue"),
        cost=Cost(1, "barrier"),
        source="PTX ISA, Miscellaneous Instructions: setmaxnreg",
        constraints=Constraints(rules=rules),
    )


def _shuffle(mode: str, builtin: str, lane: str, rule: str) -> Instruction:
    function = f"argus_shfl_{mode}"
    return Instruction(
        name=f"shfl.sync.{mode}.b32",
        family="registers",
        targets=ALL_TARGETS,
        scope="warp",
        function=function,
        cuda=device(
            f"T {function}(T value, int {lane})",
            f"return {builtin}(0xffffffffu, value, {lane});",
            "template <class T>",
        ),
        effects=Effects(("value", lane)),
        cost=Cost(2, "shared"),
        source="PTX ISA, Data Movement and Conversion Instructions: shfl.sync",
        constraints=Constraints(
            rules=("all 32 lanes execute it; T is float, int or u32", rule)
        ),
    )


def shuffle_source(mode: str, lane: int, operand: int) -> int:
    """Lane whose value lane `lane` receives, for mode "bfly" (xor), "up" or "idx".

    Raises ValueError for another mode.
    """
    match mode:
        case "bfly":
            return lane ^ operand
        case "up":
            return lane - operand if lane >= operand else lane
        case "idx":
            return operand % 32
        case _:
            raise ValueError(f"no shuffle mode {mode!r}")


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    xor = _shuffle("xor", "__shfl_xor_sync", "mask", "lane i receives from i ^ mask")
    up = _shuffle("up", "__shfl_up_sync", "delta", "lane i < delta keeps its value")
    idx = _shuffle("idx", "__shfl_sync", "lane", "every lane receives from `lane`")
    return (_setmaxnreg("inc"), _setmaxnreg("dec"), xor, up, idx)
