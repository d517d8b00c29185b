"""Which statement stores an element of an output.

A kernel may store to one output at several places: what is wrong with an element is
said at the one that writes it last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from argus.diagnostics import Span
from argus.evaluation.equal.trying import Trial, WholeTensor, tensors_of, writing
from argus.evaluation.tiles import NotExecutable, Stuck, run_blocks
from argus.evaluation.tiles.order import Env
from argus.interpret.numbers import Array
from argus.ir import ops as o
from argus.ir.access import Ints
from argus.ir.program import Program
from argus.ir.walk import walk

__all__ = ["stored_at", "stores_of"]

_BLOCKS = 16
"""Blocks that are run, at most."""
_SECONDS = 1.0
"""CPU time of a block, at most."""


def stores_of(program: Program, name: str) -> Iterator[Span]:
    """Where a tensor is written."""
    for op in walk(program.body):
        if isinstance(op, o.StoreGlobal | o.CopyOut):
            view = op.dst if isinstance(op, o.CopyOut) else op.view
            if view.tensor.name == name:
                yield op.span


def stored_at(trial: Trial, name: str, index: Sequence[int]) -> Span | None:
    """Where an element is written last; None where it is one place, or not known."""
    if len(set(stores_of(trial.program, name))) < 2:
        return None
    last = _Last()
    tensors = tensors_of(trial)
    whole = tensors[name]
    at = int(np.ravel_multi_index(tuple(index), whole.shape))
    noted = _Noted(whole.values, whole.written, last, at)
    try:
        blocks = writing(trial, (name, tuple(index)))[:_BLOCKS]
        run_blocks(
            trial.program,
            {**tensors, name: noted},
            trial.env,
            blocks,
            watch=last,
            limit=_SECONDS,
            exact=True,
        )
    except (NotExecutable, Stuck, ZeroDivisionError):
        return noted.span
    return noted.span


class _Last:
    """Remembers which operation touches memory."""

    span: Span | None = None

    def before(self, op: o.AnyOp, tiles: Mapping[o.Tile, Array], env: Env) -> None:
        """See :class:`argus.evaluation.tiles.Watch`."""

    def ended(self, op: o.AnyOp, tiles: Mapping[o.Tile, Array], env: Env) -> None:
        """See :class:`argus.evaluation.tiles.Watch`."""

    def existed(self, op: o.AnyOp, exists: Array, env: Env) -> None:
        """See :class:`argus.evaluation.tiles.Watch`."""
        self.span = op.span


class _Noted(WholeTensor):
    """A tensor of which it is noted who writes one element."""

    def __init__(self, values: Array, written: Array, last: _Last, at: int) -> None:
        super().__init__(values, written)
        self.last, self.at = last, at
        self.span: Span | None = None

    def write(self, at: Ints, values: Array) -> None:
        """See :class:`argus.evaluation.tiles.Tensor`."""
        super().write(at, values)
        if (np.asarray(at) == self.at).any():
            self.span = self.last.span
