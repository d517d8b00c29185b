"""Author's annotations: tags, checks of tags, assumptions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.ir.annotations import Assume, Check
from argus.ir.annotations import Tag as TagOp
from argus.ir.expr import Expr, binary, symbols
from argus.ir.memory import GlobalTensor, SharedView
from argus.ir.ops import Tile
from argus.verify.tags.compare import Outcome, unknown
from argus.verify.tags.findings import operand
from argus.verify.tags.loops import close
from argus.verify.tags.spread import split
from argus.verify.tags.state import State
from argus.verify.tags.values import Coord, Ints, Tag, Vague, Value
from argus.verify.tags.world import Assumed
from argus.verify.verdict import Verdict

__all__ = ["assume", "check", "tag"]


def tag(state: State, op: TagOp) -> None:
    """Give the elements of a tile or tensor more components."""
    match op.target:
        case GlobalTensor(name=name):
            known = dict(state.tensor_tags.get(name, ()))
            known.update(op.components)
            state.tensor_tags[name] = tuple(known.items())
        case Tile() as tile:
            value = state.get(tile)
            table = state.table(tile).astype(np.int64)
            arrays = {f"%{i}": table[:, :, i] for i in range(table.shape[2])}
            tags = dict(value.tags)
            for name, e in op.components:
                tags[name] = _component(state, e, arrays, value)
            loose = {
                n: s for n, s in value.loose.items() if n not in dict(op.components)
            }
            state.values[tile] = replace(value, tags=tags, loose=loose)
        case SharedView():
            state.report(
                "AG0392",
                "a tag of a shared tile is understood",
                op.span,
                unknown("tags of shared tiles are not modelled; tag the tensor"),
            )


def _component(state: State, e: Expr, arrays: dict[str, Ints], value: Value) -> Tag:
    found = split(e, arrays, state.scope, state.env)
    if found is None:
        return Vague("a component that is not affine in the coordinates")
    return Coord(found[0], np.broadcast_to(np.asarray(found[1]), value.shape))


def assume(state: State, op: Assume) -> None:
    """A fact that holds from here on; of tables, for each of their elements.

    Facts about pairs of elements serve no obligation yet: they are only listed.
    """
    if not op.tables:
        state.scope = state.scope.when(state.close(op.cond))
    elif not op.others:
        made = Assumed(
            state.close(op.cond),
            tuple(t.name for t in op.tables),
            tuple(s.name for s in op.elements),
        )
        if made not in state.world.assumed:
            state.world.assumed.append(made)


def check(state: State, op: Check) -> None:
    """A relation of tags, for each coordinate of its shape."""
    values: list[tuple[Value, Ints]] = []
    for arg in op.args:
        if not isinstance(arg, Tile):
            reason = "a check of a shared tile is not modelled"
            state.report("AG0314", "the assertion holds", op.span, unknown(reason))
            return
        values.append((state.get(arg), state.table(arg).astype(np.int64)))
    arrays: dict[str, Ints] = {}
    bases: dict[str, Expr] = {}
    for s in {s.name: s for s in symbols(op.cond) if s.kind == "tag"}.values():
        number, name = s.name.split(".", 1)
        value, table = values[int(number)]
        found = value.tags.get(name)
        if not isinstance(found, Coord):
            why = found.reason if isinstance(found, Vague) else "no such component"
            reason = f"component {name}: {why}"
            state.report("AG0314", "the assertion holds", op.span, unknown(reason))
            return
        index = tuple(table[:, :, i] for i in range(table.shape[2]))
        shape = tuple(int(x.max()) + 1 for x in index)
        logical = np.zeros(shape, np.int64)
        logical[index] = found.offs
        spread = [1] * len(op.shape)
        for a, n in zip(op.axes[int(number)], shape, strict=True):
            spread[a] = n
        order = np.argsort(op.axes[int(number)])
        arrays[s.name] = np.broadcast_to(
            logical.transpose(tuple(order)).reshape(spread), op.shape
        )
        bases[s.name] = found.base
    outcome = _for_all(state, op, arrays, bases)
    state.report(
        "AG0314",
        "the assertion on tags holds",
        op.span,
        outcome,
        "an assertion on tags does not hold",
        "false for this element",
        [
            operand(f"argument {i}", v, outcome.element[:2], outcome.model, state.scope)
            for i, (v, _) in enumerate(values)
        ],
    )


def _for_all(
    state: State, op: Check, arrays: dict[str, Ints], bases: dict[str, Expr]
) -> Outcome:
    """The condition for each distinct combination of offsets."""
    names = list(arrays)
    stacked = np.stack([arrays[n].ravel() for n in names]) if names else None
    columns = [()]
    if stacked is not None:
        columns = [tuple(c) for c in np.unique(stacked, axis=1).T]
    if len(columns) > 4096:
        return unknown(f"{len(columns)} different combinations of elements")
    for column in columns:
        env = {
            n: binary("+", bases[n], int(x)) for n, x in zip(names, column, strict=True)
        }
        goal = close(state.world, state.world.replace(op.cond, env), state.env)
        decided = state.scope.decide(goal)
        if decided.verdict is not Verdict.PROVED:
            return Outcome(
                decided.verdict, decided.method, decided.reason, decided.model, (0, 0)
            )
    return Outcome(Verdict.PROVED)
