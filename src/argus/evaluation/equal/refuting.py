"""A bounded search for inputs on which a kernel is not its reference.

    tried = refute(request, program, reference)

Small sizes come first, all blocks of them, with inputs of several modes; then sizes
and blocks at which a condition of the kernel turns out in a way that no run has shown.
Only a difference that the interpreter confirms is a witness: finding none shows
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np

from argus.clock import now
from argus.equivalence.deciding import TrialPlace
from argus.equivalence.references import Reference
from argus.equivalence.sizes import (
    fixed_sizes,
    free_sizes,
    mended,
    named_sizes,
    with_others_small,
)
from argus.evaluation.drawing import DrawingMode, constants
from argus.evaluation.equal.inputs import MODES
from argus.evaluation.equal.meant import compared_scalars
from argus.evaluation.equal.sizes import drawn, narrower
from argus.evaluation.equal.trial_runs import SearchOver, TrialRuns, Tried, WitnessFound
from argus.evaluation.equal.witness import far_off
from argus.evaluation.tiles import (
    Facet,
    other_sizes,
)
from argus.evaluation.tiles.extents import tile_extents
from argus.ir.expr import Expr, symbols
from argus.ir.program import Program, ScalarParam
from argus.ir.roundoff import is_narrow
from argus.ir.walk import defined, used, walk
from argus.requests import Request
from argus.verify.numbers.products import table_products

__all__ = ["SECONDS", "Tried", "refute", "tried_at"]

SECONDS = 1.0
"""CPU time of a search, if nothing else is said."""
_AT_ELEMENTS, _AT_MISSING = 1 << 24, 3 << 24
"""The same at sizes at which terms differ, and where no block writes an element."""
_TRIALS, _MORE, _SHARE = 12, 42, 0.15
"""Trials at small sizes; after them come conditions that none has shown. More of them
where they take less than this share of the time."""
_SMALL = 3
"""A size that does not matter."""
_LARGEST = 1 << 20
"""The largest size at which a condition is looked for."""
_BEYOND = 1 << 29
"""The largest size at which one is told, though nothing can be run there."""
_FEW, _MODERATE, _CONSTANTS, _BESIDE = 17, 1 << 8, 3, 33
"""Constants above these (of a dimension without tiles, and with them), and so many of
them, are sizes that are tried, beside others of this size."""
_ALONE = 1 << 14
"""A constant from here on is tried beside sizes that are small."""
_AT_DRIVEN = 1 << 22
"""Elements of all tensors where a condition is looked for, at most."""
_AT_CONSTANTS = DrawingMode("constants", share=2, few=True)
_AROUND = DrawingMode("around", around=True, large=True, few=True, special=False)
_ENDS = DrawingMode("ends", ends=True, special=False)
_EMPTIED = DrawingMode("rows", special=False, rows=True)
_ROWS = 6
"""Trials with rows of which nothing, or one element, is left."""
_ROUNDS, _QUICK = 16, 0.2
"""Rounds of all modes at one place, while they take less than this share of the time:
what differs for one entry of a table is hit by chance."""
_SIGNED = (
    DrawingMode("signed", scale=8.0, signed=True),
    DrawingMode("signed", large=True, signed=True),
    DrawingMode("padded", padded=True, share=3),
)
_EDGE = 1 << 13
"""A size that is bounded by this is tried."""
_COUNTED = 300
"""Tiles of a dimension, more than there are numbers of 8 bits."""
_WRAPPING = 1 << 16
"""A size at which products of numbers of tables are looked at."""


def refute(
    request: Request,
    program: Program,
    reference: Reference,
    *,
    seconds: float = SECONDS,
    seed: int = 0,
    at: Sequence[Mapping[str, int]] = (),
    few: bool = False,
    divisors: Mapping[str, int] | None = None,
) -> Tried:
    """Look for a witness for so many seconds of CPU time.

    ``program``: what the request is typed as. ``at``: sizes that are tried before all
    others. ``few``: some small sizes and no more. ``divisors``: those of dimensions in
    calls that count.
    """
    search = _Search(request, program, reference, seconds, seed)
    search.divisors = divisors or {}
    return search.run(at, few)


def tried_at(
    request: Request,
    program: Program,
    reference: Reference,
    place: TrialPlace,
    *,
    signed: bool = False,
    seconds: float = SECONDS,
    seed: int = 0,
    divisors: Mapping[str, int] | None = None,
) -> Tried:
    """All modes of inputs at the sizes of a place, and no others.

    Sizes that are not given are small, and others are mended where the kernel does not
    admit them; scalars may be among them. ``program``: what the request is typed as.
    Where there are many blocks, those that write the element are run, and few more.
    ``signed``: entries of tables may be negative. ``divisors``: see `refute`.
    """
    search = _Search(request, program, reference, seconds, seed)
    search.divisors = divisors or {}
    search.most = _AT_MISSING if place.missing else _AT_ELEMENTS
    search.place = place
    whole = with_others_small(program, place.sizes, _SMALL)
    search.made.why = search.not_taken()
    if whole is None:
        search.made.why = "the kernel admits no such sizes"
    if whole is None or search.made.why:
        return search.made
    with suppress(WitnessFound, SearchOver):
        modes = (*MODES, _AT_CONSTANTS, _AROUND, _ENDS, *(_SIGNED if signed else ()))
        begin = now()
        for _ in range(_ROUNDS):
            for mode in modes:
                search.one(whole, mode, scalars=search.scalars.at(place.sizes, whole))
            if now() > begin + _QUICK * seconds:
                break
    return search.made


class _Search(TrialRuns):
    """``never``: ways in which a condition turns out at no sizes."""

    def __init__(
        self,
        request: Request,
        program: Program,
        reference: Reference,
        seconds: float,
        seed: int,
    ) -> None:
        super().__init__(request, program, reference, seconds, seed)
        self.never: set[Facet] = set()

    def run(self, at: Sequence[Mapping[str, int]], few: bool) -> Tried:
        """All steps, or only ``few``, until there is a witness or no time."""
        made = self.made
        made.why = self.not_taken()
        if not made.why:
            try:
                for sizes in at:
                    self.one(sizes, MODES[0])
                self._small(_TRIALS if few else _MORE)
                self._typed(MODES[:2])
                if not few or is_narrow(self.program):
                    self._rows(2 if few else _ROWS)
                if not few:
                    self._edges()
                    self._counts()
                    self._sides()
                    self._constants()
                    self._driven()
                    self._large()
            except (WitnessFound, SearchOver):
                pass
        if made.witness is None and made.runs:
            made.why = ""
        made.missed = tuple(dict.fromkeys(f.text for f in self._open()))
        unshown = (f for f in self._open() if f.compares and f.required)
        unshown = (f for f in unshown if f not in self.never and not _of_itself(f))
        made.unshown = tuple(dict.fromkeys(f.text for f in unshown))
        made.seconds = now() - self.begin
        return made

    # --------------------------------------------------------------------- steps

    def _small(self, most: int) -> None:
        """All blocks at small sizes, ``most`` of them."""
        modes = _cycle()
        for number, sizes in enumerate(drawn(self.program, self.rng)):
            runs = self.made.runs
            slow = now() > self.begin + _SHARE * (self.until - self.begin)
            if runs >= most or (slow and max(runs, number // 3) >= _TRIALS):
                return
            if number >= 3 * most:
                return
            if not sizes:
                self.made.why = "no sizes were found that the kernel admits"
                raise SearchOver
            self.one(sizes, next(modes))

    def _typed(self, modes: Sequence[DrawingMode]) -> None:
        """Ordinary inputs in the kernel's own types: nothing may become infinite."""
        for mode in modes:
            trial = self.ordinary.get(mode.name)
            if trial is None:
                continue
            self.in_time()
            witness = far_off(trial, self.reference, self.request)
            if witness is not None:
                self.made.witness = witness
                raise WitnessFound

    def _rows(self, most: int) -> None:
        """Rows that a mask or a norm finds empty, in some trials."""
        for _, sizes in zip(range(most), drawn(self.program, self.rng), strict=False):
            if sizes:
                self.ordinary.pop(_EMPTIED.name, None)
                self.one(sizes, _EMPTIED)
                self._typed((_EMPTIED,))

    def _edges(self) -> None:
        """The largest size that requirements admit, of each that they bound."""
        for dim in free_sizes(self.program):
            made = with_others_small(self.program, {dim: _LARGEST}, _SMALL)
            if made is not None and made[dim] <= _EDGE:
                self.one(made, MODES[0])

    def _counts(self) -> None:
        """More tiles than 8 bits count, where whole numbers of so few bits are made."""
        made = (tile.dtype for op in walk(self.program.body) for tile in defined(op))
        if not any(t.kind == "int" and t.bits == 8 for t in made):
            return
        tiles, _ = tile_extents(self.program)
        positive = next(mode for mode in MODES if mode.positive)
        for dim in free_sizes(self.program):
            long = _COUNTED * tiles.get(dim, 1)
            sizes = with_others_small(self.program, {dim: long}, _SMALL)
            if sizes is not None:
                self.one(sizes, positive)

    def _sides(self) -> None:
        """Scalars of floats at numbers with which the program compares them."""
        default = self.scalars.drawn({})
        some = next(drawn(self.program, self.rng))
        for name, number in compared_scalars(self.program):
            if name in self.reference.parameters and some:
                for value in (number - 1.0, number, number + 1.0):
                    given = {**default, name: float(np.float32(value))}
                    self.one(some, MODES[0], scalars=given)

    def _open(self) -> list[Facet]:
        wanted = (f for f in self.facets.unseen() if f.decides or f.shares)
        return [f for f in wanted if f.drivable]

    def _driven(self) -> None:
        """Sizes and scalars at which a condition turns out as no run has shown."""
        free = free_sizes(self.program)
        whole = dict.fromkeys(free, (1, _LARGEST))
        beyond = dict.fromkeys(free, (1, _BEYOND))
        known = {
            p.sym.name: int(value)
            for p in self.program.params
            if isinstance(p, ScalarParam)
            and isinstance(value := self.scalars.default(p.name), int)
        }
        known |= fixed_sizes(self.program)
        tiles, _ = tile_extents(self.program)
        for facet in self._open():
            self.in_time()
            if facet.when is None or facet in self.facets.seen:
                continue
            found = other_sizes(self.program, facet, known, whole)
            if isinstance(found, str):
                # There are none, or none was found, but where sizes are too large.
                found = other_sizes(self.program, facet, known, beyond)
                if not isinstance(found, str):
                    self.made.beyond = _as_at(facet, found.sizes)
                elif not self._is_chosen(facet.when):
                    self.never.add(facet)
                continue
            for some in narrower(free, _LARGEST):
                made = other_sizes(self.program, facet, known, some)
                if not isinstance(made, str):
                    found = made
                    break
            runs, self.most = self.made.runs, _AT_DRIVEN
            # The condition may turn out so outside of tensors only: twice the sizes.
            # In what order tiles are taken shows where each dimension has several.
            tried = (
                found.sizes,
                {n: 2 * size for n, size in found.sizes.items()},
                {n: max(size, tiles.get(n, 1) + 1) for n, size in found.sizes.items()},
            )
            for larger, mode in zip(tried, MODES, strict=False):
                sizes = mended(self.program, {**fixed_sizes(self.program), **larger})
                if sizes is not None:
                    self.one(sizes, mode, block=found.block)
            if self.made.runs == runs:
                self.made.beyond = _as_at(facet, found.sizes)

    def _is_chosen(self, condition: Expr) -> bool:
        """Whether a condition depends on scalars that a reference takes, too."""
        scalars = (p for p in self.program.params if isinstance(p, ScalarParam))
        taken = {p.sym for p in scalars if p.name in self.reference.parameters}
        return not taken.isdisjoint(symbols(condition))

    def _constants(self) -> None:
        """Sizes beyond a constant of the program: an entry of a table may be that."""
        own = {int(c) for c in constants([self.program]) if c == int(c)}
        tiles, _ = tile_extents(self.program)
        for dim in free_sizes(self.program):
            least = _MODERATE if dim in tiles else _FEW
            large = sorted(c for c in own if least < c <= _LARGEST)
            for constant in large[:_CONSTANTS]:
                beside = _BESIDE if constant < _ALONE else _SMALL
                made = with_others_small(self.program, {dim: constant + 3}, beside)
                if made is not None and made[dim] > constant:
                    for _ in range(2):
                        self.one(made, _AT_CONSTANTS)

    def _large(self) -> None:
        """One large size after another, where numbers of tables are multiplied.

        What has 32 bits may wrap there, and nowhere else.
        """
        if not table_products(self.program):
            return
        for dim in free_sizes(self.program):
            made = with_others_small(self.program, {dim: _WRAPPING}, _SMALL)
            if made is not None and made[dim] >= _WRAPPING // 2:
                self.one(made, MODES[0])


def _cycle() -> Iterator[DrawingMode]:
    while True:
        yield from MODES


def _as_at(facet: Facet, sizes: Mapping[str, int]) -> str:
    at = ", ".join(f"{n} = {size}" for n, size in named_sizes(sizes).items())
    return f"{facet.text}, as at {at}"


def _of_itself(facet: Facet) -> bool:
    """Whether a number is compared with itself: only what is none differs from that."""
    tiles = list(used(facet.op))
    return len(tiles) == 2 and tiles[0] is tiles[1]
