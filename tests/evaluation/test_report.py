"""Records, statistics and tables, from made-up times."""

import json
import math
from pathlib import Path

import pytest

from argus.diagnostics import ArgusError
from argus.evaluation.bench import OURS, BenchRecord, record
from argus.evaluation.report import Environment, bench_json, environment, markdown
from argus.evaluation.timing import Timing, summary
from argus.files.writing import write_bytes, write_json
from argus.kernels.library import LIBRARY
from argus.model.peaks import peak_of

H200 = "NVIDIA H200"
WHERE = Environment(
    H200, "CUDA 13.0", "2.11", "13.0", "13.5", "3.11", "0.1.0", "2026-01-02", "argus"
)


def _record(entry: str, number: int, ours: float, theirs: float) -> BenchRecord:
    e = LIBRARY[entry]
    name = next(iter(("cuBLAS",) if entry == "gemm" else ("torch",)))
    return record(
        e,
        e.large[number],
        kernel="k",
        statics={"BM": "128"},
        error=1.7e-3,
        timings={
            OURS: Timing(OURS, ours, ours, 0.5, 50),
            name: Timing(name, theirs, theirs, 0.5, 50),
        },
        device=H200,
    )


def test_summary() -> None:
    timing = summary("x", [4.0, 1.0, 2.0, 3.0, 100.0])
    assert (timing.median, timing.minimum, timing.samples) == (3.0, 1.0, 5)
    assert timing.iqr == pytest.approx(2.0)
    assert summary("x", [7.0]) == Timing("x", 7.0, 7.0, 0.0, 1)
    with pytest.raises(ValueError, match="no sample"):
        summary("x", [])


def test_rates_and_ratios() -> None:
    found = _record("gemm", 1, 1500.0, 1600.0)  # 8192 cubed
    assert found.unit == "TFLOP/s"
    assert found.rates[OURS] == pytest.approx(2 * 8192**3 / 1500e-6 * 1e-12)
    assert found.ratios == {"cuBLAS": pytest.approx(1600 / 1500)}
    assert found.share == pytest.approx(2 * 8192**3 / 989.4e12 / 1500e-6)


def test_a_memory_bound_entry_is_measured_in_bytes() -> None:
    found = _record("softmax", 0, 200.0, 300.0)
    assert found.unit == "TB/s"
    assert found.rates[OURS] == pytest.approx(4 * 16384 * 8192 / 200e-6 * 1e-12)
    assert found.share == pytest.approx(4 * 16384 * 8192 / 4.8e12 / 200e-6)


def test_an_unknown_device_has_no_speed_of_light() -> None:
    assert peak_of("A GPU of tomorrow") is None
    assert peak_of(H200) is not None


def test_markdown(golden) -> None:
    records = [
        _record("gemm", 0, 190.0, 188.0),
        _record("gemm", 1, 1500.0, 1600.0),
        _record("softmax", 0, 200.0, 300.0),
    ]
    golden("bench.md", markdown(records, WHERE))


def test_json_keys_are_stable(golden) -> None:
    data = bench_json([_record("gemm", 0, 190.0, 188.0)], WHERE)
    golden("bench.json", json.dumps(data, indent=1) + "\n")


def test_environment_without_a_gpu_is_complete() -> None:
    found = environment("argus bench gemm")
    assert found.command == "argus bench gemm"
    assert found.python
    assert found.date.endswith("+00:00")


def test_files_appear_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.json"
    write_json(path, {"a": [1, 2.5, None]})
    assert json.loads(path.read_text()) == {"a": [1, 2.5, None]}
    with pytest.raises(ValueError, match=r"JSON compliant|Out of range"):
        write_json(path, {"a": math.nan})
    assert [p.name for p in path.parent.iterdir()] == ["results.json"]
    with pytest.raises(ArgusError) as caught:
        write_bytes(path / "below a file", b"")
    assert caught.value.code == "AG0902"
