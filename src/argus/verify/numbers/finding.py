"""One numerical finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from argus.diagnostics import Span
from argus.terms import Variable

__all__ = ["NumericalFinding"]


@dataclass(frozen=True)
class NumericalFinding:
    """What is unsafe, and where. ``sample``: values at which it is so, if known.

    ``place``: the tensor that is the place of an extreme there; any number is wrong.
    """

    rule: str
    message: str
    span: Span
    label: str
    notes: tuple[str, ...] = ()
    help: str | None = None
    sample: Mapping[Variable, int] | None = None
    place: str = ""
