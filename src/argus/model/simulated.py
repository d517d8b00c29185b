"""What a simulation keeps of thread groups, blocks and barriers."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from argus.isa.record import Awaits
from argus.model import steps as s

__all__ = ["NamedBarrierState", "Phases", "ResidentBlock", "Run", "Thread"]

Run = Generator[Any, None, None]


class Thread:
    """A thread group. ``time`` is when it is ready for its next step."""

    def __init__(self, block: ResidentBlock, role: str, time: float) -> None:
        self.block, self.role, self.time = block, role, time
        self.env: s.Env = {}
        self.arrival: dict[int, float] = {}
        self.open: dict[Awaits, float] = {}
        self.closed: dict[Awaits, list[float]] = {}
        self.run: Run | None = None


class ResidentBlock:
    """A resident block: its barriers, and threads that still run."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.phases: dict[tuple[int, int], Phases] = {}
        self.meetings: dict[str, NamedBarrierState] = {}
        self.left = 0
        self.end = 0.0


@dataclass
class Phases:
    """State of one mbarrier: completion times of its phases, and who waits."""

    done: list[float] = field(default_factory=list[float])
    arrived: float = 0.0
    bytes: float = 0.0
    latest: float = 0.0
    waiting: list[tuple[int, Thread]] = field(default_factory=list[tuple[int, Thread]])


@dataclass
class NamedBarrierState:
    """State of one named barrier."""

    count: int = 0
    latest: float = 0.0
    waiting: list[Thread] = field(default_factory=list[Thread])
