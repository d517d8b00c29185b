"""What the commands of `argus session` share: options, the desk, the answer."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from argus.cli.output import Output, reporting

if TYPE_CHECKING:
    from argus.agent.session import Desk
    from argus.runs.records import Record, Value

RunOption = Annotated[
    str,
    typer.Option("--run", "-r", metavar="RUN", help="Part of its name; `latest`."),
]
FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="A kernel file; parsed, never executed.")
]
MaybeFile = Annotated[
    str,
    typer.Argument(metavar="[FILE]", help="A kernel file, else the one to change."),
]
StaticOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A static parameter."),
]


@contextmanager
def operation(name: str, as_json: bool) -> Generator[tuple[Output, Desk]]:
    """An operation's channel and desk; judges are closed at its end."""
    with reporting(f"session {name}", as_json) as out:
        from argus.agent.session import Desk, Judges
        from argus.cli.report import Pages
        from argus.runs.folder import data_folder

        judges = Judges()
        desk = Desk(data_folder() / "runs", judges, _teller(out), Pages())
        try:
            yield out, desk
        finally:
            judges.close()


def _teller(out: Output):
    """Shows on a terminal what is going on; elsewhere nothing."""

    def tell(text: str) -> None:
        if not out.as_json and sys.stderr.isatty():
            sys.stderr.write(f"\x1b[2m{text} ...\x1b[0m\n")

    return tell


def answered(out: Output, answer: Record, *, ok: bool = True) -> None:
    """The answer as the command's JSON; ``ok``: whether the kernel is right."""
    out.data.update(answer.model_dump(mode="json"))
    out.data.pop("ok", None)  # that of the command says the same
    if not ok:
        out.fail()


def source_in(file: str) -> str:
    """The text of a kernel file. Raises ArgusError AG0901, AG0902."""
    from argus.agent.session.sources import read_source

    return read_source(file)


def written(out: Output, path: Path | None, text: str | None) -> None:
    """Write a kernel where that is asked for; what is there is replaced.

    Raises ArgusError AG0902, also if there is nothing to write.
    """
    if path is None:
        return
    from argus.diagnostics import fail
    from argus.files.writing import write_text

    if text is None:
        raise fail("AG0902", None, f"there is nothing to write to `{path}`")
    write_text(path, text)
    out.line(f"wrote {path}", indent=2)


def statics_of(settings: Sequence[str] | None) -> dict[str, Value]:
    """``NAME=VALUE`` words; a number or a truth value where it looks like one."""
    from argus.diagnostics import fail

    found: dict[str, Value] = {}
    for word in settings or ():
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise fail("AG0908", None, f"`--set {word}` is not NAME=VALUE")
        found[name] = _value(text)
    return found


def _value(text: str) -> Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
