"""Functions of numbers that are the same everywhere, as kernels compute them."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from argus.ir.dtypes import DType
from argus.ir.functions import FUNCTIONS

Number = float | int | bool

_TYPES = {"float": np.float32, "int": np.int64, "bool": np.bool_}


def number_of(function: str, parts: Sequence[Number], dtype: DType) -> Number:
    """A function, or "cast", of numbers that are computed in ``dtype``.

    Floats are computed in f32; a cast rounds to the type.
    """
    if function == "cast":
        return _rounded(parts[0], dtype)
    numbers = [np.asarray(p, _TYPES[dtype.kind]) for p in parts]
    if function == "where":
        numbers[0] = np.asarray(parts[0], np.bool_)
    with np.errstate(all="ignore"):
        return FUNCTIONS[function].numpy(*numbers).item()


def _rounded(number: Number, dtype: DType) -> Number:
    if dtype.kind == "bool":
        return bool(number)
    if dtype.kind == "int":
        return int(number)
    if dtype.bits >= np.finfo(np.float32).bits:
        return (
            float(np.float32(number)) if dtype.bits < np.finfo(float).bits else number
        )
    narrow = (
        np.float16 if dtype.foreign == "float16" else getattr(ml_dtypes, dtype.foreign)
    )
    return float(np.asarray(number, np.float32).astype(narrow))
