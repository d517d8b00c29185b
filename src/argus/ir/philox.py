"""Philox4x32-10: random numbers by coordinate.

Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011. A
counter of four words and a key of two give four words, each a number of 32 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MULTIPLIERS", "ROUNDS", "WEYL", "philox", "word"]

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
"""What is added to the key after each round."""

Words = NDArray[np.uint64]
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(counter: Sequence[Words], key: Sequence[Words]) -> tuple[Words, ...]:
    """Four words of a counter (4 words) and a key (2 words), all below 2**32."""
    x = [np.asarray(c, np.uint64) for c in counter]
    k = [np.asarray(c, np.uint64) for c in key]
    first, second = (np.uint64(m) for m in MULTIPLIERS)
    for _ in range(ROUNDS):
        a, b = first * x[0], second * x[2]
        x = [
            (b >> _HALF) ^ x[1] ^ k[0],
            b & _LOW,
            (a >> _HALF) ^ x[3] ^ k[1],
            a & _LOW,
        ]
        k = [(c + np.uint64(w)) & _LOW for c, w in zip(k, WEYL, strict=True)]
    return tuple(x)


def word(seed: Any, offset: Any, number: Any) -> NDArray[np.int64]:
    """Word ``number % 4`` of the counter (offset, 0) with a seed of 64 bits as key.

    All are whole numbers of 64 bits; the result is one from 0 to 2**32 - 1.
    """
    s, o = (np.asarray(x, np.int64).view(np.uint64) for x in (seed, offset))
    zero = np.zeros((), np.uint64)
    with np.errstate(over="ignore"):
        made = philox((o & _LOW, o >> _HALF, zero, zero), (s & _LOW, s >> _HALF))
    which = np.asarray(number, np.int64) & 3
    shape = np.broadcast_shapes(*(x.shape for x in made), which.shape)
    return np.choose(which, [np.broadcast_to(x, shape) for x in made]).astype(np.int64)
