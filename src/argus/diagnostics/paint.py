"""ANSI colours by role. Says nothing about when a terminal wants them."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Style: TypeAlias = Literal[
    "plain", "strong", "gutter", "place", "error", "slow", "warning"
]

# Select Graphic Rendition parameters (ECMA-48): 1 is bold, 31 to 36 are colours.
_CODES: dict[Style, str] = {
    "plain": "",
    "strong": "1",
    "gutter": "1;34",
    "place": "1;34",
    "error": "1;31",
    "slow": "1;35",
    "warning": "1;33",
}


@dataclass(frozen=True, slots=True)
class Painter:
    """Colours text, or leaves it alone."""

    color: bool

    def paint(self, text: str, style: Style) -> str:
        """`text` in `style`; unchanged without colour, or where nothing would show."""
        code = _CODES[style]
        if not self.color or not code or not text:
            return text
        return f"\x1b[{code}m{text}\x1b[0m"
