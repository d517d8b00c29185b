"""Where something stands in a source, and the text that stands there.

Lines and columns count from 1; a column counts characters (code points), not bytes and
not terminal cells; the end is exclusive. So `ab` at the start of a file is
`Span(file, 1, 1, 1, 3)`.

This file does not render anything, and it does not check that a span lies inside its
file: a diagnostic about a damaged file must still be printable.
"""

import ast
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

# What Python's tokenizer ends a line with. `str.splitlines` also splits at form feeds
# and at U+2028, which would shift every later line number.
_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a source, in characters; see the module for how it counts."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __deepcopy__(self, memo: object) -> "Span":
        """Itself: copies of programs share it."""
        return self

    def to(self, other: "Span") -> "Span":
        """The shortest span that covers both; this one if the files differ."""
        if other.file != self.file:
            return self
        start = min((self.line, self.column), (other.line, other.column))
        end = max((self.end_line, self.end_column), (other.end_line, other.end_column))
        return Span(self.file, *start, *end)

    def to_json(self) -> dict[str, str | int]:
        """The five fields by name."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "end_line": self.end_line,
            "end_column": self.end_column,
        }

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class SourceText:
    """The lines of one source, as Python's parser counts them, without line ends."""

    name: str
    lines: tuple[str, ...]

    @staticmethod
    def of(name: str, text: str) -> "SourceText":
        """Split `text`; a byte order mark at its start is not part of line 1."""
        return SourceText(name, tuple(_NEWLINE.split(text.removeprefix("\ufeff"))))

    def line(self, number: int) -> str | None:
        """Line `number`, from 1; None where the source has no such line."""
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else None

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> Span:
        """The span of a node that was parsed from this source.

        `ast` counts columns in UTF-8 bytes from 0; this converts them. A node without
        an end (built by hand, not parsed) gets an empty span at its start.
        """
        end_line, end_offset = node.end_lineno, node.end_col_offset
        if end_line is None or end_offset is None:
            end_line, end_offset = node.lineno, node.col_offset
        return Span(
            self.name,
            node.lineno,
            self._column(node.lineno, node.col_offset),
            end_line,
            self._column(end_line, end_offset),
        )

    def _column(self, line: int, byte_offset: int) -> int:
        prefix = (self.line(line) or "").encode("utf-8", "surrogatepass")[:byte_offset]
        return len(prefix.decode("utf-8", "replace")) + 1


_registered: dict[str, SourceText] = {}
_read: dict[str, tuple[int, int, SourceText]] = {}


def register_source(name: str, text: str) -> SourceText:
    """Make `text` the source that spans with `file == name` point into.

    For sources that have no file (a notebook cell, a candidate kernel in memory), and
    for a file that has just been parsed: its diagnostics then show what was parsed,
    even if the file has changed since. A second call replaces the first.
    """
    source = SourceText.of(name, text)
    _registered[name] = source
    return source


def source_text(name: str) -> SourceText | None:
    """The registered source of that name, else the file; None if there is neither.

    A file is read again when its size or its time of change differs. Bytes that its
    declared encoding (PEP 263) cannot decode come back as U+FFFD.
    """
    if name in _registered:
        return _registered[name]
    try:
        path = Path(name)
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size)
        cached = _read.get(name)
        if cached is None or cached[:2] != stamp:
            cached = (*stamp, SourceText.of(name, _decode(path)))
            _read[name] = cached
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
    return cached[2]


def _decode(path: Path) -> str:
    with path.open("rb") as file:
        try:
            encoding, _ = tokenize.detect_encoding(file.readline)
        except SyntaxError:  # an encoding that does not exist
            encoding = "utf-8"
    return path.read_bytes().decode(encoding, errors="replace")
