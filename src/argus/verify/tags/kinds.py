"""What padding becomes: arithmetic on what the elements of a hole are known to hold.

A group of elements holds one known number, "data" (finite, nothing else known), or
"junk". Numbers of magnitude 1e29 and more stand for infinities: a mask value such as
-1e30 multiplied by a positive scale, or with a finite number added, stays one. That a
scale that multiplies masked elements is positive is taken for granted, and said in
docs/verification.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from argus.ir.dtypes import DType
from argus.ir.functions import FUNCTIONS, law
from argus.verify.tags.values import MASKED, Kind

__all__ = ["fold", "is_negative_infinity", "is_positive_infinity", "join", "neutral"]


def is_negative_infinity(kind: Kind) -> bool:
    """Whether a maximum may ignore it."""
    return isinstance(kind, float | int) and kind <= -MASKED


def is_positive_infinity(kind: Kind) -> bool:
    """Whether a minimum may ignore it."""
    return isinstance(kind, float | int) and kind >= MASKED


def join(a: Kind, b: Kind) -> Kind:
    """One of two."""
    if a == b:
        return a
    return "junk" if "junk" in (a, b) else "data"


def neutral(fn: str, kind: Kind, dtype: DType) -> bool:
    """Whether elements of this kind and type may take part in a reduction uncounted."""
    match fn:
        case "sum":
            return kind == 0
        case "max" | "argmax":
            return is_negative_infinity(kind) or kind in _ends(kind, dtype)[:1]
        case "min" | "argmin":
            return is_positive_infinity(kind) or kind in _ends(kind, dtype)[1:]
        case "prod":
            return kind == 1
        case _:
            raise ValueError(f"no reduction {fn}")


def _ends(kind: Kind, dtype: DType) -> tuple[int, ...]:
    """The least and the largest whole number of a type, if padding is such a number.

    What was computed of padding is a float, which has not all numbers of 64 bits.
    """
    if dtype.kind != "int" or (dtype.bits > 32 and not isinstance(kind, int)):
        return ()
    count = 1 << dtype.bits
    if not dtype.signed:
        return 0, count - 1
    return -count // 2, count // 2 - 1


def fold(fn: str, kinds: Sequence[Kind]) -> Kind:
    """The result of an element-wise function on groups of these kinds."""
    if "junk" in kinds:
        return "junk"
    numbers = [k for k in kinds if not isinstance(k, str)]
    if len(numbers) == len(kinds):
        return _computed(fn, numbers)
    if not numbers:
        return "data"
    return _mixed(fn, kinds)


def _computed(fn: str, numbers: Sequence[float]) -> Kind:
    with np.errstate(all="ignore"):
        try:
            result = float(FUNCTIONS[fn].numpy(*(np.float64(x) for x in numbers)))
        except (ZeroDivisionError, OverflowError, TypeError, ValueError):
            return "junk"
    return "junk" if math.isnan(result) else result


def _mixed(fn: str, kinds: Sequence[Kind]) -> Kind:
    """Known numbers and data together."""
    if fn == "fma":
        return fold("add", (fold("mul", kinds[:2]), kinds[2]))
    if len(kinds) != 2:
        return "data"
    a, b = kinds
    known = a if not isinstance(a, str) else b
    assert not isinstance(known, str)
    large = abs(known) >= MASKED
    match law(fn):
        case "mul":
            if known == 0:
                return 0.0
            return math.copysign(math.inf, known) if large else "data"
        case "div":
            if known is a and known == 0:
                return 0.0
            return known if known is a and large else "data"
        case "add":
            return known if large else "data"
        case "sub":
            if not large:
                return "data"
            return known if known is a else -known
        case "maximum":
            if is_negative_infinity(known):
                return "data"
            return known if is_positive_infinity(known) else "data"
        case "minimum":
            if is_positive_infinity(known):
                return "data"
            return known if is_negative_infinity(known) else "data"
        case (
            "fma" | "neg" | "floordiv" | "mod" | "exp" | "log" | "power" | "where"
            | "none"
        ):  # fmt: skip
            return "data"
