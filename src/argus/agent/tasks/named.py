"""What a task is called: a library kernel, a kernel file, or a PyTorch file.

The words of a command line or of a tool's arguments become tasks here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from argus.agent.tasks.file import file_task
from argus.agent.tasks.library import library_task
from argus.diagnostics import ArgusError, fail
from argus.files.reading import Reader
from argus.files.typed import natural
from argus.kernels.library import LIBRARY
from argus.programs.capturing.torch_file import is_torch_text

if TYPE_CHECKING:
    from argus.agent.tasks.program import ProgramTasks
    from argus.runs.records import Task


@dataclass(frozen=True)
class Named:
    """Tasks, several of a PyTorch program, which ``program`` then is.

    ``notes``: which of its kernels are tasks, and which stay as they are.
    """

    tasks: tuple[Task, ...]
    notes: tuple[str, ...] = ()
    program: ProgramTasks | None = None


def tasks_named(
    text: str,
    shape: str | None = None,
    sizes: Mapping[str, int] | None = None,
    options: Sequence[str] = (),
    kernel: str | None = None,
    dtypes: Mapping[str, str] | None = None,
    target: str | None = None,
    *,
    reader: Reader | None = None,
    execute: bool = True,
) -> Named:
    """The tasks of a name or a path.

    ``shape`` gives the sizes of a library kernel in their order, "4096x4096x1024";
    ``sizes`` single ones. Without either they are those of its first large case.
    ``reader`` reads files: anywhere where there is none. ``execute``: whether Python
    may be executed: a PyTorch file, now, and the reference of a kernel file, later. A
    kernel file is parsed.

    Raises ArgusError: AG0908 (no task, a shape that does not fit), AG0916 (a task that
    must not be executed), what reading and the tasks raise.
    """
    if not text:
        help_ = "name a kernel of the library, such as `gemm`, or a file"
        raise fail("AG0908", None, "there is no task", help=help_)
    given = dict(sizes or {})
    if text not in LIBRARY and (text.endswith(".py") or os.path.exists(text)):
        if shape is not None or options:
            what = "`--shape`" if shape is not None else "`--option`"
            raise fail(
                "AG0908",
                None,
                f"{what} is for kernels of the library, and `{text}` is a file",
                help="sizes of a kernel file are given by `--size NAME=NUMBER`",
            )
        return _file_tasks(
            text, given, dtypes or {}, kernel, target, reader or Reader(), execute
        )
    if text in LIBRARY:
        first = LIBRARY[text].large[0]
        if shape is not None:
            given = {**_shape(list(first.sizes), shape), **given}
        elif not given:
            given = dict(first.sizes)
    words: dict[str, bool | int | float | str] = dict.fromkeys(options, True)
    return Named((library_task(text, given, words, target),))


def _file_tasks(
    path: str,
    sizes: Mapping[str, int],
    dtypes: Mapping[str, str],
    kernel: str | None,
    target: str | None,
    reader: Reader,
    execute: bool,
) -> Named:
    text = reader.read(path)
    torch = is_torch_text(text)
    if not execute:
        what = "a PyTorch file, which" if torch else "a kernel file, whose reference"
        raise _forbidden(f"`{path}` is {what} would be executed")
    if not torch:
        task = file_task(path, sizes, dtypes, kernel, target=target, text=text)
        return Named((task,))
    if sizes or dtypes:
        raise fail(
            "AG0908",
            None,
            "the sizes and element types of a PyTorch file are those of its inputs",
            help="change `get_inputs`",
        )
    from argus.agent.tasks.program import program_tasks

    found = program_tasks(path, target, kernel, text=text)
    return Named(found.tasks, found.notes, found)


def require_allowed(task: Task, execute: bool) -> None:
    """Raises ArgusError AG0916 where judging executes what must not be executed."""
    if task.problem.kind == "file" and not execute:
        raise _forbidden(f"the reference of {task.name} would be executed")


def _forbidden(what: str) -> ArgusError:
    """The error for a task that would execute what must not be executed."""
    return fail(
        "AG0916",
        None,
        f"{what}, and `--no-execute` forbids that",
        help="take a task of the library (`argus list`), or allow execution",
    )


def _shape(names: list[str], shape: str) -> dict[str, int]:
    parts = [natural(part) for part in shape.lower().split("x")]
    sizes = [n for n in parts if n is not None and 0 < n < 2**31]
    if len(parts) > len(names) or sizes != parts:
        raise fail(
            "AG0908",
            None,
            f"`--shape {shape}` is not a shape of the task",
            help=f"give {'x'.join(names)}",
        )
    return dict(zip(names, sizes, strict=False))
