"""Text in terminal cells: what each character occupies, and wrapping by that.

Also the place where untrusted text is made safe to print: a source, or a model's
words, may contain control characters that would move the cursor or reverse the line.
This file knows nothing about diagnostics.
"""

import unicodedata

TAB = 4
"""Cells that a tab is shown as, wherever it stands."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Characters that reorder the text after them (Unicode Standard Annex 9): what is read
# would not be what is compiled.
_BIDIRECTIONAL = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def shown(character: str) -> str:
    """What is printed for one character: itself, spaces for a tab, or U+FFFD."""
    if " " <= character <= "~":
        return character
    if character == "\t":
        return " " * TAB
    if character in _BIDIRECTIONAL:
        return _REPLACEMENT
    # Cc control, Cs lone surrogate (cannot be encoded), Zl/Zp line separators.
    if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
        return _REPLACEMENT
    return character


def printable(text: str) -> str:
    """`text` with every character as it is shown; line ends become U+FFFD too."""
    return "".join(map(shown, text))


def cells(text: str) -> int:
    """The number of terminal cells that `text` occupies once it is `printable`.

    East Asian wide and full-width characters take two cells (Unicode Standard Annex
    11), combining marks and other zero-width characters none.
    """
    return sum(map(_cells_of, text))


def _cells_of(character: str) -> int:
    if " " <= character <= "~":
        return 1
    if len(shown(character)) > 1:
        return TAB
    if shown(character) == _REPLACEMENT:
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def window(text: str, start: int, width: int) -> str:
    """The characters of `text` that lie wholly in cells `start` to `start + width`.

    A wide character cut by either edge is replaced by a space, so that what follows
    stays in its cell.
    """
    out: list[str] = []
    at = 0
    for character in text:
        size = _cells_of(character)
        if at >= start + width and size > 0:
            break
        if at >= start and at + size <= start + width:
            out.append(character)
        elif size > 0:
            inside = min(at + size, start + width) - max(at, start)
            out.append(" " * max(0, inside))
        at += size
    return "".join(out)


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken at spaces; never empty.

    Line ends in `text` are kept, and a line that fits is kept as it is. A word that is
    longer than `width` is not broken: a path must stay one that can be copied.
    """
    return [
        line
        for paragraph in text.replace("\r\n", "\n").split("\n")
        for line in _wrap_line(printable(paragraph), width)
    ]


def _wrap_line(text: str, width: int) -> list[str]:
    if cells(text) <= width:
        return [text]
    lines: list[str] = []
    current, used = "", 0
    for word in text.split():
        size = cells(word)
        if current and used + 1 + size > width:
            lines.append(current)
            current, used = word, size
        elif current:
            current, used = f"{current} {word}", used + 1 + size
        else:
            current, used = word, size
    return [*lines, current]
