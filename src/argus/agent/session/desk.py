"""A run of an external agent, opened for one operation and closed again.

    desk = Desk(folder)
    with desk.work("latest") as at:     one process at a time; cut-off work is tidied up
    with desk.looking("latest") as at:  only reads, also while another process works

Every operation may be a process of its own: what it knows, it knows from the record.
What a killed one left behind is found here, before anything else is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from argus.agent.assemble import open_planner_of
from argus.agent.loop import Optimiser, Options
from argus.agent.policy import policy_file
from argus.agent.session.at import At
from argus.agent.session.judges import NAME, Bench, Deferred, External, Judges
from argus.agent.session.pages import Pages
from argus.agent.space import Design
from argus.agent.state import RunState
from argus.agent.tasks.named import require_allowed
from argus.diagnostics import ArgusError, fail
from argus.files.reading import Reader
from argus.runs.history import history
from argus.runs.records import Event, Proposed, Task
from argus.runs.store import Run, RunStore

_PATIENCE = 1.0
"""Seconds for which another process is waited for."""


@dataclass
class OwnedRun(At):
    """A run that this process alone works on.

    ``recovered``: a trial that was cut off after its verdict, and is complete now.
    """

    optimiser: Optimiser = field(kw_only=True)
    recovered: int | None = field(kw_only=True, default=None)

    def again(self) -> None:
        """Take into account what was written since."""
        stamped = self.run.stamped()
        self.history, self.last, self.now = (
            history(stamped),
            stamped[-1].time,
            time.time(),
        )


class Desk:
    """Where the runs are, who judges, and who is told what is going on.

    ``pages`` writes the report of a run that ends; None: nobody does. ``reader`` reads
    the files that tasks are named by. ``execute``: whether tasks may execute Python.
    """

    def __init__(
        self,
        folder: Path,
        judges: Judges | None = None,
        tell: Callable[[str], None] = lambda text: None,
        pages: Pages | None = None,
        *,
        reader: Reader | None = None,
        execute: bool = True,
    ) -> None:
        self.store = RunStore(folder)
        self.judges = judges or Judges()
        self.tell = tell
        self.pages = pages
        self.reader = reader or Reader()
        self.execute = execute

    def name(self, run: str) -> str:
        """The name of a run; of the youngest session for "" and "latest".

        Raises ArgusError AG1001.
        """
        if run not in ("", "latest"):
            return self.store.find(run)
        for name in reversed(self.store.names()):
            with self.store.read(name) as found:
                if found.started().agent == NAME:
                    return name
        raise fail(
            "AG1001",
            None,
            "there is no session yet",
            help="argus session start gemm --shape 1024x1024x1024",
        )

    def look(self, run: str) -> At:
        """The run, to be read. The caller closes ``At.run``."""
        opened = self.store.read(self.name(run))
        try:
            return At.of(opened)
        except BaseException:
            opened.close()
            raise

    @contextmanager
    def looking(self, run: str) -> Generator[At]:
        """:meth:`look`, closed at the end."""
        at = self.look(run)
        try:
            yield at
        finally:
            at.run.close()

    @contextmanager
    def work(
        self, run: str, *, ended: bool = False, ablate: bool = True
    ) -> Generator[OwnedRun]:
        """The run, for this process alone.

        ``ended``: whether it may have ended; ``ablate`` as in `Options`. Raises
        ArgusError: AG1001 (no such run), AG1002 (another process works on it), AG0916,
        AG1030 and AG1031.
        """
        with self.opened(run) as opened:
            yield self.worked(opened, ended=ended, ablate=ablate)

    def opened(self, run: str) -> Run:
        """The run, open for writing. Raises ArgusError AG1001, AG1002.

        Who asks for a run's state holds its lock for a moment, so this tries again.
        """
        run = self.name(run)
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                return self.store.open(run)
            except ArgusError as error:
                if error.code != "AG1002":
                    raise
                if time.monotonic() > until:
                    raise _busy(error) from error
                time.sleep(0.05)

    def worked(self, run: Run, *, ended: bool = False, ablate: bool = True) -> OwnedRun:
        """Work on a run that is open for writing."""
        at = At.of(run)
        require_allowed(at.task, self.execute)
        if at.state.finished is not None and not ended:
            raise fail(
                "AG1031",
                None,
                f"{run.id} has ended: {at.state.finished.reason}",
                help=f"argus session start --resume {run.id}",
            )
        started = at.state.started
        optimiser = Optimiser(
            run,
            at.space,
            _Later(started.task, started.seed),
            Deferred(self.judges, at.history.hung),
            External(),
            Options(
                budget=at.state.budget,
                batch=1,
                policy=policy_file(),
                ablate=ablate,
            ),
            self._watch,
        )
        # The optimiser's state is the one that events are applied to.
        made = OwnedRun(run, optimiser.state, at.history, at.last, optimiser=optimiser)
        made.recovered = _tidied(made)
        return made

    def judge(self, at: At, *, gpu: bool) -> Bench:
        """The judge for a run: it never runs what hung in it."""
        found = self.judges.get(gpu=gpu)
        found.refuse(at.history.hung)
        return found

    def _watch(self, event: Event, state: RunState) -> None:
        words = {
            "proposed": "planned",
            "lowered": "checking the kernel",
            "judged": "judged",
            "learned": "learnt",
            "ablated": "taking the best kernel apart",
        }
        self.tell(words.get(event.event, event.event))


def _tidied(work: OwnedRun) -> int | None:
    """Complete what was cut off after its verdict: only learning was missing."""
    waiting = [t.number for t in work.state.open if t.judged is not None]
    if not waiting:
        return None
    work.optimiser.learn()
    work.again()
    return waiting[-1]


class _Later:
    """The planner, made when something is planned: most operations plan nothing."""

    def __init__(self, task: Task, seed: int) -> None:
        self._task = task
        self._seed = seed

    def plan(
        self, state: RunState, trial: int, pending: Sequence[Design]
    ) -> Proposed | None:
        return open_planner_of(self._task, self._seed).plan(state, trial, pending)


def _busy(error: ArgusError) -> ArgusError:
    return fail(
        "AG1002",
        None,
        error.diagnostics[0].message,
        notes=["operations on one run that judge kernels go one after another"],
        help="try again when it is done; `argus session status` shows when",
    )
