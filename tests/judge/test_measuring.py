"""What runs on a GPU, as far as it needs none: on the CPU's torch tensors.

The launch is the interpreter's there, or a mistake written in torch.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from argus.evaluation.arrays import NumpyArrays, TorchArrays
from argus.evaluation.judge.candidate import request_of
from argus.evaluation.judge.checking import CandidateCheck, Clock
from argus.evaluation.judge.inputs import DISTRIBUTIONS, Distribution, allocated, fill
from argus.evaluation.judge.launching import GUARD, DeviceCandidate, correct, guarded
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.measuring import (
    Rounds,
    _believed,
    own_trials,
)
from argus.evaluation.judge.planning import planned
from argus.evaluation.judge.plans import in_turns
from argus.evaluation.judge.speed import speed_limit
from argus.evaluation.judge.subject import Subject, subject_of
from argus.evaluation.judge.tolerance import (
    derived,
    representable,
    rounding,
    sensitivity,
)
from argus.evaluation.oracle import expected
from argus.evaluation.timing import median_interval
from argus.interpret import run
from argus.ir.dtypes import DTYPES
from argus.ir.program import Program
from argus.requests import placed_program
from argus.runs.records import Candidate, JudgeVerdict, LibraryProblem
from judge.problems import AFFINE, GEMM, TASK

KERNELS = Path(__file__).parents[2] / "src/argus/kernels"
GEMM_SOURCE = (KERNELS / "gemm/kernel.py").read_text()
CLOCK = Clock(lambda stage, within="": None)


def placed(
    launch: Callable[[dict[str, Any]], object], seed: int = 1
) -> tuple[DeviceCandidate, dict[str, Any]]:
    subject = subject_of(AFFINE)
    library = TorchArrays(seed, "cpu")
    arrays, guards = guarded(subject.arguments(), library)
    return (
        DeviceCandidate(
            subject,
            subject.case,
            library,
            arrays,
            guards,
            lambda: launch(arrays),
            lambda: launch(arrays),
            seed,
        ),
        arrays,
    )


def right(arrays: dict[str, Any]) -> None:
    """The candidate itself, interpreted on the same memory."""
    subject = subject_of(AFFINE)
    candidate = Candidate(source=TASK, kernel="affine")
    program = placed_program(request_of(candidate, subject))
    run(program, {k: v.numpy() for k, v in arrays.items()}, dict(subject.scalars))


def affine(arrays: dict[str, Any]) -> Any:
    return 0.75 * arrays["X"] + arrays["W"]


def test_a_right_kernel() -> None:
    made, _ = placed(right)
    bad, error = correct(made, CLOCK, in_turns({}, DISTRIBUTIONS))
    assert bad is None
    assert 0 < error < 1e-6


def _writes(change: Callable[[dict[str, Any]], None]) -> Callable[[Any], None]:
    def launch(arrays: dict[str, Any]) -> None:
        arrays["Y"][...] = affine(arrays)
        change(arrays)

    return launch


def _beyond(arrays: dict[str, Any]) -> None:
    whole = arrays["Y"]._base if arrays["Y"]._base is not None else arrays["Y"]
    raw = whole.untyped_storage()
    raw[GUARD + arrays["Y"].numel() * 4] = 0


def _assign(name: str, value: Callable[[dict[str, Any]], Any]) -> Callable[[Any], None]:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name][...] = value(arrays)

    return change


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (_assign("Y", lambda a: 0.0 * a["X"]), "AG0815", "every element is 0"),
        (_assign("Y", lambda a: 0.0 * a["X"] + 3), "AG0815", "every element is 3"),
        (_assign("Y", lambda a: a["X"]), "AG0815", "it is a copy of X"),
        (_assign("Y", lambda a: float("nan") * a["X"]), "AG0815", "not written"),
        (_assign("X", lambda a: 0.0 * a["X"]), "AG1015", "X was overwritten"),
        (_assign("W", lambda a: a["W"] * 1.0001), "AG1015", "W was overwritten"),
        (
            lambda a: a["Y"][:1, :1].fill_(float("nan")),
            "AG0815",
            "1 of 6080 elements of Y are not written",
        ),
        (lambda a: a["Y"][39:, 151:].add_(9.0), "AG0815", "1 of 6080 elements"),
        (_assign("Y", lambda a: a["X"] + a["W"]), "AG0815", "are wrong"),
        (
            _assign("Y", lambda a: affine(a).bfloat16().float()),
            "AG0815",
            "of 6080 elements",
        ),
        (_beyond, "AG1020", "outside"),
    ],
)
def test_a_wrong_kernel(
    change: Callable[[dict[str, Any]], None], code: str, words: str
) -> None:
    made, _ = placed(_writes(change))
    bad, _ = correct(made, CLOCK, in_turns({}, ("normal",)))
    assert bad is not None
    assert bad.status == "wrong"
    assert bad.findings[0].code == code
    text = " ".join(f.message + f.text for f in bad.findings)
    assert words in text


def test_a_kernel_that_works_only_once_is_seen() -> None:
    calls = 0

    def launch(arrays: dict[str, Any]) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            arrays["Y"][...] = affine(arrays)

    made, _ = placed(launch)
    bad, _ = correct(made, CLOCK, in_turns({}, ("normal", "shifted")))
    assert bad is not None and "elements of Y are wrong" in bad.summary


def test_a_kernel_that_keeps_finite_outputs_is_seen() -> None:
    def launch(arrays: dict[str, Any]) -> None:
        old = arrays["Y"]
        empty = old != old
        old[empty] = affine(arrays)[empty]

    tried: list[tuple[Distribution, ...]] = [("normal",), ("normal", "steps")]
    for distributions in (*tried, DISTRIBUTIONS):
        made, _ = placed(launch)
        bad, _ = correct(made, CLOCK, in_turns({}, distributions))
        assert bad is not None and bad.findings[0].code == "AG0815"


def test_poison_is_other_numbers_each_time() -> None:
    seen: list[Any] = []

    def launch(arrays: dict[str, Any]) -> None:
        seen.append(arrays["Y"].clone())
        arrays["Y"][...] = affine(arrays)

    made, _ = placed(launch)
    assert correct(made, CLOCK, in_turns({}, DISTRIBUTIONS))[0] is None
    finite = [y for y in seen if bool(y.isfinite().all())]
    assert len(finite) == len(seen) // 2
    assert not bool((finite[0] == finite[1]).all())
    # Of many sizes: a threshold finds some that are near, and some that are far.
    sizes = finite[0].abs().log10()
    assert float(sizes.min()) < -4 and float(sizes.max()) > 0


@pytest.mark.parametrize("lazy", [False, True])
def test_rounds_that_are_timed_are_compared(lazy: bool) -> None:
    """A kernel that does nothing where its outputs hold numbers already."""

    def launch(arrays: dict[str, Any]) -> None:
        if not lazy:
            arrays["Y"][...] = affine(arrays)

    made, _ = placed(launch)
    rounds = Rounds(made)
    for number in range(12):
        rounds.refresh()
        made.launch()
        if number >= 2:  # two rounds are not timed
            rounds.inspect()
    assert rounds.compared >= 1
    if lazy:
        assert rounds.bad is not None and rounds.bad.status == "wrong"
        assert "in a round that was timed" in rounds.bad.findings[0].text
    else:
        assert rounds.bad is None


def test_guards_lie_around_tensors() -> None:
    library = TorchArrays(0, "cpu")
    arrays, guards = guarded(subject_of(GEMM).arguments(), library)
    assert [tuple(a.shape) for a in arrays.values()] == [
        (100, 72),
        (136, 72),
        (100, 136),
    ]
    assert all(len(g) == GUARD for g in guards)
    for array in arrays.values():
        array.zero_()
        assert array.data_ptr() % 16 == 0
    assert all(bool((g == 0x5A).all()) for g in guards)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_inputs_are_fresh_and_of_their_kind(kind: str, distribution: Any) -> None:
    subject = subject_of(GEMM)
    library = NumpyArrays(3) if kind == "numpy" else TorchArrays(3, "cpu")
    arrays = allocated(subject.arguments(), library)
    before = arrays["A"]
    first = fill(subject, subject.case, library, arrays, distribution)
    second = fill(subject, subject.case, library, arrays, distribution)
    assert arrays["A"] is before
    bf16 = DTYPES["bf16"]
    a = library.exact(first.kept["A"], bf16)
    assert bool((library.exact(arrays["C"], bf16) != 0).all())
    assert bool((a == a).all())
    if distribution in ("normal", "scaled", "shifted", "sparse"):
        assert not library.same(first.kept["A"], second.kept["A"])
    if distribution == "sparse":
        assert bool(((a != 0).sum(-1) <= 1).all())
        assert float(abs(a).max()) > 0
    if distribution == "scaled":
        assert float(abs(a[:, ::2]).max()) > 30 > 1 > float(abs(a[:, 1::2]).max())
    if distribution == "steps":
        assert bool((a[:, 1:] != a[:, :-1]).any())


def _derived(subject: Subject, distribution: Any = "normal") -> dict[str, float]:
    library = NumpyArrays(5)
    arrays = allocated(subject.arguments(), library)
    inputs = fill(subject, subject.case, library, arrays, distribution)
    reference = expected(subject.entry, subject.case, inputs)
    assert representable(inputs, reference)
    passed = sensitivity(subject, subject.case, inputs, reference)
    return derived(subject, inputs, reference, passed)


def test_tolerances_follow_the_types() -> None:
    (of_bf16,) = _derived(subject_of(GEMM)).values()
    assert DTYPES["bf16"].roundoff / 2 < of_bf16 < 2 * DTYPES["bf16"].roundoff
    (of_f32,) = _derived(subject_of(AFFINE)).values()
    assert DTYPES["f32"].roundoff / 2 < of_f32 < 1e-4
    softmax = subject_of(LibraryProblem(entry="softmax", sizes={"M": 5, "N": 256}))
    for distribution in DISTRIBUTIONS:
        (found,) = _derived(softmax, distribution).values()
        assert 0 < found <= softmax.entry.tolerance


def test_the_rounding_of_a_type() -> None:
    library = NumpyArrays(0)
    values = library.exact(library.normal(DTYPES["f32"], (1000,)), DTYPES["f32"])
    off = rounding(library, values, DTYPES["bf16"])
    assert off == pytest.approx(DTYPES["bf16"].roundoff / math.sqrt(3), rel=0.35)
    assert not math.isfinite(rounding(library, values * 1e6, DTYPES["f16"]))


def test_the_interval_of_a_median() -> None:
    assert median_interval([3.0]) == (3.0, 3.0)
    assert median_interval([5.0, 1.0, 3.0]) == (1.0, 5.0)
    samples = [float(i) for i in range(1, 51)]
    low, high = median_interval(samples)
    assert (low, high) == (18.0, 33.0)  # the 18th and the 33rd of 50
    with pytest.raises(ValueError, match="no sample"):
        median_interval([])


def test_the_speed_of_light() -> None:
    large = {"M": 8192, "N": 8192, "K": 8192}
    gemm = subject_of(LibraryProblem(entry="gemm", sizes=large))
    assert speed_limit(gemm, "NVIDIA H200") == pytest.approx(2 * 8192**3 / 989.4e6)
    assert speed_limit(gemm, "a card that is not known") is None
    # What fits the cache need not reach the memory.
    rows = subject_of(LibraryProblem(entry="softmax", sizes={"M": 4096, "N": 4096}))
    assert speed_limit(rows, "H200") == pytest.approx(2 * 4096 * 4096 / 4.8e6)


class _Card:
    name = "NVIDIA H200"


class _Driver:
    def info(self, index: int) -> _Card:
        return _Card()


@pytest.mark.parametrize(("factor", "status"), [(0.9, "quarantined"), (1.1, "correct")])
def test_too_fast_is_not_believed(
    factor: float, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from argus.evaluation.judge import measuring

    monkeypatch.setattr(measuring, "cuda_driver", _Driver)
    large = {"M": 8192, "N": 8192, "K": 8192}
    subject = subject_of(LibraryProblem(entry="gemm", sizes=large))
    time = factor * (speed_limit(subject, "H200") or 0)
    samples = {"candidate": [time] * 20, "cuBLAS": [1600.0] * 20}
    verdict = _believed(subject, samples, 1e-3)
    assert verdict.status == status
    assert verdict.measured is not None
    assert verdict.measured.baselines == {"cuBLAS": 1600.0}
    assert verdict.limit_microseconds is not None
    assert (verdict.microseconds is None) == (status == "quarantined")


def test_a_dear_reference_is_not_asked_for_everything() -> None:
    every = own_trials(subject_of(AFFINE), 1)
    assert tuple(t.distribution for t in every) == DISTRIBUTIONS
    sizes = {"B": 1, "H": 32, "G": 32, "S": 16384, "T": 16384, "D": 128}
    dear = subject_of(LibraryProblem(entry="attention", sizes=sizes))
    picked = [t.distribution for t in own_trials(dear, 1)]
    assert picked[0] == "normal" and len(set(picked)) == 3
    others = [[t.distribution for t in own_trials(dear, s)] for s in range(20)]
    assert any(other != picked for other in others)


class _Interpreted:
    """In the place of a loaded kernel: its launch is the interpreter."""

    program: Program

    def __init__(self, spec: object, image: bytes) -> None:
        assert image.startswith(b"\x7fELF")

    def prepare(self, **named: Any) -> Callable[[], None]:
        names = [p.name for p in self.program.params]
        assert set(named) == set(names)
        arrays = {k: _numpy(v) for k, v in named.items() if hasattr(v, "shape")}
        scalars = {k: v for k, v in named.items() if k not in arrays}

        def launch() -> None:
            result = run(self.program, arrays, scalars, collect=True)
            assert not result.errors

        return launch


def _numpy(tensor: Any) -> Any:
    """The same memory; bf16 as bit patterns, as the interpreter takes it."""
    import torch

    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.uint16).numpy()
    return tensor.numpy()


@pytest.mark.compiler
@pytest.mark.parametrize("which", ["affine", "gemm"])
def test_the_whole_of_it_without_a_gpu(
    which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from argus.evaluation.judge import launching, measuring

    problem = AFFINE if which == "affine" else GEMM
    source = TASK if which == "affine" else GEMM_SOURCE
    kernel = "affine" if which == "affine" else "gemm_sm80"
    statics: Any = {} if which == "affine" else {"BM": 64, "BN": 64, "BK": 32}
    candidate = Candidate(source=source, kernel=kernel, statics=statics)
    program = placed_program(request_of(candidate, subject_of(problem)))
    rounds: list[str] = []

    def sampled(calls: Any, *, seconds: float, rounds: int, fewest: int, **hooks: Any):
        assert next(iter(calls)) == "candidate"
        for _ in range(8):
            hooks["refresh"]()
            for call in calls.values():
                call()
            hooks["inspect"]()
        return {name: [4e3, 5e3, 6e3] for name in calls}

    monkeypatch.setattr(_Interpreted, "program", program, raising=False)
    monkeypatch.setattr(measuring, "LoadedKernel", _Interpreted)
    monkeypatch.setattr(measuring, "torch_module", lambda: torch)
    monkeypatch.setattr(measuring, "device_uuid", lambda: f"test-{os.getpid()}")
    monkeypatch.setattr(launching, "launch_and_wait", lambda prepared: prepared())
    monkeypatch.setattr(measuring, "cuda_driver", _Driver)
    monkeypatch.setattr(measuring, "sample_interleaved", sampled)
    monkeypatch.setattr(measuring, "TorchArrays", lambda seed: TorchArrays(seed, "cpu"))
    job = Job(kind="evaluate", problem=problem, candidate=candidate)
    subject = subject_of(problem)
    passed = JudgeVerdict(status="correct", stage="build")
    checked = CandidateCheck(passed, subject, request_of(candidate, subject), program)
    _, plan = planned(job, checked, CLOCK)
    assert plan is not None and plan.trials and plan.drives
    few = {"trials": plan.trials[:2], "drives": plan.drives[:2]}
    plan = plan.model_copy(update=few)
    clock = Clock(lambda stage, within="": rounds.append(f"{stage}/{within}"))
    verdict = measuring.measure(job.model_copy(update={"plan": plan}), clock)
    assert (verdict.status, verdict.stage) == ("correct", "done"), verdict.summary
    assert verdict.measured is not None
    assert verdict.measured.microseconds == 5e3
    assert verdict.measured.baselines == ({} if which == "affine" else {"cuBLAS": 5e3})
    assert rounds[0] == "run/run"
    assert rounds[1] == "run/wait"
    assert rounds[-5:] == [
        *("time/wait", "time/run", "compare/wait"),
        *("run/launch", "compare/run"),
    ]
    launches = len(DISTRIBUTIONS) + 1 + len(plan.trials) + 2 * len(plan.drives)
    assert rounds.count("run/launch") == launches
    assert f"and {len(plan.drives)} runs that drive" in verdict.summary
    assert {"run", "compare", "time"} <= set(verdict.seconds)
