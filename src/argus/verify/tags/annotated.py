"""Author's annotations: tags and assumptions. Checks are in `checks.py`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.annotations import Assume
from argus.ir.annotations import Tag as TagOp
from argus.ir.expr import Expr, symbols
from argus.ir.memory import GlobalTensor, SharedView
from argus.ir.ops import Tile
from argus.ir.program import LaunchRequirement, Program
from argus.verify.tags.compare import Agreement, unknown
from argus.verify.tags.place import WalkPlace
from argus.verify.tags.shared_tags import amended, offsets_of, over_slots
from argus.verify.tags.spread import split
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import AbstractValue, Coord, Ints, Tag, Vague
from argus.verify.tags.world import Assumed, Paired
from argus.verify.verdict import Verdict

__all__ = ["assume", "contradiction", "of_sizes", "tag"]


def tag(state: WalkState, op: TagOp) -> None:
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
        case SharedView() as view:
            _shared(state, op, view)


def _shared(state: WalkState, op: TagOp, view: SharedView) -> None:
    offsets = offsets_of(view)
    if offsets is None:
        state.report(
            "AG0392",
            "a tag of a shared tile is understood",
            op.span,
            unknown("a view with a symbolic origin; tag the tensor"),
        )
        return
    index = np.indices(view.shape, dtype=np.int64)
    arrays = {f"%{i}": index[i] for i in range(len(view.shape))}
    space = AbstractValue(view.shape)
    tags = {name: _component(state, e, arrays, space) for name, e in op.components}
    stage = state.stage(view)
    made = over_slots(view, offsets, tags, stage, state.drain_number(view))
    if not amended(state.memory, made, state.role, state.scope):
        state.tagged.append(made)


def _component(
    state: WalkState, e: Expr, arrays: dict[str, Ints], value: AbstractValue
) -> Tag:
    found = split(e, arrays, state.scope, state.env)
    if found is None:
        return Vague("a component that is not affine in the coordinates")
    return Coord(found[0], np.broadcast_to(np.asarray(found[1]), value.shape))


_SIZES = frozenset({"dim", "param", "stride", "sms"})


def of_sizes(program: Program) -> Program:
    """The program with what its author assumes of sizes as requirements.

    Those that every launch comes to: outside of loops and branches. So they hold for
    the grid and the outputs as a whole, not only from their line on.
    """
    blocks = [program.body]
    for op in program.body.ops:
        if isinstance(op, o.Roles):
            blocks += [role.body for role in op.roles]
    found = [
        LaunchRequirement(op.cond, op.text, op.span)
        for block in blocks
        for op in block.ops
        if isinstance(op, Assume)
        and not op.tables
        and all(s.kind in _SIZES for s in symbols(op.cond))
    ]
    return replace(program, requirements=[*program.requirements, *found])


def contradiction(place: WalkPlace, span: Span) -> None:
    """Report facts that no sizes satisfy, or of which that is not known (AG0318)."""
    found = place.scope.contradictory()
    if found.verdict is Verdict.REFUTED:
        return
    never = found.verdict is Verdict.PROVED
    verdict = Verdict.REFUTED if never else Verdict.UNKNOWN
    place.report(
        "AG0318",
        "the requirements and assumptions can be true together",
        span,
        Agreement(verdict, found.method, found.reason),
        "no sizes satisfy all requirements and assumptions",
        "from here on everything would be proved",
    )


def noted(place: WalkPlace, op: o.Annotation) -> None:
    """Take what an annotation says of sizes, scalars and tables for given."""
    if isinstance(op, Assume):
        assume(place, op)
        if not op.tables:
            contradiction(place, op.span)


def assume(place: WalkPlace, op: Assume) -> None:
    """A fact that holds from here on; of tables, for each or each two elements."""
    if not op.tables:
        place.scope = place.scope.when(place.close(op.cond), taken=False)
        return
    tables = tuple(t.name for t in op.tables)
    symbols = tuple(s.name for s in op.elements)
    cond = place.close(op.cond)
    if op.others:
        pair = Paired(cond, tables, symbols, tuple(s.name for s in op.others))
        if pair not in place.world.paired:
            place.world.paired.append(pair)
        return
    made = Assumed(cond, tables, symbols)
    if made not in place.world.assumed:
        place.world.assumed.append(made)
