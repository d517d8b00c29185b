"""A run as one HTML page that needs no network and no script.

    text = page(run, "finished")

Each part of the page is prepared by a file of its own: `overview`, `trials`,
`findings`, `conversations`, `learnt`, `sources`, `levels`, `pipeline`, `figures`. A
part that cannot be made says why in its place. Style and markup are in `templates`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from argus import __version__
from argus.diagnostics import ArgusError
from argus.evaluation.judge.candidate import candidate_key
from argus.evaluation.judge.subject import Subject
from argus.model.timeline import timeline
from argus.report import figures
from argus.report.attempts import tries
from argus.report.conversations import conversations
from argus.report.figure import Plot
from argus.report.findings import met
from argus.report.kernel import Compiled, Compiler, Used
from argus.report.learnt import learnt
from argus.report.levels import Way, ways
from argus.report.overview import effort, overview
from argus.report.pipeline import pipeline
from argus.report.plots import histories
from argus.report.sources import (
    DiffLine,
    KernelBesideCuda,
    KnobDifference,
    difference,
    knobs,
    side_by_side,
)
from argus.report.text import LONGEST, finalised
from argus.report.trials import GROUPS, TrialRow, rows
from argus.report.words import duration, plural
from argus.runs.artefacts import candidate_in
from argus.runs.history import History, RunTrial, history
from argus.runs.records import Candidate
from argus.runs.store import Run, State
from argus.verify.render.page import TEMPLATES as FINDINGS

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True)
class Best:
    """The best kernel. A text in place of a part says why it could not be made."""

    trial: int
    chips: tuple[tuple[str, str], ...]
    parts: tuple[tuple[str, str, float], ...]
    """(resource, time, share of the whole) that the model says."""
    ways: tuple[Way, ...]
    pair: KernelBesideCuda | str | None
    pipeline: Plot | str
    source: str
    knobs: tuple[KnobDifference, ...]
    diff: tuple[DiffLine, ...]


@dataclass(frozen=True)
class Groups:
    """The sorts of trials that there are: (name of the class, title, how many)."""

    every: int
    of: tuple[tuple[str, str, int], ...]


def page(run: Run, state: State) -> str:
    """The page. ``state`` as the store says it.

    Raises ArgusError AG1003 where the run's record is damaged.
    """
    found = history(run.stamped())
    candidates = _candidates(run, found)
    kernels = _Kernels(found)
    known = met(found.trials, candidates, lambda t: tries(found, t, run.get), kernels)
    table = rows(found.trials, candidates, {m.trial for m in known})
    taught = learnt(found.trials)
    view: dict[str, Any] = {
        "head": overview(run, found, state),
        "trajectory": _drawn(lambda: figures.trajectory_of(found)),
        "rows": table,
        "groups": _groups(table),
        "measured": found.measured,
        "ablation": _drawn(lambda: figures.ablation_of(found)),
        "roofline": _drawn(lambda: figures.roofline_of(found, kernels.subject)),
        "against": figures.against_of(found),
        "best": _best(found, candidates, kernels),
        "met": known,
        "asked": conversations(
            run.id, found, candidates, {m.anchor for m in known}, run.get
        ),
        "learnt": taught,
        "policy": histories(taught.series) if taught.series else None,
        "effort": effort(run, found),
        "plural": plural,
        "version": __version__,
    }
    return template("report.html.j2").render(view)


class _Kernels:
    """Compiles kernels of a run, each once. What fails, fails again when asked."""

    def __init__(self, found: History) -> None:
        self._problem = found.started.task.problem
        self._compiler: Compiler | None = None
        self._made: dict[str, Compiled] = {}

    @property
    def subject(self) -> Subject:
        """What kernels are judged against. Raises ArgusError."""
        if self._compiler is None:
            self._compiler = Compiler(self._problem)
        return self._compiler.subject

    def __call__(self, candidate: Candidate) -> Compiled:
        """The kernel, placed. Raises ArgusError."""
        name = candidate_key(candidate)
        if name not in self._made:
            compiler = self._compiler = self._compiler or Compiler(self._problem)
            self._made[name] = compiler(candidate)
        return self._made[name]


def _candidates(run: Run, found: History) -> dict[int, Candidate]:
    return {
        t.number: candidate_in(run.get(t.candidate))
        for t in found.trials
        if t.candidate is not None
    }


def _drawn(make: Callable[[], Plot | str]) -> Plot | str:
    """A picture, or why there is none."""
    try:
        return make()
    except ArgusError as error:
        return f"This picture cannot be made: {error.diagnostics[0].message}."


def _groups(table: list[TrialRow]) -> Groups:
    count = Counter(r.group for r in table)
    return Groups(
        len(table), tuple((g, name, count[g]) for g, name in GROUPS if count[g])
    )


# --------------------------------------------------------------------- the best kernel


def _best(
    found: History, candidates: Mapping[int, Candidate], kernels: _Kernels
) -> Best | str:
    """All that is shown of the best kernel; why not, where there is none."""
    best = found.best
    candidate = candidates.get(best.number) if best else None
    if best is None or candidate is None:
        return "No kernel was correct, so that there is none to show."
    start = found.start
    first = candidates.get(start.number) if start else None
    try:
        made = kernels(candidate)
    except ArgusError as error:
        why = f"the kernel cannot be compiled here: {error.diagnostics[0].message}"
        return Best(
            best.number, _chips(candidate), _parts(best), (), None,
            f"No picture: {why}.", candidate.source[:LONGEST],
            *_against(first, candidate),
        )  # fmt: skip
    return Best(
        best.number,
        _chips(candidate),
        _parts(best),
        tuple(ways(made.program, made.arguments)),
        _pair(made),
        _drawn(lambda: _pipeline(made, best)),
        candidate.source[:LONGEST],
        *_against(first, candidate),
    )


def _chips(candidate: Candidate) -> tuple[tuple[str, str], ...]:
    """Parameters of the kernel."""
    every = {**candidate.statics, **candidate.design}
    return tuple((name, str(value)) for name, value in every.items())


def _parts(trial: RunTrial) -> tuple[tuple[str, str, float], ...]:
    """Where the time goes, by the model; the largest first."""
    said = trial.verdict.predicted if trial.verdict else None
    if said is None:
        return ()
    parts = sorted(said.parts.items(), key=lambda item: -item[1])
    whole = max(said.microseconds, 1e-9)
    return tuple(
        (name, duration(took), min(1.0, took / whole)) for name, took in parts if took
    )


def _pair(made: Compiled) -> KernelBesideCuda | str:
    try:
        return side_by_side(made.candidate.source, made.cuda(), made.file)
    except ArgusError as error:
        return f"The CUDA C++ cannot be printed: {error.diagnostics[0].message}."


def _pipeline(made: Compiled, best: RunTrial) -> Plot:
    """Raises ArgusError where the model does not know something of the kernel."""
    resources = best.verdict.resources if best.verdict else None
    registers = resources.registers if resources else None
    usage = None if registers is None else Used(registers)
    return pipeline(timeline(made.program, made.arguments, usage=usage))


def _against(
    first: Candidate | None, best: Candidate
) -> tuple[tuple[KnobDifference, ...], tuple[DiffLine, ...]]:
    if first is None:
        return (), ()
    return knobs(first, best), difference(first.source, best.source)


@cache
def template(name: str) -> Template:
    """A template of a page; what it shows is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([Path(__file__).parent / "templates", FINDINGS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalised,
    )
    return environment.get_template(name)
