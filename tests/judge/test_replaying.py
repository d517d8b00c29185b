"""Plans on a device: the same sizes, numbers and poisons as on tiles. No GPU.

In the place of the device is this machine: torch on the CPU, and instead of a launch a
formula, or the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from argus.diagnostics import fail
from argus.evaluation.arrays import TorchArrays
from argus.evaluation.judge import launching
from argus.evaluation.judge.candidate import request_of
from argus.evaluation.judge.checking import CandidateCheck, Clock
from argus.evaluation.judge.drawing import MODES, drawn
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.planning import planned
from argus.evaluation.judge.plans import Drive, Plan, chosen, trials
from argus.evaluation.judge.replaying import Replay, laid_out
from argus.evaluation.judge.small import Small
from argus.evaluation.judge.subject import own_request, subject_of
from argus.evaluation.tiles import IndexTable
from argus.kernels.library import Case
from argus.requests import placed_program, tile_program
from argus.runs.records import Candidate, FileProblem, JudgeVerdict, Problem
from judge.cheats import CHEATS, PROBLEMS
from judge.problems import AFFINE, GEMM, TASK

torch = pytest.importorskip("torch")
CLOCK = Clock(lambda stage, within="": None)
Arrays = dict[str, Any]

BRANCHES = TASK.replace(
    "    Y[i * BM :, j * BN :] = ACT(x * alpha) + w\n",
    "    y = ACT(x * alpha) + w\n"
    "    if alpha > 100.0:\n        y = y + 0.0\n"
    "    if M > 300:\n        y = y + 0.0\n"
    "    y = ag.where(x > 1000.0, y + 0.0, y)\n"
    "    Y[i * BM :, j * BN :] = y\n",
    1,
)
"""Conditions that neither the problem's sizes, scalar nor usual numbers show."""


class Device:
    """In the place of a loaded kernel: a formula on the arrays it was prepared with."""

    def __init__(self, launch: Callable[[Arrays], None]) -> None:
        self.launch = launch
        self.seen: list[Arrays] = []

    def prepare(self, *values: Any, **named: Any) -> Callable[[], object]:
        def launch() -> None:
            self.seen.append(
                {k: v.clone() if hasattr(v, "clone") else v for k, v in named.items()}
            )
            self.launch(named)

        return launch


def affine(given: Arrays) -> None:
    given["Y"][...] = given["alpha"] * given["X"] + given["W"]


def plan_of(problem: Problem, candidate: Candidate) -> tuple[JudgeVerdict, Plan | None]:
    subject = subject_of(problem)
    request = request_of(candidate, subject)
    passed = JudgeVerdict(status="correct", stage="build", summary="proved")
    checked = CandidateCheck(passed, subject, request, placed_program(request))
    job = Job(kind="evaluate", problem=problem, candidate=candidate)
    return planned(job, checked, CLOCK)


@cache
def branches() -> tuple[Candidate, JudgeVerdict, Plan | None]:
    candidate = Candidate(source=BRANCHES, kernel="affine")
    return candidate, *plan_of(AFFINE, candidate)


def replayed(
    problem: Problem,
    candidate: Candidate,
    plan: Plan,
    device: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[JudgeVerdict | None, str]:
    monkeypatch.setattr(launching, "launch_and_wait", lambda prepared: prepared())
    subject = subject_of(problem)
    request = request_of(candidate, subject)
    programs = tile_program(request), tile_program(own_request(subject))
    library = TorchArrays(1, "cpu")
    return Replay(subject, programs, device, library, CLOCK, 1).run(plan)


@pytest.mark.parametrize("problem", [AFFINE, GEMM, PROBLEMS["gather"]])
def test_a_device_gets_the_numbers_that_tiles_read(problem: Problem) -> None:
    subject = subject_of(problem)
    sizes = {n: min(v, 300) for n, v in subject.case.sizes.items()}
    case = Case("", sizes, subject.case.options)
    library = TorchArrays(0, "cpu")
    arrays, _ = launching.guarded(subject.entry.arguments(case), library)
    for mode in MODES:
        for name, tensor in drawn(
            subject.entry, case, mode, 7, (0.5, 3.0), frozenset()
        ).items():
            laid_out(tensor, arrays[name], library)
            got = arrays[name].float().numpy().reshape(-1)
            count = got.size
            right = tensor.read(np.arange(count, dtype=np.int64))
            assert np.array_equal(got, right.astype(np.float32), equal_nan=True)
            if isinstance(tensor, IndexTable):
                assert len(set(got.tolist())) > 10


def test_inputs_do_not_depend_on_the_poison() -> None:
    subject = subject_of(PROBLEMS["elements"])
    whole = [
        drawn(subject.entry, subject.case, m, 3, (), frozenset())
        for m in (MODES[0],) * 2
    ]
    at = np.arange(1000, dtype=np.int64)
    assert np.array_equal(whole[0]["X"].read(at), whole[1]["X"].read(at))
    from dataclasses import replace

    other = replace(MODES[0], poison=not MODES[0].poison)
    made = drawn(subject.entry, subject.case, other, 3, (), frozenset())
    for name in ("X", "W"):
        assert np.array_equal(whole[0][name].read(at), made[name].read(at))
    assert not np.array_equal(whole[0]["Y"].read(at), made["Y"].read(at))


def test_each_small_case_has_both_poisons() -> None:
    cases = [Small(Case(str(n), {"M": n}, {}), "") for n in (8, 9)]
    for some in (cases, cases[:1]):
        made = trials(some, 2)
        for small in some:
            own = [t for t in made if t.sizes == small.case.sizes]
            assert {t.finite for t in own} == {False, True}
            assert [t.number for t in own] == list(range(len(own)))
        assert len(made) >= 3
        assert len({t.distribution for t in made}) == len(made)


def test_what_shows_something_is_launched_first() -> None:
    def drive(seed: int, shown: int) -> Drive:
        return Drive(
            sizes={}, scalars={}, mode="normal", seed=seed, blocks=(0,),
            multiprocessors=1, shown=shown,
        )  # fmt: skip

    drives = [drive(i, 0) for i in range(9)] + [drive(20, 1), drive(21, 5)]
    assert [d.seed for d in chosen(drives)] == [21, 20, 0, 1, 2, 3]


def test_a_plan_drives_what_the_problem_does_not_show() -> None:
    _, verdict, plan = branches()
    assert verdict.status == "correct", (verdict.summary, verdict.findings)
    assert "agrees with the problem's own kernel" in verdict.summary
    assert plan is not None
    assert any(d.scalars["alpha"] > 100 for d in plan.drives)
    assert any(d.sizes["M"] > 300 for d in plan.drives)
    large = ("huge", "constants", "sums", "large", "mixed, large")
    assert any(d.mode in large for d in plan.drives)
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


def test_a_cheat_is_seen_before_it_is_launched() -> None:
    cheat = next(c for c in CHEATS if c.why == "one scalar")
    verdict, plan = plan_of(cheat.problem, cheat.candidate)
    assert (verdict.status, plan) == ("wrong", None)


def _where(condition: Callable[[Arrays], Any]) -> Callable[[Arrays], None]:
    def launch(given: Arrays) -> None:
        affine(given)
        bad = torch.as_tensor(condition(given))
        given["Y"][...] = torch.where(bad, given["Y"] * 0.5, given["Y"])

    return launch


@pytest.mark.parametrize(
    "wrong",
    [
        _where(lambda a: a["alpha"] > 100.0),
        _where(lambda a: a["X"].shape[0] > 300),
        _where(lambda a: a["X"] > 1000.0),
    ],
    ids=["scalar", "size", "number"],
)
def test_what_is_wrong_on_the_device_alone_is_seen(
    wrong: Callable[[Arrays], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A right kernel: the device computes something else where it is driven."""
    candidate, _, plan = branches()
    assert plan is not None
    bad, _ = replayed(AFFINE, candidate, plan, Device(wrong), monkeypatch)
    assert bad is not None and bad.status == "wrong"
    assert "on the device" in bad.findings[0].text


def test_a_right_device_is_told_how_often(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate, _, plan = branches()
    assert plan is not None
    bad, words = replayed(AFFINE, candidate, plan, Device(affine), monkeypatch)
    assert bad is None
    assert f"{len(plan.trials)} small trials and {len(plan.drives)} runs" in words


def test_every_drive_has_both_poisons(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = Candidate(source=TASK, kernel="affine")
    _, plan = plan_of(AFFINE, candidate)
    assert plan is not None
    alone = plan.model_copy(update={"trials": ()})
    device = Device(affine)
    assert replayed(AFFINE, candidate, alone, device, monkeypatch)[0] is None
    assert len(device.seen) == 2 * len(plan.drives) > 4
    for first, second in zip(device.seen[::2], device.seen[1::2], strict=True):
        assert torch.equal(first["X"], second["X"])
        empty = [bool(y["Y"].isnan().all()) for y in (first, second)]
        assert sorted(empty) == [False, True]

    def keeps(given: Arrays) -> None:
        old = given["Y"].clone()
        affine(given)
        given["Y"][...] = torch.where(old.isnan(), given["Y"], old)

    bad, _ = replayed(AFFINE, candidate, alone, Device(keeps), monkeypatch)
    assert bad is not None and bad.status == "wrong"


def test_writing_outside_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = Candidate(source=TASK, kernel="affine")
    _, plan = plan_of(AFFINE, candidate)
    assert plan is not None

    def beyond(given: Arrays) -> None:
        affine(given)
        given["Y"].untyped_storage()[launching.GUARD - 1] = 0

    for part in ({"trials": ()}, {"drives": ()}):
        some = plan.model_copy(update=part)
        bad, _ = replayed(AFFINE, candidate, some, Device(beyond), monkeypatch)
        assert bad is not None and bad.findings[0].code == "AG1020"


def test_what_is_not_launched_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = Candidate(source=TASK, kernel="affine")
    _, plan = plan_of(AFFINE, candidate)
    assert plan is not None

    class Refuses(Device):
        def prepare(self, *values: Any, **named: Any) -> Callable[[], object]:
            if named["X"].shape != (40, 152):
                raise fail("AG0808", None, "other sizes")
            return super().prepare(*values, **named)

    large = plan.drives[0].model_copy(update={"sizes": {"M": 1 << 20, "N": 1 << 20}})
    some = plan.model_copy(update={"drives": (*plan.drives, large)})
    bad, words = replayed(AFFINE, candidate, some, Refuses(affine), monkeypatch)
    assert bad is None
    other = sum(d.sizes != {"M": 40, "N": 152} for d in plan.drives)
    assert "1 too large" in words
    assert (f"{other} refused" in words) == (other > 0)


def test_a_problem_that_tiles_cannot_run_excuses_its_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its own kernel is then the reason, and the problem is run whole on a GPU."""
    from argus.evaluation.judge import planning
    from argus.evaluation.judge.driving import Driven

    tried: list[str] = []

    def nothing(*given: Any, equal: bool = False) -> Driven:
        tried.append(given[1].kernel.name)
        return Driven(why="blocks add up")

    monkeypatch.setattr(planning, "driven", nothing)
    verdict, plan = plan_of(AFFINE, Candidate(source=TASK, kernel="affine"))
    assert verdict.status == "correct" and plan is not None and plan.drives == ()
    assert verdict.not_driven == ("blocks of the problem: blocks add up",)
    assert tried == ["affine", "affine"]

    answers = iter([Driven(why="blocks add up"), Driven()])
    monkeypatch.setattr(planning, "driven", lambda *given, **told: next(answers))
    verdict, plan = plan_of(AFFINE, Candidate(source=TASK, kernel="affine"))
    assert (verdict.status, plan) == ("unknown", None)


def test_a_reference_that_fails_on_the_host_is_said() -> None:
    """It may need a GPU: what is planned has the declared tolerance then."""
    broken = AFFINE.reference.replace("    return alpha * X + W", "    return 1 / 0")
    problem = FileProblem(**{**AFFINE.model_dump(), "reference": broken})
    verdict, plan = plan_of(problem, Candidate(source=TASK, kernel="affine"))
    assert plan is not None and plan.tolerances == {"Y": 1e-2}
    assert "the reference fails on the host" in verdict.summary
