"""What the knowledge base says of an optimisation, as the planner asks it."""

from __future__ import annotations

from functools import cache

from argus import knowledge
from argus.agent.beliefs import Expectation
from argus.runs.records import Value


class KnowledgeBase:
    """Typical gains from the entries of ``argus.knowledge``."""

    def expect(self, optimisation: str, features: dict[str, Value]) -> Expectation:
        """The middle of the entry's range, and whether its condition holds.

        Raises KeyError if there is no such entry: a family names none that is not
        there, which a test sees to.
        """
        found = knowledge.entry(optimisation)
        outcome = knowledge.applicability(found, features)
        return Expectation(
            mean=found.gain.middle,
            doubt=_doubt(optimisation),
            applies=outcome.value,
            invariants=found.invariants,
            why=outcome.why,
        )


@cache
def _doubt(optimisation: str) -> float:
    """Half of the range, taken for one standard deviation."""
    gain = knowledge.entry(optimisation).gain
    return (gain.high - gain.low) / 2
