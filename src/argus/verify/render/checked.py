"""One kernel as `argus check` leaves it: what its page and its SARIF log show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from argus.diagnostics import Diagnostic
from argus.ir.program import Program
from argus.verify.verdict import Report


@dataclass(frozen=True)
class CheckedKernel:
    """A kernel and what is known of it.

    ``label`` names it, and the case that asked for it; ``facts`` are short texts about
    it (threads, static parameters). ``report`` is None where nothing was proved: for
    the ``mistakes`` that reading or placing found, or since no proof was asked for.
    ``program`` places the program of a specialisation, by the words that
    obligations of the report have for it. A source that no kernel could be read from is
    one, too: then ``label`` is its name, and ``target`` is "".
    """

    label: str
    target: str
    facts: tuple[str, ...] = ()
    report: Report | None = None
    program: Callable[[str], Program] | None = None
    mistakes: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        """The kernel without the case, where it could be read."""
        return self.label if self.report is None else self.report.kernel

    @property
    def verdict(self) -> str:
        """The word in front of the label: that of the report, "wrong", or "placed"."""
        if self.report is not None:
            return str(self.report.verdict)
        return "wrong" if self.mistakes else "placed"
