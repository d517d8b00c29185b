"""Whole numbers of tables in scalars, bounds and masks; every k-th column of a tile."""

from __future__ import annotations

from generate.chains import chain, to
from generate.draft import FLOATS, Draft, Generated, Place, Value
from generate.grids import Grid, sized
from generate.maps import stored

_QUOTIENT = "np.where({1} == 0, 0, {0} // np.where({1} == 0, 1, {1}))"
_REMAINDER = "np.where({1} == 0, 0, {0} % np.where({1} == 0, 1, {1}))"
_SCALARS = {
    "{0} + {1}": "{0} + {1}",
    "{0} - {1}": "{0} - {1}",
    "{0} * {1}": "{0} * {1}",
    "{0} // {1}": _QUOTIENT,
    "{0} % {1}": _REMAINDER,
    "ag.min({0}, {1})": "np.minimum({0}, {1})",
    "ag.max({0}, {1})": "np.maximum({0}, {1})",
    "{0} + 1": "{0} + 1",
    "{0} - 7": "{0} - 7",
    "{0} * 3": "{0} * 3",
    "{0} // 5": "{0} // 5",
    "{0} % 12": "{0} % 12",
    "-{0}": "-{0}",
    "ag.abs({0})": "np.abs({0})",
}


def scalars(d: Draft, seed: int) -> Generated:
    """Y[g] = an expression of T[g] and U[g] near the ends of types; or sums of it."""
    d.use("scalar arithmetic")
    kinds = [d.rng.choice(("i32", "i64")) for _ in range(2)]
    out = d.rng.choice(("i32", "i64", "i64"))
    for name, kind in zip("TU", kinds, strict=True):
        d.tensor(name, kind, ("G",), draw="ends")
    d.tensor("Y", out, ("G",), kind="output")
    grid = Grid.drawn(d, {"g": "G"}, persistent=0.3)
    carried = d.maybe(0.4)
    grid.begin()
    with grid.tiles():
        names = ["T[g]", "U[g]"]
        arrays = ["T", "U"]

        def step() -> None:
            pick = d.rng.choice(list(_SCALARS))
            i = d.rng.randrange(len(names))
            j = d.rng.randrange(len(names))
            made = d.fresh()
            d.line(f"{made} = {pick.format(names[i], names[j])}")
            d.ref(f"{made} = {_SCALARS[pick].format(arrays[i], arrays[j])}")
            names.append(made)
            arrays.append(made)

        for _ in range(d.rng.randint(1, 4)):
            step()
        last = names[-1]
        if carried:
            d.use("carried scalar")
            rounds = d.rng.randint(1, 5)
            op = d.rng.choice(("total + {}", "total - {}", "total * {}"))
            d.line("total = 1")
            with d.block(f"for _ in ag.range(0, {rounds}):"):
                d.line(f"total = {op.format(last)}")
            d.ref("total = np.ones(G, np.int64)")
            d.ref(f"for _ in range({rounds}):")
            d.ref(f"    total = {op.format(last)}")
            last = "total"
        d.line(f"Y[g : g + 1] = ag.full((1,), {last}, {out})")
        cast = ".astype(np.int32).astype(np.int64)" if out == "i32" else ""
        d.ref(f"out_Y = np.asarray({last}){cast}")
    sizes = [{"G": d.rng.choice((1, 7, 40))}, {"G": 64}]
    return d.finished(seed, "scalars", sizes)


def bounds(d: Draft, seed: int) -> Generated:
    """S[g] = a sum of rows of X up to a number that a loop adds up from a table."""
    d.use("carried scalar", "bound from a table")
    bm, bn = d.rng.choice((4, 16, 32)), d.rng.choice((32, 64))
    rows, width = d.size("BM", bm), d.size("BN", bn)
    kind = d.rng.choice(("i32", "i64"))
    d.tensor("L", kind, ("G", "T"), draw="table", high=d.rng.choice((9, 40)))
    d.tensor("X", d.rng.choice(FLOATS), ("M", "N"))
    masked = d.maybe(0.5)
    if masked:
        d.use("mask from a table")
        d.tensor("P", "i32", ("M",), draw="ints", low=-2, high=3)
    counts = {"g": "G", "j": f"ag.cdiv(N, {width})"}
    # In a persistent loop the verifier takes 10 s to find that it does not know.
    grid = Grid.drawn(d, counts, persistent=0.0)
    grid.begin()
    place = Place({"G": ("g", None), "N": (f"j * {width}", width)}, ("G", "N"))
    with grid.tiles():
        d.line("last = 0")
        with d.block("for t in ag.range(0, T):"):
            d.line("last = last + L[g, t]")
        capped = d.maybe(0.6)
        if capped:
            d.line("last = ag.min(last, M)")
        d.ref("last = np.minimum(L.sum(1), M)")
        d.line(f'acc = ag.zeros(({width},), f32, dims="N")')
        with d.block(f"for m in ag.range(0, last, {rows}):"):
            d.line(f"x = ag.load(X[m:, j * {width} :], ({rows}, {width})).to(f32)")
            seen = 'ag.index(x, "M") + m < last'
            if masked:
                d.line(f"p = ag.load(P[m:], ({rows},))")
                seen = f"({seen}) & (p > 0)"
            d.line(f"x = ag.where({seen}, x, 0.0)")
            d.line('acc = acc + ag.sum(x, "M")')
        where = "(np.arange(M)[None, :] < last[:, None])"
        d.ref(f"seen = {where}" + (" & (P > 0)[None, :]" if masked else ""))
        d.ref("acc = seen.astype(float) @ X")
        out = d.rng.choice(FLOATS)
        d.tensor("S", out, ("G", "N"), kind="output")
        x = chain(d, Value("acc", ("N",), "f32"), place, d.rng.randint(0, 1))
        stored(d, x, place, "S", out)
    sizes = sized(d, {"G": 4, "M": 2 * bm, "N": bn, "T": 4}, empty=False)
    return d.finished(seed, "bounds", sizes, slack=4)


def strides(d: Draft, seed: int) -> Generated:
    """Every k-th column of a tile, to outputs of their own or joined again."""
    d.use("strided slices")
    step = d.rng.choice((2, 2, 4))
    bm = d.rng.choice((1, 4, 16, 64))
    bn = step * d.rng.choice((8, 16, 32, 64))
    d.use(f"stride {step}")
    if d.maybe(0.5):
        d.line(f"ag.launch(warps={d.rng.choice((1, 2, 4))})")
    grid = Grid.drawn(d, {"i": f"ag.cdiv(M, {bm})", "j": f"ag.cdiv(H, {bn // step})"})
    kind = d.rng.choice((*FLOATS, "i32"))
    how = {} if kind in FLOATS else {"draw": "ints"}
    d.tensor("X", kind, ("M", "N"), **how)
    d.line(f'ag.require(ag.dim("N") == {step} * ag.dim("H"), "whole groups")')
    grid.begin()
    place = Place(
        {"M": (f"i * {bm}", str(bm)), "H": (f"j * {bn // step}", str(bn // step))},
        ("M", "H"),
    )
    with grid.tiles():
        d.line(f"x = ag.load(X[i * {bm} :, j * {bn} :], ({bm}, {bn}))")
        if kind in FLOATS and d.maybe(0.5):
            d.line("x = x.to(f32) * 2.0")
            d.ref("X = X * 2.0")
            kind = "f32"
        parts: list[Value] = []
        for r in range(step):
            made = d.fresh()
            d.line(f'{made} = x[:, {r}::{step}].rename("M H")')
            d.ref(f"{made} = X[:, {r}::{step}]")
            parts.append(Value(made, ("M", "H"), kind, exact=True))
        if d.maybe(0.5):
            for number, part in enumerate(parts):
                y = chain(d, part, place, d.rng.randint(0, 1))
                out = d.rng.choice(FLOATS) if y.dtype in FLOATS else y.dtype
                d.tensor(f"Y{number}", out, ("M", "H"), kind="output")
                stored(d, y, place, f"Y{number}", out)
        else:
            a, b = parts[0], parts[-1]
            if kind in FLOATS:
                a, b = to(d, a, "f32"), to(d, b, "f32")
            made = d.fresh()
            d.line(f"{made} = {a.name} - {b.name}")
            d.ref(f"{made} = {a.name} - {b.name}")
            d.tensor("Y", a.dtype, ("M", "H"), kind="output")
            stored(d, Value(made, ("M", "H"), a.dtype), place, "Y", a.dtype)
    sizes = sized(d, {"M": 2 * bm, "H": 2 * bn // step}, empty=False)
    return d.finished(seed, "strides", [{**s, "N": step * s["H"]} for s in sizes])
