"""How a command line ends that never reached a command: one place for all of them.

What the parser rejects is exit code 2, and with `--json` one object like any other;
so is a question that is not answered by yes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

_REFUSED: type[Exception] = typer.BadParameter.__bases__[0]
"""What the parser raises: typer has public names for some of its kinds only."""
_HELP = ("-h", "--help")


class Commands(TyperGroup):
    """The group of all commands; only `main` differs from typer's own."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run one command line, and exit where ``standalone_mode`` says so."""
        words = list(sys.argv[1:] if args is None else args)
        if not standalone_mode:
            return super().main(words, prog_name, complete_var, False, **extra)
        taken = _option_for_value(self, words)
        if taken is not None:
            sys.exit(_told(*taken, "--json" in words))
        try:
            code = super().main(words, prog_name, complete_var, False, **extra)
        except typer.Abort:
            code = _told("it was not confirmed, and is not done", "", "--json" in words)
        except Exception as error:
            if not isinstance(error, _REFUSED):
                raise
            code = _refused(error, "--json" in words)
        sys.exit(code if isinstance(code, int) else 0)


def _option_for_value(
    group: TyperGroup, words: Sequence[str]
) -> tuple[str, str] | None:
    """What is wrong where an option has no value, and the next one would become it.

    With it comes the command. The parser takes any word: of `--html --json` it would
    make a file named `--json`.
    """
    command: Any = group
    path = ["argus"]
    before: str | None = None
    for word in words:
        options = {name: p for p in command.params for name in p.opts}
        if before is not None and word.partition("=")[0] in (*options, *_HELP):
            said = (
                f"`{before}` has no value: `{word}` is an option; write "
                f"`{before}={word}` if it is meant as the value"
            )
            return said, " ".join(path)
        if word == "--":
            return None
        takes = before is None and word in options and word.startswith("-")
        if takes and not options[word].is_flag:
            before = word
            continue
        if before is None and isinstance(command, TyperGroup):
            command = command.commands.get(word, command)
            path += [word] if command.name == word else []
        before = None
    return None


def _refused(error: Any, as_json: bool) -> int:
    """Say what the parser rejects: as typer does, or as a JSON object."""
    if not as_json:
        error.show()
        return error.exit_code
    command = "" if error.ctx is None else error.ctx.command_path
    return _told(error.format_message(), command, as_json)


def _told(message: str, command: str, as_json: bool) -> int:
    """Say it as a diagnostic of a command; its exit code."""
    from argus.cli.output import USAGE, Output
    from argus.diagnostics import fail

    words = command.split()[1:]
    out = Output(" ".join(words), as_json)
    help_ = f"`{' '.join(['argus', *words, '-h'])}` shows what there is"
    out.show(fail("AG0908", None, message.rstrip("."), help=help_).diagnostics)
    out.fail(USAGE)
    out.finish()
    return out.code
