"""What a loop of symbolic length iterates over: ranges, arrays, lists, zips of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from argus.specification.array import SymbolicArray, size_of
from argus.specification.casting import lifted
from argus.specification.creating import range_length
from argus.specification.reshaping import integer_of
from argus.specification.sequences import Repeated, read_only
from argus.specification.tracing import Tracing
from argus.terms import Integer, Unknown, Variable


@dataclass(frozen=True)
class Symbolic:
    """``length`` items: ``item`` of each position.

    ``sequence``: what Python gives backwards, too. What `zip` makes is none.
    """

    tracing: Tracing
    length: Integer
    item: Callable[[Integer], Any]
    sequence: bool = False

    def variable(self) -> Variable:
        """A new variable for a position."""
        return cast(Variable, self.tracing.world.fresh("h", 0, self.length).single)

    def backwards(self) -> Symbolic:
        """`reversed`: the last item first."""
        if not self.sequence:
            raise Unknown("the reference calls reversed() of what is no sequence")
        return Symbolic(
            self.tracing, self.length, lambda at: self.item(self.length - 1 - at)
        )

    def __iter__(self) -> Iterator[Any]:
        raise Unknown(f"the reference iterates {self.length} times in one loop")


class Lockstep:
    """Several iterables side by side."""

    @staticmethod
    def of(values: Sequence[Any]) -> Symbolic:
        """`zip`. Raises Unknown where it is not known which is the shortest."""
        parts = [as_symbolic(v) for v in values]
        first = next(p for p in parts if p is not None)
        for value, part in zip(values, parts, strict=True):
            if part is None:
                raise Unknown(f"the reference zips {first.length} items with {value!r}")
            first.tracing.need_equal(first.length, part.length, "zip")
        known = [p for p in parts if p is not None]
        return Symbolic(
            first.tracing, first.length, lambda at: tuple(p.item(at) for p in known)
        )

    @staticmethod
    def counted(values: Any, start: int) -> Symbolic:
        """`enumerate`."""
        part = as_symbolic(values)
        assert part is not None

        def item(at: Integer) -> Any:
            return size_of(part.tracing, at + start), part.item(at)

        return Symbolic(part.tracing, part.length, item)


def as_symbolic(value: Any) -> Symbolic | None:
    """What is iterated a symbolic number of times; None for all else."""
    if isinstance(value, Symbolic):
        return value
    if isinstance(value, Repeated):
        whole = value

        def element(at: Integer) -> Any:
            array = lifted(whole.tracing, whole.element)
            env = {whole.variable: at}
            world, read = whole.tracing.world, array.now()
            made = SymbolicArray(
                whole.tracing,
                tuple(world.substitute(n, env) for n in array.sizes),
                array.dtype,
                lambda indices: world.substitute(read(indices), env),
                weak=array.weak,
            )
            return read_only(made)

        return Symbolic(value.tracing, value.length, element, sequence=True)
    if isinstance(value, SymbolicArray) and value.ndim:
        array = value
        if array.sizes[0].constant is None:
            return Symbolic(
                array.tracing,
                array.sizes[0],
                lambda at: array[size_of(array.tracing, at)],
                sequence=True,
            )
    if isinstance(value, list) and is_repeating(value):
        parts = cast(list[Any], value)
        if len(parts) == 1:
            return as_symbolic(parts[0])
        raise Unknown("the reference iterates over a list of symbolic length")
    return None


def is_repeating(value: Any) -> bool:
    """Whether a list of symbolic length stands in a list or tuple of Python's."""
    if isinstance(value, Repeated | Symbolic):
        return True
    return isinstance(value, list | tuple) and any(
        isinstance(v, Repeated) for v in cast(list[Any], value)
    )


def symbolic_range(tracing: Tracing, bounds: Sequence[Any]) -> Any:
    """`range` of sizes: Python's where the number of items is known."""
    numbers = [integer_of(tracing, b) for b in bounds]
    start, stop, step = Integer.of(0), numbers[0], Integer.of(1)
    if len(numbers) > 1:
        start, stop = numbers[:2]
    if len(numbers) == 3:
        step = numbers[2]
    length = range_length(tracing, start, stop, step)
    known = length.constant
    if known is not None:
        return [size_of(tracing, start + step * n) for n in range(known)]
    return Symbolic(
        tracing, length, lambda at: size_of(tracing, start + at * step), sequence=True
    )
