"""Norms over rows: what is chosen holds or walks over rows, and is the norm. No GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from argus.compiler import build
from argus.dispatch import LaunchSequence
from argus.equivalence.traced import decided_case
from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.requests import contiguous_facts
from argus.ir.dtypes import DType, bf16, f32
from argus.kernels.entry import Case, LibraryEntry
from argus.kernels.layernorm.entry import FORMS as LAYERNORM_FORMS
from argus.kernels.layernorm.entry import LAYERNORM
from argus.kernels.norms.choice import RowForms, row_statics, walk_statics
from argus.kernels.norms.entry import RMSNORM, RMSNORM_FORMS, SOFTMAX, SOFTMAX_FORMS
from argus.requests import Request
from few import rest
from kernels.launching import execute

FAMILIES = {
    "softmax": (SOFTMAX, SOFTMAX_FORMS),
    "rmsnorm": (RMSNORM, RMSNORM_FORMS),
    "layernorm": (LAYERNORM, LAYERNORM_FORMS),
}
family = pytest.mark.parametrize(
    ("entry", "forms"), FAMILIES.values(), ids=list(FAMILIES)
)
COUNT = 132


def request_of(entry: LibraryEntry, forms: RowForms, n: int, dtype: DType) -> Request:
    kernel, statics = forms.single(n, 8 * dtype.bytes)
    arguments = entry.arguments(Case("", {"M": 100, "N": n}))
    shapes = {a.name: a.shape for a in arguments}
    dtypes = dict.fromkeys(shapes, dtype)
    facts = contiguous_facts(kernel, shapes)
    return Request(kernel, dtypes, statics, "sm_90a", facts)


@pytest.mark.parametrize("bits", [16, 32])
@pytest.mark.parametrize("n", [1, 7, 8, 64, 100, 513, 4096, 5001, 16384, 16385, 32768])
def test_a_row_is_held_by_threads_that_a_multiprocessor_has(n: int, bits: int) -> None:
    found = row_statics(n, bits)
    columns, warps, blocks, rows = (
        int(str(found[name])) for name in ("BN", "WARPS", "MIN_BLOCKS", "ROWS")
    )
    assert columns >= n
    assert rows * columns % (32 * warps) == 0
    assert 8 <= rows * columns // (32 * warps) <= 64
    assert 512 <= 32 * warps * blocks <= 1024


@pytest.mark.compiler
@family
@pytest.mark.parametrize(
    ("n", "dtype"),
    [(n, bf16) for n in (7, 3333, *rest(64, 512, 1001, 8192))]
    + [(n, f32) for n in (8192, *rest(63, 333, 2048))],
    ids=str,
)
def test_nothing_is_spilled(
    entry: LibraryEntry, forms: RowForms, n: int, dtype: DType
) -> None:
    usage = build(request_of(entry, forms, n, dtype)).cubin.usage
    assert usage.spill_stores == 0


@family
@pytest.mark.parametrize("n", [7, 1000, 4097, 24576, 128256])
def test_what_is_chosen_is_equal_to_its_reference(
    entry: LibraryEntry, forms: RowForms, n: int
) -> None:
    case = Case("", {"M": 100, "N": n})
    made = decided_case(
        request_of(entry, forms, n, bf16), entry.proved_reference, case, 20.0
    )
    assert made.equal, made.reason


def test_long_rows_are_walked_over_where_there_are_many() -> None:
    for _, forms in FAMILIES.values():
        for m, n, bits in ((4096, 128256, 16), (300, 50260, 16), (4096, 20000, 16)):
            assert forms.choose(m, n, bits, COUNT) == (
                forms.passes,
                {**walk_statics(n, bits), **forms.fixed},
            )
        assert forms.choose(2048, 32768, 16, COUNT) == (forms.held, row_statics(32768))


@pytest.mark.parametrize(
    ("m", "n", "bits"),
    [
        (1, 32769, 16),
        (8, 50257, 16),
        (132, 131072, 16),
        (4096, 128256, 32),
        (300, 50257, 16),
    ],
)
def test_few_long_rows_are_shared(m: int, n: int, bits: int) -> None:
    for _, forms in FAMILIES.values():
        found = forms.choose(m, n, bits, COUNT)
        assert isinstance(found, LaunchSequence)
        assert [s.kernel for s in found.steps] == [forms.parts, forms.apply]


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _rmsnorm(x: Any, w: Any, eps: float) -> Any:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w


def _layernorm(x: Any, w: Any, b: Any, eps: float) -> Any:
    return _rmsnorm(x - x.mean(-1, keepdims=True), w, eps) + b


def test_a_part_that_is_masked_out_counts_for_nothing() -> None:
    x = np.random.default_rng(3).standard_normal((2, 6000)).astype(np.float32)
    x[0, 2048:4096] = -np.inf
    x[1, :4096] = -np.inf
    y = np.full_like(x, np.nan)
    execute(SOFTMAX_FORMS.shared(*x.shape), (x, y))
    assert np.allclose(y, _softmax(x.astype(np.float64)), rtol=1e-4, atol=0)


@pytest.mark.parametrize(
    ("forms", "want", "weights"),
    [
        (SOFTMAX_FORMS, _softmax, 0),
        (RMSNORM_FORMS, _rmsnorm, 1),
        (LAYERNORM_FORMS, _layernorm, 2),
    ],
    ids=list(FAMILIES),
)
@pytest.mark.parametrize("dtype", [bf16, f32], ids=lambda d: d.name)
@pytest.mark.parametrize(("m", "n"), [(3, 5001), (2, 4096), (4, 2049)])
def test_shared_rows_are_normalised(
    forms: RowForms,
    want: Callable[..., Any],
    weights: int,
    dtype: DType,
    m: int,
    n: int,
) -> None:
    """Rows that are far from 0, whose variance cancels where it is taken at once."""
    arrays = NumpyArrays(m)
    x = arrays.normal(dtype, (m, n))
    if dtype is f32:
        x += 1000
    rows = [arrays.normal(dtype, (n,)) for _ in range(weights)]
    y = arrays.poisoned(dtype, (m, n))
    numbers = (1e-5,) if weights else ()
    execute(forms.shared(m, n), (x, *rows, y, *numbers))
    exact = want(*(arrays.exact(a, dtype) for a in (x, *rows)), *numbers)
    error = np.linalg.norm(arrays.exact(y, dtype) - exact)
    assert error < (5e-3 if dtype is bf16 else 1e-4) * np.linalg.norm(exact)
