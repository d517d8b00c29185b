"""Which tiles a block does: one grid form, which every role then walks.

    grid = Grid.drawn(draft, {"i": "ag.cdiv(M, 64)", "j": "ag.cdiv(N, 64)"})
    with grid.tiles():                # at the top (one tile per block): no loop
        ...                           # `i` and `j` are known here

A persistent form is a loop, to be written in each role; any other form is a line before
the roles.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from generate.draft import Draft


@dataclass
class Grid:
    """Names of the indices and how many of each there are."""

    draft: Draft
    head: str
    persistent: bool
    cluster: int = 1

    @staticmethod
    def drawn(
        d: Draft,
        counts: dict[str, str],
        *,
        persistent: float = 0.25,
        cluster: int = 1,
    ) -> Grid:
        """A form for these counts; a loop in that share of the cases."""
        names, sizes = ", ".join(counts), ", ".join(counts.values())
        tiled = len(counts) == 2 and (cluster > 1 or d.maybe(0.4))
        group = (
            d.rng.choice(("", ", group=2", ", group=3", ", group=8")) if tiled else ""
        )
        loop = d.maybe(persistent)
        form = ("persistent" if loop else "block") + ("_tile" if tiled else "")
        form += "s" if form == "persistent_tile" else ""
        d.use(form)
        call = f"ag.{form}({sizes}{group})"
        if cluster > 1:
            d.use("cluster")
            d.line(f"ag.cluster({cluster})")
        head = f"for {names} in {call}:" if loop else f"{names} = {call}"
        return Grid(d, head, loop, cluster)

    def begin(self) -> None:
        """Before the roles: the line of a form that is no loop."""
        if not self.persistent:
            self.draft.line(self.head)

    @contextmanager
    def tiles(self) -> Iterator[None]:
        """Inside a role (or a kernel without roles): the loop of a persistent form."""
        if not self.persistent:
            yield
            return
        with self.draft.block(self.head):
            yield


def sized(
    d: Draft, tiles: dict[str, int], *, multiple: dict[str, int] | None = None,
    empty: bool = True, count: int = 3,
) -> list[dict[str, int]]:  # fmt: skip
    """Sizes of some launches: whole tiles, odd ones, one, at times empty.

    ``multiple``: what a dimension must be divisible by. All of them are launches of one
    specialisation, which knows what divides all.
    """
    found: list[dict[str, int]] = []
    need = {n: (multiple or {}).get(n, 1) for n in tiles}
    style = d.pick(even=3, odd=3)
    for _ in range(count):
        one: dict[str, int] = {}
        for name, tile in tiles.items():
            step = max(need[name], 16 if style == "even" else 1)
            most = max(1, round(tile * d.rng.choice((0.5, 1, 2, 2.6, 3)) / step))
            odd = d.rng.randint(1, most) if d.maybe(0.5) else most
            one[name] = step * (odd if style == "odd" or d.maybe(0.3) else most)
        found.append(one)
    if d.maybe(0.3):
        d.use("size one")
        name = d.rng.choice(list(tiles))
        found[0][name] = need[name]
    if empty and d.maybe(0.15):
        d.use("empty")
        found[-1][d.rng.choice(list(tiles))] = 0
    return found
