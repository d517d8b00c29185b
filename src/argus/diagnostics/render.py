"""Diagnostics as text for a terminal.

    error[AG0101]: there is no name `slots`
      --> gemm.py:21:23
       |
    21 |     acc = ag.dot(slots.a, b, acc)
       |                  ^^^^^ not assigned before this line
       |
       = help: did you mean `slot`?

Never raises, whatever span a diagnostic carries: a place outside its file is shown
without its source. Text that comes from outside is made printable (`width`). Drawing
the source lines themselves is the business of `snippet`.
"""

from collections.abc import Iterable
from typing import assert_never

from argus.diagnostics.diagnostic import Diagnostic, Severity
from argus.diagnostics.paint import Painter, Style
from argus.diagnostics.snippet import Mark, Snippet, snippet
from argus.diagnostics.span import Span, source_text
from argus.diagnostics.width import cells, printable, wrap

WIDTH = 100
"""Cells of a line where the caller does not say how wide the terminal is."""
_LEAST_WIDTH = 20


def render(diagnostic: Diagnostic, *, width: int = WIDTH, color: bool = False) -> str:
    """The text of one diagnostic, without a line end at its end.

    Args:
        diagnostic: what to show.
        width: cells of the terminal; text is wrapped and long source lines are cut to
            it. At least 20 are used.
        color: whether to add ANSI colours.
    """
    width = max(width, _LEAST_WIDTH)
    painter = Painter(color)
    tone = _tone(diagnostic.severity)
    room = width - 8  # what the gutter takes, but for line numbers of five digits
    marks = [
        (label.span, Mark("-", "place", label.text)) for label in diagnostic.related
    ]
    if diagnostic.span is not None:
        marks.insert(0, (diagnostic.span, Mark("^", tone, diagnostic.label)))
    places = [(span, _snippet(span, mark, room)) for span, mark in marks]
    digits = max((len(str(s.last_line)) for _, s in places if s is not None), default=1)
    lines = _header(diagnostic, painter, tone, width)
    for index, (span, drawn) in enumerate(places):
        arrow = "-->" if index == 0 else ":::"
        lines.append(
            f"{' ' * digits}{painter.paint(arrow, 'gutter')} {printable(str(span))}"
        )
        if drawn is not None:
            lines += _gutter(drawn, digits, painter)
    lines += _footers(diagnostic, digits, painter, width)
    return "\n".join(lines)


def render_all(
    diagnostics: Iterable[Diagnostic], *, width: int = WIDTH, color: bool = False
) -> str:
    """The text of several diagnostics, an empty line between them, a count at the end.

    Empty if there are none.
    """
    found = tuple(diagnostics)
    if not found:
        return ""
    blocks = [render(d, width=width, color=color) for d in found]
    return "\n\n".join([*blocks, _count(found)])


def _tone(severity: Severity) -> Style:
    match severity:
        case "error":
            return "error"
        case "slow":
            return "slow"
        case "warning":
            return "warning"
        case _:
            assert_never(severity)


def _count(diagnostics: tuple[Diagnostic, ...]) -> str:
    def part(severity: Severity, one: str, many: str) -> list[str]:
        number = sum(d.severity == severity for d in diagnostics)
        return [f"{number} {one if number == 1 else many}"] if number else []

    return ", ".join(
        part("error", "error", "errors")
        + part("slow", "slow place", "slow places")
        + part("warning", "warning", "warnings")
    )


def _header(
    diagnostic: Diagnostic, painter: Painter, tone: Style, width: int
) -> list[str]:
    head = f"{diagnostic.severity}[{diagnostic.code}]"
    first, *rest = wrap(f"{head}: {diagnostic.message}", width - 2)
    # The head has no space in it, so that wrapping never separates it.
    text = painter.paint(head, tone) + painter.paint(first.removeprefix(head), "strong")
    return [text, *(painter.paint(f"  {line}", "strong") for line in rest)]


def _snippet(span: Span, mark: Mark, room: int) -> Snippet | None:
    source = source_text(span.file)
    return None if source is None else snippet(source, span, mark, room)


def _gutter(drawn: Snippet, digits: int, painter: Painter) -> list[str]:
    bar = painter.paint(f"{' ' * digits} |", "gutter")
    lines = [bar]
    for row in drawn.rows:
        text = "".join(painter.paint(piece, style) for piece, style in row.pieces)
        number = "" if row.number is None else str(row.number)
        left = painter.paint(f"{number:>{digits}} |", "gutter")
        lines.append(f"{left} {text}" if text else left)
    return lines


def _footers(
    diagnostic: Diagnostic, digits: int, painter: Painter, width: int
) -> list[str]:
    footers = list(diagnostic.evidence)
    footers += [("note", note) for note in diagnostic.notes]
    if diagnostic.help is not None:
        footers.append(("help", diagnostic.help))
    lines: list[str] = []
    for kind, text in footers:
        head = f"{' ' * digits} = "
        indent = " " * (len(head) + (len(kind) + 2 if kind else 0))
        first, *rest = wrap(text, max(width - cells(indent), _LEAST_WIDTH // 2))
        start = painter.paint(head, "gutter")
        start += painter.paint(f"{kind}:", "strong") + " " if kind else ""
        lines += [f"{start}{first}", *(f"{indent}{line}".rstrip() for line in rest)]
    if lines and (diagnostic.span is not None or diagnostic.related):
        lines.insert(0, painter.paint(f"{' ' * digits} |", "gutter"))
    return lines
