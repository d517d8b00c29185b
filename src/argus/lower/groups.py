"""Thread groups: who runs which operations.

A program without roles has one group, all warps of the block. With roles, the common
code before them is run by all warps, and each role's body by its own warps. A tile
belongs to exactly one group; its layout spreads it over that group's threads.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import blocks
from argus.isa.registers import WARPGROUP


@dataclass(frozen=True, eq=False)
class Group:
    """``warps`` warps running ``block``; ``role`` is None for common code."""

    name: str
    warps: int
    lanes: int
    """Threads of a warp."""
    block: o.Block
    role: o.Role | None
    span: Span

    @property
    def threads(self) -> int:
        """Of all its warps."""
        return self.warps * self.lanes

    @property
    def warpgroups(self) -> int:
        """Whole warpgroups in the group."""
        return self.warps // WARPGROUP

    @property
    def aligned(self) -> bool:
        """True when the group is made of whole warpgroups."""
        return self.warps % WARPGROUP == 0


def groups(program: Program) -> list[Group]:
    """All groups of a program, common code first."""
    lanes = program.target.warp_threads
    found = [Group("block", program.warps, lanes, program.body, None, program.span)]
    for op in program.body.ops:
        if isinstance(op, o.Roles):
            found += [
                Group(r.name, r.warps, lanes, r.body, r, r.span) for r in op.roles
            ]
    return found


def has_roles(program: Program) -> bool:
    """True when the kernel ends in roles."""
    return any(isinstance(op, o.Roles) for op in program.body.ops)


def before_roles(block: o.Block, ops: list[o.AnyOp]) -> None:
    """Add operations at the end of a group's block; roles stay last."""
    at = len(block.ops)
    if block.ops and isinstance(block.ops[-1], o.Roles):
        at -= 1
    block.ops[at:at] = ops


def walk_group(block: o.Block) -> Iterator[o.AnyOp]:
    """Every operation of a group, outer before inner; roles are other groups."""
    for op in block.ops:
        yield op
        if not isinstance(op, o.Roles):
            for inner in blocks(op):
                yield from walk_group(inner)


Rewriter = Callable[[o.AnyOp], list[o.AnyOp] | None]


def rewrite(block: o.Block, rule: Rewriter) -> None:
    """Replace operations in place; ``rule`` gives the replacement or None to keep.

    Nested blocks are rewritten first; roles are left to their own groups.
    """
    result: list[o.AnyOp] = []
    for op in block.ops:
        if not isinstance(op, o.Roles):
            for inner in blocks(op):
                rewrite(inner, rule)
        new = rule(op)
        result += [op] if new is None else new
    block.ops = result
