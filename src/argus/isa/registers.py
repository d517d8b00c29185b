"""Register budgets (setmaxnreg) and movement between lanes (shfl)."""

from __future__ import annotations

from argus.isa.record import (
    ALL_TARGETS,
    HOPPER,
    Constraints,
    Effects,
    Instruction,
)
from argus.isa.text import asm, device
from argus.layout import WARP_LANES
from argus.targets import Target

__all__ = [
    "BUDGETS",
    "BUDGETS_TEXT",
    "WARPGROUP",
    "at_launch",
    "held",
    "records",
    "setmaxnreg_function",
    "shuffle_source",
]

BUDGETS = range(24, 257, 8)
"""Registers per thread that setmaxnreg can set (PTX ISA, setmaxnreg)."""
BUDGETS_TEXT = f"a multiple of {BUDGETS.step} from {BUDGETS[0]} to {BUDGETS[-1]}"
WARPGROUP = 4
"""Warps of a warpgroup, which execute setmaxnreg together."""


def at_launch(warps: int, blocks: int, target: Target) -> int:
    """Registers per thread of a kernel that uses setmaxnreg, when it is launched.

    The most that launch bounds of ``warps`` warps and ``blocks`` resident blocks allow
    on ``target``: ptxas reserves all registers of a multiprocessor, whatever the code
    needs (measured with ptxas 13.0 for every number of warps and blocks; each
    build is held against it, AG0711).
    """
    threads = -(-warps * blocks // target.partitions) * target.warp_threads
    share = target.registers // target.partitions // threads
    return min(share // BUDGETS.step * BUDGETS.step, target.thread_registers)


def held(count: int) -> int:
    """Registers per thread that a warp occupies where code may name ``count``."""
    return -(-count // BUDGETS.step) * BUDGETS.step


def setmaxnreg_function(*, grow: bool) -> str:
    """Device function that raises (`grow`) or lowers the budget."""
    return f"argus_setmaxnreg_{'inc' if grow else 'dec'}"


def _setmaxnreg(grow: bool) -> Instruction:
    kind, function = "inc" if grow else "dec", setmaxnreg_function(grow=grow)
    rules = (
        f"count is {BUDGETS_TEXT}",
        "all warps of a warpgroup execute it, and meet before they execute another",
        "inc raises the number of registers, dec lowers it",
        "registers come from and go to a pool of the block, in which there are none at "
        "launch: its warps hold all that the block was launched with (`at_launch`)",
        "inc blocks until the pool has enough; what a warp holds when it ends is not "
        "counted on",
        "the kernel's register count is fixed (launch bounds), or it is ignored",
    )
    return Instruction(
        name=f"setmaxnreg.{kind}.sync.aligned.u32",
        family="registers",
        targets=HOPPER,
        scope="warpgroup",
        function=function,
        cuda=device(
            f"void {function}()",
            asm(
                f"setmaxnreg.{kind}.sync.aligned.u32 %0;",
                inputs=['"n"(count)'],
                memory=False,
            ),
            "template <int count>",
        ),
        effects=Effects(awaits=("registers",) if grow else ()),
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
        source="PTX ISA, Data Movement and Conversion Instructions: shfl.sync",
        constraints=Constraints(
            rules=(f"all {WARP_LANES} lanes execute it; T has 32 or 64 bits", rule)
        ),
    )


def shuffle_source(mode: str, lane: int, operand: int) -> int:
    """Lane whose value lane `lane` receives: mode "bfly" (xor), "up", "down" or "idx".

    Raises ValueError for another mode.
    """
    match mode:
        case "bfly":
            return lane ^ operand
        case "up":
            return lane - operand if lane >= operand else lane
        case "down":
            return lane + operand if lane + operand < WARP_LANES else lane
        case "idx":
            return operand % WARP_LANES
        case _:
            raise ValueError(f"no shuffle mode {mode!r}")


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    xor = _shuffle("xor", "__shfl_xor_sync", "mask", "lane i receives from i ^ mask")
    up = _shuffle("up", "__shfl_up_sync", "delta", "lane i < delta keeps its value")
    down = _shuffle("down", "__shfl_down_sync", "delta", "the last keep their values")
    idx = _shuffle("idx", "__shfl_sync", "lane", "every lane receives from `lane`")
    return (_setmaxnreg(True), _setmaxnreg(False), xor, up, down, idx)
