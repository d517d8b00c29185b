"""Sampling one of several scored proposals: softmax, seeded by run and trial.

The generator is made anew for each trial, so that a run which was cut off and goes on
draws what it would have drawn.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence


def softmax(scores: Sequence[float], temperature: float) -> tuple[float, ...]:
    """Probabilities of scores; minus infinity has probability 0.

    ``temperature`` is in units of the scores: what is worse by as much is chosen 2.7
    times less often. Raises ValueError if nothing has a finite score.
    """
    top = max(scores, default=-math.inf)
    if not math.isfinite(top):
        raise ValueError("nothing can be selected")
    weights = [math.exp((s - top) / temperature) for s in scores]
    whole = sum(weights)
    return tuple(w / whole for w in weights)


def sample(probabilities: Sequence[float], seed: int, trial: int) -> int:
    """An index drawn with these probabilities; the same for the same seed and trial."""
    drawn = random.Random(f"{seed}:{trial}").random()
    passed = 0.0
    last = 0
    for index, probability in enumerate(probabilities):
        if probability <= 0.0:
            continue
        passed += probability
        last = index
        if drawn < passed:
            return index
    return last
