"""Tiles that travel from role to role: loaded, changed, reduced, stored.

    load -> (make ->) use (-> store)

A source is a ring that TMA or `cp.async` fills, a ring that a role fills from
registers, or one buffer that two named syncs hand over. What the last computing role
makes is stored from registers, from shared memory by TMA, or by a role of its own that
drains an output ring. A tile of a map is stored in each step; a reduction at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from generate.chains import chain, to
from generate.draft import FLOATS, Draft, Generated, Place, Value
from generate.grids import Grid, sized
from generate.maps import JOINS, neutral, stored
from generate.roles import Role, Team, copy_way


@dataclass
class Line:
    """What the roles of a kernel share."""

    d: Draft
    bm: str
    bn: str
    grid: Grid
    inputs: list[tuple[str, str, str]]
    """Tensor, field of the ring, element type."""
    reduced: bool

    @property
    def place(self) -> Place:
        """The tile of a step."""
        axes = {"M": (f"i * {self.bm}", self.bm), "N": ("n", self.bn)}
        return Place(axes, ("M", "N"))

    @property
    def loop(self) -> str:
        """The steps of a tile."""
        return f"for n in ag.range(0, N, {self.bn}):"

    def view(self, name: str) -> str:
        """The part of a tensor that a step has."""
        return f"{name}[{self.place.index(('M', 'N'))}]"

    def tile(self, dtype: str, named: bool = True) -> str:
        """The description of a field."""
        dims = ', dims="M N"' if named else ""
        return f"{dtype}.tile({self.bm}, {self.bn}{dims})"


def pipelines(d: Draft, seed: int) -> Generated:
    """Roles that hand on tiles."""
    d.use("roles")
    bm, bn = d.rng.choice((16, 32, 64)), d.rng.choice((32, 64))
    names = {"bm": d.size("BM", bm), "bn": d.size("BN", bn)}
    inputs = [("X", "x", d.rng.choice(FLOATS))]
    if d.maybe(0.35):
        d.use("fields")
        inputs.append(("Z", "z", d.rng.choice(FLOATS)))
    team = Team(d)
    form = d.pick(ring=6, made=2, named=0.6)
    loader = team.role("load", d.rng.choice((1, 1, 4)) if form == "ring" else 4)
    maker = team.role("make", 4) if form == "ring" and d.maybe(0.3) else None
    user = team.role("use", d.rng.choice((1, 2, 4, 4, 8)), heavy=True)
    reduced = d.maybe(0.3)
    storer = None
    if not reduced and form != "named" and d.maybe(0.35):
        storer = team.role("store", d.rng.choice((1, 1, 4)))
    if user.warps % 4 == 0:
        team.budgets()
    grid = Grid.drawn(d, {"i": f"ag.cdiv(M, {names['bm']})"})
    grid.begin()
    for name, _, dtype in inputs:
        d.tensor(name, dtype, ("M", "N"))
    line = Line(d, names["bm"], names["bn"], grid, inputs, reduced)
    out = d.rng.choice(FLOATS)
    if form == "ring":
        _ring(line, loader, maker, user, storer, out)
    elif form == "made":
        _made(line, loader, user, storer, out)
    else:
        _named(line, loader, user, out)
    tiles = {"M": bm, "N": 2 * bn}
    sizes = sized(d, tiles, multiple={"N": 16}, empty=not line.reduced)
    return d.finished(seed, "pipelines", sizes)


def _ring(
    line: Line, loader: Role, maker: Role | None, user: Role, storer: Role | None,
    out: str,
) -> None:  # fmt: skip
    d = line.d
    several = len(line.inputs) > 1 and d.maybe(0.4)
    fields = {field: line.tile(dtype, False) for _, field, dtype in line.inputs}
    if several:
        d.use("rings")
        for field, text in fields.items():
            d.line(f"ring_{field} = ag.ring({d.rng.randint(1, 4)}, {field}={text})")
    else:
        listed = ", ".join(f"{f}={t}" for f, t in fields.items())
        d.line(f"ring = ag.ring({d.rng.randint(1, 6)}, {listed})")
    if maker:
        d.use("chained rings")
        d.line(f"mid = ag.ring({d.rng.randint(1, 3)}, m={line.tile('f32')})")
    _out_ring(line, storer, out)
    via = copy_way(d, loader)
    with d.block(loader.head()), line.grid.tiles(), d.block(line.loop):
        if several:
            for name, field, _ in line.inputs:
                with d.block(f"with ring_{field}.fill() as slot:"):
                    d.line(f"slot.{field}.load({line.view(name)}{via})")
        else:
            with d.block("with ring.fill() as slot:"):
                for name, field, _ in line.inputs:
                    d.line(f"slot.{field}.load({line.view(name)}{via})")
    if maker:
        with d.block(maker.head()), line.grid.tiles(), d.block(line.loop):
            x = to(d, _taken(line, several), "f32")
            x = to(d, chain(d, x, line.place, d.rng.randint(0, 2)), "f32")
            with d.block("with mid.fill() as slot:"):
                d.line(f"slot.m.store({x.name})")
        with d.block(user.head()), line.grid.tiles():
            _use(line, lambda: _drained(line, "mid", "m", x), storer, out)
    else:
        with d.block(user.head()), line.grid.tiles():
            _use(line, lambda: _taken(line, several), storer, out)
    _store_role(line, storer, out)


def _taken(line: Line, several: bool) -> Value:
    """The inputs of a step out of their rings, joined to one value."""
    d = line.d
    values: list[Value] = []
    if several:
        for name, field, dtype in line.inputs:
            x = Value("", ("M", "N"), dtype, exact=True)
            values.append(_drained(line, f"ring_{field}", field, x, name))
    elif d.maybe(0.7):
        with d.block("with ring.drain() as slot:"):
            for name, field, dtype in line.inputs:
                values.append(_read(line, f"slot.{field}", name, dtype))
    else:
        d.line("slot = ring.wait()")
        for name, field, dtype in line.inputs:
            values.append(_read(line, f"slot.{field}", name, dtype))
        d.line("slot.release()")
    first, *others = values
    for other in others:
        first, other = to(d, first, "f32"), to(d, other, "f32")
        made = d.fresh()
        d.line(f"{made} = {first.name} + {other.name}")
        d.ref(f"{made} = {first.name} + {other.name}")
        first = replace(first, name=made, exact=False)
    return first


def _read(line: Line, tile: str, name: str, dtype: str) -> Value:
    made = line.d.fresh()
    line.d.line(f"{made} = {tile}.load()")
    line.d.ref(f"{made} = {name}")
    return Value(made, ("M", "N"), dtype, exact=True)


def _drained(line: Line, ring: str, field: str, x: Value, name: str = "") -> Value:
    with line.d.block(f"with {ring}.drain() as slot:"):
        made = _read(line, f"slot.{field}", name or x.name, x.dtype)
    return replace(made, exact=x.exact)


def _use(line: Line, take, storer: Role | None, out: str) -> None:
    """The role that computes last: a reduction, or a map that is stored somewhere."""
    d = line.d
    if line.reduced:
        which = d.rng.choice(list(JOINS))
        start, _, join = JOINS[which]
        d.use("reduced", f"row {which}")
        d.line(f'acc = ag.full(({line.bm},), {start}, f32, dims="M")')
        with d.block(line.loop):
            x = chain(d, to(d, take(), "f32"), line.place, d.rng.randint(0, 2))
            x = neutral(d, to(d, x, "f32"), line.place, start)
            made = d.fresh()
            d.line(f'{made} = ag.{which}({x.name}, "N")')
            d.ref(f"acc = np.broadcast_to({x.name}, (M, N)).{which}(-1)")
            d.line("acc = " + join.format("acc", made))
        place = Place({"M": line.place.axes["M"]}, ("M",))
        x = chain(d, Value("acc", ("M",), "f32"), place, d.rng.randint(0, 2))
        d.tensor("S", out, ("M",), kind="output")
        stored(d, x, place, "S", out)
        return
    d.tensor("Y", out, ("M", "N"), kind="output")
    staged = storer is None and d.maybe(0.3)
    if staged:
        d.use("TMA store")
        d.body.insert(
            _before_roles(d), f"    out = ag.shared({out}, ({line.bm}, {line.bn}))"
        )
    with d.block(line.loop):
        x = chain(d, take(), line.place, d.rng.randint(0, 3))
        if staged:
            x = to(d, to(d, x, "f32"), out)
            d.line(f"out.store({x.name})")
            d.line(f"ag.tma_store({line.view('Y')}, out)")
        elif storer is None:
            stored(d, x, line.place, "Y", out)
            return
        else:
            x = to(d, to(d, x, "f32"), out)
            with d.block("with out.fill() as made:"):
                d.line(f"made.y.store({x.name})")
        d.ref(f"out_Y = np.broadcast_to({x.name}, (M, N))")


def _before_roles(d: Draft) -> int:
    return next(i for i, text in enumerate(d.body) if "ag.role(" in text)


def _out_ring(line: Line, storer: Role | None, out: str) -> None:
    if storer is not None:
        line.d.use("output ring")
        line.d.line(f"out = ag.ring({line.d.rng.randint(1, 3)}, y={line.tile(out)})")


def _store_role(line: Line, storer: Role | None, out: str) -> None:
    if storer is None:
        return
    d = line.d
    with (
        d.block(storer.head()),
        line.grid.tiles(),
        d.block(line.loop),
        d.block("with out.drain() as slot:"),
    ):
        if d.maybe(0.6):
            d.use("TMA store")
            d.line(f"ag.tma_store({line.view('Y')}, slot.y)")
        else:
            d.line(f"{line.view('Y')} = slot.y.load()")


def _made(line: Line, loader: Role, user: Role, storer: Role | None, out: str) -> None:
    """A ring that a role fills from registers."""
    d = line.d
    d.use("filled from registers")
    d.line(f"mid = ag.ring({d.rng.randint(1, 4)}, m={line.tile('f32')})")
    _out_ring(line, storer, out)
    with d.block(loader.head()), line.grid.tiles(), d.block(line.loop):
        x = _from_memory(line)
        with d.block("with mid.fill() as slot:"):
            d.line(f"slot.m.store({x.name})")
    with d.block(user.head()), line.grid.tiles():
        _use(line, lambda: _drained(line, "mid", "m", x), storer, out)
    _store_role(line, storer, out)


def _from_memory(line: Line) -> Value:
    """What a computing role loads by itself, in f32."""
    d = line.d
    made = d.fresh()
    d.line(f"{made} = ag.load({line.view('X')}, ({line.bm}, {line.bn}))")
    d.ref(f"{made} = X")
    x = to(d, Value(made, ("M", "N"), line.inputs[0][2], exact=True), "f32")
    return to(d, chain(d, x, line.place, d.rng.randint(0, 2)), "f32")


def _named(line: Line, loader: Role, user: Role, out: str) -> None:
    """One buffer, handed over and back by named syncs of both roles."""
    d = line.d
    d.use("named syncs")
    user.warps = 4
    threads = 32 * (loader.warps + user.warps)
    d.line(f'buffer = ag.shared(f32, ({line.bm}, {line.bn}), dims="M N")')

    def meet(name: str) -> None:
        d.line(f'ag.sync("{name}", threads={threads})')

    with d.block(loader.head()), line.grid.tiles(), d.block(line.loop):
        x = _from_memory(line)
        d.line(f"buffer.store({x.name})")
        meet("ready")
        meet("done")

    def take() -> Value:
        meet("ready")
        taken = _read(line, "buffer", x.name, "f32")
        meet("done")
        return taken

    with d.block(user.head()), line.grid.tiles():
        _use(line, take, None, out)
