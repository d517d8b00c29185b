"""Whole numbers in floats that decide something: a mask, an index, a rounding.

Terms take floats for real numbers. Of what is measured that is a matter of rounding. Of
coordinates and entries of tables it is not: 257 is no number of bf16, so that
``index.to(bf16) < 257`` holds for one element too many, and a row that was a float in
between is another row. So where a program compares, cuts or rounds floats that are
whole numbers, each step that made them has to be exact: a number n / d with d a power
of two and n of no more bits than the significand has (IEEE 754, section 3). A quotient
of whole numbers with two bits less is rounded so that cutting it gives the right one.
What is computed of floats that the program is given is not asked for, and of f32 not
what a maximum or minimum chooses: beyond 2**24 a distance is a matter of rounding, too.

An angle or an exponent is another one where its argument is off by 1, however large
that is: a position of a rotary embedding that was bf16 turns by a radian too much. So
these decide as well, of floats of 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.tile_facts import FactDomain, TileFacts, walked
from argus.ir.walk import used, walk
from argus.terms import Term
from argus.terms.cleared import cleared
from argus.terms.integers import Applied, Integer, Opaque, Truncated, Truth
from argus.verify.denotation import Denotation, Noticed
from argus.verify.numbers.wholes import Overflow, beyond

__all__ = ["inexact_decision"]

_QUOTIENT = "div"
_SIZE = 1 << 21
_NOTE = "sizes are below 2**21 where f32 holds a coordinate that decides"
"""An index that is computed in f32 is one of a tensor that is not so long."""
_CHOOSING = ("maximum", "minimum")
_STEEP = ("sin", "cos", "exp", "exp2", "expm1")
"""Functions by which what is small beside their argument is not small."""
_SPARE = 2
"""Bits that a dividend leaves, so that its quotient is on the right side."""


def inexact_decision(program: Program, found: Denotation) -> Overflow | None:
    """The first number that a float may not hold and by which the program decides."""
    asked = [n for n in found.noticed if n.kind in ("in float", "decides")]
    ops = list(walk(program.body))
    folds = [op for op in ops if isinstance(op, o.ScanTotal)]
    steep = [op for op in ops if isinstance(op, o.Elementwise) and op.fn in _STEEP]
    if not folds and not steep and not any(n.kind == "decides" for n in asked):
        return None
    kept = list(_not_held(found, asked))
    seeds = {_result(n.op): over for n, over in kept if n.kind == "in float"}
    facts = walked(program, _Rounded(seeds))
    for noticed in asked:
        if noticed.kind != "decides":
            continue
        for over in map(facts.of, used(noticed.op)):
            if over is not None and _counts(noticed.op, over):
                return over
    for op in (*folds, *steep):  # what the author's function decides is not noticed
        for over in map(facts.of, used(op)):
            if over is not None and (op in folds or over.dtype.bits <= 16):
                return over
    through = _through_memory(program, facts)
    if through is not None:
        return through
    last = ((n.op, over) for n, over in kept if n.kind == "decides")
    return next((over for op, over in last if _counts(op, over)), None)


def _counts(op: o.AnyOp, over: Overflow) -> bool:
    """Whether an operation may decide by a number that a type may not hold."""
    chooses = isinstance(op, o.Elementwise) and op.fn in _CHOOSING
    return not chooses or over.dtype.bits <= 16


def _is_tile(op: o.AnyOp, operand: int) -> bool:
    return not isinstance(op, o.Elementwise) or isinstance(op.args[operand], o.Tile)


def _result(op: o.AnyOp) -> o.Tile:
    assert isinstance(op, o.RegisterOp)
    return op.result


def _not_held(
    found: Denotation, asked: Iterable[Noticed]
) -> Iterator[tuple[Noticed, Overflow]]:
    for noticed in asked:
        op = noticed.op
        if noticed.kind == "decides" and _is_tile(op, int(noticed.name)):
            continue  # what made the tile was noticed
        quotient = isinstance(op, o.Elementwise) and op.fn == _QUOTIENT
        for where, term in noticed.value.cases:
            number, below = cleared(term) if isinstance(term, Term) else (None, 1)
            if number is None or number.constant is not None or _is_data(number):
                continue
            most = 1 << noticed.dtype.precision
            if quotient and noticed.kind == "in float":
                most, below = most >> _SPARE, 1
            if below & (below - 1):
                most = -1  # no float holds it, but for some numbers by chance
            held = (-most, most)
            over = beyond(found, noticed, where, number, held)
            if over is not None and most >= 2 * _SIZE:
                over = beyond(found, noticed, where, number, held, _SIZE)
                if over is None:
                    found.world.convention(_NOTE)
            if over is not None:
                yield noticed, over
                break


def _is_data(x: Integer) -> bool:
    """Whether a whole number is made of floats, or of bits that nothing is known of."""
    for monomial in x.terms:
        for atom in monomial:
            if isinstance(atom, Truth | Truncated | Applied):
                return True
            if isinstance(atom, Opaque) and any(_is_data(a) for a in atom.args):
                return True
    return False


# ------------------------------------------------------------------ what is made of it


class _Rounded(FactDomain["Overflow | None"]):
    """Whether a tile is made of a number that a float may not hold, and which.

    A fact domain (`ir/tile_facts.py`). ``seeds``: tiles that are such numbers.
    """

    def __init__(self, seeds: Mapping[o.Tile, Overflow]) -> None:
        self.seeds = seeds

    def nothing(self) -> Overflow | None:
        """Of a scalar, and of what was not written yet."""
        return None

    def element(self, held: Overflow | None) -> Overflow | None:
        """Of what is loaded."""
        return held

    def joined(self, one: Overflow | None, other: Overflow | None) -> Overflow | None:
        """Of a value that may be either."""
        return one or other

    def elementwise(
        self, op: o.Elementwise, args: Sequence[Overflow | None]
    ) -> Overflow | None:
        """Of the result of a function."""
        return self.made(op, args)

    def product(self, op: o.Dot, parts: Sequence[Overflow | None]) -> Overflow | None:
        """Of a matrix product."""
        return next((x for x in parts if x is not None), None)

    def made(
        self, op: o.RegisterOp, parts: Sequence[Overflow | None]
    ) -> Overflow | None:
        """Of what another operation makes; whole numbers were decided by then."""
        own = self.seeds.get(op.result)
        if not op.result.dtype.is_float:
            return own
        some = [x for x in (own, *parts) if x is not None]
        return min(some, key=lambda x: x.dtype.bits, default=None)


def _through_memory(
    program: Program, facts: TileFacts[Overflow | None]
) -> Overflow | None:
    """Such a number in a tensor that the kernel reads, too."""
    ops = list(walk(program.body))
    loaded = {op.view.tensor.name for op in ops if isinstance(op, o.LoadGlobal)}
    for op in ops:
        if isinstance(op, o.StoreGlobal) and op.view.tensor.name in loaded:
            found = facts.of(op.src)
            if found is not None:
                return found
    return None
