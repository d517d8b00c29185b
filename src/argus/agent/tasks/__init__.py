"""What the optimiser is asked: a library entry, a kernel file, or a PyTorch file."""

from argus.agent.tasks.file import file_task
from argus.agent.tasks.library import library_task, problem_task
from argus.agent.tasks.matching import Matched, MatchReport, Unmatched
from argus.agent.tasks.torch_task import TorchTasks, torch_task

__all__ = [
    "MatchReport",
    "Matched",
    "TorchTasks",
    "Unmatched",
    "file_task",
    "library_task",
    "problem_task",
    "torch_task",
]
