"""Trip counts that no size chooses: every loop iterates as often as it likes.

Where sizes decide several loops in ways that do not repeat from tile to tile, the walks
at some sizes do not stand for all. Loops that iterate equally often whatever the sizes
are, but for a constant, form a class. If all trip counts of all classes are right,
from the least that each is shown to have, in any combination, then so are those that
sizes can bring about. (If not, nothing is known: the combination may not exist.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from argus.verify.order.size_relations import Alike
from argus.verify.order.sizes import Sizes, forced

__all__ = ["FreeSizes"]


class FreeSizes(Sizes):
    """Trip counts of classes of loops in the place of sizes."""

    def __init__(self, whole: Sizes, classes: Sequence[Alike]) -> None:
        self.program, self.control = whole.program, whole.control
        self.base = whole.environment(dict.fromkeys(whole.varied, 2))
        self.more = {}
        self.classes = {
            f"iterations of line {alike.loops[0][0].span.line} ({i})": alike
            for i, alike in enumerate(classes)
        }
        inner = {n: max(self._depths(c)) for n, c in self.classes.items()}
        self.varied = tuple(sorted(self.classes, key=lambda n: -inner[n]))
        self.loops = {n: [op for op, _ in c.loops] for n, c in self.classes.items()}
        given = {op for several in self.loops.values() for op in several}
        self.gaps = [
            f"line {op.span.line}: nothing says how often this loop may iterate"
            for op in self.control.loops
            if op not in given
        ]

    def _depths(self, alike: Alike) -> list[int]:
        return [self.control.depth[op] for op, _ in alike.loops]

    def environment(self, chosen: Mapping[str, int]) -> dict[str, int | float] | None:
        """Values of all symbols at one size, and how often each loop iterates.

        None for fewer iterations than any sizes have.
        """
        if self.base is None:
            return None
        if any(
            iterations < self.classes[name].least for name, iterations in chosen.items()
        ):
            return None
        env = dict(self.base)
        for name, iterations in chosen.items():
            for op, more in self.classes[name].loops:
                env[forced(op)] = max(iterations + more, 0)
        return env
