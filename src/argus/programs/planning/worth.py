"""What is worth computing in one kernel, and what is better stored before it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from argus.programs.convolutions.direct_convolutions import copy_time
from argus.programs.lowering.expressions import (
    ApplyNode,
    Border,
    ExpressionNode,
    walked,
)
from argus.programs.lowering.lowering import LoweredGroup, NotFusedError
from argus.programs.planning.kernel_group import KernelGroup
from argus.programs.products.product_forms import ProductForm
from argus.programs.products.product_tiles import (
    followed_long,
    hides_what_follows,
    predicted_time,
)
from argus.programs.tensors.affine import Affine
from argus.programs.tensors.joining import FEW, LONG
from argus.programs.tensors.offsets import offsets_through
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    GatherPrimitive,
    MapPrimitive,
    ProgramValue,
    ReducePrimitive,
    ViewedValue,
    operands_of,
)
from argus.programs.tiles.window_tiling import read_along, stored_across

__all__ = [
    "MOST_NODES", "is_all_of_reductions", "is_alone", "is_of_computed", "is_recomputed",
    "no_empty_tiles", "no_gaps", "no_long_epilogue", "no_product", "no_short_sums",
    "no_turned_rows", "worthwhile",
]  # fmt: skip

_FEW_ROWS, _LONG_ROW = 64, 1024
_MANY_COLUMNS = 8192
MOST_NODES = 256
"""What a kernel computes on the way, at most, where it need not. A value that is read
at several places is several: parts of parts that are replaced would double it each."""
_OFTEN = 2
"""Times that what is stored anyway is not computed in what reads it."""
_MANY, _VERY_OFTEN, _WALKED = 1 << 12, 64, 1 << 26
"""Elements of a map, times that a reduction walks them, and both together, from which
it is stored."""
_MANY_POINTS = 1 << 22
"""The same of both where elements that are read side by side lie apart, each in a
sector of memory: a copy that puts them side by side may be as small as it likes."""
_STEPS = 2
"""Maps of a normalised row, from which on they are stored where each result of a
product would compute them anew."""
_MUCH = 64
"""Elements that a reduction takes in for each of its results, at least."""
_LARGE = 1 << 20
"""Elements for each of which functions that take long are not computed again."""


def worthwhile(group: LoweredGroup) -> None:
    """Raises NotFusedError for a kernel that is slower than several.

    It has few long rows that are stored, of few blocks, or computes too much.
    """
    if len(group.nodes) > MOST_NODES:
        raise NotFusedError("more than a kernel should compute")
    if not group.columns:
        return
    columns = set(group.columns)
    rows = prod(group.sizes[n] for n in group.rows)
    length = prod(group.sizes[n] for n in group.columns)
    stored = any(s.offset.loops & columns for s in group.stores)
    if stored and rows < _FEW_ROWS and length > _MANY_COLUMNS:
        raise NotFusedError("few blocks would do all the work")


def no_turned_rows(group: LoweredGroup) -> None:
    """Raises NotFusedError where long rows are reduced, and stored across memory.

    A tile of several rows, which a kernel of maps has, stores what lies side by side.
    """
    columns = set(group.columns)
    if not columns or group.scans or prod(group.sizes.values()) < _LARGE:
        return
    read = any(_along(e.whole) & columns for e in group.elements)
    for store in group.stores:
        across = store.offset.loops & columns and not _along(store.offset) & columns
        length = prod(group.sizes[n] for n in store.offset.loops & columns)
        if read and across and length >= _LONG_ROW:
            raise NotFusedError("results that lie across rows that are reduced")


def _along(offset: Affine) -> set[str]:
    """The loops along which elements lie side by side."""
    return {n for n, factor in offset.terms if factor == 1}


def no_product(group: LoweredGroup, before: KernelGroup) -> None:
    """Raises NotFusedError where a kernel should be a product of matrices."""
    if isinstance(before.form, ProductForm):
        raise NotFusedError("tensor cores would not compute it any more")
    if not group.windows or (before.lowered and before.lowered.windows):
        return
    if any(_shares_factors(group, n) for n in walked([*group.reductions])):
        raise NotFusedError("what follows sums over windows")
    if stored_across(group, read_along(group)):
        # 10x32x112x112, 3x3: 41 us, where both take 31 one after the other.
        raise NotFusedError("sums over windows that are stored in another order")


def _shares_factors(group: LoweredGroup, node: ExpressionNode) -> bool:
    """Whether rows have a factor of a product in common.

    Of a matrix product they have; of a depthwise convolution each channel has its own.
    """
    if not isinstance(node, ApplyNode) or node.function != "mul":
        return False
    left, right = (group.pool.free(p) & set(group.rows) for p in node.parts)
    return not (left and right and (left <= right or right <= left))


def no_gaps(group: LoweredGroup, before: KernelGroup) -> None:
    """Raises NotFusedError where a long row to reduce becomes many short ones.

    So it does where it is read from a product of which parts are left out.
    """
    columns = before.lowered.columns if before.lowered else ()
    alone = {e.buffer for e in group.elements if is_alone(e.buffer)}
    if alone and 0 < len(columns) < len(group.columns):
        raise NotFusedError("rows that do not follow each other")


def no_long_epilogue(group: LoweredGroup, form: ProductForm) -> None:
    """Raises NotFusedError where the warps that multiply would compute too much."""
    if followed_long(group) and not hides_what_follows(group, form.element, form.tile):
        raise NotFusedError("an epilogue that takes longer than reading its product")


def no_short_sums(group: LoweredGroup, form: ProductForm, before: KernelGroup) -> None:
    """Raises NotFusedError where most of a step of a sum is empty that was not."""
    if isinstance(before.form, ProductForm) and before.lowered is not None:
        was = before.lowered.sizes[before.form.inner]
        length = group.sizes[form.inner]
        if length < was and 2 * length <= form.tile.bk:
            raise NotFusedError("sums of a few elements each")


def no_empty_tiles(group: LoweredGroup, form: ProductForm) -> None:
    """Raises NotFusedError where lines that do not fill tiles take longer than a copy.

    Where results lie in another order than pixels, lines do not follow each other;
    alone the product is stored in an order in which they do.
    """
    results = prod(group.sizes[n] for n in group.rows)
    if form.pixels or form.between or results < _LARGE:
        return
    sizes, free, outer = (
        group.sizes,
        group.pool.free,
        prod(group.sizes[n] for n in form.outer),
    )
    left, right = (free(factor) for factor in form.terms[0])
    n, k = (sizes[s] for s in (form.column, form.inner))
    m = prod(sizes[s] for s in (form.box.loops if form.box else (form.row,)))
    more, wider = (
        prod(sizes[s] for s in form.batch if s in own and s not in other)
        for own, other in ((left, right), (right, left))
    )
    batch = prod(sizes[s] for s in form.batch)
    together = batch // (more * wider)
    element = form.element
    now = predicted_time(m, n, k, batch, outer, element)
    then = predicted_time(m * more, n * wider, k, together, outer, element)
    if now - then > copy_time(results * group.stores[0].buffer.dtype.bytes):
        raise NotFusedError("lines that fill no tile each")


def is_alone(value: ProgramValue) -> bool:
    """Whether a product is stored by a kernel of its own."""
    return isinstance(value.made, ContractPrimitive) and value.made.alone


def is_of_computed(value: ProgramValue) -> bool:
    """Whether a value is a copy of whole numbers that a function computes.

    It is stored as such, so that what reads it as a table knows its numbers.
    """
    match value.made:
        case MapPrimitive(function="cast", operands=(ViewedValue(value=whole),)):
            kept = whole.dtype == value.dtype and value.dtype.kind == "int"
            return kept and isinstance(whole.made, MapPrimitive)
        case _:
            return False


def is_recomputed(value: ProgramValue, reader: KernelGroup) -> bool:
    """Whether a kernel would compute a map several times for each element.

    Of a product, where overlapping windows read it: behind the product it is computed
    once, and stored in its place. Else where all are compared with all, or many
    functions take long.
    """
    if reader.lowered is None:
        return False
    points = prod(reader.lowered.sizes.values())
    chosen = isinstance(value.made, GatherPrimitive)  # nothing is computed of it
    turned = points >= _MANY_POINTS and _is_turned(value)
    walked = _MANY_POINTS if turned else _WALKED
    if not chosen and value.size >= _MANY and points >= walked:
        times = _walked_again(value, reader.lowered)
        if times >= max(_VERY_OFTEN, walked // value.size):
            return True
    if turned and _is_copy(value):
        return _walked_again(value, reader.lowered) >= _VERY_OFTEN
    if points >= max(_LARGE, _VERY_OFTEN * value.size):
        long, maps, reduced = _way_to(value)
        if long > FEW:
            return True
        often = _walked_again(value, reader.lowered) >= _VERY_OFTEN
        if reduced and maps >= _STEPS and often:
            return True  # the kernel that reduces stores it: as many launches
    made = value
    while isinstance(made.made, MapPrimitive) and made.made.operands:
        made = max((o.value for o in operands_of(made)), key=lambda v: v.size)
    of_product = made is not value and isinstance(made.made, ContractPrimitive)
    return of_product and _read(value, reader.lowered) >= _OFTEN * value.size


def _is_copy(value: ProgramValue) -> bool:
    match value.made:
        case MapPrimitive(function="cast", operands=(ViewedValue(),)):
            return True
        case _:
            return False


def _is_turned(value: ProgramValue) -> bool:
    """Whether elements side by side are apart in what it reads.

    That is what it is a copy of, or else an operand of the same size.
    """
    copied = _is_copy(value)
    last = max((d for d, n in enumerate(value.shape) if n > 1), default=None)
    for operand in operands_of(value) if isinstance(value.made, MapPrimitive) else ():
        if last is None or not (copied or operand.value.size == value.size):
            continue
        found = offsets_through(operand)
        if found is not None and found[0][last] > 1:
            return True
    return False


def is_all_of_reductions(value: ProgramValue, readers: Sequence[ProgramValue]) -> bool:
    """Whether a map has all that is known of several reductions, and is reduced itself.

    Stored by their kernel it is one result; else each of them is, and none of them can
    be had with another in one walk.
    """
    if not isinstance(value.made, MapPrimitive) or not readers:
        return False
    if not all(isinstance(r.made, ReducePrimitive) for r in readers):
        return False
    found: set[ProgramValue] = set()
    rest, seen = [value], set[ProgramValue]()
    while rest and len(seen) < MOST_NODES:
        one = rest.pop()
        if one in seen or one.size > value.size:
            continue
        seen.add(one)
        if isinstance(one.made, ReducePrimitive):
            if one.made.operand.value.size >= _MUCH * value.size:
                found.add(one)
        elif isinstance(one.made, MapPrimitive):
            rest += [o.value for o in operands_of(one)]
    return len(found) > 1


def _read(value: ProgramValue, group: LoweredGroup) -> float:
    """How often a kernel reads elements of a value, those outside of borders left out.

    Of a part of what is joined each is read once, though the kernel has more places.
    """
    points = prod(group.sizes.values())
    shares = (
        prod(_inside(b, group) for b in e.borders)
        for e in group.elements
        if e.buffer is value
    )
    return points * sum(shares)


def _inside(border: Border, group: LoweredGroup) -> float:
    """The share of the places of a border's loops that are inside."""
    at = np.array([border.index.constant])
    for loop, factor in border.index.terms:
        at = np.add.outer(at, factor * np.arange(group.sizes[loop])).reshape(-1)
    return float(np.mean((at >= 0) & (at < border.extent)))


def _way_to(value: ProgramValue) -> tuple[int, int, bool]:
    """Of maps that make a value: how many functions take long, and how many there are.

    The latter are as large as the value. And whether they read what is reduced.
    """
    seen: set[ProgramValue] = set()
    rest, long, maps, reduced = [value], 0, 0, False
    while rest and len(seen) < MOST_NODES:
        one = rest.pop()
        reduced |= isinstance(one.made, ReducePrimitive)
        if one in seen or one.size > value.size:
            continue
        if not isinstance(one.made, MapPrimitive):
            continue
        seen.add(one)
        long += one.made.function in LONG
        maps += one.size == value.size and one.made.function != "cast"
        rest += [o.value for o in operands_of(one)]
    return long, maps, reduced


def _walked_again(value: ProgramValue, group: LoweredGroup) -> int:
    """How often a reduction walks the same elements of a value, for other results."""
    return max(
        (
            prod(group.sizes[n] for n in group.rows if n not in e.whole.loops)
            for e in group.elements
            if e.buffer is value and e.whole.loops & set(group.columns)
        ),
        default=1,
    )
