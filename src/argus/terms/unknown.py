"""What the analysis of values does not know, as an exception with a reason.

    raise Unknown("a loop over the number of multiprocessors")

Nothing that is not modelled is dropped or guessed: whoever meets it raises, and the
verdict is `unknown` with this reason. Who knows the operation that was being read may
attach its place in the source.
"""

from collections.abc import Generator
from contextlib import contextmanager

from argus.diagnostics import Span


class Unknown(Exception):  # noqa: N818 - not an error: a result
    """Why a question has no answer here; ``span``: the operation that asked."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span

    @property
    def line(self) -> int | None:
        """The line of the operation, from 1, where it is known."""
        return None if self.span is None else self.span.line


class Exhausted(Unknown):
    """Time or steps are over: nothing is said of what was asked, nor of who asked."""


class Failing(Unknown):
    """A specification is defined at no size."""


class Changing(Unknown):
    """A specification says something else of each call."""


class Untraced(Unknown):
    """What a specification says is not known, whatever it is compared with."""


@contextmanager
def tracing_specification() -> Generator[None]:
    """What is Unknown inside is so of a specification: Untraced."""
    try:
        yield
    except (Exhausted, Failing, Changing, Untraced):
        raise
    except Unknown as why:
        raise Untraced(why.reason, why.span) from why
