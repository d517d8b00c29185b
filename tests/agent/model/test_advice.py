"""Advice in the model's words: a change of the policy that cites trials, or a note."""

import json
from dataclasses import replace

import pytest
from server import advice, kernel, status, text
from small_kernels import BETTER, EXPECTING

from argus.agent.interfaces import BudgetLeft
from argus.agent.model.advice import plain
from argus.agent.state import RunState
from argus.runs.history import RunTrial
from argus.runs.records import (
    Budget,
    Judged,
    JudgeVerdict,
    Lowered,
    Proposal,
    Proposed,
    Started,
)

GOOD = "Wider loads pay where rows are long; keep tiles of one row."


@pytest.fixture
def state(desk) -> RunState:
    """A run with the start and two trials that were judged, and teach something."""
    started = Started(
        task=desk.task,
        agent="model",
        seed=0,
        budget=Budget(),
        policy={},
        environment={},
    )
    state = RunState.begin(started)
    names = ["start", "vectorised-access", "unrolling"]
    sources = [desk.task.start.source, BETTER, EXPECTING]
    for number, (name, source) in enumerate(zip(names, sources, strict=True)):
        candidate = desk.task.start.model_copy(update={"source": source})
        raw = candidate.model_dump_json().encode()
        verdict: JudgeVerdict = desk.judge.check(desk.task.problem, [candidate])[0]
        proposal = Proposal(optimisation=name, where="here", predicted_gain=0.1)
        events = [
            Proposed(
                trial=number,
                parent=None if number == 0 else 0,
                bottleneck="memory",
                proposals=(proposal,),
                probabilities=(1.0,),
                chosen=0,
            ),
            Lowered(trial=number, candidate="x", note="As proposed."),
            Judged(trial=number, verdict=verdict),
        ]
        for event in events:
            state.apply(event, lambda _, raw=raw: raw)
    return state


def batch(state: RunState) -> list[RunTrial]:
    return [state.trials[1], state.trials[2]]


def test_advice_is_a_change_that_cites_trials(server, model, state):
    server.say(advice(GOOD, [2, 1, 2], about="vectorised-access"))
    found = model().advise(state, batch(state), "statics", BudgetLeft())
    assert found is not None and found.failure == ""
    (change,) = found.changes
    assert change.key == "advice/statics/memory/vectorised-access"
    assert (change.before, change.after, change.trials) == (None, GOOD, (1, 2))
    assert found.cost.tokens == 1100
    assert json.loads(found.conversation)["turns"][0]["answer"]
    (request,) = server.requests
    prompt = request["messages"][-1]["content"]
    assert '"trial": 1' in prompt and '"log speed-up": 0.223' in prompt
    # The policy takes it, and later prompts have it.
    policy = state.policy.changed(found.changes, state.base)
    assert policy.advice["statics/memory/vectorised-access"].text == GOOD


def test_the_same_advice_again_is_no_change(server, model, state):
    server.say(advice(GOOD, [1]), advice(GOOD, [2]))
    agent = model()
    first = agent.advise(state, batch(state), "statics", BudgetLeft())
    state.policy = state.policy.changed(first.changes, state.base)
    again = agent.advise(state, batch(state), "statics", BudgetLeft())
    assert again.changes == () and again.failure == ""
    assert "Advice so far" in server.asked(1) and GOOD in server.asked(1)


BAD = {
    "no trial": (advice(GOOD, []), "at least 1 item"),
    "other trials": (advice(GOOD, [17]), "it cites [17]"),
    "about what was not tried": (advice(GOOD, [1], "wgmma"), "was not tried"),
    "a novel": (advice("a" * 401, [1]), "at most 400 characters"),
    "words": (text("Use wider loads."), "Invalid JSON"),
    "fences only": (advice("```" * 9, [1]), "no plain text"),
    "refused": (status(401), "status 401"),
}


@pytest.mark.parametrize("name", BAD)
def test_advice_that_fails_is_said(name, server, model, state):
    reply, why = BAD[name]
    server.say(reply)
    found = model().advise(state, batch(state), "statics", BudgetLeft())
    assert found is not None and found.changes == ()
    assert found.failure.startswith("advice by rule: the model gave none: ")
    assert why in found.failure
    assert len(server.requests) == 1


def test_advice_has_a_budget_too(server, model, state):
    found = model().advise(state, batch(state), "statics", BudgetLeft(tokens=100))
    assert found.failure.startswith("advice by rule: budget: 100 tokens")
    assert server.requests == []


def test_nobody_is_asked_about_nothing(server, model, state):
    agent = model()
    unjudged = replace(state.trials[1], judged=None)
    assert agent.advise(state, [state.trials[0]], "statics", BudgetLeft()) is None
    assert agent.advise(state, [unjudged], "statics", BudgetLeft()) is None
    assert server.requests == []


def test_advice_is_one_line_of_plain_text(monkeypatch):
    monkeypatch.setenv("A_SECRET", "0123456789")
    text = "Do this.\n\n## Now\x1b[31m ignore ```sh\u202e the key 0123456789"
    assert plain(text) == "Do this. Now [31m ignore sh the key [A_SECRET]"


def test_kernels_are_not_part_of_it(server, model, state) -> None:
    server.say(kernel(BETTER))
    found = model().advise(state, batch(state), "statics", BudgetLeft())
    assert "not of the form" in found.failure
