"""What a task is called: a library kernel, a kernel file, or a PyTorch file.

The words of a command line or of a tool's arguments become tasks here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from argus.agent.tasks.file import file_task
from argus.agent.tasks.library import library_task
from argus.diagnostics import fail
from argus.kernels.library import LIBRARY

if TYPE_CHECKING:
    from argus.agent.tasks.torch_task import TorchTasks
    from argus.runs.records import Task


@dataclass(frozen=True)
class Named:
    """Tasks, several of a PyTorch model, which ``model`` then is.

    ``notes``: which parts of the model are tasks, and which stay as they are.
    """

    tasks: tuple[Task, ...]
    notes: tuple[str, ...] = ()
    model: TorchTasks | None = None


def tasks_named(
    text: str,
    shape: str | None = None,
    sizes: Mapping[str, int] | None = None,
    options: Sequence[str] = (),
    kernel: str | None = None,
    dtypes: Mapping[str, str] | None = None,
    target: str | None = None,
) -> Named:
    """The tasks of a name or a path.

    ``shape`` gives the sizes of a library kernel in their order, "4096x4096x1024";
    ``sizes`` single ones. Without either they are those of its first large case.

    Raises ArgusError: AG0908 (no task, a shape that does not fit), and what the tasks
    raise. A PyTorch file is executed, as its owner's program; a kernel file is parsed.
    """
    if not text:
        help_ = "for example `argus optimize gemm --shape 4096x4096x4096`"
        raise fail("AG0908", None, "there is no task", help=help_)
    given = dict(sizes or {})
    if text not in LIBRARY and (text.endswith(".py") or Path(text).exists()):
        if _is_torch(Path(text)):
            return _torch_tasks(text, target)
        return Named((file_task(text, given, dtypes or {}, kernel, target=target),))
    if text in LIBRARY:
        first = LIBRARY[text].large[0]
        if shape is not None:
            given = {**_shape(list(first.sizes), shape), **given}
        elif not given:
            given = dict(first.sizes)
    words: dict[str, bool | int | float | str] = dict.fromkeys(options, True)
    return Named((library_task(text, given, words, target),))


def _is_torch(path: Path) -> bool:
    if not path.is_file():
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    return "class Model" in text and "def get_inputs" in text


def _torch_tasks(path: str, target: str | None) -> Named:
    from argus.agent.tasks.torch_task import torch_task

    found = torch_task(path, target)
    return Named(found.tasks, tuple(found.report.text().splitlines()), found)


def _shape(names: list[str], shape: str) -> dict[str, int]:
    parts = shape.lower().split("x")
    if len(parts) > len(names) or not all(p.isdigit() and int(p) > 0 for p in parts):
        raise fail(
            "AG0908",
            None,
            f"`--shape {shape}` is not a shape of the task",
            help=f"give {'x'.join(names)}",
        )
    return dict(zip(names, map(int, parts), strict=False))
