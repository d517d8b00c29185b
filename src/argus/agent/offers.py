"""Proposals with what they lead to: gain, score, words.

Which proposals there are is the planner's matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from argus.agent.exploration import Moment
from argus.agent.space import Design, key
from argus.runs.records import Proposal, Value, factor


@dataclass(frozen=True)
class Offer:
    """A proposal and the design that it leads to."""

    proposal: Proposal
    design: Design
    doubt: float


def between(at: Moment, design: Design) -> tuple[float, float, str]:
    """Gain of a design of another form, its doubt, and where that is from."""
    old = set(at.beliefs.space.optimisations(at.design))
    new = set(at.beliefs.space.optimisations(design))
    gained = [at.expect(o) for o in sorted(new - old)]
    lost = [at.expect(o) for o in sorted(old - new)]
    gain = sum(e.mean for e in gained) - sum(e.mean for e in lost)
    doubt = math.sqrt(sum(e.doubt**2 for e in (*gained, *lost)))
    why = ", ".join(sorted(new - old)) or "the form itself"
    mine, theirs = at.beliefs.forecast(at.design), at.beliefs.forecast(design)
    if mine is None or theirs is None:
        return gain, doubt, f"typical of {why}"
    return 0.3 * gain + 0.7 * (mine - theirs), doubt, f"model, and typical of {why}"


def label_of(at: Moment, edit: dict[str, Value]) -> str:
    """The optimisation that an edit of knobs belongs to, for preferences."""
    present = set(at.beliefs.space.optimisations(at.design))
    labels = [at.labels[k] for k in edit if k in at.labels]
    new = [o for o in labels if o not in present]
    return (new or labels or ["tile-shape"])[0]


def offer(
    at: Moment,
    optimisation: str,
    where: str,
    edit: dict[str, Value],
    design: Design,
    gain: float,
    doubt: float,
    reason: str,
    depends_on: tuple[str, ...],
) -> Offer:
    """The offer with its score; pruned where the model holds it for much slower."""
    expected = at.expect(optimisation)
    score = gain + at.curiosity * doubt
    mine, theirs = at.beliefs.forecast(at.design), at.asked.get(key(design))
    if mine is not None and theirs is not None:
        loss = theirs - mine
        if loss > at.slower:
            score = -math.inf
            reason = f"pruned: predicted {factor(loss):.1f} times slower"
    return Offer(
        Proposal(
            optimisation=optimisation,
            where=where,
            edit=edit,
            invariants=expected.invariants,
            predicted_gain=gain,
            depends_on=depends_on,
            reason=reason,
            score=score,
        ),
        design,
        doubt,
    )


def changes(old: Design, edit: dict[str, Value]) -> str:
    """An edit of knobs as people read it."""
    return ", ".join(f"{k}: {old.get(k)} to {v}" for k, v in sorted(edit.items()))


def finite(proposal: Proposal) -> Proposal:
    """JSON has no infinity: what is pruned has a score far below all others."""
    if math.isfinite(proposal.score):
        return proposal
    return proposal.model_copy(update={"score": -1e9})
