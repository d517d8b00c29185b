"""Tiles that change their shape or order: transposes, views, halves of rows."""

from __future__ import annotations

from dataclasses import replace

from generate.chains import chain, loaded, to
from generate.draft import FLOATS, Draft, Generated, Place, Value
from generate.grids import Grid, sized
from generate.maps import stored


def transposes(d: Draft, seed: int) -> Generated:
    """Y[n, m] = f(X[m, n]): by `.T` of registers or of shared memory, or by a view."""
    bm, bn = d.rng.choice((16, 32, 64)), d.rng.choice((16, 32, 64))
    rows, width = d.size("BM", bm), d.size("BN", bn)
    way = d.pick(registers=2, shared=2, view=2)
    d.use("transpose", f"transpose {way}")
    if d.maybe(0.5):
        d.line(f"ag.launch(warps={d.rng.choice((1, 2, 4, 8))})")
    dtype = d.rng.choice((*FLOATS, "i32", "i8", "u8", "i64"))
    how = {} if dtype in FLOATS else {"draw": "ints", "low": 0}
    d.tensor("X", dtype, ("M", "N"), **how)
    turned = Place(
        {"N": (f"j * {width}", width), "M": (f"i * {rows}", rows)}, ("N", "M")
    )
    if way == "shared":
        d.line(f"s = ag.shared({dtype}, ({rows}, {width}))")
    if way == "view":
        d.line('turned = X.view("N M", shape=(N, M), at=lambda n, m: (m, n))')
    grid = Grid.drawn(d, {"i": f"ag.cdiv(M, {rows})", "j": f"ag.cdiv(N, {width})"})
    grid.begin()
    with grid.tiles():
        v = d.fresh()
        d.ref(f"{v} = X.T")
        if way == "view":
            d.line(
                f"{v} = ag.load(turned[{turned.index(('N', 'M'))}], ({width}, {rows}))"
            )
        else:
            tile = d.fresh("x")
            d.line(
                f"{tile} = ag.load(X[i * {rows} :, j * {width} :], ({rows}, {width}))"
            )
            if way == "shared":
                d.line(f"s.store({tile})")
                d.line(f'{v} = ag.rename(s.T.load(), "N M")')
            else:
                d.line(f"{v} = {tile}.T")
        x = Value(v, ("N", "M"), dtype, exact=True)
        x = chain(d, x, turned, d.rng.randint(0, 2))
        out = d.rng.choice(FLOATS) if dtype in FLOATS else x.dtype
        d.tensor("Y", out, ("N", "M"), kind="output")
        stored(d, x, turned, "Y", out)
    return d.finished(seed, "shapes", sized(d, {"M": bm, "N": bn}))


_VIEWS = {
    "flip": ("(M - 1 - m, n)", "X[::-1]"),
    "shift": ("(m - 1, n)", "np.concatenate([np.zeros((1, N)), X[:-1]])[:M]"),
    "mirror": ("(m, N - 1 - n)", "X[:, ::-1]"),
    "half": ("(m // 2, n)", "X[np.arange(M) // 2]"),
}


def views(d: Draft, seed: int) -> Generated:
    """Y = f(X through a view): flipped, shifted with zeros, repeated."""
    bm, bn = d.rng.choice((1, 4, 16)), d.rng.choice((32, 64, 128))
    rows, width = d.size("BM", bm), d.size("BN", bn)
    kind = d.rng.choice(list(_VIEWS))
    at, ref = _VIEWS[kind]
    d.use("view", f"view {kind}")
    dtype = d.rng.choice(FLOATS)
    # Dimensions of its own: a view says which coordinates its elements get.
    d.tensor("X", dtype, ("R", "C"))
    d.line(f'seen = X.view("M N", shape=(M, N), at=lambda m, n: {at})')
    d.line('ag.require((ag.dim("R") == M) & (ag.dim("C") == N), "one size")')
    grid = Grid.drawn(d, {"i": f"ag.cdiv(M, {rows})", "j": f"ag.cdiv(N, {width})"})
    grid.begin()
    place = Place(
        {"M": (f"i * {rows}", rows), "N": (f"j * {width}", width)}, ("M", "N")
    )
    with grid.tiles():
        v = d.fresh()
        d.line(f"{v} = {place.load('seen', place.order)}")
        d.ref(f"{v} = {ref}")
        x = chain(
            d, Value(v, place.tile, dtype, exact=True), place, d.rng.randint(0, 3)
        )
        out = d.rng.choice(FLOATS)
        d.tensor("Y", out, place.order, kind="output")
        stored(d, x, place, "Y", out)
    sizes = sized(d, {"M": 2 * bm, "N": bn}, empty=False)
    sizes = [{**s, "R": s["M"], "C": s["N"]} for s in sizes]
    return d.finished(seed, "shapes", sizes)


def _padded(d: Draft, x: Value, place: Place) -> Value:
    """The first row is padding, which a kernel that stores it has to name."""
    made = d.fresh()
    rows = f'ag.index({x.name}, "M") + {place.axes["M"][0]}'
    d.line(f"{made} = ag.where({rows} > 0, {x.name}, 0.0)")
    d.ref(f"{made} = {x.name}")
    return replace(x, name=made)


def halves(d: Draft, seed: int) -> Generated:
    """Two outputs from the two halves of a row, which are parts of a known size."""
    half = d.rng.choice((16, 32, 64))
    bm = d.rng.choice((4, 8, 16))
    rows, size = d.size("BM", bm), d.static("D", "int", 2 * half)
    d.use("halves", "static dim")
    d.line(f'ag.require(ag.dim("F") == {half}, "two halves")')
    grid = Grid.drawn(d, {"i": f"ag.cdiv(M, {rows})"})
    grid.begin()
    d.tensor("X", d.rng.choice(FLOATS), ("M", "D"))
    place = Place({"M": (f"i * {rows}", rows), "F": ("0", str(half))}, ("M", "F"))
    with grid.tiles():
        parts: list[Value] = []
        for n in range(2):
            v = d.fresh()
            cut = f"{n} * {size} // 2 : {n + 1} * {size} // 2"
            d.line(f"{v} = ag.load(X[i * {rows} :, {cut}], ({rows}, {half})).to(f32)")
            d.line(f'{v} = {v}.rename("M F")')
            d.ref(f"{v} = X[:, {n * half} : {(n + 1) * half}]")
            parts.append(Value(v, ("M", "F"), "f32"))
        low, high = (loaded(d, place, n, "f32", ("M", "F")) for n in ("U", "V"))
        for n, (a, b, sign) in enumerate(((low, high, "-"), (high, low, "+"))):
            made = d.fresh()
            text = f"{parts[0].name} * {a.name} {sign} {parts[1].name} * {b.name}"
            d.line(f"{made} = {text}")
            d.ref(f"{made} = {text}")
            x = to(d, replace(parts[0], name=made), d.rng.choice(FLOATS))
            name = f"Y{n}"
            d.tensor(name, x.dtype, ("M", "F"), kind="output")
            stored(d, x, place, name, x.dtype)
    sizes = sized(d, {"M": 2 * bm}, empty=False)
    return d.finished(seed, "shapes", [{**s, "D": 2 * half, "F": half} for s in sizes])
