"""Closed forms: what every scalar is, in terms of iteration symbols.

    for tile in cid .. total step g carry n = 0      n = it0 * T
      for k in 0 .. K step 64 carry m = n            m = it0 * T + it1,  k = it1 * 64
        yield m + 1
      yield m                                        T = (K + 63) // 64

A loop variable is ``start + it * step``. A carried counter is its initial value plus
the sum of its increments, where an increment that differs from iteration to iteration
(a tile that a table says is unused) becomes a sum over iterations. A carried scalar
that is another one of the iteration before (the slot still being read) is that one's
closed form at ``it - 1``. What has no such form is a symbol of its own in each
iteration, of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary, select
from argus.verify.tags.scope import Loop, PathScope
from argus.verify.tags.world import TagWorld

__all__ = ["Entered", "Env", "close", "enter", "leave_if", "let", "number_of"]

Env = dict[str, Expr]
"""Closed forms of the program's scalars by name."""


@dataclass(frozen=True)
class Entered:
    """A loop being walked: the scope of one iteration and scalars in it and after."""

    loop: Loop
    scope: PathScope
    inside: Env
    after: Env


def close(world: TagWorld, e: Expr, env: Mapping[str, Expr]) -> Expr:
    """An expression of the program in closed form."""
    return world.replace(e, {**world.base, **env})


def let(
    world: TagWorld, op: o.Let | o.LoadScalar | o.Extract, scope: PathScope, env: Env
) -> Expr:
    """The closed form that an operation gives to its symbol; added to ``env``."""
    match op:
        case o.Let():
            made = close(world, op.value, env)
        case o.LoadScalar():
            coords = tuple(close(world, c, env) for c in op.coords)
            made = world.element(op.tensor.name, coords, op.sym.type)
        case o.Extract():
            # Each block has its own, in each iteration.
            around = (*world.block, *(loop.sym for loop in scope.loops))
            made = world.opaque(op.sym.name, around, op.sym.type)
        case _:
            assert_never(op)
    env[op.sym.name] = made
    return made


def leave_if(world: TagWorld, op: o.If, then: Env, other: Env, env: Env) -> None:
    """Bind what a branch merges."""
    cond = close(world, op.cond, env)
    for merge in op.scalars:
        a = close(world, merge.then, then)
        b = close(world, merge.other, other)
        env[merge.result.name] = select(cond, a, b)


def enter(
    world: TagWorld, op: o.For, scope: PathScope, env: Env, label: str, depth: int = 0
) -> Entered:
    """Closed forms of one iteration of a loop, and after it."""
    start, stop, step = (close(world, e, env) for e in (op.start, op.stop, op.step))
    it = Sym(f"{op.var.name}@{label}", "loop")
    length = binary("-", stop, start)
    trips = binary("//", binary("+", length, binary("-", step, 1)), step)
    if not scope.holds(binary(">=", trips, 0)):
        trips = binary("max", trips, 0)
    value = binary("+", start, it * step)
    loop = Loop(it, trips, op.var.name, value)
    inner = scope.inside(loop, stop)
    inside: Env = {**env, op.var.name: value}
    after: Env = dict(env)
    if op.scalars:
        forms = _carried(world, op, inner, inside, it, label, depth)
        for carry, form in zip(op.scalars, forms, strict=True):
            inside[carry.arg.name] = form
            after[carry.result.name] = world.replace(form, {it.name: trips})
    return Entered(loop, inner, inside, after)


def _carried(
    world: TagWorld,
    op: o.For,
    scope: PathScope,
    inside: Env,
    it: Sym,
    label: str,
    depth: int,
) -> list[Expr]:
    """Closed forms of a loop's carried scalars, as functions of its iteration."""
    args = [Sym(f"?{c.arg.name}", "let", c.arg.type, c.arg.nonneg) for c in op.scalars]
    body: Env = {
        **inside,
        **{c.arg.name: a for c, a in zip(op.scalars, args, strict=True)},
    }
    _scalars(world, op.body, scope, body, label, depth + 1)
    yields = [close(world, c.yielded, body) for c in op.scalars]
    inits = [close(world, c.init, inside) for c in op.scalars]
    solved: dict[str, Expr] = {}
    names = {a.name for a in args}
    for _ in range(len(args) + 1):
        for a, y, init in zip(args, yields, inits, strict=True):
            if a.name in solved:
                continue
            y = world.replace(y, solved_at(solved, a))
            left = world.names(y) & names
            form = _solve(world, scope, a, y, init, it, left)
            if form is not None:
                solved[a.name] = form
    around = tuple(loop.sym for loop in scope.loops)
    return [
        solved.get(a.name) or world.opaque(f"{a.name[1:]}@{it.name}", around, a.type)
        for a in args
    ]


def solved_at(solved: Mapping[str, Expr], a: Sym) -> dict[str, Expr]:
    """Known closed forms to put into a yielded expression."""
    return {name: form for name, form in solved.items() if name != a.name}


def _solve(
    world: TagWorld,
    scope: PathScope,
    a: Sym,
    y: Expr,
    init: Expr,
    it: Sym,
    left: AbstractSet[str],
) -> Expr | None:
    """The closed form of x(0) = init, x(it + 1) = y(x(it)), where one is known."""
    if not left:
        before = world.replace(y, {it.name: binary("-", it, 1)})
        first = world.replace(y, {it.name: Const(-1)})
        if scope.difference(first, init) == 0:
            return before
        return select(binary("==", it, 0), init, before)
    if left != {a.name}:
        return None
    delta = _increment(y, a)
    if delta is not None and not world.depends(delta, a):
        return binary("+", init, world.total(delta, it, it))
    match y:
        case Binary(op="-", left=c, right=x) if x == a and not world.depends(c, it):
            # Alternates between init and c - init.
            other = binary("-", c, init)
            return binary("+", init, binary("*", it % 2, binary("-", other, init)))
        case Binary(op="%", left=Binary(op="+", left=x, right=d), right=m) if (
            x == a and isinstance(d, Const) and isinstance(m, Const)
        ):
            inside = binary("and", binary("<=", 0, init), binary("<", init, m))
            if scope.holds(inside):
                return binary("%", binary("+", init, binary("*", it, d)), m)
        case Const() | Sym() | Binary() | Select():
            pass
        case _:
            assert_never(y)
    return None


def _increment(y: Expr, a: Expr) -> Expr | None:
    """Y - a, where ``a`` is one of the terms of ``y``."""
    if y == a:
        return Const(0)
    match y:
        case Binary(op="+", left=left, right=right):
            inner = _increment(left, a)
            if inner is not None:
                return binary("+", inner, right)
            inner = _increment(right, a)
            return None if inner is None else binary("+", left, inner)
        case Binary(op="-", left=left, right=right):
            inner = _increment(left, a)
            return None if inner is None else binary("-", inner, right)
        case Select(cond=cond, then=then, other=other):
            first, second = _increment(then, a), _increment(other, a)
            if first is None or second is None:
                return None
            return select(cond, first, second)
        case Const() | Sym() | Binary():
            return None
        case _:
            assert_never(y)


def _scalars(
    world: TagWorld, block: o.Block, scope: PathScope, env: Env, label: str, depth: int
) -> None:
    """Bind the scalars of a block without looking at its tiles."""
    loops = 0
    for op in block.ops:
        match op:
            case o.Let() | o.LoadScalar() | o.Extract():
                let(world, op, scope, env)
            case o.For():
                loops += 1
                inner = enter(world, op, scope, env, f"{label}.{depth}.{loops}", depth)
                env.update(inner.after)
            case o.If():
                then, other = dict(env), dict(env)
                _scalars(world, op.then, scope, then, label, depth)
                _scalars(world, op.other, scope, other, label, depth)
                leave_if(world, op, then, other, env)
            case (
                o.Roles() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)


def number_of(stage: Expr, stages: int) -> Expr | None:
    """X where a stage is ``x % stages``; a constant stage is itself."""
    match stage:
        case Const():
            return stage
        case Binary(op="%", left=x, right=Const(value=m)) if m == stages:
            return x
        case Binary(
            op="+",
            left=Const(value=1),
            right=Binary(
                op="*",
                left=Binary(op="%", left=x, right=Const(value=2)),
                right=Const(value=-1),
            ),
        ) if stages == 2:
            # 1 - x % 2 is (x + 1) % 2.
            return binary("+", x, 1)
        case Binary(
            op="-", left=Const(value=1), right=Binary(op="%", left=x, right=Const())
        ) if stages == 2:
            return binary("+", x, 1)
        case Sym() | Binary() | Select():
            return None
        case _:
            assert_never(stage)
