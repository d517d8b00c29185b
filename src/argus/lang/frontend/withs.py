"""`with`: roles, and the slots of rings."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise

from argus.diagnostics import Span
from argus.ir.expr import Const, binary
from argus.ir.memory import Ring, SharedAlloc
from argus.ir.ops import (
    AnyOp,
    Block,
    CopyAsync,
    RingAcquire,
    RingPublish,
    RingRelease,
    RingWait,
    Role,
    Roles,
    StoreShared,
    Sync,
)
from argus.ir.walk import walk
from argus.isa.registers import BUDGETS, BUDGETS_TEXT, WARPGROUP
from argus.lang.frontend.calling import bound_call, called
from argus.lang.frontend.calls import BoundCall
from argus.lang.frontend.control import bind_name
from argus.lang.frontend.state import Elaborator, RoleInfo
from argus.lang.frontend.values import (
    Builtin,
    Method,
    RingValue,
    SlotMode,
    SlotValue,
    TileValue,
    TupleValue,
    Unavailable,
    Value,
)


def run_with(e: Elaborator, node: ast.With) -> None:
    """Read a `with` statement; raises ArgusError (AG0016) for any other context.

    One that opens several things is several, one inside the other, as in Python.
    """
    item, *others = node.items
    if others:
        inner = ast.copy_location(ast.With(others, node.body), node)
        node = ast.copy_location(ast.With([item], [inner]), node)
    context = item.context_expr
    function = called(e, context) if isinstance(context, ast.Call) else None
    match function:
        case Builtin(name="role"):
            assert isinstance(context, ast.Call)
            if item.optional_vars is not None:
                raise e.fail(
                    "AG0016", e.span(item.optional_vars), "a role has no `as` name"
                )
            _role(e, node, bound_call(e, function, context))
        case Method(receiver=RingValue() as ring, name="Ring.fill" | "Ring.drain"):
            assert isinstance(context, ast.Call)
            bound_call(e, function, context)
            mode: SlotMode = "fill" if function.name == "Ring.fill" else "drain"
            _slot(e, node, item.optional_vars, ring, mode)
        case _:
            raise e.fail(
                "AG0016",
                e.span(context),
                "this cannot stand in a `with`",
                help="`with` opens `ag.role(...)`, `ring.fill()` or `ring.drain()`",
            )


# ----------------------------------------------------------------------- slots


def next_slot(e: Elaborator, ring: RingValue, mode: SlotMode) -> SlotValue:
    """The slot of this role's next fill or drain, and count it."""
    key = (ring.ring.name, mode)
    n = e.counters.get(key, Const(0))
    e.counters[key] = binary("+", n, 1)
    return SlotValue(ring.ring, n, mode)


def _slot(
    e: Elaborator,
    node: ast.With,
    target: ast.expr | None,
    ring: RingValue,
    mode: SlotMode,
) -> None:
    span = e.span(node.items[0].context_expr)
    slot = next_slot(e, ring, mode)
    start = len(e.block.ops)
    if mode == "fill":
        e.emit(RingAcquire(slot.ring, slot.n, span=span))
    else:
        e.emit(RingWait(slot.ring, slot.n, span=span))
    name: str | None = None
    if isinstance(target, ast.Name):
        name = target.id
        bind_name(e, name, slot, target)
    elif target is not None:
        raise e.fail("AG0009", e.span(target), "a slot is bound to one name")
    if e.execute(node.body) is not None:
        raise e.fail("AG0008", span, "`return` inside a `with`")
    if name is not None:
        e.scope.variables[name] = Unavailable(
            "AG0415",
            f"the slot `{name}` is used outside its `with` block",
            "it belongs to the other side of the ring after the block",
        )
    if mode == "fill":
        _check_filled(e, slot.ring, e.block.ops[start:], span)
        e.emit(RingPublish(slot.ring, slot.n, span=span))
    else:
        e.emit(RingRelease(slot.ring, slot.n, span=span))


def _check_filled(e: Elaborator, ring: Ring, ops: Sequence[AnyOp], span: Span) -> None:
    """Raises ArgusError (AG0416) where a field of the slot is left as it was."""
    written: set[SharedAlloc] = set()
    for op in walk(Block(list(ops))):
        match op:
            case CopyAsync(dst=view) | StoreShared(view=view):
                written.add(view.alloc)
            case _:
                pass
    missing = [name for name, field in ring.fields.items() if field not in written]
    if missing and not e.reporter.has_errors:
        names = " and ".join(f"`{name}`" for name in missing)
        raise e.fail(
            "AG0416",
            span,
            f"the fill leaves {names} of the slot empty",
            help=f"write `slot.{missing[0]}.load(...)` inside the block",
        )


# ----------------------------------------------------------------------- roles


def _role(e: Elaborator, node: ast.With, call: BoundCall) -> None:
    name, span = call.label("name"), call.span
    if e.role is not None or e.control or e.active_inlines:
        raise e.fail(
            "AG0017",
            span,
            f"role `{name}` stands inside a role, a loop, a condition or an inline "
            "function",
            help="roles stand at the top level of the kernel",
        )
    role = Role(name, _warps(e, call), _registers(e, call), Block(), e.span(node))
    roles = _roles(e, role.span)
    if any(r.name == name for r in roles.roles):
        raise e.fail("AG0411", span, f"there are two roles named `{name}`")
    total = sum(r.warps for r in roles.roles) + role.warps
    threads = total * e.program.target.warp_threads
    if threads > e.program.target.max_threads:
        raise e.fail(
            "AG0504",
            span,
            f"the roles have {threads} threads together, more than the "
            f"{e.program.target.max_threads} of a block",
        )
    roles.roles.append(role)
    _role_body(e, node, role)


def _role_body(e: Elaborator, node: ast.With, role: Role) -> None:
    before, counters = e.scope.variables, e.counters
    e.scope.variables = {name: _foreign(name, value) for name, value in before.items()}
    e.counters, e.role_prologue = dict.fromkeys(counters, Const(0)), []
    e.role = RoleInfo(role.name, role.warps)
    try:
        with e.into(role.body):
            e.execute(node.body)
    finally:
        local = e.scope.variables.keys() - before.keys()
        e.scope.role_locals.update(dict.fromkeys(local, role.name))
        e.scope.variables, e.counters, e.role = before, counters, None
    role.body.ops[:0] = e.role_prologue
    e.role_prologue = []


def _foreign(name: str, value: Value) -> Value:
    """What a role sees of a variable of the common code: no register tiles."""
    match value:
        case TileValue():
            return Unavailable(
                "AG0115",
                f"the tile `{name}` was made outside this role",
                "make it inside the role, or pass it through shared memory",
            )
        case TupleValue(items=items):
            return TupleValue(tuple(_foreign(name, v) for v in items))
        case _:
            return value


def _roles(e: Elaborator, span: Span) -> Roles:
    ops = e.program.body.ops
    if ops and isinstance(ops[-1], Roles):
        return ops[-1]
    earlier = next((op for op in ops if isinstance(op, Roles)), None)
    if earlier is not None:
        raise e.fail(
            "AG0422",
            span,
            "something stands between the roles",
            notes=(f"the first role is at line {earlier.span.line}",),
        )
    made = Roles([], span=span)
    e.emit(made)
    return made


def _warps(e: Elaborator, call: BoundCall) -> int:
    if call.given("warps") == call.given("warpgroups"):
        raise e.fail("AG0505", call.span, "a role has either `warps=` or `warpgroups=`")
    if call.given("warps"):
        warps, where = call.int("warps"), call.where("warps")
    else:
        warps, where = WARPGROUP * call.int("warpgroups"), call.where("warpgroups")
    if not 1 <= warps <= e.program.target.max_warps:
        raise e.fail("AG0505", where, f"a role of {warps} warps is not possible")
    return warps


def _registers(e: Elaborator, call: BoundCall) -> int | None:
    if not call.given("registers"):
        return None
    registers = call.int("registers")
    if registers not in BUDGETS:
        raise e.fail(
            "AG0503",
            call.where("registers"),
            f"{registers} registers per thread is not a possible budget",
            notes=(f"it is {BUDGETS_TEXT} (PTX ISA, setmaxnreg)",),
        )
    return registers


def after_roles(e: Elaborator) -> None:
    """Check that nothing follows the roles; raises ArgusError (AG0422) otherwise."""
    ops = e.program.body.ops
    for op, following in pairwise(ops):
        if isinstance(op, Roles):
            raise e.fail(
                "AG0422",
                following.span,
                "a statement follows the roles",
                help="roles run to the end: put it before them, or into one",
            )


def open_turn(e: Elaborator, name: str, i: int, count: int, span: Span) -> None:
    """The last role of a circle opens the first turn at its start, once."""
    if i != count - 1 or e.role is None:
        return
    key = turn_name(name, 0)
    if any(isinstance(op, Sync) and op.name == key for op in e.role_prologue):
        return
    e.role_prologue.append(
        Sync(
            2 * e.role.warps * e.program.target.warp_threads,
            arrive_only=True,
            name=key,
            span=span,
            note=f"opens the first turn of `{name}`",
        )
    )


def turn_name(name: str, i: int) -> str:
    """Name of the named barrier of turn i."""
    return f"{name}.{i}"
