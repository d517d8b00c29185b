"""Ideas of the knowledge base, where no family has a design for the best kernel."""

import pytest
from fakes import FakeSpace, problem_of, started_of

from argus import knowledge
from argus.agent.beliefs import Beliefs
from argus.agent.expectations import KnowledgeBase
from argus.agent.open_ended import OpenEnded
from argus.agent.space import Design
from argus.agent.state import RunState
from argus.runs.records import (
    Candidate,
    Judged,
    JudgeVerdict,
    Learned,
    Lowered,
    Predicted,
    Proposal,
    Proposed,
)

FEATURES = {
    "entry": "gemm",
    "target": "sm_90a",
    "dtype": "bf16",
    "M": 4096,
    "N": 4096,
    "K": 4096,
    "form": "naive",
    "WARPS": 4,
}
OWN = ("form", "WARPS")


class Nothing:
    """A family's planner that has nothing to offer, or one thing."""

    def __init__(self, planned: Proposed | None = None) -> None:
        self.planned = planned

    def plan(
        self, state: RunState, trial: int, pending: list[Design]
    ) -> Proposed | None:
        return self.planned


class Statics(FakeSpace):
    """A space that knows nothing of what its knobs mean."""

    name = "statics"

    def optimisations(self, design: Design) -> tuple[str, ...]:
        return ()


def planner(planned: Proposed | None = None, space: FakeSpace | None = None):
    problem = problem_of()
    beliefs = Beliefs(space or FakeSpace(), problem, problem.sizes, KnowledgeBase())
    return OpenEnded(Nothing(planned), beliefs, FEATURES, OWN, seed=0)


def add(
    state: RunState,
    number: int,
    candidate: Candidate,
    micros: float,
    tried: Proposal | None = None,
    parent: int | None = 0,
) -> None:
    """A complete trial."""
    raw = candidate.model_dump_json().encode()
    tried = tried or Proposal(optimisation="start", where="", predicted_gain=0.0)
    verdict = JudgeVerdict(
        status="correct",
        stage="build",
        predicted=Predicted(microseconds=micros, bottleneck="memory"),
    )
    for event in (
        Proposed(
            trial=number,
            parent=parent if number else None,
            bottleneck="memory",
            proposals=(tried,),
            probabilities=(1.0,),
            chosen=0,
        ),
        Lowered(trial=number, candidate="c"),
        Judged(trial=number, verdict=verdict),
        Learned(
            trial=number,
            reward=0.0,
            predicted_gain=0.0,
            actual_gain=None,
            changes=(),
        ),
    ):
        state.apply(event, lambda _: raw)


@pytest.fixture
def state() -> RunState:
    problem = problem_of()
    made = RunState.begin(started_of(problem, 0, 10))
    add(made, 0, made.started.task.start, 100.0)
    return made


def one(parent: int = 0) -> Proposed:
    offered = Proposal(
        optimisation="tile-shape",
        where="TILE",
        edit={"TILE": 32},
        predicted_gain=0.1,
        score=0.1,
    )
    return Proposed(
        trial=1,
        parent=parent,
        bottleneck="memory",
        proposals=(offered,),
        probabilities=(1.0,),
        chosen=0,
    )


def test_a_family_that_knows_its_kernel_is_left_alone(state: RunState):
    state.candidates[0] = state.candidates[0].model_copy(
        update={"design": {"form": "full", **FakeSpace().apply({"form": "full"}, {})}}
    )
    assert planner(one()).plan(state, 1, []) == one()


def test_a_kernel_written_by_hand_gets_ideas(state: RunState):
    add(state, 1, Candidate(source="# mine", kernel="k"), 50.0)
    found = planner(one()).plan(state, 2, [])
    assert found is not None
    assert found.parent == 1
    assert all(p.edit == {} for p in found.proposals)
    names = [p.optimisation for p in found.proposals]
    assert len(set(names)) == len(names) > 3
    assert "cp-async" in names or "wgmma" in names
    assert sum(found.probabilities) == pytest.approx(1.0)
    assert list(found.probabilities) == sorted(found.probabilities, reverse=True)
    for proposal in found.proposals:
        assert proposal.invariants == knowledge.entry(proposal.optimisation).invariants
    # The start's form is not this kernel's: its conditions are not known, not false.
    assert planner().plan(state, 2, []) == found


def test_what_was_tried_on_a_kernel_is_not_proposed_again(state: RunState):
    add(state, 1, Candidate(source="# mine", kernel="k"), 50.0)
    asked = planner()
    number, names = 2, set[str]()
    while (found := asked.plan(state, number, [])) is not None and number < 60:
        proposal = found.proposals[found.chosen]
        assert proposal.optimisation not in names
        names.add(proposal.optimisation)
        add(state, number, Candidate(source="# no", kernel="k"), 90.0, proposal, 1)
        number += 1
    assert found is None  # there is an end to ideas
    assert len(names) > 10


def test_what_the_kernel_came_from_is_taken_to_be_in_it(state: RunState):
    """A kernel that was asked to be the form `full`, and is not quite."""
    edit = {"form": "full", **FakeSpace().apply({"form": "full"}, {})}
    asked = Proposal(optimisation="wgmma", where="", edit=edit, predicted_gain=0.5)
    add(state, 1, Candidate(source="# mine", kernel="k"), 50.0, asked)
    found = planner().plan(state, 2, [])
    assert found is not None
    names = {p.optimisation for p in found.proposals}
    assert not names & {"tma", "wgmma"}
    assert "cluster-multicast" in names or len(names) > 2


def test_a_family_that_is_exhausted_leaves_ideas(state: RunState):
    known = {"form": "naive", "TILE": 64}
    state.candidates[0] = state.candidates[0].model_copy(update={"design": known})
    found = planner(None).plan(state, 1, [])
    assert found is not None
    assert all(p.edit == {} for p in found.proposals)


def test_what_cannot_apply_is_no_idea(state: RunState):
    add(state, 1, Candidate(source="# mine", kernel="k"), 50.0)
    found = planner().plan(state, 2, [])
    assert found is not None
    names = {p.optimisation for p in found.proposals}
    assert "online-softmax" not in names  # the task is a product


def test_a_file_of_the_user_has_ideas_beside_its_numbers(state: RunState):
    found = planner(one(), Statics()).plan(state, 1, [])
    assert found is not None
    assert found.parent == 0
    edits = [p.edit for p in found.proposals]
    assert {"TILE": 32} in edits
    assert {} in edits


def test_without_ideas_the_best_design_is_worked_on(state: RunState, monkeypatch):
    add(state, 1, Candidate(source="# mine", kernel="k"), 50.0)
    monkeypatch.setattr(knowledge, "load_entries", dict)
    assert planner(one()).plan(state, 2, []) == one()


def test_the_draw_is_the_same_for_the_same_seed(state: RunState):
    add(state, 1, Candidate(source="# mine", kernel="k"), 50.0)
    asked = planner()
    assert asked.plan(state, 2, []) == asked.plan(state, 2, [])
    # One idea is expected to bring far more than the others.
    found = asked.plan(state, 2, [])
    tried = found.proposals[found.chosen]
    add(state, 2, Candidate(source="# no", kernel="k"), 90.0, tried, 1)
    drawn = {asked.plan(state, n, []).chosen for n in range(3, 60)}
    assert len(drawn) > 1
