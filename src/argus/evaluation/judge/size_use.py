"""How a program depends on sizes: what it decides by them, and which values they are.

A candidate may be right for small sizes only. Two questions tell where a small size
does not stand for a large one:

    decisions(program, env)   how each comparison of scalars turns out
    valued(program)           dimensions whose size, or the number of whose steps,
                              becomes the value of an element, or decides in a loop
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argus.ir import ops as o
from argus.ir.expr import Binary, Expr, Select, evaluate, symbols
from argus.ir.program import Program
from argus.ir.walk import expressions, walk

_COMPARED = frozenset({"min", "max", "==", "!=", "<", "<=", ">", ">="})
Env = dict[str, int | float]


def decisions(program: Program, env: Env) -> dict[int, bool]:
    """How each comparison turns out where blocks and loops begin, by its number.

    Symbols that are no sizes count as what they begin with, or as 0.
    """
    known = dict(env)
    found: dict[int, bool] = {}
    number = 0
    for op in walk(program.body):
        match op:
            case o.Let():
                known[op.sym.name] = _value(op.value, known)
            case o.For():
                known[op.var.name] = _value(op.start, known)
                for carry in op.scalars:
                    known[carry.arg.name] = _value(carry.init, known)
            case _:
                pass
        for expression in expressions(op):
            for left, right, kind in _comparisons(expression):
                a, b = _value(left, known), _value(right, known)
                found[number] = a == b if kind in ("==", "!=") else a < b
                number += 1
    return found


def _comparisons(e: Expr) -> Iterator[tuple[Expr, Expr, str]]:
    match e:
        case Binary():
            yield from _comparisons(e.left)
            yield from _comparisons(e.right)
            if e.op in _COMPARED:
                yield e.left, e.right, e.op
        case Select():
            for part in (e.cond, e.then, e.other):
                yield from _comparisons(part)
        case _:
            pass


class _Zero(dict[str, int | float]):
    def __missing__(self, key: str) -> int | float:
        return 0


def _value(e: Expr, env: Env) -> int | float:
    try:
        return evaluate(e, _Zero(env))
    except ZeroDivisionError:
        return 0


def valued(program: Program) -> frozenset[str]:
    """Dimensions whose size reaches the value of an element.

    Through a tile that is filled with it, an operation that takes it, a scalar that a
    loop over it counts; and those of loops in which a branch depends on the step.
    """
    known: dict[str, frozenset[str]] = {}
    stepping: set[str] = set()
    size = -1
    while size != sum(map(len, known.values())):
        size = sum(map(len, known.values()))
        for op in walk(program.body):
            _follow(op, known, stepping)
    found: set[str] = set()
    for op in walk(program.body):
        match op:
            case o.Full() | o.Elementwise():
                for e in expressions(op):
                    found |= _dims(e, known)
            case o.LoadGlobal():
                found |= _dims(op.fill, known)
            case o.If():
                names = {s.name for s in symbols(op.cond)}
                for name in names & stepping:
                    found |= known.get(name, frozenset())
            case _:
                pass
    return frozenset(found)


def _follow(op: o.AnyOp, known: dict[str, frozenset[str]], stepping: set[str]) -> None:
    """Note of which dimensions the scalars are made that an operation defines."""

    def defines(name: str, *parts: Expr, step: bool = False) -> None:
        dims = known.get(name, frozenset())
        for part in parts:
            dims |= _dims(part, known)
            step = step or any(s.name in stepping for s in symbols(part))
        known[name] = dims
        if step:
            stepping.add(name)

    match op:
        case o.Let():
            defines(op.sym.name, op.value)
        case o.For():
            bounds = (op.start, op.stop)
            defines(op.var.name, *bounds, step=True)
            for c in op.scalars:
                defines(c.arg.name, c.init, c.yielded, *bounds, step=True)
                defines(c.result.name, c.init, c.yielded, *bounds, step=True)
        case o.If():
            for m in op.scalars:
                defines(m.result.name, op.cond, m.then, m.other)
        case _:
            pass


def _dims(e: Expr, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for sym in symbols(e):
        if sym.kind == "dim":
            found |= {sym.name}
        found |= known.get(sym.name, frozenset())
    return found
