"""Shifts, halves of products and counts of bits: what they are, what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from support import program

from argus.diagnostics import ArgusError
from argus.ir import ops as o
from argus.ir.functions import FUNCTIONS
from argus.ir.walk import walk
from argus.lang.kernel import load_kernels

KERNEL = """import argus as ag
from argus import f32, i8, i32, i64


@ag.kernel
def k(X: {t}["N"], Y: {t}["N"], Z: {t}["N"], n: i32):
    i = ag.block(ag.cdiv(X.shape[0], 128))
    x, y = ag.load(X[i * 128 :], (128,)), ag.load(Y[i * 128 :], (128,))
    Z[i * 128 :] = {value}
"""


def functions(value: str, dtype: str = "i32") -> list[str]:
    text = KERNEL.format(t=dtype, value=value)
    found = program(load_kernels("<k>", text).kernels["k"])
    return [op.fn for op in walk(found.body) if isinstance(op, o.Elementwise)]


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_bits_of_python_s_integers(kind: type) -> None:
    """The records against integers without a width."""
    rng = np.random.default_rng(2)
    info = np.iinfo(kind)
    x, y = (rng.integers(info.min, info.max, 200, kind, True) for _ in range(2))
    x[:4], y[:4] = (info.min, info.max, -1, 0), (info.min, info.max, -1, info.min)
    by = np.arange(-3, 197).astype(kind) % (info.bits + 6) - 3
    width, mask = info.bits, (1 << info.bits) - 1

    def wrapped(n: int) -> int:
        n &= mask
        return n - (1 << width) if n >> width - 1 else n

    def said(fn: str, *args: np.ndarray) -> list[int]:
        made = FUNCTIONS[fn].numpy(*args)
        assert made.dtype == kind
        return made.tolist()

    pairs = [(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    shifts = [(int(a), int(b)) for a, b in zip(x, by, strict=True)]
    inside = [0 <= b < width for _, b in shifts]
    assert said("mulhi", x, y) == [a * b >> width for a, b in pairs]
    assert said("popcount", x) == [(a & mask).bit_count() for a, _ in pairs]
    assert said("shl", x, by) == [
        wrapped(a << b) if ok else 0 for (a, b), ok in zip(shifts, inside, strict=True)
    ]
    assert said("shr", x, by) == [
        a >> b if ok else -(a < 0) for (a, b), ok in zip(shifts, inside, strict=True)
    ]


def test_a_static_amount_is_a_product_or_a_quotient() -> None:
    assert functions("(x << 3) + (y >> 4)") == ["mul", "floordiv", "add"]
    assert functions("(x << 31) + (y >> 31)") == ["shl", "shr", "add"]
    assert functions("x << (n << 1 >> 1)") == ["shl"]
    assert functions("(1 << x) >> y") == ["shl", "shr"]
    assert functions("ag.mulhi(x, 7) + ag.popcount(y)") == ["mulhi", "popcount", "add"]


@pytest.mark.parametrize(
    ("value", "dtype", "code"),
    [
        ("x << -1", "i32", "AG0119"),
        ("x << 2", "f32", "AG0107"),
        ("x >> y", "f32", "AG0107"),
        ("ag.popcount(x)", "i8", "AG0107"),
        ("ag.mulhi(x, y)", "i8", "AG0107"),
        ("x + (1 << n)", "i32", "AG0004"),
    ],
)
def test_what_is_refused(value: str, dtype: str, code: str) -> None:
    with pytest.raises(ArgusError) as caught:
        functions(value, dtype)
    assert caught.value.code == code
