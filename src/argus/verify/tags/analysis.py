"""The entries: accesses, then names: all roles of a program, and its outputs."""

from __future__ import annotations

from collections.abc import Iterable

from argus.ir import ops as o
from argus.ir.memory import BarrierAlloc, SharedAlloc
from argus.ir.program import Program
from argus.ir.walk import walk as every
from argus.isa.effects import effects_of
from argus.verify.tags.accesses import accessed
from argus.verify.tags.coverage import covered
from argus.verify.tags.findings import Findings
from argus.verify.tags.program_scope import ProgramScope
from argus.verify.tags.state import WalkState
from argus.verify.tags.walk import walk
from argus.verify.verdict import Obligation

__all__ = ["named", "obligations"]


def obligations(program: Program) -> Iterable[Obligation]:
    """Everything that is to be shown about where elements are.

    Raises ValueError for a program that is not placed.
    """
    known = ProgramScope.of(program)
    return [*accessed(known), *named(known)]


def named(known: ProgramScope) -> list[Obligation]:
    """Whether elements that meet belong together, as names of dimensions tell."""
    known = known.again()
    program, world = known.program, known.world
    state = WalkState(
        world,
        Findings(),
        known.scope,
        {},
        "block",
        program.target.warp_threads * program.warps,
        full_of=_full(program),
        empty_of=_empty(program),
    )
    for op in program.body.ops:
        if isinstance(op, o.Roles):
            _roles(state, op)
    if not any(isinstance(op, o.Roles) for op in program.body.ops):
        walk(state, program.body, "m")
    covered(state, program)
    return state.findings.all()


def _roles(state: WalkState, roles: o.Roles) -> None:
    before = o.Block([op for op in state.world.program.body.ops if op is not roles])
    walk(state, before, "m")
    scope, env, values = state.scope, dict(state.env), dict(state.values)
    lanes = state.world.program.target.warp_threads
    for role in _ordered(roles.roles):
        state.scope, state.env, state.values = scope, dict(env), dict(values)
        state.role, state.threads = role.name, lanes * role.warps
        state.waits, state.tagged = {}, []
        walk(state, role.body, role.name)
    state.scope, state.env, state.values = scope, env, values


def _ordered(roles: list[o.Role]) -> list[o.Role]:
    """Writers of a buffer before its readers, where that is possible."""
    left, found = list(roles), list[o.Role]()
    writes = {r.name: _touched(r, True) for r in roles}
    reads = {r.name: _touched(r, False) for r in roles}

    def is_ready(role: o.Role) -> bool:
        own, wanted = writes[role.name], reads[role.name]
        return not any(wanted & (writes[x.name] - own) for x in left if x is not role)

    while left:
        chosen = next(filter(is_ready, left), left[0])
        left.remove(chosen)
        found.append(chosen)
    return found


def _touched(role: o.Role, writing: bool) -> set[SharedAlloc]:
    touches = (t for op in every(role.body) for t in effects_of(op).touches)
    return {t.view.alloc for t in touches if t.write == writing}


def _full(program: Program) -> dict[SharedAlloc, BarrierAlloc]:
    """The barrier that says that a stage of each buffer is full."""
    found: dict[SharedAlloc, BarrierAlloc] = {}
    for ring in program.rings:
        if ring.full is not None:
            found.update(dict.fromkeys(ring.fields.values(), ring.full))
    for op in every(program.body):
        if isinstance(op, o.CopyAsync) and op.barrier is not None:
            found.setdefault(op.dst.alloc, op.barrier.alloc)
    return found


def _empty(program: Program) -> dict[SharedAlloc, BarrierAlloc]:
    """The barrier that says that a stage of each ring may be filled."""
    found: dict[SharedAlloc, BarrierAlloc] = {}
    for ring in program.rings:
        if ring.empty is not None:
            found.update(dict.fromkeys(ring.fields.values(), ring.empty))
    return found
