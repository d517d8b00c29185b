"""What commands print, and what they return: text for a terminal, or one JSON object.

    with reporting("check", json_output) as out:
        out.line("checked gemm")        # only without --json
        out.data["kernels"] = [...]     # only with --json

Exit codes: 0 all is well; 1 the kernel is wrong; 2 the command or the machine is; 3 a
bug in Argus; 130 an interrupt. With `--json` stdout holds exactly one object, whose
keys `version`, `command`, `ok` and `diagnostics` are always there: what the user's own
code prints, which commands execute, goes to stderr then. Without it, diagnostics go to
stderr.
"""

import contextlib
import json
import os
import sys
import textwrap
import traceback
import warnings
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import typer

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console

    from argus.diagnostics import Diagnostic, Json

VERSION = 1
"""Of the JSON form; grows if a key changes its meaning."""

OK, WRONG, USAGE, BUG, INTERRUPTED = 0, 1, 2, 3, 130

_ON_DEVICE = ("AG0811", "AG0815")
"""Launch errors that are the kernel's fault, not the caller's."""
_ENVIRONMENT = ("AG0601", "AG0602", "AG0705", "AG0706")
"""Not the kernel's fault where they point at no line of it."""


@dataclass
class OutputSettings:
    """Options given before the command, of this process."""

    debug: bool = False
    """Show the traceback of a bug in Argus."""


settings = OutputSettings()


class UnwrittenError(OSError):
    """Standard output takes no more, as on a full disk. No error of a kernel's."""


class Output:
    """The channel of one command."""

    def __init__(self, command: str, as_json: bool) -> None:
        self.command = command
        self.as_json = as_json
        self.code = OK
        self.margin = 0
        """Blanks before every line of text."""
        self.doing = ""
        """What takes a while just now, for whoever interrupts it."""
        self.data: dict[str, Json] = {}
        self.diagnostics: list[Diagnostic] = []
        self._consoles: dict[bool, Console] = {}

    def _console(self, *, error: bool = False) -> "Console":
        # Made late, so that the stream is that of the moment, and --help needs no rich.
        if error not in self._consoles:
            from rich.console import Console

            self._consoles[error] = Console(
                stderr=error, highlight=False, markup=False, emoji=False
            )
        return self._consoles[error]

    @property
    def width(self) -> int:
        """Cells of the terminal, at least 20."""
        return max(20, self._console().width)

    def line(self, text: str = "", *, style: str = "", indent: int = 0) -> None:
        """A line of text; what does not fit goes on below, indented by ``indent``.

        Control characters and what turns the direction of writing become U+FFFD: names
        of files and of what stands in them are those of strangers.
        """
        if self.as_json:
            return
        from argus.diagnostics.width import printable

        wrapped = textwrap.fill(
            printable(text),
            self.width,
            initial_indent=" " * self.margin if text else "",
            subsequent_indent=" " * (self.margin + indent),
            drop_whitespace=True,
            replace_whitespace=False,
            break_on_hyphens=False,
            break_long_words=False,  # a path that is cut cannot be copied
        )
        with _to_stdout():
            self._console().print(wrapped, style=style, soft_wrap=True)

    def fields(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Names and values in two columns."""
        rows = list(pairs)
        left = max((len(name) for name, _ in rows), default=0) + 2
        for name, value in rows:
            self.line(f"{name:<{left}}{value}", indent=left)

    def raw(self, text: str) -> None:
        """Text as it is, unwrapped: source code, which may be piped elsewhere.

        On a terminal its lines are made printable, as those of `line`.
        """
        if self.as_json:
            return
        if sys.stdout.isatty():
            from argus.diagnostics.width import printable

            text = "\n".join(map(printable, text.split("\n")))
        with _to_stdout():
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
            sys.stdout.flush()

    def show(self, diagnostics: Iterable["Diagnostic"], *, error: bool = True) -> None:
        """Diagnostics: kept for JSON, or rendered to stderr (or stdout)."""
        found = tuple(diagnostics)
        self.diagnostics += found
        if self.as_json or not found:
            return
        from argus.diagnostics import render, render_all

        console = self._console(error=error)
        colour = console.is_terminal and not console.no_color
        if len(found) == 1:
            text = render(found[0], width=console.width, color=colour)
        else:
            text = render_all(found, width=console.width, color=colour)
        if error:
            sys.stderr.write(text + "\n")
            return
        with _to_stdout():
            sys.stdout.write(text + "\n")

    def fail(self, code: int = WRONG) -> None:
        """Let the command exit with ``code``, unless it already has a worse one."""
        self.code = max(self.code, code)

    def interrupted(self, error: KeyboardInterrupt) -> None:
        """Say what was going on, and where in a file of the user's, if it was there."""
        from argus.diagnostics.user_code import innermost, is_users, place

        self.fail(INTERRUPTED)
        said = f"interrupted while {self.doing}" if self.doing else "interrupted"
        frame = innermost(error, is_users)
        if frame is not None:
            said += f": `{frame.name}` was running{place(error)}"
        self.data["interrupted"] = True
        self.data["running"] = said
        if not self.as_json:
            self._console(error=True).print(said, soft_wrap=True)

    def unwritten(self, error: UnwrittenError) -> None:
        """Say that standard output takes no more, where that can be said."""
        from argus.diagnostics import fail

        said = "standard output cannot be written"
        found = fail("AG0902", None, said, notes=[str(error)])
        self.as_json = False
        self.show(found.diagnostics)
        self.fail(USAGE)

    def finish(self) -> None:
        """Print the JSON object, if that is wanted. Raises UnwrittenError."""
        if not self.as_json:
            with _to_stdout():
                sys.stdout.flush()
            return
        whole: dict[str, Json] = {
            "version": VERSION,
            "command": self.command,
            "ok": self.code == OK,
            "diagnostics": [d.to_json() for d in self.diagnostics],
            **self.data,
        }
        text = json.dumps(_finite(whole), indent=1, allow_nan=False)
        with _to_stdout():
            sys.stdout.write(text + "\n")
            sys.stdout.flush()


@contextlib.contextmanager
def _to_stdout() -> Generator[None]:
    """Raise UnwrittenError where standard output takes no more.

    A reader that is gone (a closed pipe) is no error. What was not written is given up:
    else it would be an error again at the end of the process.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        raise UnwrittenError(*error.args) from error


def _finite(value: "Json") -> "Json":
    """JSON has no NaN and no infinity: they become null."""
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):
            return None
        case list():
            return [_finite(item) for item in value]
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case _:
            return value


class reporting:  # noqa: N801 - reads as the verb of a `with`
    """Run a command: show what it raises, print its JSON, exit.

    What is no ArgusError is a bug of Argus, and is reported as one: exit code 3, the
    traceback on stderr only with `argus --debug`. Raises typer.Exit with the exit code
    unless that is 0.
    """

    def __init__(self, command: str, as_json: bool) -> None:
        self.out = Output(command, as_json)
        self._around = contextlib.ExitStack()

    def __enter__(self) -> Output:
        from argus.files.sources import sources_kept

        self._around.enter_context(_warnings_shown(self.out))
        self._around.enter_context(sources_kept())
        if self.out.as_json:
            self._around.enter_context(_nothing_on_stdout())
        return self.out

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: "TracebackType | None",
    ) -> bool:
        self._around.close()
        from argus.diagnostics import ArgusError, bug

        match error:
            case None:
                pass
            case ArgusError():
                self.out.show(error.diagnostics)
                self.out.fail(exit_code(error.diagnostics))
            case BrokenPipeError() | typer.Exit() | typer.Abort():
                return False
            case UnwrittenError():
                self.out.unwritten(error)
            case Exception():
                if settings.debug:
                    traceback.print_exception(error)
                debug = "`argus --debug COMMAND ...` shows the traceback"
                self.out.show([bug(error, help=f"{debug}; please report it")])
                self.out.fail(BUG)
            case KeyboardInterrupt():
                self.out.interrupted(error)
            case _:
                return False
        try:
            self.out.finish()
        except UnwrittenError as unwritten:
            self.out.unwritten(unwritten)
        if self.out.code != OK:
            raise typer.Exit(self.out.code)
        return True


@contextlib.contextmanager
def _nothing_on_stdout() -> Generator[None]:
    """Let what is printed go to stderr: also by code that is not Python."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        with contextlib.suppress(OSError):  # a stream that is closed has none
            kept = os.dup(1)
            stack.callback(os.close, kept)
            os.dup2(2, 1)
            stack.callback(os.dup2, kept, 1)
        yield


@contextlib.contextmanager
def _warnings_shown(out: Output) -> Generator[None]:
    """Let warnings of Argus be diagnostics of the command, like all that it says."""
    others = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        from argus.diagnostics import ArgusWarning, Diagnostic

        code, _, text = str(message).partition(": ")
        if issubclass(category, ArgusWarning) and text:
            out.show([Diagnostic(code, text, None, severity="warning")])
        else:
            others(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = others


def exit_code(diagnostics: Iterable["Diagnostic"]) -> int:
    """2 if one of them is about the command or the machine, else 1."""
    for found in diagnostics:
        group = found.code[:4]
        outside = group in ("AG08", "AG09", "AG10") and found.code not in _ON_DEVICE
        if outside or (found.code in _ENVIRONMENT and found.span is None):
            return USAGE
    return WRONG
