"""Addresses that come from data: gathers, scatters, atomics, ragged groups."""

from __future__ import annotations

from dataclasses import replace

from generate.chains import chain, loaded, to
from generate.draft import FLOATS, Draft, Generated, Place, Value
from generate.grids import Grid, sized
from generate.maps import stored


def gathers(d: Draft, seed: int) -> Generated:
    """Rows by a table: read from where it says, or stored or added there."""
    bp, bn = d.rng.choice((4, 8, 16, 32)), d.rng.choice((32, 64, 128))
    rows, width = d.size("BP", bp), d.size("BN", bn)
    if d.maybe(0.5):
        d.line(f"ag.launch(warps={d.rng.choice((1, 2, 4))})")
    form = d.pick(read=3, scatter=1.5, add=2)
    d.use("table", f"table {form}")
    grid = Grid.drawn(d, {"i": f"ag.cdiv(P, {rows})", "j": f"ag.cdiv(N, {width})"})
    if form == "scatter":
        d.line("ag.assume(lambda a, b: a != b, I, pairs=True)")
        d.line("ag.assume(lambda row: (row >= 0) & (row < V), I)")
    grid.begin()
    with grid.tiles():
        _gathered(d, form, rows, width)
    sizes = sized(d, {"P": 2 * bp, "N": bn, "V": 40}, empty=False)
    for one in sizes:
        if form == "scatter":
            one["V"] = max(one["V"], one["P"])
    return d.finished(seed, "tables", sizes, slack=2)


def _gathered(d: Draft, form: str, rows: str, width: str) -> None:
    place = Place(
        {"P": (f"i * {rows}", rows), "N": (f"j * {width}", width)}, ("P", "N")
    )
    drawn = "distinct" if form == "scatter" else "table"
    wild = form == "read" and d.maybe(0.3)
    d.tensor("I", "i32", ("P",), draw=drawn, high="V", wild=wild)
    d.line(f"rows = ag.load(I[i * {rows} :], ({rows},), fill=-1)")
    if form == "read":
        kind = d.rng.choice(FLOATS)
        d.tensor("X", kind, ("V", "N"))
        v = d.fresh()
        d.line(f"{v} = ag.load(X[rows, j * {width} :], ({rows}, {width}))")
        d.ref("inside = ((I >= 0) & (I < V))[:, None]")
        d.ref(f"{v} = np.where(inside, X[np.clip(I, 0, V - 1)], 0.0)")
        x = chain(d, Value(v, ("P", "N"), kind, exact=True), place, d.rng.randint(0, 3))
        out = d.rng.choice(FLOATS)
        d.tensor("Y", out, ("P", "N"), kind="output")
        stored(d, x, place, "Y", out)
        return
    x = loaded(d, place, "X", d.rng.choice(FLOATS), ("P", "N"))
    x = chain(d, x, place, d.rng.randint(0, 3))
    if form == "scatter":
        out = d.rng.choice(FLOATS)
        x = to(d, x, out)
        d.tensor("Y", out, ("V", "N"), kind="both")
        d.line(f"Y[rows, j * {width} :] = {x.name}")
        d.ref("out_Y = Y.copy()")
        d.ref(f"out_Y[I] = {x.name}")
        return
    d.use("atomic")
    x = to(d, x, "f32")
    d.tensor(
        "Y", "f32", ("V", "N"), kind="both", draw=d.rng.choice(("zeros", "normal"))
    )
    d.line(f"ag.atomic_add(Y[rows, j * {width} :], {x.name})")
    d.ref("out_Y = Y.copy()")
    d.ref(f"np.add.at(out_Y, I, np.broadcast_to({x.name}, (len(I), N)))")


def atomics(d: Draft, seed: int) -> Generated:
    """Sums that several blocks add to: histograms, columns, a product in parts of K."""
    form = d.pick(histogram=1, columns=2, parts=1)
    d.use("atomic", form)
    if form == "histogram":
        bp = d.rng.choice((32, 128))
        size = d.size("BP", bp)
        grid = Grid.drawn(d, {"i": f"ag.cdiv(P, {size})"})
        grid.begin()
        d.tensor("I", "i32", ("P",), draw="table", high="V", wild=d.maybe(0.3))
        d.tensor("H", "i32", ("V",), kind="both", draw="zeros")
        with grid.tiles():
            d.line(f"rows = ag.load(I[i * {size} :], ({size},), fill=-1)")
            d.line(f"ag.atomic_add(H[rows], ag.full(({size},), 1, i32))")
        d.ref("out_H = H + np.bincount(I[(I >= 0) & (I < V)], minlength=V)")
        return d.finished(seed, "tables", sized(d, {"P": 3 * bp, "V": 20}, empty=False))
    bm, bn = d.rng.choice((8, 16, 32)), d.rng.choice((32, 64))
    rows, width = d.size("BM", bm), d.size("BN", bn)
    grid = Grid.drawn(d, {"i": f"ag.cdiv(M, {rows})", "j": f"ag.cdiv(N, {width})"})
    grid.begin()
    place = Place(
        {"M": (f"i * {rows}", rows), "N": (f"j * {width}", width)}, ("M", "N")
    )
    with grid.tiles():
        x = loaded(d, place, "X", d.rng.choice(FLOATS), ("M", "N"))
        x = to(d, chain(d, x, place, d.rng.randint(0, 2)), "f32")
        axis, other = ("M", "N") if form == "columns" else ("N", "M")
        start, size = place.axes[axis]
        made, total = d.fresh(), d.fresh()
        bound = f'ag.index({x.name}, "{axis}") + {start} < {axis}'
        d.line(f"{made} = ag.where({bound}, {x.name}, 0.0)")
        d.line(f'{total} = ag.sum({made}, "{axis}")')
        d.tensor("S", "f32", (other,), kind="both", draw="normal")
        d.line(f"ag.atomic_add(S[{place.axes[other][0]} :], {total})")
        where = 0 if axis == "M" else 1
        d.ref(f"out_S = S + np.broadcast_to({x.name}, (M, N)).sum({where})")
    return d.finished(seed, "tables", sized(d, {"M": 2 * bm, "N": 2 * bn}), slack=2)


def ragged(d: Draft, seed: int) -> Generated:
    """Groups of rows whose bounds a table gives; one block for each group."""
    bm, bn = d.rng.choice((4, 16, 32)), d.rng.choice((32, 64))
    rows, width = d.size("BM", bm), d.size("BN", bn)
    d.use("ragged")
    d.tensor("E", "i32", ("G",), draw="table", high="M")
    how = d.pick(sums=2, lengths=2)
    d.line("ag.assume(lambda e: (e >= 0) & (e <= M), E)")
    grid = Grid.drawn(d, {"g": "G", "j": f"ag.cdiv(N, {width})"})
    grid.begin()
    d.tensor(
        "X", d.rng.choice(FLOATS), ("G", "M", "N") if how == "lengths" else ("M", "N")
    )
    with grid.tiles():
        d.line("last = E[g]")
        d.line(f'acc = ag.zeros(({width},), f32, dims="N")')
        lead = "g, " if how == "lengths" else ""
        # The end of a slice is no mask to the verifier: such a sum is not complete.
        cut = d.maybe(0.15)
        with d.block(f"for m in ag.range(0, {'last' if cut else 'M'}, {rows}):"):
            part = f"X[{lead}m{' : last' if cut else ' :'}, j * {width} :]"
            d.line(f"x = ag.load({part}, ({rows}, {width})).to(f32)")
            if not cut:
                d.line('x = ag.where(ag.index(x, "M") + m < last, x, 0.0)')
            d.line('acc = acc + ag.sum(x, "M")')
        at = "[g]" if how == "lengths" else ""
        d.ref(f"acc = np.array([X{at}[: E[g]].sum(0) for g in range(G)]).reshape(G, N)")
        place = Place({"G": ("g", None), "N": (f"j * {width}", width)}, ("G", "N"))
        x = chain(d, Value("acc", ("N",), "f32"), place, d.rng.randint(0, 2))
        out = d.rng.choice(FLOATS)
        d.tensor("Y", out, ("G", "N"), kind="output")
        stored(d, replace(x, dims=("N",)), place, "Y", out)
    sizes = sized(d, {"G": 4, "M": 2 * bm, "N": bn}, empty=False)
    return d.finished(seed, "tables", sizes, slack=4)
