"""Reductions to few results in two steps, so that many blocks take part.

Sums, products and extremes may be taken in any order. A reduction of many elements to
few is first one to parts, each of which is a block's, and then one of the parts.
"""

from __future__ import annotations

from math import prod

from argus.programs.rewriting import ProgramRewriter
from argus.programs.tensor_program import (
    Primitive,
    ProgramValue,
    ReducePrimitive,
    TensorProgram,
    ViewedValue,
)
from argus.programs.views import ReshapedView, permuted

_BLOCKS = 528
"""Parts together: four for each multiprocessor of an H100 or H200."""
_LEAST = 2048
"""Elements of a part, at least."""


def split_reductions(program: TensorProgram) -> TensorProgram:
    """The program in which no reduction leaves most of a GPU idle."""
    return _Splitting().program(program)


class _Splitting(ProgramRewriter):
    def replaced(self, value: ProgramValue, made: Primitive) -> Primitive:
        """A reduction may become one of parts."""
        return self._parted(value, made) if isinstance(made, ReducePrimitive) else made

    def _parted(self, value: ProgramValue, made: ReducePrimitive) -> ReducePrimitive:
        """The reduction of parts, which are a value of their own."""
        shape = made.operand.shape
        gone = [shape[d] for d in made.dims]
        kept = [d for d in range(len(shape)) if d not in made.dims]
        rows = prod(shape[d] for d in kept)
        parts = _parts(gone, rows)
        if parts == 1 or made.function.startswith("arg"):
            return made
        sizes = tuple(shape[d] for d in kept)
        order = permuted(shape, (*kept, *made.dims))
        rest = prod(gone) // parts
        operand = made.operand.through(order).through(
            ReshapedView((*sizes, parts, rest))
        )
        rank = len(kept)
        part = ProgramValue(
            f"{value.name}_parts",
            (*sizes, parts),
            value.dtype,
            ReducePrimitive(made.function, operand, (rank + 1,)),
        )
        self.values.append(part)
        return ReducePrimitive(made.function, ViewedValue(part), (rank,))


def _parts(sizes: list[int], rows: int) -> int:
    """How many parts; the outermost sizes are cut, so that parts lie together."""
    total = prod(sizes)
    wanted = min(_BLOCKS // max(1, rows), total // _LEAST)
    if wanted < 2:
        return 1
    parts = 1
    for n in sizes:
        if parts * n <= wanted:
            parts *= n
            continue
        room = wanted // parts
        best = max(d for d in range(1, room + 1) if n % d == 0)
        return parts * best
    return parts
