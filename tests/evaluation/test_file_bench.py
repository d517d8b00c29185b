"""Timing a user's kernel beside the baselines of its file: all but the clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from argus.agent.tasks import file_task
from argus.cli.app import app
from argus.diagnostics import ArgusError
from argus.evaluation.file_bench import TimedFile, baseline_names, timed_file
from argus.evaluation.timing import Timing
from argus.runs.records import FileProblem
from command_line import Commands

torch = pytest.importorskip("torch")

KERNEL = '''
import argus as ag
from argus import bf16, f32


@ag.kernel
def scaled(X: bf16["M N"], Y: bf16["M N"], *, FACTOR: int = 3, BN: int = 64):
    """Y = FACTOR * X."""
    m, n = ag.block(X.shape[0], ag.cdiv(X.shape[1], BN))
    Y[m, n * BN :] = (ag.load(X[m, n * BN :], (BN,)) * FACTOR).to(bf16)


@ag.reference
def scaled_reference(X):
    return X * 3


@ag.baseline
def scaled_baseline(X):
    return X * 3
'''

MORE = """

@ag.baseline
def scaled_baseline_in_parts(X, M):
    import torch

    assert isinstance(X, torch.Tensor) and X.shape[0] == M
    return X + X + X
"""


def timed(text: str) -> TimedFile:
    problem = file_task("k.py", {"M": 5, "N": 200}, text=text, settle=False).problem
    assert isinstance(problem, FileProblem)
    return timed_file(problem)


def arrays(factor: float = 3.0) -> dict[str, Any]:
    x = torch.randn(5, 200).bfloat16()
    return {"X": x, "Y": (x * factor).bfloat16()}


def test_baselines_are_called_with_what_they_name() -> None:
    one = timed(KERNEL + MORE)
    assert one.baselines == ("scaled_baseline", "scaled_baseline_in_parts")
    given = arrays()
    for call in one.entry.baselines(given, one.case).values():
        assert torch.allclose(call().float(), given["Y"].float(), rtol=0.02)
    assert one.entry.work(one.case).bytes == 2 * 2 * 5 * 200


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return X * 2", "computes something else"),
        ("return X[:3] * 3", "is (3, 200), not (5, 200)"),
        ("return X * 3, X", "returns 2 results"),
        ("return X * missing", "failed: NameError: name 'missing' is not defined"),
        ("return None", "has none"),
        ("return X * float('nan')", "computes something else"),
    ],
)
def test_a_baseline_that_is_none(body: str, words: str) -> None:
    one = timed(KERNEL.replace("def scaled_baseline(X):\n    return X * 3",
                               f"def scaled_baseline(X):\n    {body}"))  # fmt: skip
    with pytest.raises(ArgusError, match="AG1050") as error:
        one.entry.baselines(arrays(), one.case)
    assert words in error.value.diagnostics[0].message


def test_baselines_of_several_kernels_go_by_name() -> None:
    other = KERNEL.replace("scaled", "other").partition("@ag.kernel")[2]
    text = KERNEL + "\n\n@ag.kernel" + other
    assert baseline_names(text, "scaled") == ("scaled_baseline",)
    assert baseline_names(text, "other") == ("other_baseline",)
    alone = KERNEL.replace("def scaled_baseline", "def by_torch")
    assert baseline_names(alone, "scaled") == ("by_torch",)


def test_a_kernel_without_a_reference_is_not_timed() -> None:
    text = KERNEL.replace("@ag.reference\ndef scaled_reference", "@ag.baseline\ndef s")
    with pytest.raises(ArgusError, match="AG1018"):
        timed(text)


def invoke(*words: str) -> Any:
    return Commands().invoke(app, ["bench", *words])


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "k.py"
    path.write_text(KERNEL + MORE)
    return str(path)


def test_without_a_gpu_it_says_so(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from argus.diagnostics import fail
    from argus.evaluation import device

    def none(what: str) -> None:
        raise fail("AG0903", None, f"{what} needs a GPU")

    monkeypatch.setattr(device, "require_device", none)
    done = invoke(file, "--json")
    assert done.exit_code == 2
    (said,) = json.loads(done.output)["diagnostics"]
    assert said["code"] == "AG0903"
    # What is wrong with the file or the options is told first.
    done = invoke(file, "--size", "Q=3", "--json")
    assert json.loads(done.output)["diagnostics"][0]["code"] == "AG0908"


@pytest.mark.parametrize("right", [True, False])
def test_what_is_shown(right: bool, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device of the interpreter, whose clock gives what is asked of it."""
    from argus.evaluation import bench, device
    from argus.evaluation.arrays import TorchArrays
    from argus.evaluation.oracle import make_inputs
    from argus.interpret import run
    from argus.requests import placed_program
    from argus.runtime import driver

    monkeypatch.setattr(
        device, "require_device", lambda what: SimpleNamespace(name="X")
    )
    monkeypatch.setattr(
        driver, "target_of", lambda info: SimpleNamespace(name="sm_90a")
    )

    def prepare(entry: Any, case: Any, *, seed: int, statics: Any) -> Any:
        from argus.evaluation.file_bench import own_request, subject_of

        inputs = make_inputs(entry, case, TorchArrays(seed, "cpu"))
        problem = file_task(file, dict(case.sizes), settle=False).problem
        program = placed_program(own_request(subject_of(problem)))

        def prepared() -> None:
            bits = {n: a.view(torch.int16) for n, a in inputs.arrays.items()}
            run(
                program,
                {n: a.numpy().view("uint16") for n, a in bits.items()},
                sm_count=2,
            )
            if not right:
                inputs.arrays["Y"][...] = 0

        choice = entry.choose(case, "sm_90a")
        return SimpleNamespace(choice=choice, inputs=inputs, prepared=prepared)

    def time(
        calls: Mapping[str, Callable[[], object]], *, rounds: int
    ) -> dict[str, Timing]:
        for call in calls.values():
            call()
        return {
            n: Timing(n, 10.0 * (i + 1), 9.0, 2.0, rounds) for i, n in enumerate(calls)
        }

    monkeypatch.setattr(bench, "prepare", prepare)
    monkeypatch.setattr(bench, "time_interleaved", time)
    monkeypatch.setattr(bench, "launch_and_wait", lambda prepared: prepared())
    done = invoke(file, "--size", "M=4", "--size", "N=96", "--repeat", "7")
    if not right:
        assert done.exit_code == 1
        assert "the result is wrong" in done.output
        return
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert "scaled M=4 N=96: equal" in text
    assert "10.0 µs ± 1.0" in text
    assert "scaled_baseline_in_parts" in text and "argus is 3.000 of it" in text
    assert "predicted on an H200, limited by" in text
