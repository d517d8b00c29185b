"""Scalars of printed text: as the interpreter has them, and as they are known to be."""

from __future__ import annotations

import os
from pathlib import Path

import emulator
import numpy as np
import pytest
import scalar_cases

from argus.codegen import emit
from argus.requests import placed_program

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not emulator.available(), reason="needs g++"),
]

SEEDS = range(int(os.environ.get("ARGUS_SCALARS", "4")))
"""Kernels of random expressions."""


def test_numbers_are_those_that_are_known(tmp_path: Path) -> None:
    """Nothing overflows on the way: C++ would leave open what happens then."""
    cases = [*scalar_cases.chosen(), *map(scalar_cases.random_scalars, SEEDS)]
    launches: list[emulator.Launch] = []
    pairs: list[tuple[scalar_cases.Known, dict, dict]] = []
    for known in cases:
        program = placed_program(known.case.request(tmp_path))
        arrays = known.case.arrays()
        launches.append(emulator.bound(emit(program), known.case.sizes(), arrays))
        pairs.append((known, arrays, known.case.interpreted(program)))
    emulator.run_all(launches, *emulator.TRAPPING)
    wrong: list[str] = []
    for known, printed, interpreted in pairs:
        for name, number in known.numbers.items():
            for way, found in (("printed", printed), ("interpreted", interpreted)):
                if not (found[name].astype(object) == number).all():
                    line = next(x for x in known.case.body if f"{name}[" in x)
                    value = found[name].flat[0]
                    wrong.append(f"{line}: {way} {value}, and it is {number}")
    assert not wrong, "\n".join(wrong[:8])


def test_places_are_those_of_the_interpreter(tmp_path: Path) -> None:
    """Coordinates at the ends of their types, in slices, masks and stores."""
    case = scalar_cases.places()
    program = placed_program(case.request(tmp_path))
    arrays = case.arrays()
    launch = emulator.bound(emit(program), case.sizes(), arrays)
    emulator.run_all([launch], *emulator.TRAPPING)
    exact = case.interpreted(program)
    assert case.differ(arrays, exact) == []
    # Some of what is read and stored is inside, and some is not.
    inside = [np.asarray(exact[name] >= 0).mean() for name in case.outputs]
    assert min(inside) == 0 and max(inside) == 1
