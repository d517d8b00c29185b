"""Sums of loop indices with whole factors, which coordinates and offsets are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Affine:
    """``constant`` plus the sum of factor times index; ``terms`` are sorted by loop."""

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    @staticmethod
    def of(terms: Mapping[str, int], constant: int = 0) -> Affine:
        """The sum with these factors by loop; zeros are left out."""
        return Affine(tuple(sorted((k, c) for k, c in terms.items() if c)), constant)

    @staticmethod
    def loop(name: str) -> Affine:
        """The index of a loop."""
        return Affine(((name, 1),))

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other)
        constant = self.constant + other.constant
        if not (self.terms and other.terms):
            return Affine(self.terms or other.terms, constant)
        total = dict(self.terms)
        for name, factor in other.terms:
            total[name] = total.get(name, 0) + factor
        return Affine.of(total, constant)

    def __mul__(self, factor: int) -> Affine:
        return Affine.of({n: c * factor for n, c in self.terms}, self.constant * factor)

    def factor(self, name: str) -> int:
        """The factor of a loop's index; 0 where it does not occur."""
        return dict(self.terms).get(name, 0)

    def renamed(self, names: Mapping[str, str]) -> Affine:
        """With other names of loops."""
        return Affine.of({names.get(n, n): c for n, c in self.terms}, self.constant)

    def replaced(self, loops: Mapping[str, Affine]) -> Affine:
        """With sums in place of some indices."""
        constant = self.constant
        total: dict[str, int] = {}
        for name, factor in self.terms:
            found = loops.get(name)
            if found is None:
                total[name] = total.get(name, 0) + factor
                continue
            constant += found.constant * factor
            for inner, times in found.terms:
                total[inner] = total.get(inner, 0) + times * factor
        return Affine.of(total, constant)

    @property
    def loops(self) -> frozenset[str]:
        """Names of the loops that occur."""
        return frozenset(n for n, _ in self.terms)

    def range(self, sizes: Mapping[str, int]) -> tuple[int, int]:
        """The least and the largest number, for loops of these sizes."""
        low = sum(min(0, c * (sizes[n] - 1)) for n, c in self.terms)
        high = sum(max(0, c * (sizes[n] - 1)) for n, c in self.terms)
        return low + self.constant, high + self.constant
