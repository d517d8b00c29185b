"""What a session does with verdicts: order, budgets, the record, what is told."""

import json
import threading
from pathlib import Path

import pytest
from stand_ins import HANGS, LIMIT, WRONG, FakeBench, FakePages, begun, desk_at

from argus.agent import session
from argus.agent.policy import load
from argus.agent.session import Desk, Judges, StartRequest
from argus.agent.session.at import DRY_RUNS
from argus.agent.state import RunState
from argus.agent.tasks import library_task
from argus.diagnostics import ArgusError
from argus.runs.history import history
from argus.runs.records import Budget, Lowered, Probed


def code(raised: pytest.ExceptionInfo[ArgusError]) -> str:
    return raised.value.diagnostics[0].code


def draft(desk: Desk) -> str:
    found = session.next_(desk).draft
    assert found is not None
    return found.source


def test_a_whole_session(desk: Desk):
    answer = session.start(desk, StartRequest(task="softmax", shape="64x256", trials=3))
    assert answer.sizes == {"M": 64, "N": 256}
    assert [t.role for t in answer.tensors] == ["input", "output"]
    assert "exp(X[m, n]" in answer.description
    assert answer.where == "no GPU: times are predicted"
    assert answer.verdict.time is not None
    assert answer.verdict.time.kind == "predicted"
    assert "@ag.kernel" in answer.start.source
    assert answer.budget == Budget(trials=3)

    asked = session.next_(desk)
    assert asked.trial == 1
    assert asked.proposal is not None
    assert asked.proposal.predicted_speedup == pytest.approx(1.105, abs=1e-3)
    assert len(asked.alternatives) == 3
    assert asked.knowledge[0].id == asked.proposal.optimisation
    assert asked.parent is not None and asked.draft is not None
    assert asked.left.trials == 2

    source = asked.draft.source + "# faster\n"
    checked = session.check(desk, source)
    assert (checked.ok, checked.proved) == (True, 1)
    assert session.build(desk, source).registers == 32
    assert session.test(desk, source).ok
    dry = session.bench(desk, source)
    assert dry.kind == "predicted"
    assert dry.left.dry_runs == DRY_RUNS - 1
    assert dry.left.trials == 2

    done = session.submit(desk, source, note="took the draft", tokens=70, usd=0.5)
    assert done.trial == 1
    assert done.new_best and done.recognised
    assert done.reward > 0
    assert done.left.trials == 1
    assert done.verdict.limit_microseconds == LIMIT

    session.next_(desk)
    found = session.status(desk)
    assert (found.state, found.open_trial, found.best_trial) == ("open", 2, 1)
    assert [r.note for r in found.trials] == ["", "took the draft"]
    assert (found.spent.tokens, found.spent.usd) == (70, 0.5)
    assert found.best_source is not None and "# faster" in found.best_source.source

    end = session.finish(desk)
    assert end.best_trial == 1
    assert end.reason == "the agent ended the session"
    assert "trial 2 was not answered" in " ".join(end.notes)
    assert load(desk.store.root.parent / "policy.json").runs == {answer.run: 2}
    assert session.status(desk).state == "finished"
    # The end is shown again, and nothing is done again.
    again = session.finish(desk)
    assert (again.best, again.ablation) == (end.best, end.ablation)


def test_a_proposal_stays_until_it_is_answered(desk: Desk):
    begun(desk)
    first = session.next_(desk)
    second = session.next_(desk)
    assert first.proposal == second.proposal
    assert "still open" in second.notes[0]
    third = session.next_(desk, skip="it makes no sense here")
    assert third.trial == 2
    assert third.proposal != first.proposal
    row = session.status(desk).trials[1]
    assert row.note == "skipped: it makes no sense here"
    assert row.status is None
    assert row.reward == 0.0


def test_what_was_refused_on_the_way_is_in_the_record(desk: Desk, bench: FakeBench):
    run = begun(desk)
    source = draft(desk)
    wrong = session.check(desk, source + WRONG)
    assert not wrong.ok
    assert wrong.verdict.findings[0].counterexample == {"sizes": {"M": 1, "N": 16}}
    assert wrong.obligations[0].verdict == "refuted"
    assert not session.bench(desk, source + WRONG).ok
    session.submit(desk, source)
    with desk.store.read(run) as record:
        events = record.events()
        lowered = [e for e in events if isinstance(e, Lowered)][-1]
        assert [v.status for v in lowered.attempts] == ["refuted", "refuted"]
        probes = [e for e in events if isinstance(e, Probed)]
        assert [p.operation for p in probes] == ["check", "bench"]
        assert [p.trial for p in probes] == [1, 1]
        assert WRONG in json.loads(record.get(probes[0].candidate))["source"]
        # A refused attempt says nothing of the design that was made in the end.
        state = RunState.rebuild(events, record.get)
        assert state.design(1) is not None


@pytest.mark.parametrize("operation", ["check", "build", "test"])
def test_questions_are_noted_and_are_no_trials(desk: Desk, operation: str):
    run = begun(desk)
    source = draft(desk)
    answer = getattr(session, operation)(desk, source)
    assert answer.run == run
    assert len(session.status(desk).trials) == 1
    with desk.store.read(run) as record:
        (probe,) = [e for e in record.events() if isinstance(e, Probed)]
    assert probe.operation == operation


def test_errors_of_order(desk: Desk):
    with pytest.raises(ArgusError) as raised:
        session.next_(desk)
    assert code(raised) == "AG1001"
    run = begun(desk)
    source = "anything"
    for call in (
        lambda: session.submit(desk, source),
        lambda: session.bench(desk, source),
        lambda: session.next_(desk, skip="why not"),
    ):
        with pytest.raises(ArgusError) as raised:
            call()
        assert code(raised) == "AG1032"
        assert run in raised.value.diagnostics[0].message
    session.finish(desk)
    for call in (
        lambda: session.submit(desk, source),
        lambda: session.bench(desk, source),
        lambda: session.next_(desk),
    ):
        with pytest.raises(ArgusError) as raised:
            call()
        assert code(raised) == "AG1031"
    # Looking is always allowed.
    assert session.status(desk).finished
    assert not session.check(desk, source).ok
    with desk.store.read(run) as record:
        assert record.events()[-1].event == "finished"


def test_the_runs_of_other_agents_are_left_alone(desk: Desk):
    run = begun(desk)
    with desk.store.read(run) as record:
        started = record.started()
    other = started.model_copy(update={"agent": "builtin"})
    with desk.store.create(other) as made:
        name = made.id
    with pytest.raises(ArgusError) as raised:
        session.next_(desk, name)
    assert code(raised) == "AG1030"
    assert session.status(desk).run == run  # the last session, not the last run


def test_a_budget_ends_proposals_and_can_be_raised(desk: Desk):
    run = begun(desk, trials=2)
    session.submit(desk, draft(desk))
    ended = session.next_(desk)
    assert (ended.proposal, ended.reason) == (None, "budget: trials")
    assert session.status(desk).reason_to_stop == "budget: trials"
    session.finish(desk)
    answer = session.start(desk, StartRequest(resume=run, trials=4))
    assert answer.run == run
    assert answer.budget == Budget(trials=4)
    assert session.next_(desk).trial == 2


def test_what_the_agent_spends_counts(desk: Desk):
    begun(desk, tokens=100, usd=1.0)
    session.submit(desk, draft(desk), tokens=99, usd=0.25)
    assert session.next_(desk).proposal is not None
    done = session.submit(desk, draft(desk), tokens=1)
    assert done.reason_to_stop == "budget: tokens"
    assert (done.left.tokens, done.left.usd) == (0, 0.75)
    assert session.next_(desk).reason == "budget: tokens"
    with pytest.raises(ArgusError) as raised:
        session.submit(desk, "x", tokens=-1)
    assert code(raised) == "AG0908"


def test_time_counts_while_the_agent_thinks(desk: Desk, monkeypatch):
    from argus.agent.session import at

    begun(desk, minutes=10.0)
    assert session.next_(desk).proposal is not None
    now = at.time.time()
    monkeypatch.setattr(at.time, "time", lambda: now + 660)
    assert session.status(desk).reason_to_stop == "budget: minutes"
    with pytest.raises(ArgusError) as raised:
        session.bench(desk, "x")
    assert code(raised) == "AG1033"
    # The open proposal may still be answered.
    assert session.submit(desk, draft(desk)).left.minutes == 0.0
    assert session.next_(desk).reason == "budget: minutes"


def test_dry_runs_are_limited_and_cost_time_of_the_gpu(home):
    desk = desk_at(home / "runs", FakeBench(gpu=True))
    begun(desk, gpu_seconds=1000.0)
    source = draft(desk)
    before = session.status(desk).spent.gpu_seconds
    for left in reversed(range(DRY_RUNS)):
        answer = session.bench(desk, source)
        assert answer.kind == "measured"
        assert answer.verdict.baselines == {"torch": 20.0}
        assert answer.left.dry_runs == left
    spent = session.status(desk).spent.gpu_seconds
    assert spent == pytest.approx(before + 0.5 * DRY_RUNS)
    with pytest.raises(ArgusError) as raised:
        session.bench(desk, source)
    assert code(raised) == "AG1033"
    # The next proposal has its own.
    session.submit(desk, source)
    assert session.next_(desk).left.dry_runs == DRY_RUNS


def test_a_dry_run_is_not_a_way_round_the_budget(home):
    desk = desk_at(home / "runs", FakeBench(gpu=True))
    begun(desk, gpu_seconds=1.2)
    source = draft(desk)
    session.bench(desk, source)
    session.bench(desk, source)
    with pytest.raises(ArgusError) as raised:
        session.bench(desk, source)
    assert code(raised) == "AG1033"
    assert "GPU seconds" in raised.value.diagnostics[0].message


def test_the_best_are_measured_again_at_the_end(home):
    bench = FakeBench(gpu=True)
    desk = desk_at(home / "runs", bench)
    begun(desk)
    session.submit(desk, draft(desk) + "# faster\n")
    session.submit(desk, draft(desk) + "# faster\n")
    bench.asked.clear()
    end = session.finish(desk)
    assert end.best is not None and end.best.kind == "measured"
    assert end.baselines == {"torch": 20.0}
    assert "evaluate" in bench.asked


def test_a_no_op_is_said_before_and_after(desk: Desk):
    begun(desk)
    parent = session.next_(desk).parent
    assert parent is not None
    same = "# a comment\n" + parent.source
    checked = session.check(desk, same)
    assert checked.ok and checked.changes_nothing
    done = session.submit(desk, same)
    assert done.verdict.status == "duplicate"
    assert done.reward < 0
    assert not done.new_best


def test_what_was_done_instead_gets_the_reward(desk: Desk):
    run = begun(desk)
    asked = session.next_(desk)
    assert asked.proposal is not None and asked.draft is not None
    source = asked.draft.source
    with pytest.raises(ArgusError) as raised:
        session.submit(desk, source, instead="swizling")
    assert code(raised) == "AG0908"
    assert raised.value.diagnostics[0].help == "did you mean `swizzling`?"
    done = session.submit(desk, source + "# faster\n", instead="swizzling")
    assert done.learned[0].startswith("preference/memory/swizzling: nothing -> +")
    assert session.status(desk).trials[1].optimisation == "swizzling"
    # An alternative keeps what was expected of it; the proposal itself stays.
    asked = session.next_(desk)
    assert asked.proposal is not None and asked.draft is not None
    others = [o.optimisation for o in asked.alternatives]
    other = next(o for o in others if o != asked.proposal.optimisation)
    done = session.submit(desk, asked.draft.source, instead=other)
    assert done.predicted_speedup == pytest.approx(1.105, abs=1e-3)
    same = session.next_(desk).proposal
    assert same is not None
    session.submit(desk, draft(desk), instead=same.optimisation)
    with desk.store.read(run) as record:
        found = history(record.stamped())
        events = [e.event for e in record.events()]
    kinds = [t.proposal.optimisation for t in found.trials if t.proposal]
    assert kinds == ["start", "swizzling", other, same.optimisation]
    assert events.count("proposed") == 6  # twice where it was another one


def test_a_hand_written_kernel_is_judged_and_told_apart(desk: Desk):
    begun(desk)
    source = draft(desk).replace(
        "ag.launch(", "ag.static_assert(1 > 0)\n    ag.launch("
    )
    done = session.submit(desk, source + "# faster\n")
    assert done.verdict.status == "correct"
    assert not done.recognised
    end = session.finish(desk)
    assert end.ablation == ()
    assert "by hand" in " ".join(end.notes)


def test_what_hung_is_not_run_again(home):
    bench = FakeBench()
    desk = desk_at(home / "runs", bench)
    begun(desk)
    hangs = draft(desk) + HANGS
    assert session.bench(desk, hangs).verdict.status == "hung"
    fresh = FakeBench()
    again = desk_at(home / "runs", fresh)
    session.check(again, hangs)
    assert len(fresh.refused) == 1


def test_a_busy_run_says_so_and_questions_are_answered(desk: Desk, monkeypatch):
    monkeypatch.setattr("argus.agent.session.desk._PATIENCE", 0.1)
    run = begun(desk)
    source = draft(desk)
    with desk.store.open(run):
        for call in (
            lambda: session.submit(desk, source),
            lambda: session.bench(desk, source),
            lambda: session.next_(desk),
            lambda: session.finish(desk),
        ):
            with pytest.raises(ArgusError) as raised:
                call()
            assert code(raised) == "AG1002"
            assert raised.value.diagnostics[0].help is not None
        assert session.status(desk).state == "busy"
        assert session.check(desk, source).ok
        assert session.profile(desk, source).ok
    assert session.submit(desk, source).trial == 1


def test_between_two_operations_a_run_waits_for_its_agent(desk: Desk):
    run = begun(desk)
    with desk.store.read(run) as record:
        assert desk.store.state(record) == "waiting"
        with desk.store.open(run):
            assert desk.store.state(record) == "running"
    session.finish(desk)
    with desk.store.read(run) as record:
        assert desk.store.state(record) == "finished"


def test_many_questions_at_once(desk: Desk):
    """Each is noted once, though nobody holds the lock."""
    run = begun(desk)
    source = draft(desk)
    with desk.store.open(run):
        threads = [
            threading.Thread(target=session.check, args=(desk, f"{source}# {i}\n"))
            for i in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with desk.store.read(run) as record:
        stamped = record.stamped()
    assert [s.number for s in stamped] == list(range(len(stamped)))
    assert sum(isinstance(s.event, Probed) for s in stamped) == 8
    assert len(history(stamped).probes) == 8


def test_a_cold_session_learns_from_nobody_and_teaches_nobody(desk: Desk, home):
    run = begun(desk)
    session.submit(desk, draft(desk))
    assert session.finish(desk).policy == ""
    with desk.store.read(run) as record:
        assert record.started().cold
    # Also when it goes on, and nobody says it again.
    session.start(desk, StartRequest(resume=run, trials=30))
    session.submit(desk, draft(desk))
    assert session.finish(desk).policy == ""
    assert not (home / "policy.json").exists()


def test_a_session_that_goes_on_cold_teaches_no_more(desk: Desk, home):
    run = begun(desk, cold=False)
    session.submit(desk, draft(desk))
    assert session.finish(desk).policy
    learnt = load(home / "policy.json")
    assert learnt.runs == {run: 2}
    session.start(desk, StartRequest(resume=run, trials=30, cold=True))
    session.submit(desk, draft(desk))
    assert session.finish(desk).policy == ""
    assert load(home / "policy.json") == learnt


def test_the_end_says_where_the_report_is(home: Path, bench: FakeBench):
    pages = FakePages(home)
    desk = desk_at(home / "runs", bench, pages)
    run = begun(desk)
    assert session.status(desk).report is None
    end = session.finish(desk)
    assert end.report == session.status(desk).report == str(home / run)
    # The end is shown again: the page is there, and lies there still.
    assert session.finish(desk).report == end.report
    assert pages.written == [run]
    # The page is not about what comes after it.
    session.start(desk, StartRequest(resume=run, trials=30))
    assert session.status(desk).report is None
    session.submit(desk, draft(desk))
    assert session.finish(desk).report == end.report
    assert pages.written == [run, run]


def test_a_report_that_cannot_be_written_is_told(home: Path, bench: FakeBench):
    pages = FakePages(home, broken="no room")
    desk = desk_at(home / "runs", bench, pages)
    begun(desk)
    end = session.finish(desk)
    assert end.report is None
    assert "the report is not written: no room" in end.notes
    found = session.status(desk)
    assert (found.state, found.report) == ("finished", None)
    pages.broken = ""
    assert session.finish(desk).report is not None


def test_knowledge_knows_the_run(desk: Desk):
    begun(desk)
    without = session.knowledge(desk, "online softmax")
    assert without.entries[0].id == "online-softmax"
    assert without.entries[0].applies is None
    of_run = session.knowledge(desk, "online softmax", "latest", 3)
    assert of_run.entries[0].applies is True
    assert len(of_run.entries) == 3
    (whole,) = session.knowledge(desk, "swizzling").entries
    assert "## Pitfalls" in whole.body
    assert session.knowledge(desk, "", "latest", 40).entries[0].applies is True


def test_explain_a_kernel_a_code_and_the_language(desk: Desk):
    begun(desk)
    assert session.explain(desk, stage="cuda").text == "cuda of softmax_passes\n"
    assert session.explain(desk, "import os\n").findings[0].code == "AG0022"
    assert session.explain(desk, topic="ag0310").what.startswith("AG0310: ")
    assert "ag.load(" in session.explain(desk, topic="language").text
    with pytest.raises(ArgusError) as raised:
        session.explain(desk, topic="AG9999")
    assert code(raised) == "AG0910"


def test_profile_says_where_the_time_goes(desk: Desk):
    begun(desk)
    found = session.profile(desk)
    assert found.share == {"memory": 0.75, "launch": 0.25}
    assert found.bank_conflicts is not None
    assert found.bank_conflicts.value == 4
    assert not session.profile(desk, "nothing").ok


def test_a_gpu_is_looked_for_only_when_a_kernel_is_to_run(home):
    made: list[bool] = []

    def make(gpu: bool) -> FakeBench:
        made.append(gpu)
        return FakeBench()

    begun(desk_at(home / "runs"))
    desk = Desk(home / "runs", Judges(make))
    source = draft(desk)
    session.check(desk, source)
    session.profile(desk)
    assert session.submit(desk, source + WRONG).verdict.status == "refuted"
    assert made == [False]
    session.submit(desk, draft(desk))
    assert made == [False, True]


def test_one_of_several_tasks_is_chosen():
    from argus.agent.session.beginning import _one

    tasks = tuple(library_task("softmax", {"M": 64, "N": n}) for n in (64, 128, 6400))
    assert _one(tasks, "64x128") is tasks[1]
    assert _one(tasks, "softmax 64x64") is tasks[0]
    assert _one(tasks, "3") is tasks[2]
    assert _one(tasks[:1], "") is tasks[0]
    for part in ("", "softmax", "4", "nothing"):
        with pytest.raises(ArgusError) as raised:
            _one(tasks, part)
        assert code(raised) == "AG0908"
        assert "3: softmax 64x6400" in raised.value.diagnostics[0].notes


def test_what_cannot_begin(desk: Desk, tmp_path):
    for asked, wanted in (
        (StartRequest(), "AG0908"),
        (StartRequest(task="softmx"), "AG0909"),
        (StartRequest(task=str(tmp_path / "none.py")), "AG0901"),
        (StartRequest(resume="nothing"), "AG1001"),
        (StartRequest(resume="nothing", task="softmax"), "AG0908"),
    ):
        with pytest.raises(ArgusError) as raised:
            session.start(desk, asked)
        assert code(raised) == wanted
    assert desk.store.names() == []
