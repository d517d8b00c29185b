"""Scans and folds with a function of the author's.

Shown here: the numbers of a state belong to one element (AG0303), and padding comes
after what is stored, or changes nothing (AG0310).
Which coordinates a fold has seen is counted as in any reduction.
"""

from __future__ import annotations

from dataclasses import replace

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, binary
from argus.verify.combining import left_out
from argus.verify.tags.accumulation import RUNNING, bent, extra
from argus.verify.tags.compare import Agreement, unknown, within
from argus.verify.tags.elementwise import check_agreement, kind_in
from argus.verify.tags.kinds import neutral
from argus.verify.tags.reductions import reduced
from argus.verify.tags.rows import along_rows, ends_rows
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import (
    AbstractValue,
    Coord,
    Flaw,
    Hole,
    Kind,
    ReducedDimension,
    Tag,
    least_ends,
    least_limits,
)
from argus.verify.verdict import Verdict

__all__ = ["folded", "scanned"]


def scanned(state: WalkState, op: o.Scan) -> AbstractValue:
    """A scan begins with the first coordinate, or is a part of one."""
    value = _together(state, op)
    if op.combine.single != "add" and (value.lanes or value.sets):
        return state.vague(op.result, "a scan of what lanes have summed in part")
    table = state.table(op.srcs[0])[:, :, op.axis]
    sums = dict(value.sums)
    for name, tag in value.tags.items():
        if name not in value.extents or not isinstance(tag, Coord):
            continue
        if (tag.offs - table != tag.offs.flat[0] - table.flat[0]).any():
            continue  # another axis
        if op.reverse:  # where its row ends is for terms to say
            flaw = Flaw(f"a running sum from the last {name} on", False)
            sums[RUNNING + name] = (replace(extra()[0], flaw=flaw),)
            continue
        low = binary("+", tag.base, int(tag.offs.min()))
        begins = state.scope.equal(low, Const(0))
        if begins.verdict is not Verdict.PROVED:
            text = f"a running sum that does not begin with {name} = 0"
            flaw = Flaw(text, begins.verdict is Verdict.REFUTED)
            sums[RUNNING + name] = (replace(extra()[0], flaw=flaw),)
    holes: list[Hole] = []
    for h in value.holes:
        # What comes after the elements of a tile changes none of them.
        after = not op.reverse and ends_rows(state, op.srcs[0], op.axis, h.where)
        if not after and not along_rows(state, op.srcs[0], op.axis, h.where):
            _check_padding(state, op, h)
        holes.append(replace(h, kind="junk"))
    return replace(value, sums=sums, holes=tuple(holes))


def folded(state: WalkState, op: o.ScanTotal) -> AbstractValue:
    """A fold sees each coordinate once; only whole ones are followed."""
    function = op.combine.reduction
    source = op.srcs[op.part]
    if function is not None:
        made = o.Reduce(op.result, source, op.axis, function, span=op.span)
        return reduced(state, made)
    value = _together(state, op)
    if value.lanes or value.sets:
        return state.vague(op.result, "a fold of what lanes have summed in part")
    holes: list[Hole] = []
    for h in value.holes:
        if along_rows(state, op.srcs[0], op.axis, h.where):
            holes.append(replace(h, kind="junk"))
        else:
            _check_padding(state, op, h)
    value = replace(value, holes=tuple(holes), kind="data")
    made = o.Reduce(op.result, source, op.axis, "prod", span=op.span)
    result = reduced(state, made, value)
    sums = dict(result.sums)
    for name, several in result.sums.items():
        flaw = Flaw(f"a fold over {name} is continued from another part", False)
        sums[name] = bent(state.scope, several, flaw)
    return replace(result, sums=sums)


def _together(state: WalkState, op: o.Combining) -> AbstractValue:
    """A state's numbers, which agree on the dimensions that they share."""
    values = [state.get(x) for x in op.srcs]
    if len(values) > 1:
        check_agreement(state, op.srcs[0], op.span, values)
    tags: dict[str, Tag] = {}
    extents: dict[str, Expr] = {}
    sums: dict[str, tuple[ReducedDimension, ...]] = {}
    holes: list[Hole] = []
    for v in reversed(values):
        tags.update(v.tags)
        extents.update(v.extents)
        sums.update(v.sums)
        holes += v.holes
    if op.combine.single != "add":
        for name, several in sums.items():
            flaw = Flaw(f"a part of a sum over {name} is taken to a scan", False)
            sums[name] = bent(state.scope, several, flaw)
    own = values[op.part]
    return replace(
        own,
        tags=tags,
        extents=extents,
        sums=sums,
        holes=tuple(holes),
        kind="data",
        number=None,
        mask=None,
        limits=least_limits(values),
        ends=least_ends(values),
        shift=None if op.combine.single != "add" else own.shift,
    )


def _check_padding(state: WalkState, op: o.Combining, hole: Hole) -> None:
    kinds: list[Kind] = [kind_in(state, state.get(x), hole) for x in op.srcs]
    numbers = [k for k in kinds if not isinstance(k, str)]
    types = tuple(x.dtype for x in op.srcs)
    function = op.combine.reduction
    if function is not None:
        changes_none = neutral(function, kinds[0], types[0])
    else:
        whole = len(numbers) == len(kinds)
        changes_none = whole and left_out(op.combine, types, numbers)
    if changes_none:
        outcome = Agreement(Verdict.PROVED)
    else:
        outcome = within(hole.where, hole.extent, state.scope)
        if not outcome.proved:
            held = ", ".join(map(str, kinds))
            outcome = unknown(f"{held} outside is not shown to change nothing")
    state.report(
        "AG0310",
        f"elements outside {hole.what} do not take part in the scan",
        op.span,
        outcome,
        help="fill with numbers that change no other, or mask with `ag.where`",
    )
