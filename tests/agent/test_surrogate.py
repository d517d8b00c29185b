import itertools
import math
import random

import numpy as np
import pytest

from argus.agent.policy import Policy
from argus.agent.surrogate import DesignGrid, Surrogate, TimedDesign, prior
from argus.runs.records import Change

DESIGNS = [
    {"form": "f", "TILE": t, "STAGES": s, "STORE": b}
    for t, s, b in itertools.product((32, 64, 128, 256), (2, 3, 4), (False, True))
]


def time_of(design) -> float:
    tile, stages = math.log2(design["TILE"]), design["STAGES"]
    together = 0.1 if design["TILE"] == 256 and stages == 4 else 0.0
    slower = 0.1 * abs(tile - 7) - 0.05 * stages + 0.04 * design["STORE"] + together
    return 5.0 + slower


def fitted(count: int, seed: int = 0) -> tuple[DesignGrid, Surrogate, np.ndarray]:
    grid = DesignGrid(DESIGNS)
    rows = random.Random(seed).sample(range(len(DESIGNS)), count)
    data = [TimedDesign(r, time_of(DESIGNS[r])) for r in rows]
    truth = np.array([time_of(d) for d in DESIGNS])
    return grid, Surrogate(grid, np.zeros(len(DESIGNS)), data), truth


def test_half_of_the_times_tell_the_others():
    _, surrogate, truth = fitted(12)
    mean, _ = surrogate.predict()
    assert np.corrcoef(mean, truth)[0, 1] > 0.9
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.4 * truth.std()


def test_doubt_is_small_where_it_was_and_large_elsewhere():
    grid = DesignGrid(DESIGNS)
    surrogate = Surrogate(grid, np.zeros(len(DESIGNS)), [TimedDesign(0, 5.0)])
    mean, doubt = surrogate.predict()
    assert mean[0] == pytest.approx(5.0, abs=0.01)
    assert doubt[0] < 0.02
    far = DESIGNS.index({"form": "f", "TILE": 256, "STAGES": 4, "STORE": True})
    near = DESIGNS.index({"form": "f", "TILE": 32, "STAGES": 3, "STORE": False})
    assert doubt[far] > doubt[near] > doubt[0]


def test_without_observations_it_is_the_prior():
    mean = np.arange(len(DESIGNS), dtype=float)
    found, doubt = Surrogate(DesignGrid(DESIGNS), mean, []).predict([3, 5])
    assert list(found) == [3.0, 5.0]
    assert doubt[0] == doubt[1] > 1.0


def test_true_and_one_are_different_values():
    grid = DesignGrid(
        [{"form": "f", "A": True}, {"form": "f", "A": 1}, {"form": "f", "A": 2}]
    )
    assert len(set(grid.rows[0].tolist())) == 3
    assert grid.likeness(0)[0, 1] == 0.0


def test_effects_say_what_a_value_is_worth():
    _, surrogate, _ = fitted(len(DESIGNS))
    effects = surrogate.effects
    assert effects["TILE=128"] - effects["TILE=32"] == pytest.approx(0.2, abs=0.08)
    assert effects["STAGES=4"] > effects["STAGES=3"] > effects["STAGES=2"]
    assert effects["STORE=False"] > effects["STORE=True"]
    assert effects["STAGES=4 TILE=256"] < effects["STAGES=4 TILE=128"]


def test_the_policy_is_the_prior():
    change = Change(key="effect/x/f/M=10/TILE=64", before=None, after=0.5, trials=(1,))
    policy = Policy().changed([change], Policy())
    mean = prior(DesignGrid(DESIGNS), policy, "x", "f", "M=10")
    for design, m in zip(DESIGNS, mean, strict=True):
        assert m == pytest.approx(-0.25 if design["TILE"] == 64 else 0.0)


def test_refusals_spread_to_like_designs():
    grid = DesignGrid(DESIGNS)
    bad = DESIGNS.index({"form": "f", "TILE": 256, "STAGES": 4, "STORE": True})
    good = DESIGNS.index({"form": "f", "TILE": 64, "STAGES": 2, "STORE": True})
    like = DESIGNS.index({"form": "f", "TILE": 256, "STAGES": 4, "STORE": False})
    share = grid.share([good], [bad])
    assert share[bad] > 0.6
    assert share[like] > 2 * share[good]
