"""Raising diagnostics: one at once, or several together.

    raise fail("AG0101", span, "there is no name `slots`", help="did you mean `slot`?")

Everything that Argus raises on purpose is an `ArgusError`. Any other exception is a
fault of Argus itself, not of the program that it was given.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from argus.diagnostics.diagnostic import Diagnostic, Json, Label, Severity
from argus.diagnostics.render import render, render_all
from argus.diagnostics.span import Span


class ArgusError(Exception):
    """One or more diagnostics, at least one of them of severity `error`.

    `str()` of it is the rendered text, so an uncaught one reads well in a traceback.
    """

    def __init__(self, first: Diagnostic, *others: Diagnostic) -> None:
        # The diagnostics are the exception's `args`, so that it survives pickling.
        super().__init__(first, *others)
        self.diagnostics = (first, *others)

    @property
    def code(self) -> str:
        """The code of the first error."""
        errors = (d.code for d in self.diagnostics if d.severity == "error")
        return next(errors, self.diagnostics[0].code)

    @property
    def codes(self) -> tuple[str, ...]:
        """The code of every diagnostic, in order."""
        return tuple(diagnostic.code for diagnostic in self.diagnostics)

    def to_json(self) -> dict[str, Json]:
        """For tools: `{"version": 1, "diagnostics": [...]}`."""
        return diagnostics_json(self.diagnostics)

    def __str__(self) -> str:
        return render(self.diagnostics[0])


class ArgusWarning(UserWarning):
    """Something that is not an error; its text begins with a code."""


class ErrorList(ArgusError):  # noqa: N818 - it is a list, and an ArgusError
    """Several diagnostics that one pass found, in the order of the source."""

    def __str__(self) -> str:
        return render_all(self.diagnostics)


def diagnostics_json(diagnostics: Iterable[Diagnostic]) -> dict[str, Json]:
    """The JSON form of a list of diagnostics; `version` grows if a key changes."""
    return {"version": 1, "diagnostics": [d.to_json() for d in diagnostics]}


def fail(
    code: str,
    span: Span | None,
    message: str,
    *,
    label: str | None = None,
    notes: Iterable[str] = (),
    help: str | None = None,
    related: Iterable[Label] = (),
) -> ArgusError:
    """Make the exception for one mistake, to be raised by the caller.

    Raises:
        UnknownCodeError: the catalogue has no such code (a fault of the caller).
    """
    return ArgusError(
        Diagnostic(
            code,
            message,
            span,
            label=label,
            notes=tuple(notes),
            help=help,
            related=tuple(related),
        )
    )


class Reporter:
    """Collects diagnostics, so that one run shows all mistakes and not only the first.

    reporter = Reporter()
    for statement in body:
        with reporter.recover():
            check(statement)          # may `raise fail(...)`
    warnings = reporter.finish()      # raises if there was an error
    """

    def __init__(self) -> None:
        self._seen: dict[Diagnostic, None] = {}  # a dict keeps the order

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was reported so far, each once, by file and position."""
        return tuple(sorted(self._seen, key=_position))

    @property
    def has_errors(self) -> bool:
        """Whether `finish` would raise."""
        return any(d.severity == "error" for d in self._seen)

    def add(self, diagnostic: Diagnostic) -> None:
        """Take one diagnostic; the same one twice counts once."""
        self._seen[diagnostic] = None

    def report(
        self,
        code: str,
        span: Span | None,
        message: str,
        *,
        label: str | None = None,
        notes: Iterable[str] = (),
        help: str | None = None,
        related: Iterable[Label] = (),
        severity: Severity = "error",
    ) -> None:
        """Like `fail`, but go on; `severity` may be less than an error."""
        self.add(
            Diagnostic(
                code,
                message,
                span,
                label=label,
                notes=tuple(notes),
                help=help,
                severity=severity,
                related=tuple(related),
            )
        )

    @contextmanager
    def recover(self) -> Generator[None, None, None]:
        """Take what the block raises as `ArgusError`, and go on after the block."""
        try:
            yield
        except ArgusError as error:
            for diagnostic in error.diagnostics:
                self.add(diagnostic)

    def finish(self) -> tuple[Diagnostic, ...]:
        """The diagnostics, none of which is an error.

        Raises:
            ArgusError: exactly one diagnostic was reported, and it is an error.
            ErrorList: several were reported, at least one of them an error.
        """
        found = self.diagnostics
        if not self.has_errors:
            return found
        raise ArgusError(*found) if len(found) == 1 else ErrorList(*found)


def _position(diagnostic: Diagnostic) -> tuple[bool, str, int, int]:
    span = diagnostic.span
    if span is None:
        return (True, "", 0, 0)
    return (False, span.file, span.line, span.column)
