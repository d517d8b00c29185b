"""Tiles that leave by TMA from buffers that are used again, and sums that overlap."""

from __future__ import annotations

from generate.chains import chain, loaded, to
from generate.draft import FLOATS, Draft, Generated, Place, Value
from generate.grids import Grid, sized


def tma_stores(d: Draft, seed: int) -> Generated:
    """Y = f(X), and at times a second output; several stores are in flight."""
    d.use("TMA store")
    bm, bn = d.rng.choice((16, 32, 64)), d.rng.choice((32, 64))
    rows, width = d.size("BM", bm), d.size("BN", bn)
    buffers = d.rng.randint(1, 3)
    by_hand = d.maybe(0.6)
    twice = d.maybe(0.3)
    d.line(f"ag.launch(warps={d.rng.choice((1, 2, 4))})")
    grid = Grid.drawn(d, {"i": f"ag.cdiv(M, {rows})"}, persistent=0.5)
    kind, out = d.rng.choice(FLOATS), d.rng.choice(FLOATS)
    d.tensor("X", kind, ("M", "N"))
    names = ["Y", "Z"] if twice else ["Y"]
    for name in names:
        d.tensor(name, out, ("M", "N"), kind="output")
    staged = f", stages={buffers}" if buffers > 1 else ""
    d.line(f"out = ag.shared({out}, ({rows}, {width}){staged})")
    buffer = f"out[c % {buffers}]" if buffers > 1 else "out"
    grid.begin()
    place = Place({"M": (f"i * {rows}", rows), "N": ("n", width)}, ("M", "N"))
    if by_hand:
        d.use("store waits by hand")
    d.line("c = 0")
    with grid.tiles(), d.block(f"for n in ag.range(0, N, {width}):"):
        v = d.fresh()
        d.line(f"{v} = {place.load('X', ('M', 'N'))}")
        d.ref(f"{v} = X")
        x = Value(v, ("M", "N"), kind, exact=True)
        x = to(d, to(d, chain(d, x, place, d.rng.randint(0, 2)), "f32"), out)
        if by_hand:
            d.line(f"ag.tma_store_wait({(buffers - 1) * len(names)})")
            d.line("ag.sync()")
        d.line(f"{buffer}.store({x.name})")
        if by_hand:
            d.line("ag.fence_async()")
            d.line("ag.sync()")
        for name in names:
            d.line(f"ag.tma_store({name}[{place.index(('M', 'N'))}], {buffer})")
            d.ref(f"out_{name} = np.broadcast_to({x.name}, (M, N))")
        d.line("c += 1")
    if by_hand:
        d.line("ag.tma_store_wait(0)")
    sizes = sized(d, {"M": 3 * bm, "N": 3 * bn}, multiple={"N": 16}, empty=False)
    return d.finished(seed, "tma_stores", sizes)


def old_values(d: Draft, seed: int) -> Generated:
    """Y is changed by X, and Z is what it was: each element by one block."""
    d.use("atomic", "old values")
    bm, bn = d.rng.choice((1, 4, 16, 32)), d.rng.choice((32, 64))
    rows, width = d.size("BM", bm), d.size("BN", bn)
    if d.maybe(0.5):
        d.line(f"ag.launch(warps={d.rng.choice((1, 2, 4))})")
    counts = {"i": f"ag.cdiv(M, {rows})", "j": f"ag.cdiv(N, {width})"}
    grid = Grid.drawn(d, counts, persistent=0.4)
    d.tensor("Y", "f32", ("M", "N"), kind="both", draw="normal")
    d.tensor("Z", "f32", ("M", "N"), kind="output")
    grid.begin()
    axes = {"M": (f"i * {rows}", rows), "N": (f"j * {width}", width)}
    place = Place(axes, ("M", "N"))
    fn, ref = d.rng.choice(
        (
            ("add", "Y + {}"),
            ("max", "np.maximum(Y, {})"),
            ("min", "np.minimum(Y, {})"),
            ("exchange", "{} + 0 * Y"),
        )
    )
    at = place.index(("M", "N"))
    with grid.tiles():
        x = loaded(d, place, "X", d.rng.choice(FLOATS), ("M", "N"))
        x = to(d, chain(d, x, place, d.rng.randint(0, 2)), "f32")
        d.line(f"Z[{at}] = ag.atomic_{fn}(Y[{at}], {x.name})")
    d.ref(f"out_Y = {ref.format(x.name)}")
    d.ref("out_Z = Y + 0")
    sizes = sized(d, {"M": 3 * bm, "N": 2 * bn}, empty=False)
    return d.finished(seed, "old_values", sizes, slack=4)


def overlaps(d: Draft, seed: int) -> Generated:
    """Windows of X are added to Y, and neighbouring windows overlap."""
    d.use("atomic", "overlapping tiles")
    bm, bn = d.rng.choice((8, 16, 32)), d.rng.choice((32, 64))
    rows, width = d.size("BM", bm), d.size("BN", bn)
    hop = d.rng.choice((bm // 2, bm // 4, bm - 1))
    if d.maybe(0.5):
        d.line(f"ag.launch(warps={d.rng.choice((1, 2, 4))})")
    counts = {"i": f"ag.cdiv(M, {hop})", "j": f"ag.cdiv(N, {width})"}
    grid = Grid.drawn(d, counts, persistent=0.4)
    how = d.rng.choice(("zeros", "normal"))
    d.tensor("Y", "f32", ("M", "N"), kind="both", draw=how)
    grid.begin()
    place = Place({"M": (f"i * {hop}", rows), "N": (f"j * {width}", width)}, ("M", "N"))
    with grid.tiles():
        x = loaded(d, place, "X", d.rng.choice(FLOATS), ("M", "N"))
        x = to(d, chain(d, x, place, d.rng.randint(0, 2)), "f32")
        d.line(f"ag.atomic_add(Y[{place.index(('M', 'N'))}], {x.name})")
    d.ref("m = np.arange(M)")
    d.ref(f"windows = m // {hop} - np.maximum(0, m - {bm} + {hop}) // {hop} + 1")
    d.ref(f"out_Y = Y + windows[:, None] * np.broadcast_to({x.name}, (M, N))")
    sizes = sized(d, {"M": 4 * bm, "N": bn}, empty=False)
    return d.finished(seed, "overlaps", sizes, slack=4)
