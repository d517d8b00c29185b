"""Where placing was not shown to keep the meaning of the tile program."""

from dataclasses import dataclass

from argus.diagnostics import Span

__all__ = ["Gap"]


@dataclass(frozen=True)
class Gap:
    """A place at which refinement is not shown.

    ``wrong``: an enumeration found an element that is not where its layout says. That
    is a mistake of the compiler, never of the author; otherwise nothing is known.
    """

    span: Span
    reason: str
    wrong: bool = False
