"""Do two entries of index tables name one output element?

A store whose rows come from a table, ``Y[Out[p], n]`` or ``Y[Start[t] + i, n]`` with a
limit ``End[t]``, writes each element at most once if different entries name different
rows. Nothing but an assumption of the author's can say so: `ag.assume` with
``pairs=True``. Two entries are given symbols of their own, the facts about each entry
and about the pair are assumed, and their rows must not meet.

That each entry is visited once is shown by `coverage.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.ir.expr import Const, Expr, Sym, binary
from argus.verify.decide import prove
from argus.verify.tags.compare import Agreement, agree, unknown
from argus.verify.tags.scope import PROOF_MS
from argus.verify.tags.state import Stored, WalkState
from argus.verify.tags.values import Coord, Loaded, Tag, Vague
from argus.verify.tags.world import LoadedScalar, TagWorld
from argus.verify.verdict import Verdict

__all__ = ["apart"]

_PROVED = Agreement(Verdict.PROVED, "normal form")


@dataclass(frozen=True)
class _Row:
    """The rows of one entry, as an expression and what is known of its symbols."""

    row: Expr
    facts: tuple[Expr, ...]


def apart(state: WalkState, stored: Stored) -> Agreement:
    """Whether different entries write different elements; proved without a table."""
    worst = _PROVED
    for coord, extent in zip(stored.coords, stored.tensor.shape, strict=True):
        limits = [e for t, e in stored.limits if agree(t, coord, stored.scope).proved]
        found = _apart(state, stored, coord, [state.close(extent), *limits])
        worst = min(worst, found, key=lambda o: o.verdict)
    return worst


def _apart(
    state: WalkState, stored: Stored, coord: Tag, limits: list[Expr]
) -> Agreement:
    world = state.world
    match coord:
        case Loaded(table=table, at=(inner,)):
            entry = Sym(f"{table}[", "let", nonneg=False)
            own = {entry.name: table}
            first, second = _pair(world, entry, own, Const(0), 1, limits)
            found = _decided(world, (table,), first, second)
            within = _masked(stored, table, inner)
            position = _apart(state, stored, inner, within)
            return min(found, position, key=lambda o: o.verdict)
        case Coord(base=base, offs=offs):
            tables = _entries(world, [base, *limits])
            if not _entries(world, [base]):
                return _PROVED
            low, count = int(offs.min()), int(offs.max()) - int(offs.min()) + 1
            first, second = _pair(world, base, tables, Const(low), count, limits)
            return _decided(world, tuple(dict.fromkeys(tables.values())), first, second)
        case Loaded() | Vague():
            return _PROVED  # what is not known is told elsewhere


def _masked(stored: Stored, table: str, at: Tag) -> list[Expr]:
    """Where entries end: past it an index is negative, and nothing is stored."""
    return [
        h.extent
        for index in stored.indices
        if isinstance(index.number, Loaded) and index.number.table == table
        for h in index.holes
        if isinstance(h.kind, float | int) and h.kind < 0
        if agree(h.where, at, stored.scope).proved
    ]


def _entries(world: TagWorld, several: list[Expr]) -> dict[str, str]:
    """Symbols of table entries in expressions, with the names of their tables."""
    found: dict[str, str] = {}
    for e in several:
        for s in world.all_symbols(e):
            meaning = world.meanings.get(s.name)
            if isinstance(meaning, LoadedScalar):
                found[s.name] = meaning.tensor
    return found


def _pair(
    world: TagWorld,
    base: Expr,
    tables: dict[str, str],
    low: Expr,
    count: int,
    limits: list[Expr],
) -> tuple[_Row, _Row]:
    """Rows base + low + [0, count) below the limits, of each of two entries."""
    made: list[_Row] = []
    for which in ("i", "j"):
        env = {name: _entry(table, which) for name, table in tables.items()}
        offset = Sym(f"offset {which}", "loop")
        row = binary("+", binary("+", world.replace(base, env), low), offset)
        facts = [binary("<", offset, count), binary(">=", row, 0)]
        facts += [binary("<", row, world.replace(e, env)) for e in limits]
        for given in world.assumed:
            names = dict(zip(given.symbols, given.tables, strict=True))
            if set(given.tables) <= set(tables.values()):
                own = {s: _entry(t, which) for s, t in names.items()}
                facts.append(world.replace(given.cond, own))
        made.append(_Row(row, tuple(facts)))
    return made[0], made[1]


def _entry(table: str, which: str) -> Sym:
    return Sym(f"{table}[{which}]", "let", nonneg=False)


def _decided(
    world: TagWorld, tables: tuple[str, ...], first: _Row, second: _Row
) -> Agreement:
    facts = [*first.facts, *second.facts]
    stated = False
    for given in world.paired:
        if not set(given.tables) <= set(tables):
            continue
        stated = True
        for one, other in (("i", "j"), ("j", "i")):
            env: dict[str, Expr] = {}
            for t, a, b in zip(given.tables, given.symbols, given.others, strict=True):
                env[a], env[b] = _entry(t, one), _entry(t, other)
            facts.append(world.replace(given.cond, env))
    goal = binary("!=", first.row, second.row)
    if stated:
        found = prove(goal, [*world.facts, *facts], timeout_ms=PROOF_MS)
        if found.verdict is Verdict.PROVED:
            return Agreement(found.verdict, found.method)
    names = " and ".join(tables)
    return unknown(
        f"whether different entries of {names} name different rows; "
        f"`ag.assume(lambda a, b: ..., {', '.join(tables)}, pairs=True)` can say so"
    )
