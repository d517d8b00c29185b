"""What inputs hold where terms are evaluated: a function of names and positions."""

from __future__ import annotations

from fractions import Fraction
from hashlib import blake2b
from typing import Protocol, TypeAlias

Number: TypeAlias = int | Fraction | float


class InputValues(Protocol):
    """What inputs hold."""

    def real(self, name: str, indices: tuple[int, ...]) -> Number:
        """An element of a float tensor, or a scalar (no indices)."""
        ...

    def whole(self, name: str, indices: tuple[int, ...]) -> int:
        """An entry of an integer tensor, or an opaque function of integers."""
        ...


class RandomData:
    """Inputs that are a function of a seed, a name and a position."""

    def __init__(self, seed: int = 0, entries: int = 4) -> None:
        self.seed, self.entries = seed, entries

    def real(self, name: str, indices: tuple[int, ...]) -> Number:
        """Between 1/2 and 3/2, with a denominator of 64."""
        return Fraction(32 + self.drawn("real", name, indices) % 64, 64)

    def whole(self, name: str, indices: tuple[int, ...]) -> int:
        """From 0 to ``entries - 1``."""
        return self.drawn("whole", name, indices) % self.entries

    def drawn(self, kind: str, name: str, indices: tuple[int, ...]) -> int:
        """A number of 48 bits, the same for the same position."""
        text = f"{self.seed} {kind} {name} {indices}".encode()
        return int.from_bytes(blake2b(text, digest_size=6).digest(), "big")
