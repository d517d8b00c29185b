"""Pass: give every sync its hardware barrier.

Barrier 0 is the whole block's; each role that syncs, and each name that the author
gave, takes one of the others (`isa.sync.NAMED_BARRIERS` per block).
"""

from argus.diagnostics import Span, fail
from argus.ir import ops as o
from argus.ir.program import Program
from argus.isa.sync import NAMED_BARRIERS
from argus.lower.groups import groups, walk_group


def number_syncs(program: Program) -> None:
    """Give every Sync its hardware barrier: 0 the block, then roles, then names.

    Raises ArgusError AG0507 for more than there are.
    """
    numbers: dict[str, int] = {}

    def number(key: str, span: Span) -> int:
        if key not in numbers:
            numbers[key] = len(numbers) + 1
            if numbers[key] >= NAMED_BARRIERS:
                raise fail(
                    "AG0507",
                    span,
                    f"the kernel needs more than {NAMED_BARRIERS} named barriers",
                )
        return numbers[key]

    for group in groups(program):
        for op in walk_group(group.block):
            if not isinstance(op, o.Sync):
                continue
            if op.name is not None:
                op.barrier = number(f"named {op.name}", op.span)
            elif group.role is None:
                op.threads, op.barrier = group.threads, 0
            else:
                op.threads = group.threads
                op.barrier = number(f"role {group.name}", op.span)
