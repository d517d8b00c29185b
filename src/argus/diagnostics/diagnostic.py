"""One diagnostic: what is wrong, where, why, and what would mend it.

This is the record. `render` turns it into text, `errors` raises it.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from argus.diagnostics.catalogue import lookup
from argus.diagnostics.span import Span

Severity: TypeAlias = Literal["error", "slow", "warning"]
"""`error`: the program is rejected. `slow`: it is right, but breaks a performance
invariant. `warning`: it is accepted, and probably not what was meant."""

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that a diagnostic points at, and what is to be seen there."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What the compiler has to say about one place.

    Attributes:
        code: a code of the catalogue, such as `AG0101`.
        message: one sentence, lower case, no full stop: what is wrong.
        span: the place; None where no source is to blame (a missing file, a GPU).
        label: a few words under the underlined source: what is seen there.
        notes: why, one fact each.
        help: what to write instead; only where the fix is known.
        severity: see `Severity`.
        related: other places, each with its own label.
        evidence: what a proof of the mistake consists of, under short names ("left",
            "right"; "" for none), shown before the notes.

    Raises:
        UnknownCodeError: the catalogue has no such code.
    """

    code: str
    message: str
    span: Span | None
    label: str | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None
    severity: Severity = "error"
    related: tuple[Label, ...] = ()
    evidence: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        lookup(self.code)

    def to_json(self) -> dict[str, Json]:
        """For tools: these keys are always there, in this order, and stay."""
        entry = lookup(self.code)
        return {
            "code": self.code,
            "title": entry.title,
            "category": entry.category,
            "severity": self.severity,
            "message": self.message,
            "span": _span_json(self.span),
            "label": self.label,
            "notes": list(self.notes),
            "help": self.help,
            "evidence": [{"name": name, "text": text} for name, text in self.evidence],
            "related": [
                {"span": _span_json(label.span), "text": label.text}
                for label in self.related
            ],
        }


def _span_json(span: Span | None) -> Json:
    return None if span is None else {**span.to_json()}
