"""Jobs on a pool of machines, with Ray (the extra `ray`).

One actor for each GPU of the cluster, or `workers` of them where it has none. An actor
is a `LocalExecutor` on its machine: candidates have processes of their own there, too.
An actor that is lost is replaced; its jobs are done once more on another, and are
"failed" if that is lost as well.

Every machine of the cluster has this version of Argus installed.
"""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from argus.diagnostics import fail
from argus.evaluation.judge.executor import failed
from argus.evaluation.judge.limits import Job, Limits
from argus.evaluation.judge.local import LocalExecutor
from argus.files.settings import installed
from argus.runs.records import JudgeVerdict

TRIES = 2
"""How often a job is given to an actor."""
_AT_ONCE = 2
"""Jobs of one actor with a GPU: one is compiled while the other is measured."""


class Station:
    """What an actor is: a machine's executor. Records cross as JSON."""

    def __init__(self, limits: str, workers: int, on_gpu: bool) -> None:
        self._executor = LocalExecutor(
            workers=workers,
            gpus=None if on_gpu else (),
            limits=Limits.model_validate_json(limits),
        )

    def devices(self) -> tuple[str, ...]:
        """Names of its GPUs."""
        return self._executor.devices

    def judge(self, job: str) -> str:
        """The verdict of one job."""
        (verdict,) = self._executor.run([Job.model_validate_json(job)])
        return verdict.model_dump_json()


@dataclass
class _Task:
    position: int
    job: Job
    tries: int = 0


class RayExecutor:
    """Jobs on the actors of a Ray cluster.

    ``address`` of the cluster ("auto" for the one of this machine); None starts one
    here. ``workers`` actors where the cluster has no GPU (default: its processors).
    ``settings`` go to ``ray.init``. Raises ArgusError AG0906 without Ray, and AG0908
    where no cluster answers.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        workers: int | None = None,
        limits: Limits | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        if not installed("ray"):
            raise fail(
                "AG0906",
                None,
                "Ray is not installed",
                help="pip install 'argus-gpu[ray]'",
            )
        self._ray: Any = importlib.import_module("ray")
        self._lost: tuple[type[Exception], ...] = (
            self._ray.exceptions.RayActorError,
            self._ray.exceptions.WorkerCrashedError,
        )
        self._own = not self._ray.is_initialized()
        if self._own:
            quiet: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False}
            try:
                self._ray.init(address=address, **quiet | (settings or {}))
            except (ConnectionError, RuntimeError) as error:
                raise fail(
                    "AG0908",
                    None,
                    f"there is no Ray cluster at `{address}`",
                    notes=[str(error)],
                    help="`ray start --head` begins one on this machine",
                ) from error
        self.limits = limits or Limits()
        resources: dict[str, float] = self._ray.cluster_resources()
        gpus = int(resources.get("GPU", 0))
        self._on_gpu = gpus > 0
        count = gpus or workers or max(1, int(resources.get("CPU", 1)))
        self._remote: Any = self._ray.remote(Station)
        self._actors: list[Any] = [self._made() for _ in range(count)]
        self._devices: tuple[str, ...] | None = None
        self._hung: set[str] = set()

    def _made(self) -> Any:
        """A new actor, started by Ray when there is room."""
        options = {
            "num_cpus": 1,
            "num_gpus": 1 if self._on_gpu else 0,
            "max_concurrency": _AT_ONCE + 1,
        }
        arguments = (self.limits.model_dump_json(), 1, self._on_gpu)
        return self._remote.options(**options).remote(*arguments)

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the GPUs of all actors; asks them when first wanted."""
        if self._devices is None:
            asked = [actor.devices.remote() for actor in self._actors]
            found: list[tuple[str, ...]] = self._ray.get(asked)
            self._devices = tuple(name for names in found for name in names)
        return self._devices

    def actors(self) -> tuple[Any, ...]:
        """Handles of the actors, which a test may kill."""
        return tuple(self._actors)

    def run(self, jobs: Sequence[Job]) -> list[JudgeVerdict]:
        """A verdict for each job, in order."""
        waiting = deque(_Task(i, job) for i, job in enumerate(jobs))
        verdicts: dict[int, JudgeVerdict] = {}
        running: dict[Any, tuple[_Task, int]] = {}
        while waiting or running:
            for number in self._free(running):
                if not waiting:
                    break
                task = waiting.popleft()
                task.tries += 1
                known = {"hung": task.job.hung | self._hung}
                text = task.job.model_copy(update=known).model_dump_json()
                running[self._actors[number].judge.remote(text)] = (task, number)
            done, _ = self._ray.wait(list(running), num_returns=1)
            for reference in done:
                task, number = running.pop(reference)
                try:
                    verdict = JudgeVerdict.model_validate_json(self._ray.get(reference))
                except self._lost as error:
                    self._replace(number, running)
                    if task.tries < TRIES:
                        waiting.appendleft(task)
                        continue
                    words = str(error).strip().splitlines()[:3]
                    verdict = failed("parse", "the executor was lost", words)
                verdicts[task.position] = verdict
                if verdict.status == "hung":
                    self._hung.update({verdict.program} - {""})
        return [verdicts[i] for i in range(len(jobs))]

    def _free(self, running: dict[Any, tuple[_Task, int]]) -> list[int]:
        """Actors that can take a job, the idlest first, once for each they can take."""
        most = _AT_ONCE if self._on_gpu else 1
        busy = [0] * len(self._actors)
        for _, number in running.values():
            busy[number] += 1
        return [
            number
            for level in range(most)
            for number, load in enumerate(busy)
            if load <= level
        ]

    def _replace(self, number: int, running: dict[Any, tuple[_Task, int]]) -> None:
        """Put a new actor in the place of one that was lost, unless that was done."""
        lost = self._actors[number]
        if any(n == number for _, n in running.values()):
            return  # its other jobs will fail, too; the last one replaces it
        self._ray.kill(lost)
        self._actors[number] = self._made()

    def close(self) -> None:
        """End the actors, and Ray if it was started here."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []
        if self._own:
            self._ray.shutdown()
