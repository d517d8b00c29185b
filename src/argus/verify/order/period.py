"""All trip counts from finitely many walks: where the joint state of a walk repeats.

For each size that says how often loops with events turn, one long walk shows from which
turn on, and with which period, the joint state (`snapshot.py`) repeats. A walk with a
period more is then the same walk with a piece repeated that was checked already; so the
trip counts 0, 1, ... up to one period past the first repetition stand for all. Sizes
are taken from the innermost loops outwards, and all combinations are walked.

No repetition within the limit, or control that does not shift (`control.py`): a gap,
and the verdict of whatever was not refuted is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from argus.ir import ops as o
from argus.ir.expr import evaluate
from argus.ir.program import GRID_SIZE, SM_COUNT, Program
from argus.verify.order.control import Control
from argus.verify.order.finding import Findings
from argus.verify.order.footprint import Footprints, Unmodelled
from argus.verify.order.sizes import Sizes, trips
from argus.verify.order.snapshot import Position, position, snapshot
from argus.verify.order.walk import Table, Walk

__all__ = ["Explorer", "Outcome"]

_BLOCKS = 64
"""Most blocks of a grid that are looked at for different courses."""


@dataclass
class Outcome:
    """What the walks showed. ``gaps``: why they do not stand for all, if so."""

    findings: Findings = field(default_factory=Findings)
    sizes: dict[tuple[str, int], dict[str, int]] = field(
        default_factory=dict[tuple[str, int], dict[str, int]]
    )
    """Sizes of the walk in which each finding was first made."""
    gaps: list[str] = field(default_factory=list[str])
    stuck: bool = False
    walks: int = 0
    turns: int = 0


class Explorer:
    """Chooses sizes and walks a program with them."""

    def __init__(self, program: Program, control: Control) -> None:
        self.program = program
        self.control = control
        self.outcome = Outcome(gaps=list(control.gaps))
        self.footprints = Footprints(program.shared_bytes)
        self.sizes = Sizes(program, control)
        self.seen: set[object] = set()
        stages = max((a.stages for a in program.shared), default=1)
        count = max((b.count for b in program.barriers), default=1)
        self.long = 3 * max(stages, count, min(control.modulus, 12)) + 6

    def run(self) -> Outcome:
        """Walk every representative combination of trip counts."""
        names = self.sizes.varied
        try:
            self._explore({}, names)
        except Unmodelled as reason:
            self.outcome.gaps.append(str(reason))
        return self.outcome

    def _explore(self, chosen: Mapping[str, int], rest: tuple[str, ...]) -> None:
        if self.outcome.stuck:
            return
        if not rest:
            self._cases(chosen, None)
            return
        name, later = rest[0], rest[1:]
        bound = self._bound(chosen, name, later)
        for turns in range(bound + 1):
            self._explore({**chosen, name: turns}, later)

    def _bound(
        self, chosen: Mapping[str, int], name: str, later: tuple[str, ...]
    ) -> int:
        """Trip counts of a size up to this one stand for all."""
        loops = self.control_loops(name)
        if not loops:
            return 1
        long = {**chosen, name: self.long, **dict.fromkeys(later, 2)}
        watch = _Watch(self.control, loops)
        self._cases(long, watch)
        if self.outcome.stuck:
            return 0
        missing = [op for op in watch.missing() if watch.reached(op) > 3]
        if missing:
            line = missing[0].span.line
            self.outcome.gaps.append(
                f"the loop of line {line} shows no period within {self.long} turns"
            )
            return min(self.long, 6)
        return watch.bound() + (3 if self.control.turning else 0)

    def control_loops(self, name: str) -> list[o.For]:
        """Loops whose number of turns this size decides."""
        return self.sizes.loops.get(name, [])

    # -------------------------------------------------------------------- walks

    def _cases(self, chosen: Mapping[str, int], watch: _Watch | None) -> None:
        env = self.sizes.environment(chosen)
        if env is None:
            return
        grid = int(evaluate(self.program.grid, env))
        cluster = self.program.cluster
        if grid < cluster:
            return
        env[GRID_SIZE.name] = grid
        firsts = range(0, grid, cluster)
        if not self.control.by_block:
            firsts = firsts[:1]
        for table in _tables(self.control, watch is not None):
            for first in firsts[:_BLOCKS]:
                course = tuple(
                    trips(self.program, env, first + rank, rank, table)
                    for rank in range(cluster)
                )
                if watch is None and course in self.seen:
                    continue
                self.seen.add(course)
                self._walk(env, first, table, watch)
                if self.outcome.stuck:
                    return

    def _walk(
        self,
        env: Mapping[str, int | float],
        first: int,
        table: Table,
        watch: _Watch | None,
    ) -> None:
        outcome = self.outcome
        before = set(outcome.findings.found)
        walk = Walk(self.program, env, first, outcome.findings, self.footprints, table)
        if watch is not None:
            watch.start()
        try:
            walk.run(None if watch is None else watch.look)
        finally:
            outcome.walks += 1
            for key in outcome.findings.found.keys() - before:
                outcome.sizes[key] = {
                    k: int(v)
                    for k, v in env.items()
                    if isinstance(v, int) and k != SM_COUNT.name
                }
        outcome.stuck |= walk.stuck


class _Watch:
    """Looks for a repetition of the joint state in each of some loops."""

    def __init__(self, control: Control, loops: list[o.For]) -> None:
        self.control = control
        self.loops = {id(op): op for op in loops}
        self.states: dict[object, list[Position]] = {}
        self.found: dict[int, int] = {}
        """Loop -> last turn that must be walked."""
        self.most: dict[int, int] = {}

    def start(self) -> None:
        """A walk begins."""
        self.states = {}

    def look(self, walk: Walk) -> None:
        """After a round of the walk."""
        at = position(walk)
        inside = False
        for path, turns in at:
            for loop, turn in zip(path, turns, strict=True):
                if loop in self.loops:
                    inside = True
                    self.most[loop] = max(self.most.get(loop, 0), turn)
        if not inside or len(self.found) == len(self.loops):
            return
        state = snapshot(walk, self.control.counters, self.control.modulus)
        for earlier in self.states.get(state, ()):
            self._repeats(earlier, at)
        self.states.setdefault(state, []).append(at)

    def _repeats(self, earlier: Position, now: Position) -> None:
        """The same state twice: which loop went on by the same turns in all groups?"""
        moved: dict[int, set[int]] = {}
        for (path, before), (_, after) in zip(earlier, now, strict=True):
            for level, (loop, a, b) in enumerate(zip(path, before, after, strict=True)):
                if a != b:
                    moved.setdefault(loop, set()).add(b - a)
                    if after[level + 1 :] != before[level + 1 :]:
                        return
                    break
        shifts = {s for values in moved.values() for s in values}
        if len(shifts) != 1 or (shift := next(iter(shifts))) <= 0:
            return
        for loop in moved:
            last = max(turns[path.index(loop)] for path, turns in now if loop in path)
            if loop in self.loops and loop not in self.found:
                self.found[loop] = last + 1
            del last
        del shift

    def reached(self, op: o.For) -> int:
        """The most turns of a loop that were seen."""
        return self.most.get(id(op), 0)

    def missing(self) -> list[o.For]:
        """Loops without a repetition."""
        return [op for key, op in self.loops.items() if key not in self.found]

    def bound(self) -> int:
        """Trip counts up to this one show everything."""
        return max((n + 2 for n in self.found.values()), default=2)


def _tables(control: Control, long: bool) -> Iterator[Table]:
    """Values of run-time tables: a tile of all is used, or some, or none."""

    def used(name: str, coords: tuple[int, ...]) -> int:
        del name, coords
        return 1

    yield used
    if not control.tables or long:
        return

    def some(name: str, coords: tuple[int, ...]) -> int:
        del name
        return (1, -1, 1, 1, -1, -1, 0)[sum(coords) % 7]

    def none(name: str, coords: tuple[int, ...]) -> int:
        del name, coords
        return -1

    yield some
    yield none


_: Callable[..., object] = _tables
