"""Views of operands: which element of the value each position is.

Three kinds are enough. A `LinearView` gives each coordinate of what it is a view of as
a sum of its own coordinates with whole factors: permuted, sliced, flipped, repeated and
windowed. A `ReshapedView` has the same elements in row-major order in another shape. A
`BorderedView` has a border around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from argus.programs.tensors.affine import Affine
from argus.programs.tensors.loops import LoopSpace


@dataclass(frozen=True)
class LinearView:
    """Coordinate d of the source is ``starts[d]`` plus factors times own coordinates.

    ``factors[d]`` holds (own dimension, factor) pairs. All positions lie inside.
    """

    shape: tuple[int, ...]
    factors: tuple[tuple[tuple[int, int], ...], ...]
    starts: tuple[int, ...]

    def coordinates(
        self, at: Sequence[Affine], source: Sequence[int], space: LoopSpace
    ) -> tuple[Affine, ...]:
        """Coordinates of the source at own coordinates."""
        found: list[Affine] = []
        for pairs, start in zip(self.factors, self.starts, strict=True):
            total = Affine((), start)
            for dim, factor in pairs:
                total = total + at[dim] * factor
            found.append(total)
        return tuple(found)


@dataclass(frozen=True)
class ReshapedView:
    """The same elements, in row-major order, in another shape."""

    shape: tuple[int, ...]

    def coordinates(
        self, at: Sequence[Affine], source: Sequence[int], space: LoopSpace
    ) -> tuple[Affine, ...]:
        """Coordinates of the source at own coordinates.

        Raises NeedsSplitError where a loop runs over several coordinates of the source,
        and NotAffineError where no splitting of loops makes them sums.
        """
        flat, stride = Affine(), 1
        for index, extent in zip(reversed(at), reversed(self.shape), strict=True):
            flat = flat + index * stride
            stride *= extent
        return space.digits(flat, source)


@dataclass(frozen=True)
class BorderedView:
    """Coordinate d of the source is ``before[d]`` less than the own coordinate.

    Where that is outside of the source, the element is ``fill``.
    """

    shape: tuple[int, ...]
    before: tuple[int, ...]
    fill: float | int | bool

    def coordinates(
        self, at: Sequence[Affine], source: Sequence[int], space: LoopSpace
    ) -> tuple[Affine, ...]:
        """Coordinates of the source; those that may lie outside are borders."""
        found: list[Affine] = []
        for index, before, extent in zip(at, self.before, source, strict=True):
            moved = index + -before
            low, high = moved.range(space.sizes)
            inside = low >= 0 and high < extent
            found.append(moved if inside else space.border(moved, extent))
        return tuple(found)


OperandView = LinearView | ReshapedView | BorderedView


def bordered(
    shape: Sequence[int], widths: Sequence[tuple[int, int]], fill: float | int | bool
) -> BorderedView:
    """With so many elements before and after each dimension, all of them ``fill``."""
    sizes = tuple(a + n + b for n, (a, b) in zip(shape, widths, strict=True))
    return BorderedView(sizes, tuple(a for a, _ in widths), fill)


def permuted(shape: Sequence[int], dims: Sequence[int]) -> LinearView:
    """Dimension d of the result is dimension ``dims[d]`` of the source."""
    where = {source: d for d, source in enumerate(dims)}
    return LinearView(
        tuple(shape[d] for d in dims),
        tuple(((where[d], 1),) for d in range(len(shape))),
        (0,) * len(shape),
    )


def repeated(shape: Sequence[int], wanted: Sequence[int]) -> LinearView:
    """Repeated along dimensions of size 1 and along new first ones, as numpy does."""
    ahead = len(wanted) - len(shape)
    factors = tuple(() if n == 1 else ((d + ahead, 1),) for d, n in enumerate(shape))
    return LinearView(tuple(wanted), factors, (0,) * len(shape))


def sliced(
    shape: Sequence[int], parts: Sequence[tuple[int, int, int] | int | None]
) -> LinearView:
    """Begin, step and count for each dimension; a number drops it.

    None is a new dimension of size 1, and belongs to no dimension of the source.
    """
    sizes: list[int] = []
    factors: list[tuple[tuple[int, int], ...]] = []
    starts: list[int] = []
    for part in parts:
        match part:
            case None:
                sizes.append(1)
            case int():
                factors.append(())
                starts.append(part)
            case (start, step, count):
                factors.append(((len(sizes), step),))
                starts.append(start)
                sizes.append(count)
    assert len(starts) == len(shape), parts
    return LinearView(tuple(sizes), tuple(factors), tuple(starts))


def windowed(
    shape: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> LinearView:
    """Windows over the last dimensions; positions inside them come last.

    Position o of the result and r of the window read ``o * stride + r * dilation``.
    """
    count, rank = len(kernel), len(shape)
    ahead = rank - count
    sizes, factors = list(shape[:ahead]), [((d, 1),) for d in range(ahead)]
    found: list[tuple[tuple[int, int], ...]] = list(factors)
    for d, (n, k, s, r) in enumerate(
        zip(shape[ahead:], kernel, stride, dilation, strict=True)
    ):
        sizes.append((n - (k - 1) * r - 1) // s + 1)
        found.append(((ahead + d, s), (rank + d, r)))
    return LinearView((*sizes, *kernel), tuple(found), (0,) * rank)
