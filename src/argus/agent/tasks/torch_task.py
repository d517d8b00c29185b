"""Tasks from a PyTorch file in the format of KernelBench: Model, get_inputs, ...

The model's operators are matched to problems of the library. There is one task for each
distinct problem; the report says what became of every node.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from argus.agent.tasks.library import problem_task
from argus.agent.tasks.matching import MatchReport, matches_of, report_of
from argus.diagnostics import fail
from argus.kernels.pattern import Match
from argus.programs.torch_file import TorchFile, graph_of, load_file
from argus.requests import target_named
from argus.runs.records import Task
from argus.targets import DEFAULT_TARGET

if TYPE_CHECKING:
    from torch.fx import GraphModule


@dataclass(frozen=True)
class TorchTasks:
    """The tasks of a model: those that take most operations first.

    ``graph`` and ``matches`` are what a model with other kernels is made from
    (:func:`argus.agent.tasks.rebuild.rebuilt`).
    """

    file: TorchFile
    tasks: tuple[Task, ...]
    report: MatchReport
    graph: GraphModule
    matches: tuple[Match, ...]


def torch_task(
    path: str | os.PathLike[str],
    target: str | None = None,
    device: str = "cpu",
    *,
    text: str | None = None,
) -> TorchTasks:
    """The tasks of a PyTorch file, which is executed; its model lives on ``device``.

    ``text`` is what the file holds, where that was read already.

    Raises ArgusError: AG0906 (no PyTorch), AG0901 (no file), AG1040 (no task), AG1041
    (no graph), AG1042 (nothing that the library has a kernel for), AG0601.
    """
    chosen = target_named(target or DEFAULT_TARGET).name
    return tasks_of(load_file(path, device=device, text=text), chosen)


def tasks_of(file: TorchFile, chosen: str) -> TorchTasks:
    """The tasks of a model and its inputs. Raises ArgusError AG1041 and AG1042."""
    graph = graph_of(file)
    found, refused = matches_of(graph, chosen)
    tasks: dict[str, Task] = {}
    work: dict[str, float] = {}
    names: dict[int, str] = {}
    for match in found:
        task = problem_task(match.problem)
        tasks.setdefault(task.name, task)
        names[id(match)] = task.name
        flops = task.features["flops"]
        assert isinstance(flops, int)
        work[task.name] = work.get(task.name, 0) + flops * match.count
    report = report_of(graph, found, refused, lambda m: names[id(m)])
    if not found:
        raise fail(
            "AG1042",
            None,
            f"nothing of `{os.path.basename(file.path)}` is what the library computes",
            notes=[f"{u.node} ({u.operator}): {u.reason}" for u in report.unmatched],
        )
    ordered = sorted(tasks.values(), key=lambda t: -work[t.name])
    return TorchTasks(file, tuple(ordered), report, graph, tuple(found))
