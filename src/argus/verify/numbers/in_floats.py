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
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from argus.ir import ops as o
from argus.ir.memory import SharedAlloc
from argus.ir.program import Program
from argus.ir.walk import used, walk
from argus.terms import Term
from argus.terms.arithmetic import cleared
from argus.terms.integers import Applied, Integer, Opaque, Truncated, Truth
from argus.verify.denotation import Denotation, Noticed
from argus.verify.numbers.wholes import Overflow, beyond

__all__ = ["inexact_decision"]

_QUOTIENT = "div"
_SIZE = 1 << 21
_NOTE = "sizes are below 2**21 where f32 holds a coordinate that decides"
"""An index that is computed in f32 is one of a tensor that is not so long."""
_CHOOSING = ("maximum", "minimum")
_SPARE = 2
"""Bits that a dividend leaves, so that its quotient is on the right side."""


def inexact_decision(program: Program, found: Denotation) -> Overflow | None:
    """The first number that a float may not hold and by which the program decides."""
    asked = [n for n in found.noticed if n.kind in ("in float", "decides")]
    if not any(n.kind == "decides" for n in asked):
        return None
    kept = list(_not_held(found, asked))
    rounded = {_result(n.op): over for n, over in kept if n.kind == "in float"}
    _spread(program, rounded)
    for noticed in asked:
        if noticed.kind != "decides":
            continue
        for tile in used(noticed.op):
            if tile in rounded and _counts(noticed.op, rounded[tile]):
                return rounded[tile]
    last = ((n.op, over) for n, over in kept if n.kind == "decides")
    return next((over for op, over in last if _counts(op, over)), None)


def _counts(op: o.AnyOp, over: Overflow) -> bool:
    """Whether an operation may decide by a number that a type may not hold."""
    chooses = isinstance(op, o.Elementwise) and op.fn in _CHOOSING
    return not chooses or over.noticed.dtype.bits <= 16


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


def _spread(program: Program, rounded: dict[o.Tile, Overflow]) -> None:
    """Add the tiles that are computed of rounded ones."""
    buffers: dict[SharedAlloc | str, Overflow] = {}
    before = -1
    while len(rounded) + len(buffers) > before:
        before = len(rounded) + len(buffers)
        for op in walk(program.body):
            _step(op, rounded, buffers)


def _step(
    op: o.AnyOp,
    rounded: dict[o.Tile, Overflow],
    buffers: dict[SharedAlloc | str, Overflow],
) -> None:
    def add(tile: o.Tile, sources: Iterable[o.Tile | None]) -> None:
        for source in sources:
            if source in rounded:
                rounded.setdefault(tile, rounded[source])

    match op:
        case o.RegisterOp() | o.Dot():
            if op.result.dtype.is_float:
                add(op.result, used(op))
        case o.For():
            for carry in op.tiles:
                for tile in (carry.arg, carry.result):
                    add(tile, (carry.init, carry.yielded))
        case o.If():
            for merge in op.tiles:
                add(merge.result, (merge.then, merge.other))
        case o.StoreShared():
            if op.src in rounded:
                buffers.setdefault(op.view.alloc, rounded[op.src])
        case o.LoadShared():
            if op.view.alloc in buffers:
                rounded.setdefault(op.result, buffers[op.view.alloc])
        case o.StoreGlobal():
            if op.src in rounded:
                buffers.setdefault(op.view.tensor.name, rounded[op.src])
        case o.LoadGlobal():
            if op.view.tensor.name in buffers:
                rounded.setdefault(op.result, buffers[op.view.tensor.name])
        case (
            o.Roles() | o.Binding() | o.Access() | o.Copy() | o.Synchronisation()
            | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            pass  # it makes no tile of tiles
        case _:
            assert_never(op)
