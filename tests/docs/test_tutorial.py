"""Each step of the tutorial: parsed, placed, interpreted at odd sizes, built."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import numpy as np
import pytest
from kernel_files import ROOT, close, rounded, subject

STEPS = sorted(p.name for p in (ROOT / "docs/tutorial").glob("step*.py"))

SMALL: dict[str, dict[str, object]] = {
    "step2_ring.py": {"BM": 64, "BN": 64, "STAGES": 3},
    "step3_order.py": {"BM": 64, "BN": 64, "STAGES": 3, "GROUP": 2},
    "step4_roles.py": {"BN": 64, "STAGES": 2},
    "step5_persistent.py": {"BN": 64, "STAGES": 2, "GROUP": 2},
    "step6_cluster.py": {"BN": 128, "BC": 64, "STAGES": 2},
}
"""Static parameters that leave several tiles, and laps of the ring, at small sizes."""

PORTABLE = ("step1_naive.py", "step2_ring.py", "step3_order.py")
CASES = [(step, "sm_90a") for step in STEPS] + [(step, "sm_80") for step in PORTABLE]


def sizes(step: str, seed: int) -> tuple[int, int, int]:
    """No multiple of any tile; rows as short as each step's copies can honour.

    Plain loads take rows of any length, `cp.async` multiples of 4 bytes, TMA of 16.
    """
    if step in PORTABLE:
        k = 77 if step == "step1_naive.py" else 78
        return ((141, 75, k), (150, 90, 104))[seed]
    return 300, 136 if step == "step6_cluster.py" else 75, 200


def test_all_steps_are_there() -> None:
    assert [name[:5] for name in STEPS] == [f"step{i}" for i in range(1, 7)]


@pytest.mark.parametrize(("step", "target"), CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_computes_a_matrix_product(step: str, target: str, seed: int) -> None:
    m, n, k = sizes(step, seed)
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((m, k), dtype=np.float32)
    b = rng.standard_normal((n, k), dtype=np.float32)
    kernel = subject(f"docs/tutorial/{step}", "gemm", target, **SMALL.get(step, {}))
    found = kernel.interpret({"A": a, "B": b}, {"C": (m, n)}, seed=seed)["C"]
    close(found, rounded(a) @ rounded(b).T)


@pytest.mark.compiler
@pytest.mark.parametrize(("step", "target"), CASES)
def test_builds_without_spills(step: str, target: str) -> None:
    usage = subject(f"docs/tutorial/{step}", "gemm", target).build().usage
    assert usage.spill_stores == usage.spill_loads == 0
    assert usage.registers > 0


def run_all() -> ModuleType:
    """docs/tutorial/run_all.py as a module."""
    path = ROOT / "docs/tutorial/run_all.py"
    spec = importlib.util.spec_from_file_location("run_all", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.compiler
def test_without_a_gpu_says_what_it_cannot_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from argus.diagnostics import fail

    def no_device(what: str) -> None:
        raise fail("AG0903", None, f"{what} needs a GPU")

    script = run_all()
    monkeypatch.setattr(script, "require_device", no_device)
    assert script.main([]) == 2
    out = capsys.readouterr().out
    assert all(step.removesuffix(".py") in out for step in STEPS)
    assert "Nothing was run or timed" in out


def test_run_all_refuses_odd_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all().main(["1", "x", "2"]) == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.gpu
def test_every_step_on_the_device(capsys: pytest.CaptureFixture[str]) -> None:
    """Checked against fp64 before it is timed; wrong steps raise SystemExit."""
    assert run_all().main(["1000", "520", "264"]) == 0
    assert "cuBLAS" in capsys.readouterr().out
