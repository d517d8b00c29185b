"""Loops along columns in the text of a kernel, and what they carry.

A reduction is carried as a tile of parts, which are put together after the loop; where
an extreme is, as the extreme of each row and its place. See `KernelWriter`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from argus.programs.lowering.expression_text import (
    COMBINE,
    bare,
    call_text,
    neutral_text,
    number_text,
    type_name,
)
from argus.programs.lowering.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    NumberNode,
    ReduceNode,
    ScanNode,
    walked,
)
from argus.programs.tiles.carried_text import Pair, begun, place
from argus.programs.tiles.tile_text import TileWriter


class ColumnWriter(TileWriter):
    """Lines of loops along columns. ``together``: reductions in one walk."""

    together: Sequence[ReduceNode] = ()

    @contextmanager
    def along(self, loops: Sequence[str]) -> Generator[None]:
        """In loops along columns, the first outermost."""
        if not loops:
            yield
            return
        loop, letter = loops[0], self.letters[loops[0]]
        step = f", B{letter}" if self.is_axis(loop) else ""
        step += f", unroll={letter}" if loop in self.tiling.taps else ""
        with (
            self.loop(f"for {letter.lower()} in ag.range(0, {letter}{step}):"),
            self.along(loops[1:]),
        ):
            yield

    @property
    def held_axes(self) -> list[str]:
        """The column loops that are axes of tiles; several where all are held."""
        return [n for n in self.group.columns if self.is_axis(n)]

    def masked(self, reduction: ReduceNode | ScanNode, like: str | None) -> str:
        """The body of a reduction; what is past the end does not change it."""
        body = reduction.body
        loose = [n for n in self.held_axes if not self._filled_by(n)]
        if not loose:
            return self.text(body)
        neutral = neutral_text(reduction.function, body.dtype)
        text = None if self._elsewhere(body, neutral) else self._filled(body, neutral)
        if text is not None:
            return text
        text = self.text(body)
        kept: list[str] = []
        for loop in loose:
            letter = self.letters[loop]
            if neutral != "0.0" or not self._vanishes(body, loop):
                start = "" if self.tiling.held else f"{self.start(loop)} + "
                index = f'ag.index({like or bare(text)}, "{letter}")'
                kept.append(f"{start}{index} < {letter}")
        for one in kept:
            text = f"ag.where({one}, {bare(text)}, {neutral})"
        return text

    def _filled_by(self, loop: str) -> bool:
        """Whether a column fills its axis, so that nothing is past its end."""
        whole = self.tiling.size(loop) == self.group.sizes[loop]
        return whole and self.tiling.held and loop in self.fixed

    def _elsewhere(self, body: ExpressionNode, neutral: str) -> bool:
        """Whether what other numbers past the end leave unchanged reads it, too."""
        others = [
            r.body
            for r in self.together
            if neutral_text(r.function, r.body.dtype) != neutral
        ]
        read = {n for n in walked(others) if isinstance(n, ElementNode)}
        return not read.isdisjoint(walked([body]))

    def _filled(self, body: ExpressionNode, neutral: str) -> str | None:
        """An element that is read with a number past the end; None of what is none."""
        if self.named(body):
            return None
        match body:
            case ElementNode(borders=borders, fill=fill, tables=tables):
                # Past its end a table chooses any element.
                given = not borders or fill is None or number_text(fill) == neutral
                return self.text(body, neutral) if given and not tables else None
            case ApplyNode(function="cast", parts=(part,), dtype=dtype):
                if not (dtype.is_float and part.dtype.is_float):
                    return None
                inner = self._filled(part, neutral)
                text = f"{inner}.to({type_name(dtype)})"
                return None if inner is None else self.assign(body, "x", text)
            case _:
                return None

    def tile_of(self, node: ExpressionNode) -> str:
        """The name of a node's tile."""
        text = self.text(node)
        return text if text.isidentifier() else self.assign(node, "x", text)

    def reduced(self, level: list[ReduceNode], pairs: Sequence[Pair] = ()) -> None:
        """Reductions in one walk along the columns, and what pairs have beside them."""
        self.together = level
        (loop,) = self.held_axes
        letter = self.letters[loop]
        others = [n for n in self.group.columns if n != loop]
        axes = [a.loop for a in self.tiling.axes]
        rows = [n for n in axes if n != loop]
        places = [r for r in level if r.function.startswith("arg")]
        beside = {(r.function.removeprefix("arg"), r.body) for r in places}
        beside |= {(p.first.function, p.first.body) for p in pairs}
        sums = [
            r for r in level if r not in places and (r.function, r.body) not in beside
        ]
        totals: dict[ReduceNode, str] = {}
        parts = {r: self.names.fresh(f"{r.function}_part") for r in sums}
        neutral = {r: neutral_text(r.function, r.dtype) for r in sums}
        if others:
            for r in sums:
                totals[r] = self.assign(
                    r, r.function, self.full(rows, neutral[r], r.dtype)
                )
        carried = [place(self, r, rows, level) for r in places]
        carried += [begun(self, p, rows) for p in pairs]
        with self.along(others):
            for r in sums:
                kept = rows if r.function == "prod" else axes
                self.line(f"{parts[r]} = {self.full(kept, neutral[r], r.dtype)}")
            with self.along([loop]):
                for r in sums:
                    like = None if r.function == "prod" else parts[r]
                    body = self.masked(r, like)
                    if r.function == "prod":  # the verifier follows no other form
                        body = f'ag.prod({bare(body)}, "{letter}")'
                    text = call_text(COMBINE[r.function], [parts[r], body])
                    self.line(f"{parts[r]} = {bare(text)}")
                for one in carried:
                    one.step()
            for r in sums:
                text = f'ag.{r.function}({parts[r]}, "{letter}")'
                if r.function == "prod":
                    text = parts[r]
                if others:
                    text = bare(call_text(COMBINE[r.function], [totals[r], text]))
                    self.line(f"{totals[r]} = {text}")
                else:
                    self.assign(r, r.function, text)
        for one in carried:
            one.finish()

    def _vanishes(self, node: ExpressionNode, loop: str) -> bool:
        """Whether a node is 0 past the end of an axis: made of elements that are."""
        match node:
            case ElementNode(offset=offset, fill=fill, tables=tables):
                free = offset.loops if tables else self.group.pool.free(node)
                return not fill and loop in free
            case ApplyNode(function="mul" | "cast", parts=parts):
                return all(self._vanishes(p, loop) for p in parts)
            case ApplyNode(function="where", parts=(_, *parts)):
                return all(self._vanishes(p, loop) for p in parts)
            case NumberNode(value=value):
                return value == 0
            case _:
                return False
