"""Matrix products in all the ways that operands can travel.

C[m, n] = f(sum over k of A[m, k] W[n, k]) with operands in either order: from global
memory, through a ring of one role (`cp.async`), through a ring between roles (TMA or
`cp.async`), through explicit barriers; by one or more math roles of one or two
warpgroups, which may take turns; with any epilogue, stored from registers or by TMA.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from generate.chains import chain, to
from generate.draft import FLOATS, HALVES, Draft, Generated, Place, Value
from generate.grids import Grid, sized
from generate.maps import stored
from generate.roles import Role, Team, copy_way


@dataclass
class Product:
    """What the parts of a kernel share. ``ta``: A is stored as (K, M)."""

    d: Draft
    dtype: str
    tiles: dict[str, int]
    text: dict[str, str]
    stages: int
    ta: bool
    tb: bool
    batch: bool
    split: int = 1
    """Math roles, each of which does its share of the rows."""

    def view(self, name: str, k: str) -> str:
        """The part of an operand that a step needs."""
        own = f"bm * {self.text['M']} :" if name == "A" else f"bn * {self.text['N']} :"
        parts = [own, f"{k} :"]
        if self.flipped(name):
            parts.reverse()
        return f"{name}[{'b, ' if self.batch else ''}{', '.join(parts)}]"

    def shape(self, name: str) -> str:
        """The tile of an operand, in text."""
        parts = [self.text["M" if name == "A" else "N"], self.text["K"]]
        if self.flipped(name):
            parts.reverse()
        return ", ".join(parts)

    def flipped(self, name: str) -> bool:
        """Whether an operand is stored with K first."""
        return self.ta if name == "A" else self.tb

    def dot(self, a: str, b: str, acc: str) -> str:
        """The product of two tiles as they lie, of a role's share of the rows."""
        if self.split > 1:
            share = self.tiles["M"] // self.split
            rows = f"w * {share} : (w + 1) * {share}"
            a = f"{a}[:, {rows}]" if self.ta else f"{a}[{rows}, :]"
        left = f"{a}.T" if self.ta else a
        right = b if self.tb else f"{b}.T"
        return f"ag.dot({left}, {right}{acc and ', ' + acc})"

    @property
    def rows(self) -> str:
        """How many rows a math role has."""
        return str(self.tiles["M"] // self.split) if self.split > 1 else self.text["M"]

    @property
    def place(self) -> Place:
        """Where the tile of a math role lies."""
        own = f" + w * {self.rows}" if self.split > 1 else ""
        axes: dict[str, tuple[str, str | None]] = {
            "M": (f"bm * {self.text['M']}{own}", self.rows),
            "N": (f"bn * {self.text['N']}", self.text["N"]),
        }
        if self.batch:
            axes["B"] = ("b", None)
        return Place(axes, ("B", "M", "N") if self.batch else ("M", "N"))

    def zeros(self) -> None:
        """An accumulator."""
        self.d.line(f"acc = ag.zeros(({self.rows}, {self.text['N']}), f32)")

    def loop(self, start: str = "0", name: str = "k") -> str:
        """The loop over K."""
        return f"for {name} in ag.range({start}, K, {self.text['K']}):"

    def fields(self) -> str:
        """Descriptions of a ring's tiles."""
        a, b = self.shape("A"), self.shape("W")
        return f"a={self.dtype}.tile({a}), w={self.dtype}.tile({b})"


def products(d: Draft, seed: int) -> Generated:
    """A product by warps that all do the same."""
    p = _drawn(d, wgmma=False)
    form = d.pick(direct=2, ring=3)
    most = p.tiles["M"] // 16 * (p.tiles["N"] // 16)
    warps = min(d.rng.choice((1, 2, 4, 4, 8)), most)
    d.line(f"ag.launch(warps={warps})")
    if form == "ring":
        d.use("one role ring")
        d.line(f"ring = ag.ring({p.stages}, {p.fields()})")
    even = d.maybe(0.6)
    grid = _grid(d, p)
    grid.begin()
    with grid.tiles():
        if form == "direct":
            p.zeros()
            with d.block(p.loop()):
                for name, tile in zip("AW", "aw", strict=True):
                    d.line(f"{tile} = ag.load({p.view(name, 'k')}, ({p.shape(name)}))")
                dot = d.rng.choice(("ag.dot", "ag.dot", "ag.mma"))
                d.line(f"acc = {p.dot('a', 'w', 'acc')}".replace("ag.dot", dot))
        else:
            _one_role(d, p, ', via="cp_async"' if even and d.maybe(0.5) else "", grid)
        _finish(d, p, tma=False)
    need = dict.fromkeys("MNK", 8) if even else None
    return d.finished(seed, "products", sized(d, _sizes(p), multiple=need), slack=2)


def _one_role(d: Draft, p: Product, via: str, grid: Grid) -> None:
    """Fills run ahead of drains; in a persistent loop no further than the tile does."""
    ahead = p.stages - 1
    step = p.text["K"]
    early = d.maybe(0.5)

    def fill(k: str, *, bounded: bool = grid.persistent) -> None:
        with ExitStack() as inside:
            if bounded:
                inside.enter_context(d.block(f"if {k} < K:"))
            inside.enter_context(d.block("with ring.fill() as slot:"))
            for name in "AW":
                d.line(f"slot.{name.lower()}.load({p.view(name, k)}{via})")

    if ahead:
        with d.block(f"for s in ag.static_range({ahead}):"):
            fill(f"s * {step}")
    p.zeros()
    with d.block(p.loop()):
        if not ahead:
            fill("k", bounded=False)
        with d.block("with ring.drain() as full:"):
            if ahead and early:
                fill(f"k + {ahead} * {step}")
            d.line(f"acc = {p.dot('full.a', 'full.w', 'acc')}")
        if ahead and not early:
            fill(f"k + {ahead} * {step}")


def role_products(d: Draft, seed: int) -> Generated:
    """A product by a load role and math roles, on one block or a cluster of them."""
    p = _drawn(d, wgmma=True)
    d.use("roles")
    if p.tiles["M"] == 128 and d.maybe(0.3):
        p.split = 2
    form = d.pick(ring=5, barriers=1.5)
    cluster = d.rng.choice((1, 1, 1, 2)) if form == "ring" and not p.batch else 1
    team = Team(d)
    loader = team.role("load", d.rng.choice((1, 1, 1, 4)) if form == "ring" else 1)
    groups = d.rng.choice((1, 2)) if p.tiles["M"] == 128 and p.split == 1 else 1
    math = team.role("math", 4 * groups, copies=p.split, heavy=True)
    team.budgets()
    late = d.maybe(0.3) and form == "ring"
    if late:
        d.line('ag.require(K > 0, "the first product is outside the loop")')
    grid = _grid(d, p, cluster=cluster)
    grid.begin()
    tma_store = p.split == 1 and d.maybe(0.3)
    out = d.rng.choice(FLOATS)
    if tma_store:
        d.use("TMA store")
        d.line(f"out = ag.shared({out}, ({p.text['M']}, {p.text['N']}))")
    turns = form == "ring" and p.split > 1 and not late and d.maybe(0.6)
    if turns:
        d.use("turns")
        d.line('turns = ag.turns("math", 2)')
    if form == "ring":
        d.line(f"ring = ag.ring({max(p.stages, 2 if late else 1)}, {p.fields()})")
        _ring_roles(d, p, grid, loader, math, cluster, late, turns)
    else:
        d.use("barriers")
        _barrier_roles(d, p, grid, loader, math)
    with _resumed(d, p, math, grid):
        _finish(d, p, tma=tma_store, out=out)
    need = dict.fromkeys("MNK", 8)
    sizes = sized(d, _sizes(p), multiple=need, empty=not late)
    return d.finished(seed, "role_products", sizes, slack=2)


def _ring_roles(
    d: Draft, p: Product, grid: Grid, loader: Role, math: Role,
    cluster: int, late: bool, turns: bool,
) -> None:  # fmt: skip
    via = copy_way(d, loader)
    cast = cluster > 1 and "cp_async" not in via
    if cast:
        d.use("multicast")
    with (
        d.block(loader.head()),
        grid.tiles(),
        d.block(p.loop()),
        d.block("with ring.fill() as slot:"),
    ):
        d.line(f"slot.a.load({p.view('A', 'k')}{via})")
        more = f", multicast={cluster}" if cast else ""
        d.line(f"slot.w.load({p.view('W', 'k')}{via}{more})")
    with _math(d, p, math), grid.tiles():
        if late:
            d.use("late release")
            d.line("slot = ring.wait()")
            d.line(f"acc = {p.dot('slot.a', 'slot.w', '')}")
            with d.block(p.loop(p.text["K"], "_")):
                d.line("ahead = ring.wait()")
                d.line(f"acc = {p.dot('ahead.a', 'ahead.w', 'acc')}")
                d.line("slot.release()")
                d.line("slot = ahead")
            d.line("slot.release()")
            return
        p.zeros()
        with d.block(p.loop(name="_")):
            if turns:
                d.line("turns.wait(w)")
            if d.maybe(0.7):
                with d.block("with ring.drain() as slot:"):
                    d.line(f"acc = {p.dot('slot.a', 'slot.w', 'acc')}")
            else:
                d.line("slot = ring.wait()")
                d.line(f"acc = {p.dot('slot.a', 'slot.w', 'acc')}")
                d.line("slot.release()")
            if turns:
                d.line("turns.next(w)")


def _barrier_roles(d: Draft, p: Product, grid: Grid, loader: Role, math: Role) -> None:
    """The ring written by hand: shared tiles with stages, two arrays of mbarriers."""
    n = p.stages
    stage = f"n % {n}" if n > 1 else "0"
    a, w = (f"s{x}[{stage}]" if n > 1 else f"s{x}" for x in "aw")
    per = d.pick(role=2, warpgroup=1, warp=2)
    each = {"role": 1, "warpgroup": math.warps // 4, "warp": math.warps}[per]
    for name in "AW":
        shape = p.shape(name)
        d.line(f"s{name.lower()} = ag.shared({p.dtype}, ({shape}), stages={n})")
    arrivals = each * p.split
    d.line(f"full, empty = ag.barriers({n}), ag.barriers({n}, arrivals={arrivals})")
    count = (p.tiles["M"] + p.tiles["N"]) * p.tiles["K"] * 2
    with d.block(loader.head()):
        d.line("n = 0")
        with grid.tiles(), d.block(p.loop()):
            d.line(f"empty[{stage}].wait(n // {n} - 1)")
            d.line(f"full[{stage}].expect({count})")
            d.line(f"{a}.copy({p.view('A', 'k')}, full[{stage}])")
            d.line(f"{w}.copy({p.view('W', 'k')}, full[{stage}])")
            d.line("n += 1")
    with _math(d, p, math):
        d.line("n = 0")
        with grid.tiles():
            p.zeros()
            with d.block(p.loop(name="_")):
                d.line(f"full[{stage}].wait(n // {n})")
                d.line(f"acc = {p.dot(a, w, 'acc')}")
                d.line("ag.wgmma_wait(0)")
                d.line(f'empty[{stage}].arrive(per="{per}")')
                d.line("n += 1")


@contextmanager
def _math(d: Draft, p: Product, math: Role) -> Iterator[None]:
    """The head of the math role, or of each of them."""
    if p.split == 1:
        with d.block(math.head()):
            yield
        return
    d.use("split roles")
    with d.block(f"for w in ag.static_range({p.split}):"), d.block(math.head()):
        yield


@contextmanager
def _resumed(d: Draft, p: Product, math: Role, grid: Grid) -> Iterator[None]:
    """At the end of the last tile that was written of the math role."""
    depth = d._depth
    d._depth += 1 + (p.split > 1) + grid.persistent
    yield
    d._depth = depth


def _drawn(d: Draft, *, wgmma: bool) -> Product:
    rng = d.rng
    dtype = rng.choice(HALVES)
    tiles = {
        "M": rng.choice((64, 64, 128) if wgmma else (16, 32, 64)),
        "N": rng.choice((16, 32, 64, 128) if wgmma else (16, 32, 64)),
        "K": rng.choice((32, 64) if wgmma else (16, 32, 64)),
    }
    ta, tb, batch = d.maybe(0.15), d.maybe(0.25), d.maybe(0.15)
    text = {n: d.size(f"B{n}", v) for n, v in tiles.items()}
    p = Product(d, dtype, tiles, text, rng.randint(1, 4), ta, tb, batch)
    a = ("K", "M") if ta else ("M", "K")
    w = ("K", "N") if tb else ("N", "K")
    front = ("B",) if batch else ()
    d.tensor("A", dtype, (*front, *a))
    d.tensor("W", dtype, (*front, *w))
    turned = ".swapaxes(-1, -2)"
    d.ref(f"acc = A{turned if ta else ''} @ W{'' if tb else turned}")
    d.use("product", dtype, *(["transposed"] if ta or tb else []))
    return p


def _grid(d: Draft, p: Product, cluster: int = 1) -> Grid:
    counts = {"b": "B"} if p.batch else {}
    counts["bm"] = f"ag.cdiv(M, {p.text['M']})"
    counts["bn"] = f"ag.cdiv(N, {p.text['N']})"
    return Grid.drawn(d, counts, cluster=cluster)


def _sizes(p: Product) -> dict[str, int]:
    return {**({"B": 2} if p.batch else {}), **p.tiles}


def _finish(d: Draft, p: Product, *, tma: bool, out: str = "") -> None:
    """The epilogue, and the store of C."""
    x = Value("acc", ("M", "N"), "f32")
    x = chain(d, x, p.place, d.rng.choice((0, 0, 1, 2, 3)))
    out = out or d.rng.choice(FLOATS)
    d.tensor("C", out, p.place.order, kind="output")
    if not tma:
        stored(d, x, p.place, "C", out)
        return
    x = to(d, to(d, x, "f32"), out)
    d.line(f"out.store({x.name})")
    d.line(f"ag.tma_store(C[{p.place.index(p.place.order)}], out)")
    d.ref(f"out_C = np.broadcast_to({x.name}, ({', '.join(p.place.order)},))")
