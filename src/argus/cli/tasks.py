"""What the argument of `argus optimize` means: a library kernel, a file, a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argus.cli.output import Output
    from argus.runs.records import Task


def tasks_of(
    out: Output,
    text: str,
    shape: str | None,
    sizes: Sequence[str],
    options: Sequence[str],
    kernel: str | None,
    dtypes: Sequence[str],
    target: str | None,
) -> list[Task]:
    """The tasks of an argument and its options; several of a PyTorch model.

    Raises ArgusError: AG0908 (no task, options that do not fit), and what the tasks
    raise.
    """
    from argus.agent.tasks import file_task, library_task
    from argus.cli.subjects import parse_sizes
    from argus.diagnostics import fail
    from argus.kernels.library import LIBRARY

    if not text:
        help_ = "for example `argus optimize gemm --shape 4096x4096x4096`"
        raise fail("AG0908", None, "there is no task", help=help_)
    given = parse_sizes(sizes)
    if text not in LIBRARY and (text.endswith(".py") or Path(text).exists()):
        if _is_torch(Path(text)):
            return _torch_tasks(out, text, target)
        types = {t.partition("=")[0]: t.partition("=")[2] for t in dtypes}
        return [file_task(text, given, types, kernel, target=target)]
    if text in LIBRARY:
        names = list(LIBRARY[text].large[0].sizes)
        first = LIBRARY[text].large[0]
        if shape is not None:
            given = {**_shape(names, shape), **given}
        elif not given:
            given = dict(first.sizes)
    words: dict[str, bool | int | float | str] = dict.fromkeys(options, True)
    return [library_task(text, given, words, target)]


def _is_torch(path: Path) -> bool:
    if not path.is_file():
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    return "class Model" in text and "def get_inputs" in text


def _torch_tasks(out: Output, path: str, target: str | None) -> list[Task]:
    from argus.agent.tasks.torch_task import torch_task

    found = torch_task(path, target)
    for one in found.report.unmatched:
        out.line(f"not matched: {one.node} ({one.operator}): {one.reason}", indent=4)
    return list(found.tasks)


def _shape(names: list[str], shape: str) -> dict[str, int]:
    from argus.diagnostics import fail

    parts = shape.lower().split("x")
    if len(parts) > len(names) or not all(p.isdigit() and int(p) > 0 for p in parts):
        raise fail(
            "AG0908",
            None,
            f"`--shape {shape}` is not a shape of the task",
            help=f"give {'x'.join(names)}",
        )
    return dict(zip(names, map(int, parts), strict=False))
