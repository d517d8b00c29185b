import pytest

from argus.agent.interfaces import BudgetLeft
from argus.agent.model.meter import SHORTEST, Meter, NoRoom
from argus.runs.records import Cost


def dear(inputs: int, outputs: int) -> float:
    """A dollar per million tokens, four for answers."""
    return (inputs + 4 * outputs) / 1e6


def free(inputs: int, outputs: int) -> None:
    return None


def test_without_limits_everything_fits():
    meter = Meter(BudgetLeft(), free)
    assert meter.begin(1_000_000, 16_000) == 16_000
    assert meter.seconds is None


def test_an_answer_is_limited_to_what_is_left():
    meter = Meter(BudgetLeft(tokens=5000), free)
    room = meter.begin(3600, 16_000)
    assert SHORTEST < room < 4100
    meter.end(3600, Cost(tokens=4300))
    with pytest.raises(NoRoom, match="700 tokens are left") as caught:
        meter.begin(3600, 16_000)
    assert caught.value.limit == "tokens"


def test_what_is_under_way_counts():
    meter = Meter(BudgetLeft(tokens=2000), free)
    meter.begin(6000, 16_000)
    with pytest.raises(NoRoom):
        meter.begin(6000, 16_000)
    meter.end(6000, Cost(tokens=500))
    meter.begin(6000, 16_000)


def test_money():
    meter = Meter(BudgetLeft(usd=0.01), dear)
    assert meter.begin(3600, 16_000) == pytest.approx(2250, abs=5)
    meter.end(3600, Cost(usd=0.009))
    with pytest.raises(NoRoom, match=r"\$0.0010 are left") as caught:
        meter.begin(3600, 16_000)
    assert caught.value.limit == "money"


def test_time():
    now = [0.0]
    meter = Meter(BudgetLeft(seconds=10.0), free, clock=lambda: now[0])
    meter.begin(100, 1000)
    now[0] = 10.0
    with pytest.raises(NoRoom) as caught:
        meter.begin(100, 1000)
    assert caught.value.limit == "minutes"
