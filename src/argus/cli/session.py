"""`argus session`: an agent of your own writes the kernels, an operation at a time.

The commands are the rows of the table of operations (`argus.agent.operations`): here
options become arguments, and the answer becomes text (session_text.py) or, with --json,
one object, which is the answer itself (``argus.agent.session.results``).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from argus.agent.operation import (
    Numbers,
    Operation,
    Parameter,
    Values,
    Words,
    WrittenFile,
)
from argus.agent.operations import OPERATIONS
from argus.cli.options import JsonOption
from argus.cli.output import Output, reporting

if TYPE_CHECKING:
    from argus.agent.session import Desk
    from argus.runs.records import StrictModel

_FILE = "A kernel file; parsed, never executed."
_MAYBE_FILE = "A kernel file, else the one to change."


def command_of(operation: Operation) -> Callable[..., None]:
    """The command of an operation, as a function with typer's annotations."""
    kinds = {p.name: _kind(p) for p in operation.parameters}
    defaults = {p.name: p.default for p in operation.parameters}
    if operation.kernel:
        wanted = operation.kernel == "wanted"
        metavar, help_ = ("FILE", _FILE) if wanted else ("[FILE]", _MAYBE_FILE)
        file = Annotated[str, typer.Argument(metavar=metavar, help=help_)]
        kinds = {"file": file, **kinds}
        defaults["file"] = inspect.Parameter.empty if wanted else ""
    for one in operation.writes:
        kinds[one.name] = _path(one)
        defaults[one.name] = None
    kinds["json_output"], defaults["json_output"] = JsonOption, False

    def command(**given: Any) -> None:
        _run(operation, given)

    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    command.__name__ = operation.name
    command.__doc__ = operation.says
    command.__annotations__ = {**kinds, "return": None}
    signature = inspect.Signature(
        [
            inspect.Parameter(name, either, annotation=kind, default=defaults[name])
            for name, kind in kinds.items()
        ]
    )
    command.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return command


def _kind(parameter: Parameter) -> Any:
    """A parameter as typer wants it: its type on the command line, and its option."""
    words = parameter.kind in (Numbers, Words, Values, list[str] | None)
    kind: Any = list[str] | None if words else parameter.kind
    help_ = parameter.help or None
    if parameter.argument:
        argument = typer.Argument(metavar=parameter.metavar, help=help_)
        return Annotated[kind, argument]
    option = parameter.option or f"--{parameter.name.replace('_', '-')}"
    if parameter.kind is bool and parameter.default:
        option = f"{option}/--no-{option[2:]}"
    names = (option, parameter.short) if parameter.short else (option,)
    return Annotated[
        kind,
        typer.Option(
            *names,
            metavar=parameter.metavar,
            help=help_,
            min=parameter.least,
            max=parameter.most,
        ),
    ]


def _path(one: WrittenFile) -> Any:
    names = (one.option, one.short) if one.short else (one.option,)
    return Annotated[Path | None, typer.Option(*names, metavar="FILE", help=one.help)]


def _run(operation: Operation, given: dict[str, Any]) -> None:
    """Do an operation and show its answer."""
    with _desk(operation.name, given.pop("json_output")) as (out, desk):
        from argus.cli import session_text
        from argus.files.reading import Reader

        paths = {one: given.pop(one.name) for one in operation.writes}
        arguments = {p.name: _argument(p, given[p.name]) for p in operation.parameters}
        if operation.kernel:
            file = given["file"]
            arguments["source"] = Reader().read(file) if file else ""
        answer = operation.call(desk, arguments)
        _answered(out, answer, right=operation.right(answer))
        for one, path in paths.items():
            _write(out, path, one.text(answer))
        session_text.show(out, answer)


def _argument(parameter: Parameter, value: Any) -> Any:
    """What words of the command line mean. Raises ArgusError AG0908."""
    from argus.cli.given_values import parse_sizes
    from argus.cli.tasks import pairs_of

    if value is None:
        return None
    if parameter.kind == Numbers:
        return parse_sizes(value)
    if parameter.kind == Words:
        return pairs_of(value)
    if parameter.kind == Values:
        return _values(value)
    return value


def _values(words: Sequence[str]) -> dict[str, bool | int | float | str]:
    """``NAME=VALUE`` words; a number or a truth value where it looks like one."""
    from argus.diagnostics import fail

    found: dict[str, bool | int | float | str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise fail("AG0908", None, f"`--set {word}` is not NAME=VALUE")
        found[name] = _value(text)
    return found


def _value(text: str) -> bool | int | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@contextmanager
def _desk(name: str, as_json: bool) -> Generator[tuple[Output, Desk]]:
    """An operation's channel and desk; judges are closed at its end."""
    with reporting(f"session {name}", as_json) as out:
        from argus.agent.session import Desk, Judges
        from argus.cli.report import ReportPages
        from argus.runs.folder import data_folder

        judges = Judges()
        desk = Desk(data_folder() / "runs", judges, _teller(out), ReportPages())
        try:
            yield out, desk
        finally:
            judges.close()


def _teller(out: Output) -> Callable[[str], None]:
    """Shows on a terminal what is going on; elsewhere nothing."""

    def tell(text: str) -> None:
        if not out.as_json and sys.stderr.isatty():
            from argus.diagnostics.width import printable

            sys.stderr.write(f"\x1b[2m{printable(text)} ...\x1b[0m\n")

    return tell


def _answered(out: Output, answer: StrictModel, *, right: bool) -> None:
    """The answer as the command's JSON; ``right``: whether the kernel is."""
    found = answer.plain()
    out.data.update({k: v for k, v in found.items() if k != "ok"})  # the command's own
    if not right:
        out.fail()


def _write(out: Output, path: Path | None, text: str | None) -> None:
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


session = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="A coding agent writes the kernels: it asks what to try, checks, submits.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _operation in OPERATIONS.values():
    session.command(_operation.name, short_help=_operation.brief)(
        command_of(_operation)
    )
