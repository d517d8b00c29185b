"""One number that was counted, where, and why: what the parts of this package find."""

from dataclasses import dataclass

from argus.diagnostics import Span

__all__ = ["PerformanceFinding"]


@dataclass(frozen=True)
class PerformanceFinding:
    """The worst value of one kind at one access.

    ``ideal`` is the value that the access would have in the best layout; ``thread`` one
    that is concerned; ``why`` completes "because ...", with the numbers.
    """

    value: int
    ideal: int
    span: Span
    role: str
    what: str
    why: str
    thread: int | None = None
