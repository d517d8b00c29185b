"""Tensors of any size: inputs drawn by their index, outputs as far as written.

Indices are flat (row-major) int64. Values are as arithmetic takes them (`numbers.py`):
float32 for every floating point type, rounded to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from argus.interpret.numbers import Array, compute
from argus.ir.access import Ints
from argus.ir.dtypes import DType

__all__ = ["TABLE", "BlockTensor", "Drawn", "IndexTable", "Written"]

TABLE = 1 << 16
"""Entries of the tables that elements are drawn from."""
_HALF = 0xFFFFFFFF


class BlockTensor(Protocol):
    """What a block reads and writes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, outermost first."""
        ...

    def read(self, at: Ints) -> Array:
        """Values at flat indices, which are inside."""
        ...

    def write(self, at: Ints, values: Array) -> None:
        """Write values at flat indices of one axis."""
        ...


def chosen(at: Any, seed: int) -> Any:
    """A number below 65536 for each index, that looks random.

    Two rounds of multiplying and folding 32 bits (as in MurmurHash3's finaliser).
    ``at``: 64-bit integers, an array of numpy or a tensor of torch, whose products wrap
    around: their lower halves are right.
    """
    bits: Any = (at ^ (at >> 32)) & _HALF
    if hasattr(bits, "astype"):  # half the width is twice as fast; torch has no such
        bits = bits.astype(np.uint32)
    bits ^= (seed * 0x9E3779B9 + 0x7F4A7C15) & _HALF
    bits = (bits * 0x85EBCA6B) & _HALF
    bits ^= bits >> 13
    bits = (bits * 0xC2B2AE35) & _HALF
    return bits >> 16


@dataclass(frozen=True)
class Drawn:
    """An input: each element is some entry of a table of 65536 values.

    The values are as arithmetic takes them, rounded to the type of the elements.
    """

    shape: tuple[int, ...]
    dtype: DType
    table: Array
    seed: int

    def read(self, at: Ints) -> Array:
        """See :class:`BlockTensor`."""
        return self.table[chosen(at, self.seed)]

    def write(self, at: Ints, values: Array) -> None:
        """Raises ValueError: inputs are not written."""
        raise ValueError("an input is written")


@dataclass(frozen=True)
class IndexTable:
    """An input that is there: tables of indices."""

    array: Array
    dtype: DType

    @property
    def shape(self) -> tuple[int, ...]:
        """See :class:`BlockTensor`."""
        return self.array.shape

    def read(self, at: Ints) -> Array:
        """See :class:`BlockTensor`."""
        return compute(self.array.reshape(-1)[at], self.dtype)

    def write(self, at: Ints, values: Array) -> None:
        """Raises ValueError: inputs are not written."""
        raise ValueError("an input is written")


@dataclass
class Written:
    """An output: what was written, over the table's values for the rest."""

    shape: tuple[int, ...]
    dtype: DType
    table: Array
    seed: int
    _parts: list[tuple[Ints, Array]] = field(
        default_factory=list[tuple[Ints, Array]], repr=False
    )
    _merged: tuple[Ints, Array] | None = field(default=None, repr=False)

    def read(self, at: Ints) -> Array:
        """See :class:`BlockTensor`."""
        before = self.table[chosen(at, self.seed)]
        places, values = self.written()
        if not places.size:
            return before
        found = np.minimum(np.searchsorted(places, at), places.size - 1)
        return np.where(places[found] == at, values[found], before)

    def write(self, at: Ints, values: Array) -> None:
        """See :class:`BlockTensor`."""
        self._parts.append((at, values))
        self._merged = None

    def written(self) -> tuple[Ints, Array]:
        """Flat indices in order, each once, and the values that were written last."""
        if self._merged is None:
            if not self._parts:
                return np.zeros(0, np.int64), np.zeros(0, self.table.dtype)
            places = np.concatenate([p for p, _ in self._parts])[::-1]
            values = np.concatenate([v for _, v in self._parts])[::-1]
            unique, first = np.unique(places, return_index=True)
            self._merged = unique, values[first]
            self._parts = [self._merged]
        return self._merged
