"""What kernels are shown to compute is what they are held against in runs."""

from __future__ import annotations

import numpy as np
import pytest

from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.oracle import exact_inputs, make_inputs
from argus.kernels.entry import Case, LibraryEntry
from argus.kernels.library import LIBRARY

STATED = [
    pytest.param(entry, case, id=f"{entry.name}-{case.name}")
    for entry in LIBRARY.values()
    if entry.stated is not None
    for case in entry.small
]


@pytest.mark.parametrize(("entry", "case"), STATED)
def test_both_say_the_same_numbers(entry: LibraryEntry, case: Case) -> None:
    arrays = exact_inputs(make_inputs(entry, case, NumpyArrays(3)))
    fast = entry.reference(np, arrays, case)
    stated = entry.proved_reference(np, arrays, case)
    assert stated.keys() == fast.keys()
    for name, numbers in fast.items():
        assert np.isfinite(numbers).all()
        np.testing.assert_allclose(stated[name], numbers, rtol=1e-12, atol=1e-12)
