"""What the argument of `argus optimize` means: a library kernel, a file, a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argus.agent.tasks.named import Named
    from argus.cli.output import Output


def tasks_of(
    out: Output,
    text: str,
    shape: str | None,
    sizes: Sequence[str],
    options: Sequence[str],
    kernel: str | None,
    dtypes: Sequence[str],
    target: str | None,
    execute: bool = True,
) -> Named:
    """The tasks of an argument and its options; several of a PyTorch model.

    What becomes of a model's parts is printed. Raises ArgusError: AG0908 (no task,
    options that do not fit), AG0916 (not to be executed), and what the tasks raise.
    """
    from argus.agent.tasks.named import tasks_named
    from argus.cli.given_values import parse_sizes

    found = tasks_named(
        text,
        shape,
        parse_sizes(sizes),
        options,
        kernel,
        pairs_of(dtypes),
        target,
        execute=execute,
    )
    for note in found.notes:
        out.line(note, indent=6)
    return found


def pairs_of(words: Sequence[str]) -> dict[str, str]:
    """``NAME=TEXT`` words as a mapping."""
    return {w.partition("=")[0]: w.partition("=")[2] for w in words}
