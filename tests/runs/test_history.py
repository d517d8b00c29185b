"""What events say of a run."""

import json
from pathlib import Path

import pytest

import sample_run
from argus.agent.state import RunState
from argus.diagnostics import ArgusError
from argus.runs.history import History, history
from argus.runs.records import (
    Budget,
    Finished,
    Judged,
    JudgeVerdict,
    Lowered,
    Proposed,
    Resumed,
    Started,
)
from argus.runs.store import RunStore, Stamped


def read(root: Path, name: str) -> History:
    with RunStore(root).read(name) as run:
        return history(run.stamped())


def test_trials_are_joined(tmp_path: Path) -> None:
    found = read(tmp_path, sample_run.make(tmp_path))
    assert [t.number for t in found.trials] == [0, 1, 2, 3]
    assert all(t.finished for t in found.trials)
    start, refuted, best, none = found.trials
    assert found.start is start and start.proposal is None
    assert refuted.proposal is not None and refuted.proposal.optimisation == "cp-async"
    assert refuted.microseconds is None and refuted.verdict is not None
    assert none.candidate is None and none.verdict is None
    assert found.best is best and best.microseconds == 185.0
    assert found.measured
    assert found.cost.tokens == 40 and found.cost.gpu_seconds == 4.5
    assert [a.optimisation for a in found.ablations] == ["cluster-multicast"]


def test_measured_beats_predicted(tmp_path: Path) -> None:
    found = read(tmp_path, sample_run.make(tmp_path, measured=False, finish=False))
    assert not found.measured
    assert found.best is not None and found.best.microseconds == 180.0
    assert found.finished is None


def test_a_trial_that_is_done_again_counts_once(tmp_path: Path) -> None:
    name = sample_run.make(tmp_path, finish=False)
    with RunStore(tmp_path).read(name) as run:
        events = run.events()
    cut = next(i for i, e in enumerate(events) if isinstance(e, Judged) and e.trial)
    again = next(i for i, e in enumerate(events) if isinstance(e, Proposed) and e.trial)
    whole = [
        *((1e9, e) for e in events[:cut]),
        (1e9 + 3600, Resumed(environment={})),
        *((1e9 + 3601, e) for e in events[again:]),
        (1e9 + 3602, Finished(reason="interrupted", best=None)),
    ]
    found = history([Stamped(i, *timed) for i, timed in enumerate(whole)])
    assert [t.number for t in found.trials] == [0, 1, 2, 3]
    assert [t.finished for t in found.trials] == [True] * 4
    assert found.trials[1].verdict == sample_run.REFUTED
    assert found.resumed == 1
    assert found.seconds == 2.0, "the hour between two processes is nobody's work"
    assert found.finished is not None and found.finished.reason == "interrupted"


def test_cold_from_the_start_or_from_where_it_goes_on() -> None:
    def cold(first: Started, *later: Resumed) -> bool:
        events = [Stamped(i, float(i), e) for i, e in enumerate([first, *later])]
        found = RunState.rebuild([s.event for s in events], lambda name: b"")
        assert found.cold == history(events).cold
        return found.cold

    warm = Started(
        task=sample_run.TASK,
        agent="builtin",
        seed=0,
        budget=Budget(),
        policy={},
        environment={},
    )
    go_on = Resumed(environment={})
    assert not cold(warm) and not cold(warm, go_on)
    assert cold(warm.model_copy(update={"cold": True}), go_on)
    assert cold(warm, Resumed(environment={}, cold=True), go_on)


def test_records_from_before_runs_were_called_cold() -> None:
    written: dict[str, object] = {
        "task": sample_run.TASK.model_dump(),
        "agent": "external",
        "seed": 0,
        "budget": {},
        "policy": {},
        "environment": {"argus": "0.1.0"},
    }
    assert not Started.model_validate_json(json.dumps(written)).cold
    written["environment"] = {"policy": "neither used nor changed"}
    assert Started.model_validate_json(json.dumps(written)).cold


def test_no_beginning() -> None:
    with pytest.raises(ArgusError) as caught:
        history([])
    assert caught.value.codes == ("AG1003",)


def test_what_hung_is_known(tmp_path: Path) -> None:
    name = sample_run.make(tmp_path, finish=False)
    hung = JudgeVerdict(status="hung", stage="run", program="a")
    tried = JudgeVerdict(status="hung", stage="run", program="b")
    with RunStore(tmp_path).open(name) as run:
        run.append(Lowered(trial=3, candidate=None, attempts=(tried,)))
        run.append(Judged(trial=3, verdict=hung))
    assert read(tmp_path, name).hung == {"a", "b"}
