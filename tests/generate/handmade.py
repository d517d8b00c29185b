"""Rings of mbarriers that the kernel writes itself, drained by loads or by products.

One or two tensors travel through each slot, in one way or in two, to one or two roles.
The number of steps is that of the sizes, of the tile (a triangle) or of a table; the
counters go on through the tiles of a persistent loop.
"""

from __future__ import annotations

from dataclasses import replace

from generate.barriers import HandRing, Part
from generate.chains import chain, to
from generate.draft import FLOATS, HALVES, Draft, Generated, Place, Value
from generate.grids import Grid, sized
from generate.maps import stored
from generate.roles import Role, Team

BYTES = {"bf16": 2, "f16": 2, "f32": 4}


def _fillers(
    d: Draft, team: Team, count: int, first: str | None = None
) -> list[tuple[str, Role]]:
    """For each part, how it is filled, and by whom."""
    ways = [d.pick(tma=4, cp_async=2, registers=2) for _ in range(count)]
    ways[0] = first or ways[0]
    if len(set(ways)) > 1:
        d.use("parts of two kinds")
    if count > 1 and d.maybe(0.4):
        d.use("several fillers")
        return [
            (way, team.role(f"fill{n}", 1 if way == "tma" else 4))
            for n, way in enumerate(ways)
        ]
    warps = d.rng.choice((1, 1, 4)) if set(ways) == {"tma"} else 4
    role = team.role("fill", warps)
    return [(way, role) for way in ways]


def barrier_rings(d: Draft, seed: int) -> Generated:
    """Y = f(X (+ Z)), or sums of a part of each row that its tile or a table bounds."""
    d.use("roles", "barriers")
    bm, bn = d.rng.choice((16, 32, 64)), d.rng.choice((32, 64))
    rows, width = d.size("BM", bm), d.size("BN", bn)
    team = Team(d)
    names = ("X", "Z") if d.maybe(0.4) else ("X",)
    filled = _fillers(d, team, len(names))
    drainers = [
        team.role(f"use{n}", d.rng.choice((1, 2, 4, 4, 8)), heavy=True)
        for n in range(d.rng.choice((1, 1, 2)))
    ]
    if len(drainers) > 1:
        d.use("several drainers")
    if all(r.warps % 4 == 0 for r in drainers):
        team.budgets()
    bound = d.pick(whole=4, triangle=1.5, table=1.5)
    grid = Grid.drawn(d, {"i": f"ag.cdiv(M, {rows})"}, persistent=0.5)
    parts: list[Part] = []
    for name, (way, role) in zip(names, filled, strict=True):
        kind = d.rng.choice(FLOATS)
        d.tensor(name, kind, ("M", "N"))
        size = f"{rows} * {width} * {BYTES[kind]}"
        view = f"{name}[i * {rows} :, n :]"
        shape = f"{rows}, {width}"
        buffer = f"s{name.lower()}"
        parts.append(Part(name, buffer, kind, shape, size, view, way, role))
    ring = HandRing(d, d.rng.randint(1, 4), parts, drainers)
    _bounded(d, bound, rows)
    grid.begin()
    ring.declare()
    loop = f"for n in ag.range(0, {_BOUNDS[bound].format(rows)}, {width}):"
    for role in ring._fillers():
        with d.block(role.head()):
            d.line("c = 0")
            with grid.tiles():
                _known(d, bound)
                with d.block(loop):
                    ring.fill(role)
            ring.end(role)
    place = Place({"M": (f"i * {rows}", rows), "N": ("n", width)}, ("M", "N"))
    for number, role in enumerate(drainers):
        with d.block(role.head()):
            d.line("c = 0")
            with grid.tiles():
                _known(d, bound)
                summed = bound != "whole" or d.maybe(0.3)
                if not summed:
                    with d.block(loop):
                        out = d.rng.choice(FLOATS)
                        x = _taken(d, ring, role)
                        x = chain(d, x, place, d.rng.randint(0, 2))
                        d.tensor(f"Y{number}", out, ("M", "N"), kind="output")
                        stored(d, x, place, f"Y{number}", out)
                else:
                    _summed(d, ring, role, loop, bound, place, number, bm)
    sizes = sized(d, {"M": 3 * bm, "N": 2 * bn}, multiple={"N": 16}, empty=False)
    if bound == "table":
        sizes = [{**s, "T": -(-s["M"] // bm)} for s in sizes]
    return d.finished(seed, "barrier_rings", sizes, slack=2)


_BOUNDS = {"whole": "N", "triangle": "ag.min(N, (i + 1) * {0})", "table": "last"}


def _bounded(d: Draft, bound: str, rows: str) -> None:
    d.use(f"trip count: {bound}")
    if bound == "table":
        d.tensor("E", "i32", ("T",), draw="table", high="N")
        d.line("ag.assume(lambda e: (e >= 0) & (e <= N), E)")
        d.line(f'ag.require(ag.dim("T") == ag.cdiv(M, {rows}), "an end for each tile")')


def _known(d: Draft, bound: str) -> None:
    if bound == "table":
        d.line("last = E[i]")


def _taken(d: Draft, ring: HandRing, role: Role) -> Value:
    values: list[Value] = []
    with ring.drained(role):
        for p in ring.parts:
            made = d.fresh()
            d.line(f'{made} = {ring.slot(p.buffer)}.load().rename("M N")')
            d.ref(f"{made} = {p.tensor}")
            values.append(Value(made, ("M", "N"), p.dtype, exact=True))
    if len(values) == 1:
        return values[0]
    a, b = (to(d, v, "f32") for v in values)
    made = d.fresh()
    d.line(f"{made} = {a.name} + {b.name}")
    d.ref(f"{made} = {a.name} + {b.name}")
    return replace(a, name=made, exact=False)


def _summed(
    d: Draft, ring: HandRing, role: Role, loop: str, bound: str, place: Place,
    number: int, bm: int,
) -> None:  # fmt: skip
    rows = place.axes["M"][1]
    acc = f"acc{number}"
    d.line(f'{acc} = ag.zeros(({rows},), f32, dims="M")')
    with d.block(loop):
        x = to(d, chain(d, _taken(d, ring, role), place, d.rng.randint(0, 1)), "f32")
        end = _BOUNDS[bound].format(rows)
        made = d.fresh()
        d.line(f'{made} = ag.where(ag.index({x.name}, "N") + n < {end}, {x.name}, 0.0)')
        d.line(f'{acc} = {acc} + ag.sum({made}, "N")')
    tile = f"(np.arange(M) // {bm})"
    ends = {
        "whole": "np.full(M, N)",
        "triangle": f"np.minimum(N, ({tile} + 1) * {bm})",
        "table": f"E[{tile}]",
    }
    seen = f"np.arange(N)[None, :] < {ends[bound]}[:, None]"
    d.ref(f"{acc} = np.where({seen}, {x.name}, 0).sum(-1)")
    own = Place({"M": place.axes["M"]}, ("M",))
    y = chain(d, Value(acc, ("M",), "f32"), own, d.rng.randint(0, 1))
    d.tensor(f"S{number}", "f32", ("M",), kind="output")
    stored(d, y, own, f"S{number}", "f32")


def barrier_products(d: Draft, seed: int) -> Generated:
    """C = f(A W^T) by `wgmma`, or by `mma` of what `ldmatrix` loads; clusters, too."""
    d.use("roles", "barriers", "product")
    kind = d.rng.choice(HALVES)
    wgmma = d.maybe(0.6)
    cluster = d.rng.choice((1, 1, 2, 4))
    sizes = {"M": 64, "N": d.rng.choice((32, 64, 128)), "K": d.rng.choice((32, 64))}
    if cluster > 1 and sizes["N"] // cluster < 16:
        cluster = 2
    text = {n: d.size(f"B{n}", v) for n, v in sizes.items()}
    team = Team(d)
    # W is the first part: in a cluster all blocks need the same of it.
    filled = _fillers(d, team, 2, "tma" if cluster > 1 else None)
    drainer = team.role("math", 4, heavy=True)
    team.budgets()
    grid = Grid.drawn(
        d,
        {"i": f"ag.cdiv(M, {text['M']})", "j": f"ag.cdiv(N, {text['N']})"},
        persistent=0.4,
        cluster=cluster,
    )
    parts: list[Part] = []
    for (name, own, at), (way, role) in zip(
        (("W", "N", "j"), ("A", "M", "i")), filled, strict=True
    ):
        d.tensor(name, kind, (own, "K"))
        shape = f"{text[own]}, {text['K']}"
        size = f"{text[own]} * {text['K']} * 2"
        view = f"{name}[{at} * {text[own]} :, k :]"
        cast = cluster if name == "W" else 1
        buffer = f"s{name.lower()}"
        parts.append(Part(name, buffer, kind, shape, size, view, way, role, cast))
    if cluster > 1:
        d.use("multicast")
    ring = HandRing(d, d.rng.randint(1, 4), parts, [drainer], wgmma, cluster)
    grid.begin()
    ring.declare()
    loop = f"for k in ag.range(0, K, {text['K']}):"
    for role in ring._fillers():
        with d.block(role.head()):
            d.line("c = 0")
            with grid.tiles(), d.block(loop):
                ring.fill(role)
            ring.end(role)
    with d.block(drainer.head()):
        d.line("c = 0")
        with grid.tiles():
            d.line(f"acc = ag.zeros(({text['M']}, {text['N']}), f32)")
            with d.block(loop), ring.drained(drainer):
                name = d.rng.choice(("dot", "wgmma")) if wgmma else "mma"
                w, a = (ring.slot(p.buffer) for p in parts)
                d.line(f"acc = ag.{name}({a}, {w}.T, acc)")
            d.ref("acc = A @ W.T")
            axes: dict[str, tuple[str, str | None]] = {
                "M": (f"i * {text['M']}", text["M"]),
                "N": (f"j * {text['N']}", text["N"]),
            }
            place = Place(axes, ("M", "N"))
            d.line('acc = acc.rename("M N")')
            x = chain(d, Value("acc", ("M", "N"), "f32"), place, d.rng.randint(0, 2))
            out = d.rng.choice(FLOATS)
            d.tensor("C", out, ("M", "N"), kind="output")
            stored(d, x, place, "C", out)
        ring.leave()
    launches = sized(d, sizes, multiple=dict.fromkeys("MNK", 8), empty=False)
    return d.finished(seed, "barrier_products", launches, slack=2)


def multicast_rings(d: Draft, seed: int) -> Generated:
    """Y[m, n] = f(X[m, n] + sum of W[:, n]); a cluster loads each tile of W once."""
    d.use("roles", "multicast")
    cluster = d.rng.choice((2, 4))
    bm, bn = d.rng.choice((16, 32, 64)), d.rng.choice((32, 64))
    if bm // cluster < 8:
        bm = 32
    rows, width = d.size("BM", bm), d.size("BN", bn)
    team = Team(d)
    loader = team.role("load", 1)
    drainers = [
        team.role(f"use{n}", d.rng.choice((1, 4, 4)), heavy=True)
        for n in range(d.rng.choice((1, 2)))
    ]
    if all(r.warps == 4 for r in drainers):
        team.budgets()
    counts = {"i": f"ag.cdiv(M, {rows})", "j": f"ag.cdiv(N, {width})"}
    grid = Grid.drawn(d, counts, persistent=0.4, cluster=cluster)
    kind = d.rng.choice(FLOATS)
    d.tensor("X", kind, ("M", "N"))
    d.tensor("W", kind, ("R", "N"))
    grid.begin()
    d.line(f"ring = ag.ring({d.rng.randint(1, 4)}, w={kind}.tile({rows}, {width}))")
    loop = f"for r in ag.range(0, R, {rows}):"
    with (
        d.block(loader.head()),
        grid.tiles(),
        d.block(loop),
        d.block("with ring.fill() as slot:"),
    ):
        d.line(f"slot.w.load(W[r:, j * {width} :], multicast={cluster})")
    axes: dict[str, tuple[str, str | None]] = {
        "M": (f"i * {rows}", rows),
        "N": (f"j * {width}", width),
    }
    place = Place(axes, ("M", "N"))
    for number, role in enumerate(drainers):
        with d.block(role.head()), grid.tiles():
            acc, x, made = d.fresh("acc"), d.fresh(), d.fresh()
            d.line(f'{acc} = ag.zeros(({width},), f32, dims="N")')
            with d.block(loop), d.block("with ring.drain() as slot:"):
                d.line(f'{acc} = {acc} + ag.sum(slot.w.load().to(f32), "R")')
            d.line(f"{x} = {place.load('X', ('M', 'N'))}")
            d.line(f"{made} = {x}.to(f32) + {acc}")
            d.ref(f"{made} = X + W.sum(0)")
            y = Value(made, ("M", "N"), "f32")
            y = chain(d, y, place, d.rng.randint(0, 2))
            out = d.rng.choice(FLOATS)
            d.tensor(f"Y{number}", out, ("M", "N"), kind="output")
            stored(d, y, place, f"Y{number}", out)
    tiles = {"M": 3 * bm, "N": bn, "R": 2 * bm}
    sizes = sized(d, tiles, multiple={"N": 16}, empty=False)
    return d.finished(seed, "multicast_rings", sizes, slack=4)
