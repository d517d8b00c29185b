"""Tiles that a table leaves out, by all roles alike.

    for t in persistent(T):             for t in persistent(T):
        if Expert[t] >= 0:                  if Expert[t] >= 0:
            ... fill ...                        ... drain ...

To leave a tile out changes nothing: the roles then do what they do in loops with one
tile less. So the walks in which every tile is used stand for all tables, if

- each role with loops has one, with the same bounds as the others,
- nothing in it has events but one side of the branch, and all ask the same,
- what decides events is on the other side as it was before the tile.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from argus.ir import ops as o
from argus.ir.expr import Expr, Sym, binary, substitute, symbols
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.order.events import has_events
from argus.verify.order.fills import bodies
from argus.verify.order.scalar_sources import ScalarSources
from argus.verify.order.state import storage_key
from argus.verify.order.trip_count import expanded

__all__ = ["left_out_alike"]

_TILE = Sym("tile#", "loop")


def left_out_alike(
    program: Program,
    sources: ScalarSources,
    asked: Sequence[o.If],
    deciding: Collection[str],
) -> bool:
    """Whether branches that ask tables only leave tiles out, all of them alike.

    ``asked``: these branches; ``deciding``: scalars that decide what operations do.
    """
    roles: dict[str, list[o.AnyOp]] = {}
    for name, body in bodies(program):
        roles.setdefault(name, []).extend(body.ops)
    forms: set[tuple[Expr, ...]] = set()
    found: list[o.If] = []
    for ops in roles.values():
        active = [op for op in ops if has_events(o.Block([op]))]
        loops = [op for op in active if isinstance(op, o.For)]
        if not loops and not any(op in asked for op in walk(o.Block(active))):
            continue  # it does nothing for each tile
        branch = _only(loops[0].body) if len(loops) == 1 else None
        if branch is None or not _as_before(loops[0], branch, deciding):
            return False
        forms.add(_form(loops[0], branch, sources))
        found.append(branch)
    # Whether nothing but a tile and sizes is in what is asked, names say.
    plain = all(
        s == _TILE or s.name not in sources for form in forms for s in _named(form)
    )
    return plain and len(forms) == 1 and set(found) == set(asked)


def _only(body: o.Block) -> o.If | None:
    """The branch that has all events of a loop's body, on one side."""
    active = [op for op in body.ops if has_events(o.Block([op]))]
    branch = active[0] if len(active) == 1 else None
    if not isinstance(branch, o.If):
        return None
    return branch if has_events(branch.then) != has_events(branch.other) else None


def _as_before(loop: o.For, branch: o.If, deciding: Collection[str]) -> bool:
    """Whether an iteration that leaves its tile out changes nothing that decides."""
    if loop.var.name in deciding:
        return False
    used = has_events(branch.then)
    merged = {m.result: m.other if used else m.then for m in branch.scalars}
    for carry in loop.scalars:
        if {carry.arg.name, carry.result.name} & set(deciding):
            left = carry.yielded
            if isinstance(left, Sym):
                left = merged.get(left, left)
            if left != carry.arg:
                return False
    return all(
        storage_key(m.other if used else m.then) == storage_key(m.result)
        for m in branch.tiles
    )


def _form(loop: o.For, branch: o.If, sources: ScalarSources) -> tuple[Expr, ...]:
    """Bounds and condition, by the number of the tile; equal ones say the same."""
    start, stop, step = (
        expanded(e, sources.lets, set()) for e in (loop.start, loop.stop, loop.step)
    )
    value = binary("+", start, binary("*", _TILE, step))

    def whole(e: Expr) -> Expr:
        e = substitute(expanded(e, sources.lets, set()), {loop.var.name: value})
        elements: dict[str, Expr] = {}
        for sym in symbols(e):
            if sym.name in sources.constants:
                load = sources.loads[sym.name]
                at = ", ".join(str(whole(c)) for c in load.coords)
                elements[sym.name] = Sym(f"{load.tensor.name}[{at}]", "let")
        return substitute(e, elements)

    return start, stop, step, whole(branch.cond)


def _named(form: Sequence[Expr]) -> set[Sym]:
    return {s for e in form for s in symbols(e)}
