"""Blocks and tiles: which variables the indices of a block are.

A grid of n0 * n1 * ... blocks has one index, of which a kernel takes digits. Each digit
is a variable of its own, in [0, n_i): for n_i >= 0 every tuple of digits is exactly one
block (mixed radix, in any order of the n_i: `grid_order.py`), and quotients and
remainders by the n_i give the digits back. One
n_i may be negative (`Ends.shape[0] - 1`): then there is no block, and no tuple. A
grouped order has its own lemma (`tile_order.py`).

A persistent loop from the number of the cluster, in steps of the number of clusters,
up to W takes each tile in [0, W) in exactly one cluster and iteration: i + j*G with
0 <= i < G is division with remainder by G. So its index is a block index like the
others, and all roles share it. So do loops at a stride that an author writes:

    i = ag.block(132)                        i = ag.block(ag.min(tiles, 132))
    for t in ag.range(i, tiles, 132):        for t in ag.range(i, tiles, 132):

In a cluster of c blocks, the rank is one more digit.
"""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary, symbols
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, SM_COUNT, Program
from argus.ir.walk import bound, expressions, walk
from argus.terms import Applied, Integer, Unknown, Value, Variable
from argus.terms.integers import variable_of
from argus.verify.denotation.grid_order import ordered
from argus.verify.denotation.protocols import Tiles
from argus.verify.denotation.scalars import integer
from argus.verify.denotation.state import Context, integers
from argus.verify.denotation.tile_order import (
    GroupedForm,
    find_grouped,
    is_column,
    is_row,
    resolved,
)

__all__ = ["Grid"]


class Grid:
    """The indices of a program's blocks."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.rank: Variable | None = None
        self.numbered = True
        """Whether what a block does beside its tiles is said for each block."""
        self._strided: frozenset[o.For] = frozenset()
        self._known: dict[tuple[str, Integer], Tiles] = {}
        self._forms: list[tuple[GroupedForm, Tiles]] = []

    def enter(self) -> None:
        """Define what a block knows of its place. Raises Unknown."""
        context, program = self.context, self.context.program
        world, scalars = context.world, context.state.scalars
        cluster = program.cluster
        rank = Integer.of(0)
        if cluster > 1:
            rank = world.fresh("rank", 0, cluster)
            self.rank = variable_of(rank)
            context.common = (*context.common, self.rank)
        scalars[CLUSTER_RANK.name] = Value.whole(rank)
        scalars[SM_COUNT.name] = Unknown("the number of multiprocessors")
        units = _clusters(program)
        self._strided = _strided(context)
        if self._strided or any(s.name == SM_COUNT.name for s in symbols(units)):
            self.numbered = False
            why = "the index of a block that takes tiles at a stride of the grid"
            scalars[BLOCK_INDEX.name] = Unknown(why)
            scalars[GRID_SIZE.name] = Unknown("the number of blocks")
        else:
            place = binary("//", BLOCK_INDEX, cluster)
            tiles = self._tiles(program.body, units, place)
            block = tiles.number * cluster + rank
            scalars[BLOCK_INDEX.name] = Value.whole(block)
            scalars[GRID_SIZE.name] = Value.whole(tiles.total * cluster)
        context.state.scope = context.common

    def persistent(self, op: o.For) -> Tiles | None:
        """The tiles of a persistent loop; None: it is another loop. Raises Unknown."""
        names = {s.name for e in (op.start, op.step) for s in symbols(e)}
        if op not in self._strided:
            if GRID_SIZE.name not in names:
                return None
            self._check_stride(op)
        tiles = self._tiles(op.body, op.stop, op.var)
        self.context.tiles.update(tiles.variables)
        return tiles

    def _check_stride(self, op: o.For) -> None:
        cluster = self.context.program.cluster
        if op.start != binary("//", BLOCK_INDEX, cluster) or op.step != binary(
            "//", GRID_SIZE, cluster
        ):
            raise Unknown("a loop in steps of the number of blocks")

    def special(self, e: Expr) -> Value | None:
        """The row or column of a tile in grouped order; None: another expression."""
        if not self._forms or not (
            isinstance(e, Select) or (isinstance(e, Binary) and e.op in ("+", "//"))
        ):
            return None
        whole = resolved(e, self.context.buffers.lets)
        for form, tiles in self._forms:
            row, column = integers(tiles.variables)
            if is_row(whole, form):
                return Value.whole(row)
            if is_column(whole, form):
                return Value.whole(column)
        return None

    def _tiles(self, body: o.Block, work: Expr, place: Expr) -> Tiles:
        """Variables for the place in an order of ``work`` tiles."""
        form = find_grouped(body, place, self.context.buffers.lets)
        if form is not None:
            tiles = self._grouped(form, work)
            if tiles is not None:
                self._forms.append((form, tiles))
                return tiles
        factors = ordered(self.context, work, place, self._over(work))
        total = Integer.of(1)
        for factor in factors:
            total = total * factor
        order = "digits " + ",".join(f.key for f in factors)
        return self._made(order, total, factors, grouped=False)

    def _over(self, work: Expr) -> list[Sym]:
        """The variables of loops over so many tiles."""
        lets = self.context.buffers.lets
        tiles = resolved(work, lets)
        loops = (x for x in walk(self.context.program.body) if isinstance(x, o.For))
        return [op.var for op in loops if resolved(op.stop, lets) == tiles]

    def _grouped(self, form: GroupedForm, work: Expr) -> Tiles | None:
        """None: the order is not that of all tiles of the work."""
        total = integer(self.context, work)
        rows = integer(self.context, form.total)
        columns = integer(self.context, form.columns)
        if rows * columns != total:
            return None
        order = f"groups of {form.group}, {rows.key} by {columns.key}"
        return self._made(order, total, [rows, columns], grouped=True)

    def _made(
        self, order: str, total: Integer, extents: list[Integer], *, grouped: bool
    ) -> Tiles:
        if (order, total) in self._known:
            return self._known[order, total]
        context, world = self.context, self.context.world
        places: list[Integer] = []
        number = Integer.of(0)
        negative = [n for n in extents if not world.is_empty(world.compare(n, "<", 0))]
        if len(negative) > 1:
            said = f"whether {negative[1]}, a number of blocks, is negative"
            raise Unknown(said)
        for extent in extents:
            place = world.fresh("block", 0, extent)
            number = number * extent + place
            places.append(place)
        if grouped:
            number = Integer.atom(Applied(f"place in {order}", tuple(places)))
        variables = tuple(variable_of(p) for p in places)
        tiles = self._known[order, total] = Tiles(number, variables, total)
        context.common = (*context.common, *variables)
        return tiles


def _clusters(program: Program) -> Expr:
    """The number of clusters of a launch."""
    if program.cluster == 1:
        return program.grid
    match program.grid:
        case Binary(op="*", left=units, right=Const(value=c)) if c == program.cluster:
            return units
        case Const(value=int(n)) if n % program.cluster == 0:
            return Const(n // program.cluster)
        case _:
            raise Unknown("a grid that is not made of clusters")


def _strided(context: Context) -> frozenset[o.For]:
    """The loops by which the blocks of a program share out its tiles; none: others.

    For G blocks, S >= 1 and i in [0, G): where G is S, ``i + j*S`` with j >= 0 is
    division with remainder, and so each t in [0, tiles) is that of one block and
    iteration. Where G is ``min(tiles, S)``, it is S, or it is all tiles and j is 0.
    Nothing else in the program may say which block this is, loops carry no tile, and
    atomics are in them: then only t matters.
    """
    program, named = context.program, context.buffers.lets
    found: list[o.For] = []
    for op in walk(program.body):
        if any(sym.name in named for sym in bound(op)):
            continue  # what it names is looked at where it is used
        said = expressions(op)
        if isinstance(op, o.For) and resolved(op.start, named) == BLOCK_INDEX:
            found.append(op)
            said = tuple(e for e in said if e is not op.start)
        if any(BLOCK_INDEX in symbols(resolved(e, named)) for e in said):
            return frozenset()
    inner = {x for op in found for x in walk(op.body)}
    for x in walk(program.body):
        if isinstance(x, o.StoreGlobal) and x.stored is not None and x not in inner:
            return frozenset()  # each block adds, and so their number matters
    shares = (_shares_out(program, op, resolved(op.stop, named)) for op in found)
    if program.cluster != 1 or not inner.isdisjoint(found) or not all(shares):
        return frozenset()
    same = {(resolved(op.stop, named), op.step) for op in found}
    return frozenset(found) if len(same) == 1 else frozenset()


def _shares_out(program: Program, op: o.For, tiles: Expr) -> bool:
    """Whether the blocks of a grid take each of so many tiles once."""
    if op.tiles or not isinstance(op.step, Const):
        return False
    grid = program.grid
    if isinstance(grid, Binary) and grid.op == "min":
        return {grid.left, grid.right} == {tiles, op.step}
    return grid == op.step
