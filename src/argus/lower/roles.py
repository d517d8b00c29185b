"""Pass: give each role its warps, and its registers.

Roles with a register budget or of whole warpgroups start at a multiple of four warps
(setmaxnreg and wgmma act on warpgroups); smaller roles pack behind each other. A budget
becomes an explicit SetMaxRegisters at the start of the role, unless it is what the
block is launched with. Budgets share out what the warpgroups that have one are launched
with: all others keep what they have.
"""

from argus.diagnostics import fail
from argus.ir import ops as o
from argus.ir.program import Program
from argus.isa import registers, registry
from argus.isa.registers import WARPGROUP


def place_roles(program: Program) -> None:
    """Assign ``Role.first_warp`` and ``Program.warps``; insert SetMaxRegisters.

    Raises ArgusError: AG0503 (budget), AG0504 (too many threads), AG0505 (role size),
    AG0510 (blocks that cannot be resident), AG0602 (setmaxnreg on a target without it).
    """
    split = next((op for op in program.body.ops if isinstance(op, o.Roles)), None)
    if split is None:
        _check_threads(program)
        return
    next_warp = 0
    for role in split.roles:
        if role.warps < 1:
            raise fail("AG0505", role.span, f"role `{role.name}` has no warps")
        if role.registers is not None or role.warps % WARPGROUP == 0:
            next_warp = -(-next_warp // WARPGROUP) * WARPGROUP
        role.first_warp = next_warp
        next_warp += role.warps
        if role.registers is not None:
            next_warp = -(-next_warp // WARPGROUP) * WARPGROUP
    program.warps = next_warp
    _check_threads(program)
    budgets = {r: r.registers for r in split.roles if r.registers is not None}
    if budgets:
        _set_registers(program, split, budgets)


def _check_threads(program: Program) -> None:
    target, threads = program.target, program.threads
    if threads > target.max_threads:
        raise fail(
            "AG0504",
            program.span,
            f"{program.warps} warps are {threads} threads; "
            f"{target.name} runs at most {target.max_threads} in a block",
            help="give the roles fewer warps",
        )
    if threads * program.min_blocks > target.resident_threads:
        raise fail(
            "AG0510",
            program.span,
            f"`min_blocks={program.min_blocks}` with {threads} threads in a block; "
            f"a multiprocessor of {target.name} runs {target.resident_threads}",
            help=f"at most {target.resident_threads // threads} blocks fit",
        )


def _set_registers(
    program: Program, split: o.Roles, budgets: dict[o.Role, int]
) -> None:
    lower = registers.setmaxnreg_function(grow=False)
    if not registry.supports(lower, program.target.name):
        role = next(iter(budgets))
        raise fail(
            "AG0602",
            role.span,
            f"`registers=` needs setmaxnreg, which {program.target.name} lacks",
            help="leave out `registers=` for this target",
        )
    for role, count in budgets.items():
        if count not in registers.BUDGETS:
            raise fail(
                "AG0503",
                role.span,
                f"role `{role.name}` asks for {count} registers",
                help=f"`registers=` is {registers.BUDGETS_TEXT}",
            )
    launched = registers.at_launch(program.warps, program.min_blocks, program.target)
    entry = registers.held(launched)
    _check_sum(program, split, budgets, entry)
    for role, count in budgets.items():
        if count != entry:
            change = o.SetMaxRegisters(
                count=count,
                grow=count > entry,
                span=role.span,
                note=f"budget of role {role.name}",
            )
            role.body.ops.insert(0, change)


def _check_sum(
    program: Program, split: o.Roles, budgets: dict[o.Role, int], entry: int
) -> None:
    """Nobody waits for registers for ever: the budgets are not more than there is."""
    groups = {role: -(-role.warps // WARPGROUP) for role in budgets}
    given = entry * sum(groups.values())
    asked = sum(groups[role] * count for role, count in budgets.items())
    if asked <= given:
        return
    step, least = registers.BUDGETS.step, registers.BUDGETS[0]
    fitting: list[str] = []
    for role, count in budgets.items():
        fits = (count - -(-(asked - given) // groups[role])) // step * step
        if fits >= least:
            fitting.append(f"`registers={fits}` for `{role.name}`")
    blocks = f" x {program.min_blocks} blocks" if program.min_blocks > 1 else ""
    notes = [
        f"a thread is launched with {entry} registers: {program.target.registers} for "
        f"{program.warps} warps{blocks}, in steps of {step}",
        *(
            f"role {role.name}: {_warpgroups(n)} x {budgets[role]}"
            for role, n in groups.items()
        ),
    ]
    if len(budgets) < len(split.roles):
        notes.append("roles without a budget keep what they are launched with")
    raise fail(
        "AG0503",
        split.span,
        f"the budgets of {_warpgroups(sum(groups.values()))} add up to {asked} "
        f"registers per thread; they are launched with {given}, {entry} each: a "
        "role would wait for registers for ever",
        notes=notes,
        help=f"this fits: {', or '.join(fitting)}"
        if fitting
        else f"budgets of {entry} on average fit",
    )


def _warpgroups(count: int) -> str:
    return "1 warpgroup" if count == 1 else f"{count} warpgroups"
