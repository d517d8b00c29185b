from fakes import DEFAULTS, FakeJudge, FakeSpace, problem_of, shared, task_of

from argus.agent.builtin import BuiltinAgent
from argus.agent.interfaces import ProposalOrder
from argus.runs.records import Proposal, Value

PROBLEM = problem_of()
SPACE = FakeSpace()
FULL = {"form": "full", **DEFAULTS["full"]}


def order(edit: dict[str, Value], tried=lambda candidate: False) -> ProposalOrder:
    return ProposalOrder(
        task=task_of(PROBLEM),
        parent=SPACE.candidate(FULL, PROBLEM),
        verdict=None,
        proposal=Proposal(optimisation="x", where="", edit=edit, predicted_gain=0.0),
        advice=(),
        seed=0,
        tried=tried,
    )


def test_a_proposal_is_carried_out():
    found = BuiltinAgent(SPACE).lower(order({"TILE": 128, "GROUP": 4}), FakeJudge())
    assert found.candidate is not None
    assert found.candidate.design == {**FULL, "TILE": 128, "GROUP": 4}
    assert found.attempts == ()


def test_what_is_refused_gives_resources_back():
    edit: dict[str, Value] = {"TILE": 256, "WIDE": 128, "STAGES": 4}
    assert shared({**FULL, **edit}) > 1200
    found = BuiltinAgent(SPACE).lower(order(edit), FakeJudge())
    assert found.candidate is not None
    assert found.candidate.design == {**FULL, "TILE": 256, "WIDE": 128, "STAGES": 3}
    assert [a.status for a in found.attempts] == ["rejected"]


def test_repairs_have_a_limit_and_the_refusal_is_judged():
    edit: dict[str, Value] = {"TILE": 256, "WIDE": 128, "STAGES": 4}
    found = BuiltinAgent(SPACE, repairs=0).lower(order(edit), FakeJudge())
    assert found.candidate is not None
    assert found.candidate.design == {**FULL, **edit}
    assert [a.status for a in found.attempts] == ["rejected"]


def test_a_repair_is_nothing_that_was_tried():
    edit: dict[str, Value] = {"TILE": 256, "WIDE": 128, "STAGES": 4}

    def tried(candidate) -> bool:
        return candidate.design["STAGES"] == 3

    found = BuiltinAgent(SPACE).lower(order(edit, tried), FakeJudge())
    assert found.candidate is not None
    assert found.candidate.design["STAGES"] == 2


def test_a_design_that_cannot_be_is_a_failure_and_costs_no_check():
    judge = FakeJudge()
    found = BuiltinAgent(SPACE).lower(
        order({"TILE": 256, "WIDE": 256, "STAGES": 6}), judge
    )
    assert found.candidate is None
    assert found.failure == "too large"
    assert judge.checks == 0


def test_without_an_edit_there_is_nothing_to_do():
    found = BuiltinAgent(SPACE).lower(order({}), FakeJudge())
    assert found.candidate is None
    assert found.failure == "it has no edit"


def test_a_batch_is_checked_together():
    class Counting(FakeJudge):
        calls = 0

        def check(self, problem, candidates):
            self.calls += 1
            return super().check(problem, candidates)

    judge = Counting()
    orders = [order({"TILE": t}) for t in (32, 128)]
    found = BuiltinAgent(SPACE).lower_all(orders, judge)
    tiles = [f.candidate.design["TILE"] for f in found if f.candidate]
    assert tiles == [32, 128]
    assert judge.calls == 1
