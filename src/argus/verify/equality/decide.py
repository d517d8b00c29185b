"""Every output: what is stored, what is not written, and what equality rests on.

Each store is compared at its own coordinates: wherever it is reached, its value is the
specification's at that position. Where all stores of an output are, it does not matter
how often and in which order an element is written. Then each element has to be written,
or to hold before what the specification says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from argus.diagnostics import Span
from argus.terms import (
    Atom,
    Entry,
    IndexSet,
    Integer,
    Term,
    Truncated,
    Unknown,
    Untraced,
    Value,
    Variable,
    World,
    cast,
    union,
    whole,
)
from argus.terms.integers import variable_of
from argus.terms.sampling import value_of
from argus.terms.settle import settled_set
from argus.terms.show import show
from argus.terms.value import Case
from argus.verify.denotation import Denotation, Store
from argus.verify.equality.additions import total
from argus.verify.equality.cancelled import EqualTerms, undefined_data
from argus.verify.equality.coverage import (
    initial,
    positions,
    untraced_part,
    unwritten,
)
from argus.verify.equality.defined import asked, empty_maximum, unmet, zero_divisor
from argus.verify.equality.final import final, repeats, same_points
from argus.verify.equality.mentioned import context
from argus.verify.equality.result import (
    Array,
    EqualityResult,
    Mismatch,
    OutputDecision,
    TellingPoint,
)
from argus.verify.equality.same import same
from argus.verify.equality.stored import shape_of
from argus.verify.equality.telling import telling
from argus.verify.equality.truths import alike

__all__ = ["decide"]


def decide(
    denotation: Denotation,
    specification: Mapping[str, Array],
    taken: Collection[str],
    *,
    noted: int | None = None,
    sequential: Callable[[], Collection[str]] = frozenset[str],
) -> EqualityResult:
    """Compare every output that a kernel stores with its specification.

    ``taken``: tensors of which the specification knows what they held before. An output
    that the kernel adds to, and that is not taken, holds 0. ``noted``: how many
    obligations of the world are the kernel's; the others are the specification's.
    ``sequential`` gives tensors that the placed program accesses in program order, so
    that of several stores to an element the last one counts. It is asked where needed.
    """
    return _Comparison(denotation, specification, taken, noted, sequential).run()


def _is_data(where: IndexSet) -> bool:
    """Whether a set depends on entries of tables, or on whole numbers of floats."""
    return any(isinstance(a, Entry | Truncated) for a in where.all_atoms())


class _Comparison:
    def __init__(
        self,
        denotation: Denotation,
        specification: Mapping[str, Array],
        taken: Collection[str],
        noted: int | None,
        sequential: Callable[[], Collection[str]],
    ) -> None:
        if denotation.sequential:
            denotation = denotation.in_order(sequential())
        self.denotation = denotation
        self.sequential = sequential
        self.ordered = bool(denotation.sequential)
        """Whether what is decided rests on the order of threads."""
        self.world: World = denotation.world
        self.specification = specification
        self.taken = taken
        count = len(self.world.obligations)
        self.noted = count if noted is None else noted
        self.axioms: dict[str, None] = {}
        self.shown: dict[str, list[EqualTerms]] = {}
        """By output: where terms are equal, and both."""

    def run(self) -> EqualityResult:
        """All outputs in the order of their first store, then those without any."""
        stored = (s.tensor.name for s in self.denotation.stores)
        names = dict.fromkeys((*stored, *self.denotation.lost, *self.specification))
        found = [self._output(name) for name in names]
        if all(o.equal for o in found):
            # Only now is all known that the comparison itself has noted.
            found = [self._defined(o) for o in found]
        if all(o.equal for o in found):
            every = [x for shown in self.shown.values() for x in shown]
            mine = self.denotation.stores
            reason = undefined_data(self.world, mine, self.noted, every)
            if reason:
                found = [OutputDecision(o.tensor, reason, o.span) for o in found]
        if all(o.equal for o in found) and not _admits_any(self.world):
            reason = "whether any launch admits what is required and assumed"
            found = [OutputDecision(o.tensor, reason) for o in found]
        axioms = (*self.denotation.notes, *self.world.conventions, *asked(self.world))
        return EqualityResult(
            tuple(found), tuple(dict.fromkeys((*axioms, *self.axioms))), self.ordered
        )

    def _output(self, name: str) -> OutputDecision:
        lost = self.denotation.lost.get(name)
        if lost is not None:
            return self._lost(name, lost)
        stores = [s for s in self.denotation.stores if s.tensor.name == name]
        if not stores:
            return OutputDecision(name, f"nothing is stored to `{name}`")
        span: Span | None = stores[0].span
        array = self.specification.get(name)
        if array is None:
            return OutputDecision(name, f"nothing is said of the output `{name}`", span)
        try:
            sizes = self._sizes(stores[0], array)
            if any(s.atomic for s in stores):
                return self._added(name, stores, array, sizes)
            made = self._stored(name, stores, array, sizes)
            if made.equal or not repeats(stores) or name not in self.sequential():
                return made
            last = final(self.world, stores)
            if len(last) == len(stores) and all(map(same_points, stores, last)):
                return made
            self.ordered = True
            return self._stored(name, last, array, sizes)
        except Unknown as why:
            return _open(name, why, span)

    def _lost(self, name: str, why: Unknown) -> OutputDecision:
        """What is said of an output of which the kernel's terms are not known."""
        array = self.specification.get(name)
        untraced = None if array is None else untraced_part(self.world, array)
        return _open(name, untraced or why, None)

    def _stored(
        self,
        name: str,
        stores: Sequence[Store],
        array: Array,
        sizes: Sequence[Integer],
    ) -> OutputDecision:
        """What an output is that only stores write: each of them the same number."""
        span: Span | None = stores[0].span
        try:
            for store in stores:
                span = store.span
                found = self._store(store, array, sizes)
                if found is not None:
                    return self._differs(name, found, span, store.coords)
            span = stores[0].span
            return self._rest(name, stores, array, sizes)
        except Unknown as why:
            return _open(name, why, span)

    def _sizes(self, store: Store, array: Array) -> tuple[Integer, ...]:
        """Extents of an output. Raises Unknown where the specification's may differ."""
        world, tensor = self.world, store.tensor
        mine = shape_of(world, tensor)
        if len(mine) != len(array.sizes):
            raise Unknown(
                f"`{tensor.name}` has {len(mine)} dimensions, and its specification "
                f"{len(array.sizes)}"
            )
        for dim, own, other in zip(tensor.dims, mine, array.sizes, strict=True):
            if own == other or world.is_empty(world.compare(own, "!=", other)):
                continue
            raise Unknown(
                f"{dim} of `{tensor.name}` is {own}, and {other} in its specification"
            )
        return mine

    # --------------------------------------------------------------------- stores

    def _store(
        self, store: Store, array: Array, sizes: Sequence[Integer]
    ) -> Mismatch | None:
        """Where a store writes another number than the specification's.

        Of a position itself it is known that it lies within the sizes, so that
        quotients and remainders of reshapes are in simpler form there.
        """
        world, shown = self.world, self.shown.setdefault(store.tensor.name, [])
        mine = store.where, store.value
        found = self._values(*mine, array.at(list(store.coords)), shown)
        if found is None:
            return None
        at, _ = positions(world, store.tensor.dims, sizes)
        place = {variable_of(p): c for p, c in zip(at, store.coords, strict=True)}
        wanted = array.at(at).substituted(world, place)
        return self._values(*mine, wanted, shown)

    def _values(
        self,
        where: IndexSet,
        value: Value,
        wanted: Value,
        shown: list[EqualTerms] | None = None,
    ) -> Mismatch | None:
        """Where two values are not shown to be equal. Raises Unknown.

        ``shown`` gets what is.
        """
        world = self.world
        where, value = alike(world, where, value, wanted)
        if value.kind == wanted.kind == "truth":
            odd = (value.where - wanted.where) | (wanted.where - value.where)
            if world.is_empty(where & odd):
                return None
            raise Unknown(f"a truth that is {value}, and not {wanted}")
        if value.kind != wanted.kind:
            value, wanted = cast(world, value, "real"), cast(world, wanted, "real")
        if not world.is_covered(where, (held for held, _ in value.cases)):
            raise Unknown("what the kernel has at some positions")
        # A reference is not defined for every table (an index has to be one), which its
        # trace lists; nothing is said of others. Of positions it has to say something.
        known = [held for held, _ in wanted.cases]
        if not world.is_covered(where, known) and not _is_data(union(known)):
            raise Unknown("what the specification has at some positions")
        compared = False
        for mine in value.cases:
            left = where & mine[0]
            # Where both say the same in so many words, the others are mostly not asked.
            for theirs in sorted(wanted.cases, key=lambda case: case[1] != mine[1]):
                at = settled_set(world, left & theirs[0])
                if world.is_empty(at):
                    continue
                found = self._case(at, mine, theirs)
                if found is not None:
                    return found
                if shown is not None and isinstance(theirs[1], Term):
                    own = mine[1] if isinstance(mine[1], Term) else whole(mine[1])
                    shown.append(EqualTerms(at, own, theirs[1], known))
                compared = compared or not _nothing(world, at, mine, theirs)
                if mine[1] == theirs[1]:
                    left = left - theirs[0]
                    if world.is_empty(left):
                        break
        if not compared:
            raise Unknown("whether any launch admits what is required and assumed")
        return None

    def _case(self, at: IndexSet, mine: Case, theirs: Case) -> Mismatch | None:
        a, b = mine[1], theirs[1]
        if isinstance(a, Integer) and isinstance(b, Integer):
            other = at & self.world.compare(a, "!=", b)
            if self.world.is_empty(other):
                return None
        left = whole(a) if isinstance(a, Integer) else a
        right = whole(b) if isinstance(b, Integer) else b
        return same(self.world, at, left, right)

    def _rest(
        self,
        name: str,
        stores: Sequence[Store],
        array: Array,
        sizes: Sequence[Integer],
    ) -> OutputDecision:
        """What is not written holds what the specification says."""
        world = self.world
        at, inside = positions(world, stores[0].tensor.dims, sizes)
        left = unwritten(world, stores, at, inside)
        if left.is_nothing:
            return OutputDecision(name)
        wanted = array.at(at)
        before = initial(world, stores[0], at)
        if name in self.taken:
            found = self._values(left, before, wanted)
            if found is None:
                return OutputDecision(name)
            found = replace(found, missing=True)
        else:
            mine, theirs = (cast(world, v, "real").terms for v in (before, wanted))
            found = Mismatch(left, mine[0][1], theirs[0][1], missing=True)
        return self._differs(name, found, stores[0].span, at)

    def _added(
        self,
        name: str,
        stores: Sequence[Store],
        array: Array,
        sizes: Sequence[Integer],
    ) -> OutputDecision:
        """An output that blocks add to."""
        world, span = self.world, stores[0].span
        at, inside = positions(world, stores[0].tensor.dims, sizes)
        if name in self.taken:
            before = initial(world, stores[0], at)
        else:
            before = Value.whole(Integer.of(0))
            self.axioms.setdefault(f"`{name}` is 0 before the launch")
        value = total(world, stores, at, before)
        shown = self.shown.setdefault(name, [])
        found = self._values(inside, value, cast(world, array.at(at), "real"), shown)
        if found is None:
            return OutputDecision(name)
        return self._differs(name, found, span, at)

    # -------------------------------------------------------------------- results

    def _defined(self, output: OutputDecision) -> OutputDecision:
        stores = [s for s in self.denotation.stores if s.tensor.name == output.tensor]
        reason = unmet(self.world, stores, self.noted)
        for store in stores:
            for held, x in store.value.cases:
                if isinstance(x, Term):
                    at = store.where & held
                    reason = reason or zero_divisor(self.world, at, x)
                    reason = reason or empty_maximum(self.world, at, x)
        if not reason:
            return output
        return OutputDecision(output.tensor, reason, stores[0].span)

    def _differs(
        self,
        name: str,
        found: Mismatch,
        span: Span | None,
        coords: Sequence[Integer],
    ) -> OutputDecision:
        if found.missing:
            reason, mine = f"elements of `{name}` are not written", "not written"
        else:
            reason, mine = f"the terms of `{name}` differ", show(found.left)
        points = telling(self.world, found)
        return OutputDecision(
            name,
            reason,
            span,
            mine,
            show(found.right),
            show(found.where),
            tuple(TellingPoint(p, _index(coords, p), found.missing) for p in points),
        )


def _index(
    coords: Sequence[Integer], point: Mapping[Variable, int]
) -> tuple[int, ...] | None:
    """Where a point is in an output, if its values say so."""
    values: dict[Atom, int] = {v: n for v, n in point.items()}  # noqa: C416
    found = [value_of(coord, values) for coord in coords]
    known = tuple(n for n in found if n is not None)
    return known if len(known) == len(found) else None


def _open(name: str, why: Unknown, span: Span | None) -> OutputDecision:
    untraced = isinstance(why, Untraced)
    return OutputDecision(name, why.reason, why.span or span, untraced=untraced)


def _nothing(world: World, at: IndexSet, mine: Case, theirs: Case) -> bool:
    """Whether nothing is left of a set beside the facts of what is compared there."""
    terms = [x if isinstance(x, Term) else whole(x) for x in (mine[1], theirs[1])]
    return context(world, at, *terms).is_nothing


def _admits_any(world: World) -> bool:
    """Whether requirements do not contradict each other.

    Of a kernel that no launch admits everything would be true.
    """
    every = IndexSet.universe
    for requirement in world.requirements:
        every = every & requirement.where
    return not world.is_empty(every)
