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

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import product
from math import lcm

from argus.ir.expr import evaluate, holds
from argus.ir.program import GRID_SIZE, SM_COUNT, Program
from argus.verify.order.block_exit import simple_tails
from argus.verify.order.control_dependence import Control
from argus.verify.order.course import Table, used
from argus.verify.order.dependent_trip_counts import Kinds
from argus.verify.order.footprint import OutOfModel
from argus.verify.order.recurrence import SEEN, RecurrenceDetector, TripBound
from argus.verify.order.size_walks import SizeWalks, Tails, WalkOutcome
from argus.verify.order.sizes import admits_none, dims
from argus.verify.order.slicing import prune
from argus.verify.order.trip_count_sequences import FEW, STEPS, Sequences
from argus.verify.order.unusual_sizes import LONG

__all__ = ["SizeExplorer"]

_MOST = (8, 16, 32, 64)
"""Numbers of tiles of which all are walked, where the program admits no more."""
_TILES = (1, 2, 3, 5)
"""In each dimension, where how often loops iterate comes from several sizes
together."""


class _ShownError(Exception):
    """All sequences of trip counts were shown to be right."""


def _alike(first: int, period: int) -> range:
    """Numbers of tiles that are tried where each would do."""
    return range(first, first + 64 * period, period)


class SizeExplorer(SizeWalks):
    """Chooses sizes and walks a program with them."""

    def __init__(
        self, program: Program, control: Control, *, turns: bool = True
    ) -> None:
        super().__init__(program, control, turns=turns)
        stages = max((a.stages for a in program.shared), default=1)
        count = max((b.count for b in program.barriers), default=1)
        self.long = 3 * max(stages, count, min(control.modulus, 12)) + 6
        self.tried = 1
        self._known_tails: dict[str, Tails] = {}

    def run(self) -> WalkOutcome:
        """Walk every representative combination of trip counts.

        Or all sequences of them, where these are fewer: so many choices as cost no more
        than the walks at sizes did so far.
        """
        try:
            self._try_sequences()
            outcome = self._at_sizes()
        except _ShownError:
            # All that sizes decide is how often loops iterate.
            return WalkOutcome()
        if self.names.turns and not self.even:
            # Stages that are used differently cannot stand for each other.
            return SizeExplorer(self.program, self.control, turns=False).run()
        return outcome

    def walk(
        self,
        env: Mapping[str, int | float],
        first: int,
        table: Table,
        watch: RecurrenceDetector | None,
    ) -> None:
        """One walk; where many have been made, other ways are tried meanwhile."""
        super().walk(env, first, table, watch)
        many = self.outcome.steps > STEPS * self.tried
        if many and not (self.control.uneven or self.outcome.findings.found):
            self._try_sequences()

    def _try_sequences(self) -> None:
        """Raises _ShownError where all sequences of trip counts are right.

        Where walks at sizes would show the same: also of sizes that are 0.
        """
        if self.control.uneven:
            shown = not self._sequences()
        else:
            every = self._from_none
            shown = (
                isinstance(every, Sequences)
                and self._few(every)
                and self.launched()
                and self._right_of_none()
            )
        self.tried *= 4
        if shown:
            raise _ShownError

    def _few(self, every: Sequences) -> bool:
        """Whether few choices show all sequences: not where most led to new states."""
        most = FEW * self.tried
        if self.tried > 1 and not every.closing:
            return False
        return not every.run(most) or (every.closing and not every.run(16 * most))

    def _right_of_none(self) -> bool:
        """Whether nothing is wrong where one size is 0, if the program admits that."""
        kept, self.outcome = self.outcome, WalkOutcome()
        taken, self.taken = self.taken, set()
        try:
            for name in sorted(self.control.sizes):
                env = {**self.tiles(), name: 0}
                if not all(holds(r.cond, env) for r in self.program.requirements):
                    continue
                grid = env[GRID_SIZE.name] = int(evaluate(self.program.grid, env))
                if grid < self.program.cluster:
                    continue
                firsts = self.blocks.firsts(env, grid) if self.control.by_block else [0]
                for first in firsts:
                    super().walk(env, first, used, None)
            findings = self.outcome.findings
            return not (findings.found or findings.gaps or self.outcome.stuck)
        except (OutOfModel, ZeroDivisionError):
            return False
        finally:
            self.outcome, self.taken = kept, taken

    def _at_sizes(self) -> WalkOutcome:
        control, outcome = self.control, self.outcome
        if control.uneven:
            # Sizes may still show a mistake.
            self._some()
            if not (control.gaps or outcome.findings.found):
                outcome.gaps.extend(self._sequences())
        outcome.gaps.extend(control.open)
        self._sized()
        missing, shown = self.sizes.gaps, False
        asked = outcome.findings.found or control.gaps or control.uneven
        if not asked and (outcome.gaps or missing):
            missing = self._sequences()
            shown = not missing
            if shown:
                outcome.gaps.clear()
        if outcome.gaps and not (outcome.findings.found or control.uneven):
            self._some()
        if outcome.gaps and not outcome.findings.found:
            self._unusual()
        outcome.gaps.extend(dict.fromkeys((*missing, *outcome.findings.gaps)))
        if not (outcome.stuck or shown):
            outcome.gaps.extend(self.branches())
        if not outcome.walks and not outcome.gaps:
            outcome.gaps.append(self.sizes.none())
        return outcome

    def _some(self) -> None:
        """Walk with a few sizes, to find what is wrong with many."""
        try:
            for iterations in _TILES:
                self.cases(dict.fromkeys(self.sizes.units, iterations))
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
                self.cases(dict.fromkeys(self.sizes.varied, 5))
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
            self.cases(chosen)
            return
        name, later = rest[0], rest[1:]
        whole = later or self.control.sized
        tails = {} if whole else self._tails(name)
        seen = self._bound(chosen, name, later, tails)
        self.outcome.gaps.extend(self.sizes.left_out(name, seen.most))
        for iterations in self._admitted(chosen, name, seen):
            self._explore({**chosen, name: iterations}, later)

    def _admitted(
        self, chosen: Mapping[str, int], name: str, bound: TripBound
    ) -> Iterator[int]:
        """Trip counts that stand for all that the program admits.

        Of one that repeats and is not admitted, others stand in the same place.
        """
        for first in range(bound.most + 1):
            repeats = first > bound.most - bound.period
            counts = _alike(first, bound.period) if repeats else (first,)
            found = self.sizes.admitted(name, chosen, counts)
            if found is not None:
                yield found

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

    def _sequences(self) -> list[str]:
        """Walk with all sequences of trip counts, whether sizes have them."""
        every = self._every
        return [every] if isinstance(every, str) else every.run()

    @cached_property
    def _kinds(self) -> Kinds | str:
        """Loops by how often they iterate, or why that is not known."""
        return self.control.kinds()

    @cached_property
    def _every(self) -> Sequences | str:
        """All sequences of trip counts that sizes admit, or why there are none."""
        kinds = self._kinds
        return kinds if isinstance(kinds, str) else self._all_of(kinds)

    @cached_property
    def _from_none(self) -> Sequences | str:
        """The same, those with no iterations included, if a size may be 0 or more."""
        kinds = self._kinds
        if isinstance(kinds, str):
            return kinds
        least = list(kinds.none)
        for op, (kind, _) in kinds.of.items():
            decided = self.control.loops.get(op, frozenset[str]())
            sizes = decided & dims(self.program).keys()
            if sizes and not any(admits_none(self.program, name) for name in sizes):
                least[kind] = kinds.least[kind]
        if tuple(least) == kinds.least:
            return self._every
        return self._all_of(replace(kinds, least=tuple(least)))

    def _all_of(self, kinds: Kinds) -> Sequences:
        # Nothing depends on sizes but how often loops iterate.
        env = self.tiles()
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
            turns=self.turns,
        )

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
                        self.cases(chosen)

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
                    self.courses.trips(env, first + rank, rank, used, counts)
                if max(counts.values(), default=0) <= LONG:
                    self.walk(env, first, used, None)
            except (OutOfModel, ZeroDivisionError):
                continue
            if self.outcome.stuck:
                return

    def _tails(self, name: str) -> Tails:
        if name not in self._known_tails:
            found = simple_tails(self.program, self.pruned, self.sizes.loops[name])
            self._known_tails[name] = found
        return self._known_tails[name]

    def _bound(
        self,
        chosen: Mapping[str, int],
        name: str,
        later: tuple[str, ...],
        tails: Tails,
    ) -> TripBound:
        """Trip counts of a size that stand for all."""
        loops = self.sizes.loops[name]
        if not loops:
            return TripBound(max(3, self.control.near), 1)
        # How an inner loop is entered again depends on how often it turned, up to its
        # period: each remainder is looked at.
        bound, offset, period = 0, 0, 1
        ends = True
        others = {**chosen, **dict.fromkeys(later, 2)}
        while offset < (period if later else 1):
            watches: list[RecurrenceDetector] = []
            iterations = 0
            for long in self.sizes.enough(name, self.long):
                counts = _alike(long + offset, period if later else 1)
                found = self.sizes.admitted(name, others, counts)
                if found is None:
                    return self._all(name)
                iterations = found
                watches = self.watched({**others, name: iterations}, loops, tails)
                if self.outcome.stuck:
                    return SEEN
                if not any(watch.missing() for watch in watches):
                    break
            if not any(watch.most for watch in watches):
                line = loops[0].span.line
                self.outcome.gaps.append(f"no walk enters the loop of line {line}")
            for watch in watches:
                if missing := watch.missing():
                    line = missing[0].span.line
                    self.outcome.gaps.append(
                        f"the loop of line {line} shows no period within {iterations} "
                        "iterations"
                    )
                    return TripBound(min(self.long, 6), 1)
                bound = max(bound, watch.bound())
                ends = ends and watch.ends
                period = lcm(period, watch.period)
            offset += 1
        return SEEN if ends else TripBound(bound, period)

    def _all(self, name: str) -> TripBound:
        """All trip counts of a size, of which the program admits few."""
        most = next((n for n in _MOST if self.sizes.bounded(name, n)), None)
        if most is None:
            self.outcome.gaps.append(
                f"no multiple of {self.sizes.units.get(name, 1)} of {name} was found "
                "for which loops iterate until they repeat"
            )
            return TripBound(min(self.long, 6), 1)
        return TripBound(most, 0)
