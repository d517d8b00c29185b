"""What a launch guarantees, and what an author assumes.

A requirement of the kernel is checked before every launch. An assumption (`ag.assume`)
is taken as true and listed in the report: without tables wherever control reaches it,
with tables for every entry of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, subexpressions, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.ir.walk import expressions, walk
from argus.terms import (
    IndexSet,
    Integer,
    PairFact,
    Unknown,
    Value,
    Variable,
    World,
)
from argus.terms.integers import variable_of
from argus.verify.denotation.scalars import integer, scalars, truth
from argus.verify.denotation.state import (
    Context,
    RoleValues,
    ranges,
)

__all__ = ["assume", "require", "require_elements"]


def require(context: Context, program: Program) -> None:
    """Give the requirements of a program to the world.

    One that is not understood is left out: less is then known.
    """
    for requirement in program.requirements:
        for condition in _conjuncts(requirement.cond):
            try:
                _require(context, condition, requirement.why)
            except Unknown:
                continue


def require_elements(
    context: Context, program: Program, outputs: Sequence[str]
) -> None:
    """Sizes that positions are divided by are not 0 where an output has elements.

    Of a matrix that becomes a row, ``L == M * N``: nothing is said of N = 0, where
    there is no element. Asked of sizes that stand below a quotient, or in a product of
    sizes that is required.
    """
    world = context.world
    required = [r.where for r in world.requirements]
    tensors = [p for p in program.params if isinstance(p, GlobalTensor)]
    shapes = [scalars(context, t.shape) for t in tensors if t.name in outputs]
    products = [m for where in required for m in where.monomials if len(m) > 1]
    below = {s.name for s in _divisors(program)}
    dims = dict.fromkeys(d for t in tensors for e in t.shape for d in symbols(e))
    for dim in dims:
        size = world.size(dim.name)
        if dim.name not in below and not any(size.single in m for m in products):
            continue
        env = {variable_of(size): Integer.of(0)}
        rest = world.close(_replaced(world, required, env))
        if shapes and all(_is_empty(world, shape, env, rest) for shape in shapes):
            some = world.compare(size, ">=", 1)
            world.require(some, "nothing is said of outputs without elements")


def _replaced(
    world: World, required: Sequence[IndexSet], env: Mapping[Variable, Integer]
) -> IndexSet:
    """What is required with variables replaced, but for what divides by nothing."""
    found = IndexSet.universe
    for where in required:
        with suppress(ZeroDivisionError):
            found = found & world.substitute(where, env)
    return found


def _is_empty(
    world: World,
    shape: Sequence[Integer],
    env: Mapping[Variable, Integer],
    where: IndexSet,
) -> bool:
    """Whether a shape has no elements where variables are replaced, and a set holds."""
    for extent in shape:
        with suppress(ZeroDivisionError):
            none = world.compare(world.substitute(extent, env), "==", 0)
            if world.is_subset(where, none):
                return True
    return False


def _divisors(program: Program) -> Iterator[Sym]:
    """Symbols below quotients and in remainders."""
    for op in walk(program.body):
        for whole in expressions(op):
            for e in subexpressions(whole):
                if isinstance(e, Binary) and e.op in ("//", "%"):
                    yield from symbols(e.right)


def _conjuncts(e: Expr) -> Iterator[Expr]:
    if isinstance(e, Binary) and e.op == "and":
        yield from _conjuncts(e.left)
        yield from _conjuncts(e.right)
    else:
        yield e


def _require(context: Context, condition: Expr, why: str) -> None:
    match condition:
        case Binary(
            op="==", left=Binary(op="%", left=a, right=b), right=Const(value=0)
        ):
            context.world.require_divides(integer(context, b), integer(context, a))
        case Const() | Sym() | Binary() | Select():
            context.world.require(truth(context, condition), why)
        case _:
            assert_never(condition)


def assume(context: Context, op: o.Assume) -> None:
    """Take an assumption of the author's for true. Raises Unknown.

    What it says of pairs is not used where a branch or a turn of a loop says it.
    """
    if op.others:
        _assume_of_pairs(context, op)
        return
    # It is true where control comes: in a branch, and in a turn of a loop.
    turned = [v for v in context.state.scope if v not in context.common]
    reached = context.state.where & ranges(context.world, turned)
    if not op.tables:
        if not context.dry:
            holds = truth(context, op.cond)
            _assume_of_all(context, reached & ~holds, op)
            context.world.require(~reached | holds, f"assumed: {op.text}")
            context.note(f"assumed: {op.text}")
        return
    if not (turned == [] and reached.variables() <= context.constants):
        raise Unknown("an assumption about tables that not every block comes to")
    if any(table.dtype.is_float for table in op.tables):
        raise Unknown("an assumption about a table of fractions")
    if context.dry or op in context.assumed:
        return
    context.assumed.add(op)
    context.note(f"assumed: {op.text}")
    shape = scalars(context, op.tables[0].shape)
    scope = context.state.copy()

    def fact(indices: tuple[Integer, ...], _: Integer) -> IndexSet:
        inside = context.world.inside(indices, shape)
        holds = _holding(context, scope, op, (op.elements, indices))
        return ~(inside & reached) | holds

    for table in op.tables:
        context.world.assume_entries(table.name, fact)


def _assume_of_pairs(context: Context, op: o.Assume) -> None:
    """What holds of entries at two places, where every block says it first of all."""
    if any(v not in context.common for v in context.state.scope):
        return
    missed = ranges(context.world, context.state.scope) - context.state.where
    if context.dry or op in context.assumed or not context.world.is_empty(missed):
        return
    if any(table.dtype.is_float for table in op.tables):
        return
    context.assumed.add(op)
    context.note(f"assumed: {op.text}")
    world, shape = context.world, tuple(scalars(context, op.tables[0].shape))
    names = tuple(t.name for t in op.tables)
    if _says_different(op.cond, {s.name for s in (*op.elements, *op.others)}):
        world.assume_distinct(names[0], shape)
        return
    scope = context.state.copy()

    def holds(one: tuple[Integer, ...], other: tuple[Integer, ...]) -> IndexSet:
        return _holding(context, scope, op, (op.elements, one), (op.others, other))

    world.assume_pairs(PairFact(names, shape, holds))


def _holding(
    context: Context,
    scope: RoleValues,
    op: o.Assume,
    *places: tuple[Sequence[Sym], Sequence[Integer]],
) -> IndexSet:
    """Where what is assumed holds of entries at places, in the scope that says it."""
    entries = {
        sym.name: Value.whole(context.world.entry(table.name, place))
        for syms, place in places
        for table, sym in zip(op.tables, syms, strict=True)
    }
    kept, context.state = context.state, scope
    try:
        return truth(context, op.cond, entries)
    finally:
        context.state = kept


def _says_different(condition: Expr, names: set[str]) -> bool:
    """Whether a condition is that two symbols differ, and nothing else."""
    if not isinstance(condition, Binary) or condition.op != "!=":
        return False
    sides = (condition.left, condition.right)
    return {x.name for x in sides if isinstance(x, Sym)} == names


def _assume_of_all(context: Context, broken: IndexSet, op: o.Assume) -> None:
    """An assumption about blocks and turns is one about all of them, and so of sizes.

    Said of one block alone it would hide that no launch satisfies it.
    """
    world, scope = context.world, context.state.scope
    moving = [v for v in scope if v in broken.variables()]
    try:
        some = world.project(broken & ranges(world, moving), moving)
    except Unknown:
        return  # it is about data, too
    if moving:
        world.require(~some, f"assumed: {op.text}")
