"""The loops over which a kernel is lowered: as many as its views need.

A loop begins as one dimension. Where a reshape makes it run over several coordinates,
it is split into digits (outermost first), and lowering begins anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from argus.programs.tensors.affine import Affine


class NotAffineError(Exception):
    """No splitting of loops makes these coordinates sums of indices."""


class NeedsSplitError(Exception):
    """``loop`` has to be split; ``inner`` is the size of its new innermost digit.

    ``outside``: the size of the outer one, and the first index that counts, where
    digits have further ones than the loop.
    """

    def __init__(
        self, loop: str, inner: int, outside: tuple[int, int] | None = None
    ) -> None:
        super().__init__(f"{loop} by {inner}")
        self.loop, self.inner, self.outside = loop, inner, outside


@dataclass
class LoopSpace:
    """Loops by name and their sizes; ``splits`` are sizes of digits by dimension.

    ``padded``: the dimensions of what is stored may be walked by digits with more
    indices than they have: what lies outside is computed and not stored. ``before``:
    how many indices lie before the first one, by dimension.
    """

    padded: bool = False
    before: dict[str, int] = field(default_factory=dict[str, int])
    splits: dict[str, tuple[int, ...]] = field(
        default_factory=dict[str, tuple[int, ...]]
    )
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    borders: dict[str, Affine] = field(default_factory=dict[str, Affine])
    """What stands for a coordinate that may lie outside, and that coordinate."""
    tables: set[str] = field(default_factory=set[str])
    """What stands for coordinates that are numbers of the program."""
    _names: dict[object, str] = field(default_factory=dict[object, str])

    def named(self, owner: object) -> str:
        """A name for the dimensions of a reduction: the same in equal kernels."""
        return self._names.setdefault(owner, f"r{len(self._names)}")

    def table(self, extent: int) -> Affine:
        """What stands for a number of the program, at least 0 and below ``extent``."""
        name = f"[{len(self.tables)}]"
        self.tables.add(name)
        self.sizes[name] = extent
        return Affine.loop(name)

    def border(self, index: Affine, extent: int) -> Affine:
        """What stands for a coordinate where it is at least 0 and below ``extent``.

        Raises NotAffineError for one that a table gives.
        """
        if index.loops & self.tables:
            raise NotAffineError("a border around what a table chooses")
        index = index.replaced(self.borders)
        name = f"{index.terms}{index.constant}|{extent}"
        self.borders[name] = index
        self.sizes[name] = extent
        return Affine.loop(name)

    def index(self, name: str, size: int) -> tuple[Affine, tuple[str, ...]]:
        """The index of a dimension, as the sum of its digits, and its loops."""
        total, loops = Affine((), -self.before.get(name, 0)), list[str]()
        digits = self.splits.get(name, (size,))
        stride = prod(digits)
        for place, extent in enumerate(digits):
            stride //= extent
            if extent == 1:
                continue
            loop = f"{name}.{place}"
            self.sizes[loop] = extent
            loops.append(loop)
            total = total + Affine.loop(loop) * stride
        return total, tuple(loops)

    def split(self, need: NeedsSplitError) -> None:
        """Split a loop for the next lowering, which begins with no loops.

        Raises NotAffineError where it stands for a coordinate with a border or a table.
        """
        if need.loop in self.borders:
            raise NotAffineError("a reshape of what has a border")
        if need.loop in self.tables:
            raise NotAffineError("a reshape of a dimension that a table chooses from")
        name, _, place = need.loop.rpartition(".")
        whole = self.sizes[need.loop]
        before = self.splits.get(name) or (whole,)
        at = int(place)
        assert before[at] == whole, need.loop
        if need.outside is None:
            assert whole % need.inner == 0, need.loop
            parts = (whole // need.inner, need.inner)
        elif name in self.splits:
            raise NotAffineError("digits of digits with further indices")
        else:
            outer, self.before[name] = need.outside
            parts = (outer, need.inner)
        self.splits[name] = (*before[:at], *parts, *before[at + 1 :])
        self.sizes.clear()
        self.borders.clear()
        self.tables.clear()

    def digits(self, flat: Affine, shape: Sequence[int]) -> tuple[Affine, ...]:
        """The coordinates in a shape of a row-major offset.

        Raises NeedsSplitError and NotAffineError, see `ReshapedView.coordinates`.
        """
        strides = [1] * len(shape)
        for d in range(len(shape) - 2, -1, -1):
            strides[d] = strides[d + 1] * shape[d + 1]
        found = [Affine() for _ in shape]
        rest = flat.constant
        if rest < 0:
            raise NotAffineError("a reshape of a negative offset")
        for d, stride in enumerate(strides):
            if shape[d] > 1:
                found[d] = Affine((), rest // stride)
                rest %= stride
        for loop, factor in flat.terms:
            if factor <= 0:
                raise NotAffineError("a reshape of a reversed dimension")
            d = next(
                (d for d, s in enumerate(strides) if shape[d] > 1 and s <= factor), None
            )
            if d is None:  # an index of one value
                continue
            extent, room = self.sizes[loop], strides[d] * shape[d]
            self._require_padded(loop, factor, d, found, strides, shape)
            if factor % strides[d]:
                raise NotAffineError(
                    f"an index of step {factor} in rows of {strides[d]}"
                )
            if factor * extent > room:
                inner = room // factor
                if room % factor or extent % inner or inner == 1:
                    raise NotAffineError(f"an index of {extent} in {room} elements")
                raise NeedsSplitError(loop, inner)
            found[d] = found[d] + Affine.loop(loop) * (factor // strides[d])
        for d, coordinate in enumerate(found):
            if coordinate.range(self.sizes)[1] >= shape[d]:
                raise NotAffineError("a reshape in which indices carry over")
        return tuple(found)

    def _require_padded(
        self, loop: str, factor: int, d: int, found: Sequence[Affine],
        strides: Sequence[int], shape: Sequence[int],
    ) -> None:  # fmt: skip
        """Raise NeedsSplitError where a stored dimension is a part of two of a shape.

        It begins inside of them, or ends there.
        """
        if not self.padded or factor != strides[d] or d == 0 or shape[d - 1] == 1:
            return
        extent, inner = self.sizes[loop], shape[d]
        first = found[d - 1].constant * inner + found[d].constant
        whole = shape[d - 1] * inner
        stored = loop.startswith("o") and loop not in (*self.borders, *self.tables)
        if stored and inner < extent < whole and first + extent <= whole:
            raise NeedsSplitError(loop, inner, (shape[d - 1], first))
