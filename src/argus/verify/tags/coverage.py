"""Each output element is written exactly once over the grid.

For all sizes: the coordinates of a store are taken apart into independent variables
(`order_lemmas.py`), and must be mixed-radix numbers over them: one variable steps from
tile to tile, the next from row of tiles to row of tiles, and so on. Stores that differ
by constants (slices of a tile, roles with a part each) are laid together first.

Before that, all blocks and iterations of some small launches are enumerated: what is
written twice or never there is a counterexample.

Rows that an index table names are written as often as the table names them: that no two
of its entries name one row follows from what the author assumes of pairs of entries
(`tables.py`). Rows that no entry names are not written, and the claim says so.
"""

from __future__ import annotations

from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import SM_COUNT, Program
from argus.verify.decide import prove
from argus.verify.decide.facts import conjuncts
from argus.verify.tags.accumulation import EXTRA, partly
from argus.verify.tags.compare import Agreement, unknown
from argus.verify.tags.counting import counted
from argus.verify.tags.findings import Where
from argus.verify.tags.left_out import left_out
from argus.verify.tags.order_lemmas import IndependentVariable, decompose
from argus.verify.tags.patches import Axis, Patch, laid_together, local_patch, radix
from argus.verify.tags.scope import PROOF_MS
from argus.verify.tags.split_sums import contributions, expressions
from argus.verify.tags.state import Stored, WalkState
from argus.verify.tags.tables import apart
from argus.verify.tags.values import Coord, Loaded, Tag, Vague
from argus.verify.tags.world import LoadedScalar, Total
from argus.verify.verdict import Verdict

__all__ = ["covered"]


def covered(state: WalkState, program: Program) -> None:
    """Report coverage of every output."""
    by_tensor: dict[str, list[Stored]] = {}
    for stored in state.stores.values():
        by_tensor.setdefault(stored.tensor.name, []).append(stored)
    _launched(state, program)
    for stores in by_tensor.values():
        _tensor(state, program, stores[0].tensor, stores)
    for name in program.outputs:
        if name not in by_tensor:
            outcome = Agreement(Verdict.REFUTED, "walk", "", state.scope.some_point())
            state.report("AG0306", f"{name} is written", program.span, outcome)


def _launched(state: WalkState, program: Program) -> None:
    """A persistent grid has blocks for all sizes, which every scope takes for granted.

    In other grids the block index steps through the output, so that their size is
    compared with the output's.
    """
    if SM_COUNT not in symbols(program.grid):
        return
    # A device has room for a cluster.
    room = binary(">=", SM_COUNT, program.cluster)
    given = [*(r.cond for r in program.requirements), room]
    some = binary(">=", _grid(program), 1)
    found = prove(some, given, timeout_ms=PROOF_MS)
    outcome = Agreement(found.verdict, found.method, found.reason, found.model)
    state.report(
        "AG0306",
        "the launch has blocks",
        program.span,
        outcome,
        "a launch without blocks writes nothing",
        "the grid is empty",
    )


def _tensor(
    state: WalkState, program: Program, tensor: GlobalTensor, stores: list[Stored]
) -> None:
    branches = [c for s in stores for c in conjuncts(s.scope.branches)]
    uniform = [c for c in branches if not _named_by_table(state, c)]
    through_table = any(
        isinstance(c, Loaded) or _from_table(state, c) for s in stores for c in s.coords
    ) or len(branches) > len(uniform)
    atomic = any(s.atomic for s in stores)
    span = stores[0].op.span
    where = Where(stores[0].role, stores[0].scope, span)
    claim = f"each element of {tensor.name} is written exactly once"
    if through_table:
        claim = f"each part of {tensor.name} that the tables name is written once"
    elif atomic:
        claim = f"each contribution to {tensor.name} is added exactly once"
    for s in stores:
        left = left_out(s, len(stores) == 1)
        if not left.proved:
            text = "the mask of a store leaves an output element out"
            label = f"no store writes this element of {tensor.name}"
            state.findings.add("AG0306", claim, where, left, text, label)
            return
    if through_table and not atomic:
        _entries_apart(state, tensor, stores)
    found = _unknown("some blocks or iterations do not reach the store")
    if all(_always(s, uniform) for s in stores):
        found = _by_lemma(state, program, stores)
    if not (found[1].proved or atomic or through_table):
        found = counted(state, tensor, stores) or found
    rule, outcome, message, label = found
    state.findings.add(rule, claim, where, outcome, message, label)


def _entries_apart(
    state: WalkState, tensor: GlobalTensor, stores: list[Stored]
) -> None:
    """Report whether no two entries of the tables name one element (AG0307)."""
    for s in stores:
        state.findings.add(
            "AG0307",
            f"different entries of the tables name different elements of {tensor.name}",
            Where(s.role, s.scope, s.op.span),
            apart(state, s),
        )


_Found = tuple[str, Agreement, str, str]
"""Code, outcome, message and label."""


def _unknown(reason: str) -> _Found:
    return "AG0306", unknown(reason), "", ""


def _from_table(state: WalkState, coord: object) -> bool:
    if not isinstance(coord, Coord):
        return False
    return _named_by_table(state, coord.base)


def _named_by_table(state: WalkState, e: Expr) -> bool:
    meanings = state.world.meanings
    return any(
        isinstance(meanings.get(s.name), LoadedScalar | Total)
        for s in state.world.all_symbols(e)
    )


def _always(stored: Stored, uniform: list[Expr]) -> bool:
    """Whether every block and iteration takes the branches that a store is in.

    Of their conditions only ``uniform`` ones are looked at, not those on tables.
    """
    outside = stored.scope
    while outside.branches and outside.parent is not None:
        outside = outside.parent
    mine = [c for c in conjuncts(stored.scope.branches) if c in uniform]
    return all(outside.holds(c) for c in mine)


def _grid(program: Program) -> Expr:
    match program.grid:
        case Binary(op="*", left=x, right=Const(value=c)) if c == program.cluster:
            return x
        case Const() | Sym() | Binary() | Select() as grid:
            return grid if program.cluster == 1 else grid // program.cluster


def _by_lemma(state: WalkState, program: Program, stores: list[Stored]) -> _Found:
    grid = _grid(program)
    patches: list[Patch] = []
    for s in stores:
        axes = [
            _axis(state, c, e) for c, e in zip(s.coords, s.tensor.shape, strict=True)
        ]
        known = [a for a in axes if a is not None]
        if len(known) < len(axes):
            return _unknown("a coordinate that is not affine")
        sums = [x for several in s.value.sums.values() for x in several]
        extra = expressions(sums) if s.atomic else []
        found = decompose([*(a.base for a in known), *extra], s.scope, grid)
        if found is None:
            return _unknown("an order of tiles that no lemma describes")
        patch = local_patch(known, found, s.scope, s.atomic)
        if patch is None:
            return _unknown("a store that covers no whole box of elements")
        patches.append(patch)
    joined = laid_together(patches, state)
    if joined is None:
        return _unknown("several stores that do not form one tile")
    atomic = stores[0].atomic
    free = radix(joined, stores[0].scope, state)
    if isinstance(free, str):
        return _unknown(free)
    if atomic:
        return _added_up(stores, patches, free)
    if free:
        return _unknown(f"blocks or iterations that differ only in {free[0].sym.name}")
    return "AG0306", Agreement(Verdict.PROVED, "lemma: order of tiles"), "", ""


def _added_up(
    stores: list[Stored], patches: list[Patch], free: list[IndependentVariable]
) -> _Found:
    """Whether the blocks that add to one element add each contribution once."""
    for s, p in zip(stores, patches, strict=True):
        named = [(n, x) for n, several in s.value.sums.items() for x in several]
        sums = [x for _, x in named]
        if not sums and free:
            return _unknown("what the blocks add to an element is no sum that is known")
        every = contributions(sums, p.extra, free, s.scope)
        pairs = zip(named, every, strict=True)
        for (name, _), found in sorted(pairs, key=lambda x: x[1].outcome.verdict):
            if not found.outcome.proved:
                text = f"{found.times} times" if found.times else "never"
                label = f"coordinate {found.coordinate} of {name} is added {text}"
                if name.startswith(EXTRA):
                    label = f"{partly(name)} is added {text}"
                return (
                    found.rule,
                    found.outcome,
                    "the parts that blocks add do not make one whole sum",
                    found.why or label,
                )
    return "AG0306", Agreement(Verdict.PROVED, "lemma: order of tiles"), "", ""


def _axis(state: WalkState, coord: Tag, extent: Expr) -> Axis | None:
    """A dimension of a store; where a table gives it, the entry of the table."""
    match coord:
        case Loaded(table=table, at=(Coord() as inner,)):
            return _axis(state, inner, _entries(state, table))
        case Coord(base=Sym(name=name)) if name in state.world.meanings:
            meaning = state.world.meanings[name]
            if isinstance(meaning, LoadedScalar) and len(meaning.coords) == 1:
                return Axis(meaning.coords[0], None, _entries(state, meaning.tensor))
            return None
        case Coord(base=base, offs=offs):
            return Axis(base, offs, state.close(extent))
        case Loaded() | Vague():
            return None


def _entries(state: WalkState, table: str) -> Expr:
    for p in state.world.program.params:
        if isinstance(p, GlobalTensor) and p.name == table:
            return state.close(p.shape[0])
    raise KeyError(table)
