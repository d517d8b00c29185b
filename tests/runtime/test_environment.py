"""What `argus doctor` is told, and what importing costs."""

import os
import subprocess
import sys

import pytest

from argus.diagnostics import fail
from argus.runtime import environment


def by_name() -> dict[str, environment.EnvironmentFact]:
    return {fact.name: fact for fact in environment.facts()}


def test_all_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("ARGUS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    found = by_name()
    everywhere = {"python", "numpy", "nvrtc", "driver", "torch", "nvcc", "cache"}
    assert everywhere | {"pydantic-ai", "mcp", "ray", "runs"} <= set(found)
    assert found["nvrtc"].state == "ok"
    assert found["cache"].state == "ok"
    for fact in found.values():
        assert fact.state == "ok" or fact.consequence


def test_no_driver_is_a_warning_that_says_what_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none() -> None:
        raise fail("AG0911", None, "the CUDA driver library cannot be loaded")

    monkeypatch.setattr(environment, "cuda_driver", none)
    fact = by_name()["driver"]
    assert fact.state == "warn"
    assert "AG0911" in fact.found
    assert "building need no GPU" in (fact.consequence or "")


def test_what_an_extra_would_bring_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for name, extra in (("pydantic-ai", "agent"), ("mcp", "mcp"), ("ray", "ray")):
        fact = by_name()[name]
        assert (fact.state, fact.found) == ("ok", "not installed")
        assert f"argus-gpu[{extra}]" in (fact.consequence or "")


def test_no_compiler_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise fail("AG0705", None, "NVRTC cannot be loaded")

    monkeypatch.setattr(environment.nvrtc, "loaded_version", none)
    assert by_name()["nvrtc"].state == "fail"


def test_a_wrong_setting_and_an_unusable_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("ARGUS_CACHE_LIMIT_MB", "x")
    assert by_name()["cache"].state == "fail"
    monkeypatch.setenv("ARGUS_CACHE_LIMIT_MB", "0")
    assert by_name()["cache"].state == "warn"
    assert "turned off" in by_name()["cache"].found
    monkeypatch.delenv("ARGUS_CACHE_LIMIT_MB")
    file = tmp_path_factory.mktemp("folder") / "file"
    file.write_text("in the way")
    monkeypatch.setenv("ARGUS_CACHE_DIR", str(file / "cache"))
    assert by_name()["cache"].state == "warn"


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return done.stdout


def test_importing_pulls_in_nothing_heavy() -> None:
    """How long it takes is a matter of `test_startup`."""
    heavy = "torch", "cuda.bindings.nvrtc", "cuda.bindings.driver", "z3"
    script = f"import argus, sys; print([m for m in {heavy} if m in sys.modules])"
    assert run(script) == "[]\n"


def test_the_runtime_imports_neither_torch_nor_the_compiler() -> None:
    script = (
        "import argus.runtime.launch, argus.runtime.cache, argus.runtime.environment\n"
        "import argus.runtime.torch_op, sys\n"
        "print([m for m in ('torch', 'cuda.bindings.nvrtc') if m in sys.modules])"
    )
    assert run(script) == "[]\n"
