"""Families without products that one group of warps does: maps and rows.

`elementwise`: tiles of arrays of one to three dimensions, loaded, changed and stored:
several outputs, in place, casts, whole numbers, staging through shared memory.
`rows`: reductions, scans and softmax over rows that are held in registers or streamed.
"""

from __future__ import annotations

from dataclasses import replace

from generate.chains import chain, combined, loaded, to
from generate.draft import FLOATS, INTEGERS, Draft, Generated, Place, Value
from generate.grids import Grid, sized

_DIMS = ("B", "M", "N")


def elementwise(d: Draft, seed: int) -> Generated:
    """Y = f(X, ...) on tiles of one or two dimensions, rows taken one by one or not."""
    rank = d.rng.choice((1, 2, 2, 2, 3))
    order = _DIMS[3 - rank :]
    tiles = {
        "B": 1,
        "M": d.rng.choice((1, 2, 4, 8, 16, 32)),
        "N": d.rng.choice((32, 64, 128, 256)),
    }
    tiles = {n: tiles[n] for n in order}
    while tiles.get("M", 1) * tiles["N"] > 4096:
        tiles["M"] //= 2
    scalar = {n for n in order[:-1] if n == "B" or tiles[n] == 1}
    size = {n: d.size(f"T{n}", t) for n, t in tiles.items() if n not in scalar}
    if d.maybe(0.5):
        d.line(f"ag.launch(warps={d.rng.choice((1, 2, 4, 8))})")
    index = {n: f"i{n}" for n in order}
    counts = {index[n]: n if n in scalar else f"ag.cdiv({n}, {size[n]})" for n in order}
    grid = Grid.drawn(d, counts)
    grid.begin()
    axes = {
        n: (index[n], None) if n in scalar else (f"{index[n]} * {size[n]}", size[n])
        for n in order
    }
    place = Place(axes, order)
    with grid.tiles():
        _elementwise(d, place)
    return d.finished(
        seed,
        "elementwise",
        sized(d, {n: tiles[n] * (4 if n in scalar else 1) for n in order}),
    )


def _elementwise(d: Draft, place: Place) -> None:
    whole = d.maybe(0.25)
    dtype = d.rng.choice(INTEGERS if whole else FLOATS)
    how = (
        {"draw": "ints", "low": 0 if dtype == "u8" else -9, "high": 10} if whole else {}
    )
    in_place = not whole and d.maybe(0.15)
    if in_place:
        d.use("in place")
        how["kind"] = "both"
    x = loaded(d, place, "X", dtype, place.order, **how)
    if whole and d.maybe(0.4):
        x = _recast(d, x)
    x = chain(d, x, place, d.rng.randint(1, 5))
    if not whole and d.maybe(0.3):
        y = loaded(d, place, "Z", d.rng.choice(FLOATS), place.order)
        y = chain(d, y, place, d.rng.randint(0, 2))
        x = combined(d, to(d, x, "f32"), y)
    if d.maybe(0.15) and len(place.tile) == 2 and x.dtype in FLOATS:
        x = staged(d, x, place)
    if in_place:
        stored(d, x, place, "X", dtype)
        return
    outputs = d.rng.choice((1, 1, 1, 2, 3))
    for n in range(outputs):
        if n:
            d.use("outputs")
            x = chain(d, x, place, 1)
        name = f"Y{n}" if n else "Y"
        out = d.rng.choice(FLOATS) if x.dtype in FLOATS else x.dtype
        d.tensor(name, out, place.order, kind="output")
        stored(d, x, place, name, out)


def _recast(d: Draft, x: Value) -> Value:
    """Whole numbers as floating point, or as others that hold them."""
    d.use("cast")
    to_type = d.rng.choice(("i32", "i64", "f32", "f32"))
    made = d.fresh()
    d.line(f"{made} = {x.name}.to({to_type})")
    d.ref(f"{made} = {x.name}" + (".astype(float)" if to_type == "f32" else ""))
    return replace(x, name=made, dtype=to_type)


def stored(d: Draft, x: Value, place: Place, name: str, dtype: str) -> None:
    """Store a value of all dimensions to a tensor that there is."""
    x = to(d, x, dtype) if x.dtype in FLOATS else x
    view = f"{name}[{place.index(place.order)}]"
    shape = ", ".join(place.order)
    d.ref(f"out_{name} = np.broadcast_to({x.name}, ({shape},))")
    if d.maybe(0.2):
        d.line(f"ag.store({view}, {x.name})")
    else:
        d.line(f"{view} = {x.name}")


def staged(d: Draft, x: Value, place: Place) -> Value:
    """Through shared memory and back; at times plus the tile's first row."""
    d.use("shared")
    sizes = place.shape(place.order)
    s, made = d.fresh("s"), d.fresh()
    swizzle = d.rng.choice(("", "", ", swizzle=0"))
    d.line(f"{s} = ag.shared({x.dtype}, {sizes}{swizzle})")
    d.line(f"{s}.store({x.name})")
    d.line(f'{made} = ag.rename({s}.load(), "{" ".join(place.tile)}")')
    d.ref(f"{made} = {x.name}")
    return replace(x, name=made)


# ------------------------------------------------------------------------------- rows

JOINS = {
    "sum": ("0.0", "{}.sum(-1)", "{} + {}"),
    "max": ("-ag.inf", "{}.max(-1)", "ag.maximum({}, {})"),
    "min": ("ag.inf", "{}.min(-1)", "ag.minimum({}, {})"),
}


def rows(d: Draft, seed: int) -> Generated:
    """Something of each row: sums, extremes, normalised rows, running sums."""
    bm, bn = d.rng.choice((1, 2, 4, 16)), d.rng.choice((32, 64, 128, 512))
    if bm * bn > 2048:
        bm = 2
    streamed = d.maybe(0.45)
    # A row by itself has no axis for M, and its sum none at all.
    single = not streamed and d.maybe(0.25)
    if single:
        bm = 1
        d.use("scalar row")
    rows_ = "" if single else d.size("BM", bm)
    width = d.size("BN", bn)
    if d.maybe(0.5):
        d.line(f"ag.launch(warps={d.rng.choice((1, 2, 4, 8))})")
    if not streamed:
        d.line(f'ag.require(N <= {width}, "a row is held in registers")')
    grid = Grid.drawn(d, {"i": f"ag.cdiv(M, {rows_})" if rows_ else "M"})
    grid.begin()
    with grid.tiles():
        if streamed:
            _streamed(d, rows_, width)
        else:
            _held(d, rows_, width)
    sizes = sized(d, {"M": 4 * bm, "N": bn}, empty=False)
    if not streamed:
        for one in sizes:
            one["N"] = min(one["N"], bn)
    return d.finished(seed, "rows", sizes, slack=2)


def _place(rows_: str, width: str, start: str) -> Place:
    return Place({"M": _axis(rows_), "N": (start, width)}, ("M", "N"))


def _row_place(rows_: str) -> Place:
    return Place({"M": _axis(rows_)}, ("M",))


def _axis(rows_: str) -> tuple[str, str | None]:
    """The rows of a block; without a size a single one."""
    return (f"i * {rows_}", rows_) if rows_ else ("i", None)


def neutral(d: Draft, x: Value, place: Place, value: str) -> Value:
    """Elements past the end of a row become the neutral element of a reduction."""
    start = place.axes["N"][0]
    plus = "" if start == "0" else f" + {start}"
    made = d.fresh()
    d.line(f'{made} = ag.where(ag.index({x.name}, "N"){plus} < N, {x.name}, {value})')
    d.ref(f"{made} = {x.name}")
    return replace(x, name=made)


def _input(d: Draft, place: Place, fill: str) -> Value:
    dtype = d.rng.choice(FLOATS)
    d.tensor("X", dtype, ("M", "N"))
    made = d.fresh()
    filled = "" if fill == "0.0" else f", fill={fill}"
    d.line(f"{made} = {place.load('X', place.order, filled)}")
    d.ref(f"{made} = X")
    x = Value(made, ("M", "N"), dtype, exact=True)
    return to(d, x, "f32")


def _held(d: Draft, rows_: str, width: str) -> None:
    place = _place(rows_, width, "0")
    kind = d.pick(reduce=3, softmax=2, norm=2, arg=1.5, scan=1.5, several=1)
    d.use(f"row {kind}")
    if kind == "arg":
        _arg(d, place, rows_)
        return
    if kind == "scan":
        x = _input(d, place, "0.0")
        if d.maybe(0.5):
            x = chain(d, x, place, 1, operands=False)
        made = d.fresh()
        d.line(f'{made} = ag.cumsum({x.name}, "N")')
        d.ref(f"{made} = np.broadcast_to({x.name}, (M, N)).cumsum(-1)")
        _output(d, replace(x, name=made, exact=False), place)
        return
    x = chain(d, _input(d, place, "0.0"), place, d.rng.randint(0, 2))
    x = to(d, x, "f32")
    if kind == "softmax":
        y = neutral(d, x, place, "-ag.inf")
        _, a = _reduced(d, y, "max", place)
        e, total = d.fresh(), d.fresh()
        d.line(f"{e} = ag.exp({y.name} - {a})")
        d.ref(f"{e} = np.exp({x.name} - {a}[:, None])")
        d.line(f'{total} = {e} / ag.sum({e}, "N")')
        d.ref(f"{total} = {e} / np.broadcast_to({e}, (M, N)).sum(-1)[:, None]")
        x = replace(x, name=total, exact=False)
        _output(d, chain(d, x, place, d.rng.randint(0, 1)), place)
        return
    if kind == "norm":
        y = neutral(d, x, place, "0.0")
        mean, root, made = d.fresh(), d.fresh(), d.fresh()
        d.line(f'{mean} = ag.sum({y.name} * {y.name}, "N") / N')
        d.ref(f"{mean} = (np.broadcast_to({y.name}, (M, N)) ** 2).mean(-1)")
        d.line(f"{root} = ag.rsqrt({mean} + 0.001)")
        d.ref(f"{root} = ({mean} + 0.001) ** -0.5")
        d.line(f"{made} = {x.name} * {root}")
        d.ref(f"{made} = {x.name} * {root}[:, None]")
        x = replace(x, name=made, exact=False)
        _output(d, chain(d, x, place, d.rng.randint(0, 2)), place)
        return
    for n in range(1 if kind == "reduce" else 2):
        which = d.rng.choice(list(JOINS))
        y = neutral(d, x, place, JOINS[which][0])
        total, _ = _reduced(d, y, which, place)
        _row_output(d, total, rows_, f"S{n}")


def _reduced(d: Draft, x: Value, which: str, place: Place) -> tuple[Value, str]:
    made = d.fresh()
    d.line(f'{made} = ag.{which}({x.name}, "N")')
    d.ref(f"{made} = " + JOINS[which][1].format(f"np.broadcast_to({x.name}, (M, N))"))
    return Value(made, ("M",), "f32"), made


def _row_output(d: Draft, x: Value, rows_: str, name: str) -> None:
    place = _row_place(rows_)
    x = chain(d, x, place, d.rng.randint(0, 2) if place.tile else 0)
    dtype = d.rng.choice(FLOATS)
    d.tensor(name, dtype, ("M",), kind="output")
    stored(d, x, place, name, dtype)


def _output(d: Draft, x: Value, place: Place) -> None:
    dtype = d.rng.choice(FLOATS)
    d.tensor("Y", dtype, place.order, kind="output")
    stored(d, x, place, "Y", dtype)


def _arg(d: Draft, place: Place, rows_: str) -> None:
    which = d.rng.choice(("argmax", "argmin"))
    fill = "-ag.inf" if which == "argmax" else "ag.inf"
    x = _input(d, place, fill)
    made = d.fresh()
    d.line(f'{made} = ag.{which}({x.name}, "N")')
    d.ref(f"{made} = {x.name}.{which}(-1)")
    out = d.rng.choice(("i32", "i64"))
    d.tensor("S", out, ("M",), kind="output")
    d.line(
        f"S[{_row_place(rows_).index(('M',))}] = {made}"
        + (".to(i64)" if out == "i64" else "")
    )
    d.ref(f"out_S = {made}")


def _streamed(d: Draft, rows_: str, width: str) -> None:
    which = d.rng.choice(list(JOINS))
    start, _, join = JOINS[which]
    d.use("streamed", f"row {which}")
    place = _place(rows_, width, "n")
    acc = "acc"
    d.line(f'{acc} = ag.full(({rows_},), {start}, f32, dims="M")')
    with d.block(f"for n in ag.range(0, N, {width}):"):
        x = chain(d, _input(d, place, "0.0"), place, d.rng.randint(0, 2))
        x = neutral(d, to(d, x, "f32"), place, start)
        total, _ = _reduced(d, x, which, place)
        d.line(f"{acc} = " + join.format(acc, total.name))
    d.ref(f"{acc} = {total.name}")
    _row_output(d, Value(acc, ("M",), "f32"), rows_, "S")
    if which == "max" and d.maybe(0.4):
        d.use("two passes")
        with d.block(f"for n in ag.range(0, N, {width}):"):
            y = d.fresh()
            d.line(f"{y} = {place.load('X', place.order)}.to(f32)")
            d.line(f"{y} = {y} * 0.5 - {acc}")
            d.ref(f"{y} = X * 0.5 - {acc}[:, None]")
            _output(d, Value(y, ("M", "N"), "f32"), place)
