"""Concrete sizes that realise trip counts, within what a program requires."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from math import lcm

from argus.extents import LEAST_EXTENT
from argus.ir import ops as o
from argus.ir.expr import Expr, Sym, binary, evaluate, holds, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import (
    GRID_SIZE,
    HARDWARE,
    SM_COUNT,
    Program,
)
from argus.verify.decide import prove
from argus.verify.decide.nearest import nearest
from argus.verify.order.control_dependence import Control
from argus.verify.order.course import Courses, used
from argus.verify.order.nested_loops import inner_sizes
from argus.verify.order.partial_tiles import PartialTile, part_of_a_tile
from argus.verify.order.slicing import Pruned
from argus.verify.order.usual_sizes import usual
from argus.verify.verdict import Verdict

__all__ = ["Sizes", "admits_none", "dims"]

_FACTORS = (1, 2, 4, 8, 16)
_REPEATED = 3
"""Tiles at least, of which each is many iterations."""


class Sizes:
    """Which sizes are varied, and values for all symbols given their trip counts.

    ``varied``: innermost first. ``loops``: the loops that each of them decides.
    ``gaps``: loops that iterate more often with no size that was tried.
    """

    def __init__(
        self, program: Program, control: Control, pruned: Pruned, courses: Courses
    ) -> None:
        self.program = program
        self._courses = courses
        self._counts: dict[frozenset[tuple[str, int | float]], dict[int, int] | None]
        self._counts = {}
        """The most iterations of each loop at some values; None: a division by 0."""
        self.control = control
        self.loops: dict[str, list[o.For]] = {}
        self.together: dict[str, tuple[str, ...]] = {}
        """Sizes that have to grow with a varied one for its loops to iterate."""
        self.gaps: list[str] = []
        self.more: dict[str, int] = {}
        """Elements that are added to sizes, beyond their tiles."""
        self.parts: dict[tuple[str, int], PartialTile] = {}
        self.units = {
            name: lcm(unit, program.facts.get(name, 1))
            for name, unit in control.units.items()
        }
        self.fixed = usual(program, self.units)
        self.dims = dims(program)
        self.inner = inner_sizes(
            program, control, pruned, lambda tiles: self.environment(tiles) is not None
        )
        """Sizes that stay one tile: their loops are parts of others."""
        self.varied = (*self._classes(), *self._conditions())

    # ------------------------------------------------------------------ choosing

    def _classes(self) -> Iterator[str]:
        """One size (or a few that grow together) for each set of loops."""
        classes: dict[frozenset[o.For], list[str]] = {}
        for size in sorted(self.control.sizes - self.inner.keys()):
            decided = {op for op, by in self.control.loops.items() if size in by}
            if decided:
                classes.setdefault(frozenset(decided), []).append(size)

        def depth(loops: frozenset[o.For]) -> int:
            return max(self.control.depth[op] for op in loops)

        inner = {op for loops in self.inner.values() for op in loops}
        # In the order of the program: what is reported first does not vary.
        left = {op: None for op in self.control.loops if op not in inner}
        for loops in sorted(classes, key=lambda x: (-depth(x), classes[x])):
            mine = [op for op in left if op in loops]
            if mine and (size := self._grow(classes[loops], mine)) is not None:
                self.loops[size] = mine
                left = {op: None for op in left if op not in mine}
                yield size
        for op in left:
            self.gaps.append(
                f"no size found that makes line {op.span.line} iterate more"
            )

    def _conditions(self) -> Iterator[str]:
        for size in sorted(self.control.conditions):
            if size not in self.loops:
                self.loops[size] = []
                self.together[size] = ()
                yield size

    def _grow(self, sizes: list[str], loops: list[o.For]) -> str | None:
        """Find which sizes make loops iterate, and how much one iteration takes."""
        open_ = len(self.gaps)
        for count in (1, 2, len(sizes)):
            for chosen in combinations(sizes, count):
                size = chosen[0]
                self.together[size] = chosen[1:]
                for factor in _FACTORS:
                    if self._steady(size, factor, loops):
                        for name in chosen:
                            self.units[name] = self.units.get(name, 1) * factor
                        self._narrow(size, loops)
                        self._spread(size, loops)
                        return size
                del self.together[size]
                # What is not taken leaves nothing open.
                del self.gaps[open_:]
        return None

    def _narrow(self, size: str, loops: list[o.For]) -> None:
        """Take less of a size as its tile, where that is several iterations."""
        more = self._iterations(size, 3, loops) - self._iterations(size, 2, loops)
        whole, least = self.units.get(size, 1), self.program.facts.get(size, 1)
        if size in self.control.residues or more < 2 or whole % more:
            return
        self.units[size] = whole // more
        steps = [self._iterations(size, n, loops) for n in (2, 3, 4)]
        if whole // more % least or steps[1:] != [n + 1 for n in steps[:-1]]:
            self.units[size] = whole

    def _spread(self, size: str, loops: list[o.For]) -> None:
        """Let blocks share the least step of a size where it is several iterations."""
        more = self._iterations(size, 3, loops) - self._iterations(size, 2, loops)
        if more <= 1:
            return
        self.fixed[SM_COUNT.name] *= more
        if self._iterations(size, 3, loops) - self._iterations(size, 2, loops) != 1:
            self.fixed[SM_COUNT.name] //= more

    def _steady(self, size: str, factor: int, loops: list[o.For]) -> bool:
        iterations = [self._iterations(size, factor * n, loops) for n in (2, 3, 4)]
        return iterations[0] < iterations[1] < iterations[2]

    def enough(self, size: str, iterations: int) -> tuple[int, ...]:
        """How many tiles lead to so many iterations, and then, to be sure, so many."""
        loops = self.loops[size]
        each = [
            self._iterations(size, 3, [op]) - self._iterations(size, 2, [op])
            for op in loops
        ]
        few = max(-(-iterations // max(min(each), 1)), _REPEATED)
        return (few, iterations) if few < iterations else (iterations,)

    def tied(self) -> Iterator[str]:
        """What is not varied by itself, or only together with another size."""
        # Which blocks there are, the sizes of the grid say.
        of_grid = {s.name for s in symbols(self.program.grid)}
        for names in self.control.apart:
            several = names | of_grid if names & _HARDWARE else names
            if not several & {*self.varied, *self.inner}:
                named = " and ".join(sorted(names))
                yield f"no multiples of {named} were found that change a loop each"
        for required in self.program.requirements:
            names = {s.name for s in symbols(required.cond)} & set(self.varied)
            if len(names) > 1:
                yield f"{required.cond} ties {' and '.join(sorted(names))}"

    def left_out(self, size: str, most: int) -> Iterator[str]:
        """Loops that may iterate as often as they do at no multiple of a size's tile.

        ``most``: how many tiles are walked.
        """
        if size in self.control.residues:
            return  # what lies between its tiles is walked, too
        for op in self.loops[size]:
            content = self.control.contents.get(op, 1)
            walked = [self._trip_count(size, n, [op]) for n in range(most + 1)]
            found = sorted({n for n in walked if n is not None})
            first = self._first(size, walked)
            if any(b - a > content for a, b in pairwise([first, *found])):
                yield (
                    f"the loop of line {op.span.line} may iterate as often as it does "
                    f"at no multiple of {self.units.get(size, 1)} of {size}"
                )

    def _first(self, size: str, walked: Sequence[int | None]) -> int:
        """The trip count of the least size; 0 where that is not known.

        ``walked``: those of no tiles, one tile, and so on.
        """
        if size in self.dims:
            least = 1 if self._part(size) is None else 0
            if len(walked) > least:
                return walked[least] or 0
        return 0

    def _iterations(self, size: str, units: int, loops: list[o.For]) -> int:
        """The most iterations of some loops with so many units of a size."""
        return self._trip_count(size, units, loops) or 0

    def _trip_count(self, size: str, units: int, loops: list[o.For]) -> int | None:
        """The same; None where the program does not admit that, or launches nothing."""
        env = self.environment({size: units})
        if env is None:
            return None
        grid = int(evaluate(self.program.grid, env))
        if grid < self.program.cluster:
            return None
        env[GRID_SIZE.name] = grid
        key = frozenset(env.items())
        if key not in self._counts:
            self._counts[key] = self._counted(env, grid)
        counts = self._counts[key]
        if counts is None:
            return None
        return max((counts.get(id(op), 0) for op in loops), default=0)

    def _counted(
        self, env: Mapping[str, int | float], grid: int
    ) -> dict[int, int] | None:
        counts: dict[int, int] = {}
        for block in {0, grid - 1}:
            rank = block % self.program.cluster
            try:
                self._courses.trips(env, block, rank, used, counts)
            except ZeroDivisionError:
                return None
        return counts

    # -------------------------------------------------------------------- values

    def between(self, size: str) -> list[int]:
        """Some numbers of elements, less than a tile, to add to a size."""
        unit, least = self.units.get(size, 1), self.program.facts.get(size, 1)
        found = (least, unit // 2 // least * least, unit - least)
        return sorted({x for x in found if 0 < x < unit})

    def environment(self, chosen: Mapping[str, int]) -> dict[str, int | float] | None:
        """Values of all symbols; None when the program does not admit these sizes.

        ``chosen`` are in units of the size's tile; of no tiles it has a part of one.
        """
        env = dict(self.fixed)
        taken = set(chosen)
        for size, iterations in chosen.items():
            env[size] = self.units.get(size, 1) * iterations + self.more.get(size, 0)
            for other in self.together.get(size, ()):
                env[other] = self.units.get(other, 1) * iterations
                taken.add(other)
        for name in taken & self.dims.keys():
            if env[name] < LEAST_EXTENT and not admits_none(self.program, name):
                part = self._part(name)
                if part is None:
                    return None
                env[name] = part
        for name in env.keys() & (self.more.keys() - set(chosen)):
            env[name] += self.more[name]
            taken.add(name)
        beside = taken - set(chosen)
        free = [n for n in env if n not in taken and n != SM_COUNT.name]
        required = [r.cond for r in self.program.requirements]
        found = nearest(required, env, free)
        if found.values is None and beside and not found.open:
            # They were to grow with a chosen one, or in another way.
            found = nearest(required, env, [*free, *sorted(beside)])
            if found.values is not None:
                named = " and ".join(sorted({*chosen, *beside}))
                self.gaps.append(f"not all numbers of tiles of {named} were admitted")
                return None
        if found.open:
            self.gaps.append(found.open)
        return found.values

    def _part(self, size: str) -> int | None:
        """A size of less than a tile, which its loops see as they would see 0."""
        unit = self.units.get(size, 1)
        below = min([x for x in self.control.residues.get(size, ()) if x] + [unit])
        if (size, below) not in self.parts:
            step = self.program.facts.get(size, 1)
            required = [r.cond for r in self.program.requirements]
            sym = self.dims[size]
            made = part_of_a_tile(sym, below, step, required, self.fixed)
            self.parts[size, below] = made
            self.gaps += [made.open] if made.open else []
        return self.parts[size, below].size

    def at(self, sizes: Mapping[str, int]) -> dict[str, int | float] | None:
        """Values of all symbols with these sizes, in elements; None as above."""
        env = dict(self.fixed)
        env.update((name, n) for name, n in sizes.items() if name in env)
        return None if self._failing(env) else env

    def admitted(
        self, size: str, others: Mapping[str, int], counts: Iterable[int]
    ) -> int | None:
        """The first number of a size's tiles that the program admits with others."""
        given = (n for n in counts if self.environment({**others, size: n}) is not None)
        return next(given, None)

    def bounded(self, size: str, most: int) -> bool:
        """Whether what the program requires leaves no more than so many tiles."""
        required = [r.cond for r in self.program.requirements]
        own = {s for cond in required for s in symbols(cond) if s.name == size}
        unit = self.units.get(size, 1)
        return any(
            prove(binary("<", sym, unit * (most + 1)), required).verdict
            is Verdict.PROVED
            for sym in own
        )

    def none(self) -> str:
        """Why no sizes were walked."""
        required = [r.cond for r in self.program.requirements]
        said = " and ".join(map(str, required))
        free = [n for n in self.fixed if n != SM_COUNT.name]
        found = nearest(required, self.fixed, free)
        if found.values is None:
            return found.open or f"no launch has sizes for which {said}"
        env = self.environment(dict.fromkeys(self.varied, 1)) or found.values
        at = ", ".join(f"{name} = {env[name]}" for name in self.dims if name in env)
        return f"no walk was made at sizes that the program admits, such as {at}"

    def _failing(self, env: Mapping[str, int | float]) -> list[Expr]:
        conditions = [r.cond for r in self.program.requirements]
        return [c for c in conditions if not holds(c, env)]


_HARDWARE = frozenset(s.name for s in HARDWARE)


def dims(program: Program) -> dict[str, Sym]:
    """Sizes of tensors, by name."""
    return {
        s.name: s
        for p in program.params
        if isinstance(p, GlobalTensor)
        for e in p.shape
        for s in symbols(e)
    }


def admits_none(program: Program, size: str) -> bool:
    """Whether requirements of a size alone leave it 0."""
    own = (r.cond for r in program.requirements)
    return all(
        holds(c, {size: 0}) for c in own if {s.name for s in symbols(c)} == {size}
    )
