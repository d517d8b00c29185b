"""Shared buffers that roles hand to each other by named barriers, or by turns.

Ways: both roles meet; one arrives and the other waits; two roles read what one wrote;
one of them stores by TMA; two roles use one buffer in turn.
"""

from __future__ import annotations

from generate.chains import chain
from generate.draft import FLOATS, Draft, Generated, Place, Value
from generate.grids import Grid, sized
from generate.maps import stored
from generate.roles import Team


def handoffs(d: Draft, seed: int) -> Generated:
    """Y = f(X) through one or two buffers; the last role may sum rows."""
    d.use("roles", "named syncs")
    if d.maybe(0.25):
        return _by_turns(d, seed)
    bm, bn = d.rng.choice((16, 32, 64)), d.rng.choice((32, 64))
    rows, width = d.size("BM", bm), d.size("BN", bn)
    count = d.rng.choice((1, 1, 2))
    readers = d.rng.choice((1, 1, 2))
    way = d.pick(meet=2, arrive=3)
    team = Team(d)
    writer = team.role("write", 4)
    users = [team.role(f"read{n}", 4, heavy=True) for n in range(readers)]
    team.budgets()
    threads = 128 * (1 + readers)
    counts = {"i": f"ag.cdiv(M, {rows})"}
    grid = Grid.drawn(d, counts, persistent=0.5)
    kind, held = d.rng.choice(FLOATS), d.rng.choice(FLOATS)
    d.tensor("X", kind, ("M", "N"))
    d.rounded(held)
    grid.begin()
    tma = [d.maybe(0.4) for _ in users]
    for b in range(count):
        d.line(f'b{b} = ag.shared({held}, ({rows}, {width}), dims="M N")')
    steps = f"for n0 in ag.range(0, N, {count} * {width}):"

    def places(b: int) -> Place:
        start = f"n0 + {b} * {width}" if b else "n0"
        return Place({"M": (f"i * {rows}", rows), "N": (start, width)}, ("M", "N"))

    def sync(name: str, arrive: bool = False) -> None:
        what = "arrive" if arrive and way == "arrive" else "sync"
        d.line(f'ag.{what}("{name}", threads={threads})')

    early = way == "arrive"
    with d.block(writer.head()), grid.tiles(), d.block(steps):
        for b in range(count):
            made = d.fresh("x")
            cast = "" if held == kind else f".to({held})"
            d.line(f"{made} = {places(b).load('X', ('M', 'N'))}{cast}")
            if early:
                sync(f"free{b}")
            d.line(f"b{b}.store({made})")
            if any(tma):
                d.use("fence")
                d.line("ag.fence_async()")
            sync(f"full{b}", arrive=True)
            if not early:
                sync(f"free{b}")
    for number, (user, stores) in enumerate(zip(users, tma, strict=True)):
        out = held if stores else d.rng.choice(FLOATS)
        d.tensor(f"Y{number}", out, ("M", "N"), kind="output")
        with d.block(user.head()), grid.tiles(), d.block(steps):
            for b in range(count):
                if early:
                    sync(f"free{b}", arrive=True)
                sync(f"full{b}")
                if stores:
                    d.use("TMA store")
                    view = f"Y{number}[{places(b).index(('M', 'N'))}]"
                    d.line(f"ag.tma_store({view}, b{b})")
                    d.line("ag.tma_store_wait(0)")
                    if not early:
                        sync(f"free{b}", arrive=True)
                    d.ref(f"out_Y{number} = X")
                    continue
                made = d.fresh()
                d.line(f"{made} = b{b}.load()")
                if not early:
                    sync(f"free{b}", arrive=True)
                d.ref(f"{made} = X")
                x = Value(made, ("M", "N"), held, exact=held == kind)
                # The reference is of whole arrays: all buffers go through one chain.
                x = chain(d, x, places(b), d.rng.randint(0, 2) if count == 1 else 0)
                stored(d, x, places(b), f"Y{number}", out)
    sizes = sized(d, {"M": 3 * bm, "N": 3 * bn}, multiple={"N": 16}, empty=False)
    return d.finished(seed, "handoffs", sizes, slack=2)


def _by_turns(d: Draft, seed: int) -> Generated:
    """Roles that write and read one buffer in turn, each every n-th tile of a row."""
    d.use("turns")
    bm, bn = d.rng.choice((16, 32, 64)), d.rng.choice((32, 64))
    rows, width = d.size("BM", bm), d.size("BN", bn)
    count = d.rng.choice((2, 2, 3))
    team = Team(d)
    role = team.role("use", 4, copies=count, heavy=True)
    team.budgets()
    grid = Grid.drawn(d, {"i": f"ag.cdiv(M, {rows})"}, persistent=0.0)
    kind, out = d.rng.choice(FLOATS), d.rng.choice(FLOATS)
    d.tensor("X", kind, ("M", "N"))
    d.tensor("Y", out, ("M", "N"), kind="output")
    grid.begin()
    d.line(f'tile = ag.shared({kind}, ({rows}, {width}), dims="M N")')
    d.line(f'turn = ag.turns("tile", {count})')
    place = Place({"M": (f"i * {rows}", rows), "N": ("n", width)}, ("M", "N"))
    with (
        d.block(f"for w in ag.static_range({count}):"),
        d.block(role.head()),
        grid.tiles(),
        d.block(f"for n in ag.range(w * {width}, N, {count} * {width}):"),
    ):
        x, made = d.fresh(), d.fresh()
        d.line(f"{x} = {place.load('X', ('M', 'N'))}")
        d.line("turn.wait(w)")
        d.line(f"tile.store({x})")
        d.line("ag.sync()")
        d.line(f"{made} = tile.load()")
        d.line("turn.next(w)")
        d.ref(f"{made} = X")
        y = Value(made, ("M", "N"), kind, exact=True)
        stored(d, chain(d, y, place, d.rng.randint(0, 2)), place, "Y", out)
    sizes = sized(d, {"M": bm, "N": 4 * bn}, multiple={"N": 16}, empty=False)
    return d.finished(seed, "handoffs", sizes)
