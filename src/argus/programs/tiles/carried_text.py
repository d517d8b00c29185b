"""What a loop along columns carries beside parts of sums, in the text of a kernel.

Each of these is begun before the loop, takes in one tile in it, and is finished after
it; see `ColumnWriter.reduced`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from argus.ir.dtypes import f32, i32
from argus.ir.numerics import arithmetic, largest_number
from argus.programs.lowering.expression_text import (
    COMBINE,
    bare,
    neutral_text,
    type_name,
)
from argus.programs.lowering.expressions import (
    ApplyNode,
    ExpressionNode,
    NumberNode,
    ReduceNode,
    parts_of,
    walked,
)
from argus.programs.lowering.lowering import LoweredGroup

if TYPE_CHECKING:
    from argus.programs.tiles.column_text import ColumnWriter


@dataclass(frozen=True)
class ExponentialPair:
    """The largest of numbers, and the sum of exponentials of them less the largest.

    ``bounded``: less the largest number of the type, where it is beyond that.
    """

    first: ReduceNode
    second: ReduceNode
    bounded: bool = False


@dataclass(frozen=True)
class MomentPair:
    """The sum of numbers, and that of squares of them less their ``mean``."""

    first: ReduceNode
    second: ReduceNode
    mean: ExpressionNode


Pair = ExponentialPair | MomentPair


def pairs_of(group: LoweredGroup, *, whole: bool) -> list[Pair]:
    """Reductions of which one needs the other, and both can be had in one walk.

    A block walks one loop; of f32 or f64, in which parts are put together. ``whole``:
    tiles divide it. Else there are no moments, of which each element of a tile has
    seen equally many numbers.
    """
    if len(group.columns) != 1:
        return []
    found: list[Pair] = []
    for second in group.reductions:
        wide = second.dtype.is_float and second.dtype == arithmetic(second.dtype)
        if second.function == "sum" and wide:
            pair = _exponentials(group, second)
            pair = pair or (_moments(group, second) if whole else None)
            if pair is not None and all(p.first is not pair.first for p in found):
                found.append(pair)
    return found


def _exponentials(group: LoweredGroup, second: ReduceNode) -> ExponentialPair | None:
    match second.body:
        case ApplyNode(
            function="exp",
            parts=(ApplyNode(function="sub", parts=(body, shift)),),
        ):
            first, bounds = _bounded(shift)
        case _:
            return None
    if not isinstance(first, ReduceNode) or first.function != "max":
        return None
    if first.body is not body:
        return None
    # Of a row of nothing but minus infinity it is not that, but a number.
    readers = [n for n in group.nodes if first in parts_of(n) and n not in bounds]
    shifts = all(
        isinstance(n, ApplyNode) and n.function in ("sub", "add") for n in readers
    )
    stored = any(s.node is first for s in group.stores)
    inner = any(isinstance(n, ReduceNode) for n in walked([body]))
    if shifts and not stored and not inner and not (bounds and readers):
        return ExponentialPair(first, second, bool(bounds))
    return None


def _bounded(shift: ExpressionNode) -> tuple[ExpressionNode, list[ExpressionNode]]:
    """What is kept between the least and the largest number, and the nodes that do."""
    match shift:
        case ApplyNode(
            function="minimum",
            parts=(
                ApplyNode(
                    function="maximum", parts=(inside, NumberNode(value=low))
                ) as lower,
                NumberNode(value=high),
            ),
        ) if high == largest_number(shift.dtype) and low == -high:
            return inside, [lower, shift]
        case _:
            return shift, []


def _moments(group: LoweredGroup, second: ReduceNode) -> MomentPair | None:
    count = prod(group.sizes[n] for n in second.loops)
    match second.body:
        case ApplyNode(
            function="mul",
            parts=(ApplyNode(function="sub", parts=(body, mean)) as one, other),
        ) if one is other:
            match mean:
                case ApplyNode(
                    function="div",
                    parts=(
                        ReduceNode(function="sum") as first,
                        NumberNode(value=value),
                    ),
                ) if first.body is body and value == count:
                    inner = any(isinstance(n, ReduceNode) for n in walked([body]))
                    return None if inner else MomentPair(first, second, mean)
                case _:
                    pass
        case _:
            pass
    return None


@dataclass(frozen=True)
class CarriedLines:
    """What a loop carries: lines in an iteration, and after the loop."""

    step: Callable[[], None]
    finish: Callable[[], None]


def begun(writer: ColumnWriter, pair: Pair, rows: Sequence[str]) -> CarriedLines:
    """The lines before the loop of two reductions in one walk, and what is next."""
    match pair:
        case ExponentialPair():
            return _rescaled(writer, pair, rows)
        case MomentPair():
            return _moved(writer, pair)


def _rescaled(
    writer: ColumnWriter, pair: ExponentialPair, rows: Sequence[str]
) -> CarriedLines:
    """Online softmax, of each element of a tile by itself where tiles are whole.

    Else of each row: an element of a tile may have seen no number.

    Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018).
    """
    (loop,) = writer.group.columns
    letter = writer.letters[loop]
    each = writer.tiling.whole
    axes = [a.loop for a in writer.tiling.axes] if each else rows
    dtype = pair.second.dtype
    most, part = writer.names.fresh("most"), writer.names.fresh("sum_part")
    largest = repr(largest_number(dtype))
    least = writer.full(axes, f"-{largest}", dtype)
    writer.line(f"{most} = {bare(least)}")
    writer.line(f"{part} = {bare(writer.full(axes, '0.0', dtype))}")

    def step() -> None:
        x = writer.tile_of(pair.first.body) if each else writer.masked(pair.first, None)
        if not x.isidentifier():
            name = writer.names.fresh("x")
            writer.line(f"{name} = {bare(x)}")
            x = name
        larger = writer.names.fresh("larger")
        text = x if each else f'ag.max({x}, "{letter}")'
        text = f"ag.maximum({most}, {text})"
        text = f"ag.minimum({text}, {largest})" if pair.bounded else text
        writer.line(f"{larger} = {text}")
        rest = f"ag.exp({x} - {larger})"
        rest = rest if each else f'ag.sum({rest}, "{letter}")'
        writer.line(f"{part} = {part} * ag.exp({most} - {larger}) + {rest}")
        writer.line(f"{most} = {larger}")

    def finish() -> None:
        if not each:
            writer.assign(pair.first, "max", most)
            writer.assign(pair.second, "sum", part)
            return
        name = writer.assign(pair.first, "max", f'ag.max({most}, "{letter}")')
        text = f'ag.sum({part} * ag.exp({most} - {name}), "{letter}")'
        writer.assign(pair.second, "sum", text)

    return CarriedLines(step, finish)


def _moved(writer: ColumnWriter, pair: MomentPair) -> CarriedLines:
    """Means and sums of squared distances from them, of each element of a tile.

    Welford, "Note on a method for calculating corrected sums of squares and products"
    (Technometrics 4, 1962); after the loop those of all elements, which have seen
    equally many numbers, are put together as by Chan, Golub and LeVeque, "Updating
    formulae and a pairwise algorithm for computing sample variances" (1979).
    """
    (loop,) = writer.group.columns
    letter = writer.letters[loop]
    axes = [a.loop for a in writer.tiling.axes]
    tile = f"B{letter}"
    means, part = writer.names.fresh("means"), writer.names.fresh("square_part")
    dtype = pair.second.dtype
    writer.line(f"{means} = {writer.full(axes, '0.0', dtype)}")
    writer.line(f"{part} = {writer.full(axes, '0.0', dtype)}")

    def step() -> None:
        x = writer.tile_of(pair.first.body)
        apart = writer.names.fresh("apart")
        writer.line(f"{apart} = {x} - {means}")
        seen = f"({letter.lower()} // {tile} + 1)"
        # A fraction is f32: of f64 it is taken of the tile.
        share = f"{apart} * (1.0 / {seen})" if dtype == f32 else f"{apart} / {seen}"
        writer.line(f"{means} = {means} + {share}")
        writer.line(f"{part} = {part} + {apart} * ({x} - {means})")

    def finish() -> None:
        count = f"({letter} // {tile})"
        total = f'ag.sum({means}, "{letter}") * {count}'
        writer.assign(pair.first, "sum", total)
        mean = writer.tile_of(pair.mean)
        apart = writer.names.fresh("apart")
        writer.line(f"{apart} = {means} - {mean}")
        between = f'ag.sum({apart} * {apart}, "{letter}") * {count}'
        text = f'ag.sum({part}, "{letter}") + {between}'
        writer.assign(pair.second, "squares", text)

    return CarriedLines(step, finish)


def place(
    writer: ColumnWriter,
    r: ReduceNode,
    rows: Sequence[str],
    level: Sequence[ReduceNode],
) -> CarriedLines:
    """The place of an extreme: the first, and that of what is no number before all.

    The extreme is what a reduction of the same level to it is, too.
    """
    (loop,) = writer.group.columns
    letter = writer.letters[loop]
    function, dtype = r.function.removeprefix("arg"), r.body.dtype
    text = writer.full(rows, neutral_text(function, dtype), dtype)
    found = [x for x in level if x.function == function and x.body is r.body]
    if found and not writer.named(found[0]):
        best = writer.assign(found[0], function, text)
    else:
        best = writer.names.fresh(function)
        writer.line(f"{best} = {bare(text)}")
    at = writer.names.fresh("at")
    writer.line(f"{at} = {writer.full(rows, '0', i32)}")

    def step() -> None:
        body = writer.masked(r, None)
        if not body.isidentifier():
            body = writer.assign(r.body, "x", body)
        most = writer.names.fresh("most")
        writer.line(f'{most} = ag.{function}({body}, "{letter}")')
        sign = ">" if function == "max" else "<"
        better = f"{most} {sign} {best}"
        if dtype.is_float:
            better = f"({better}) | (({most} != {most}) & ({best} == {best}))"
        here = f'ag.{r.function}({body}, "{letter}") + {letter.lower()}'
        writer.line(f"{at} = ag.where({better}, {here}, {at})")
        writer.line(f"{best} = ag.{COMBINE[function]}({best}, {most})")

    def finish() -> None:
        writer.assign(r, r.function, f"{at}.to({type_name(r.dtype)})")

    return CarriedLines(step, finish)
