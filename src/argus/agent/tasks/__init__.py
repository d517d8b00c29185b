"""What the optimiser is asked: a library entry, a kernel file, or a PyTorch file."""

from argus.agent.tasks.file import file_task
from argus.agent.tasks.library import library_task, problem_task
from argus.agent.tasks.program import ProgramTasks, program_tasks

__all__ = [
    "ProgramTasks",
    "file_task",
    "library_task",
    "problem_task",
    "program_tasks",
]
