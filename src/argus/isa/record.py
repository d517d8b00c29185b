"""What one hardware instruction is, as one record for every reader.

    function, cuda   the device function that issues it       code generator
    effects, scope   what it touches, and when it completes   through `effects.py`: all
    constraints      shapes; alignment, rules in words        interpreter, printed code
    cost             bytes, flops                             performance model
    source           where the facts come from                people

What an instruction does to arrays is not in the record: it is a function in the module
of its family (`wgmma.apply`, `tma.box_offsets`, ...), because those differ in shape.

Nothing here knows programs or plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "ALL_TARGETS",
    "HOPPER",
    "Awaits",
    "Completes",
    "Constraints",
    "Effects",
    "Instruction",
    "InstructionCost",
    "Ordinary",
    "Proxy",
    "Scope",
]

ALL_TARGETS = ("sm_80", "sm_90a")
HOPPER = ("sm_90a",)
"""Names of targets, as in `argus.targets.TARGETS`."""

Scope = Literal["thread", "elected", "warp", "warpgroup", "block", "cluster"]
"""Who executes it together: "elected" is meant for one thread of the group."""

Proxy = Literal["generic", "async", "none"]
"""How it reaches memory (PTX ISA, "Proxies"); "none": it touches no memory."""

Completes = Literal[
    "issue", "cp_async_group", "bulk_read", "bulk_group", "wgmma_group", "mbarrier"
]
"""When its effects have happened: at issue (in program order), with a group of a kind,
or by counting on an mbarrier. "bulk_read" is a bulk group's reads of shared memory."""

Awaits = Completes | Literal["threads", "registers"]
"""What an instruction may wait for: "threads" are arrivals at a barrier of threads,
"registers" those that other warps of the block give back."""


@dataclass(frozen=True)
class Effects:
    """Operand names it reads and writes, through which proxy, complete when.

    Names are those of the device function's parameters, plus memory that they point to
    in brackets: "[smem]" is what the address `smem` refers to. What it reads may be
    overwritten when it is complete, or as soon as `released`.

    `commits`: it closes the groups, of these kinds, of operations issued so far.
    `awaits`: it returns when these have happened, all but its `pending` latest groups.
    `fence`: what the executing threads have accessed by the generic proxy, and copies
    by it that they know to be complete, come before those accesses of this proxy that
    are ordered after it.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    proxy: Proxy = "none"
    completes: Completes = "issue"
    released: Completes | None = None
    commits: tuple[Completes, ...] = ()
    awaits: tuple[Awaits, ...] = ()
    fence: Proxy | None = None


@dataclass(frozen=True)
class Ordinary:
    """An instruction that C++ has an expression for: it needs no device function."""

    effects: Effects
    scope: Scope = "thread"


@dataclass(frozen=True)
class Constraints:
    """What must hold at each use.

    `alignment` pairs an operand with the bytes its address is a multiple of; `shape`
    names the extents of the matrices; `rules` say the rest. All but the shape is told
    to who reads printed code (:meth:`in_words`).
    """

    alignment: tuple[tuple[str, int], ...] = ()
    shape: tuple[tuple[str, int], ...] = ()
    rules: tuple[str, ...] = ()

    def in_words(self) -> tuple[str, ...]:
        """Alignment and rules as sentences."""
        aligned = [
            f"{operand} is a multiple of {size} bytes"
            for operand, size in self.alignment
        ]
        return (*aligned, *self.rules)

    def extent(self, name: str) -> int:
        """Extent `name` of the shape; raises KeyError when there is none."""
        return dict(self.shape)[name]


@dataclass(frozen=True)
class InstructionCost:
    """What one execution takes.

    `bytes`: moved by the whole group; `flops`: by the whole group, a multiply-add being
    two. How long that takes is a matter of the device: `argus.model.hardware`.
    """

    bytes: int = 0
    flops: int = 0


@dataclass(frozen=True)
class Instruction:
    """One hardware instruction form, and the device function that issues it.

    `name` is the PTX spelling; `cuda` the function's source text; `needs` names other
    device functions (or "TensorMap", the type) that the text uses. `targets` are
    the architectures it compiles for. `source` names the section of the PTX ISA.
    """

    name: str
    family: str
    targets: tuple[str, ...]
    scope: Scope
    function: str
    cuda: str
    effects: Effects
    source: str
    cost: InstructionCost = InstructionCost()
    constraints: Constraints = Constraints()
    needs: tuple[str, ...] = ()
