import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes import (
    FakeJudge,
    FakeSpace,
    new_run,
    optimiser_of,
    problem_of,
    truth,
)

from argus.agent.budget import StoppingRules
from argus.agent.loop import Optimiser, Options, resume
from argus.agent.policy import load
from argus.agent.state import RunState
from argus.runs.history import history, taken_out
from argus.runs.records import Budget, Event, Finished, Resumed, Started
from argus.runs.store import Run, RunStore
from few import few

TRIALS = 13


def finished(run: Run, judge: FakeJudge | None = None, **options) -> Optimiser:
    optimiser = optimiser_of(run, judge or FakeJudge(), Options(**options))
    optimiser.go()
    return optimiser


def trace(run: Run) -> list[Event]:
    """What happened, without what differs between two runs of the same."""
    return [e for e in run.events() if not isinstance(e, Started | Resumed)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> list[Event]:
    """The events of a run that nobody cut off."""
    store = RunStore(tmp_path_factory.mktemp("whole"))
    with new_run(store, trials=TRIALS) as run:
        finished(run)
        return trace(run)


@dataclass(frozen=True)
class Ended:
    """A run of thirty trials, to its end, and what judged it."""

    run: Run
    state: RunState
    judge: FakeJudge


@pytest.fixture(scope="module")
def ended(tmp_path_factory) -> Iterator[Ended]:
    judge = FakeJudge()
    with new_run(RunStore(tmp_path_factory.mktemp("ended")), trials=30) as run:
        yield Ended(run, finished(run, judge).state, judge)


def test_a_run_gets_faster_and_says_so(ended: Ended):
    state = ended.state
    start = state.time_of(0)
    assert state.best is not None and state.best.microseconds is not None
    assert start == pytest.approx(7200.0)
    assert state.best.microseconds < 0.3 * start
    assert len(state.done) == 30
    last = ended.run.events()[-1]
    assert last == Finished(reason="budget: trials", best=state.best.number)
    assert history(ended.run.stamped()).best.number == state.best.number


def test_every_trial_has_a_verdict_and_both_times(ended: Ended):
    for trial in ended.state.done:
        assert trial.verdict is not None
        if trial.verdict.status == "correct":
            assert trial.verdict.predicted is not None
            assert trial.verdict.measured is not None
        assert trial.learned is not None
        assert sum(trial.proposed.probabilities) == pytest.approx(1.0)


def test_no_program_is_evaluated_twice_before_the_end(store: RunStore):
    judge = FakeJudge()
    with new_run(store, trials=30) as run:
        optimiser = optimiser_of(run, judge, Options(ablate=False))
        optimiser._work()
    designs = [repr(sorted(c.design.items())) for c in judge.evaluations]
    assert len(designs) == len(set(designs)) >= 25


def test_the_same_seed_does_the_same_and_another_does_not(store: RunStore, whole):
    with new_run(store, trials=TRIALS) as run:
        finished(run)
        assert trace(run) == whole
    with new_run(store, trials=TRIALS, seed=1) as run:
        finished(run)
        assert trace(run) != whole


class Killed(BaseException):
    """Stands for the end of the process, which nothing catches."""


POINTS = [1, 2, 3, 5, 8, 13, 21, 30, 39, 44, 50, 53]
"""Events after which it is: a trial has four, and then come those of the end."""


@pytest.mark.parametrize("point", few(POINTS, 1, 2, 3, 5, 30, 53))
def test_a_run_that_was_cut_off_ends_like_one_that_was_not(
    store: RunStore, whole, point: int, monkeypatch
):
    with new_run(store, trials=TRIALS) as run:
        name, written = run.id, Run.append
        left = [point]

        def append(self: Run, event: Event) -> None:
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            written(self, event)

        with monkeypatch.context() as patch:
            patch.setattr(Run, "append", append)
            with pytest.raises(Killed):
                finished(run)
    with store.open(name) as run:
        assert len(trace(run)) == point
        resume(run, {})
        finished(run)
        events = trace(run)
        # Only what is measured again at the end may be there twice.
        assert events[: 4 * TRIALS] == whole[: 4 * TRIALS]
        assert events[-1] == whole[-1]


_CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from fakes import FakeJudge, optimiser_of
from argus.agent.loop import resume
from argus.runs.store import RunStore
import time
with RunStore(Path(sys.argv[1])).open("latest") as run:
    if len(run.events()) > 1:
        resume(run, {})
    print("ready", flush=True)
    optimiser_of(run, FakeJudge(before=lambda n: time.sleep(0.01))).go()
"""


def test_kill_9_at_random_moments_loses_nothing(store: RunStore, whole):
    """The process is really killed, several times, and the run ends as it should."""
    with new_run(store, trials=TRIALS) as run:
        name = run.id
    drawn = random.Random(3)
    arguments = [sys.executable, "-c", _CHILD, str(store.root)]
    arguments.append(str(Path(__file__).parent))
    killed = 0
    for _ in range(40):
        child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        if killed < 3:
            time.sleep(drawn.uniform(0.02, 0.4))
            os.kill(child.pid, signal.SIGKILL)
        child.stdout.close()
        if child.wait() == 0:
            break
        killed += 1
    with store.read(name) as run:
        assert killed >= 1
        assert trace(run)[: 4 * TRIALS] == whole[: 4 * TRIALS]
        assert trace(run)[-1] == whole[-1]


def test_ctrl_c_ends_a_run_cleanly_and_it_goes_on(
    store: RunStore, tmp_path: Path, whole
):
    def interrupt(count: int) -> None:
        if count == 7:
            raise KeyboardInterrupt

    path = tmp_path / "policy.json"
    with new_run(store, trials=TRIALS) as run:
        name = run.id
        finished(run, FakeJudge(before=interrupt), policy=path)
        last = run.events()[-1]
        assert isinstance(last, Finished)
        assert last.reason == "interrupted"
        assert last.best is not None
    half = load(path)
    assert half.runs[name] > 0
    with store.open(name) as run:
        resume(run, {})
        finished(run, policy=path)
        events = [e for e in trace(run) if not isinstance(e, Finished)]
        rest = [e for e in whole if not isinstance(e, Finished)]
        assert events == rest
    assert load(path).runs == {name: TRIALS}


def test_no_op_edits_are_caught_before_judging(store: RunStore):
    class Deaf(FakeJudge):
        """Prints the same program, whatever GROUP is."""

        def _check(self, problem, candidate):
            statics = {k: v for k, v in candidate.statics.items() if k != "GROUP"}
            same = candidate.model_copy(update={"statics": statics})
            return super()._check(problem, same)

    judge = Deaf()
    with new_run(store, trials=30) as run:
        state = finished(run, judge, ablate=False).state
    found = [t for t in state.done if t.verdict.status == "duplicate"]
    assert found
    for trial in found:
        assert trial.learned.reward < 0
        assert "changes nothing" in trial.verdict.summary


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(trials=3), "budget: trials"),
        (Budget(gpu_seconds=2.0), "budget: GPU seconds"),
        (Budget(minutes=0.0), "budget: minutes"),
    ],
)
def test_budgets_end_a_run(store: RunStore, budget: Budget, reason: str):
    with new_run(store, trials=50) as run:
        state = finished(run, budget=budget).state
        assert state.finished is not None
        assert state.finished.reason == reason
        assert len(state.done) <= 8


def test_a_run_without_progress_gives_up(store: RunStore):
    with new_run(store, trials=200) as run:
        state = finished(run, stop=StoppingRules(patience=6), ablate=False).state
        assert state.finished is not None
        assert state.finished.reason == "no progress"
        assert len(state.done) < 100


def test_the_speed_of_light_is_enough(store: RunStore):
    class Light(FakeJudge):
        def evaluate(self, problem, candidates):
            found = super().evaluate(problem, candidates)
            return [
                v.model_copy(
                    update={"limit_microseconds": 0.98 * (v.microseconds or 1)}
                )
                for v in found
            ]

    with new_run(store, trials=50) as run:
        state = finished(run, Light()).state
        assert state.finished is not None
        assert state.finished.reason == "speed of light"
        assert len(state.done) == 1


def test_the_best_are_measured_again_and_the_best_is_taken_apart(ended: Ended):
    state = ended.state
    best = state.best
    assert best is not None
    assert best.number in state.finals
    assert len(state.finals) >= 2
    design = state.design(best.number)
    assert design is not None
    ids = set(FakeSpace().optimisations(design))
    assert set(state.ablations) == ids >= {"tma", "wgmma"}
    for event in state.ablations.values():
        time_without = event.verdict.microseconds
        assert time_without is not None
        assert time_without > best.microseconds


def test_what_goes_together_is_taken_out_once(ended: Ended):
    state, judge = ended.state, ended.judge
    found = history(ended.run.stamped())
    slowest, *others = taken_out(found.ablations)
    assert slowest.names == ("tma", "wgmma")
    assert slowest.title == "tma + wgmma"
    assert all(len(one.names) == 1 for one in others)
    times = [one.verdict.microseconds for one in (slowest, *others)]
    assert times == sorted(times, reverse=True)
    without = FakeSpace().apply(state.design(state.best.number), {"form": "ring"})
    last = [c.design for c in judge.evaluations[-1 - len(others) :]]
    assert last.count(without) == 1


def test_all_that_holds_the_gpu_is_counted(ended: Ended):
    run, state = ended.run, ended.state
    assert state.finals and state.ablations
    # Each evaluation takes half a second, those at the end of the run as well.
    assert state.spent.gpu_seconds == 0.5 * len(ended.judge.evaluations)
    assert history(run.stamped()).cost == state.spent
    assert RunState.rebuild(run.events(), run.get).spent == state.spent


def test_limits_stay_until_others_are_given(store: RunStore):
    with new_run(store, trials=3) as run:
        assert len(finished(run, ablate=False).state.done) == 3
        resume(run, {})
        state = finished(run, ablate=False).state
        assert (state.budget, len(state.done)) == (Budget(trials=3), 3)
        resume(run, {}, Budget(trials=5))
        assert len(finished(run, ablate=False).state.done) == 5
        resume(run, {})
        assert finished(run, ablate=False).state.budget == Budget(trials=5)
        assert history(run.stamped()).budget == Budget(trials=5)


def test_predicted_times_are_not_measured_again(store: RunStore):
    with new_run(store, trials=10) as run:
        state = finished(run, FakeJudge(on_device=False)).state
        assert not state.finals
        assert state.best is not None
        problem = problem_of()
        design = state.design(state.best.number)
        assert design is not None
        expected = 1.1 * truth(design, problem.sizes)
        assert state.best.microseconds == pytest.approx(expected)


def test_the_state_is_what_the_events_say(store: RunStore):
    with new_run(store, trials=10) as run:
        state = finished(run).state
        again = RunState.rebuild(run.events(), run.get)
        assert again.trials == state.trials
        assert again.policy == state.policy
        assert again.best == state.best
