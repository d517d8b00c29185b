"""Runs of blocks of two kernels, compared, and what came of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from argus.evaluation.judge.agreeing import Disagreement, ObservedProgram, agree
from argus.evaluation.judge.drawing import MODES
from argus.evaluation.judge.plans import Drive
from argus.evaluation.judge.settings import Setting
from argus.evaluation.judge.subject import Subject
from argus.evaluation.tiles import Stuck, now

__all__ = ["ComparedRuns", "Disagreed", "Driven"]


@dataclass
class Driven:
    """What was found: a disagreement, or what no run has shown.

    ``missed`` are sentences about the candidate's conditions that its runs have not
    driven; ``own``: those that the problem's own kernel has, too, or shows itself.
    ``why`` says where nothing could be compared.
    """

    found: Disagreement | None = None
    where: str = ""
    missed: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    why: str = ""
    elements: int = 0
    tried: list[str] = field(default_factory=list[str])
    """For messages: with what it was run."""
    runs: list[Drive] = field(default_factory=list[Drive])
    """What was run, and agreed."""


class Disagreed(Exception):  # noqa: N818 - ends the runs
    """The kernels disagree: `Driven.found` says where."""


@dataclass
class ComparedRuns:
    """Runs of a candidate and of the problem's own kernel.

    ``usual``: seconds for blocks without a cause.
    """

    subject: Subject
    candidate: ObservedProgram
    own: ObservedProgram
    tolerances: Mapping[str, float]
    usual: float
    made: Driven = field(default_factory=Driven)
    stuck: list[str] = field(default_factory=list[str])
    """Why blocks of the problem could not be run."""
    slowest: float = 0.0
    """Seconds of one run, at most."""
    plain: set[tuple[bool, tuple[int | float, ...]]] = field(
        default_factory=set[tuple[bool, tuple[int | float, ...]]]
    )
    """Blocks that were compared with plain numbers: where, and of which kernel."""

    def run(self, setting: Setting, blocks: list[int], of_own: bool) -> None:
        """Compare blocks, with plain numbers first: large ones hide small errors.

        What is shown once counts: a condition on sizes shall be shown by those.
        ``of_own``: the blocks are those of the problem's own kernel. Raises Disagreed.
        """
        sizes, scalars = setting.case.sizes, setting.scalars
        where = (*sizes.values(), *scalars.values(), setting.multiprocessors, *blocks)
        if (of_own, where) not in self.plain:
            self.plain.add((of_own, where))
            if setting.mode is not MODES[0]:
                plain = replace(setting, mode=MODES[0], slack=1.0)
                self._compared(plain, blocks, of_own)
        self._compared(setting, blocks, of_own)

    def _compared(self, setting: Setting, blocks: list[int], of_own: bool) -> None:
        begin = now()
        try:
            made = agree(
                self.candidate,
                self.own,
                setting,
                blocks,
                of_own=of_own,
                tolerances=self.tolerances,
                seconds=self.usual,
            )
        except Stuck as why:
            self.candidate.facets.keep(False)
            self.own.facets.keep(False)
            own_scalars = setting.scalars == self.subject.scalars
            if setting.case is self.subject.case and own_scalars:
                shown = ", ".join(map(str, blocks[:4]))
                self.stuck.append(f"block {shown} cannot be run: {why}")
            return
        self.slowest = max(self.slowest, now() - begin)
        self.made.elements += made.elements
        self.made.tried.append(setting.where())
        if made.found is not None:
            self.made.found = made.found
            whose = "the problem's own kernel" if of_own else "the candidate"
            shown = ", ".join(map(str, blocks[:4]))
            self.made.where = f"block {shown} of {whose}, {setting.where()}"
            raise Disagreed
        if made.elements:
            self.made.runs.append(made.drive)
