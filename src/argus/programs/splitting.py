"""Reductions to few results in two steps, so that many blocks take part.

Sums, products and extremes may be taken in any order. A reduction of many elements to
few is first one to parts, each of which is a block's, and then one of the parts. Scans
of few long rows are those of parts, after what all parts before come to.
"""

from __future__ import annotations

from math import prod

from argus.programs.expression_text import COMBINE
from argus.programs.numbers import neutral
from argus.programs.rewriting import ProgramRewriter
from argus.programs.tensor_program import (
    MapPrimitive,
    Primitive,
    ProgramValue,
    ReducePrimitive,
    ScanPrimitive,
    TensorProgram,
    ViewedValue,
)
from argus.programs.views import (
    ReshapedView,
    bordered,
    permuted,
    repeated,
    sliced,
)

_BLOCKS = 528
"""Parts together: four for each multiprocessor of an H100 or H200."""
_LEAST = 2048
"""Elements of a part, at least."""


def split_reductions(program: TensorProgram) -> TensorProgram:
    """The program in which no reduction leaves most of a GPU idle."""
    return _Splitting().program(program)


class _Splitting(ProgramRewriter):
    def replaced(self, value: ProgramValue, made: Primitive) -> Primitive:
        """A reduction or a scan may become one of parts."""
        match made:
            case ReducePrimitive():
                return self._parted(value, made)
            case ScanPrimitive():
                return self._scanned(value, made)
            case _:
                return made

    def _scanned(self, value: ProgramValue, made: ScanPrimitive) -> Primitive:
        """The scan of each part after the reduction of all parts before."""
        shape, function = made.operand.shape, made.function
        n = shape[made.dim]
        order = [d for d in range(len(shape)) if d != made.dim]
        sizes, rank = tuple(shape[d] for d in order), len(order)
        parts = _parts([n], prod(sizes))
        if parts == 1:
            return made
        order.append(made.dim)
        cut = ReshapedView((*sizes, parts, n // parts))
        operand = made.operand.through(permuted(shape, order)).through(cut)

        def made_of(name: str, shape: tuple[int, ...], made: Primitive) -> ViewedValue:
            found = ProgramValue(f"{value.name}_{name}", shape, value.dtype, made)
            self.values.append(found)
            return ViewedValue(found)

        whole = made_of(
            "parts", cut.shape[:-1], ReducePrimitive(function, operand, (rank + 1,))
        )
        wider = bordered(
            cut.shape[:-1], [(0, 0)] * rank + [(1, 0)], neutral(function, value.dtype)
        )
        kept = sliced(wider.shape, [(0, 1, s) for s in cut.shape[:-1]])
        earlier = ScanPrimitive(whole.through(wider).through(kept), rank, function)
        before = made_of("before", cut.shape[:-1], earlier)
        inner = made_of("inside", cut.shape, ScanPrimitive(operand, rank + 1, function))
        line = (*cut.shape[:-1], 1)
        spread = before.through(ReshapedView(line)).through(repeated(line, cut.shape))
        back = [order.index(d) for d in range(len(shape))]

        def whole_rows(part: ViewedValue) -> ViewedValue:
            rows = (*sizes, n)
            return part.through(ReshapedView(rows)).through(permuted(rows, back))

        return MapPrimitive(COMBINE[function], (whole_rows(inner), whole_rows(spread)))

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
