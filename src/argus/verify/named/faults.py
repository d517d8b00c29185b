"""What no meaning of a kernel can explain: its result shows where its tiles end.

Each fault is a sentence with sizes at which it shows. Where a set or a size is not
known well enough, nothing is found: that there are no faults shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from argus.ir.memory import GlobalTensor
from argus.terms import (
    Element,
    Entry,
    Generated,
    IndexSet,
    Integer,
    Leaf,
    Max,
    Opaque,
    Sum,
    Term,
    Truncated,
    Truth,
    Unknown,
    Variable,
    Whole,
    World,
    union,
)
from argus.terms.leaves import Generator
from argus.terms.term import Rational
from argus.verify.equality.mentioned import leaves
from argus.verify.equality.stored import shape_of
from argus.verify.named.steps import granularity, steps

__all__ = ["TileFaults", "reads", "said"]

_LARGE = 1 << 12
_TILES = 12
Over = Sum | Generator


class TileFaults:
    """TileFaults of elements of one output.

    ``at``: the coordinates of the element, and the dimensions that they are of;
    ``tiles``: sizes of tiles, of which no author speaks.
    """

    def __init__(
        self,
        world: World,
        tensors: Mapping[str, GlobalTensor],
        at: Mapping[Variable, str],
        tiles: Sequence[int],
    ) -> None:
        self.world, self.tensors, self.at, self.tiles = world, tensors, at, tiles

    def of(self, where: IndexSet, term: Term) -> Iterator[str]:
        """TileFaults of a term at the points of a set."""
        for inner in _terms(term):
            yield from self._counted(inner)
            yield from self._overlapping(inner)
        for leaf in leaves(term):
            if isinstance(leaf, Sum):
                yield from self._repeated(leaf)
                yield from self._mixed(leaf)
            if isinstance(leaf, Generated):
                yield from self._padded(leaf)
            if isinstance(leaf, Element):
                yield from self._moved(leaf)
        yield from self._left_out(where, term)

    # --------------------------------------------------------- how often things count

    def _counted(self, term: Term) -> Iterator[str]:
        """A summand that is added once for each tile."""
        for part in term.parts:
            for leaf, power in part.factors:
                if not isinstance(leaf, Whole) or power < 0:
                    continue
                atom = leaf.atom
                if not isinstance(atom, Opaque) or atom.op != "div":
                    continue
                dividend, divisor = atom.args
                if divisor.constant not in self.tiles or _bound(dividend):
                    continue
                rest = self.world.remainder(dividend, divisor)
                some = self.world.sample(self.world.compare(rest, "==", 0))
                other = self.world.sample(self.world.compare(rest, "!=", 0))
                if some is not None and other is not None:
                    yield (
                        f"something counts {atom} times, as often as there are tiles "
                        f"of {divisor}, where a part of one counts, too: {said(other)}"
                    )

    def _repeated(self, leaf: Sum) -> Iterator[str]:
        """Tiles of a sum that overlap: some products are added again."""
        free = leaf.body.free_variables()
        again = [v for v in leaf.variables if v not in free]
        if len(again) != 1 or not reads(leaf.body) or _of_data(leaf.domain):
            return
        (tile,) = again
        world = self.world
        for domain in self._also_of_numbers(leaf.domain):
            other = world.fresh("other")
            (twin,) = other.variables()
            both = domain & world.substitute(domain, {tile: other})
            both = both & world.compare(Integer.atom(tile), "<", other)
            try:
                several = world.project(both, [tile, twin])
                some = world.project(domain, [tile])
            except Unknown:
                several, some = self._by_tiles(domain, tile)
            if world.sample(some - several) is None:
                return
            for v in leaf.variables:
                after = world.substitute(some, {v: Integer.atom(v) + 1})
                if v is not tile and self._step(several, v, some & after) is not None:
                    yield f"tiles of a sum overlap: {self._names(leaf)} is added again"
            return

    def _by_tiles(self, domain: IndexSet, tile: Variable) -> tuple[IndexSet, IndexSet]:
        """What several of the first tiles have, and what at least one has."""
        several, some = IndexSet.nothing, IndexSet.nothing
        for number in range(_TILES):
            own = self.world.substitute(domain, {tile: Integer.of(number)})
            several, some = several | (some & own), some | own
        return several, some

    def _also_of_numbers(self, where: IndexSet) -> Iterator[IndexSet]:
        """A set, and it at sizes of some tiles: products of sizes are numbers there."""
        yield where
        world = self.world
        sizes = [v for v in where.variables() if v.name.isidentifier()]
        number = Integer.of(9 * max(self.tiles, default=1) + 24)
        at = IndexSet.universe
        for size in sizes:
            at = at & world.compare(Integer.atom(size), "==", number)
        if not world.is_empty(at):
            yield world.substitute(where, dict.fromkeys(sizes, number))

    def _overlapping(self, term: Term) -> Iterator[str]:
        """Two sums of the same products over sets that overlap by tiles.

        Of such sums what is in both may stand by itself, with the larger number.
        """
        sums: dict[tuple[str, int], list[tuple[Rational, Sum]]] = {}
        for part, coefficient in term.parts.items():
            found = [
                x for x, power in part.factors if isinstance(x, Sum) and power == 1
            ]
            if len(found) == 1 and part.exponent is None:
                (leaf,) = found
                rest = [x.key for x, _ in part.factors if x is not leaf]
                key = f"{rest} {leaf.body.key}"
                one = (coefficient, leaf)
                sums.setdefault((key, len(leaf.variables)), []).append(one)
        for several in sums.values():
            for (much, a), (little, b) in combinations(several, 2):
                if not reads(a.body) or _of_data(a.domain) or _of_data(b.domain):
                    continue
                world = self.world
                either = a.domain | b.domain
                both = a.domain & b.domain
                if much != little:
                    if not all(isinstance(x, int) and x > 0 for x in (much, little)):
                        continue
                    both = a.domain if much > little else b.domain
                if world.sample(both) is None or world.sample(either - both) is None:
                    continue
                for v in a.variables:
                    after = world.substitute(either, {v: Integer.atom(v) + 1})
                    if self._step(both, v, either & after) is not None:
                        yield f"a tile of a sum is added again: {self._names(a)}"
                        break

    # ------------------------------------------------------------ what takes part

    def _left_out(self, where: IndexSet, term: Term) -> Iterator[str]:
        """Ends of dimensions that no sum or maximum reads, whichever the element."""
        for (name, number), read in self._read(where, term).items():
            tensor = self.tensors[name]
            size = shape_of(self.world, tensor)[number].single
            if not isinstance(size, Variable):
                continue
            by = granularity(self.world, size)
            dim = tensor.dims[number]
            for tile in self.tiles:
                point = steps(self.world, read, size, tile, by=by)
                if point is not None:
                    yield (
                        f"which {dim} of {name} are read changes only where a tile of "
                        f"{tile} ends: the last ones are left out, {said(point)}"
                    )
                    break
                if self._has_holes(read, size, tile):
                    yield f"tiles of {tile} {dim} of {name} are left out of sums"
                    break

    def _has_holes(self, read: IndexSet, size: Variable, tile: int) -> bool:
        """Whether tiles are read and others not, wherever one looks."""
        along = self.world.variable("$along", 0)
        (place,) = along.variables()
        inside = self.world.compare(along + 1, "<", Integer.atom(size))
        far = inside & self.world.compare(along, ">=", _LARGE)
        far = far & self.world.compare(Integer.atom(size) - along, ">=", _LARGE)
        return steps(self.world, read, place, tile, far) is not None

    def _read(self, where: IndexSet, term: Term) -> dict[tuple[str, int], IndexSet]:
        """Coordinates of dimensions that only sums and maxima read, by name.

        For any element of the output. They are those of the variable ``along``.
        """
        along = self.world.variable("$along", 0)
        found: dict[tuple[str, int], list[IndexSet]] = {}
        unclear: set[tuple[str, int]] = set()
        for leaf, around in _inside(term, ()):
            for number, index in enumerate(leaf.indices):
                place = (leaf.tensor, number)
                held = [o for o in around if index.single in o.variables]
                if not held or any(_of_data(o.domain) for o in around):
                    unclear.add(place)
                    continue
                domain = where & self.world.compare(along, "==", index)
                gone = list(self.at)
                for over in around:
                    domain = domain & over.domain
                    gone += over.variables
                try:
                    found.setdefault(place, []).append(self.world.project(domain, gone))
                except Unknown:
                    unclear.add(place)
        return {p: union(sets) for p, sets in found.items() if p not in unclear}

    def _padded(self, leaf: Generated) -> Iterator[str]:
        """A number that a maximum (or product) has where a tile is not full."""
        for generator in leaf.generators:
            if reads(generator.body) or _of_data(generator.domain):
                continue
            others = [g.body for g in leaf.generators if reads(g.body)]
            if not any(_may_be_less(body) for body in others):
                continue
            try:
                gone = [*generator.variables, *self.at]
                where = self.world.project(generator.domain, gone)
            except Unknown:
                continue
            if not where.variables() or _names_any(where, "$"):
                continue
            large = IndexSet.universe
            for size in where.variables():
                large = large & self.world.compare(Integer.atom(size), ">=", 2)
            point = self.world.sample(where & large)
            if point is not None and self.world.sample(large - where) is not None:
                yield (
                    f"a {leaf.function} is taken of {generator.body}, too, where the "
                    f"last tile is not full, {said(point)}"
                )

    def _mixed(self, leaf: Sum) -> Iterator[str]:
        """Numbers relative to maxima that differ from tile to tile."""
        for inner in leaves(leaf.body):
            if not isinstance(inner, Max):
                continue
            for generator in inner.generators:
                for v in leaf.variables:
                    if v not in generator.domain.variables():
                        continue
                    after = {v: Integer.atom(v) + 1}
                    next_ = self.world.substitute(leaf.domain, after)
                    if self._step(generator.domain, v, leaf.domain & next_) is not None:
                        yield "numbers are added that are relative to different maxima"

    def _moved(self, leaf: Element) -> Iterator[str]:
        """An element of another tile than that of the output element."""
        own = {dim: v for v, dim in self.at.items()}
        dims = self.tensors[leaf.tensor].dims
        for index, dim in zip(leaf.indices, dims, strict=True):
            if dim not in own or index.single is own[dim]:
                continue
            here = Integer.atom(own[dim])
            if any(index == self.world.remainder(here, t) for t in self.tiles):
                yield f"each tile reads {leaf.tensor} at the {dim} of the first tile"
                continue
            for atom in index.atoms():
                if not isinstance(atom, Opaque) or atom.op not in ("div", "mod"):
                    continue
                others = (atom.variables & self.at.keys()) - {own[dim]}
                if others and atom.args[1].constant in self.tiles:
                    yield (
                        f"which {dim} of {leaf.tensor} is read depends on the tile of "
                        f"{', '.join(self.at[v] for v in others)}"
                    )
                    break

    # ------------------------------------------------------------------- helpers

    def _step(
        self, where: IndexSet, variable: Variable, within: IndexSet
    ) -> dict[Variable, int] | None:
        for tile in self.tiles:
            point = steps(self.world, where, variable, tile, within)
            if point is not None:
                return point
        return None

    def _names(self, leaf: Sum) -> str:
        found = (x for x in leaves(leaf.body) if isinstance(x, Element))
        return "·".join(dict.fromkeys(x.tensor for x in found))


def said(point: Mapping[Variable, int]) -> str:
    """A point as text: sizes, without what is bound or internal."""
    shown = {v.name: n for v, n in point.items() if v.name.isidentifier()}
    text = ", ".join(f"{name} = {n}" for name, n in sorted(shown.items()))
    return f"as at {text}" if text else "at all sizes"


def _terms(term: Term) -> Iterator[Term]:
    """A term, and those inside of it."""
    yield term
    for part in term.parts:
        for leaf, _ in part.factors:
            for inner in leaf.terms:
                yield from _terms(inner)
        if part.exponent is not None:
            yield from _terms(part.exponent)


def _inside(
    term: Term, around: tuple[Over, ...]
) -> Iterator[tuple[Element, tuple[Over, ...]]]:
    """Elements of a term, with the sums and maxima around them."""
    for part in term.parts:
        if part.exponent is not None:
            yield from _inside(part.exponent, around)
        for leaf, _ in part.factors:
            yield from _in_leaf(leaf, around)


def _in_leaf(
    leaf: Leaf, around: tuple[Over, ...]
) -> Iterator[tuple[Element, tuple[Over, ...]]]:
    if isinstance(leaf, Element):
        yield leaf, around
    for over in leaf.overs:
        yield from _inside(over.body, (*around, over))
    if not leaf.overs:
        for inner in leaf.terms:
            yield from _inside(inner, around)


def reads(term: Term) -> bool:
    """Whether a term is made of elements of tensors."""
    return any(isinstance(leaf, Element) for leaf in leaves(term))


def _may_be_less(body: Term) -> bool:
    """Whether a term is plainly any number: elements, to odd powers."""
    for part in body.parts:
        if part.exponent is not None:
            continue
        elements = [(x, p) for x, p in part.factors if isinstance(x, Element)]
        if len(elements) == len(part.factors) and any(p == 1 for _, p in elements):
            return True
    return False


def _bound(value: Integer) -> bool:
    return any(not v.name.isidentifier() for v in value.variables())


def _names_any(where: IndexSet, begin: str) -> bool:
    return any(v.name.startswith(begin) for v in where.variables())


def _of_data(where: IndexSet) -> bool:
    """Whether a set depends on entries of tables, or on numbers."""
    return any(
        isinstance(atom, Entry | Truth | Truncated)
        for monomial in where.monomials
        for atom in monomial
    )
