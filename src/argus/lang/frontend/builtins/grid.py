"""Blocks, the launch, requirements; loops and roles where they may not stand."""

from __future__ import annotations

from argus.ir.divisors import define
from argus.ir.expr import Binary, Const, Expr, Sym, symbols
from argus.ir.program import CLUSTER_RANK, LaunchRequirement
from argus.isa import registry
from argus.isa.sync import CLUSTER_SIZES
from argus.lang.frontend import grid
from argus.lang.frontend.calls import BoundCall, builtin
from argus.lang.frontend.grid import ceiling
from argus.lang.frontend.values import NOTHING, ScalarValue, TensorValue, Value, number


@builtin("block")
def block(call: BoundCall) -> Value:
    """One block for each index tuple."""
    return grid.block_index(call.e, call)


@builtin("block_tile")
def block_tile(call: BoundCall) -> Value:
    """One block for each tile, in grouped order."""
    return grid.block_tile(call.e, call)


@builtin("range", "static_range", "persistent", "persistent_tiles")
def loop(call: BoundCall) -> Value:
    """Loops stand in `for` statements, which do not come here."""
    raise call.e.fail(
        "AG0006",
        call.span,
        f"`{call.name}` stands only in a `for` statement",
        help=f"write `for i in ag.{call.name}(...):`",
    )


@builtin("at_most")
def at_most(call: BoundCall) -> Value:
    """The bound of a `while` statement, which does not come here."""
    raise call.e.fail(
        "AG0006",
        call.span,
        "`at_most` stands only in a `while` statement",
        help="write `while ag.at_most(n, condition):`",
    )


@builtin("role")
def role(call: BoundCall) -> Value:
    """Roles stand in `with` statements, which do not come here."""
    raise call.e.fail(
        "AG0016",
        call.span,
        "`role` stands only in a `with` statement",
        help="write `with ag.role(...):`",
    )


@builtin("cluster")
def cluster(call: BoundCall) -> Value:
    """Declare the cluster size."""
    e = call.e
    n = call.int("n")
    if n not in CLUSTER_SIZES:
        *sizes, most = CLUSTER_SIZES
        raise e.fail(
            "AG0508", call.where("n"), f"a cluster of {n} blocks is not possible",
            notes=(f"a cluster has {', '.join(map(str, sizes))} or {most} blocks",),
        )  # fmt: skip
    if n > 1 and not registry.has_family("cluster", e.program.target.name):
        raise e.fail(
            "AG0602",
            call.span,
            f"{e.program.target.name} has no thread block clusters",
            help="leave `ag.cluster` out for this target",
        )
    _early(call, "cluster")
    if e.cluster_span is not None:
        raise e.fail("AG0613", call.span, "the cluster is declared twice")
    e.cluster_span = call.span
    e.program.cluster = n
    return NOTHING


def _early(call: BoundCall, what: str) -> None:
    e = call.e
    if e.grid is not None or e.role is not None or e.control:
        raise e.fail(
            "AG0613",
            call.span,
            f"`ag.{what}` stands at the top of the kernel, before the grid is made",
        )


@builtin("cluster_rank")
def cluster_rank(call: BoundCall) -> Value:
    """Rank of this block in its cluster."""
    return (
        number(Const(0)) if call.e.program.cluster == 1 else ScalarValue(CLUSTER_RANK)
    )


@builtin("launch")
def launch(call: BoundCall) -> Value:
    """Warps, resident blocks, accepted spills."""
    e = call.e
    _early(call, "launch")
    if e.launch_span is not None:
        raise e.fail("AG0613", call.span, "the launch is declared twice")
    e.launch_span = call.span
    if call.given("warps"):
        warps = call.int("warps")
        target = e.program.target
        if not 1 <= warps <= target.max_warps:
            raise e.fail(
                "AG0504",
                call.where("warps"),
                f"a block of {warps} warps is not possible",
                notes=(
                    f"a block has 1 to {target.max_warps} warps of "
                    f"{target.warp_threads} threads",
                ),
            )
        e.program.warps, e.launch_warps = warps, True
    e.program.min_blocks = call.positive("min_blocks", 1)
    most = e.program.target.resident_blocks
    if e.program.min_blocks > most:
        raise e.fail(
            "AG0510", call.where("min_blocks"), f"at most {most} blocks are resident"
        )
    return NOTHING


@builtin("require")
def require(call: BoundCall) -> Value:
    """A condition that every launch checks, and a fact for the compiler."""
    e = call.e
    cond = e.expand(call.scalar("cond"))
    if cond.type != "bool":
        raise call.wrong("cond", "a requirement is a condition")
    odd = [s for s in symbols(cond) if s.kind not in ("dim", "param", "stride")]
    if odd:
        raise e.fail(
            "AG0105",
            call.where("cond"),
            f"the requirement depends on {grid.origin(odd[0])}, which is not known at "
            "launch",
        )
    why = call.sentence("why")
    if isinstance(cond, Const):
        if not cond.value:
            where = call.where("cond")
            raise e.fail("AG0120", where, f"the requirement does not hold: {why}")
        return NOTHING
    made = LaunchRequirement(cond, why, call.span)
    if made not in e.program.requirements:
        e.program.requirements.append(made)
    _learn(call, cond)
    return NOTHING


def _learn(call: BoundCall, cond: Expr) -> None:
    """`X % n == 0` says that the power of two in n divides X."""
    facts = call.e.program.facts
    match cond:
        case Binary(
            op="==",
            left=Binary(op="%", left=Sym(name=name), right=Const(value=int(n))),
            right=Const(value=0),
        ) if n > 0:
            define(facts, name, lambda known: max(known.get(name, 1), n & -n))
        case Binary(op="and", left=a, right=b):
            _learn(call, a)
            _learn(call, b)
        case _:
            pass


@builtin("dim")
def dim(call: BoundCall) -> Value:
    """A size by its dimension's name."""
    e = call.e
    name = call.text("name")
    known: dict[str, Expr] = {}
    for value in e.arguments.values():
        if isinstance(value, TensorValue):
            known.update(
                {n: x for n, x in zip(value.dims, value.extents, strict=True) if n}
            )
    if name not in known:
        raise e.fail(
            "AG0202",
            call.where("name"),
            f"no tensor has a dimension `{name}`",
            notes=(f"the dimensions are: {', '.join(known)}",),
        )
    return number(known[name])


@builtin("cdiv")
def cdiv(call: BoundCall) -> Value:
    """Ceiling division."""
    return ceiling(call)
