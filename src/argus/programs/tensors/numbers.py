"""Functions of numbers that are the same everywhere, as kernels compute them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from argus.ir.codec import computing, numbers, rounded
from argus.ir.dtypes import DType
from argus.ir.functions import FUNCTIONS

Number = float | int | bool

_TYPES = {"int": np.int64, "bool": np.bool_}


def number_of(function: str, parts: Sequence[Number], dtype: DType) -> Number:
    """A function, or "cast", of numbers that are computed in ``dtype``.

    Floats are computed as kernels do; a cast rounds to the type.
    """
    if function == "cast":
        return _rounded(parts[0], dtype)
    kind = computing(dtype) if dtype.is_float else _TYPES[dtype.kind]
    given = [np.asarray(p, kind) for p in parts]
    if function == "where":
        given[0] = np.asarray(parts[0], np.bool_)
    with np.errstate(all="ignore"):
        return FUNCTIONS[function].numpy(*given).item()


def _rounded(number: Number, dtype: DType) -> Number:
    if dtype.kind == "bool":
        return bool(number)
    if dtype.kind == "int":
        if math.isnan(number):
            return 0
        low, high = dtype.integers
        return int(min(max(number, low), high) if isinstance(number, float) else number)
    if dtype.bits >= np.finfo(np.float32).bits:
        return (
            float(np.float32(number)) if dtype.bits < np.finfo(float).bits else number
        )
    stored = rounded(np.asarray([number], np.float32), dtype)
    return float(numbers(stored, dtype)[0])


@cache
def saturates(dtype: DType) -> bool:
    """Whether torch makes the largest number of a type of what is too large for it.

    Its versions differ.
    """
    import torch
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    with unset_fake_temporarily():
        made = torch.tensor(math.inf).to(getattr(torch, dtype.foreign))
        return math.isfinite(made.float().item())


def neutral(function: str, dtype: DType) -> float | int:
    """What changes no reduction (sum, prod, max, argmax, ...) of elements of a type."""
    if function in ("sum", "prod"):
        number = int(function == "prod")
        return float(number) if dtype.is_float else number
    largest = function.endswith("max")
    if dtype.is_float:
        return -math.inf if largest else math.inf
    count = 1 << dtype.bits
    least = -count // 2 if dtype.signed else 0
    return least if largest else least + count - 1
