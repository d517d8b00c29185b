import math

import pytest
from fakes import (
    DEFAULTS,
    FakeJudge,
    FakeKnowledge,
    FakeSpace,
    new_run,
    optimiser_of,
    planner_of,
    problem_of,
    truth,
)

from argus.agent.beliefs import Beliefs
from argus.agent.loop import Options
from argus.agent.planner import Planner
from argus.agent.pool import Pool
from argus.agent.space import key
from argus.agent.state import RunState
from argus.runs.store import RunStore

PROBLEM = problem_of()
SPACE = FakeSpace()


def state_after(store: RunStore, trials: int, seed: int = 0) -> RunState:
    with new_run(store, trials=trials, seed=seed) as run:
        optimiser = optimiser_of(run, FakeJudge(), Options(ablate=False))
        optimiser._work()
        return optimiser.state


def with_model(seed: int = 0, wrong: float = 0.0) -> Planner:
    """A planner that asks a model, which is right but for a constant factor."""

    def forecast(design) -> float:
        return math.log(truth(design, PROBLEM.sizes)) + wrong

    beliefs = Beliefs(SPACE, PROBLEM, PROBLEM.sizes, FakeKnowledge(), forecast)
    return Planner(beliefs, Pool(SPACE, PROBLEM, 0), {}, seed)


def test_structure_comes_first(store: RunStore):
    planned = planner_of(PROBLEM, 0).plan(state_after(store, 1), 1, [])
    assert planned is not None
    first = planned.proposals[planned.chosen]
    assert first.optimisation == "wgmma"
    assert first.edit["form"] == "full"
    assert first.invariants == ("inv wgmma",)
    assert planned.parent == 0
    assert planned.bottleneck == "tensor"


def test_a_step_waits_for_what_it_depends_on(store: RunStore, monkeypatch):
    moves = FakeSpace.moves

    def demanding(self, design, problem):
        return tuple(
            m
            if m.optimisation != "wgmma"
            else type(m)(m.optimisation, m.edit, m.where, ("cp-async",))
            for m in moves(self, design, problem)
        )

    monkeypatch.setattr(FakeSpace, "moves", demanding)
    planned = planner_of(PROBLEM, 0).plan(state_after(store, 1), 1, [])
    assert planned is not None
    steps = [
        p.optimisation for p in planned.proposals if p.edit.get("form") is not None
    ]
    assert "wgmma" not in steps
    assert planned.proposals[planned.chosen].optimisation == "cp-async"


def test_plans_are_functions_of_state_seed_and_trial(store: RunStore):
    state = state_after(store, 9)
    first = planner_of(PROBLEM, 0).plan(state, 9, [])
    planner = planner_of(PROBLEM, 0)
    planner.plan(state_after(RunStore(store.root / "other"), 5), 5, [])
    assert planner.plan(state, 9, []) == first
    drawn = {planner_of(PROBLEM, s).plan(state, 9, []).chosen for s in range(12)}
    assert len(drawn) > 1


def test_nothing_is_offered_twice(store: RunStore):
    state = state_after(store, 13)
    tried = {key(d) for n in state.trials if (d := state.design(n)) is not None}
    planner = planner_of(PROBLEM, 0)
    one = planner.plan(state, 13, [])
    assert one is not None and one.parent is not None
    design = state.design(one.parent)
    assert design is not None
    offered = [key(SPACE.apply(design, p.edit)) for p in one.proposals]
    assert not set(offered) & tried
    assert len(offered) == len(set(offered))
    pending = SPACE.apply(design, one.proposals[one.chosen].edit)
    two = planner.plan(state, 14, [pending])
    assert two is not None
    assert key(pending) not in {key(SPACE.apply(design, p.edit)) for p in two.proposals}


def test_what_the_model_holds_for_slow_is_logged_and_not_drawn(store: RunStore):
    state = state_after(store, 5)
    planned = with_model().plan(state, 5, [])
    assert planned is not None
    pruned = [
        (p, q)
        for p, q in zip(planned.proposals, planned.probabilities, strict=True)
        if p.reason.startswith("pruned")
    ]
    assert pruned
    for proposal, probability in pruned:
        assert probability == 0.0
        assert "times slower" in proposal.reason


@pytest.mark.parametrize("wrong", [0.0, 0.4])
def test_a_right_model_leads_to_a_good_kernel_at_once(store: RunStore, wrong: float):
    """Also one that is wrong by a factor: only contrasts count."""
    state = state_after(store, 5)
    planned = with_model(wrong=wrong).plan(state, 5, [])
    assert planned is not None and planned.parent is not None
    parent = state.design(planned.parent)
    assert parent is not None
    design = SPACE.apply(parent, planned.proposals[planned.chosen].edit)
    judge = FakeJudge()
    best = min(
        truth(d, PROBLEM.sizes)
        for d in SPACE.designs(PROBLEM)
        if judge._check(PROBLEM, SPACE.candidate(d, PROBLEM)).status == "correct"
    )
    assert truth(design, PROBLEM.sizes) < 1.1 * best


def test_a_space_that_is_used_up_has_no_plan(store: RunStore, monkeypatch):
    only = {"form": "naive", **DEFAULTS["naive"]}
    monkeypatch.setattr(FakeSpace, "designs", lambda self, problem: iter([only]))
    monkeypatch.setattr(FakeSpace, "moves", lambda self, design, problem: ())
    assert planner_of(PROBLEM, 0).plan(state_after(store, 1), 1, []) is None
