"""Rings that are filled and drained at different rates.

A unit is a few slots. The role that fills puts some of them in each iteration of its
loop, those that drain take others; how many units a tile has is for sizes, the tile (a
triangle) or a table to say. Units may come in two loops one after another, from one
ring or from two, and a last slot by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from generate.draft import FLOATS, Draft, Generated
from generate.grids import Grid, sized
from generate.roles import Team


@dataclass
class Rates:
    """What the roles of a kernel share: slots of a unit, rings, loops."""

    d: Draft
    grid: Grid
    bound: str
    unit: int
    bm: int
    bn: int
    inputs: list[str]
    rings: list[str]
    """The ring of each input."""
    loops: int

    @property
    def units(self) -> str:
        """How many units a tile has, in text."""
        whole = f"ag.cdiv(N, {self.unit * self.bn})"
        return {
            "whole": whole,
            "exact": whole,
            "triangle": f"ag.min({whole}, i + 1)",
            "table": "E[i]",
            "rest": f"ag.cdiv(N, {self.bn})",
        }[self.bound]

    def loop(self, rate: int) -> tuple[str, str]:
        """A loop with so many slots an iteration, and the first one's number."""
        if self.bound == "exact":
            width = rate * self.bn
            return f"for n in ag.range(0, N, {width}):", f"n // {self.bn}"
        times = self.unit // rate
        many = "steps" if times == 1 else f"{times} * steps"
        if self.bound == "rest":
            many = "steps" if rate == 1 else f"steps // {rate}"
        return f"for s in ag.range(0, {many}):", f"s * {rate}"

    def begin(self) -> None:
        """In each tile: how many steps it has."""
        if self.bound != "exact":
            self.d.line(f"steps = {self.units}")

    def view(self, name: str, slot: str) -> str:
        """The part of a tensor that a slot has."""
        return f"{name}[i * {self.bm} :, ({slot}) * {self.bn} :]"


def rates(d: Draft, seed: int) -> Generated:
    """S = sums of the parts of each row that its tile's units have, per input."""
    d.use("roles", "rates")
    bm, bn = d.rng.choice((16, 32)), d.rng.choice((16, 32))
    bound = d.pick(whole=3, exact=3, triangle=3, table=2, rest=2)
    d.use(f"trip count: {bound}")
    unit = d.rng.choice((1, 2, 2, 3, 4, 6)) if bound != "rest" else 2
    inputs = ["X", "Z"] if d.maybe(0.4) else ["X"]
    split = len(inputs) > 1 and d.maybe(0.6)
    rings = [f"ring_{n.lower()}" if split else "ring" for n in inputs]
    loops = d.rng.choice((1, 1, 2)) if bound != "rest" else 1
    if loops > 1:
        d.use("two loops")
    team = Team(d)
    fillers = [team.role("fill", 1)]
    if split and d.maybe(0.5):
        fillers.append(team.role("fill1", 1))
    drainers = [
        team.role(f"use{n}", d.rng.choice((1, 4)), heavy=True)
        for n in range(d.rng.choice((1, 1, 2)))
    ]
    grid = Grid.drawn(d, {"i": f"ag.cdiv(M, {bm})"}, persistent=0.6)
    made = Rates(d, grid, bound, unit, bm, bn, inputs, rings, loops)
    kind = d.rng.choice(FLOATS)
    for name in inputs:
        d.tensor(name, kind, ("M", "N"))
    if bound == "table":
        d.tensor("E", "i32", ("T",), draw="table", high=4)
        d.line("ag.assume(lambda e: (e >= 0) & (e <= 4), E)")
        d.line(f'ag.require(ag.dim("T") == ag.cdiv(M, {bm}), "an end for each tile")')
    if bound == "exact":
        d.line(f'ag.require(N % {unit * bn} == 0, "whole units")')
    grid.begin()
    held = [d.maybe(0.4) for _ in drainers]
    dividers = [x for x in (1, 2, 3, 4, 6) if unit % x == 0]
    drains = [d.rng.choice(dividers) for _ in drainers]
    fills = 1 if bound == "rest" else d.rng.choice(dividers)
    d.use(f"rates {'equal' if set(drains) == {fills} else 'differ'}")
    # Who holds several slots needs as many, and roles in step with two rings, too.
    least = max([n for n, h in zip(drains, held, strict=True) if h], default=1)
    if len(inputs) > 1:
        least = max(least, unit, len(inputs) * least)
    for ring in dict.fromkeys(rings):
        stages = d.rng.randint(least, max(least, 4) + 1)
        d.line(f"{ring} = ag.ring({stages}, a={kind}.tile({bm}, {bn}))")
    for number, role in enumerate(fillers):
        mine = inputs if len(fillers) == 1 else [inputs[number]]
        with d.block(role.head()), grid.tiles():
            _fill(made, mine, fills)
    _reference(made)
    for number, role in enumerate(drainers):
        with d.block(role.head()), grid.tiles():
            _drain(made, number, drains[number], hold=held[number])
    sizes = sized(
        d, {"M": 4 * bm, "N": 2 * unit * bn}, empty=False,
        multiple={"N": unit * bn if bound == "exact" else 16},
    )  # fmt: skip
    if bound == "table":
        sizes = [{**s, "T": -(-s["M"] // bm)} for s in sizes]
    return d.finished(seed, "rates", sizes, slack=4)


def _fill(made: Rates, mine: list[str], rate: int) -> None:
    d = made.d
    made.begin()
    for _ in range(made.loops):
        head, first = made.loop(rate)
        with d.block(head):
            for t in range(rate):
                for name in mine:
                    ring = made.rings[made.inputs.index(name)]
                    with d.block(f"with {ring}.fill() as slot:"):
                        d.line(f"slot.a.load({made.view(name, f'{first} + {t}')})")


def _drain(made: Rates, number: int, rate: int, *, hold: bool) -> None:
    d = made.d
    made.begin()
    acc = f"acc{number}"
    d.line(f'{acc} = ag.zeros(({made.bm},), f32, dims="M")')
    for _ in range(made.loops):
        with d.block(made.loop(rate)[0]):
            _taken(made, acc, rate, hold=hold)
    if made.bound == "rest" and rate > 1:
        d.use("a last slot")
        with d.block("if steps % 2 == 1:"):
            _taken(made, acc, 1, hold=False)
    d.ref(f"out_S{number} = {' + '.join(f'sum_{n}' for n in made.inputs)}")
    d.tensor(f"S{number}", "f32", ("M",), kind="output")
    d.line(f"S{number}[i * {made.bm} :] = {acc}")


def _taken(made: Rates, acc: str, rate: int, *, hold: bool) -> None:
    d = made.d
    if not hold:
        for _ in range(rate):
            for ring in made.rings:
                with d.block(f"with {ring}.drain() as slot:"):
                    d.line(f'{acc} = {acc} + ag.sum(slot.a.load().to(f32), "N")')
        return
    d.use("several slots held")
    names: list[str] = []
    for _ in range(rate):
        for ring in made.rings:
            names.append(d.fresh("slot"))
            d.line(f"{names[-1]} = {ring}.wait()")
    for name in names:
        d.line(f'{acc} = {acc} + ag.sum({name}.a.load().to(f32), "N")')
    for name in names:
        d.line(f"{name}.release()")


def _reference(made: Rates) -> None:
    d, width = made.d, made.unit * made.bn
    last = {
        "whole": "N",
        "exact": "N",
        "rest": "N",
        "triangle": f"(r // {made.bm} + 1) * {width}",
        "table": f"int(E[r // {made.bm}]) * {width}",
    }[made.bound]
    for name in made.inputs:
        parts = f"[{name}[r, : {last}].sum() for r in range(M)]"
        d.ref(f"sum_{name} = {made.loops} * np.array({parts})")
