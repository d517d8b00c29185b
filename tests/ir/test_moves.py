"""What a move says of itself, in three ways, is one thing.

Where an element comes from is said for arrays, for indices and for registers; readers
take one of them each, so that a difference would be one between a proof and what runs.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.dtypes import f32
from argus.layout import Fragment
from argus.lower.defaults import Spread, default_layout

HERE = Span("made.py", 1, 1, 1, 2)
SHAPE = (8, 4, 16)


def tile(*shape: int) -> o.Tile:
    return o.Tile(f32, shape, (None,) * len(shape), HERE)


MOVES: tuple[o.AnyMoving, ...] = (
    o.Broadcast(tile(16, 8, 4), tile(4, 16), (2, 0), span=HERE),
    o.Broadcast(tile(8, 4, 16), tile(), (), span=HERE),
    o.Transpose(tile(16, 8, 4), tile(*SHAPE), (2, 0, 1), span=HERE),
    o.Reshape(tile(32, 2, 8), tile(*SHAPE), span=HERE),
    o.Reshape(tile(8, 1, 64), tile(*SHAPE), span=HERE),
    o.Reshape(tile(), tile(1, 1), span=HERE),
    o.Join(tile(8, 12, 16), (tile(*SHAPE), tile(*SHAPE), tile(*SHAPE)), 1, span=HERE),
    o.Slice(tile(8, 4, 4), tile(*SHAPE), 2, 8, span=HERE),
    o.StridedSlice(tile(8, 4, 4), tile(*SHAPE), 2, 1, 4, span=HERE),
    o.Flip(tile(*SHAPE), tile(*SHAPE), 1, span=HERE),
    o.Convert(tile(*SHAPE), tile(*SHAPE), span=HERE),
)


class Plain:
    """Indices that are arrays of whole numbers."""

    def quotient(self, dividend: Any, divisor: int) -> Any:
        return dividend // divisor

    def remainder(self, dividend: Any, divisor: int) -> Any:
        return dividend % divisor


def numbers(op: o.Moving) -> list[Any]:
    """Sources in which each element is another number."""
    shape = op.sources[0].shape
    size = int(np.prod(shape))
    return [np.arange(size).reshape(shape) + i * size for i in range(len(op.sources))]


def layouts(
    shape: tuple[int, ...], spread: dict[int, Spread] | None = None
) -> Iterator[Fragment]:
    for order in ((), (0,), tuple(reversed(range(len(shape))))):
        kept = tuple(a for a in order if a < len(shape))
        whole = (*kept, *(a for a in reversed(range(len(shape))) if a not in kept))
        for vector in (1, 4):
            yield default_layout(shape, 2, 32, vector, whole, spread=spread)


def test_each_move_is_here() -> None:
    assert {type(op) for op in MOVES} == {x for x in o.OPS if issubclass(x, o.Moving)}


@pytest.mark.parametrize("op", MOVES, ids=lambda op: op.words)
def test_indices_say_what_arrays_say(op: o.AnyMoving) -> None:
    assert op.fault() is None
    held = numbers(op)
    wanted = op.array(held)
    assert wanted.shape == op.result.shape
    indices = list(np.indices(op.result.shape))
    found = [
        (source, [np.broadcast_to(i, wanted.shape) for i in at])
        for source, at in op.origins(indices, Plain())
    ]
    assert [x is y for (x, _), y in zip(found, op.sources, strict=True)]
    if op.parted is None:
        part = np.zeros(wanted.shape, int)
    else:
        part = indices[op.parted] * len(found) // wanted.shape[op.parted]
    made = np.full(wanted.shape, -1)
    for number, ((_, at), values) in enumerate(zip(found, held, strict=True)):
        mine = part == number
        made[mine] = values[tuple(i[mine] for i in at)]
    assert (made == wanted).all()


@pytest.mark.parametrize("op", MOVES, ids=lambda op: op.words)
def test_registers_say_what_arrays_say(op: o.AnyMoving) -> None:
    held, seen = numbers(op), 0
    wanted = op.array(held)
    for source, result in pairs(op):
        found = op.held(result, source)
        if found is None:
            continue
        seen += 1
        at = tuple(np.moveaxis(source.table(), -1, 0))
        shape = source.table().shape[:2]
        registers = np.stack([np.broadcast_to(x[at], shape) for x in held])
        made = registers[found[0], :, found[1]].T
        assert (made == wanted[tuple(np.moveaxis(result.table(), -1, 0))]).all()
    assert seen


def pairs(op: o.AnyMoving) -> Iterator[tuple[Fragment, Fragment]]:
    """Layouts of sources and results: those that imply each other, and others."""
    kept, spread = op.kept(), None
    if kept is not None and kept[0] is op.sources[0]:
        tile_, axis, elements = kept
        spread = {axis: Spread.keeping(elements, tile_.shape[axis])}
    for source in layouts(op.sources[0].shape, spread):
        given = [x for t, x in op.implied(None, source) if t is op.result]
        yield from ((source, x) for x in given)
        yield from ((source, x) for x in layouts(op.result.shape))
    for result in layouts(op.result.shape):
        given = [x for t, x in op.implied(result, None) if t in op.sources]
        yield from ((x, result) for x in given)


@pytest.mark.parametrize(
    "op", [x for x in MOVES if x.sources[0].shape], ids=lambda op: op.words
)
def test_a_wrong_shape_is_a_fault(op: o.AnyMoving) -> None:
    assert replace(op, result=tile(3, 5, 7, 11)).fault() is not None


@pytest.mark.parametrize("op", MOVES, ids=lambda op: op.words)
def test_axes_are_named_where_they_stay(op: o.AnyMoving) -> None:
    """Two elements apart along an axis of the result are so along the source's."""
    axes = op.axes_of()
    if axes is None:
        assert isinstance(op, o.Reshape)
        return
    indices = list(np.indices(op.result.shape))
    for _, at in op.origins(indices, Plain()):
        for axis, target in enumerate(axes):
            others = tuple(a for a in range(len(indices)) if a != target)
            assert (np.ptp(np.asarray(at[axis]), axis=others) == 0).all()


@pytest.mark.parametrize("name", sorted(o.Moving.__abstractmethods__))
def test_a_move_that_leaves_out_a_fact_cannot_be_made(name: str) -> None:
    facts = {x: None for x in o.Moving.__abstractmethods__ if x != name}
    made = type("Made", (o.Moving,), facts)
    with pytest.raises(TypeError, match=name):
        made(tile(1), span=HERE)
