"""Pass: give each role its warps, and its registers.

Roles with a register budget or of whole warpgroups start at a multiple of four warps
(setmaxnreg and wgmma act on warpgroups); smaller roles pack behind each other. The
budget becomes an explicit SetMaxRegisters at the start of the role.
"""

from argus.diagnostics import fail
from argus.ir import ops as o
from argus.ir.program import Program
from argus.isa import registers, registry

_WARPGROUP = 4


def place_roles(program: Program) -> None:
    """Assign ``Role.first_warp`` and ``Program.warps``; insert SetMaxRegisters.

    Raises ArgusError: AG0503 (budget), AG0504 (too many threads), AG0505 (role size),
    AG0602 (setmaxnreg on a target without it).
    """
    split = next((op for op in program.body.ops if isinstance(op, o.Roles)), None)
    if split is None:
        _check_threads(program)
        return
    next_warp = 0
    for role in split.roles:
        if role.warps < 1:
            raise fail("AG0505", role.span, f"role `{role.name}` has no warps")
        if role.registers is not None or role.warps % _WARPGROUP == 0:
            next_warp = -(-next_warp // _WARPGROUP) * _WARPGROUP
        role.first_warp = next_warp
        next_warp += role.warps
        if role.registers is not None:
            next_warp = -(-next_warp // _WARPGROUP) * _WARPGROUP
    program.warps = next_warp
    _check_threads(program)
    budgets = [r for r in split.roles if r.registers is not None]
    if budgets:
        _set_registers(program, split, budgets)


def _check_threads(program: Program) -> None:
    limit = program.target.max_threads
    if program.warps * 32 > limit:
        raise fail(
            "AG0504",
            program.span,
            f"{program.warps} warps are {program.warps * 32} threads; "
            f"{program.target.name} runs at most {limit} in a block",
            help="give the roles fewer warps",
        )


def entry_registers(program: Program) -> int:
    """Registers per thread at kernel entry under the launch bounds.

    Registers are dealt out in the steps of the budgets (CUDA occupancy calculator).
    """
    threads = program.warps * 32 * program.min_blocks
    step = registers.BUDGETS.step
    return min(program.target.registers // threads // step * step, registers.MOST)


def _set_registers(program: Program, split: o.Roles, budgets: list[o.Role]) -> None:
    lower = registers.setmaxnreg_function(grow=False)
    if not registry.supports(lower, program.target.name):
        role = budgets[0]
        raise fail(
            "AG0602",
            role.span,
            f"`registers=` needs setmaxnreg, which {program.target.name} lacks",
            help="leave out `registers=` for this target",
        )
    entry = entry_registers(program)
    total = 0
    for role in split.roles:
        count = role.registers
        warps = -(-role.warps // _WARPGROUP) * _WARPGROUP
        if count is None:
            total += role.warps * 32 * entry
            continue
        if count not in registers.BUDGETS:
            raise fail(
                "AG0503",
                role.span,
                f"role `{role.name}` asks for {count} registers",
                help=f"`registers=` is {registers.BUDGETS_TEXT}",
            )
        total += warps * 32 * count
        role.body.ops.insert(
            0,
            o.SetMaxRegisters(
                count=count,
                grow=count > entry,
                span=role.span,
                note=f"budget of role {role.name}",
            ),
        )
    total *= program.min_blocks
    if total > program.target.registers:
        raise fail(
            "AG0503",
            split.span,
            f"the roles ask for {total} registers; a multiprocessor has "
            f"{program.target.registers}",
            notes=[
                f"role {r.name}: {r.warps} warps x 32 x {r.registers or entry}"
                for r in split.roles
            ],
        )
