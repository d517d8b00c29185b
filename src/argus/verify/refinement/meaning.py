"""What a tile of the placed program is, in terms of the tile program.

Placing gives most tiles another layout and nothing else. A reduction across warps it
takes apart: the axis is split, its parts are reduced one after the other, with moves
between them. What such a part is follows here: the tile that was reduced, and of each
remaining axis which digits of which axis of that tile it runs over. Sums, products and
extremes may be taken in any order and grouping (in real arithmetic), so that the tile
of which all digits of an axis are gone is the reduction along that axis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from argus.ir import ops as o

__all__ = ["Digit", "Meaning"]

_REGROUPED = ("sum", "prod", "max", "min")
"""Reductions whose parts may be combined in any order."""


@dataclass(frozen=True)
class Digit:
    """An axis: ``index * step`` along axis ``axis`` of the original tile."""

    axis: int
    step: int
    extent: int


@dataclass(frozen=True)
class Meaning:
    """Tile ``source`` of the tile program (its id), perhaps split and reduced in part.

    ``reduced``: function and axis of a reduction that is under way, or done.
    """

    source: int
    digits: tuple[Digit, ...]
    reduced: tuple[str, int] | None = None

    @staticmethod
    def of(tile: o.Tile) -> Meaning:
        """A tile of the tile program as it is."""
        axes = enumerate(tile.shape)
        return Meaning(tile.id, tuple(Digit(i, 1, n) for i, n in axes))

    def reshape(self, op: o.Reshape) -> Meaning | None:
        """The meaning of the result where axes are split; None where it is none."""
        made: list[Digit] = []
        left = list(op.result.shape)
        for old in self.digits:
            rest = old.extent
            while left and rest % left[0] == 0:
                size = left.pop(0)
                rest //= size
                made.append(Digit(old.axis, old.step * rest, size))
                if rest == 1:
                    break
            else:
                return None
        return None if left else replace(self, digits=tuple(made))

    def reduce(self, op: o.Reduce) -> Meaning | None:
        """The meaning of the result of a reduction; None where it is none."""
        digit = self.digits[op.axis]
        under_way = self.reduced or (op.fn, digit.axis)
        if under_way != (op.fn, digit.axis) or op.fn not in _REGROUPED:
            return None
        left = (*self.digits[: op.axis], *self.digits[op.axis + 1 :])
        return replace(self, digits=left, reduced=under_way)

    def is_reduction(self, op: o.Reduce) -> bool:
        """Whether this is all of a reduction of the tile program.

        Digits of an axis that was not reduced are whole: `split` makes more than one of
        an axis, and nothing joins them again.
        """
        if self.source != op.src.id or self.reduced != (op.fn, op.axis):
            return False
        whole = [Digit(i, 1, n) for i, n in enumerate(op.src.shape) if i != op.axis]
        return list(self.digits) == whole
