"""Placing: a tile program becomes a placed program, pass by pass.

Each pass takes a valid program to a valid program and is one file. After the first the
program means what the placed one does, and it still knows no threads. In order:

    wraps         where scalars leave 64 bits                     wraps.py
    facts         what divides loop variables and scalars         facts.py
    roles         warps of each role, register budgets            roles.py
    buffers       where each shared tile's elements lie           buffers.py
    dots          the matrix instruction of each dot              dots.py
    copies        TMA, cp.async or registers for each copy        copies.py
    layouts       which thread and register holds what            infer.py, repair.py
    reductions    across warps: split, through shared memory      converts.py
    converts      between threads: through shared memory          converts.py
    storage       which tiles share registers                     storage.py
    waits         wgmma groups and the waits for them             waits.py
    rings         barriers, or cp.async groups                    rings.py
    syncs         syncs and fences that shared memory needs       hazards.py, proxies.py
    barriers      the hardware barrier of each sync               named.py
    accesses      the access of each register-memory move         vectors.py
    offsets       bytes of shared memory                          buffers.py
    instructions  what the target does not have                   target_instructions.py
"""

from collections.abc import Callable

from argus.ir.check import check
from argus.ir.program import Program
from argus.lower.buffers import assign_offsets, lay_out_buffers
from argus.lower.converts import expand_converts, split_reductions
from argus.lower.copies import select_copies
from argus.lower.dots import select_dots
from argus.lower.facts import derive_facts, require_facts
from argus.lower.hazards import insert_syncs
from argus.lower.infer import infer_layouts
from argus.lower.named import number_syncs
from argus.lower.rings import expand_rings
from argus.lower.roles import place_roles
from argus.lower.storage import assign_storage
from argus.lower.target_instructions import require_instructions
from argus.lower.vectors import select_accesses
from argus.lower.waits import insert_wgmma_waits
from argus.lower.wraps import wrap_scalars

PASSES: tuple[Callable[[Program], None], ...] = (
    wrap_scalars,
    derive_facts,
    place_roles,
    lay_out_buffers,
    select_dots,
    select_copies,
    infer_layouts,
    split_reductions,
    expand_converts,
    lay_out_buffers,
    assign_storage,
    insert_wgmma_waits,
    expand_rings,
    insert_syncs,
    number_syncs,
    select_accesses,
    assign_offsets,
    require_instructions,
    require_facts,
)


def place(program: Program) -> Program:
    """Place ``program`` in place and return it.

    Raises ArgusError when the target cannot honour what the kernel asks for.
    """
    for step in PASSES:
        step(program)
    program.placed = True
    check(program)
    return program
