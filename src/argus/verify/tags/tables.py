"""Do two entries of index tables name one output element?

A store whose rows come from a table, ``Y[Out[p], n]`` or ``Y[Start[t] + i, n]`` with a
limit ``End[t]``, writes each element at most once if different entries name different
rows. Nothing but an assumption of the author's can say so: `ag.assume` with
``pairs=True``. Two entries are given symbols of their own, the facts about each entry
and about the pair are assumed, and their rows must not meet. Tables are read at one
position for this: what a limit reads elsewhere (``End[t + 1]``, ``End[0]``) is a number
of which only what is assumed of every entry is known.

That each entry is visited once is shown by `coverage.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
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
            tables = _Entries({entry.name: table}, {})
            first, second = _pair(world, entry, tables, Const(0), 1, limits)
            found = _decided(world, tables, first, second)
            within = _masked(stored, table, inner)
            position = _apart(state, stored, inner, within)
            return min(found, position, key=lambda o: o.verdict)
        case Coord(base=base, offs=offs):
            mine = _loaded(world, [base])
            if not mine:
                return _PROVED
            if len({x.coords for x in mine.values()}) > 1:
                return unknown("rows that several entries of tables name together")
            tables = _entries(world, [base, *limits], mine)
            low, count = int(offs.min()), int(offs.max()) - int(offs.min()) + 1
            first, second = _pair(world, base, tables, Const(low), count, limits)
            return _decided(world, tables, first, second)
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


@dataclass(frozen=True)
class _Entries:
    """Symbols of entries: those at the position that names rows, and others.

    ``own``: the table of each. ``others``: the table, and a number for the position.
    """

    own: Mapping[str, str]
    others: Mapping[str, tuple[str, int]]

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that are read at the position that names rows."""
        return tuple(dict.fromkeys(self.own.values()))


def _loaded(world: TagWorld, several: list[Expr]) -> dict[str, LoadedScalar]:
    """Symbols of table entries in expressions."""
    found: dict[str, LoadedScalar] = {}
    for e in several:
        for s in world.all_symbols(e):
            meaning = world.meanings.get(s.name)
            if isinstance(meaning, LoadedScalar):
                found[s.name] = meaning
    return found


def _entries(
    world: TagWorld, several: list[Expr], mine: Mapping[str, LoadedScalar]
) -> _Entries:
    """Entries in expressions; ``mine``: some at the position that names rows."""
    position = next(iter(mine.values())).coords
    own: dict[str, str] = {}
    others: dict[str, tuple[str, int]] = {}
    for name, meaning in _loaded(world, several).items():
        if meaning.coords == position:
            own[name] = meaning.tensor
        else:
            others[name] = meaning.tensor, len(others)
    return _Entries(own, others)


def _pair(
    world: TagWorld,
    base: Expr,
    tables: _Entries,
    low: Expr,
    count: int,
    limits: list[Expr],
) -> tuple[_Row, _Row]:
    """Rows base + low + [0, count) below the limits, of each of two entries."""
    made: list[_Row] = []
    for which in ("i", "j"):
        env = {name: _entry(table, which) for name, table in tables.own.items()}
        for name, (table, number) in tables.others.items():
            env[name] = _entry(table, f"{which}, {number}")
        offset = Sym(f"offset {which}", "loop")
        row = binary("+", binary("+", world.replace(base, env), low), offset)
        facts = [binary("<", offset, count), binary(">=", row, 0)]
        facts += [binary("<", row, world.replace(e, env)) for e in limits]
        for given in world.assumed:
            names = dict(zip(given.symbols, given.tables, strict=True))
            if set(given.tables) <= set(tables.tables):
                own = {s: _entry(t, which) for s, t in names.items()}
                facts.append(world.replace(given.cond, own))
            for name, (table, _) in tables.others.items():
                if set(given.tables) == {table}:
                    own = dict.fromkeys(given.symbols, env[name])
                    facts.append(world.replace(given.cond, own))
        made.append(_Row(row, tuple(facts)))
    return made[0], made[1]


def _entry(table: str, which: str) -> Sym:
    return Sym(f"{table}[{which}]", "let", nonneg=False)


def _decided(
    world: TagWorld, entries: _Entries, first: _Row, second: _Row
) -> Agreement:
    tables = entries.tables
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
    if entries.others:
        other = next(table for table, _ in entries.others.values())
        return unknown(
            f"whether rows from an entry of {names} on, to one of {other} at another "
            f"position, are others for another entry; a reference can say so"
        )
    return unknown(
        f"whether different entries of {names} name different rows; "
        f"`ag.assume(lambda a, b: ..., {', '.join(tables)}, pairs=True)` can say so"
    )
