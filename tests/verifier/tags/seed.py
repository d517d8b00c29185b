"""A bug that is written into a kernel: what is replaced, and what is expected."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Seed:
    """``text``: what is replaced by what. ``line``: where the bug shows."""

    name: str
    file: str
    text: tuple[tuple[str, str], ...]
    rule: str
    line: str
    kernel: str | None = None
    statics: dict[str, bool] = field(default_factory=dict)
