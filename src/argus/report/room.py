"""How much of what strangers wrote a page can hold: texts are cut, and say so."""

from __future__ import annotations

from dataclasses import dataclass

from argus.report.text import visible


@dataclass(frozen=True)
class Text:
    """The part of a text that is shown. ``more``: characters that are left out."""

    shown: str
    more: int = 0

    @property
    def length(self) -> int:
        """Characters of the whole."""
        return len(self.shown) + self.more


@dataclass
class Room:
    """Bytes of a page that texts may take yet, as they are written: escaped."""

    left: int

    def take(self, text: str, most: int) -> Text:
        """As much of a text as there is room for, and at most so many characters."""
        # A character takes a byte at least, so that no more of them can fit.
        shown = text[: max(0, min(most, self.left))]
        if weight(shown) > self.left:
            fits, not_any_more = 0, len(shown)
            while fits + 1 < not_any_more:
                middle = (fits + not_any_more) // 2
                if weight(shown[:middle]) <= self.left:
                    fits = middle
                else:
                    not_any_more = middle
            shown = shown[:fits]
        self.left -= weight(shown)
        return Text(shown, len(text) - len(shown))


def weight(text: str) -> int:
    """Bytes that a text takes on a page."""
    from markupsafe import escape

    return len(str(escape(visible(text))).encode())
