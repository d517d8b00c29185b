import math

import pytest

from argus.agent.rewards import NO_OP, WORST, gain, reward
from argus.runs.records import Finding, JudgeVerdict, Measured, Predicted


def correct(time: float, limit: float | None = None) -> JudgeVerdict:
    measured = Measured(
        microseconds=time, low=time, high=time, samples=9, baselines={}, device="x"
    )
    return JudgeVerdict(
        status="correct", stage="done", measured=measured, limit_microseconds=limit
    )


def refused(code: str) -> JudgeVerdict:
    found = (Finding(code=code, message=""),)
    return JudgeVerdict(status="refuted", stage="verify", findings=found)


def test_a_speed_up_is_its_logarithm():
    assert reward(correct(50.0), 100.0) == pytest.approx(math.log(2))
    assert reward(correct(110.0), 100.0) == pytest.approx(-math.log(1.1))


def test_no_more_than_light_allows():
    assert reward(correct(1.0, limit=25.0), 100.0) == pytest.approx(math.log(4))


def test_no_worse_than_a_race():
    assert reward(correct(1e6), 1.0) == WORST


def test_without_a_parent_there_is_no_gain():
    assert gain(correct(10.0), None) is None
    assert reward(correct(10.0), None) == 0.0


def test_violations_are_graded_by_rule():
    race, bounds, memory = (
        reward(refused(c), 1.0) for c in ("AG0401", "AG0301", "AG0501")
    )
    assert race < bounds < memory < 0


@pytest.mark.parametrize(
    ("status", "worth"),
    [
        ("wrong", 0.0),
        ("quarantined", 0.0),
        ("failed", 0.0),
        ("duplicate", NO_OP),
        ("hung", WORST),
        ("crashed", WORST),
    ],
)
def test_what_is_not_correct_gains_nothing(status, worth):
    predicted = Predicted(microseconds=1.0, bottleneck="memory")
    verdict = JudgeVerdict(status=status, stage="run", predicted=predicted)
    assert reward(verdict, 100.0) == worth
