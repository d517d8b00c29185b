"""With which sizes, scalars and inputs two kernels are run, and who takes them.

A `Setting` is for runs on tiles; its `Drive` is the same as JSON, for the process that
launches the candidate on a GPU. Everything is drawn from the seed, so that both see the
same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from argus.diagnostics import ArgusError
from argus.evaluation.drawing import DrawingMode, specials
from argus.evaluation.judge.candidate import environment
from argus.evaluation.judge.drawing import BY_NAME, drawn
from argus.evaluation.judge.plans import Drive
from argus.evaluation.judge.subject import Subject
from argus.evaluation.tiles import MANY, BlockTensor, Written, indexing
from argus.ir.expr import holds
from argus.ir.program import SM_COUNT, Program, ScalarParam
from argus.kernels.library import Case
from argus.runs.records import FileProblem

__all__ = ["Setting", "case_of", "setting_of", "unbounded"]


@dataclass(frozen=True)
class Setting:
    """Sizes, scalars and inputs that both kernels are run with."""

    subject: Subject
    case: Case
    scalars: Mapping[str, int | float]
    mode: DrawingMode
    seed: int
    special: tuple[float, ...]
    wide: frozenset[str]
    """Tensors of whole numbers that may be any (`unbounded`)."""
    slack: float = 1.0
    """Factor of the tolerance."""
    multiprocessors: int = MANY

    def env(self, program: Program) -> dict[str, int | float]:
        """What symbols of a program are here."""
        arguments = self.subject.entry.arguments(self.case)
        made = environment(program, arguments, self.subject)
        for param in program.params:
            if isinstance(param, ScalarParam):
                made[param.sym.name] = self.scalars[param.name]
        made[SM_COUNT.name] = self.multiprocessors
        return made

    def tensors(self) -> dict[str, BlockTensor]:
        """Inputs, and outputs that nobody has written yet."""
        return {
            n: Written(t.shape, t.dtype, t.table, t.seed)
            if isinstance(t, Written)
            else t
            for n, t in self._drawn.items()
        }

    @cached_property
    def _drawn(self) -> dict[str, BlockTensor]:
        entry = self.subject.entry
        numbers = self.special, self.wide
        return drawn(entry, self.case, self.mode, self.seed, *numbers)

    def admits(self, program: Program) -> bool:
        """Whether a program takes these sizes."""
        env = self.env(program)
        held = all(
            int(env.get(name, 0)) % divisor == 0
            for name, divisor in program.facts.items()
            if name in env
        )
        return held and all(holds(r.cond, env) for r in program.requirements)

    def drive(self, blocks: Sequence[int], shown: int) -> Drive:
        """As a record; ``blocks`` of the problem's own kernel say what is right."""
        return Drive(
            sizes=dict(self.case.sizes),
            scalars=dict(self.scalars),
            mode=self.mode.name,
            seed=self.seed,
            blocks=tuple(blocks),
            multiprocessors=self.multiprocessors,
            slack=self.slack,
            shown=shown,
        )

    def where(self) -> str:
        """For messages."""
        sizes = ", ".join(f"{k}={v}" for k, v in self.case.sizes.items())
        return f"at {sizes}, {self.mode.name} inputs of seed {self.seed}"


def case_of(subject: Subject, sizes: Mapping[str, int]) -> Case | None:
    """The problem at other sizes; None where it has no such case."""
    name = ", ".join(f"{k}={v}" for k, v in sizes.items())
    case = Case(name, dict(sizes), subject.case.options)
    try:
        subject.entry.arguments(case)
    except (ValueError, ZeroDivisionError, AssertionError, ArgusError):
        return None
    return case


def setting_of(drive: Drive, subject: Subject, programs: Sequence[Program]) -> Setting:
    """What a record of the two kernels stands for.

    Raises ValueError for sizes that the problem does not have.
    """
    case = case_of(subject, drive.sizes)
    if case is None:
        raise ValueError(f"the problem has no sizes {drive.sizes}")
    return Setting(
        subject,
        case,
        drive.scalars,
        BY_NAME[drive.mode],
        drive.seed,
        specials(programs, subject.scalars.values()),
        unbounded(subject, programs),
        drive.slack,
        drive.multiprocessors,
    )


def unbounded(subject: Subject, programs: Sequence[Program]) -> frozenset[str]:
    """Tensors of whole numbers that are no indices, and of which nothing is assumed.

    Of a library problem the entry says how large they are.
    """
    assumed = any(kind == "assume" for kind, _ in subject.stated)
    if assumed or not isinstance(subject.problem, FileProblem):
        return frozenset()
    whole = {a.name for a in subject.arguments() if a.dtype.kind == "int"}
    return frozenset(whole.difference(*map(indexing, programs)))
