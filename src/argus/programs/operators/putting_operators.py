"""Elements that several tables choose at once are written: `index_put` and its like.

A table of all positions of a dimension, in order, moves nothing along it: that
dimension is one of rows that are written apart. Tables that have no dimension in common
are walked one after the other where elements are added up: what an image gets by rows,
then by columns, takes as many comparisons as both, not as their product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy

from argus.ir.dtypes import i64
from argus.ir.numerics import arithmetic
from argus.programs.lowering.known_tables import digit_table
from argus.programs.operators.scattering_operators import combined, hits_of, replaced
from argus.programs.operators.table_operators import gather
from argus.programs.tensors.operator_table import own
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError
from argus.programs.tensors.views import permuted

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""


@own("index_put", "_unsafe_index_put")
def index_put(
    x: Any, indices: Sequence[Any], values: Any,
    accumulate: bool = False,
) -> Any:  # fmt: skip
    """A copy with other elements where tables say; added, or replaced.

    One table of truth values with one value is a choice.
    """
    tables = {d: t for d, t in enumerate(indices) if t is not None}
    if any(t.element.kind == "bool" for t in tables.values()):
        return _masked(x, tables, values, accumulate)
    dims = list(tables)
    side_by_side = dims == list(range(dims[0], dims[-1] + 1))
    shape = np.broadcast_shapes(*(t.shape for t in tables.values()))
    rest = [d for d in range(x.ndim) if d not in tables]
    # What is written: the dimensions of the tables stand where these are side by side.
    ahead = [d for d in rest if d < dims[0]] if side_by_side else []
    kept = [*ahead, *(d for d in rest if d not in ahead)]
    sizes = [x.shape[d] for d in kept]
    first = len(ahead)
    spread = np.broadcast_to(values, (*sizes[:first], *shape, *sizes[first:]))
    rows = _rows(tables, shape, x.shape)
    moving = [d for d in dims if d not in rows]
    entries = [e for e in range(len(shape)) if e not in rows.values()]
    order = [
        *range(first), *range(first + len(shape), spread.ndim),
        *(first + e for e in (*rows.values(), *entries)),
    ]  # fmt: skip
    given: Any = spread.seen(permuted(spread.shape, order))
    at = [_wide(tables[d], shape, x.shape[d], rows, entries) for d in moving]
    back = [*kept, *rows, *moving]
    turned: Any = x.seen(permuted(x.shape, back))
    put = _Put(turned, at, given, len(kept), len(rows))
    found: Any = put.added() if accumulate else put.replaced()
    return found.seen(permuted(found.shape, [back.index(d) for d in range(x.ndim)]))


def _rows(
    tables: Mapping[int, TensorArray], shape: Sequence[int], sizes: Sequence[int]
) -> dict[int, int]:
    """Dimensions of which a table is all positions, and dimensions of the tables.

    At least one dimension is none of them.
    """
    found: dict[int, int] = {}
    for d, table in tables.items():
        if len(found) + 1 == len(tables):
            break
        offset = len(shape) - table.ndim
        along = [e for e, n in enumerate(table.shape) if n > 1]
        if len(along) != 1 or offset + along[0] in found.values():
            continue
        known = digit_table(table.operand)
        moved = [] if known is None else [
            (n, f) for n, f in zip(known.sizes, known.factors, strict=True) if n > 1
        ]  # fmt: skip
        if known is not None and not known.start and moved == [(sizes[d], 1)]:
            found[d] = offset + along[0]
    return found


def _wide(
    table: TensorArray, shape: Sequence[int], n: int, rows: Mapping[int, int],
    entries: Sequence[int],
) -> Any:  # fmt: skip
    """Positions (*rows, *entries) among ``n``, of sizes 1 where they are the same."""
    at: Any = table.cast(i64)
    at = np.where(at < 0, at + n, at)
    at = at.reshape(*[1] * (len(shape) - at.ndim), *at.shape)
    return at.seen(permuted(at.shape, [*rows.values(), *entries]))


class _Put:
    """What is written to ``x``, whose dimensions are (*kept, *rows, *places).

    ``tables`` (*rows, *entries) choose positions of each dimension of places for what
    is ``given`` (*kept, *rows, *entries). ``kept``, ``rows``: how many there are.
    """

    def __init__(
        self, x: Any, tables: Sequence[Any], given: Any, kept: int, rows: int
    ) -> None:
        self.x, self.tables, self.given = x, tables, given
        self.kept, self.rows = kept, rows
        self.ahead = kept + rows

    def replaced(self) -> Any:
        """Of several that are written to one place the last one counts."""
        lines, table, given = self._lines()
        return replaced(lines, table, given).reshape(*self.x.shape)

    def added(self) -> Any:
        """All that are written to a place are added up."""
        lines, table, given = self._lines()
        whole = self._flat(range(len(self.tables)))
        if all(n == 1 for n in whole.shape[: self.rows]):
            entries = whole.reshape(*whole.shape[self.rows :])
            found = _added_by_rule(lines, entries, given)
            if found is not None:
                return found.reshape(*self.x.shape)
        apart = self._apart()
        if len(apart) == 1:
            return combined(lines, table, given, "sum", True).reshape(*self.x.shape)
        return self._one_after_the_other(apart)

    def _lines(self) -> tuple[Any, Any, Any]:
        """``x`` and what is given, of one dimension behind those ahead, and a table."""
        ahead, entries = self.x.shape[: self.ahead], self.given.shape[self.ahead :]
        flat = self._flat(range(len(self.tables)))
        own = flat.shape[: self.rows]
        table = np.broadcast_to(flat, (*own, *entries))
        return (
            self.x.reshape(*ahead, prod(self.x.shape[self.ahead :])),
            table.reshape(*[1] * self.kept, *own, prod(entries)),
            self.given.reshape(*ahead, prod(entries)),
        )

    def _flat(self, some: Sequence[int]) -> Any:
        """Positions among the places of some dimensions, row by row."""
        flat: Any = None
        for i in some:
            at = self.tables[i]
            flat = at if flat is None else flat * self.x.shape[self.ahead + i] + at
        return flat

    def _apart(self) -> list[tuple[list[int], list[int]]]:
        """Tables that share dimensions of entries, and these dimensions."""
        found: list[tuple[list[int], list[int]]] = []
        for i, table in enumerate(self.tables):
            tables, dims = [i], [
                e for e, n in enumerate(table.shape[self.rows :]) if n > 1
            ]  # fmt: skip
            for other in [o for o in found if not set(o[1]).isdisjoint(dims)]:
                found.remove(other)
                tables = sorted((*tables, *other[0]))
                dims = sorted({*dims, *other[1]})
            found.append((tables, dims))
        return found

    def _one_after_the_other(self, apart: list[tuple[list[int], list[int]]]) -> Any:
        """First where entries are fewest afterwards."""
        ahead, given = self.ahead, self.given
        wide = arithmetic(given.element) if given.element.is_float else given.element
        given = given.cast(wide)
        entries = given.shape[ahead:]
        left = list(range(len(entries)))

        def places(some: Sequence[int]) -> int:
            return prod(self.x.shape[ahead + i] for i in some)

        def less(part: tuple[list[int], list[int]]) -> float:
            return places(part[0]) / prod(entries[e] for e in part[1])

        done: list[int] = []
        for tables, dims in sorted(apart, key=less):
            others = [e for e in left if e not in dims]
            made = given.ndim - ahead - len(left)
            order = [
                *range(ahead), *(ahead + left.index(e) for e in others),
                *range(given.ndim - made, given.ndim),
                *(ahead + left.index(e) for e in dims),
            ]  # fmt: skip
            given = given.seen(permuted(given.shape, order))
            walked = prod(entries[e] for e in dims)
            given = given.reshape(*given.shape[: given.ndim - len(dims)], walked)
            flat = self._flat(tables)
            own = flat.shape[: self.rows]
            table = np.broadcast_to(flat, (*own, *(
                n if e in dims else 1 for e, n in enumerate(entries)
            )))  # fmt: skip
            still = given.ndim - 1 - ahead
            at = table.reshape(*[1] * self.kept, *own, *[1] * still, walked)
            found = hits_of(at, places(tables), given)
            given = np.sum(np.where(found, given[..., None, :], 0), -1)
            left, done = others, [*done, *tables]
        split = given.reshape(
            *given.shape[:ahead], *(self.x.shape[ahead + i] for i in done)
        )
        back = [ahead + done.index(i) for i in range(len(done))]
        ordered = split.seen(permuted(split.shape, [*range(ahead), *back]))
        return self.x.cast(wide) + ordered


def _added_by_rule(rows: Any, table: TensorArray, given: Any) -> Any:
    """Rows to which entries are added by a table that is known; None: it moves none so.

    Digits that choose nothing are summed; the others are all places, in some order.
    """
    known = digit_table(table.operand)
    places = rows.shape[-1]
    if known is None or known.start:
        return None
    digits = list(enumerate(zip(known.sizes, known.factors, strict=True)))
    moving = [(f, n, i) for i, (n, f) in digits if f and n > 1]
    size = 1
    for factor, n, _ in sorted(moving):
        if factor != size:
            return None
        size *= n
    if size != places:
        return None
    ahead = rows.ndim - 1
    split: Any = given.reshape(*rows.shape[:-1], *known.sizes)
    still = tuple(ahead + i for i, (n, f) in digits if not f or n == 1)
    wide = arithmetic(rows.element) if rows.element.is_float else rows.element
    added: Any = np.sum(split.cast(wide), still) if still else split.cast(wide)
    kept = [i for i, (n, f) in digits if f and n > 1]
    order = [kept.index(i) for _, _, i in sorted(moving, reverse=True)]
    turned = added.seen(
        permuted(added.shape, [*range(ahead), *(ahead + o for o in order)])
    )
    return rows.cast(wide) + turned.reshape(*rows.shape)


def _masked(x: Any, tables: dict[int, TensorArray], values: Any, added: bool) -> Any:
    """Values of one element where a mask is true."""
    if list(tables) != [0] or values.size != 1:
        raise UntranslatedError("elements written where truth values say")
    mask = tables[0]
    wide = mask.reshape(*mask.shape, *[1] * (x.ndim - mask.ndim))
    one = values.reshape(*[1] * x.ndim).cast(x.element)
    return np.where(wide, x + one if added else one, x)


@own("put")
def put(x: Any, table: Any, source: Any, accumulate: bool = False) -> Any:
    """A copy with other elements, by their positions in row-major order."""
    made = index_put(x.reshape(-1), [table.reshape(-1)], source.reshape(-1), accumulate)
    return made.reshape(x.shape)


@own("masked_scatter")
def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """A copy in which the next elements of another stand where a mask is true."""
    shape = np.broadcast_shapes(x.shape, mask.shape)
    x, wide = np.broadcast_to(x, shape), np.broadcast_to(mask, shape)
    line = TensorArray(x.recorder, x.recorder.copied(wide.operand)).reshape(-1)
    before: Any = np.cumsum(line.cast(i64), 0) - 1
    count = source.size
    at: Any = np.minimum(np.maximum(before, 0), count - 1)
    given = TensorArray(x.recorder, x.recorder.copied(source.operand)).reshape(-1)
    taken: Any = gather(given, 0, at) if line.size > 1 else given[:1]
    return np.where(wide, taken.cast(x.element).reshape(x.shape), x)
