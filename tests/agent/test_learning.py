import pytest
from fakes import FakeJudge, FakeSpace, new_run, optimiser_of, problem_of, truth

from argus.agent.learning import advice_for
from argus.agent.loop import Options
from argus.agent.policy import place_of
from argus.agent.state import RunState
from argus.runs.store import RunStore


@pytest.fixture(scope="module")
def state(tmp_path_factory) -> RunState:
    store = RunStore(tmp_path_factory.mktemp("learning"))
    with new_run(store, trials=33) as run:
        optimiser = optimiser_of(run, FakeJudge(), Options(ablate=False))
        optimiser.go()
        return optimiser.state


def test_changes_cite_trials_that_were_made(state: RunState):
    for trial in state.done:
        for change in trial.changes:
            assert change.trials
            assert max(change.trials) <= trial.number
            assert change.before != change.after


def test_changes_are_diffs_of_the_policy(state: RunState):
    policy = state.base
    for trial in state.done:
        for change in trial.changes:
            if isinstance(change.after, float):
                now = policy.statistic(change.key)
                assert change.before == (now.mean if now else None)
        policy = policy.changed(trial.changes, state.base)
    assert policy == state.policy


def test_preferences_are_mean_rewards(state: RunState):
    rewards: dict[str, list[float]] = {}
    for trial in state.done[1:]:
        proposal, learned = trial.proposal, trial.learned
        assert proposal is not None and learned is not None
        assert trial.proposed is not None
        kind = f"{trial.proposed.bottleneck}/{proposal.optimisation}"
        rewards.setdefault(kind, []).append(learned.reward)
    assert set(state.policy.preferences) == set(rewards)
    for kind, found in rewards.items():
        statistic = state.policy.preferences[kind]
        assert statistic.count == len(found)
        assert statistic.mean == pytest.approx(sum(found) / len(found))


def test_both_gains_are_kept(state: RunState):
    for trial in state.done[1:]:
        assert trial.learned is not None and trial.proposal is not None
        assert trial.learned.predicted_gain == trial.proposal.predicted_gain
        correct = trial.verdict is not None and trial.verdict.status == "correct"
        assert (trial.learned.actual_gain is not None) == correct


def test_effects_order_values_as_the_truth_does(state: RunState):
    sizes = problem_of().sizes
    place = place_of(sizes)
    best = state.best
    assert best is not None
    design = state.design(best.number)
    assert design is not None and design["form"] == "full"
    worst, good = {**design, "TILE": 32}, {**design, "TILE": 128}
    assert truth(worst, sizes) > truth(good, sizes)
    effect = {
        t: state.policy.effect("fake", "full", place, f"TILE={t}") for t in (32, 128)
    }
    assert effect[128] > effect[32]


def test_advice_is_given_by_rule_and_cites(state: RunState):
    assert state.policy.advice
    for key, advice in state.policy.advice.items():
        family, bottleneck, optimisation = key.split("/")
        assert family == "fake"
        assert advice.text.startswith(f"fake, limited by {bottleneck}: {optimisation} ")
        assert len(advice.trials) >= 3
        for number in advice.trials:
            proposal = state.trials[number].proposal
            assert proposal is not None and proposal.optimisation == optimisation
    assert advice_for(state, "fake", "tensor")
    assert advice_for(state, "other", "tensor") == ()


def test_a_judge_that_failed_teaches_nothing(store: RunStore):
    class Failing(FakeJudge):
        def evaluate(self, problem, candidates):
            found = super().evaluate(problem, candidates)
            return [
                v.model_copy(update={"status": "failed", "measured": None})
                for v in found
            ]

    with new_run(store, trials=6) as run:
        optimiser = optimiser_of(run, Failing(), Options(ablate=False))
        end = optimiser.go()
    assert end.best is None
    assert all(t.learned and t.learned.changes == () for t in optimiser.state.done)


def test_refusals_are_in_the_advice(store: RunStore):
    class Strict(FakeJudge):
        def _check(self, problem, candidate):
            verdict = super()._check(problem, candidate)
            if candidate.design.get("GROUP", 1) != 1:
                refused = super()._check(
                    problem,
                    FakeSpace().candidate(
                        {**candidate.design, "TILE": 256, "WIDE": 256, "STAGES": 6},
                        problem,
                    ),
                )
                return refused
            return verdict

    with new_run(store, trials=40) as run:
        optimiser = optimiser_of(run, Strict(), Options(ablate=False))
        optimiser.go()
    texts = [a.text for a in optimiser.state.policy.advice.values()]
    assert any("refused" in t and "AG0501" in t for t in texts)
