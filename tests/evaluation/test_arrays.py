"""Both array libraries draw, poison and compare alike."""

import math
from typing import Any

import numpy as np
import pytest

from argus.evaluation.arrays import Arrays, NumpyArrays, TorchArrays
from argus.ir.dtypes import DTYPES, bf16, boolean, f32, i32

BOUND = 0.1


def _library(kind: str, seed: int = 0) -> Arrays:
    if kind == "numpy":
        return NumpyArrays(seed)
    pytest.importorskip("torch")
    return TorchArrays(seed, "cpu")


@pytest.fixture(params=["numpy", "torch"])
def library(request: pytest.FixtureRequest) -> Arrays:
    return _library(request.param)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("name", [d for d in DTYPES if DTYPES[d].is_float])
def test_normal_values_depend_on_the_seed_alone(kind: str, name: str) -> None:
    dtype = DTYPES[name]
    first, again, other = (_library(kind, s).normal(dtype, (64, 64)) for s in (5, 5, 6))
    library = _library(kind)
    assert library.same(first, again)
    assert not library.same(first, other)
    values = np.asarray(library.exact(first, dtype))
    assert abs(values.mean()) < 0.1
    assert abs(values.std() - 1) < 0.1


def test_two_draws_differ(library: Arrays) -> None:
    assert not library.same(library.normal(f32, (32,)), library.normal(f32, (32,)))


def test_integers_stay_below(library: Arrays) -> None:
    drawn = np.asarray(library.integers(i32, (1000,), 7))
    assert set(drawn.tolist()) == set(range(7))
    assert not np.asarray(library.integers(i32, (10,), 0)).any()


@pytest.mark.parametrize("name", DTYPES)
def test_poison(library: Arrays, name: str) -> None:
    dtype = DTYPES[name]
    made = np.asarray(library.exact(library.poisoned(dtype, (3, 5)), dtype))
    assert made.shape == (3, 5)
    if dtype.is_float:
        assert np.isnan(made).all()
    elif dtype is boolean:
        assert not made.any()
    else:
        assert (made == made.min()).all()


def test_exact_is_a_copy(library: Arrays) -> None:
    for dtype in (bf16, f32, i32):
        array = (
            library.integers(i32, (4,), 9)
            if dtype is i32
            else library.normal(dtype, (4,))
        )
        kept = library.copy(array)
        wide = library.exact(array, dtype)
        wide[0] = 3
        assert library.same(array, kept)


def _fp64(library: Arrays, values: Any) -> Any:
    array = np.asarray(values, np.float64)
    if library.module is np:
        return array
    return library.module.from_numpy(array.copy())


def test_equal_arrays_do_not_differ(library: Arrays) -> None:
    values = np.random.default_rng(0).standard_normal((8, 16))
    found = library.difference(_fp64(library, values), _fp64(library, values), BOUND)
    assert (found.error, found.unwritten, found.outliers) == (0.0, 0, 0)


def test_one_wrong_element_among_many_is_an_outlier(library: Arrays) -> None:
    reference = np.random.default_rng(0).standard_normal((512, 512))
    out = reference.copy()
    out[3, 7] += 2
    found = library.difference(_fp64(library, out), _fp64(library, reference), BOUND)
    assert found.error < 5e-3  # the norm alone does not see it
    assert found.outliers == 1
    assert found.worst == 3 * 512 + 7
    assert found.got == pytest.approx(reference[3, 7] + 2)
    assert found.expected == pytest.approx(reference[3, 7])


def test_each_row_has_its_own_scale(library: Arrays) -> None:
    reference = np.ones((4, 64))
    reference[2] *= 1e-6
    out = reference.copy()
    out[0] += 0.05
    found = library.difference(_fp64(library, out), _fp64(library, reference), BOUND)
    assert found.outliers == 0
    out[2, 5] += 0.05
    found = library.difference(_fp64(library, out), _fp64(library, reference), BOUND)
    assert (found.outliers, found.worst) == (1, 2 * 64 + 5)


def test_an_element_of_a_column_is_no_scale_of_itself(library: Arrays) -> None:
    reference = np.random.default_rng(0).standard_normal((17, 1))
    reference[6] = 1e-3  # a sum that cancels by chance, with the rounding of the others
    out = reference.copy()
    out[6] += 1e-2
    found = library.difference(_fp64(library, out), _fp64(library, reference), BOUND)
    assert found.outliers == 0
    out[6] += 2
    found = library.difference(_fp64(library, out), _fp64(library, reference), BOUND)
    assert (found.outliers, found.worst) == (1, 6)


def test_nan_is_unwritten_unless_expected(library: Arrays) -> None:
    reference = np.ones((4, 4))
    out = reference.copy()
    out[1, 2] = math.nan
    found = library.difference(_fp64(library, out), _fp64(library, reference), BOUND)
    assert found.unwritten == 1
    assert found.outliers == 1
    assert math.isnan(found.error)
    assert found.worst == 6
    reference[1, 2] = math.nan
    found = library.difference(_fp64(library, out), _fp64(library, reference), BOUND)
    assert found.unwritten == 0


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_zero_reference(library: Arrays, value: float) -> None:
    zeros = np.zeros((2, 2))
    found = library.difference(
        _fp64(library, zeros + value), _fp64(library, zeros), BOUND
    )
    assert found.error == 2 * value
    assert found.outliers == (4 if value else 0)


def test_statistics(library: Arrays) -> None:
    array = library.poisoned(f32, (2, 3))
    array[0, 0], array[0, 1] = 3.0, -1.0
    s = library.statistics(array, f32)
    assert (s.elements, s.unwritten) == (6, 4)
    assert (s.minimum, s.maximum, s.mean) == (-1.0, 3.0, 1.0)
    assert s.rms == pytest.approx(math.sqrt(5))
    assert library.statistics(library.poisoned(f32, (2,)), f32).unwritten == 2
