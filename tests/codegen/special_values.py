"""Elements that are special in their type, and ordinary ones.

NaN, infinities, signed zeros, subnormals, ends, ties of rounding.
"""

from __future__ import annotations

import numpy as np
from differential import Array

from argus.interpret.numbers import storage
from argus.ir import codec
from argus.ir.dtypes import DTYPES, DType

_SPECIAL = (
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-45,
    1e-40, 1.1754944e-38, 3.4e38, -3.4e38, 65504.0, 65520.0, -70000.0, 127.0, 127.5,
    128.0, -128.0, -128.9, -129.0, 255.0, 255.9, 256.0, 1000.0, 2.0**31, -(2.0**31),
    2.0**31 - 128, 2.0**31 - 0.5, 2.0**53 + 1, 5e-324, 1e-310, 1e300, -1e308,
    3e9, -3e9, 2.0**63, -(2.0**63), 1e19, -1e19, 0.1, 1 / 3, 6e-8,
)  # fmt: skip


def stored(values: Array, dtype: DType) -> Array:
    """Numbers as elements of a type."""
    with np.errstate(all="ignore"):
        if dtype.is_float:
            held = codec.rounded(values, dtype)
            return held.reshape(np.shape(values))
        return np.asarray(values).astype(np.int64).astype(storage(dtype))


def special(dtype: str, count: int, seed: int) -> Array:
    """Stored elements: what is special in a type, then ordinary numbers, mixed."""
    rng = np.random.default_rng(seed)
    kind = DTYPES[dtype]
    if kind.is_float:
        values = rng.normal(size=count) * 10.0 ** rng.integers(-3, 4, size=count)
        chosen = np.array(_SPECIAL)
    elif dtype == "bool":
        return rng.random(count) < 0.5
    else:
        info = np.iinfo(storage(kind))
        values = rng.integers(info.min, info.max, count, storage(kind), endpoint=True)
        small = rng.integers(-9 if info.min else 0, 10, count).astype(storage(kind))
        values = np.where(rng.random(count) < 0.5, values, small)
        ends = [info.min, info.max, info.min + 1, info.max - 1, 0, 1, 2, 127]
        ends += [x for x in (2**24 + 1, 2**31 - 64, 2**62 + 1, 65520) if x <= info.max]
        ends += [-1] if info.min else []
        chosen = np.array(ends, storage(kind))
    n = min(len(chosen), count)
    values = np.concatenate([chosen[:n], values[: count - n]])
    return stored(values[rng.permutation(count)], kind)


def plain(dtype: str, shape: tuple[int, ...], seed: int) -> Array:
    """Small whole numbers, whose sums are exact in any order."""
    rng = np.random.default_rng(seed)
    kind = DTYPES[dtype]
    if dtype == "bool":
        return rng.random(shape) < 0.5
    values = rng.integers(0 if dtype[0] == "u" else -4, 5, shape)
    if kind.kind == "int":
        # Sums that leave 8 bits, and of i32 and i64 those that wrap.
        values = values * {"i8": 31, "u8": 50, "i32": 2**28, "i64": 2**60}.get(
            dtype, 8000
        )
    return stored(values.astype(np.float64 if kind.is_float else np.int64), kind)
