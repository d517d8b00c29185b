"""Walks at given sizes: of blocks that differ in their course, and what they show.

Blocks with one course are walked once, and so is one course at several sizes. Tables
are taken to have a tile of all used, or some, or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from argus.ir import ops as o
from argus.ir.expr import evaluate
from argus.ir.program import GRID_SIZE, SM_COUNT, Program
from argus.ir.walk import walk as walk_ops
from argus.verify.decide.conditions import proved
from argus.verify.decide.evaluation import has_floats, negate
from argus.verify.decide.facts import conjuncts
from argus.verify.decide.nearest import nearest
from argus.verify.order.block_classes import BlockClasses
from argus.verify.order.control_dependence import Control
from argus.verify.order.course import ITERATIONS, Courses, Table, used
from argus.verify.order.events import has_events
from argus.verify.order.fills import Fills
from argus.verify.order.finding import OrderFindings
from argus.verify.order.footprint import Footprints
from argus.verify.order.recurrence import RecurrenceDetector
from argus.verify.order.scalar_sources import ScalarSources
from argus.verify.order.scalars import Scalars
from argus.verify.order.sizes import Sizes
from argus.verify.order.slicing import prune
from argus.verify.order.trip_count import expanded
from argus.verify.order.turned_names import TurnedNames
from argus.verify.order.usual_sizes import usual
from argus.verify.order.walk import ClusterWalk

__all__ = ["SizeWalks", "Tails", "WalkOutcome"]

Tails = dict[str, list[o.AnyOp]]
"""What each group does after its loop."""


@dataclass
class WalkOutcome:
    """What the walks showed. ``gaps``: why they do not stand for all, if so."""

    findings: OrderFindings = field(default_factory=OrderFindings)
    sizes: dict[tuple[str, int], dict[str, int]] = field(
        default_factory=dict[tuple[str, int], dict[str, int]]
    )
    """Sizes of the walk in which each finding was first made."""
    gaps: list[str] = field(default_factory=list[str])
    stuck: bool = False
    walks: int = 0
    steps: int = 0
    """Operations that were walked."""


_BLOCKS = 1 << 20
"""Blocks of a grid whose courses are told apart."""


class SizeWalks:
    """Walks a program, and collects what is found.

    ``turns``: states are compared up to where rings have turned to.
    """

    def __init__(
        self, program: Program, control: Control, *, turns: bool = True
    ) -> None:
        self.turns = turns
        self.even = True
        """All accesses so far would touch the same bytes of any stage."""
        self.program = program
        self.control = control
        self.outcome = WalkOutcome(gaps=list(control.gaps))
        self.fills = Fills(program, Scalars())
        self.footprints = Footprints(
            program.shared_bytes, self.fills.scalars, program.target.warp_threads
        )
        self.courses = Courses(program, self.fills.scalars)
        self.pruned = prune(program, control)
        self.seen: set[object] = set()
        """Courses that were walked."""
        self.blocks = BlockClasses(program)
        self.taken: set[tuple[o.If, bool]] = set()
        """Branches that were taken."""

    @cached_property
    def sizes(self) -> Sizes:
        """Which sizes are varied, found when they are first asked for."""
        return Sizes(self.program, self.control, self.pruned, self.courses)

    @cached_property
    def names(self) -> TurnedNames:
        """How slots are called in the states of walks."""
        return TurnedNames(self.program, self.control, self.fills, turns=self.turns)

    def cases(self, chosen: Mapping[str, int]) -> None:
        """Walk all different courses of blocks with these sizes."""
        for env, first, table in self._blocks(chosen, _tables(self.control)):
            course = self._course(env, first, table)
            if course not in self.seen:
                self.seen.add(course)
                self.walk(env, first, table, None)
            if self.outcome.stuck:
                return

    def watched(
        self, chosen: Mapping[str, int], loops: list[o.For], tails: Tails
    ) -> list[RecurrenceDetector]:
        """Walk blocks until loops repeat, in each course that branches differently."""
        watches: dict[object, RecurrenceDetector] = {}
        for env, first, table in self._blocks(chosen, (used,)):
            forks = self.control.forks
            kind = _kind(self._course(env, first, table)) if forks else None
            if kind not in watches:
                watches[kind] = RecurrenceDetector(
                    self.control, loops, tails, self.names
                )
            if not watches[kind].complete:
                self.walk(env, first, table, watches[kind])
            if self.outcome.stuck:
                break
        none = RecurrenceDetector(self.control, loops, {}, self.names)
        return list(watches.values()) or [none]

    def _blocks(
        self, chosen: Mapping[str, int], tables: Iterable[Table]
    ) -> Iterator[tuple[dict[str, int | float], int, Table]]:
        """Sizes, the first block of a cluster, and values of tables."""
        env = self.sizes.environment(chosen)
        if env is None:
            return
        grid = int(evaluate(self.program.grid, env))
        cluster = self.program.cluster
        if grid < cluster:
            return
        env[GRID_SIZE.name] = grid
        firsts = [0]
        if self.control.by_block and grid > _BLOCKS:
            gap = f"{grid} blocks have too many courses to tell apart"
            self.outcome.gaps.append(gap)
        elif self.control.by_block:
            firsts = self.blocks.firsts(env, grid)
        for table in tables:
            for first in firsts:
                yield env, first, table

    def _course(
        self, env: Mapping[str, int | float], first: int, table: Table
    ) -> object:
        return tuple(
            self.courses.trips(env, first + rank, rank, table)
            for rank in range(self.program.cluster)
        )

    def walk(
        self,
        env: Mapping[str, int | float],
        first: int,
        table: Table,
        watch: RecurrenceDetector | None,
    ) -> None:
        """One walk. ``first``: the first block of a cluster; ``watch``: looks on."""
        outcome = self.outcome
        before = set(outcome.findings.found)
        walk = ClusterWalk(
            self.program,
            env,
            first,
            outcome.findings,
            self.footprints,
            self.fills,
            table,
            self.pruned,
            heads=watch is not None and bool(watch.tails),
        )
        if watch is not None:
            watch.start()
        try:
            walk.run(None if watch is None else watch.look)
            if watch is not None:
                watch.end(walk)
        finally:
            outcome.walks += 1
            self.even &= walk.even
            outcome.steps += walk.steps
            for key in outcome.findings.found.keys() - before:
                outcome.sizes[key] = {
                    k: int(v)
                    for k, v in env.items()
                    if isinstance(v, int) and k != SM_COUNT.name
                }
        outcome.stuck |= walk.stuck
        self.taken |= walk.taken

    def launched(self) -> bool:
        """Whether there are sizes that the program admits."""
        required = [r.cond for r in self.program.requirements]
        most = usual(self.program, self.control.units)
        free = [name for name in most if name != SM_COUNT.name]
        return nearest(required, most, free).values is not None

    def tiles(self) -> dict[str, int | float]:
        """Values of all symbols but the grid, of sizes two tiles."""
        tiles = {name: 2 * unit for name, unit in self.control.units.items()}
        return usual(self.program, tiles)

    def branches(self) -> Iterator[str]:
        """Branches that no walk took, or passed by, and that sizes may lead to."""
        required = conjuncts(r.cond for r in self.program.requirements)
        facts = tuple(f for f in required if not has_floats(f))
        sources = ScalarSources(self.program)
        for op in walk_ops(self.program.body):
            if not isinstance(op, o.If) or not has_events(o.Block([op])):
                continue
            for side, word in ((True, "holds"), (False, "does not hold")):
                if (op, side) in self.taken:
                    continue
                cond = expanded(op.cond, sources.lets, sources.varying)
                if not proved(negate(cond) if side else cond, facts):
                    line = op.span.line
                    yield f"line {line}: no sizes were found for which this {word}"


def _kind(course: object) -> object:
    """A course without how often loops iterate: the different bodies of each."""
    if not isinstance(course, tuple):
        return course
    parts = [_kind(part) for part in cast("tuple[object, ...]", course)]
    return tuple(dict.fromkeys(parts) if parts[:1] == [ITERATIONS] else parts)


def _tables(control: Control) -> Iterator[Table]:
    """Values of run-time tables: a tile of all is used, or some, or none."""
    yield used
    if not control.tables:
        return

    def some(name: str, coords: tuple[int, ...]) -> int:
        del name
        return (1, -1, 1, 1, -1, -1, 0)[sum(coords) % 7]

    def none(name: str, coords: tuple[int, ...]) -> int:
        del name, coords
        return -1

    yield some
    yield none
