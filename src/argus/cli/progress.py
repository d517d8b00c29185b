"""What `argus optimize` shows while it works, and at the end. Text only; see `Output`.

On a terminal, one line per trial and below them a line that says what is going on.
Elsewhere only the lines. With `--json`, nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from argus.agent.state import RunState
from argus.cli.output import Output
from argus.report.words import duration, share
from argus.runs.history import taken_out
from argus.runs.records import (
    Ablated,
    Event,
    FileProblem,
    Finished,
    Judged,
    JudgeVerdict,
    Learned,
    Lowered,
    Problem,
    Proposed,
)

if TYPE_CHECKING:
    from rich.status import Status
    from rich.text import Text


def kind(verdict: JudgeVerdict) -> str:
    """Whether a verdict's time is "measured" or "predicted"."""
    return "measured" if verdict.measured is not None else "predicted"


@dataclass
class Progress:
    """Gets the events of a run as they are written."""

    out: Output
    began: float = field(default_factory=time.monotonic)
    _status: Status | None = None
    _doing: list[str] = field(default_factory=lambda: ["starting"])
    _head: bool = False

    def __enter__(self) -> Progress:
        if sys.stdout.isatty() and not self.out.as_json:
            from rich.console import Console

            # The line is drawn anew many times a second, and its clock runs.
            self._status = Console(highlight=False).status(self)
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __rich__(self) -> Text:
        """The line that says what is going on; there is one on terminals."""
        from rich.text import Text

        from argus.diagnostics.width import printable

        seconds = int(time.monotonic() - self.began)
        words = [*self._doing, f"{seconds // 60}:{seconds % 60:02}"]
        # Not a string: rich would read what stands in brackets as its own markup.
        return Text(printable(" · ".join(words)))

    def watch(self, event: Event, state: RunState) -> None:
        """Show an event."""
        match event:
            case Proposed():
                asks = state.started.agent == "model"
                self._say(state, "asking the model" if asks else "planning")
            case Lowered():
                self._say(state, "checking" if event.candidate else "lowering")
            case Judged() if event.trial in state.finals:
                self._say(state, "measuring the best again")
            case Judged():
                self._say(state, "judging")
            case Learned():
                self._trial(event, state)
                trials = state.budget.trials
                last = trials is not None and len(state.done) >= trials
                self._say(state, "taking the best apart" if last else "planning")
            case Ablated():
                self._say(state, "taking the best apart")
            case _:
                pass

    def _say(self, state: RunState, doing: str) -> None:
        done = f"{len(state.done)}"
        if state.budget.trials is not None:
            done += f"/{state.budget.trials}"
        parts = [f"trial {done}", doing]
        spent = state.spent
        if spent.gpu_seconds:
            parts.append(f"GPU {spent.gpu_seconds:.0f} s")
        if spent.tokens:
            parts.append(f"{spent.tokens} tokens")
        if spent.usd:
            parts.append(f"${spent.usd:.2f}")
        self._doing = parts

    def _trial(self, event: Learned, state: RunState) -> None:
        """One line: number, what was tried, its time, the reward, the best so far."""
        if not self._head:
            self._head = True
            head = f"{'':>3} {'tried':<20} {'time':>11} {'reward':>6}"
            self.out.line(head, style="dim")
        trial = state.trials[event.trial]
        verdict = trial.verdict
        name = trial.proposal.optimisation if trial.proposal else ""
        found = "no kernel" if verdict is None else verdict.status
        if verdict is not None and verdict.microseconds is not None:
            found = duration(verdict.microseconds)
        best = state.best
        text = f"{event.trial:>3} {name:<20.20} {found:>11} {event.reward:+6.2f}"
        if best is not None and best.microseconds is not None:
            text += f"  best {duration(best.microseconds)}"
        style = "green" if best and best.number == event.trial else ""
        self.out.line(text, style=style, indent=4)


def settled(out: Output, problem: Problem) -> None:
    """Parameters of a file's kernel that are not searched, and why, one line each."""
    if isinstance(problem, FileProblem):
        for name, why in problem.settled.items():
            out.line(f"{name} is not searched: {why}", indent=2)


def summary(out: Output, state: RunState, end: Finished) -> None:
    """The result of a run: times, ablation, and what they are."""
    out.line()
    best, start = state.best, state.trials.get(0)
    verdict = best.verdict if best else None
    time_best = best.microseconds if best else None
    if best is None or verdict is None or time_best is None:
        out.line(f"No correct kernel was found ({end.reason}).", style="bold red")
        return
    sort = kind(verdict)
    out.line(
        f"best: {duration(time_best)} {sort}, trial {best.number} of "
        f"{len(state.done)} ({end.reason})",
        style="bold",
        indent=6,
    )
    if sort == "predicted":
        out.line(
            "There is no GPU here: every time is predicted by the performance model, "
            "none is measured. Correctness was proved, and tested in the interpreter."
        )
    else:
        assert verdict.measured is not None
        low, high = duration(verdict.measured.low), duration(verdict.measured.high)
        out.line(f"on {verdict.measured.device}, 95 % between {low} and {high}")
    rows: list[tuple[str, str]] = []
    if start is not None and start.microseconds is not None:
        rows.append(("start", _against(start.microseconds, time_best)))
    if verdict.measured is not None:
        for name, took in verdict.measured.baselines.items():
            rows.append((name, _against(took, time_best)))
    if verdict.equality is not None:
        rows.append(("result", verdict.equality.words))
    limit = verdict.limit_microseconds
    if limit:
        reached = f"{share(limit, time_best)} of it is reached"
        rows.append(("speed of light", f"{duration(limit)}, {reached}"))
    out.fields(rows)
    design = state.design(best.number)
    if design:
        words = " ".join(f"{k}={v}" for k, v in design.items())
        out.line(f"design: {words}", indent=8)
    ablation(out, state.ablations.values(), time_best)


def _against(other: float, best: float) -> str:
    return f"{duration(other)}, the best is {other / best:.2f}x as fast"


def ablation(out: Output, ablations: Iterable[Ablated], best: float) -> None:
    """What each optimisation of the best kernel is worth, the dearest first.

    ``best``: microseconds of the best kernel.
    """
    rows = taken_out(ablations)
    if not rows:
        return
    out.line()
    out.line("ablation: the best kernel without", style="bold", indent=2)
    left = min(max(len(one.title) for one in rows), max(22, out.width - 24))
    for one in rows:
        took = one.verdict.microseconds
        text = f"{one.verdict.status:>10}"
        if took is not None:
            text = f"{duration(took):>10}  {took / best:5.2f}x as long"
        out.line(f"  {one.title:<{left}} {text}", indent=4)
