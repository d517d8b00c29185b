"""Assertions on tags (`ag.check`): a relation for every combination of elements.

The elements of an assertion are counted by the coordinates of its shape. Where the
components are linear in these coordinates, the coordinates become symbols and one
decision is made; else each different combination of values is decided by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from argus.ir import ops as o
from argus.ir.annotations import Check
from argus.ir.expr import Const, Expr, Sym, binary, evaluate, symbols
from argus.ir.memory import SharedView
from argus.verify.decide import negate
from argus.verify.tags.compare import Agreement, unknown
from argus.verify.tags.findings import operand
from argus.verify.tags.moving import moved
from argus.verify.tags.operands import read_stage
from argus.verify.tags.sampling import Points
from argus.verify.tags.scope import Loop, PathScope
from argus.verify.tags.shared_tags import offsets_of
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import AbstractValue, Coord, Ints, Tag, Vague
from argus.verify.verdict import Verdict

__all__ = ["check"]

_COMBINATIONS = 1024
_POINTS = 24


def check(state: WalkState, op: Check) -> None:
    """Report whether an assertion holds for each coordinate of its shape."""
    values = [_logical(state, op, i) for i in range(len(op.args))]
    outcome = _decided(state, op, values)
    element = outcome.element or (0,) * len(op.shape)
    operands = [
        operand(f"argument {i + 1}", v, element, outcome.model, state.scope, element)
        for i, v in enumerate(values)
        if v is not None
    ]
    state.report(
        "AG0314",
        "the assertion on tags holds",
        op.span,
        outcome,
        "an assertion on tags does not hold",
        "; ".join(
            ", ".join(f"{n} = {x}" for n, x in shown.tag.items()) for shown in operands
        ),
        operands,
    )


def _logical(state: WalkState, op: Check, number: int) -> AbstractValue | None:
    """An argument's elements by coordinate, spread over the assertion's shape."""
    arg = op.args[number]
    if isinstance(arg, SharedView):
        value = _shared(state, op, arg)
    else:
        value = _tile(state, arg)
    if value is None:
        return None
    axes = op.axes[number]
    spread = [1] * len(op.shape)
    for a, n in zip(axes, value.shape, strict=True):
        spread[a] = n
    order = tuple(int(i) for i in np.argsort(axes))

    def move(a: Ints) -> Ints:
        full = np.broadcast_to(a, value.shape)
        return np.broadcast_to(full.transpose(order).reshape(spread), op.shape)

    return moved(value, op.shape, move)


def _tile(state: WalkState, tile: o.Tile) -> AbstractValue | None:
    table = state.table(tile).astype(np.int64)
    index = tuple(table[:, :, i] for i in range(table.shape[2]))
    regular = True

    def move(a: Ints) -> Ints:
        nonlocal regular
        whole = np.zeros(tile.shape, np.int64)
        whole[index] = a
        regular &= np.array_equal(whole[index], np.broadcast_to(a, index[0].shape))
        return whole

    value = moved(state.get(tile), tile.shape, move)
    return value if regular else None


def _shared(state: WalkState, op: Check, view: SharedView) -> AbstractValue | None:
    offsets = offsets_of(view)
    if offsets is None:
        return None
    return read_stage(state, op, view, offsets)


@dataclass(frozen=True, eq=False)
class _Terms:
    """Arrays by symbol of the condition, and bases."""

    cond: Expr
    coords: dict[str, Coord]


def _decided(
    state: WalkState, op: Check, values: list[AbstractValue | None]
) -> Agreement:
    coords: dict[str, Coord] = {}
    for s in symbols(op.cond):
        if s.kind != "tag":
            continue
        number, name = s.name.split(".", 1)
        value = values[int(number)]
        tag: Tag | None = None if value is None else value.tags.get(name)
        if not isinstance(tag, Coord):
            why = tag.reason if isinstance(tag, Vague) else "there is none"
            return unknown(f"component {name}: {why}")
        coords[s.name] = tag
    cond = state.close(op.cond)
    # Without looking at padding first: mostly the relation holds there, too.
    everywhere = _for_all(state, op, _Terms(cond, dict(coords)))
    if everywhere.proved:
        return everywhere
    for i, value in enumerate(values):
        for j, hole in enumerate(value.holes if value is not None else ()):
            if not isinstance(hole.where, Coord):
                continue
            # Elements that do not exist are skipped.
            sym = Sym(f"hole{i}.{j}", "tag", nonneg=False)
            coords[sym.name] = hole.where
            exists = binary("and", binary(">=", sym, 0), binary("<", sym, hole.extent))
            cond = binary("or", negate(exists), cond)
    terms = _Terms(cond, coords)
    return _counterexample(state, op, terms) or _for_all(state, op, terms)


def _counterexample(state: WalkState, op: Check, terms: _Terms) -> Agreement | None:
    """All elements at some admissible points."""
    scope = state.scope
    keep = scope.admissible(terms.cond)
    if scope.points is None or keep is None:
        return None
    free = [s for s in symbols(terms.cond) if s.name not in terms.coords]
    known_names = {*scope.points, *state.world.meanings}
    if any(s.name not in known_names for s in free):
        return None
    for i in np.flatnonzero(keep)[:_POINTS]:
        model = scope.points.at(int(i))
        known = Points(state.world, {n: np.array([v]) for n, v in model.items()})
        arrays: dict[str, Ints] = {}
        for name, tag in terms.coords.items():
            base = scope.value_at(tag.base, model)
            if base is None:
                return None
            arrays[name] = np.broadcast_to(base + tag.offs, op.shape)
        with np.errstate(all="ignore"):
            uniform = {s.name: known[s.name] for s in free if s.name not in arrays}
            held = np.asarray(evaluate(terms.cond, {**uniform, **arrays}))
        wrong = ~np.broadcast_to(held.astype(np.bool_), op.shape)
        if wrong.any():
            at = np.unravel_index(int(np.argmax(wrong)), op.shape)
            element = tuple(int(x) for x in at)
            return Agreement(Verdict.REFUTED, "admissible sizes", "", model, element)
    return None


def _for_all(state: WalkState, op: Check, terms: _Terms) -> Agreement:
    found = _by_symbols(state, op, terms)
    return _by_values(state, terms) if found is None else found


def _by_symbols(state: WalkState, op: Check, terms: _Terms) -> Agreement | None:
    """One decision over symbolic coordinates; None where a component is not linear."""
    syms = [Sym(f"element.{i}", "loop") for i in range(len(op.shape))]
    env: dict[str, Expr] = {}
    for name, tag in terms.coords.items():
        steps = linear(np.broadcast_to(tag.offs, op.shape))
        if steps is None:
            return None
        e = binary("+", tag.base, steps[0])
        for sym, step in zip(syms, steps[1], strict=True):
            e = binary("+", e, sym * step)
        env[name] = e
    scope: PathScope = state.scope
    for sym, n in zip(syms, op.shape, strict=True):
        scope = scope.inside(Loop(sym, Const(n), sym.name, sym), Const(n))
    decided = scope.decide(_put(state, terms.cond, env))
    element = tuple(decided.model.get(s.name, 0) for s in syms)
    return Agreement(
        decided.verdict, decided.method, decided.reason, decided.model, element
    )


def _by_values(state: WalkState, terms: _Terms) -> Agreement:
    names = list(terms.coords)
    full = np.broadcast_arrays(*(terms.coords[n].offs for n in names))
    stacked = np.stack([a.ravel() for a in full])
    columns, first = np.unique(stacked, axis=1, return_index=True)
    if columns.shape[1] > _COMBINATIONS:
        return unknown(f"{columns.shape[1]} different combinations of elements")
    for column, at in zip(columns.T, first, strict=True):
        env = {
            n: binary("+", terms.coords[n].base, int(x))
            for n, x in zip(names, column, strict=True)
        }
        decided = state.scope.decide(_put(state, terms.cond, env))
        if decided.verdict is not Verdict.PROVED:
            index = np.unravel_index(int(at), full[0].shape)
            element = tuple(int(i) for i in index)
            return Agreement(
                decided.verdict, decided.method, decided.reason, decided.model, element
            )
    return Agreement(Verdict.PROVED, "enumeration")


def _put(state: WalkState, cond: Expr, env: Mapping[str, Expr]) -> Expr:
    return state.world.replace(cond, env)


def linear(a: Ints) -> tuple[int, list[int]] | None:
    """Value at 0 and step along each axis of an array that is linear in its indices."""
    start = int(a.flat[0])
    steps: list[int] = []
    wanted = np.full(a.shape, start, np.int64)
    for axis, n in enumerate(a.shape):
        at = [0] * a.ndim
        at[axis] = min(1, n - 1)
        step = int(a[tuple(at)]) - start
        steps.append(step)
        shape = [1] * a.ndim
        shape[axis] = n
        line: Ints = np.arange(n, dtype=np.int64) * step
        wanted = wanted + line.reshape(shape)
    return (start, steps) if np.array_equal(wanted, a) else None
