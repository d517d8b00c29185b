"""The source lines of a span, with what underlines them, as rows of styled pieces.

A span on one line gets marks under it and its label beside or below the marks:

    acc = ag.dot(slots.a, b, acc)
                 ^^^^^ not assigned before this line

A span of several lines gets a rail on its left; the middle of a long one is left out:

    /     for k in ag.range(0, K, BK):
    |         slot = ring
    ...
    |         ring.release(slot)
    |__________________________^ this loop

Does not print line numbers or the gutter, and does not read files.
"""

from dataclasses import dataclass

from argus.diagnostics.paint import Style
from argus.diagnostics.span import SourceText, Span
from argus.diagnostics.width import cells, printable, window, wrap

_HEAD_LINES, _TAIL_LINES = 4, 2
_LEAST_LABEL = 16
_CUT = "..."


@dataclass(frozen=True, slots=True)
class Mark:
    """How a place is pointed at: the character under it, its style, what is said."""

    character: str
    style: Style
    label: str | None


@dataclass(frozen=True, slots=True)
class SnippetLine:
    """One line beside the gutter; `number` is None for a line of marks."""

    number: int | None
    pieces: tuple[tuple[str, Style], ...]


@dataclass(frozen=True, slots=True)
class Snippet:
    """The rows, and the last line number among them."""

    rows: tuple[SnippetLine, ...]
    last_line: int


def snippet(source: SourceText, span: Span, mark: Mark, width: int) -> Snippet | None:
    """Draw `span`; None where its first line is not in the source.

    Args:
        source: the text that the span points into.
        span: the place; what sticks out of the source is cut off.
        mark: how to point at it.
        width: cells for the source text.
    """
    first = source.line(span.line)
    if first is None:
        return None
    end_line, end_column = _end(source, span)
    start = _clamp(span.column, len(first) + 1)
    if end_line <= span.line:
        end = _clamp(end_column, len(first) + 1) if end_line == span.line else 0
        rows = _one_line(span.line, first, (start, end), mark, width)
        return Snippet(tuple(rows), span.line)
    place = Span(span.file, span.line, start, end_line, end_column)
    return Snippet(tuple(_several_lines(source, place, mark, width)), end_line)


def _clamp(column: int, most: int) -> int:
    return max(1, min(column, most))


def _end(source: SourceText, span: Span) -> tuple[int, int]:
    """The exclusive end, moved into the source and off the start of an empty tail."""
    line, column = span.end_line, span.end_column
    if line > len(source.lines):
        line = len(source.lines)
        column = len(source.lines[line - 1]) + 1
    elif column <= 1 and line > span.line:
        line -= 1
        column = len(source.lines[line - 1]) + 1
    return line, column


def _one_line(
    number: int, text: str, columns: tuple[int, int], mark: Mark, width: int
) -> list[SnippetLine]:
    start, end = columns
    left = cells(text[: start - 1])
    size = max(1, cells(text[start - 1 : end - 1]) if end > start else 1)
    shown, shift = _fit(printable(text.rstrip()), left, size, width)
    left -= shift
    marks = " " * left + mark.character * max(1, min(size, width - left))
    return [
        SnippetLine(number, ((shown, "plain"),)),
        *_labelled(marks, mark, left, width),
    ]


def _fit(text: str, left: int, size: int, width: int) -> tuple[str, int]:
    """`text` cut to `width` cells around `left`, and by how many cells it moved."""
    if cells(text) <= width and left + size <= width:
        return text, 0
    room = width - len(_CUT)
    if left + size <= room:
        return window(text, 0, room).rstrip() + _CUT, 0
    # Show some of what stands before the place, and as much after it as there is room.
    before = max(width // 4, len(_CUT) + 1)
    shift = max(0, left - max(before, width - len(_CUT) - size))
    kept = _CUT + window(text, shift + len(_CUT), width - 2 * len(_CUT))
    rest = cells(text) > shift + width - len(_CUT)
    return kept.rstrip() + (_CUT if rest else ""), shift


def _labelled(marks: str, mark: Mark, left: int, width: int) -> list[SnippetLine]:
    """The row of marks with the label beside it, or below it where it is too long."""
    style, label = mark.style, mark.label
    if not label:
        return [SnippetLine(None, ((marks, style),))]
    if cells(marks) + 1 + cells(label) <= width and "\n" not in label:
        return [SnippetLine(None, ((f"{marks} {printable(label)}", style),))]
    indent = max(0, min(left, width - _LEAST_LABEL))
    return [
        SnippetLine(None, ((marks, style),)),
        *(
            SnippetLine(None, ((f"{' ' * indent}{line}".rstrip(), style),))
            for line in wrap(label, width - indent)
        ),
    ]


def _several_lines(
    source: SourceText, span: Span, mark: Mark, width: int
) -> list[SnippetLine]:
    style = mark.style
    room = width - 2  # the rail and the space after it
    opening = source.lines[span.line - 1]
    before = opening[: span.column - 1]
    text = _cut(opening, room)
    if before.strip():  # the span starts in the middle of a line: lead the rail there
        left = min(cells(before), room - 1)
        rows = [
            SnippetLine(span.line, (("  ", "plain"), (text, "plain"))),
            SnippetLine(None, ((f" {'_' * (left + 1)}{mark.character}", style),)),
        ]
    else:
        rows = [_railed(span.line, "/", text, style)]
    for number in _middle(span.line, span.end_line):
        text = _CUT if number is None else _cut(source.lines[number - 1], room)
        rows.append(_railed(number, "|", text, style))
    closing = source.lines[span.end_line - 1]
    right = cells(closing[: _clamp(span.end_column, len(closing) + 1) - 1])
    marks = f"|{'_' * max(1, min(right, room))}{mark.character}"
    return [*rows, *_labelled(marks, mark, 0, width)]


def _railed(number: int | None, rail: str, text: str, style: Style) -> SnippetLine:
    return SnippetLine(number, ((rail, style), (f" {text}" if text else "", "plain")))


def _middle(first: int, last: int) -> list[int | None]:
    """The lines after the first one; None for those that are left out."""
    lines = list[int | None](range(first + 1, last + 1))
    if len(lines) <= _HEAD_LINES + _TAIL_LINES:
        return lines
    return [*lines[: _HEAD_LINES - 1], None, *lines[-_TAIL_LINES:]]


def _cut(text: str, width: int) -> str:
    return _fit(printable(text.rstrip()), 0, 1, width)[0]
