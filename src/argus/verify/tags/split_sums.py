"""Sums that several blocks add to one output: each contribution exactly once."""

from __future__ import annotations

from argus.verify.tags.compare import Outcome, unknown
from argus.verify.tags.order_lemmas import Variable
from argus.verify.tags.state import State, Stored

__all__ = ["contributions"]


def contributions(state: State, stored: Stored, free: list[Variable]) -> Outcome:
    """Over the variables that only the sum uses, each coordinate is added once."""
    del state
    if not free:
        return unknown("an atomic store by one block per element")
    return unknown(f"contributions of {len(stored.sums.sums)} sums")
