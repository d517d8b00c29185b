import math
from collections import Counter

import pytest

from argus.agent.selection import sample, softmax


def test_softmax_is_a_distribution_and_prunes():
    found = softmax([0.1, 0.0, -math.inf], 0.05)
    assert sum(found) == pytest.approx(1.0)
    assert found[0] / found[1] == pytest.approx(math.exp(2.0))
    assert found[2] == 0.0


def test_nothing_to_select_is_an_error():
    with pytest.raises(ValueError, match="nothing"):
        softmax([-math.inf], 1.0)


def test_the_same_seed_and_trial_draw_the_same():
    probabilities = softmax([0.0, 0.01, 0.02], 0.02)
    drawn = [sample(probabilities, 7, t) for t in range(20)]
    assert drawn == [sample(probabilities, 7, t) for t in range(20)]
    assert drawn != [sample(probabilities, 8, t) for t in range(20)]


def test_draws_follow_the_probabilities():
    probabilities = (0.7, 0.0, 0.3)
    counts = Counter(sample(probabilities, 0, t) for t in range(4000))
    assert counts[1] == 0
    assert counts[0] / 4000 == pytest.approx(0.7, abs=0.03)
