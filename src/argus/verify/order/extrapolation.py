"""All trip counts from finitely many walks: where the joint state of a walk repeats.

For each size that says how often loops with events iterate, one long walk shows from
which iteration on, and with which period, the joint state (`snapshot.py`) repeats. A
walk with a period more is then the same walk with a piece repeated that was checked
already; so the trip counts 0, 1, ... up to one period past the first repetition stand
for all. Sizes are taken from the innermost loops outwards, and all combinations are
walked.

No repetition within the limit, or control that does not shift
(`control_dependence.py`): a gap, and the verdict of whatever was not refuted is
unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import lcm
from typing import cast

from argus.ir import ops as o
from argus.ir.expr import evaluate
from argus.ir.program import GRID_SIZE, SM_COUNT, Program
from argus.ir.walk import walk as walk_ops
from argus.verify.order.block_classes import BlockClasses
from argus.verify.order.block_exit import simple_tails
from argus.verify.order.control_dependence import Control
from argus.verify.order.events import has_events
from argus.verify.order.fills import Fills
from argus.verify.order.finding import OrderFindings
from argus.verify.order.footprint import Footprints, OutOfModel
from argus.verify.order.free_trip_counts import FreeSizes
from argus.verify.order.recurrence import RecurrenceDetector
from argus.verify.order.scalars import Scalars
from argus.verify.order.size_relations import Alike
from argus.verify.order.sizes import ITERATIONS, Sizes, trips
from argus.verify.order.slicing import prune
from argus.verify.order.trip_count_sequences import Sequences
from argus.verify.order.unusual_sizes import LONG
from argus.verify.order.walk import ClusterWalk, Table

__all__ = ["SizeExplorer", "WalkOutcome"]

_TILES = (1, 2, 3, 5)
"""In each dimension, where how often loops iterate comes from several sizes
together."""
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
    iterations: int = 0


class SizeExplorer:
    """Chooses sizes and walks a program with them."""

    def __init__(
        self, program: Program, control: Control, sizes: Sizes | None = None
    ) -> None:
        self.program = program
        self.control = control
        self.outcome = WalkOutcome(gaps=list(control.gaps))
        self.fills = Fills(program, Scalars())
        self.footprints = Footprints(
            program.shared_bytes, self.fills.scalars, program.target.warp_threads
        )
        self.pruned = prune(program, control)
        self.sizes = sizes or Sizes(program, control)
        self.seen: set[object] = set()
        """Courses that were walked."""
        self.blocks = BlockClasses(program)
        self.taken: set[tuple[o.If, bool]] = set()
        """Branches that were taken."""
        stages = max((a.stages for a in program.shared), default=1)
        count = max((b.count for b in program.barriers), default=1)
        self.long = 3 * max(stages, count, min(control.modulus, 12)) + 6

    def run(self) -> WalkOutcome:
        """Walk every representative combination of trip counts."""
        control, outcome = self.control, self.outcome
        if control.uneven:
            self._some()
            if not (control.gaps or outcome.findings.found):
                missing = self._sequences()
                if not missing:
                    # All that sizes decide is how often loops iterate.
                    return WalkOutcome()
                # Sizes may still show a mistake.
                outcome.gaps.extend(missing)
        if not control.classes:
            outcome.gaps.extend(control.open)
        self._sized()
        missing, shown = self.sizes.gaps, False
        if not (outcome.findings.found or control.gaps or control.uneven) and (
            outcome.gaps or missing or control.open
        ):
            missing = self._sequences()
            shown = not missing
            classes = control.classes or control.bounded()
            if missing and classes and not outcome.gaps:
                missing = list(self._free(classes))
            if missing:
                outcome.gaps.extend(missing)
            else:
                outcome.gaps.clear()
        if outcome.gaps and not (outcome.findings.found or control.uneven):
            self._some()
        if outcome.gaps and not outcome.findings.found:
            self._unusual()
        outcome.gaps.extend(dict.fromkeys((*missing, *outcome.findings.gaps)))
        if not (outcome.stuck or shown):
            outcome.gaps.extend(self._branches())
        if not outcome.walks and not outcome.gaps:
            outcome.gaps.append("no sizes were found that the program admits")
        return outcome

    def _some(self) -> None:
        """Walk with a few sizes, to find what is wrong with many."""
        try:
            for iterations in _TILES:
                self._cases(dict.fromkeys(self.sizes.units, iterations))
        except (OutOfModel, ZeroDivisionError):
            return  # nothing was to be shown

    def _sized(self) -> None:
        """Walk with sizes that stand for all."""
        outcome = self.outcome
        outcome.gaps.extend(self.sizes.tied())
        try:
            for more in self._residues():
                self.sizes.more = more
                self._explore({}, self.sizes.varied)
            self.sizes.more = {}
            if self.control.tables:
                self._cases(dict.fromkeys(self.sizes.varied, 5))
            if self.control.between or self.control.residues.keys() - set(
                self.sizes.varied
            ):
                self._between()
        except OutOfModel as reason:
            outcome.gaps.append(str(reason))
        except ZeroDivisionError:
            outcome.gaps.append("an index divides by zero for some sizes")

    def _explore(self, chosen: Mapping[str, int], rest: tuple[str, ...]) -> None:
        if self.outcome.stuck:
            return
        if not rest:
            self._cases(chosen)
            return
        name, later = rest[0], rest[1:]
        whole = later or self.control.sized
        tails = {} if whole else self._tails(name)
        bound = self._bound(chosen, name, later, tails)
        self.outcome.gaps.extend(self.sizes.left_out(name, bound))
        for iterations in range(bound + 1):
            self._explore({**chosen, name: iterations}, later)

    def _residues(self) -> Iterator[dict[str, int]]:
        """What is added to multiples of tiles: nothing, and what makes a difference."""
        known = self.control.residues
        names = [n for n in self.sizes.varied if n in known]
        if missing := sorted(known.keys() - set(names)):
            self.outcome.gaps.append(
                f"{missing[0]} decides how loops iterate, together with another size"
            )
        self.outcome.gaps.extend(
            f"{name} is walked in steps in which remainders are left out"
            for name in names
            if self.sizes.units[name] != self.control.units[name]
        )
        for several in product(*(known[n] for n in names)):
            yield dict(zip(names, several, strict=True))

    def _free(self, classes: Sequence[Alike]) -> Iterator[str]:
        """Walk with all combinations of trip counts, whether sizes have them or not."""
        control = replace(
            self.control,
            classes=[],
            bounded=list,
            residues={},
            between=False,
            open=(),
            kinds=lambda: "no size says how often loops iterate",
        )
        sizes = FreeSizes(self.sizes, classes)
        free = SizeExplorer(self.program, control, sizes).run()
        for found in free.findings.found.values():
            yield (
                f"line {found.op.span.line}: {found.message}, if loops iterate so often"
                " for any size, which is not known"
            )
        yield from free.gaps

    def _sequences(self) -> list[str]:
        """Walk with all sequences of trip counts, whether sizes have them."""
        kinds = self.control.kinds()
        if isinstance(kinds, str):
            return [kinds]
        # Nothing depends on sizes but how often loops iterate.
        env = self.sizes.any()
        env[GRID_SIZE.name] = int(evaluate(self.program.grid, env))
        deciding = self.control.deciding
        return Sequences(
            self.program,
            kinds,
            deciding,
            env,
            self.footprints,
            self.fills,
            prune(self.program, replace(self.control, scalars=deciding)),
        ).run()

    def _between(self) -> None:
        """Look for a mistake at sizes between the tiles; this shows nothing else."""
        varied = self.sizes.varied
        for iterations in range(3):
            for name in {**dict.fromkeys(varied), **self.control.residues}:
                for more in self.sizes.between(name):
                    chosen = dict.fromkeys(varied, 2)
                    if name in chosen:
                        chosen[name] = iterations
                    self.sizes.more = {name: more}
                    if not self.outcome.stuck:
                        self._cases(chosen)

    def _unusual(self) -> None:
        """Look for a mistake where trip counts differ as they do nowhere else."""
        for case in self.control.unusual():
            env = self.sizes.at(case.sizes)
            if env is None:
                continue
            env[SM_COUNT.name] = case.multiprocessors
            try:
                grid = int(evaluate(self.program.grid, env))
                env[GRID_SIZE.name] = grid
                if not 0 <= case.block < grid:
                    continue
                first = case.block // self.program.cluster * self.program.cluster
                counts: dict[int, int] = {}
                for rank in range(self.program.cluster):
                    trips(self.program, env, first + rank, rank, _used, counts)
                if max(counts.values(), default=0) <= LONG:
                    self._walk(env, first, _used, None)
            except (OutOfModel, ZeroDivisionError):
                continue
            if self.outcome.stuck:
                return

    def _tails(self, name: str) -> Tails:
        return simple_tails(self.program, self.pruned, self.sizes.loops[name])

    def _bound(
        self,
        chosen: Mapping[str, int],
        name: str,
        later: tuple[str, ...],
        tails: Tails,
    ) -> int:
        """Trip counts of a size up to this one stand for all; -1: all were seen."""
        loops = self.sizes.loops[name]
        if not loops:
            return 3
        # How an inner loop is entered again depends on how often it turned, up to its
        # period: each remainder is looked at.
        bound, offset, period = 0, 0, 1
        ends = True
        while offset < period:
            iterations = self.long + offset
            sizes = {**chosen, name: iterations, **dict.fromkeys(later, 2)}
            watches = self._watched(sizes, loops, tails)
            if self.outcome.stuck:
                return -1
            for watch in watches:
                if missing := watch.missing():
                    line = missing[0].span.line
                    self.outcome.gaps.append(
                        f"the loop of line {line} shows no period within {iterations} "
                        "iterations"
                    )
                    return min(self.long, 6)
                bound = max(bound, watch.bound())
                ends = ends and watch.ends
                period = lcm(period, watch.period) if later else 1
            offset += 1
        return -1 if ends else bound

    # -------------------------------------------------------------------- walks

    def _cases(self, chosen: Mapping[str, int]) -> None:
        """Walk all different courses of blocks with these sizes."""
        for env, first, table in self._blocks(chosen, _tables(self.control)):
            course = self._course(env, first, table)
            if course not in self.seen:
                self.seen.add(course)
                self._walk(env, first, table, None)
            if self.outcome.stuck:
                return

    def _watched(
        self, chosen: Mapping[str, int], loops: list[o.For], tails: Tails
    ) -> list[RecurrenceDetector]:
        """Walk blocks until loops repeat, in each course that branches differently."""
        watches: dict[object, RecurrenceDetector] = {}
        for env, first, table in self._blocks(chosen, (_used,)):
            forks = self.control.forks
            kind = _kind(self._course(env, first, table)) if forks else None
            if kind not in watches:
                watches[kind] = RecurrenceDetector(self.control, loops, tails)
            if not watches[kind].complete:
                self._walk(env, first, table, watches[kind])
            if self.outcome.stuck:
                break
        return list(watches.values()) or [RecurrenceDetector(self.control, loops, {})]

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
        firsts = self.blocks.firsts(env, grid) if self.control.by_block else [0]
        for table in tables:
            for first in firsts:
                yield env, first, table

    def _course(
        self, env: Mapping[str, int | float], first: int, table: Table
    ) -> object:
        return tuple(
            trips(self.program, env, first + rank, rank, table)
            for rank in range(self.program.cluster)
        )

    def _walk(
        self,
        env: Mapping[str, int | float],
        first: int,
        table: Table,
        watch: RecurrenceDetector | None,
    ) -> None:
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
            for key in outcome.findings.found.keys() - before:
                outcome.sizes[key] = {
                    k: int(v)
                    for k, v in env.items()
                    if isinstance(v, int) and k != SM_COUNT.name
                }
        outcome.stuck |= walk.stuck
        self.taken |= walk.taken

    def _branches(self) -> Iterator[str]:
        """Branches that no walk took, or passed by."""
        for op in walk_ops(self.program.body):
            if not isinstance(op, o.If) or not has_events(o.Block([op])):
                continue
            for side, word in ((True, "holds"), (False, "does not hold")):
                if (op, side) not in self.taken:
                    line = op.span.line
                    yield f"line {line}: no sizes were found for which this {word}"


def _kind(course: object) -> object:
    """A course without how often loops iterate: the different bodies of each."""
    if not isinstance(course, tuple):
        return course
    parts = [_kind(part) for part in cast("tuple[object, ...]", course)]
    return tuple(dict.fromkeys(parts) if parts[:1] == [ITERATIONS] else parts)


def _used(name: str, coords: tuple[int, ...]) -> int:
    """A table whose every tile is used."""
    del name, coords
    return 1


def _tables(control: Control) -> Iterator[Table]:
    """Values of run-time tables: a tile of all is used, or some, or none."""
    yield _used
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
