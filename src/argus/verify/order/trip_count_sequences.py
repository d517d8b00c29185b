"""All sequences of trip counts, from finitely many walks.

Whether a loop iterates once more is a choice (`trip_count_choices.py`); who comes later
follows the one who came first. So a program is a graph: states in which somebody has to
choose, and from each one two ways on. States that are alike (`joint_state.py`) have the
same ways on. Rings hold roles together, so that there are few states. Once both ways
from each were walked, and led to states that are known or to the end, every sequence of
choices, and so every combination of numbers that sizes and tables can bring about, was
seen.

A walk cannot go back. It goes to the nearest choice that was not made yet, for as long
as there is one, and last of all to the ends. A finding may need numbers that no sizes
bring about: then, as where the states are too many, nothing is known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from argus.ir import ops as o
from argus.ir.expr import Const
from argus.ir.program import Program
from argus.ir.walk import walk as walk_ops
from argus.verify.order.choice_places import places
from argus.verify.order.counter_families import Families
from argus.verify.order.dependent_trip_counts import Kinds
from argus.verify.order.events import has_events
from argus.verify.order.fills import Fills
from argus.verify.order.finding import OrderFindings
from argus.verify.order.footprint import Footprints, OutOfModel
from argus.verify.order.joint_state import joint
from argus.verify.order.liveness import alive
from argus.verify.order.slicing import Pruned
from argus.verify.order.state import GroupState
from argus.verify.order.trip_count_choices import Choices
from argus.verify.order.walk import ClusterWalk

__all__ = ["FEW", "STEPS", "Sequences"]

_STATES = 1500
"""More states are too many."""
_CHOICES = 6000
"""In all walks together, more choices take too long."""
FEW = 24
STEPS = 5000
"""Operations walked at sizes, for which so few choices are a small price."""
_LONG = 400
"""Choices after which a walk ends when it can: it remembers all its moments."""
_END = -1
_TOO_MANY = "loops iterate differently often in too many ways"
_DIFFERENT = "states that look alike go on differently"


class _EnoughError(Exception):
    """A walk need not go on."""


@dataclass
class _Graph:
    """States by number, and where each choice leads."""

    numbers: dict[object, int] = field(default_factory=dict[object, int])
    ways: list[dict[bool, int]] = field(default_factory=list["dict[bool, int]"])
    last: list[bool] = field(default_factory=list[bool])
    """Whether not to iterate again leaves an outermost loop there."""

    def number(self, state: object, last: bool) -> int:
        """The number of a state."""
        if state not in self.numbers:
            self.numbers[state] = len(self.ways)
            self.ways.append({})
            self.last.append(last)
        return self.numbers[state]

    def open(self, at: int, ends: bool) -> bool | None:
        """A choice that was not made in a state; to leave for good only if wanted."""
        for more in (True, False):
            if more not in self.ways[at] and (more or ends or not self.last[at]):
                return more
        return None

    def way(self, start: int, ends: bool) -> list[bool] | None:
        """The choices to the nearest one that was not made, that one included."""
        before: dict[int, tuple[int, bool] | None] = {start: None}
        todo = deque([start])
        while todo:
            at = todo.popleft()
            more = self.open(at, ends)
            if more is not None:
                found = [more]
                while (step := before[at]) is not None:
                    at, choice = step
                    found.append(choice)
                return found[::-1]
            for choice, to in self.ways[at].items():
                if to != _END and to not in before:
                    before[to] = at, choice
                    todo.append(to)
        return None


class Sequences:
    """Walks a program with all sequences of trip counts.

    ``deciding``: scalars that decide what operations do. ``env``: values of sizes, on
    which nothing may depend but trip counts. ``turns``: states are compared up to where
    rings have turned to.
    """

    def __init__(
        self,
        program: Program,
        kinds: Kinds,
        deciding: frozenset[str],
        env: Mapping[str, int | float],
        footprints: Footprints,
        fills: Fills,
        pruned: Pruned,
        *,
        turns: bool = True,
    ) -> None:
        self.program, self.kinds, self.env = program, kinds, env
        self.fills = fills
        self.pruned = pruned
        first = [
            p.op for m in places(program, kinds, apart=True).values() for p in m[:1]
        ]
        self.footprints = footprints
        self._families = partial(Families, program, deciding, first, fills)
        self.families = self._families(turns=turns)
        self.live = alive(program, deciding)
        self.starts = program.cluster * (
            1 + sum(len(op.roles) for op in program.body.ops if isinstance(op, o.Roles))
        )
        self.most = _CHOICES
        """Choices in all walks together."""
        self.missing = [_TOO_MANY]
        """Why not every sequence was shown to be right so far."""
        self._begin(apart=True)

    def _begin(self, *, apart: bool) -> None:
        """Forget all walks. ``apart``: as of `places`."""
        self.apart = apart
        self.mine = places(self.program, self.kinds, apart=apart)
        self.final = {
            [p.op for p in mine if not p.around][-1]
            for mine in self.mine.values()
            if mine
        }
        """The last loop of each role."""
        self.findings = OrderFindings()
        self.graph = _Graph()
        self.at: tuple[int, bool] | None = None
        """The latest state, and what was chosen there."""
        self.plan: list[bool] = []
        self.made = 0
        """Choices of this walk, and new ones among them."""
        self.new = 0
        self.even = True
        """All accesses would touch the same bytes of any stage."""
        self.all = 0
        """Choices of all walks."""
        self.walks = 0

    def run(self, most: int = _CHOICES) -> list[str]:
        """Why not every sequence was shown to be right; nothing if it was.

        ``most``: choices to make. Where they were too few, it goes on if asked again.
        """
        self.most = most
        if self.missing == [_TOO_MANY]:
            self.missing = self._shown()
        return self.missing

    @property
    def closing(self) -> bool:
        """Whether choices were too few, and a third of them led to known states.

        Then there may be few states in all.
        """
        return self.missing == [_TOO_MANY] and 3 * len(self.graph.ways) <= 2 * self.all

    def _shown(self) -> list[str]:
        gaps = [*self.families.gaps, *self._unfit()]
        if gaps:
            return gaps
        gaps = self._explore()
        together = places(self.program, self.kinds, apart=False)
        if gaps not in ([], [_TOO_MANY]) and any(
            len({p.site for p in mine}) < len({p.site for p in self.mine[name]})
            for name, mine in together.items()
        ):
            self._begin(apart=False)
            gaps = self._explore()
        if self.families.turning.buffers and not self.even:
            # Stages that are used differently cannot stand for each other.
            self.families = self._families(turns=False)
            self._begin(apart=True)
            return self._shown()
        return gaps

    def _explore(self) -> list[str]:
        """Walk until each way from each state is known."""
        gaps: list[str] = []
        while not self._done():
            if self._many():
                return [_TOO_MANY]
            try:
                stuck = self._walk()
            except OutOfModel as reason:
                return [str(reason)]
            except ZeroDivisionError:
                return ["an index divides by zero for some sizes"]
            found = self.findings
            for one in found.found.values():
                gaps.append(
                    f"line {one.op.span.line}: {one.message}, if loops iterate so often"
                    " for any size, which is not known"
                )
            if gaps or found.gaps or stuck:
                return [*gaps, *found.gaps] or ["roles may wait for ever"]
        return []

    def _done(self) -> bool:
        graph = self.graph
        return bool(graph.ways) and graph.way(0, ends=True) is None

    def _many(self) -> bool:
        return len(self.graph.ways) > _STATES or self.all > self.most

    def _unfit(self) -> Iterator[str]:
        """What this analysis does not look at."""
        program = self.program
        walked = {id(op) for ops in self.pruned.ops.values() for op in ops}
        for op in walk_ops(program.body):
            if id(op) not in walked:
                continue
            line = op.span.line
            asked = isinstance(op, o.If) and op not in self.kinds.tests
            if asked and has_events(o.Block([op])):
                yield f"line {line}: a branch where loops iterate differently often"
            if isinstance(op, o.For) and not has_events(op.body):
                bounds = (op.start, op.stop, op.step)
                if not all(isinstance(e, Const) for e in bounds):
                    yield f"line {line}: a loop over registers alone"

    # -------------------------------------------------------------------- walks

    def _walk(self) -> bool:
        """Walk until nothing is new; whether the roles wait for ever."""
        self.at, self.plan = None, []
        self.made = self.new = 0
        self.walks += 1
        choices = Choices(
            self.program, self.kinds, self.mine, self._choose, apart=self.apart
        )
        self.choices = choices
        walk = ClusterWalk(
            self.program,
            self.env,
            0,
            self.findings,
            self.footprints,
            self.fills,
            _any,
            self.pruned,
            choices=choices,
        )
        try:
            walk.run(lambda _: bool(self.findings.found))
        except _EnoughError:
            return False
        finally:
            self.even &= walk.even
        self._ended()
        return walk.stuck

    def _ended(self) -> None:
        """Nobody had to choose any more."""
        if self.at is not None:
            state, choice = self.at
            if self.graph.ways[state].setdefault(choice, _END) != _END:
                raise OutOfModel(_DIFFERENT)
        elif not self.graph.ways:
            self.graph.number("no choices", False)
            self.graph.ways[0] = {True: _END, False: _END}

    def _choose(self, walk: ClusterWalk, group: GroupState, op: o.For | o.If) -> bool:
        """Whether a loop iterates once more: as it was not yet, if possible."""
        if self.findings.found or self._many():
            raise _EnoughError
        at = self._state(walk, group, op)
        if not self.plan:
            graph = self.graph
            long = self.made > _LONG
            if long and self.new:
                raise _EnoughError
            # A walk that goes to an end first does not go on from there.
            first = self.walks > 1 and not self.made
            self.plan = (
                graph.way(at, ends=first) or graph.way(at, ends=True) or list[bool]()
            )
            if not self.plan:
                raise _EnoughError
        more = self.plan.pop(0)
        self.made += 1
        self.all += 1
        self.at = at, more
        return more

    def _state(self, walk: ClusterWalk, group: GroupState, op: o.For | o.If) -> int:
        """The number of the state in which the walk is."""
        last = op in self.final
        if self.at is None:
            return self.graph.number("begins", last)
        before, choice = self.at
        ways = self.graph.ways[before]
        if choice not in ways:
            state = joint(
                walk, group, self.choices, self.families, self.live, self.starts
            )
            if state is None:
                state = ("after", before, choice)
            ways[choice] = self.graph.number(state, last)
            self.new += 1
        if ways[choice] == _END:
            raise OutOfModel(_DIFFERENT)
        return ways[choice]


def _any(name: str, coords: tuple[int, ...]) -> int:
    """An element of a table; nothing depends on it."""
    del name, coords
    return 1
