"""The outputs of a denotation, judged by names of dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.terms import (
    IndexSet,
    Integer,
    Product,
    Sum,
    Term,
    Unknown,
    Value,
    Variable,
)
from argus.terms.show import show
from argus.verify.denotation import Denotation, Store
from argus.verify.equality.coverage import positions, unwritten
from argus.verify.equality.defined import unmet
from argus.verify.equality.stored import StoredArray, digits, stored_arrays
from argus.verify.named.faults import TileFaults, reads, said
from argus.verify.named.sound import require_sound
from argus.verify.named.steps import granularity, steps
from argus.verify.named.tiles import tile_sizes

__all__ = ["NamedTerms", "judged"]


@dataclass(frozen=True)
class NamedTerms:
    """What terms say of a kernel without a reference.

    ``reason``: why it is not sound, "" if it is. ``faults``: what no meaning explains.
    ``text``: an element of an output as a term, where it is known.
    """

    reason: str = ""
    faults: tuple[str, ...] = ()
    text: str = ""

    @property
    def sound(self) -> bool:
        """Whether each output element is made of what names say, each once."""
        return not self.reason and not self.faults


def judged(program: Program, denotation: Denotation) -> NamedTerms:
    """What the terms of a tile program say. Nothing is raised: what is not known is."""
    try:
        arrays = stored_arrays(denotation)
    except Unknown as why:
        return NamedTerms(why.reason)
    judging = _Judging(program, denotation)
    reason, faults, text = "", list[str](), ""
    for name, array in arrays.items():
        found = judging.output(name, array)
        reason, text = reason or found.reason, text or found.text
        faults += found.faults
    if not reason and not faults:
        reason = unmet(
            denotation.world, denotation.stores, len(denotation.world.obligations)
        )
    return NamedTerms(reason, tuple(dict.fromkeys(faults)), text)


class _Judging:
    def __init__(self, program: Program, denotation: Denotation) -> None:
        self.world = denotation.world
        self.tiles = tile_sizes(program)
        self.tensors = {
            p.name: p for p in program.params if isinstance(p, GlobalTensor)
        }

    def output(self, name: str, array: StoredArray) -> NamedTerms:
        """What is said of one output."""
        tensor = self.tensors[name]
        try:
            wrong = next(self._races(array), "") or next(self._replicated(array), "")
            if wrong:
                return NamedTerms("", (wrong,))
            at, inside = positions(self.world, tensor.dims, array.sizes)
            value = array.at(at)
        except (Unknown, RecursionError) as why:
            return NamedTerms(_reason(why))
        names = {
            v: dim
            for position, dim in zip(at, tensor.dims, strict=True)
            for v in position.variables()
        }
        text = f"{name}[{', '.join(tensor.dims)}] is {show(value)}"
        faults: list[str] = []
        try:
            for fault in self._faults(names, inside, value):
                faults.append(fault)
            for fault in self._unwritten(array, at, inside):
                faults.append(fault)
            self._require_sound(array, names, at, inside, value)
        except (Unknown, RecursionError) as why:
            return NamedTerms(_reason(why), tuple(faults), text)
        return NamedTerms("", tuple(faults), text)

    def _faults(
        self, names: dict[Variable, str], inside: IndexSet, value: Value
    ) -> Iterator[str]:
        faults = TileFaults(self.world, self.tensors, names, self.tiles)
        for where, x in value.cases:
            if isinstance(x, Term):
                yield from faults.of(where & inside, x)

    def _require_sound(
        self,
        array: StoredArray,
        names: dict[Variable, str],
        at: list[Integer],
        inside: IndexSet,
        value: Value,
    ) -> None:
        if len(value.cases) != 1:
            raise Unknown("elements that differ in what they are made of")
        if not array.stores[0].atomic:
            left = unwritten(self.world, array.stores, at, inside)
            if not self.world.is_empty(left):
                raise Unknown("elements that are not written")
        ((where, x),) = value.cases
        if not self.world.is_subset(inside, where):
            raise Unknown("elements that are made of nothing")
        if not isinstance(x, Term):
            raise Unknown("what a whole number is made of")
        require_sound(self.world, x, self.tensors, names)

    # ---------------------------------------------------------------- of all elements

    def _races(self, array: StoredArray) -> Iterator[str]:
        """Different numbers that several blocks or iterations store at one place."""
        for store in array.stores:
            if store.atomic:
                continue
            point = self._differing(array, store)
            if point is not None:
                yield (
                    f"an element of {store.tensor.name} is stored more than once, with "
                    f"different numbers, {said(point)}"
                )

    def _replicated(self, array: StoredArray) -> Iterator[str]:
        """What each block adds that adds a part of something else, too."""
        for store in array.stores:
            if store.atomic != "add":
                continue
            used = {v for coord in store.coords for v in coord.variables()}
            for _, x in store.value.cases:
                parts = list(x.parts) if isinstance(x, Term) else []
                for block in store.variables:
                    split = [p for p in parts if block in p.free]
                    whole = [p for p in parts if p not in split and reads(Term({p: 1}))]
                    if block in used or not whole or not split:
                        continue
                    if all(_is_share(p, block) for p in split):
                        yield (
                            f"each block that adds a part of a sum to "
                            f"{store.tensor.name} adds {show(Term({whole[0]: 1}))}, too"
                        )

    def _differing(
        self, array: StoredArray, store: Store
    ) -> dict[Variable, int] | None:
        world = self.world
        at, _ = positions(world, store.tensor.dims, array.sizes)
        try:
            _, env = digits(world, store, at)
        except Unknown:
            return None
        # Of what iterations store at one place the last one stays, as is meant.
        blocks = [v for v in store.variables if v.name.startswith("block.")]
        free = [v for v in blocks if v not in env]
        for variable in free:
            other = world.fresh(variable.name, variable.lower, variable.upper)
            twin = {variable: other}
            changed = world.substitute(store.value, twin)
            if _text(changed) == _text(store.value):
                continue
            both = store.where & world.substitute(store.where, twin)
            point = world.sample(both & world.compare(other, "!=", _of(variable)))
            if point is not None:
                return point
        return None

    def _unwritten(
        self, array: StoredArray, at: list[Integer], inside: IndexSet
    ) -> Iterator[str]:
        """Elements that are not written where the last tile is not full."""
        if any(s.atomic for s in array.stores):
            return
        world = self.world
        left = unwritten(world, array.stores, at, inside)
        if world.is_empty(left):
            return
        tensor = array.stores[0].tensor
        for size, dim in zip(array.sizes, tensor.dims, strict=True):
            number = size.single
            if not isinstance(number, Variable):
                continue
            by = granularity(world, number)
            for tile in self.tiles:
                point = steps(world, inside - left, number, tile, by=by)
                if point is not None:
                    yield (
                        f"the last {dim} of {tensor.name} are written only where a "
                        f"tile of {tile} is full, {said(point)}"
                    )
                    break


def _is_share(part: Product, block: Variable) -> bool:
    """Whether a block has a part of a sum: where it begins and ends, and no more."""
    return all(
        isinstance(leaf, Sum) and block not in leaf.body.free_variables()
        for leaf, _ in part.factors
        if block in leaf.free
    ) and (part.exponent is None or block not in part.exponent.free_variables())


def _of(variable: Variable) -> Integer:
    return Integer.atom(variable)


def _text(value: Value) -> str:
    return "; ".join(x.key for _, x in value.cases)


def _reason(why: Unknown | RecursionError) -> str:
    return why.reason if isinstance(why, Unknown) else "terms are nested too deeply"
