"""Predictions against the measurements of the H200 that are in the repository.

A seeded sample of each family, so that it takes seconds; `docs/model.md` has the whole
(`benchmarks/model_data.py --report`). The bars are below what the model reaches, and
above what a model without one of its parts does.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from argus.kernels.library import LIBRARY
from argus.model import predict
from argus.model.accuracy import TimedConfiguration, accuracy, ranks, spearman
from argus.model.data import read
from predicted import every_size, library

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
DATA = BENCHMARKS / "h200" / "model.json"
LIBRARY_RESULTS = BENCHMARKS / "h200" / "results.json"
SAMPLE = 120
"""Of each family that has so many."""


@cache
def benchmark(name: str) -> ModuleType:
    """A module of `benchmarks`, which is no package."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(BENCHMARKS))


@cache
def sampled() -> tuple[TimedConfiguration, ...]:
    """Predictions of the sample."""
    report = benchmark("model_report")
    return tuple(report.points(report.sample(report.timed(read(DATA)), SAMPLE)))


def test_there_are_enough_measurements():
    """Of each family, several problems, all checked."""
    data = read(DATA)
    timed = [m for m in data.measurements if m.microseconds is not None]
    family_of = benchmark("model_space").family_of
    counts = {f: sum(family_of(m) == f for m in timed) for f in ("gemm", "norms")}
    assert len(timed) >= 1000
    assert counts["gemm"] >= 600
    assert counts["norms"] >= 100
    assert all(m.error is not None and m.error < 2e-2 for m in timed)
    assert all(0 < m.minimum <= m.microseconds for m in timed)


def test_all_families_together():
    """Rank correlation over everything, and the error of a typical prediction."""
    found = accuracy(sampled())
    assert found.points >= 250
    assert found.spearman >= 0.97
    assert found.error <= 0.12


@pytest.mark.parametrize(
    ("family", "least", "error"),
    [
        ("gemm", 0.97, 0.13),
        ("norms", 0.93, 0.08),
        ("attention", 0.97, 0.13),
        ("grouped", 0.85, 0.15),
    ],
)
def test_each_family(family, least, error):
    """Rank correlation within a family, over problems."""
    found = accuracy([p for p in sampled() if p.family == family])
    assert found.spearman >= least
    assert found.error <= error


@pytest.mark.parametrize("family", ["gemm", "norms", "attention", "grouped"])
def test_problems_that_no_constant_was_fitted_on(family):
    """The same, of the test half alone."""
    held_out = benchmark("model_report").HELD_OUT
    test = [p for p in sampled() if p.problem in held_out]
    found = accuracy([p for p in test if p.family == family])
    assert accuracy(test).spearman >= 0.95
    assert found.spearman >= 0.90
    assert found.error <= 0.15


def test_what_is_ranked_first_is_good():
    """Measured times of it, over the best that was sampled, by problem."""
    loss = accuracy(sampled()).loss
    assert np.median(loss) <= 1.05
    assert np.quantile(loss, 0.9) <= 1.25


def test_configurations_of_one_problem_are_ranked():
    """What a search asks: which of these is faster, all sizes being the same."""
    found = accuracy([p for p in sampled() if p.family == "gemm"])
    assert len(found.within) >= 8
    assert found.median_within >= 0.85


def test_the_constants_were_not_fitted_on_all_of_it():
    """The test half has problems of every family."""
    report, space = benchmark("model_report"), benchmark("model_space")
    timed = report.timed(read(DATA))
    for half in (True, False):
        families = {space.family_of(m) for m in timed if report.held_out(m) is half}
        assert families == {"gemm", "norms", "attention", "grouped"}


def library_points() -> list[TimedConfiguration]:
    """Every case of the library that was measured, as the library runs it."""
    records = json.loads(LIBRARY_RESULTS.read_text(encoding="utf-8"))["records"]
    found: list[TimedConfiguration] = []
    for record in records:
        entry = record["entry"]
        case = next(c for c in LIBRARY[entry].large if c.name == record["case"])
        time = record["timings"]["argus"]
        said = predict(library(entry, case), every_size(entry, case))
        found.append(
            TimedConfiguration(entry, case.name, time["median_us"], said.microseconds)
        )
    return found


def test_cases_of_the_library():
    """Problems from 20 to 13000 microseconds, each with the library's own choice."""
    found = accuracy(library_points())
    assert found.points >= 36
    assert found.spearman >= 0.99
    assert found.error <= 0.08
    assert found.high <= 0.20


def test_ranks_and_their_correlation():
    """Against values worked out by hand."""
    assert ranks([10.0, 30.0, 20.0, 20.0]).tolist() == [0.0, 3.0, 1.5, 1.5]
    assert spearman([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1)
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    # 1 - 6 * sum(d**2) / (n * (n**2 - 1)), d = (0, 1, -1, 0)
    assert spearman([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    with pytest.raises(ValueError, match="two different"):
        spearman([1, 1], [1, 2])


def test_accuracy_of_known_points():
    """Errors are relative to what was measured; the loss is of the first ranked."""
    points = [
        TimedConfiguration("f", "p", 10.0, 11.0),
        TimedConfiguration("f", "p", 20.0, 10.0),
        TimedConfiguration("f", "q", 40.0, 40.0),
    ]
    found = accuracy(points)
    assert found.error == pytest.approx(0.1)
    assert found.loss == (2.0, 1.0)
    assert found.within == ()
    assert np.isnan(found.worst_within)


def test_another_format_is_refused(tmp_path):
    """A file of a later version."""
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"format": 99}), encoding="utf-8")
    with pytest.raises(ValueError, match="format 99"):
        read(path)
